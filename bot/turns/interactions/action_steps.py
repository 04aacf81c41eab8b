"""What the buttons about a change of an order do: the customer's yes and no, and the decisions of staff."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import cast

from bot.actions.action import ActionMovedOn
from bot.actions.checking import NeedsMore
from bot.actions.deciding import Deciding, Ended, Press
from bot.actions.dialogs import PREPARED_KINDS
from bot.actions.preparing import Prepared
from bot.cases.case import owned
from bot.conversation import Customer
from bot.desk.changes import NewAddress, address_of
from bot.language.sentences import Sentences, language_for
from bot.shops.actions import ActionKind, Arguments
from bot.shops.port import ShopUnavailable, read_money
from bot.slack.api.chat import Chat
from bot.store.actions import Action
from bot.store.inbox import InboxItem
from bot.turns.interactions.replies import Replies, Step, field, number
from bot.views.action_cards import staff_standing, standing
from bot.views.dialogs import WITH_ADDRESS

Decide = Callable[[Press], Awaitable[tuple[Ended, Action | None]]]

TOLD_TO_STAFF: Mapping[Ended, str] = {
    "unknown_action": "Frontdesk can't find this change. Nothing was done.",
    "own_action": "This is your own order, or you have prepared it. Somebody else has to decide about it.",
    "expired": "This has ended; nothing was changed.",
    "wrong_amount": "Nothing was changed: the amount must be more than zero, and at most what the customer agreed to.",
    "cannot_check": "The shop or Slack doesn't answer right now, so nothing was changed. Try again in a minute.",
    "not_possible": "Nothing was changed: the rules or the shop don't allow it.",
    "under_way": "Nothing was prepared: another change of this order is under way.",
    "undo_offered": "The customer is asked now. Then a colleague has to approve it. You read here how it ends.",
    "undo_too_late": "Nothing was prepared: it is too late to undo this, or it is undone already.",
    "voted": "Thank you. One more person has to approve it.",
}


OFFERED: Mapping[str, str] = {
    "offered": "The customer sees the details now and has to say yes. You read here how it ends.",
    "approving": "A colleague has to approve it. You read here how it ends.",
    "ready": "It is on its way to the shop. You read here how it ends.",
}
"""State of what was prepared -> what the member of staff reads."""
PREPARED: Mapping[str, str] = {
    "no_order": "Nothing was prepared: the shop can't find this order.",
    "not_offered": "Nothing was prepared: it isn't possible for this customer.",
    "refused": "Nothing was prepared: a rule says no.",
    "person": "Nothing was prepared: the rules or the shop leave this to people. Do it in your shop.",
    "under_way": "Nothing was prepared: another change of this order is under way.",
    "too_many": "Nothing was prepared: the customer has too many open offers.",
    "missing": "Nothing was prepared: something is missing or does not fit. Check what you filled in.",
}


@dataclass(frozen=True, slots=True)
class ActionSteps:
    """Carries these interactions out. `bot.app` puts the parts together."""

    deciding: Deciding
    chat: Chat
    sentences: Sentences
    replies: Replies

    def for_customers(self) -> Mapping[str, Callable[[InboxItem, Customer], Awaitable[object]]]:
        """What the buttons of customers run."""
        return {
            "act.yes": lambda item, customer: self._by_customer(item, customer, self.deciding.confirm),
            "act.no": lambda item, customer: self._by_customer(item, customer, self.deciding.decline),
            "act.again": lambda item, customer: self._by_customer(item, customer, self.deciding.again),
        }

    def for_staff(self) -> Mapping[str, Step]:
        """What the buttons of staff run."""
        return {
            "appr.yes": lambda item, _: self._by_staff(item, self.deciding.approve),
            "submit.amount": lambda item, _: self._by_staff(
                item, lambda press: self.deciding.change_amount(press, field(item, "amount"))
            ),
            "submit.refusal": lambda item, _: self._by_staff(
                item, lambda press: self.deciding.refuse(press, field(item, "note"))
            ),
            "appr.take": lambda item, _: self._by_staff(item, self.deciding.take_over),
            "submit.change": self._prepare,
            "act.was_done": lambda item, _: self._by_staff(
                item, lambda press: self.deciding.settle(press, was_done=True)
            ),
            "act.was_not": lambda item, _: self._by_staff(
                item, lambda press: self.deciding.settle(press, was_done=False)
            ),
            "act.undo": lambda item, _: self._by_staff(
                item, lambda press: self.deciding.undo(press, submission=item.id)
            ),
        }

    async def _by_customer(self, item: InboxItem, customer: Customer, decide: Decide) -> str:
        try:
            ended, action = await decide(_press(item))
        except ActionMovedOn as error:
            ended, action = "moved_on", error.action
        except NeedsMore:
            ended, action = "not_possible", None
        except ShopUnavailable:
            ended, action = "cannot_check", None
        # A press that is repeated after a crash has done its work.
        if item.fence == 1 or ended != "moved_on":
            await self._tell(item, customer, ended, action)
        return ended

    async def _tell(self, item: InboxItem, customer: Customer, ended: Ended, action: Action | None) -> None:
        """Tell the person why nothing came of the press, if they cannot see it on the message itself."""
        language = language_for(customer.locale)
        match ended:
            case "not_yours" | "cannot_check" | "under_way":
                words = self.sentences.say(language, f"action_{ended}")
            case "moved_on" if action is not None and item.author == action.customer:
                words = standing(self.sentences, action)
            case "not_possible":
                words = self.sentences.say(language, "action_refused")
            case "unknown_action":
                words = self.sentences.say(language, "action_expired")
            case _:
                return
        thread = action.thread.ts if action is not None and action.thread.channel == item.thread.channel else None
        await self.chat.post_ephemeral(item.thread.channel, item.author, text=words, thread_ts=thread)

    async def _by_staff(self, item: InboxItem, decide: Decide) -> str:
        try:
            ended, action = await decide(_press(item))
        except ActionMovedOn as error:
            ended, action = "moved_on", error.action
        except NeedsMore:
            ended, action = "not_possible", None
        except ShopUnavailable:
            ended, action = "cannot_check", None
        if ended == "moved_on" and action is not None:
            if item.fence == 1:
                await self.replies.tell(item, staff_standing(action))
        elif ended in TOLD_TO_STAFF:
            await self.replies.tell(item, TOLD_TO_STAFF[ended])
        return ended

    async def _prepare(self, item: InboxItem, value: str) -> str:
        """Prepare the change that staff have filled in, and say what came of it."""
        ref, kind, order, currency = (*value.split("/"), "", "", "", "")[:4]
        case = await self.deciding.cases.find(ref)
        owned(case, item.author)
        try:
            arguments = _arguments(item, kind, order, currency)
            prepared = await self.deciding.prepare(
                case, item.author, cast("ActionKind", kind), arguments, submission=item.id
            )
        except (ValueError, NeedsMore):
            words, ended = PREPARED["missing"], "missing"
        except ShopUnavailable:
            words, ended = TOLD_TO_STAFF["cannot_check"], "cannot_check"
        else:
            ended = prepared.state
            words = _prepared(prepared)
        await self.replies.tell(item, words)
        return ended


def _prepared(prepared: Prepared) -> str:
    """What the member of staff reads who prepared it."""
    if prepared.state == "offered" and prepared.action is not None:
        return OFFERED.get(prepared.action.state, OFFERED["ready"])
    return " ".join(filter(None, (PREPARED[prepared.state], prepared.words)))


def _arguments(item: InboxItem, kind: str, order: str, currency: str) -> Arguments:
    """What was filled in. Raises ValueError if it is no change that staff can prepare."""
    fields = item.interaction.fields
    lines = [
        {"line": name.removeprefix("line/"), "quantity": number(str(count))}
        for name, count in fields.items()
        if name.startswith("line/") and count
    ]
    swaps = [
        {"line": name.removeprefix("swap/"), "variant": str(variant)}
        for name, variant in fields.items()
        if name.startswith("swap/") and variant
    ]
    parts = {part: field(item, f"address/{part}") for part in NewAddress.model_fields}
    address = address_of(NewAddress.model_validate(parts)) if kind in WITH_ADDRESS else None
    written = field(item, "amount")
    amount = read_money(written, currency) if written else None
    if kind not in PREPARED_KINDS or (written and amount is None):
        raise ValueError("it is no change that staff can prepare")
    return Arguments.read(
        {
            "order": "" if kind == "change_customer_address" else order,
            "lines": lines,
            "swaps": swaps,
            "method": field(item, "method"),
            "reason": field(item, "reason"),
            **({"address": asdict(address)} if address else {}),
            **({"amount": asdict(amount)} if amount else {}),
        }
    )


def _press(item: InboxItem) -> Press:
    pressed = item.interaction
    return Press(pressed.value, item.author, item.author_team, item.thread.channel, pressed.message_ts)
