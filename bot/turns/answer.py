"""The answer to one question: ask the agents, stream what they say, and end according to the outcome.

answer        wait for a slot, ask the agents (asking.py), end
  _conclude   end by the verdict
    _deliver            post the answer, its sources, and the buttons under it
    _deliver_privately  post the same in the direct messages, if it holds order data and others read the thread
    _end                say why there is no answer, or only a part, and call a person: as the table in endings.py says
    _stopped            the customer stopped the answer
    _stay_silent        no one asked the app, and it has nothing to say
  _keep       save the transcript and the costs, and close the turn's journal
  _tell       write the log line and the metrics
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from bot.agent.limits import Limits
from bot.agent.messages import AgentMessage, Message, ToolResult, to_json
from bot.alerts import Alerts
from bot.cases.cases import Cases
from bot.clock import DAY, Clock
from bot.conversation import ThreadRef
from bot.desk.courtesies import asks_nothing
from bot.errors import Silenced
from bot.failpoints import failpoint
from bot.guard.guardrails import OutputGate
from bot.guard.values import Value
from bot.ingest.fair_semaphore import FairSemaphore
from bot.ingest.interrupts import Interrupted
from bot.language.sentences import Sentences
from bot.slack.api.transport import Block
from bot.slack.client import SlackClient
from bot.slack.outbox import Outbox
from bot.slack.stream import StreamWriter, open_stream
from bot.store import outbox, spending, threads, turns
from bot.store.database import Database
from bot.store.outbox import Outgoing
from bot.store.turns import TurnRecord
from bot.telemetry import Metrics
from bot.turns.answer_posts import AnswerPosts
from bot.turns.asking import Agents, Asked
from bot.turns.costs import costs_of
from bot.turns.endings import Ending, ending_of
from bot.turns.journal import TurnJournal, open_journal
from bot.turns.leftovers import Leftovers
from bot.turns.ownership import EpochReader, OwnershipGuard
from bot.turns.question import Question
from bot.turns.sessions import TurnSessions
from bot.views import cards, staff_cards
from knowledge.passages import Hit

logger = logging.getLogger(__name__)

ANSWER_OVERHEAD_TIMEOUT = 30.0
"""Seconds for an answer in addition to the agent's own limit: for search, end of the stream, storage."""
ANSWER_SLOT_TIMEOUT = 300.0
"""How long a question may wait for a slot, in seconds. After that the attempt has failed."""
UNANSWERED = "unanswered"
"""How a turn ends that posts nothing, because the message was not addressed to the assistant."""
NOTICE_SECONDS = DAY
"""Within this time, staff get one notice that answers were withheld. In seconds."""
WITHHELD = "[Not repeated here: it held one customer's order data.]"
"""Stored in a channel's thread instead of an answer with private lookups, because others continue there."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers questions. `bot.app` puts the parts together."""

    database: Database
    slack: SlackClient
    outbox: Outbox
    clock: Clock
    sentences: Sentences
    agents: Agents
    limits: Limits
    link_hosts: frozenset[str]
    cases: Cases
    slots: FairSemaphore
    """Bounds how many answers run at once. A customer who writes much does not delay the others for long."""
    metrics: Metrics
    epochs: EpochReader
    sessions: TurnSessions
    posts: AnswerPosts
    leftovers: Leftovers
    agent_channel: str = ""
    """The channel for notices to staff that belong to no case."""
    alerts: Alerts = field(default_factory=Alerts)

    async def answer(self, question: Question) -> str:
        """Answer in the thread. Return how the turn ended, in one stable word.

        Raises:
            TimeoutError: no slot was free in time, or the answer took too long.
            Interrupted: the message was edited or deleted, or its answer was stopped before it began.
            Silenced: a person has taken the thread over.
        """
        # A person who did not ask the app sees nothing before there is an answer.
        working = self.sessions.working(question.item, question.language)
        async with nullcontext() if question.is_unasked else working:
            return await self._answer_in_turn(question)

    async def _answer_in_turn(self, question: Question) -> str:
        item = question.item
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        if item.fence > 1 and journal.has_steps:
            # This turn may wait long before it replaces what a crashed process was writing.
            await self.leftovers.halt(item, journal)
        await self._wait_for_place(question)
        try:
            async with asyncio.timeout(self.limits.turn_seconds + ANSWER_OVERHEAD_TIMEOUT):
                return await self._answer(question, journal)
        finally:
            self.slots.release(question.whose)

    async def _wait_for_place(self, question: Question) -> None:
        try:
            async with asyncio.timeout(ANSWER_SLOT_TIMEOUT) as waiting:
                with question.interrupt.bounding(waiting):
                    await self.slots.acquire(question.whose)
        except TimeoutError:
            if question.interrupt.is_set():
                raise Interrupted from None
            raise

    async def _answer(self, question: Question, journal: TurnJournal) -> str:
        thread = question.item.thread
        async with self._stream(question, thread, journal, "stream") as writer:
            if question.heading:
                writer.text(f"{question.heading}\n\n")
            asked = await self.agents.ask(question.after(journal.side_effects), writer, journal, limits=self.limits)
            if _is_of_no_use(asked):
                raise Interrupted
            try:
                ended = await self._conclude(asked)
            except Silenced:
                if asked.verdict != "escalated":
                    raise
                # The person who was called has arrived.
                ended = await self._keep(asked, "escalated")
        self._tell(asked, ended)
        return ended

    async def _conclude(self, asked: Asked) -> str:
        if _is_better_unsaid(asked):
            return await self._stay_silent(asked)
        match asked.verdict:
            case "stands":
                return await (self._deliver_privately(asked) if asked.reply.withheld else self._deliver(asked))
            case "stopped":
                return await self._stopped(asked)
            case _:
                return await self._end(asked)

    async def _stay_silent(self, asked: Asked) -> str:
        """Post nothing and save only the costs: there is no answer, and the assistant was not asked."""
        await asked.writer.finish()
        async with self.database.transaction() as tx:
            for use in costs_of(asked.question.item, asked.journal.rounds, asked.outcome):
                await spending.add(tx, use, now=self.clock.now())
            await turns.forget(tx, asked.question.item.id)
        return UNANSWERED

    async def _stopped(self, asked: Asked) -> str:
        """End an answer that the customer stopped. The shown text stays, and a sentence says that no more comes."""
        question = asked.question
        await asked.writer.abandon("")
        has_written = asked.journal.has_written
        await self.posts.say_stopped(question.item, question.language, has_written=has_written, epoch=question.epoch)
        return await self._keep(asked, "stopped")

    async def _deliver(self, asked: Asked) -> str:
        asked.reply.release()
        self._say_if_shortened(asked, asked.writer)
        await asked.writer.finish(blocks=self._footer(asked), text_if_empty=asked.outcome.text)
        if asked.writer.stopped:
            return await self._stopped(asked)
        return await self._keep(asked, "answered", sources=asked.sources)

    async def _deliver_privately(self, asked: Asked) -> str:
        sentence = await self._post_privately(asked)
        await asked.writer.finish()
        return await self._keep(asked, "answered", instead=sentence)

    async def _post_privately(self, asked: Asked) -> str:
        """Post the answer in the direct messages, and say so in the question's thread. Return that sentence."""
        question = asked.question
        opening = self.sentences.say(question.language, "private_opening", channel=f"<#{question.item.thread.channel}>")
        private = await self.posts.open_private_thread(question.item, opening, epoch=question.epoch)
        async with self._stream(question, private, asked.journal, "private-stream") as writer:
            writer.text(asked.outcome.text)
            self._say_if_shortened(asked, writer)
            posts = await writer.finish(blocks=self._footer(asked))
        sentence = self.sentences.say(question.language, "sent_privately")
        asked.writer.text(f"\n\n{sentence}" if asked.reply.shown else sentence)
        await self._keep(asked, "answered", sources=asked.sources, thread=private, posts=posts)
        return sentence

    def _say_if_shortened(self, asked: Asked, writer: StreamWriter) -> None:
        """Say that a length limit cut the answer off, so that it does not look complete."""
        if asked.outcome.reason == "shortened":
            writer.text(f"\n\n{self.sentences.say(asked.question.language, 'shortened')}")

    async def _end(self, asked: Asked) -> str:
        """End an answer that is not sent as it is."""
        question = asked.question
        again = bool(question.in_vain_before)
        ending = ending_of(asked.verdict, asked.outcome, asked.reply, partly=asked.partly, is_again=again)
        await self._report(asked)
        said = await (self._end_parts(asked) if asked.partly else self._end_whole(asked, ending))
        if ending.case:
            await self.cases.open(question.item.thread, question.customer, reason=ending.case, priority="medium")
        return await self._keep(asked, ending.ended, instead=said, reason=ending.reason)

    async def _end_parts(self, asked: Asked) -> str | None:
        """End several answers. The valid ones are in the thread already, or they go to the direct messages."""
        if asked.reply.withheld:
            sentence = await self._post_privately(asked)
            await asked.writer.finish()
            return sentence
        await asked.writer.finish(blocks=self._footer(asked))
        return None

    async def _end_whole(self, asked: Asked, ending: Ending) -> str | None:
        """Say after the shown text why no more comes. Return what the turn keeps instead of the agent's words."""
        reply, writer, language = asked.reply, asked.writer, asked.question.language
        sentence = self.sentences.say(language, ending.sentence) if ending.sentence else ""
        if ending.breaks_off or not sentence:
            await (writer.abandon(sentence) if reply.shown and sentence else writer.finish())
            return None
        writer.text(f"\n\n{sentence}" if reply.shown else sentence)
        offer = cards.no_answer(self.sentences, language, ref=str(asked.question.item.id)).blocks
        await writer.finish(blocks=offer if ending.offers_person else None)
        return f"{reply.said}\n\n{sentence}" if reply.said else sentence

    async def _report(self, asked: Asked) -> None:
        """Tell operators, and staff if need be, of an answer that should not have been written."""
        turn, reply, reason = asked.question.item.id, asked.reply, asked.outcome.reason
        match asked.verdict:
            case "failed":
                # A model that is away fails every turn. That is one fault, not one for each turn.
                self.alerts.tell(logger, "the agent gave no answer", about=reason, turn=turn, reason=reason)
            case "claimed":
                claim = reply.claim
                logger.warning(
                    "an answer named what stands nowhere"
                    if isinstance(claim, Value)
                    else "an answer claimed what no tool had done",
                    extra={"turn": turn, "kind": claim and claim.kind, "form": getattr(claim, "form", "")},
                )
            case "leaked":
                extra = {"turn": turn, "holds": reply.leak}
                logger.warning("an answer was about to tell what the desk keeps to itself", extra=extra)
                await self._tell_staff(asked)

    async def _tell_staff(self, asked: Asked) -> None:
        """Post in the agent channel that an answer was withheld, once in NOTICE_SECONDS across all processes."""
        now = self.clock.now()
        card = staff_cards.withheld(is_secret=asked.reply.leak == "secret", turn=asked.question.item.id)
        key = f"withheld/{asked.reply.leak}/{int(now // NOTICE_SECONDS)}"
        async with self.database.transaction() as tx:
            await outbox.add(tx, Outgoing(key, "post", self.agent_channel, {"text": card.text}), now=now)
        self.outbox.wake()

    async def _keep(
        self,
        asked: Asked,
        ended: str,
        *,
        sources: Sequence[Hit] = (),
        thread: ThreadRef | None = None,
        instead: str | None = None,
        posts: Sequence[str] | None = None,
        reason: str = "",
    ) -> str:
        """Save the turn and return `ended`.

        `thread` is where the answer is, if not in the question's thread, and `posts` are its messages there. `instead`
        replaces what the agent wrote. `reason` is why a person was called, if the agent's own outcome has no reason.

        What the agent did is still kept for people, once: here, or with the answer in the direct messages.
        """
        failpoint("answer_shown")
        question, outcome = asked.question, asked.outcome
        place = thread or question.item.thread
        if instead is None and (asked.reply.claim or asked.reply.leak) is not None and not asked.partly:
            instead = asked.reply.said
        if instead is None and not place.is_direct and _holds_private(outcome.messages):
            instead = WITHHELD
        said: Sequence[Message] = outcome.messages if instead is None else (AgentMessage(instead, agent=outcome.agent),)
        did = tuple(asked.did)
        is_replaced = did != tuple(said) and (thread is not None or asked.journal.known("private-stream") is None)
        record = TurnRecord(
            id=question.item.id,
            thread=place,
            episode=0 if thread else question.episode,
            ts=question.item.ts,
            customer=question.customer.user,
            agent=outcome.agent,
            ended=ended,
            reason=outcome.reason or reason,
            messages=[to_json(message) for message in (question.message, *said)],
            sources=[{"title": hit.title, "url": hit.url or ""} for hit in sources],
            confidence=asked.confidence,
            input_tokens=outcome.usage.input_tokens,
            output_tokens=outcome.usage.output_tokens,
            trace=[to_json(message) for message in (question.message, *did)] if is_replaced else None,
            failures=asked.reply.failures,
            posts=asked.writer.posts if posts is None else posts,
        )
        async with self.database.transaction() as tx:
            if thread is not None:
                await threads.add_thread(tx, thread, now=self.clock.now())
            for use in costs_of(question.item, asked.journal.rounds, outcome):
                await spending.add(tx, use, now=self.clock.now())
            await turns.save(tx, record, now=self.clock.now(), closes=thread is None)
            await threads.set_agent(tx, record.thread, outcome.agent)
        failpoint("turn_kept")
        return ended

    def _tell(self, asked: Asked, ended: str) -> None:
        """Write one line to the log, and count the metrics."""
        item, outcome = asked.question.item, asked.outcome
        for use in costs_of(item, asked.journal.rounds, outcome):
            spending.count(self.metrics, use)
        for reason, times in asked.reply.retries.items():
            self.metrics.model_retried(reason, times)
        if outcome.forced:
            self.metrics.answer_forced(outcome.reason)
        usage = outcome.usage
        logger.info(
            "the turn has ended",
            extra={
                "turn": item.id,
                "ended": ended,
                "reason": outcome.reason,
                "forced": outcome.forced,
                "rounds": sum(isinstance(message, AgentMessage) for message in outcome.messages),
                "models": outcome.models,
                "input_tokens": usage.input_tokens,
                "cached_tokens": usage.cached_tokens,
                "output_tokens": usage.output_tokens,
                "cost": round(usage.cost, 6),
                "seconds": round(self.clock.now() - item.received_at, 3),
            },
        )

    def _footer(self, asked: Asked) -> Sequence[Block]:
        """Return sources, feedback buttons, and the offer of a person. Small talk gets none."""
        if asks_nothing(asked.question.text) and not asked.sources:
            return ()
        shown = [cards.AnswerSource(hit.title, hit.url or "", hit.last_updated or "") for hit in asked.sources]
        ref = str(asked.question.item.id)
        return cards.answer_footer(
            self.sentences, asked.question.language, ref=ref, sources=shown, offer_person=asked.verdict == "stands"
        ).blocks

    @asynccontextmanager
    async def _stream(
        self, question: Question, thread: ThreadRef, journal: TurnJournal, name: str
    ) -> AsyncIterator[StreamWriter]:
        """Open a stream in `thread`. After a crash it replaces what the earlier attempt left there."""
        begun = journal.known(name)
        opened: list[str] = begun["opened"] if begun else []
        if begun is None:
            # This is recorded before anything is opened, so a later attempt knows that there may be a stream.
            await journal.record(name, {"opened": opened})

        async def note(ts: str) -> None:
            opened.append(ts)
            await journal.record(name, {"opened": opened})

        async def fence() -> None:
            await journal.recall(name)

        guard = OwnershipGuard(self.epochs, question.item.thread.key, question.epoch, question.local_changes)

        async def may_speak() -> None:
            if not await guard.is_current():
                question.interrupt.tell("claimed")
                raise Silenced("a person has the thread")

        async def known() -> set[str]:
            async with self.database.transaction() as tx:
                return await turns.posts_in(tx, thread)

        async with open_stream(
            self.slack.streams,
            self.slack.chat,
            channel=thread.channel,
            thread_ts=thread.ts,
            user=question.item.author,
            team=question.item.author_team,
            gate=OutputGate(self.link_hosts),
            on_open=note,
            fence=fence,
            may_speak=may_speak,
            adopt=None if begun is None else tuple(opened),
            known=known,
            key=f"turn/{question.item.id}/{name}",
            after=question.item.ts,
        ) as writer:
            yield writer


def _is_of_no_use(asked: Asked) -> bool:
    """Whether the answer is no longer of use: the message was edited or deleted, or a person answers.

    If a person was called over the old words, they get the new words when the lane comes to the edit. If a person has
    claimed the case, or was called, that person answers.
    """
    interrupt = asked.question.interrupt.kind
    return interrupt == "deleted" or (interrupt in ("edited", "claimed", "called") and asked.verdict != "escalated")


def _is_better_unsaid(asked: Asked) -> bool:
    """Whether to stay silent about a message that was not addressed to the assistant.

    That is so if the answer is not grounded, or if there is none.
    """
    question, reply = asked.question, asked.reply
    if not question.is_unasked or reply.shown or asked.journal.has_written:
        return False
    if asked.verdict == "stands":
        return not (question.concerns or reply.evidence.supports(asked.outcome.text))
    return asked.verdict not in ("escalated", "stopped")


def _holds_private(messages: Sequence[Message]) -> bool:
    return any(isinstance(message, ToolResult) and message.private for message in messages)
