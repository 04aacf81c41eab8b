"""What a press means: each button's step of a case, for customers and for staff."""

import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, get_args

from bot.cases.case import Cause, MovedOn, Outcome, Priority
from bot.cases.cases import ENDED, Cases, UnknownCase
from bot.cases.dialogs import NO_SUCH_CASE, SUBMISSIONS, numbers_of
from bot.cases.drafts import CaseDrafts
from bot.cases.relay import Relay
from bot.cases.waiting import Waiting
from bot.clock import Clock
from bot.conversation import Customer
from bot.desk.identity import Identities
from bot.drafts.drafts import Drafting
from bot.guard.guardrails import clean, mask
from bot.help_center.articles import Articles, Decided, UnknownArticle, Wording, status_text
from bot.language.sentences import Sentences
from bot.learning.suggestions import Learning
from bot.reporting.why import Why
from bot.slack.client import SlackClient
from bot.store import turns
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import Arrival, InboxItem
from bot.store.persons import REQUEST
from bot.turns.erasure import Erasure
from bot.turns.handover_requests import CALL_OVER, HandoverRequests, open_before
from bot.turns.journal import open_journal
from bot.views.article_cards import REASONS
from bot.views.dialogs import DRAFT_LIMIT, SUGGEST

logger = logging.getLogger(__name__)

STAFF_BUTTONS = frozenset(
    {
        "case.claim",
        "case.snooze",
        "case.takeover",
        "case.join",
        "case.draft",
        "case.more.why",
        "draft.send",
        "relay.claim_send",
        "relay.send",
        "kb.suggest",
        "kb.new",
        "kb.update",
        "kb.discard",
    }
)
SLOW_BUTTONS = frozenset({"case.draft", "kb.suggest"})
"""Staff presses with a lane of their own: what is written under the card must not wait for a model."""
DISCARDS = {f"kb.discard.{reason}": reason for reason in REASONS}
"""The entries of a suggestion's menu, and why it is discarded then."""
DECISIONS = DISCARDS.keys() | {"kb.new", "kb.update", "submit.article"}
"""What staff say of articles; it names no case."""
BY_STAFF = STAFF_BUTTONS | SUBMISSIONS | DISCARDS.keys()
"""What only staff can have pressed or submitted: whoever stored it has made sure of that."""
CALLS = frozenset({"esc.customer", "esc.accept"})
"""What customers press who want a person."""
CUSTOMER_BUTTONS = CALLS | frozenset({"esc.cancel", "esc.urgent", "esc.wait", "esc.keep", "case.reopen"})


