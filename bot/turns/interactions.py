"""Interactions: what each button of customers and staff does."""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from bot.agent.journal import Journal
from bot.cases.buttons import BUTTONS, Button
from bot.cases.case import Cause, MovedOn, Outcome, Priority
from bot.cases.cases import ENDED, Cases, UnknownCase
from bot.cases.dialogs import NO_SUCH_CASE, numbers_of
from bot.cases.drafts import CaseDrafts
from bot.cases.relay import Relay
from bot.cases.waiting import Waiting
from bot.clock import Clock
from bot.conversation import Customer
from bot.desk.identity import Identities
from bot.drafts.drafts import Drafting
from bot.guard.guardrails import clean, mask
from bot.help_center.articles import Articles, ArticleText, Decided, UnknownArticle, status_text
from bot.language.sentences import Sentences
from bot.learning.suggestions import Learning
from bot.reporting.why import Why
from bot.slack.api.chat import Chat
from bot.store import turns
from bot.store.bodies import InteractionBody
from bot.store.database import Database
from bot.store.inbox import Arrival, InboxItem
from bot.store.persons import REQUEST
from bot.turns.erasure import Erasure
from bot.turns.handover_requests import HandoverRequests, open_before
from bot.turns.journal import open_journal
from bot.views.article_cards import REASONS
from bot.views.dialogs import DRAFT_LIMIT, SUGGEST

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Interactions:
    """Carries interactions out. `bot.app` puts the parts together."""

    database: Database
    chat: Chat
    clock: Clock
    sentences: Sentences
    identities: Identities
    cases: Cases
    relay: Relay
    drafts: CaseDrafts
    drafting: Drafting
    handover_requests: HandoverRequests
    learning: Learning
    articles: Articles
    erasure: Erasure
    accept: Callable[[Arrival], Awaitable[None]]
    """Stores an interaction that follows from another one."""
    why: Why

    @property
    def waiting(self) -> Waiting:
        """The buttons of a case that waits for a person."""
        return Waiting(self.cases)

    async def carry_out(self, item: InboxItem) -> str:
        """Do what the button says, or tell the person why not. Return how it ended, in one stable word."""
        button = BUTTONS.get(item.interaction.action)
        if button is None or button.lane == "at_once":
            logger.warning("an unknown button was pressed", extra={"action": item.interaction.action, "turn": item.id})
            return "unknown_button"
        try:
            if button.who == "staff":
                ended = await self._staff(item, button)
            elif button.who == "customer":
                ended = await self._customer(item, button)
            else:
                ended = await STEPS[button.id](self, item, item.interaction.value)
        except UnknownCase:
            logger.warning("a press names no case of ours", extra={"user": item.author})
            if button.who == "staff":
                await self._tell_one(item, NO_SUCH_CASE)
            return "unknown_case"
        return ended if isinstance(ended, str) else "pressed"

    async def _staff(self, item: InboxItem, button: Button) -> object:
        user, value, ended = item.author, item.interaction.value, None
        try:
            if not button.anywhere:
                await self._is_here(value.partition("/")[0], item.thread.channel)
            ended = await STEPS[button.id](self, item, value)
        except UnknownArticle:
            await self._tell_one(item, "Frontdesk can't find this suggestion. Nothing was done.")
            return "unknown_article"
        except Decided as error:
            # An attempt before a crash may have decided it.
            if item.fence == 1 or error.suggestion.decided_by != user:
                await self._tell_one(item, status_text(error.suggestion))
                return "decided_before"
        except MovedOn as error:
            # An attempt before a crash may have done it.
            if item.fence == 1 or not button.is_done(error.case, user):
                await self.cases.tell_moved_on(
                    error.case, user, button.id, channel=item.thread.channel, thread_ts=interaction_thread(item)
                )
                return "moved_on"
        if SUGGEST in item.interaction.fields.get("kb", ()):
            await self.accept(_suggesting(item, value))
        return ended

    async def _is_here(self, ref: str, channel: str) -> None:
        """Raise MovedOn if the case is at another desk. Whether the person is staff there was not checked."""
        case = await self.cases.find(ref)
        if self.cases.messages.desk(case) != channel:
            raise MovedOn(case)

    async def _join(self, item: InboxItem, ref: str) -> None:
        case = await self.cases.join(ref, item.author)
        words = f"You're helping with {case.ref} now: you're asked about each message you write in its thread."
        await self.chat.respond(item.interaction.response_url, text=words, replace=True)

    async def tell_failed(self, item: InboxItem) -> None:
        """Tell the person who pressed that it failed: a member of staff, or a person who wants their data erased."""
        button = BUTTONS[item.interaction.action]
        if button.id == REQUEST:
            await self.erasure.tell_failed(item)
            return
        if button.lane == "own":
            work = self.drafting if button.id == "case.draft" else self.learning
            with contextlib.suppress(UnknownCase):
                await work.abandon(item.interaction.value, asked=item.id, journal=await self._journal(item))
        await self._tell_one(item, "That didn't work: something failed on our side. Please press it again.")

    async def _journal(self, item: InboxItem) -> Journal:
        return await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)

    async def _snooze(self, item: InboxItem, value: str) -> None:
        ref, _, alert = value.partition("/")
        if not _is_number(alert):
            raise UnknownCase(ref)
        await self.waiting.snooze(ref, item.author, alert)

    async def _resolve(self, item: InboxItem, ref: str) -> None:
        fields = item.interaction.fields
        outcome, cause = _one_of(Outcome, fields.get("outcome")), _one_of(Cause, fields.get("cause"))
        suggest = SUGGEST in fields.get("kb", ())
        await self.cases.resolve(ref, item.author, outcome=outcome or "other", cause=cause, suggest=suggest)

    async def _prioritize(self, item: InboxItem, ref: str) -> None:
        priority = _one_of(Priority, item.interaction.fields.get("priority"))
        await self.cases.prioritize(ref, item.author, priority or "medium")

    async def _show_why(self, item: InboxItem, ref: str) -> None:
        card = await self.why.card(await self.cases.find(ref))
        channel, thread_ts = item.thread.channel, interaction_thread(item)
        await self.chat.post_ephemeral(channel, item.author, text=card.text, blocks=card.blocks, thread_ts=thread_ts)

    async def _draft(self, item: InboxItem, ref: str) -> str:
        return await self.drafting.draft(ref, item.author, asked=item.id, journal=await self._journal(item))

    async def _suggest(self, item: InboxItem, ref: str) -> str:
        return await self.learning.suggest(ref, item.author, asked=item.id, journal=await self._journal(item))

    async def _add_article(self, item: InboxItem, value: str) -> str | None:
        """Make an article from a message or a suggestion, with the words that were filled in."""
        (number, _, rest), wording = value.partition("/"), _wording(item)
        if not wording.is_whole:
            await self._tell_one(item, "Not added: title, question and answer each need words. Open the dialog again.")
            return "not_whole"
        if number == "message":
            await self.articles.add(wording, item.author, thread=item.thread, ts=rest)
        else:
            await self.articles.approve(_number(number), item.author, wording=wording, version=_number(rest))
        return None

    async def _discard(self, item: InboxItem, number: str) -> None:
        reason = item.interaction.action.removeprefix("kb.discard.")
        await self.articles.discard(_number(number), item.author, reason)

    async def _claim_and_send(self, item: InboxItem, value: str) -> None:
        ref, _, ts = value.partition("/")
        try:
            await self.cases.claim(ref, item.author)
        except MovedOn as error:
            if not error.case.is_with(item.author):
                raise
        sent = await self.relay.send(ref, item.author, ts)
        words = (
            "Claimed, and your message is on its way."
            if sent
            else "Claimed, but your message is gone. Please write it again."
        )
        await self.chat.respond(item.interaction.response_url, text=words, replace=True)

    async def _send(self, item: InboxItem, value: str) -> None:
        ref, _, ts = value.partition("/")
        sent = await self.relay.send(ref, item.author, ts)
        words = "On its way to the customer." if sent else "Your message is gone. Please write it again."
        await self.chat.respond(item.interaction.response_url, text=words, replace=True)

    async def _send_draft(self, item: InboxItem, value: str) -> None:
        ref, (asked, number), ts = value.partition("/")[0], numbers_of(value), item.interaction.message_ts
        written = item.interaction.fields.get("text")
        words = mask(clean(written, limit=DRAFT_LIMIT)) if isinstance(written, str) else None
        if not await self.drafts.send(ref, item.author, asked=asked, number=number, ts=ts, words=words):
            await self._tell_one(item, "One of these drafts was already sent. To say more, write in this thread.")

    async def _customer(self, item: InboxItem, button: Button) -> object:
        customer = await self.identities.identify(item.author, with_shop=False)
        if customer is None:
            return "not_a_person"
        try:
            return await CUSTOMER_STEPS[button.id](self, item, customer)
        except MovedOn as error:
            if error.case.ref == item.interaction.value and error.case.customer != customer.user:
                return await self._refuse(item, customer)
            if item.fence == 1 or not button.is_done(error.case, customer.user):
                await self.cases.tell_customer(error.case, item.thread, customer)
                return "moved_on"
        return None

    async def _not_solved(self, item: InboxItem, customer: Customer) -> None:
        """Reopen the case, or open another one if it is too late for that."""
        ref = item.interaction.value
        try:
            await self.cases.reopen(ref, customer.user)
        except MovedOn as error:
            ended = error.case
            if ended.ref != ref or ended.customer != customer.user or ended.state not in ENDED:
                raise
            await self.cases.open(ended.thread, customer, reason="not_solved", priority="medium")

    async def _call_person(self, item: InboxItem, customer: Customer) -> str | None:
        """Open a case, or tell the customer about the case that is open already."""
        if not await self._is_theirs(item.interaction.value, customer.user):
            return await self._refuse(item, customer)
        if case := await open_before(self.database, item):
            await self.cases.tell_customer(case, item.thread, customer)
            return "already_open"
        await self.cases.open(item.thread, customer, reason="asked_for_person", priority="medium")
        return None

    async def _refuse(self, item: InboxItem, customer: Customer) -> str:
        """Tell the person who pressed that the button belongs to another person."""
        words = self.sentences.say(self.sentences.language_for(customer.locale), "not_yours")
        await self._tell_one(item, words)
        return "not_yours"

    async def _is_theirs(self, turn: str, user: str) -> bool:
        """Whether the answer above the button was given to this person, or its customer is not known."""
        if not _is_number(turn):
            return False
        async with self.database.transaction() as tx:
            return await turns.customer_of(tx, int(turn)) in (user, None)

    async def _tell_one(self, item: InboxItem, words: str) -> None:
        await self.chat.post_ephemeral(item.thread.channel, item.author, text=words, thread_ts=interaction_thread(item))


