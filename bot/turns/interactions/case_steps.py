"""What the buttons of staff do with a case and with held messages."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from bot.cases.assignment import Assignment, NotAtDesk
from bot.cases.bulk import Bulk, BulkChange, Wanted
from bot.cases.case import MovedOn, Priority
from bot.cases.cases import Cases
from bot.cases.hours import Hours
from bot.cases.queue import NothingWaits, Queue
from bot.cases.relay import Relay, is_note
from bot.cases.saved_replies import unfilled
from bot.cases.step import UnknownCase
from bot.clock import DAY
from bot.guard.guardrails import clean, mask
from bot.reporting.customer import CustomerCards
from bot.reporting.why import Why
from bot.store.inbox import InboxItem
from bot.turns.interactions.replies import Replies, Step, chosen_of, field, interaction_thread, is_number, one_of
from bot.views.dialogs import DRAFT_LIMIT, SUGGEST, changed_cases
from bot.views.staff_cards import causes_of, outcomes_to_choose

NOT_AT_DESK = "This person isn't on the desk's team. Nothing was assigned."

NOT_A_NOTE = "What begins with // stays in the team. Write it in the thread, or take the // out."
NOT_EDITED = "Nothing was changed: only the person who sent it can change it, and only while the customer sees it."
NOT_LATER = "Choose a time from now on, at most 90 days ahead."
LATEST_SECONDS = 90 * DAY
"""The longest time for which a case can be snoozed."""


@dataclass(frozen=True, slots=True)
class CaseSteps:
    """Carries these interactions out. `bot.app` puts the parts together."""

    cases: Cases
    queue: Queue
    assignment: Assignment
    relay: Relay
    why: Why
    customers: CustomerCards
    replies: Replies

    def table(self) -> Mapping[str, Step]:
        """What each button runs."""
        return {
            "queue.next": self._claim_next,
            "case.claim": self._claim,
            "case.snooze": self._snooze,
            "case.takeover": lambda item, ref: self.cases.take_over(ref, item.author),
            "case.await": lambda item, ref: self.cases.await_customer(ref, item.author),
            "case.wake": lambda item, ref: self.cases.wake(ref, item.author),
            "submit.later": self._put_aside,
            "case.unassign": lambda item, ref: self.assignment.unassign(ref, item.author),
            "case.join": self._join,
            "case.customer": self._show_customer,
            "case.more.why": self._show_why,
            "relay.claim_send": self._claim_and_send,
            "relay.send": self._send,
            "relay.join_send": self._join_and_send,
            "relay.note": self._keep,
            "submit.saved": self._send_saved,
            "submit.edit": self._edit_sent,
            "submit.resolve": self._resolve,
            "submit.handback": lambda item, ref: self.cases.hand_back(ref, item.author, note=field(item, "note")),
            "submit.priority": self._prioritize,
            "submit.tags": lambda item, ref: self.cases.tag(ref, item.author, chosen_of(item, "tags")),
            "submit.spam": lambda item, ref: self.cases.mark_spam(ref, item.author),
            "submit.transfer": lambda item, ref: self.cases.transfer(ref, item.author, field(item, "desk")),
            "submit.assign": self._assign,
            "submit.cases": self._change_cases,
            "submit.merge": lambda item, ref: self.cases.merge(ref, item.author, into=field(item, "into")),
        }

    async def _claim(self, item: InboxItem, ref: str) -> None:
        """Claim the case, and ask about what the person wrote under the card before."""
        try:
            await self.cases.claim(ref, item.author)
        except MovedOn as error:
            # An attempt before a crash may have claimed it, and not have asked.
            if item.fence == 1 or not error.case.is_with(item.author):
                raise
        await self.relay.offer_held(ref)

    async def _claim_next(self, item: InboxItem, _value: str) -> str | None:
        try:
            case = await self.queue.claim_next(item.thread.channel, item.author, press=str(item.id))
            await self.relay.offer_held(case.ref)
        except MovedOn as error:
            # An attempt before a crash has claimed it, and may not have asked.
            await self.relay.offer_held(error.case.ref)
            raise
        except NothingWaits:
            await self.replies.tell(item, "No case waits to be claimed.")
            return "nothing_waits"
        return None

    async def _put_aside(self, item: InboxItem, ref: str) -> str | None:
        stepping = self.cases.stepping
        until = _snoozed_until(item.interaction.fields, now=stepping.clock.now(), hours=stepping.targets.hours)
        if until is None:
            # The time has passed since the dialog was submitted.
            await self.replies.tell(item, NOT_LATER)
            return "not_later"
        await self.cases.put_aside(ref, item.author, until)
        return None

    async def _assign(self, item: InboxItem, ref: str) -> str | None:
        person, note = field(item, "person"), field(item, "note")
        try:
            await self.assignment.assign(ref, item.author, to=person, note=note)
        except NotAtDesk:
            # They left the desk after the dialog was submitted.
            await self.replies.tell(item, NOT_AT_DESK)
            return "not_at_desk"
        return None

    async def _snooze(self, item: InboxItem, value: str) -> None:
        ref, _, alert = value.partition("/")
        if not is_number(alert):
            raise UnknownCase(ref)
        await self.cases.snooze(ref, item.author, alert)

    async def _join(self, item: InboxItem, ref: str) -> None:
        case = await self.cases.join(ref, item.author)
        words = f"You're helping with {case.ref} now: you're asked about each message you write in its thread."
        await self.replies.replace(item, words)

    async def _show_customer(self, item: InboxItem, ref: str) -> None:
        """Show the person who asks, and only them, who the customer is."""
        desks = await self.queue.staff.desks(item.author)
        card = await self.customers.card(await self.cases.find(ref), at=desks)
        await self.replies.chat.post_ephemeral(item.thread.channel, item.author, text=card.text, blocks=card.blocks)

    async def _show_why(self, item: InboxItem, ref: str) -> None:
        card = await self.why.card(await self.cases.find(ref))
        channel, thread_ts = item.thread.channel, interaction_thread(item)
        await self.replies.chat.post_ephemeral(
            channel, item.author, text=card.text, blocks=card.blocks, thread_ts=thread_ts
        )

    async def _claim_and_send(self, item: InboxItem, value: str) -> None:
        ref, _, ts = value.partition("/")
        try:
            await self.cases.claim(ref, item.author)
        except MovedOn as error:
            if not error.case.is_with(item.author):
                raise
        sent = await self.relay.send(ref, item.author, ts)
        await self.relay.offer_held(ref)
        words = (
            "Claimed, and your message is on its way."
            if sent
            else "Claimed, but your message is gone. Please write it again."
        )
        await self.replies.replace(item, words)

    async def _join_and_send(self, item: InboxItem, value: str) -> None:
        try:
            await self.cases.join(value.partition("/")[0], item.author)
        except MovedOn as error:
            if error.case.speaker(item.author) is None:
                raise
        await self._send(item, value)

    async def _keep(self, item: InboxItem, value: str) -> None:
        ref, _, ts = value.partition("/")
        await self.relay.keep(ref, ts)
        await self.replies.replace(item, "Kept as an internal note.")

    async def _send(self, item: InboxItem, value: str) -> None:
        ref, _, ts = value.partition("/")
        sent = await self.relay.send(ref, item.author, ts)
        words = "On its way to the customer." if sent else "Your message is gone. Please write it again."
        await self.replies.replace(item, words)

    async def _send_saved(self, item: InboxItem, ref: str) -> str | None:
        words = mask(clean(field(item, "text"), limit=DRAFT_LIMIT))
        if fault := not_to_send(words):
            await self.replies.tell(item, fault)
            return "not_sent"
        await self.relay.send_words(ref, item.author, words, name=f"saved/{item.id}", ts=item.interaction.message_ts)
        return None

    async def _edit_sent(self, item: InboxItem, value: str) -> str | None:
        ref, _, name = value.partition("/")
        words = mask(clean(field(item, "text"), limit=DRAFT_LIMIT))
        fault = not_filled_in(words)
        if not fault and await self.relay.edit_words(ref, item.author, words, name=name, change=str(item.id)):
            return None
        await self.replies.tell(item, fault or NOT_EDITED)
        return "not_edited"

    async def _resolve(self, item: InboxItem, ref: str) -> None:
        fields = item.interaction.fields
        desk = self.cases.messages.desk_file()
        outcome = _chosen(fields.get("outcome"), outcomes_to_choose(desk))
        cause = _chosen(fields.get("cause"), causes_of(desk))
        tags = chosen_of(item, "tags") if "tags" in fields else None
        suggest = SUGGEST in fields.get("kb", ())
        await self.cases.resolve(ref, item.author, outcome=outcome or "other", cause=cause, tags=tags, suggest=suggest)

    async def _change_cases(self, item: InboxItem, value: str) -> str:
        """Change several cases, and tell the person which ones were left."""
        desk = self.cases.messages.desk_file()
        outcome, cause = field(item, "outcome"), field(item, "cause")
        wanted = Wanted(
            outcome=_chosen(outcome, outcomes_to_choose(desk)) or "other",
            cause=_chosen(cause, causes_of(desk)),
            person=field(item, "person"),
            tags=tuple(tag for tag in chosen_of(item, "tags") if tag in desk.cases.tags),
            into=field(item, "into"),
        )
        try:
            change = BulkChange.of(value)
        except ValueError:
            raise UnknownCase(value[:20]) from None
        bulk = Bulk(self.cases, self.assignment, self.queue.staff)
        result = await bulk.carry_out(change, wanted, user=item.author)
        await self.replies.tell(item, changed_cases(change.what, result.done, result.left, into=wanted.into))
        return "changed" if result.done else "left"

    async def _prioritize(self, item: InboxItem, ref: str) -> None:
        priority = one_of(Priority, item.interaction.fields.get("priority"))
        await self.cases.prioritize(ref, item.author, priority or "medium")


def not_to_send(text: str) -> str:
    """The sentence that says why a saved reply is not sent as it is. Empty if it is."""
    return NOT_A_NOTE if is_note(text) else not_filled_in(text)


def not_filled_in(text: str) -> str:
    """The sentence that says which placeholders of a saved reply are left. Empty if there are none, and words."""
    if not text.strip():
        return "Write something first."
    left = ", ".join(f"{{{name}}}" for name in unfilled(text))
    return f"Fill in {left} first, or take it out." if left else ""


def own_time(fields: Mapping[str, object], *, now: float) -> float | None:
    """The time of their own that somebody chose for a snooze. None if it is past, or too far ahead."""
    own = str(fields.get("own") or "")
    until = float(own) if own.isascii() and own.isdigit() and len(own) <= 12 else 0.0
    return until if now < until <= now + LATEST_SECONDS else None


def _snoozed_until(fields: Mapping[str, object], *, now: float, hours: Hours) -> float | None:
    """The time that was chosen for a snooze. None as in `own_time`."""
    match fields.get("when"):
        case "monday":
            return hours.morning(now, weekday=0)
        case "own":
            return own_time(fields, now=now)
        case _:
            return hours.morning(now)


def _chosen(value: object, choices: Collection[str]) -> str:
    """The value if it is one of the choices. The desk file may have changed while the dialog was open."""
    return value if isinstance(value, str) and value in choices else ""
