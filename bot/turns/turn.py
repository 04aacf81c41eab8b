"""One turn: from a stored message to something that the customer reads, until its row is closed.

take               count the attempt, do the work, close the row, then summarize a long conversation. If the customer
                   edits or deletes the message during the turn, begin again with the new message
  _listen          in a channel's thread, decide whether the message is for us or for others
  _customer_wrote  a case is open: `_to_people` · a person solved a case before: thanks, or reopen it · nothing runs
                   that a stop could end: say so · the words ask for a person: open a case · else answer
  _endangered      make an open case as urgent as the customer's new message
  _see_to          the cheap model saw danger: open a case, or make the open one as urgent
  _to_people       an answer has begun and no person has claimed the case: continue it · else relay the message, and
                   answer it too if the customer asked for help while the case waits
  _begin_anew      the conversation is long: say so, and continue with a summary
  _unreachable     the conversation is gone: tell staff and close the row
  _over_limit      one person sent too many messages: say so once, and close the row
  _over_budget     no money is left for answers today: open one case for all of the customer's threads
  _give_up         the row failed three times, or could not be stored as it came: open a case, so that the customer
                   does not wait for an answer that never comes, and make the row a dead letter
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.agent.messages import AgentMessage, CustomerMessage
from bot.cases.buttons import BUTTONS
from bot.cases.case import may_be_reopened
from bot.cases.cases import Cases
from bot.cases.relay import Relay
from bot.clock import Clock
from bot.conversation import Customer
from bot.desk import addressing, policy
from bot.desk.affirmation import is_last_word
from bot.desk.budgets import Allowance, Budgets, Window
from bot.desk.danger.classifier import Danger, find_danger
from bot.desk.identity import Identities
from bot.desk.intents import says_settled, says_stop
from bot.errors import FrontdeskError, Silenced, StoreUnavailable, Unreachable
from bot.failpoints import failpoint
from bot.ingest.dead_letters import dead_line
from bot.ingest.interrupts import Interrupt, Interrupted, Interrupts
from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.slack.api.errors import DEAD_TOKEN, PERSON_GONE, SlackRefused, SlackUnanswered
from bot.slack.outbox import Outbox
from bot.store import attempts, inbox, interrupts, outbox, pauses, threads, turns
from bot.store import cases as case_rows
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import FinishedState, InboxItem
from bot.store.outbox import Outgoing
from bot.store.persons import REQUEST
from bot.store.threads import ThreadState
from bot.telemetry import Metrics
from bot.turns import erasure
from bot.turns.answer import UNANSWERED, Answers
from bot.turns.danger_check import DangerCheck, Look
from bot.turns.edits import MessageEdits
from bot.turns.interactions import Interactions
from bot.turns.question import Question
from bot.turns.sessions import TurnSessions
from bot.turns.summaries import Episode, Summaries
from bot.views.announcements import SAID_FIRST, status_text

logger = logging.getLogger(__name__)

ATTEMPTS = 3
"""The number of tries at one row, crashes included. After these there are as many tries at handing it to a person."""
UNCOUNTED_OUTAGE_PERIOD = 900.0
"""Seconds after a row's arrival in which tries that fail because Slack does not answer are not counted."""
UNCOUNT_TIMEOUT = 5.0
"""How long a try may take to be uncounted, in seconds. The end of the process waits for it."""
TURN_OVERHEAD_TIMEOUT = 60.0
"""How long the work of a turn other than the answer may take, in seconds."""
WAITING_SIGN_DELAY = 1.0
"""Seconds until a customer who is still being identified sees that the app is working."""
FILES_NAMED = 4
"""How many files of a message an answer names as not read."""
FILE_NAME_LIMIT = 80
"""The number of characters of each file's name in an answer."""
NOTICE_TIMEOUT = 10.0
"""How long an answer waits until the sentence before it is posted, in seconds."""

OVER_LIMIT = "over_limit"
"""The reason of a row that was closed because its author is over the limit of messages."""
COUNTED = ("", "edited")
"""Interrupts of messages that count for the limit. Messages with other interrupts (a stop, a deletion, a call for a
person) ask no model.
"""
Ending = tuple[FinishedState, str]
"""The state of a closed row, and the reason in one stable word."""