@dataclass(frozen=True, slots=True)
class Interactions:
    """Carries presses out; the parts are put together in `bot.app`."""

    database: Database
    slack: SlackClient
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
    """Stores a press that follows from another one."""
    why: Why

    @property
    def waiting(self) -> Waiting:
        """What is pressed of a case while nobody is on it."""
        return Waiting(self.cases)

    async def carry_out(self, item: InboxItem) -> str:
        """Do what the button says, or tell whoever pressed it why not; how it ended, in one stable word."""
        if item.body["action"] == REQUEST:
            return await self.erasure.carry_out(item)
        try:
            if item.body["action"] == CALL_OVER:
                return await self.handover_requests.carry_out(item)
            if item.body["action"] in BY_STAFF:
                return await self._staff(item, item.body["action"], item.body["value"])
            return await self._customer(item, item.body["action"], item.body["value"])
        except UnknownCase:
            logger.warning("a press names no case of ours", extra={"user": item.author})
            if item.body["action"] in BY_STAFF:
                await self._tell_one(item, NO_SUCH_CASE)
            return "unknown_case"

    async def _staff(self, item: InboxItem, action: str, value: str) -> str:
        user = item.author
        if action in DECISIONS:
            return await self._decide(item, action, value)
        try:
            # What is suggested appears at the case's own desk, whoever asks for it.
            if action != "kb.suggest":
                await self._is_here(value.partition("/")[0], item.thread.channel)
            match action:
                case "case.claim":
                    await self.cases.claim(value, user)
                case "case.snooze":
                    ref, _, alert = value.partition("/")
                    if not _is_number(alert):
                        raise UnknownCase(ref)
                    await self.waiting.snooze(ref, user, alert)
                case "case.takeover":
                    await self.cases.take_over(value, user)
                case "case.join":
                    await self._join(item, value)
                case "submit.transfer":
                    await self.cases.transfer(value, user, str(item.body["fields"].get("desk", "")))
                case "submit.merge":
                    await self.cases.merge(value, user, into=str(item.body["fields"].get("into", "")))
                case "relay.send":
                    await self._send(item, value)
                case "submit.resolve":
                    fields = item.body["fields"]
                    outcome, cause = _one_of(Outcome, fields.get("outcome")), _one_of(Cause, fields.get("cause"))
                    suggest = SUGGEST in fields.get("kb", ())
                    await self.cases.resolve(value, user, outcome=outcome or "other", cause=cause, suggest=suggest)
                case "submit.handback":
                    await self.cases.hand_back(value, user, note=item.body["fields"].get("note", ""))
                case "submit.priority":
                    priority = _one_of(Priority, item.body["fields"].get("priority"))
                    await self.cases.prioritize(value, user, priority or "medium")
                case "submit.spam":
                    await self.cases.mark_spam(value, user)
                case "case.draft":
                    journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
                    return await self.drafting.draft(value, user, asked=item.id, journal=journal)
                case "case.more.why":
                    card = await self.why.card(await self.cases.find(value))
                    channel, told_in = item.thread.channel, interaction_thread(item)
                    await self.slack.post_ephemeral(
                        channel, user, text=card.text, blocks=card.blocks, thread_ts=told_in
                    )
                case "draft.send" | "submit.draft":
                    await self._send_draft(item, value)
                case "kb.suggest":
                    journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
                    return await self.learning.suggest(value, user, asked=item.id, journal=journal)
                case _:
                    await self._claim_and_send(item, value)
        except MovedOn as error:
            if item.fence == 1 or not _was_done(action, error.case, user):
                await self.cases.tell_moved_on(
                    error.case, user, action, channel=item.thread.channel, thread_ts=interaction_thread(item)
                )
                return "moved_on"
        if SUGGEST in item.body.get("fields", {}).get("kb", ()):
            await self.accept(_suggesting(item, value))
        return "pressed"

    async def _decide(self, item: InboxItem, action: str, value: str) -> str:
        """Whether something becomes an article; the first who says so decides."""
        number, _, rest = value.partition("/")
        if action == "submit.article" and not _wording(item).is_whole:
            await self._tell_one(item, "Not added: title, question and answer each need words. Open the dialog again.")
            return "not_whole"
        try:
            match action:
                case "submit.article" if number == "message":
                    await self.articles.add(_wording(item), item.author, thread=item.thread, ts=rest)
                case "submit.article":
                    wording, version = _wording(item), _number(rest)
                    await self.articles.approve(_number(number), item.author, wording=wording, version=version)
                case _ if action in DISCARDS:
                    await self.articles.discard(_number(number), item.author, DISCARDS[action])
                case _:
                    await self.articles.approve(_number(number), item.author, replacing=action == "kb.update")
        except UnknownArticle:
            await self._tell_one(item, "Frontdesk can't find this suggestion. Nothing was done.")
            return "unknown_article"
        except Decided as error:
            # An attempt before a crash may have decided it.
            if item.fence == 1 or error.suggestion.decided_by != item.author:
                await self._tell_one(item, status_text(error.suggestion))
                return "decided_before"
        return "pressed"

    async def _is_here(self, ref: str, channel: str) -> None:
        """Raise MovedOn when the case is at another desk: who is staff there has been asked of nobody."""
        case = await self.cases.find(ref)
        if self.cases.messages.desk(case) != channel:
            raise MovedOn(case)

    async def _join(self, item: InboxItem, ref: str) -> None:
        case = await self.cases.join(ref, item.author)
        words = f"You're helping with {case.ref} now: you're asked about each message you write in its thread."
        await self.slack.respond(item.body["response_url"], text=words, replace=True)

    async def tell_failed(self, item: InboxItem) -> None:
        """Tell whoever pressed that it came to nothing: a member of staff, or who wants their data erased."""
        if item.body["action"] == REQUEST:
            await self.erasure.tell_failed(item)
            return
        if (action := item.body["action"]) in SLOW_BUTTONS:
            journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
            work = self.drafting if action == "case.draft" else self.learning
            with contextlib.suppress(UnknownCase):
                await work.abandon(item.body["value"], asked=item.id, journal=journal)
        await self._tell_one(item, "That didn't work: something failed on our side. Please press it again.")

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
        await self.slack.respond(item.body["response_url"], text=words, replace=True)

    async def _send(self, item: InboxItem, value: str) -> None:
        ref, _, ts = value.partition("/")
        sent = await self.relay.send(ref, item.author, ts)
        words = "On its way to the customer." if sent else "Your message is gone. Please write it again."
        await self.slack.respond(item.body["response_url"], text=words, replace=True)

    async def _send_draft(self, item: InboxItem, value: str) -> None:
        ref, (asked, number), ts = value.partition("/")[0], numbers_of(value), item.body["message_ts"]
        written = item.body.get("fields", {}).get("text")
        words = None if written is None else mask(clean(written, limit=DRAFT_LIMIT))
        if not await self.drafts.send(ref, item.author, asked=asked, number=number, ts=ts, words=words):
            await self._tell_one(item, "One of these drafts was already sent. To say more, write in this thread.")

    async def _customer(self, item: InboxItem, action: str, value: str) -> str:
        customer = await self.identities.identify(item.author, with_shop=False)
        if customer is None:
            return "not_a_person"
        try:
            match action:
                case "esc.cancel":
                    await self.cases.cancel(value, customer.user)
                case "esc.urgent":
                    await self.waiting.urge(value, customer.user)
                case "esc.wait":
                    await self.waiting.can_wait(value, customer.user)
                case "esc.keep":
                    await self.waiting.keep_helping(value, customer.user)
                case "case.reopen":
                    await self._not_solved(value, customer)
                case _ if not await self._is_theirs(value, customer.user):
                    return await self._refuse(item, customer)
                case _:
                    return await self._call_person(item, customer)
        except MovedOn as error:
            if error.case.ref == value and error.case.customer != customer.user:
                return await self._refuse(item, customer)
            if item.fence == 1 or not _was_done(action, error.case, customer.user):
                await self.cases.tell_customer(error.case, item.thread, customer)
                return "moved_on"
        return "pressed"

    async def _not_solved(self, ref: str, customer: Customer) -> None:
        """Open the case again, or another that follows it when that is too late."""
        try:
            await self.cases.reopen(ref, customer.user)
        except MovedOn as error:
            ended = error.case
            if ended.ref != ref or ended.customer != customer.user or ended.state not in ENDED:
                raise
            await self.cases.open(ended.thread, customer, reason="not_solved", priority="medium")

    async def _call_person(self, item: InboxItem, customer: Customer) -> str:
        """Open a case, or tell who is called already."""
        if case := await open_before(self.database, item):
            await self.cases.tell_customer(case, item.thread, customer)
            return "already_open"
        await self.cases.open(item.thread, customer, reason="asked_for_person", priority="medium")
        return "pressed"

    async def _refuse(self, item: InboxItem, customer: Customer) -> str:
        """Tell whoever pressed that the button is somebody else's."""
        words = self.sentences.say(self.sentences.language_for(customer.locale), "not_yours")
        await self._tell_one(item, words)
        return "not_yours"

    async def _is_theirs(self, turn: str, user: str) -> bool:
        """Whether the answer under which the button stands was given to this person."""
        if not _is_number(turn):
            return False
        async with self.database.transaction() as tx:
            return await turns.customer_of(tx, int(turn)) in (user, None)

    async def _tell_one(self, item: InboxItem, words: str) -> None:
        await self.slack.post_ephemeral(
            item.thread.channel, item.author, text=words, thread_ts=interaction_thread(item)
        )