def interaction_thread(pressed: Arrival | InboxItem) -> str | None:
    """Return the thread of the button. None if it is in the channel itself, such as on a card."""
    # The thread of an interaction with its own lane is only that lane. It is not a thread in the channel.
    has_own_lane = BUTTONS[pressed.interaction.action].lane == "own"
    is_root = has_own_lane or pressed.interaction.message_ts == pressed.thread.ts
    return None if is_root else pressed.thread.ts


def _one_of(closed: Any, value: object) -> Any:
    """Return the chosen value if it is one of the values of a Literal, else None."""
    return value if value in get_args(closed) else None


def _suggesting(item: InboxItem, case: str) -> Arrival:
    """Return the interaction that asks for an article from a case, in a lane of its own."""
    lane = f"suggest-{item.id}"
    return Arrival(
        event_id=lane,
        kind="interaction",
        thread=replace(item.thread, ts=lane),
        ts=lane,
        author=item.author,
        author_team=item.author_team,
        body=InteractionBody("kb.suggest", case, message_ts=lane),
        addressed=True,
    )


def _field(item: InboxItem, name: str) -> str:
    """Return what was filled in or chosen in the field. Empty if nothing was."""
    return str(item.interaction.fields.get(name) or "")


def _wording(item: InboxItem) -> ArticleText:
    """Return the title, question and answer that were filled in."""
    return ArticleText(*(_field(item, name) for name in ("title", "question", "answer")))


