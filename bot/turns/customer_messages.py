"""A customer's message or edit: read the facts, decide, and carry the decision out.

take               leave what is deleted, stopped, or for others; refuse what is over the limit; else go on
  _listen          in a channel's thread, decide whether the message is for us or for others (hearing.py)
  _decide          read all that the decision rests on, and decide (decide.py); for an answer, reserve its cost
  _carry_out       do what was decided
    _call          open a case instead of answering
    _pass_on       pass the message on to the people on its case
    _help          answer while the case waits
    _refuse        say what the shop says about a topic that the assistant does not speak about
    _reopen        reopen the solved case
    _ask           no money is left: refuse; the conversation is long: begin anew; else answer
      _begin_anew  say that the conversation is long, and continue with a summary
      _answer      ask the agents
_checked           answer or refuse, while the cheap model looks for danger
look_again         the row was answered before a crash: check its message for danger if that was not done
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bot.actions.known import note_on
from bot.actions.preparing import Preparing
from bot.agent.messages import SystemNote
from bot.cases.case import MovedOn
from bot.cases.cases import Cases
from bot.cases.relay import Relay
from bot.clock import Clock
from bot.conversation import Customer
from bot.desk.budgets import Budgets, Window
from bot.desk.danger.classifier import Danger, find_danger
from bot.desk.identity import Identities
from bot.desk.intents import says_stop
from bot.desk.topics import Topics, sentences_of
from bot.desk_file.model import RefusedTopic
from bot.failpoints import failpoint
from bot.images.reader import ImageReader, ReadFiles
from bot.ingest.interrupts import Interrupt
from bot.language.sentences import Sentences
from bot.procedures.running import MOST_ROUNDS, ProcedureRuns
from bot.slack.api.errors import SlackRefused
from bot.slack.mrkdwn import escape
from bot.store import actions as action_rows
from bot.store import cases as case_rows
from bot.store import inbox, interrupts, outbox, pauses, threads, turns
from bot.store.actions import Action
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import Finish, InboxItem
from bot.store.threads import ThreadState
from bot.turns.answers.answer import UNANSWERED, Answers
from bot.turns.answers.danger_check import DangerCheck, Look
from bot.turns.answers.leftovers import Leftovers
from bot.turns.answers.question import Question
from bot.turns.answers.records import refusal_record
from bot.turns.answers.refusals import Refusals
from bot.turns.dead_letters import TURN_OVERHEAD_TIMEOUT, author_of
from bot.turns.decide import (
    NOT_PRESSED,
    PRESS_BUTTON,
    Answer,
    Call,
    CallForDanger,
    Decision,
    Decline,
    Done,
    Facts,
    Forget,
    HandOver,
    Help,
    Ignore,
    PassOn,
    PointAtButtons,
    Refuse,
    Reopen,
    Resume,
    Say,
    Stop,
    TakeBack,
    Thank,
    decide,
)
from bot.turns.edits import MessageEdits
from bot.turns.hearing import Hearing, Overheard, has_asked_back, hear
from bot.turns.incoming import IncomingMessage, Notices
from bot.turns.row_closing import RowClosing
from bot.turns.sessions import TurnSessions
from bot.turns.summaries import Episode, Summaries
from bot.turns.unread_files import about_unread
from bot.views import cards
from bot.views.announcements import SAID_FIRST, Offer, greeting, status_text

OVERHEARD = "overheard"
"""The reason of a row whose message was for others."""
LATE_SECONDS = 600.0
"""A message that was missed for so long gets an apology with its answer."""
WAITING_SIGN_DELAY = 1.0
"""Seconds until a customer who is still being identified sees that the app is working."""
NOTICE_TIMEOUT = 10.0
"""How long an answer waits until the sentence before it is posted, in seconds."""


@dataclass(frozen=True, slots=True)
class CustomerMessages:
    """Works on what customers write. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    sentences: Sentences
    identities: Identities
    answers: Answers
    leftovers: Leftovers
    budgets: Budgets
    cases: Cases
    relay: Relay
    summaries: Summaries
    edits: MessageEdits
    sessions: TurnSessions
    notices: Notices
    refusals: Refusals
    images: ImageReader
    topics: Callable[[], Topics] = Topics
    """The topics of the desk file in force."""
    danger_check: DangerCheck | None = None
    changes: Preparing | None = None
    procedures: ProcedureRuns | None = None
    """Checks messages for danger next to the answer. None if there is no cheap model."""

    async def take(self, item: InboxItem, interrupt: Interrupt, closing: RowClosing, *, over: Window | None) -> Finish:
        """Work on a message or an edit, unless the customer has deleted or stopped it since.

        `over` is the window whose limit of messages the author has reached.
        """
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
                return await self._forget(item)
            if item.interrupt == "stop":
                return "done", await self.leftovers.stop(item, await self.notices.language(item))
            if over is not None and not await self.refusals.is_for_people(item):
                return await self.refusals.over_limit(item, over)
        async with asyncio.timeout(TURN_OVERHEAD_TIMEOUT):
            customer = await self._identify(item, is_unasked=hearing.is_unasked)
        if customer is None:
            return "dropped", "not_a_person"
        decision, incoming, facts = await self._decide(item, customer, interrupt, hearing, is_over=over is not None)
        if item.message.masked:
            await self.notices.say(incoming, "masked")
        return await self._carry_out(decision, replace(incoming, closing=closing), facts)

    async def look_again(self, item: InboxItem) -> None:
        """Check an answered message for danger, unless that was done before a crash."""
        is_for_us = item.thread.is_direct or item.message.to_us
        if self.danger_check is None or not is_for_us:
            return
        seen = await self.danger_check.again(item)
        if seen is not None:
            customer, language = await author_of(self.identities, item), await self.notices.language(item)
            async with self.database.transaction() as tx:
                state = await threads.find_thread(tx, item.thread) or ThreadState("", language, 0, "")
            episode = Episode(state.episode, state.note, turns=(), summary=None)
            incoming = IncomingMessage(
                item, customer, language, "", episode, Interrupt(), state.epoch, state.local_changes, Hearing()
            )
            await self._see_to(incoming, seen)

    async def _listen(self, item: InboxItem) -> Hearing:
        """Decide whether a message is for us. In a channel, a mention is."""
        if item.thread.is_direct or item.message.to_us:
            return Hearing()
        async with self.database.transaction() as tx:
            case = await case_rows.find_open(tx, item.thread)
            ended = None if case else await case_rows.latest_of(tx, item.thread)
            answered = await inbox.answered_last(tx, item)
            state = await threads.find_thread(tx, item.thread)
            episode = await self.summaries.read(tx, item.thread, state) if state else None
        history = episode.history if episode else ()
        is_offered = episode is not None and episode.has_offered
        return hear(item, Overheard(case, ended, answered, history, is_offered, now=self.clock.now()))

    async def _forget(self, item: InboxItem, reason: str = OVERHEARD) -> Finish:
        """Erase the content of a message that gets no answer because it was not for us."""
        async with self.database.transaction() as tx:
            await interrupts.overhear(tx, item)
        return "dropped", reason

    async def _identify(self, item: InboxItem, *, is_unasked: bool) -> Customer | None:
        """Return the author. If the shop is slow to identify them, the customer sees that the app is working."""
        asking = asyncio.create_task(self.identities.identify(item.author))
        try:
            await asyncio.wait({asking}, timeout=WAITING_SIGN_DELAY)
            if not asking.done() and not is_unasked:
                async with self.database.reading() as tx:
                    case = await case_rows.find_open(tx, item.thread)
                if case is None:
                    await self.sessions.show_work(item, await self.notices.language(item))
            return await asking
        finally:
            asking.cancel()

    async def _decide(
        self, item: InboxItem, customer: Customer, interrupt: Interrupt, hearing: Hearing, *, is_over: bool
    ) -> tuple[Decision, IncomingMessage, Facts]:
        """Read the facts and decide. If the agents are going to be asked, also reserve the cost.

        This is one transaction, so an answer begins with one look at the database.
        """
        topics = self.topics().find(item.message.text)
        async with self.database.transaction() as tx:
            known, is_paused = await pauses.with_thread(tx, item.thread)
            # "Ok" and "svp" do not show a language. What was said in the thread before does.
            before = known.language if known else ""
            language = self.sentences.language_of(item.words, before or customer.locale)
            if before and says_stop(item.words):
                # A stop word can be the same in several languages.
                language = self.sentences.language_for(before)
            if language != before:
                await threads.set_language(tx, item.thread, language)
            state = replace(known or ThreadState("", language, 0, ""), language=language)
            case, ended = await case_rows.open_or_latest(tx, item.thread)
            actions = await action_rows.of_thread(tx, item.thread)
            episode = await self.summaries.read(tx, item.thread, state)
            # The first attempt finds nothing that was begun.
            begun_at = await turns.began(tx, item.id) if item.fence > 1 else None
            seen = await self.danger_check.noted(tx, item) if self.danger_check else None
            facts = Facts(
                item,
                hearing,
                case=case,
                ended=ended,
                seen=seen,
                danger=find_danger(item.words) or (seen.danger if seen else None),
                begun_at=begun_at,
                shows_images=self.images.would_read(item.message.files),
                has_asked_back=has_asked_back(episode.history),
                is_offered=episode.has_offered,
                asked=tuple(each for each in actions if each.state == "offered" and each.customer == item.author),
                is_paused=is_paused,
                topics=topics,
                is_over=is_over,
                now=self.clock.now(),
            )
            decision = decide(facts)
            cap = await self.budgets.set_aside(tx, item) if isinstance(decision, (Answer, Help)) else None
        incoming = IncomingMessage(
            item,
            customer,
            language,
            state.agent,
            episode,
            interrupt,
            state.epoch,
            state.local_changes,
            hearing,
            topics,
            actions,
            cap,
        )
        return decision, incoming, facts

    async def _carry_out(self, decision: Decision, incoming: IncomingMessage, facts: Facts) -> Finish:
        item, customer = incoming.item, incoming.customer
        if facts.case and not isinstance(decision, CallForDanger):
            await self._note_danger(facts.case, incoming, facts)
        match decision:
            case CallForDanger(seen):
                await self.leftovers.close(item)
                await self._see_to(incoming, seen)
                return "done", "called"
            case Call():
                # The message that asked for a person does not open it: that one may be edited or deleted until then.
                await self.leftovers.close(item)
                await self.cases.open(item.thread, customer, reason="asked_for_person", priority="medium")
                return "done", "called"
            case HandOver(reason, topic, accepts):
                first = escape(topic.sentence(incoming.language)) if topic else ""
                matter = f"{topic.topic}: a topic that always goes to a person." if topic else ""
                await self.cases.open(
                    item.thread,
                    customer,
                    reason=reason,
                    priority="medium",
                    subject=incoming.episode.last_question if accepts else "",
                    summary=matter,
                    said_first=first,
                )
                return "done", "escalated"
            case PassOn(case, offers, says_solved):
                passed_on = await self._pass_on(case, incoming, offers=offers)
                if says_solved:
                    await self.cases.says_solved(case.ref)
                return "done", passed_on
            case TakeBack(case):
                return "done", await self._take_back(case, incoming)
            case Help(case):
                if incoming.cap:
                    return "done", await self._pass_on(case, incoming)
                return "done", await self._help(case, incoming)
            case Decline(action):
                return "done", await self._decline(action, incoming)
            case PointAtButtons(action):
                return "done", await self._point_at_buttons(action, incoming)
            case Refuse(topics, case):
                return "done", await self._checked(incoming, partial(self._refuse, topics, incoming, case))
            case Thank(case):
                await self.relay.thanked(case, item)
                return "done", "thanked"
            case Reopen(case):
                return "done", await self._reopen(case, incoming, facts.danger)
            case Resume():
                return "done", await self._answer(incoming)
            case Stop():
                return "done", await self.leftovers.stop(item, incoming.language)
            case Say("greeting", reason):
                await self.leftovers.close(item)
                words = greeting(self.sentences, incoming.language, self.cases.messages.desk_file())
                await self.notices.post(incoming, "greeting", words)
                return "done", reason
            case Say(key, reason):
                await self.leftovers.close(item)
                await self.notices.say(incoming, key)
                return "done", reason
            case Ignore():
                return "dropped", "paused"
            case Forget():
                return await self._forget(item)
            case Done(reason):
                return "done", reason
            case Answer():
                return await self._ask(incoming)

    async def _decline(self, action: Action, incoming: IncomingMessage) -> str:
        """End the question about a change. The message that asked it says so."""
        await self.leftovers.close(incoming.item)
        if self.changes is not None:
            async with self.database.transaction() as tx:
                await self.changes.decline(tx, action)
        await self.notices.say(incoming, "action_declined")
        return "declined"

    async def _point_at_buttons(self, action: Action, incoming: IncomingMessage) -> str:
        """Say that words alone change nothing, and show the change below. After another such yes, it is there."""
        item, notice = incoming.item, self.notices.sentence(incoming, PRESS_BUTTON)
        await self.leftovers.close(item)
        async with self.database.transaction() as tx:
            is_first = await outbox.by_key(tx, notice.key) is None
            await outbox.add(tx, notice, now=self.clock.now())
            if self.changes is not None and is_first and await inbox.reason_before(tx, item) != NOT_PRESSED:
                await self.changes.show_again(tx, action)
        self.notices.outbox.wake()
        return NOT_PRESSED

    async def _note_danger(self, case: Case, incoming: IncomingMessage, facts: Facts) -> None:
        """Make the open case as urgent as the customer's new message."""
        if facts.danger:
            await self._endanger(case, incoming, facts.danger)
        if facts.seen and self.danger_check:
            await self.danger_check.book(incoming.item, facts.seen)

    async def _endanger(self, case: Case, incoming: IncomingMessage, danger: Danger) -> None:
        """Make the case as urgent as the danger. While it waits, tell the customer what to do until a person comes."""
        is_news = await self.cases.endanger(case.ref, incoming.item.author, danger) is not None
        why = self.cases.messages.why_called(danger, incoming.language, country=incoming.customer.country)
        if is_news and case.waits and why:
            await self.notices.post(incoming, SAID_FIRST[danger], why)

    async def _see_to(self, incoming: IncomingMessage, seen: Look) -> None:
        """Open a case for the danger that the model saw, or make the open case as urgent."""
        if seen.danger is None or self.danger_check is None:
            return
        case = await self.cases.open(incoming.item.thread, incoming.customer, reason=seen.danger, priority="high")
        await self._endanger(case, incoming, seen.danger)
        await self.danger_check.book(incoming.item, seen)

    async def _pass_on(self, case: Case, incoming: IncomingMessage, *, offers: Offer | None = None) -> str:
        item = incoming.item
        await self.leftovers.close(item)
        await self.cases.name_matter(case, item.words)
        await self.relay.from_customer(case, item, incoming.customer)
        if offers:
            await self.cases.offer(case.ref, offers, key=f"turn/{item.id}/{offers}")
        return "relayed"

    async def _take_back(self, case: Case, incoming: IncomingMessage) -> str:
        await self.answers.leftovers.close(incoming.item)
        try:
            await self.cases.cancel(case.ref, incoming.customer.user, wrote=True)
        except MovedOn:
            return await self._pass_on(case, incoming)
        return "taken_back"

    async def _help(self, case: Case, incoming: IncomingMessage) -> str:
        """Answer while the case waits.

        If the agent calls a person or gives no answer, the customer gets the status text of the case.
        """
        await self.cases.name_matter(case, incoming.item.words)
        await self.relay.from_customer(case, incoming.item, incoming.customer, is_helped=True)
        told = replace(incoming.episode, note=f"{incoming.episode.note}\n{_waits(case)}".strip())
        ended = await self._answer(replace(incoming, episode=told))
        if ended in ("escalated", "failed", UNANSWERED):
            await self.notices.post(incoming, "waits", status_text(self.sentences, incoming.language, case))
        return ended

    async def _refuse(self, topics: Sequence[RefusedTopic], incoming: IncomingMessage, case: Case | None) -> str:
        """Say what the shop says about the topics, and offer a person. If a case waits, its people get the message."""
        await self.leftovers.close(incoming.item)
        if case:
            await self.relay.from_customer(case, incoming.item, incoming.customer, is_helped=True)
        said = sentences_of(topics, incoming.language)
        words, turn = escape(said), refusal_record(incoming.item, said, episode=incoming.episode.number)
        ref = str(incoming.item.id)
        offer = () if case else cards.refusal(self.sentences, incoming.language, words, ref=ref).blocks
        await self.notices.post(incoming, turns.REFUSED, words, blocks=offer, turn=turn)
        return turns.REFUSED

    async def _reopen(self, ended: Case, incoming: IncomingMessage, danger: Danger | None) -> str:
        case = await self.cases.reopen(ended.ref, incoming.customer.user, wrote=True)
        failpoint("case_reopened")
        if danger:
            await self._endanger(case, incoming, danger)
        await self.relay.from_customer(case, incoming.item, incoming.customer)
        return "relayed"

    async def _ask(self, incoming: IncomingMessage) -> Finish:
        item, is_unasked = incoming.item, incoming.hearing.is_unasked
        if incoming.cap:
            if is_unasked:
                return await self._forget(item, "over_budget")
            return await self.refusals.over_budget(incoming)
        if len(incoming.episode.turns) >= self.summaries.turns and not is_unasked:
            incoming = await self._begin_anew(incoming)
        incoming.closing.follow()
        ended_as = await self._answer(incoming)
        if ended_as == UNANSWERED:
            return await self._forget(item, ended_as)
        return "done", ended_as

    async def _begin_anew(self, incoming: IncomingMessage) -> IncomingMessage:
        """Tell the customer, and begin a new episode with the summary of the one before and no agent in charge."""
        item, episode = incoming.item, incoming.episode
        key = f"{item.thread.key}/{episode.number}/long_conversation"
        with contextlib.suppress(TimeoutError, SlackRefused):
            async with asyncio.timeout(NOTICE_TIMEOUT):
                await self.notices.deliver(incoming, "long_conversation", key=key)
        note = await self.summaries.closing(item, episode)
        async with self.database.transaction() as tx:
            await threads.begin_episode(tx, item.thread, note=note)
        return replace(incoming, agent="", episode=Episode(episode.number + 1, note, turns=(), summary=None))

    async def _answer(self, incoming: IncomingMessage) -> str:
        return await self._checked(incoming, partial(self._answer_with_files, incoming))

    async def _checked(self, incoming: IncomingMessage, answer: Callable[[], Awaitable[str]]) -> str:
        """Answer while the cheap model looks for danger in the words."""
        item = incoming.item
        if self.danger_check is None or not incoming.hearing.concerns or not item.message.text:
            return await answer()
        async with self.danger_check.beside(item, incoming.interrupt) as looking:
            incoming.closing.wait_for(looking.has_found_nothing)
            ended = await answer()
            seen = await looking.result()
        if seen is None:
            return ended
        await self._see_to(incoming, seen)
        return ended if ended != UNANSWERED else "escalated"

    async def _answer_with_files(self, incoming: IncomingMessage) -> str:
        item, episode = incoming.item, incoming.episode
        if await self._has_taken_too_long(incoming):
            return "escalated"
        files = await self._read_files(incoming)
        if not (item.message.text or files.images):
            await self._say_unread(incoming, files)
            return "no_words"
        question = Question(
            item,
            incoming.customer,
            incoming.language,
            item.message.text,
            incoming.agent,
            episode.number,
            [*episode.history, *([SystemNote(note)] if (note := note_on(incoming.actions)) else [])],
            episode.covered,
            in_vain_before=episode.has_offered,
            rest=incoming.topics.rest,
            heading=self._heading(incoming, files),
            files=item.message.file_names,
            images=files.images,
            epoch=incoming.epoch,
            local_changes=incoming.local_changes,
            is_unasked=incoming.hearing.is_unasked,
            concerns=incoming.hearing.concerns,
            actions=incoming.actions,
            interrupt=incoming.interrupt,
            closing=incoming.closing,
            before=incoming.episode,
        )
        return await self.answers.answer(question)

    async def _has_taken_too_long(self, incoming: IncomingMessage) -> bool:
        """Call a person if the thread's procedure has used up its rounds. Return whether that was so."""
        running = await self.procedures.on_in(incoming.item.thread) if self.procedures else None
        if self.procedures is None or running is None or running.run.rounds < MOST_ROUNDS:
            return False
        await self.leftovers.close(incoming.item)
        await self.procedures.give_up(incoming.customer, running)
        return True

    async def _read_files(self, incoming: IncomingMessage) -> ReadFiles:
        """Read the message's files, while the customer sees that the app is working. Raises Interrupted."""
        item = incoming.item
        if self.images.would_read(item.message.files) and not incoming.hearing.is_unasked:
            await self.sessions.show_work(item, incoming.language)
        async with incoming.interrupt.timeout(None):
            return await self.images.read(item.message.files)

    async def _say_unread(self, incoming: IncomingMessage, files: ReadFiles) -> None:
        """Say of a message without words why nothing of it was read."""
        has_reason = any(reason != "no_image" for _, reason in files.unread)
        lines = about_unread(self.sentences, incoming.language, files) if has_reason else []
        words = "\n".join(lines) or self.sentences.say(incoming.language, "file_unread")
        await self.notices.post(incoming, "file_unread", words)

    def _heading(self, incoming: IncomingMessage, files: ReadFiles) -> str:
        """Return the lines before the answer.

        They say that it answers an edit or comes late, what the shop says about refused topics, and which files were
        not read.
        """
        lines = []
        if incoming.item.is_again:
            lines.append(self.sentences.say(incoming.language, "sorry_late"))
        elif incoming.item.kind == "edit":
            lines.append(self.sentences.say(incoming.language, "saw_edit"))
        elif incoming.item.is_missed and incoming.item.received_at - float(incoming.item.ts) >= LATE_SECONDS:
            lines.append(self.sentences.say(incoming.language, "sorry_late"))
        if refused := incoming.topics.refused:
            lines.append(sentences_of(refused, incoming.language))
        return "\n".join([*lines, *about_unread(self.sentences, incoming.language, files)])


def _waits(case: Case) -> str:
    """Return the note to the assistant about the case that waits while it answers."""
    # Others may write in a channel's thread, so the note leaves out the matter there.
    matter = json.dumps(case.summary or case.title, ensure_ascii=False) if case.thread.is_direct else ""
    matter = f" It is about, in words that are data: {matter}." if matter else ""
    return (
        f"Our team has been called for this conversation, case {case.ref}, and nobody is there yet.{matter} "
        "The customer may ask you about other things meanwhile. Leave the matter of the case to the "
        "team: do nothing about it, promise nothing about it, and do not call a person again."
    )