def interaction_thread(interaction: Arrival | InboxItem) -> str | None:
    """The thread in which the button stands; None when it stands in the channel itself, as on a card."""
    # The thread of a slow press is only its lane, and no place in the channel.
    is_root = interaction.body["action"] in SLOW_BUTTONS or interaction.body["message_ts"] == interaction.thread.ts
    return None if is_root else interaction.thread.ts


def _one_of(closed: Any, value: object) -> Any:
    """What was chosen, when it is one of the values of a Literal; else None."""
    return value if value in get_args(closed) else None


def _suggesting(item: InboxItem, case: str) -> Arrival:
    """The press that asks for an article from a case, in a lane of its own."""
    lane = f"suggest-{item.id}"
    return Arrival(
        event_id=lane,
        kind="interaction",
        thread=replace(item.thread, ts=lane),
        ts=lane,
        author=item.author,
        author_team=item.author_team,
        body={"action": "kb.suggest", "value": case, "message_ts": lane, "response_url": "", "text": ""},
        addressed=True,
    )


def _wording(item: InboxItem) -> Wording:
    """What was filled in."""
    fields = item.body["fields"]
    return Wording(*(str(fields.get(name) or "") for name in ("title", "question", "answer")))


def _number(text: str) -> int:
    """The number of a row; 0, which no row has, for anything else."""
    return int(text) if _is_number(text) else 0


def _is_number(text: str) -> bool:
    """Whether a button's value holds a row's number there."""
    return text.isascii() and text.isdigit() and len(text) <= 12


def _was_done(action: str, case: Case, user: str) -> bool:
    """Whether the case stands as the press wanted it: an attempt before a crash has done it."""
    match action:
        case "case.claim" | "case.takeover" | "relay.claim_send":
            return case.is_with(user)
        case "case.join" | "relay.send":
            return case.speaker(user) is not None
        case "submit.merge":
            return case.state == "merged"
        case "submit.resolve":
            return case.state == "resolved"
        case "submit.transfer" | "case.reopen" | "case.snooze":
            return case.waits
        case "esc.urgent" | "esc.wait":
            return case.state == "out_of_hours"
        case "esc.keep":
            return case.keeps_helping
        case "submit.spam":
            return case.state == "closed"
        case "case.draft" | "draft.send" | "submit.draft" | "kb.suggest":
            return False
        case _:
            return case.state == "bot"