OVERHEARD = "overheard"
"""The reason of a row whose message was for others."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """Who a message is for."""

    is_for_us: bool = True
    is_unasked: bool = False
    """True if the message is in a channel's thread and does not mention the app."""
    concerns: bool = True
    """False if the message is a question that names nothing of the person's matter with us."""


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A customer's message with what was read next to it."""

    item: InboxItem
    customer: Customer
    language: Language
    agent: str
    """The agent that answered last in the thread. Empty if none did."""
    episode: Episode
    interrupt: Interrupt
    epoch: int
    """The ownership epoch of the thread, read before the turn decided who answers."""
    local_changes: int
    """The count of LOCAL_CHANGES when the epoch was read."""
    hearing: Hearing = Hearing()


@dataclass(frozen=True, slots=True)
class Turns:
    """Runs turns. `bot.app` puts the parts together."""

    database: Database
    outbox: Outbox
    clock: Clock
    sentences: Sentences
    identities: Identities
    answers: Answers
    budgets: Budgets
    cases: Cases
    relay: Relay
    interactions: Interactions
    summaries: Summaries
    metrics: Metrics
    edits: MessageEdits
    sessions: TurnSessions
    danger_check: DangerCheck | None = None
    """Checks messages for danger next to the answer. None if there is no cheap model."""
    interrupts: Interrupts = field(default_factory=Interrupts)
    allowance: Allowance | None = None
    """Limits the messages of one person. None means no limit."""
    faults: dict[int, str] = field(default_factory=dict)
    """Row -> why its latest try in this process failed. Tries that crashed the process leave no entry."""

    async def take(self, item_id: int) -> None:
        """Work on one inbox row until it is closed. Does nothing if it is closed already.

        Raises what Slack and the database raise while they are away. In the first quarter of an hour
        (UNCOUNTED_OUTAGE_PERIOD) such an attempt does not count.
        """
        is_over = False
        while not is_over:
            with self.interrupts.running(item_id) as interrupt:
                is_over = await self._take_up(item_id, interrupt)

    async def _take_up(self, item_id: int, interrupt: Interrupt) -> bool:
        """Make one attempt. Return False if it was interrupted: the row's interrupt then says how it continues."""
        over: Window | None = None
        async with self.database.transaction() as tx:
            item = await inbox.start(tx, item_id)
            if (
                item is not None
                and self.allowance is not None
                and item.kind in ("message", "edit")
                and item.interrupt in COUNTED
            ):
                over = await self.allowance.admit(tx, item)
            # A crash between the end of the turn and the close of its row leaves a row with a finished answer.
            ended = await turns.ended(tx, item.id, item.thread) if item else None
        if item is None:
            return True
        try:
            with attempts.working_on(item.id, item.fence):
                if not ended and item.interrupt == "edited":
                    item = await self.edits.begin_anew(item)
                await self._take(item, ended, interrupt, over=over)
        except (Interrupted, Silenced):
            return False
        return True

    async def _take(self, item: InboxItem, ended: str | None, interrupt: Interrupt, *, over: Window | None) -> None:
        failpoint("turn_begun")
        try:
            ending = await self._attempt(item, ended, interrupt, over=over)
        except (Interrupted, Silenced):
            raise
        except Exception as error:
            self.faults[item.id] = str(error) if isinstance(error, FrontdeskError) else type(error).__name__
            raise
        state, reason = ending
        # This comes before the row is closed, so that a crash leaves no session that looks busy.
        unsettled = await self.sessions.settle(item)
        async with self.database.transaction() as tx:
            if unsettled is not None:
                await outbox.add(tx, unsettled, now=self.clock.now())
            await inbox.finish(tx, item.id, state, reason=reason, now=self.clock.now())
            # Only an earlier attempt can have left something. After all tries, nothing may keep the row open.
            is_left = reason in ("relayed", "called", "unreachable") or (
                state == "dead" and item.attempts <= 2 * ATTEMPTS
            )
            if is_left and (item.fence > 1 or reason == "unreachable"):
                why = "dead_letter" if state == "dead" else reason
                await self.answers.leftovers.save(tx, item, reason=why, may_return=state == "dead")
            if state == "dead":
                await outbox.add(tx, dead_line(item, agent_channel=self.relay.agent_channel), now=self.clock.now())
        failpoint("row_closed")
        self.faults.pop(item.id, None)
        if state == "dead" or unsettled is not None:
            self.outbox.wake()
        if state == "dead":
            self.metrics.set_aside(item.kind)
        self.metrics.turn_finished(item.kind, reason, self.clock.now() - item.received_at)
        if item.kind in ("message", "edit") and reason in ("answered", "no_answer"):
            await self.summaries.catch_up(item)

    async def _attempt(
        self, item: InboxItem, ended: str | None, interrupt: Interrupt, *, over: Window | None
    ) -> Ending:
        try:
            if ended:
                return "done", await self._answered_before(item, ended)
            if item.attempts > ATTEMPTS or item.body.unstorable:
                return await self._give_up(item)
            return await self._work(item, interrupt, over=over)
        except asyncio.CancelledError:
            # The process shuts down, which is not the row's fault.
            with contextlib.suppress(FrontdeskError, TimeoutError):
                async with asyncio.timeout(UNCOUNT_TIMEOUT), self.database.transaction(urgent=True) as tx:
                    await inbox.uncount(tx, item.id)
            raise
        except SlackUnanswered:
            await self._uncount(item)
            raise
        except StoreUnavailable:
            # The cause is another transaction's lock or a restart of the database. One answer can meet several.
            with contextlib.suppress(FrontdeskError, TimeoutError):
                async with asyncio.timeout(UNCOUNT_TIMEOUT):
                    await self._uncount(item)
            raise
        except Unreachable as gone:
            return await self._unreachable(item, gone.error)
        except SlackRefused as refusal:
            if refusal.method == "conversations.open" and refusal.error in PERSON_GONE:
                return await self._unreachable(item, refusal.error)
            if refusal.error not in DEAD_TOKEN:
                raise
            # With a dead token nothing can be posted at all. Once it is replaced, an answer is better than a case.
            await self._uncount(item)
            raise SlackUnanswered(refusal.method, refusal.error, sent=False) from None

    async def _answered_before(self, item: InboxItem, ended: str) -> str:
        """Finish a row that was answered before a crash. Check its message for danger if that was not done."""
        is_for_us = item.thread.is_direct or item.message.to_us
        if self.danger_check is None or not is_for_us or item.attempts > ATTEMPTS:
            return ended
        seen = await self.danger_check.again(item)
        if seen is not None:
            customer, language = await self._somebody(item), await self._language(item)
            async with self.database.transaction() as tx:
                state = await threads.find_thread(tx, item.thread) or ThreadState("", language, 0, "")
            episode = Episode(state.episode, state.note, turns=(), summary=None)
            interrupt = Interrupt()
            incoming = IncomingMessage(
                item, customer, language, "", episode, interrupt, state.epoch, state.local_changes
            )
            await self._see_to(incoming, seen)
        return ended

    async def _unreachable(self, item: InboxItem, error: str) -> Ending:
        """Tell staff once that the conversation is gone, and close the row. Further tries could not reach it either."""
        logger.warning("a conversation is gone", extra={"turn": item.id, "slack": error})
        await self.relay.tell_unreachable(item, error)
        return "dropped", "unreachable"

    async def _uncount(self, item: InboxItem) -> None:
        """Uncount the attempt, unless the row is older than UNCOUNTED_OUTAGE_PERIOD."""
        if self.clock.now() - item.received_at < UNCOUNTED_OUTAGE_PERIOD:
            async with self.database.transaction(urgent=True) as tx:
                await inbox.uncount(tx, item.id)

    async def _work(self, item: InboxItem, interrupt: Interrupt, *, over: Window | None) -> Ending:
        if item.kind in ("message", "edit"):
            return await self._customer_thought(item, interrupt, over=over)
        is_erasure = item.kind == "interaction" and item.interaction.action == REQUEST
        async with asyncio.timeout(erasure.SECONDS if is_erasure else TURN_OVERHEAD_TIMEOUT):
            match item.kind:
                case "delete":
                    await self.edits.deleted(item)
                    return "done", "deleted"
                case "staff" if item.interrupt == "deleted":
                    await self.edits.deleted(item)
                    return "dropped", "deleted"
                case "staff":
                    return "done", await self.relay.from_staff(item)
                case "stop":
                    # A stopped answer has said so itself. If nothing ran, `TurnSessions.settle` makes sure that the
                    # session does not look busy.
                    return "done", "noted"
                case _:
                    return "done", await self.interactions.carry_out(item)

    async def _customer_thought(self, item: InboxItem, interrupt: Interrupt, *, over: Window | None) -> Ending:
        """Work on a message or an edit, unless the customer has deleted or stopped it since."""
        async with asyncio.timeout(TURN_OVERHEAD_TIMEOUT):
            if item.interrupt == "deleted":
                await self.edits.deleted(item)
                return "dropped", "deleted"
            if item.kind == "edit":
                again = await self.edits.edited(item)
                if again is None:
                    return "done", "noted"
                item = again
            hearing = await self._listen(item)
            if not hearing.is_for_us:
                await self._leave(item)
                return "dropped", OVERHEARD
            if item.interrupt == "stop":
                return "done", await self.answers.leftovers.stop(item, await self._language(item))
            if over is not None and not await self._is_for_people(item):
                return await self._over_limit(item, over)
        return await self._customer_wrote(item, interrupt, hearing, is_over=over is not None)

    async def _language(self, item: InboxItem) -> Language:
        async with self.database.transaction() as tx:
            state = await threads.find_thread(tx, item.thread)
        if state and state.language:
            return self.sentences.language_for(state.language)
        return self.sentences.language_of(item.words, "")

    async def _identify(self, item: InboxItem, *, is_unasked: bool) -> Customer | None:
        """Return the author. If the shop is slow to identify them, the customer sees that the app is working."""
        asking = asyncio.create_task(self.identities.identify(item.author))
        try:
            await asyncio.wait({asking}, timeout=WAITING_SIGN_DELAY)
            if not asking.done() and not is_unasked:
                async with self.database.transaction() as tx:
                    case = await case_rows.find_open(tx, item.thread)
                if case is None:
                    await self.sessions.show_work(item, await self._language(item))
            return await asking
        finally:
            asking.cancel()

    async def _listen(self, item: InboxItem) -> Hearing:
        """Decide whether a message is for us. The rules are in bot/desk/addressing.py.

        In a channel, a mention is for us, and so is a reply of the person who was answered last. What the customer of
        a case writes goes to the people on the case.
        """
        if item.thread.is_direct or item.message.to_us:
            return Hearing()
        text, others = item.words, frozenset(item.message.others)
        async with self.database.transaction() as tx:
            case = await case_rows.find_open(tx, item.thread)
            ended = None if case else await case_rows.latest_of(tx, item.thread)
            answered = await inbox.answered_last(tx, item)
            state = await threads.find_thread(tx, item.thread)
            episode = await self.summaries.read(tx, item.thread, state) if state else None
        if case is not None and item.author == case.customer:
            # They may mention the people on the case by name.
            is_for_others = item.message.leads and not any(case.speaker(other) is not None for other in others)
            return Hearing(not is_for_others, is_unasked=True)
        if others:
            return Hearing(False)
        history = episode.history if episode else ()
        matter = [message.text for message in history if isinstance(message, CustomerMessage)]
        if case is not None:
            # What others ask in the thread of a case does not belong to the case.
            matter += [case.title, case.summary]
            return Hearing(item.author == answered and _concerns(text, matter), is_unasked=True)
        if ended is not None and item.author == ended.customer and may_be_reopened(ended, now=self.clock.now()):
            matter += [ended.title, ended.summary]
            if is_last_word(text) or addressing.says_unsettled(text) or _concerns(text, matter):
                return Hearing(is_unasked=True)
        asked_back = item.author == answered and _has_asked_back(episode)
        calls = self._is_for_a_person(text)
        concerns_us = calls or addressing.concerns_us(text, matter=matter, is_asked_back=asked_back)
        if item.author != answered or not concerns_us:
            return Hearing(False)
        return Hearing(is_unasked=True, concerns=asked_back or calls or _concerns(text, matter))

    async def _leave(self, item: InboxItem) -> None:
        """Erase the content of a message that was for others."""
        async with self.database.transaction() as tx:
            await interrupts.overhear(tx, item)

    async def _customer_wrote(
        self, item: InboxItem, interrupt: Interrupt, hearing: Hearing, *, is_over: bool
    ) -> Ending:
        async with asyncio.timeout(TURN_OVERHEAD_TIMEOUT):
            customer = await self._identify(item, is_unasked=hearing.is_unasked)
        if customer is None:
            return "dropped", "not_a_person"
        is_stop = says_stop(item.words)
        language = self.sentences.language_of(item.words, customer.locale)
        async with self.database.transaction() as tx:
            if is_stop and (known := await threads.find_thread(tx, item.thread)) and known.language:
                # A stop word can be the same in several languages.
                language = self.sentences.language_for(known.language)
            await threads.set_language(tx, item.thread, language)
            state = await threads.find_thread(tx, item.thread) or ThreadState("", language, 0, "")
            case = await case_rows.find_open(tx, item.thread)
            ended = None if case or is_stop else await case_rows.latest_of(tx, item.thread)
            is_paused = await pauses.is_paused(tx, item.thread.channel)
            episode = await self.summaries.read(tx, item.thread, state)
        incoming = IncomingMessage(
            item, customer, language, state.agent, episode, interrupt, state.epoch, state.local_changes, hearing
        )
        if item.message.masked:
            await self._say(incoming, "masked")
        seen = await self.danger_check.noted(item) if self.danger_check else None
        danger = find_danger(item.words) or (seen.danger if seen else None)
        if seen and (case is None or case.waits):
            return "done", await self._call(incoming, seen)
        if case is not None:
            if danger:
                await self._endangered(case, incoming, danger)
            if seen and self.danger_check:
                await self.danger_check.book(item, seen)
            return "done", await self._to_people(case, incoming, is_helped=not (is_paused or is_over))
        if ended is not None and hearing.concerns and await self._is_about(ended, item, customer):
            return "done", await self._comes_back(ended, incoming, danger)
        if item.interrupt == "called":
            return "done", await self._call(incoming)
        reason = danger or ("asked_for_person" if policy.asks_for_person(item.words) else None)
        if is_paused and not reason and not await self.answers.leftovers.has_begun(item, before=self.clock.now()):
            return "dropped", "paused"
        has_nothing = is_stop or not (reason or item.message.text)
        if (
            hearing.is_unasked
            and has_nothing
            and not await self.answers.leftovers.has_begun(item, before=self.clock.now())
        ):
            # There is nothing to stop, and the person did not ask us anything.
            await self._leave(item)
            return "dropped", OVERHEARD
        if not item.message.text:
            await self._say(incoming, "file_unread" if item.message.files else "greeting")
            return "done", "no_words"
        if is_stop:
            return "done", await self._nothing_runs(incoming)
        if reason:
            await self.cases.open(item.thread, customer, reason=reason, priority="medium")
            return "done", "escalated"
        if await self.budgets.set_aside(item):
            if hearing.is_unasked:
                await self._leave(item)
                return "dropped", "over_budget"
            return await self._over_budget(incoming)
        if len(episode.turns) >= self.summaries.turns and not hearing.is_unasked:
            incoming = await self._begin_anew(incoming)
        ended_as = await self._answer(incoming)
        if ended_as == UNANSWERED:
            await self._leave(item)
            return "dropped", ended_as
        return "done", ended_as

    async def _to_people(self, case: Case, incoming: IncomingMessage, *, is_helped: bool) -> str:
        """Give a message to the people on its case, and perhaps to the assistant too if `is_helped` is True."""
        item = incoming.item
        if case.waits and await self.answers.leftovers.has_begun(item, before=case.opened_at):
            # This very answer may have opened the case. Until staff claim it, the answer continues.
            return await self._answer(incoming) if item.interrupt != "called" else await self._call(incoming)
        if is_helped and await self._may_help(case, item):
            await self.relay.from_customer(case, item, incoming.customer, is_helped=True)
            return await self._help(case, incoming)
        await self.answers.leftovers.close(item)
        await self.relay.from_customer(case, item, incoming.customer)
        if case.waits and item.author == case.customer and says_settled(item.words):
            await self.interactions.waiting.offer_end(case.ref, key=f"turn/{item.id}/settled")
        return "relayed"

    async def _endangered(self, case: Case, incoming: IncomingMessage, danger: Danger) -> None:
        """Make the case as urgent as the danger. While it waits, tell the customer what to do until a person comes."""
        is_news = await self.cases.endanger(case.ref, incoming.item.author, danger) is not None
        if is_news and case.waits and (key := SAID_FIRST.get(danger)):
            await self._say(incoming, key)

    async def _call(self, incoming: IncomingMessage, seen: Look | None = None) -> str:
        """Open a case instead of answering. The case holds the question.

        The author asked for a person after this message, or the cheap model has `seen` danger in it. The case is
        opened here and not by the message that asked for a person, because that one may be edited or deleted before
        its turn comes.
        """
        item = incoming.item
        await self.answers.leftovers.close(item)
        if seen:
            await self._see_to(incoming, seen)
        else:
            await self.cases.open(item.thread, incoming.customer, reason="asked_for_person", priority="medium")
        return "called"

    async def _see_to(self, incoming: IncomingMessage, seen: Look) -> None:
        """Open a case for the danger that the model saw, or make the open case as urgent."""
        if seen.danger is None or self.danger_check is None:
            return
        case = await self.cases.open(incoming.item.thread, incoming.customer, reason=seen.danger, priority="high")
        await self._endangered(case, incoming, seen.danger)
        await self.danger_check.book(incoming.item, seen)

    async def _is_about(self, ended: Case, item: InboxItem, customer: Customer) -> bool:
        """Whether the message belongs to the ended case, and not to an answer that has begun."""
        now = self.clock.now()
        is_theirs = ended.customer == customer.user and may_be_reopened(ended, now=now)
        return is_theirs and not await self.answers.leftovers.has_begun(item, before=now)

    async def _comes_back(self, ended: Case, incoming: IncomingMessage, danger: Danger | None) -> str:
        """Handle a message after a person solved the case: pass thanks on, or reopen the case with the message."""
        item, customer = incoming.item, incoming.customer
        if danger is None and not item.message.files and is_last_word(item.words):
            await self.relay.thanked(ended, item)
            return "thanked"
        case = await self.cases.reopen(ended.ref, customer.user, wrote=True)
        failpoint("case_reopened")
        if danger:
            await self._endangered(case, incoming, danger)
        await self.relay.from_customer(case, item, customer)
        return "relayed"

    async def _may_help(self, case: Case, item: InboxItem) -> bool:
        """Whether the assistant answers this while the case waits, because its customer asked it to keep helping."""
        text = item.words
        return (
            case.waits
            and case.keeps_helping
            and item.author == case.customer
            and bool(item.message.text)
            and not (says_stop(text) or says_settled(text) or policy.asks_for_person(text) or find_danger(text))
            and not await self.budgets.set_aside(item)
        )

    async def _help(self, case: Case, incoming: IncomingMessage) -> str:
        """Answer while the case waits.

        If the agent calls a person or gives no answer, the customer gets the status text of the case.
        """
        told = replace(incoming.episode, note=f"{incoming.episode.note}\n{_waits(case)}".strip())
        ended = await self._answer(replace(incoming, episode=told))
        if ended in ("escalated", "failed"):
            words = status_text(self.sentences, incoming.language, case)
            await self._queue(self._words(incoming, "waits", words))
        return ended

    def _is_for_a_person(self, text: str) -> bool:
        return policy.asks_for_person(text) or find_danger(text) is not None

    async def _is_for_people(self, item: InboxItem) -> bool:
        """Whether a message over its author's limit still goes to a person. No model is asked for it."""
        async with self.database.transaction() as tx:
            case = await case_rows.find_open(tx, item.thread)
            if case is None and not self._is_for_a_person(item.words):
                return False
            return self.allowance is None or await self.allowance.admit(tx, item, for_people=True) is None

    async def _over_limit(self, item: InboxItem, window: Window) -> Ending:
        """Tell the author and staff, once in a window, that the author is over the limit. Close the row."""
        language = await self._language(item)
        async with self.database.transaction() as tx:
            if await pauses.is_paused(tx, item.thread.channel):
                return "dropped", "paused"
            told = None if self.allowance is None else await self.allowance.tell(tx, item, window)
            if told and told.tells_customer:
                words = self.sentences.say(language, f"over_{window}")
                key, thread = f"turn/{item.id}/over_limit", item.thread
                post = Outgoing(key, "post", thread.channel, {"text": words}, thread_ts=thread.ts)
                await outbox.add(tx, post, now=self.clock.now())
            if told and told.tells_staff:
                line = staff_line(item.author, window)
                post = Outgoing(f"over_limit/{item.id}", "post", self.relay.agent_channel, {"text": line})
                await outbox.add(tx, post, now=self.clock.now())
        self.outbox.wake()
        self.metrics.message_over_limit(window)
        return "dropped", OVER_LIMIT

    async def _nothing_runs(self, incoming: IncomingMessage) -> str:
        """Answer a stop that came as a message. Nothing runs, unless a running message was edited into a stop."""
        if await self.answers.leftovers.has_begun(incoming.item, before=self.clock.now()):
            return await self.answers.leftovers.stop(incoming.item, incoming.language)
        await self._say(incoming, "nothing_to_stop")
        return "nothing_to_stop"

    async def _answer(self, incoming: IncomingMessage) -> str:
        item, episode = incoming.item, incoming.episode
        question = Question(
            item,
            incoming.customer,
            incoming.language,
            item.message.text,
            incoming.agent,
            episode.number,
            episode.history,
            episode.covered,
            in_vain_before=bool(episode.turns) and episode.turns[-1].ended == "no_answer",
            heading=self._heading(incoming),
            files=item.message.file_names,
            epoch=incoming.epoch,
            local_changes=incoming.local_changes,
            is_unasked=incoming.hearing.is_unasked,
            concerns=incoming.hearing.concerns,
            interrupt=incoming.interrupt,
        )
        if self.danger_check is None or not question.concerns:
            return await self.answers.answer(question)
        async with self.danger_check.beside(item, incoming.interrupt) as looking:
            ended = await self.answers.answer(question)
            seen = await looking.result()
        if seen is None:
            return ended
        await self._see_to(incoming, seen)
        return ended if ended != UNANSWERED else "escalated"

    def _heading(self, incoming: IncomingMessage) -> str:
        """Return the lines before the answer: that it answers an edit, and which files were not read."""
        lines = [self.sentences.say(incoming.language, "saw_edit")] if incoming.item.kind == "edit" else []
        if names := incoming.item.message.file_names:
            shown = ", ".join(f"`{name.replace('`', '')[:FILE_NAME_LIMIT]}`" for name in names[:FILES_NAMED])
            files = f"{shown} …" if len(names) > FILES_NAMED else shown
            lines.append(self.sentences.say(incoming.language, "file_beside", files=files))
        return "\n".join(lines)

    async def _begin_anew(self, incoming: IncomingMessage) -> IncomingMessage:
        """Tell the customer, and begin a new episode with the summary of the one before and no agent in charge."""
        item, episode = incoming.item, incoming.episode
        key = f"{item.thread.key}/{episode.number}/long_conversation"
        words = self._words(incoming, "", self.sentences.say(incoming.language, "long_conversation"))
        with contextlib.suppress(TimeoutError, SlackRefused):
            async with asyncio.timeout(NOTICE_TIMEOUT):
                await self.outbox.deliver(replace(words, key=key))
        note = await self.summaries.closing(item, episode)
        async with self.database.transaction() as tx:
            await threads.begin_episode(tx, item.thread, note=note)
        return replace(incoming, agent="", episode=Episode(episode.number + 1, note, turns=(), summary=None))

    async def _over_budget(self, incoming: IncomingMessage) -> Ending:
        """Open a case instead of asking a model, because the day's budget is spent. Small talk opens no case.

        One case for each customer is enough: it also shows what they ask in other threads.
        """
        item, customer = incoming.item, incoming.customer
        if policy.is_small_talk(item.words):
            await self._say(incoming, "standing_by")
            return "done", "over_budget"
        case = await self.cases.open(item.thread, customer, reason="budget", priority="medium", one_a_customer=True)
        if case.thread != item.thread:
            await self._say(incoming, "over_budget", "passed_on")
            await self.relay.from_customer(case, item, customer)
        return "done", "over_budget"

    async def _say(self, incoming: IncomingMessage, key: str, *more: str) -> None:
        """Post one of our own sentences in the thread, followed by `more`. Idempotent."""
        words = " ".join(self.sentences.say(incoming.language, each) for each in (key, *more))
        await self._queue(self._words(incoming, key, words))

    def _words(self, incoming: IncomingMessage, name: str, words: str) -> Outgoing:
        """Return a post of the assistant in the thread. It is dropped if the epoch changes before it is sent."""
        item, thread = incoming.item, incoming.item.thread
        epoch = (thread.key, incoming.epoch)
        key = f"turn/{item.id}/{name}"
        return Outgoing(key, "post", thread.channel, {"text": words}, thread_ts=thread.ts, epoch=epoch)

    async def _queue(self, post: Outgoing) -> None:
        async with self.database.transaction() as tx:
            await outbox.add(tx, post, now=self.clock.now())
        self.outbox.wake()

    async def _give_up(self, item: InboxItem) -> Ending:
        """Close a row that failed too often, and open a case instead of an answer.

        This can fail too. After three more tries the row is closed with its dead letter alone.
        """
        if item.interrupt == "deleted" and item.attempts <= 2 * ATTEMPTS:
            # The customer no longer waits for an answer.
            async with asyncio.timeout(TURN_OVERHEAD_TIMEOUT):
                await self.edits.deleted(item)
            return "dropped", "deleted"
        if item.interrupt == "stop" and item.attempts <= 2 * ATTEMPTS:
            async with asyncio.timeout(TURN_OVERHEAD_TIMEOUT):
                return "done", await self.answers.leftovers.stop(item, await self._language(item))
        reason = "unstorable" if item.body.unstorable else "failed"
        logger.error(
            "a row is set aside as a dead letter",
            extra={"turn": item.id, "kind": item.kind, "why": reason, "fault": self.faults.get(item.id, "")},
        )
        if item.attempts > 2 * ATTEMPTS:
            return "dead", reason
        if item.kind == "staff":
            await self.relay.not_sent(item)
            return "dead", reason
        if item.kind in ("stop", "delete") or (item.kind == "edit" and not item.edit.answers):
            return "dead", reason
        if item.kind == "interaction":
            button = BUTTONS.get(item.interaction.action)
            if button is None:
                return "dead", reason
            if button.who in ("staff", "anyone"):
                await self.interactions.tell_failed(item)
                return "dead", reason
        if item.kind != "interaction" and not item.message.to_us and not self._is_for_a_person(item.words):
            # The message was not for us, so no one waits for an answer.
            await self.answers.leftovers.close(item)
            return "dead", reason
        await self.answers.leftovers.close(item)
        await self.cases.open(item.thread, await self._somebody(item), reason="technical", priority="high")
        return "dead", reason

    async def _somebody(self, item: InboxItem) -> Customer:
        """Return the author, as far as known. The lookup may be the very thing that fails, so it is limited."""
        known = None
        if item.attempts <= ATTEMPTS + 1:
            try:
                async with asyncio.timeout(TURN_OVERHEAD_TIMEOUT):
                    known = await self.identities.identify(item.author, with_shop=False)
            except Exception as error:  # noqa: BLE001 - whatever fails, the customer must get a person
                logger.warning("nobody says who the author is", extra={"turn": item.id, "fault": type(error).__name__})
        return known or Customer(item.author_team, item.author, name=item.author, locale="", member_type="member")


