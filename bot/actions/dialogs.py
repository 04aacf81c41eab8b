"""Dialogs of staff about changes of orders. A submission is an interaction of its own.

ActionDialogs  about an action that waits for their decision: another amount, the reason of a refusal
ChangeDialogs  in a case: which change to prepare, of which order, and then the rest
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, get_args

from bot.actions.checking import OF_SWAPS
from bot.actions.deciding import Press
from bot.actions.executing import Identify
from bot.actions.judging import Judging
from bot.actions.policy_file import Policy
from bot.cases.buttons import BUTTONS
from bot.cases.dialogs import About, Dialogs
from bot.conversation import ShopCustomer
from bot.shops.actions import UNDOES, ActionKind
from bot.shops.port import Order, ShopUnavailable, Variant
from bot.slack.blocks import Block
from bot.store import actions
from bot.store.actions import Action
from bot.store.cases import Case
from bot.views import dialogs
from bot.views.action_cards import staff_standing
from bot.views.dialogs import WITH_METHOD, Choices

NO_SUCH_ACTION = "Frontdesk can't find this change. Nothing was done."
ASKING = "Asking the shop…"
NO_ORDERS = "The shop knows no orders of this customer, or doesn't know the customer."
SHOP_SILENT = "The shop doesn't answer right now. Close this, and try again in a minute."
CHOOSE = "choose.change"
"""The dialog in which staff choose a change and an order."""
PREPARED_KINDS: tuple[ActionKind, ...] = tuple(kind for kind in get_args(ActionKind) if kind not in UNDOES)
"""The kinds that staff can prepare. What undoes another action is prepared from that one's card."""
NO_CHOICES = "The shop has nothing that the articles of this order could be changed to."
NO_METHODS = "The shop knows no payment methods of this customer."
MAX_PRODUCTS = 10
"""The lines whose variants the shop is asked for."""
MAX_ORDERS = 25
"""The orders to choose from, the newest first."""


class _Builds(Protocol):
    def __call__(self, action: Action, *, about: str) -> Block: ...


DIALOGS: Mapping[str, _Builds] = {"submit.amount": dialogs.amount, "submit.refusal": dialogs.refusal}
"""Dialog id -> the function that builds the dialog about an action."""


class Opener(Protocol):
    """What opens the dialogs of some buttons."""

    async def open(self, action: str, about: About, *, user: str, trigger_id: str) -> None:
        """Open the button's dialog, or tell the user why it does not open."""
        ...


@dataclass(frozen=True, slots=True)
class ActionDialogs:
    """Opens the dialogs about actions that wait for a decision."""

    dialogs: Dialogs

    async def open(self, action: str, about: About, *, user: str, trigger_id: str) -> None:
        """Open the button's dialog, or tell the user why it does not open. `trigger_id` is valid for three seconds."""
        press = Press(about.case, user, about.thread.team, about.thread.channel, about.ts)
        async with self.dialogs.cases.stepping.database.transaction() as tx:
            found = await actions.find(tx, press.ref)
        if found is None:
            await self.dialogs.tell(about, user, NO_SUCH_ACTION)
        elif found.state != "approving" or found.version != press.version:
            await self.dialogs.tell(about, user, staff_standing(found))
        else:
            view = DIALOGS[BUTTONS[action].dialog](found, about=str(about))
            await self.dialogs.show(about, view, user=user, trigger_id=trigger_id)


@dataclass(frozen=True, slots=True)
class ChangeDialogs:
    """Opens the two dialogs in which staff prepare a change. Slack waits three seconds, so the shop is asked later."""

    dialogs: Dialogs
    judging: Judging
    identify: Identify

    async def open(self, action: str, about: About, *, user: str, trigger_id: str) -> None:
        """Open the first dialog, or tell the user why it does not open. `trigger_id` is valid for three seconds."""
        case = await self.dialogs.admit(action, about, user=user)
        if case is None:
            return
        view = dialogs.waiting(case.ref, ASKING, about=str(about))
        if view_id := await self.dialogs.show(about, view, user=user, trigger_id=trigger_id):
            await self.dialogs.views.update(view_id, await self._built(case, about, self._which))

    async def second(self, about: About, *, user: str, kind: ActionKind, order: str) -> Block | None:
        """The second dialog. None if the case has moved on, which the user is told."""
        case = await self.dialogs.admit(CHOOSE, about, user=user)
        if case is None:
            return None

        async def rest(case: Case, about: About, shop: ShopCustomer) -> Block | str:
            return await self._rest(case, about, shop, kind, order)

        return await self._built(case, about, rest)

    async def _built(
        self, case: Case, about: About, build: Callable[[Case, About, ShopCustomer], Awaitable[Block | str]]
    ) -> Block:
        """The dialog, or the sentence that says why there is none."""
        customer = await self.identify(case.customer)
        is_silent = customer is not None and customer.shop_silent
        shop = customer.shop if customer is not None else None
        built: Block | str = SHOP_SILENT if is_silent else NO_ORDERS
        if shop is not None:
            try:
                built = await build(case, about, shop)
            except ShopUnavailable:
                built = SHOP_SILENT
        return dialogs.waiting(case.ref, built, about=str(about)) if isinstance(built, str) else built

    async def _which(self, case: Case, about: About, shop: ShopCustomer) -> Block | str:
        kinds = [kind for kind in PREPARED_KINDS if await self.judging.spec_of(kind) is not None]
        orders = (await self.judging.shop.list_orders(shop))[:MAX_ORDERS]
        if not kinds or not orders:
            return NO_ORDERS
        return dialogs.which_change(case, kinds=kinds, orders=orders, about=str(about))

    async def _rest(self, case: Case, about: About, shop: ShopCustomer, kind: ActionKind, number: str) -> Block | str:
        order = await self.judging.shop.get_order(shop, number)
        if order is None:
            return NO_ORDERS
        whole = replace(about, case=f"{case.ref}/{kind}/{order.id}/{order.total.currency}")
        rules = self.judging.policy().file.actions.get(kind)
        is_at_once = rules is not None and rules.customer_yes == "not_needed"
        choices = await self._choices(shop, kind, order)
        if isinstance(choices, str):
            return choices
        return dialogs.change(case, kind=kind, order=order, choices=choices, is_at_once=is_at_once, about=str(whole))

    async def _choices(self, shop: ShopCustomer, kind: ActionKind, order: Order) -> Choices | str:
        """The variants and payment methods to choose from, or the sentence that says that there are none."""
        variants: dict[str, tuple[Variant, ...]] = {}
        if kind in OF_SWAPS:
            for line in order.lines[:MAX_PRODUCTS]:
                product = await self.judging.shop.get_product(shop, line.product_id) if line.product_id else None
                found = product.variants if product else ()
                others = tuple(each for each in found if each.id != line.variant_id and each.available != 0)
                if others:
                    variants[line.id] = others
            if not variants:
                return NO_CHOICES
        methods = await self.judging.shop.payment_methods(shop) if kind in WITH_METHOD else ()
        return NO_METHODS if kind == "change_order_payment" and not methods else Choices(variants, methods)


def can_prepare(policy: Policy) -> bool:
    """Whether the rules have a kind that staff can prepare."""
    return any(kind in policy.kinds for kind in PREPARED_KINDS)
