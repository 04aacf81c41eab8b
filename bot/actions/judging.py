"""Whether a change may be made, asked of the rules and the shop at one moment. Nothing is stored, nothing is changed.

spec_of            how the shop carries a kind of action out, if the rules have it
judge              what the rules say, and what it would cost
what_has_changed   whether an action that was confirmed is still as it was shown
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast
from zoneinfo import ZoneInfo

from bot.actions import policy
from bot.actions.checking import OF_SWAPS, check
from bot.actions.facts import CustomerFacts, Facts, build_facts
from bot.actions.policy import Judgement
from bot.actions.policy_file import Policy
from bot.clock import DAY, Clock
from bot.conversation import Customer, ShopCustomer
from bot.shops.actions import (
    UNDOES,
    ActionKind,
    Arguments,
    KindSpec,
    LineQuantity,
    NotSupported,
    Outcome,
    Quote,
    Shop,
    digest,
)
from bot.shops.port import Money, Order, Parcel, Product
from bot.store import actions, cases
from bot.store.actions import Action
from bot.store.database import Database

FACT_DAYS = 90
CASE_DAYS = 30
"""The days in which a customer's refunds and cases count as facts."""
PARCELS_READ = 5
"""Parcels of one order that are asked about."""

NOT_POSSIBLE = Judgement("person", "", ())
"""The shop cannot do it, whatever the rules allow. People may know another way."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An action as rules and shop see it at one moment."""

    rules: Policy
    order: Order | None
    arguments: Arguments
    """Checked and completed."""
    quote: Quote
    judgement: Judgement
    facts: Mapping[str, Any]

    @property
    def may_be_offered(self) -> bool:
        """Whether it may be done, at least if staff approve it."""
        return self.judgement.outcome in ("allow", "staff")

    undone: Action | None = None
    """The action that would be undone."""
    fee_is_deducted: bool = False
    """Whether the fee of the rules is taken off the money already."""

    def without_fee(self) -> "Judged":
        """The same with the fee of the rules taken off what the customer gets, unless that is less than the fee."""
        money, fee = self.money, self.judgement.fee
        if fee is None or fee.currency != money.currency or not money.minor < -fee.minor:
            return self
        quote = replace(self.quote, money=Money(money.minor + fee.minor, money.currency))
        return replace(self, quote=quote, fee_is_deducted=True)

    @property
    def money(self) -> Money:
        """What moves. Nothing is no money without a currency."""
        return self.quote.money or Money(0, "")