def _number(text: str) -> int:
    """Return the number of a row. For anything else return 0, which no row has."""
    return int(text) if _is_number(text) else 0


def _is_number(text: str) -> bool:
    """Whether the text from a button's value can be the number of a row."""
    return text.isascii() and text.isdigit() and len(text) <= 12


Step = Callable[[Interactions, InboxItem, str], Awaitable[object]]
"""Carries out an interaction, given the button's value. It can return how that ended, in one stable word."""
CustomerStep = Callable[[Interactions, InboxItem, Customer], Awaitable[object]]
"""Carries out an interaction of a customer, who has been identified. It returns the same as a `Step`."""

STEPS: Mapping[str, Step] = {
    "home.erase": lambda its, item, _: its.erasure.carry_out(item),
    "case.escalate": lambda its, item, _: its.handover_requests.carry_out(item),
    "case.claim": lambda its, item, ref: its.cases.claim(ref, item.author),
    "case.snooze": Interactions._snooze,
    "case.takeover": lambda its, item, ref: its.cases.take_over(ref, item.author),
    "case.join": Interactions._join,
    "case.draft": Interactions._draft,
    "case.more.why": Interactions._show_why,
    "draft.send": Interactions._send_draft,
    "relay.claim_send": Interactions._claim_and_send,
    "relay.send": Interactions._send,
    "submit.draft": Interactions._send_draft,
    "submit.resolve": Interactions._resolve,
    "submit.handback": lambda its, item, ref: its.cases.hand_back(ref, item.author, note=_field(item, "note")),
    "submit.priority": Interactions._prioritize,
    "submit.spam": lambda its, item, ref: its.cases.mark_spam(ref, item.author),
    "submit.transfer": lambda its, item, ref: its.cases.transfer(ref, item.author, _field(item, "desk")),
    "submit.merge": lambda its, item, ref: its.cases.merge(ref, item.author, into=_field(item, "into")),
    "submit.article": Interactions._add_article,
    "kb.suggest": Interactions._suggest,
    "kb.new": lambda its, item, number: its.articles.approve(_number(number), item.author),
    "kb.update": lambda its, item, number: its.articles.approve(_number(number), item.author, replacing=True),
    **{f"kb.discard.{reason}": Interactions._discard for reason in REASONS},
}
"""What each button runs, except those of customers. The table of buttons is in bot/cases/buttons.py."""
CUSTOMER_STEPS: Mapping[str, CustomerStep] = {
    "esc.customer": Interactions._call_person,
    "esc.accept": Interactions._call_person,
    "esc.cancel": lambda its, item, customer: its.cases.cancel(item.interaction.value, customer.user),
    "esc.urgent": lambda its, item, customer: its.waiting.urge(item.interaction.value, customer.user),
    "esc.wait": lambda its, item, customer: its.waiting.can_wait(item.interaction.value, customer.user),
    "esc.keep": lambda its, item, customer: its.waiting.keep_helping(item.interaction.value, customer.user),
    "case.reopen": Interactions._not_solved,
}
"""What each button of a customer runs."""