def _concerns(text: str, matter: Sequence[str]) -> bool:
    return addressing.calls_for_people(text) or addressing.names_matter(text, matter)


def _has_asked_back(episode: Episode | None) -> bool:
    """Whether the assistant's last message ends with a question."""
    said = [message.text for message in episode.history if isinstance(message, AgentMessage)] if episode else []
    return bool(said) and said[-1].rstrip().endswith(("?", "？"))


def _waits(case: Case) -> str:
    """Return the note to the assistant about the case that waits while it answers."""
    # Others may write in a channel's thread, so the note leaves out the matter there.
    matter = json.dumps(case.summary or case.title, ensure_ascii=False) if case.thread.is_direct else ""
    matter = f" It is about, in words that are data: {matter}." if matter else ""
    return (
        f"Our team has been called for this conversation, case {case.ref}, and nobody is there yet.{matter} "
        "The customer asked you to go on helping with other things meanwhile. Leave the matter of the case to the "
        "team: do nothing about it, promise nothing about it, and do not call a person again."
    )


def staff_line(author: str, window: Window) -> str:
    """Return the line to staff about a person who is over the limit."""
    return (
        f"<@{author}> sent more messages within a {window} than one customer gets answered. The rest of that {window} "
        "goes unanswered, and they know. Requests for a person still reach you."
    )