@dataclass(frozen=True, slots=True)
class Judging:
    """Judges changes. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    shop: Shop
    policy: Callable[[], Policy]
    """The policy in force."""
    zone: str
    """The time zone in which days are counted."""

    async def spec_of(self, kind: ActionKind) -> KindSpec | None:
        """How the shop carries the kind out. None if it cannot, or if the policy does not have the kind."""
        return (await self.shop.kinds()).get(kind) if kind in self.policy().kinds else None

    async def judge(
        self,
        spec: KindSpec,
        user: str,
        customer: ShopCustomer,
        order: Order | None,
        arguments: Arguments,
        *,
        besides: int = 0,
    ) -> Judged:
        """Check the arguments, and ask the rules whether it may be done and the shop what it would cost.

        `besides` is the id of the action itself, which does not count among what the customer has had done. Raises
        ShopUnavailable and NeedsMore.
        """
        rules, kind = self.policy(), spec.kind
        products = await self._products(customer, order, kind)
        arguments = check(kind, order, arguments, spec=spec, products=products)
        facts_of = await self._facts_of(kind, user, customer, order, arguments, products, besides=besides)
        if kind in UNDOES:
            return await self._judge_undo(kind, customer, order, arguments, facts_of(quote=None), besides=besides)
        # A rule of the shop's own says more than a shop that refuses to quote.
        facts = facts_of(quote=None)
        judgement = policy.judge(rules, kind, facts, money=0, currency="")
        if judgement.outcome == "refuse":
            return Judged(rules, order, arguments, Quote(None), judgement, facts)
        try:
            quote = await self.shop.quote(customer, kind, order, arguments)
        except NotSupported:
            return Judged(rules, order, arguments, Quote(None), NOT_POSSIBLE, facts)
        facts, money = facts_of(quote=quote), quote.money or Money(0, "")
        judgement = policy.judge(rules, kind, facts, money=money.minor, currency=money.currency)
        judged = Judged(rules, order, arguments, quote, judgement, facts)
        # An amount that staff name is the one that goes back.
        is_ours = quote.computed and spec.takes_money and arguments.amount is None
        return judged.without_fee() if is_ours else judged

    async def _judge_undo(
        self,
        kind: ActionKind,
        customer: ShopCustomer,
        order: Order | None,
        arguments: Arguments,
        facts: Facts,
        *,
        besides: int,
    ) -> Judged:
        rules, key = self.policy(), arguments.undoes.key if arguments.undoes else ""
        async with self.database.transaction() as tx:
            found = await actions.with_key(tx, key)
            undone = found if found and found.shop_customer == customer.id else None
            is_undone = undone is not None and await actions.is_undone(tx, undone.ref, besides=besides)
        hours = None
        if undone and not is_undone and undone.ended_at is not None and can_be_undone(undone, kind, order, customer):
            hours = (self.clock.now() - undone.ended_at) / 3600.0
        is_possible = policy.judge_undo(rules, UNDOES[kind], facts, hours=hours, money=0, currency="")
        if undone is None or is_possible.outcome == "refuse":
            return Judged(rules, order, arguments, Quote(None), is_possible, facts)
        try:
            quote = await self.shop.quote(customer, kind, order, arguments)
        except NotSupported:
            return Judged(rules, order, arguments, Quote(None), NOT_POSSIBLE, facts)
        money = quote.money or Money(0, "")
        judgement = policy.judge_undo(
            rules, UNDOES[kind], facts, hours=hours, money=money.minor, currency=money.currency
        )
        return Judged(rules, order, arguments, quote, judgement, facts, undone)

    async def facts(
        self, user: str, customer: ShopCustomer, order: Order | None, lines: tuple[LineQuantity, ...]
    ) -> Facts:
        """What is known of an order before anything is prepared: of some lines, or without any of all.

        Raises ShopUnavailable.
        """
        kind: ActionKind = "refund" if lines else "cancel_order"
        facts_of = await self._facts_of(kind, user, customer, order, Arguments(lines=lines), {}, besides=0)
        return facts_of(quote=None)

    async def what_has_changed(self, action: Action, customer: Customer, order: Order | None) -> Outcome | None:
        """Why an action may not be sent any more, although the order is as it was: the rules, or the shop's quote.

        Raises:
            ShopUnavailable: the shop does not say.
            NeedsMore: what was confirmed does not exist any more.
        """
        spec = await self.spec_of(cast("ActionKind", action.kind))
        if customer.shop is None or spec is None:
            return Outcome("refused", "not_allowed")
        arguments = Arguments.read(action.arguments)
        judged = await self.judge(spec, customer.user, customer.shop, order, arguments, besides=action.id)
        if not judged.may_be_offered:
            return Outcome("refused", "not_allowed")
        is_same = judged.money == Money(action.money, action.currency)
        return None if is_same else Outcome("refused", "changed")

    async def _facts_of(
        self,
        kind: ActionKind,
        user: str,
        customer: ShopCustomer,
        order: Order | None,
        arguments: Arguments,
        products: Mapping[str, Product],
        *,
        besides: int,
    ) -> Callable[..., Facts]:
        """The facts with or without a `quote`."""
        orders, now = await self.shop.list_orders(customer), self.clock.now()
        async with self.database.transaction() as tx:
            done = await actions.of_subject(tx, subject_of(order, customer), states=("done",))
            recent = await cases.count_since(tx, user, now - CASE_DAYS * DAY)
            refunds = await actions.refunds_since(tx, customer.id, now - FACT_DAYS * DAY)
            today = await actions.sums_of(tx, since=now - DAY, currency="", shop_customer=customer.id, besides=besides)
        return partial(
            build_facts,
            kind=kind,
            order=order,
            arguments=arguments,
            customer=CustomerFacts(
                orders_count=len(orders),
                refunds_90d=refunds,
                actions_today=today.actions,
                first_order_at=min((each.placed_at for each in orders), default=None),
            ),
            cases_30d=recent,
            now=datetime.fromtimestamp(now, UTC),
            zone=ZoneInfo(self.zone),
            actions_done=len(done),
            products=tuple(products.values()),
            methods=await self.shop.payment_methods(customer) if arguments.method else (),
            parcels=await self._parcels(customer, order),
        )

    async def _products(self, customer: ShopCustomer, order: Order | None, kind: ActionKind) -> dict[str, Product]:
        if order is None or kind not in OF_SWAPS:
            return {}
        found: dict[str, Product] = {}
        for product_id in sorted({line.product_id for line in order.lines if line.product_id})[:10]:
            product = await self.shop.get_product(customer, product_id)
            if product is not None:
                found[product_id] = product
        return found

    async def _parcels(self, customer: ShopCustomer, order: Order | None) -> list[Parcel]:
        """The parcels of an order that has arrived, if only their scans can say when."""
        if order is None or order.delivered_at is not None or order.status != "delivered":
            return []
        found = [await self.shop.track(customer, each.tracking_number) for each in order.parcels[:PARCELS_READ]]
        return [each for each in found if each is not None]


def subject_of(order: Order | None, customer: ShopCustomer) -> str:
    """What an action changes. Two actions of one subject never run at the same time."""
    return f"order/{order.id}" if order else f"customer/{customer.id}"


def can_be_undone(undone: Action, kind: ActionKind, order: Order | None, customer: ShopCustomer) -> bool:
    """Whether an action of this order took effect, at least in part, in a way that `kind` undoes."""
    took_effect = undone.state in ("done", "partly")
    return took_effect and undone.kind == UNDOES[kind] and undone.subject == subject_of(order, customer)


def facts_hash(order: Order | None) -> str:
    """What changes when the order changes in a way that the preview or the rules could show."""
    if order is None:
        return digest(None)
    return digest(
        order.status,
        order.state,
        order.payment,
        order.revision,
        asdict(order.total),
        None if order.refundable is None else asdict(order.refundable),
        [[line.id, line.quantity, asdict(line.unit_price), line.returnable, line.cancellable] for line in order.lines],
        [parcel.tracking_number for parcel in order.parcels],
        None if order.address is None else asdict(order.address),
    )
