"""The answer to one question: search, run the agent, stream, and end as the outcome demands.

answer        wait for a place, then everything up to the agent's outcome
  _conclude   which of the endings it is
    _deliver  the answer, its sources, the buttons under it
    _deliver_privately   the same, in the direct messages, when it holds order data and others read the thread
    _say_not_found       nothing was found to rest an answer on: say so and offer a person
    _say_shop_down       the shop did not answer: say so and call a person
    _failed              the agent gave no answer: say so and call a person
  _keep       the transcript; the turn's journal is closed by it
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.agent.agent import Team
from bot.agent.guardrails import OutputGate
from bot.agent.loop import Limits, Outcome, run
from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolResult, to_json
from bot.agent.model import Model
from bot.cases.cases import Cases
from bot.clock import Clock
from bot.conversation import Customer, ThreadRef
from bot.desk import policy
from bot.desk.answers import Evidence, TurnContext, known_from, passages_text
from bot.sentences import Language, Sentences
from bot.slack import cards
from bot.slack.client import Block, Identity, SlackClient, SlackRefused, SlackUnanswered
from bot.slack.outbox import Outbox
from bot.slack.stream import StreamWriter, open_stream
from bot.store import threads, turns
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing
from bot.store.turns import TurnRecord
from bot.turns.journal import TurnJournal, open_journal
from bot.turns.reply import Reply
from knowledge.knowledge_base import Findings, KnowledgeBase
from knowledge.passages import Hit

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 30.0
"""What an answer may take beyond the agent's own limit: searching, ending the stream, storing."""
QUEUE_SECONDS = 300.0
"""How long a question may wait for a place; past it the attempt has failed."""
STATUS_SECONDS = 2.0
"""How long the status line may take."""
WITHHELD = "[Not repeated here: it held one customer's order data.]"
"""What a channel's thread remembers of an answer with private look-ups, since others go on in it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A customer's message with what is known around it."""

    item: InboxItem
    customer: Customer
    language: Language
    text: str
    agent: str
    """Who answered last; empty for nobody."""
    episode: int
    history: Sequence[Message]
    """The episode so far, without this message."""

    @property
    def message(self) -> CustomerMessage:
        """The message as the agent reads it."""
        return CustomerMessage(self.text, speaker=self.customer.user, ts=self.item.ts)


@dataclass(frozen=True, slots=True)
class _Answered:
    """A question, what the agent made of it, and where it is being said."""

    question: Question
    outcome: Outcome
    reply: Reply
    confidence: float
    journal: TurnJournal

    @property
    def evidence(self) -> Evidence:
        return self.reply.evidence


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers questions; the parts are put together in `bot.app`."""

    me: Identity
    database: Database
    slack: SlackClient
    outbox: Outbox
    clock: Clock
    sentences: Sentences
    knowledge: KnowledgeBase
    team: Team
    model: Model
    model_name: str
    limits: Limits
    link_hosts: frozenset[str]
    cases: Cases
    places: asyncio.Semaphore
    """Answers at the same time; others wait here."""

    async def answer(self, question: Question) -> str:
        """Answer in the thread; how it ended, in one stable word. TimeoutError when there is no place or no time."""
        await self._show_status(question)
        async with asyncio.timeout(QUEUE_SECONDS):
            await self.places.acquire()
        try:
            async with asyncio.timeout(self.limits.turn_seconds + SETTLE_SECONDS):
                return await self._answer(question)
        finally:
            self.places.release()

    async def close_leftover(self, item: InboxItem) -> None:
        """End what an earlier attempt at this row left half open, when no answer will take its place."""
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.attempts)
        begun = await journal.recall("stream")
        if begun is None:
            return
        for ts in begun["opened"]:
            try:
                await self.slack.stop_stream(item.thread.channel, ts)
            except (SlackRefused, SlackUnanswered) as error:
                logger.info("a leftover stream was not stopped", extra={"turn": item.id, "reason": str(error)})
        async with self.database.transaction() as tx:
            await turns.forget(tx, item.id)

    async def _answer(self, question: Question) -> str:
        thread = question.item.thread
        findings = await self._search(question)
        evidence = Evidence(known=known_from(question.history))
        evidence.add(findings)
        journal = await open_journal(self.database, self.clock, turn=question.item.id, attempt=question.item.attempts)
        async with self._stream(question, thread, journal, "stream") as writer:
            titles = self.sentences.task_titles(question.language)
            reply = Reply(writer, evidence, is_direct=thread.is_direct, titles=titles)
            outcome = await run(
                self.team,
                question.agent if question.agent in self.team else self.team.entry,
                [*question.history, question.message],
                model=self.model,
                model_name=self.model_name,
                context=TurnContext(question.customer, thread, str(question.item.id), evidence=evidence),
                passages=passages_text(findings, today=datetime.fromtimestamp(self.clock.now(), UTC).date()),
                emit=reply.emit,
                limits=self.limits,
                journal=journal,
            )
            ended = await self._conclude(_Answered(question, outcome, reply, findings.confidence, journal))
        if journal.is_resumed:
            # A new message ends the status line by itself; an adopted one is only updated.
            await self._show_status(question, done=True)
        return ended

    async def _show_status(self, question: Question, *, done: bool = False) -> None:
        """The first sign of life, or its end; an extra that must not hold the answer up."""
        thread = question.item.thread
        words = "" if done else self.sentences.say(question.language, "status_looking")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STATUS_SECONDS):
                await self.slack.status(thread.channel, thread.ts, words)

    async def _search(self, question: Question) -> Findings:
        """What the pages say to the message; when nothing, to it and the one before, as "And how long?" needs."""
        findings = await self.knowledge.search(question.text)
        before = [message.text for message in question.history if isinstance(message, CustomerMessage)]
        if findings.answerable or not before or policy.is_small_talk(question.text):
            return findings
        return await self.knowledge.search(f"{before[-1]}\n{question.text}")

    async def _conclude(self, answered: _Answered) -> str:
        outcome, reply = answered.outcome, answered.reply
        if reply.writer.stopped:
            return await self._keep(answered, "stopped")
        if reply.wants_person:
            return await self._failed(answered)
        if outcome.ended == "escalated":
            await reply.writer.finish()
            return await self._keep(answered, "escalated")
        if outcome.ended == "failed":
            return await self._failed(answered)
        found, in_vain = reply.evidence.supports(outcome.text), reply.evidence.searched is False
        if reply.is_dead_end:
            return await self._say_shop_down(answered)
        if not policy.may_stand(outcome.text, answered.question.text, evidence=found, searched_in_vain=in_vain):
            return await self._say_not_found(answered)
        if reply.withheld:
            return await self._deliver_privately(answered)
        return await self._deliver(answered)

    async def _deliver(self, answered: _Answered) -> str:
        answered.reply.release()
        sources = answered.evidence.sources(answered.outcome.text)
        await answered.reply.writer.finish(blocks=self._footer(answered, sources), text_if_empty=answered.outcome.text)
        return await self._keep(answered, "answered", sources=sources)

    async def _deliver_privately(self, answered: _Answered) -> str:
        question = answered.question
        channel = await self.slack.open_dm(question.customer.user)
        opening = self.sentences.say(question.language, "private_opening", channel=f"<#{question.item.thread.channel}>")
        root = await self.outbox.deliver(
            Outgoing(f"turn/{question.item.id}/private", "post", channel, {"text": opening})
        )
        private = ThreadRef(self.me.team, channel, root)
        sources = answered.evidence.sources(answered.outcome.text)
        async with self._stream(question, private, answered.journal, "private-stream") as writer:
            writer.text(answered.outcome.text)
            await writer.finish(blocks=self._footer(answered, sources))
        sentence = self.sentences.say(question.language, "sent_privately")
        answered.reply.writer.text(f"\n\n{sentence}" if answered.reply.shown else sentence)
        await answered.reply.writer.finish()
        await self._keep(answered, "answered", sources=sources, thread=private)
        return await self._keep(answered, "answered", instead=sentence)

    async def _say_not_found(self, answered: _Answered) -> str:
        card = cards.no_answer(self.sentences, answered.question.language, ref=str(answered.question.item.id))
        answered.reply.writer.text(card.text)
        await answered.reply.writer.finish(blocks=card.blocks)
        return await self._keep(answered, "no_answer", instead=card.text)

    async def _say_shop_down(self, answered: _Answered) -> str:
        """A look-up could not be made and no other found anything: no answer of the agent's can be right."""
        question = answered.question
        sentence = self.sentences.say(question.language, "shop_down")
        answered.reply.writer.text(f"\n\n{sentence}" if answered.reply.shown else sentence)
        await answered.reply.writer.finish()
        await self.cases.open(question.item.thread, question.customer, reason="shop_down", priority="medium")
        return await self._keep(answered, "failed", instead=sentence)

    async def _failed(self, answered: _Answered) -> str:
        question, outcome = answered.question, answered.outcome
        logger.error(
            "the agent gave no answer",
            extra={"turn": question.item.id, "reason": outcome.reason},
        )
        if answered.reply.shown:
            await answered.reply.writer.abandon(self.sentences.say(question.language, "cut_short"))
        else:
            await answered.reply.writer.finish()
        await self.cases.open(question.item.thread, question.customer, reason="technical", priority="medium")
        return await self._keep(answered, "failed")

    async def _keep(
        self,
        answered: _Answered,
        ended: str,
        *,
        sources: Sequence[Hit] = (),
        thread: ThreadRef | None = None,
        instead: str | None = None,
    ) -> str:
        """Store the turn; in `thread` when it is not the question's, `instead` in place of what the agent wrote."""
        question, outcome = answered.question, answered.outcome
        place = thread or question.item.thread
        if instead is None and not place.is_direct and _holds_private(outcome.messages):
            instead = WITHHELD
        said: Sequence[Message] = outcome.messages if instead is None else (AgentMessage(instead, agent=outcome.agent),)
        record = TurnRecord(
            id=question.item.id,
            thread=place,
            episode=0 if thread else question.episode,
            ts=question.item.ts,
            customer=question.customer.user,
            agent=outcome.agent,
            ended=ended,
            reason=outcome.reason,
            messages=[to_json(message) for message in (question.message, *said)],
            sources=[{"title": hit.title, "url": hit.url or ""} for hit in sources],
            confidence=answered.confidence,
            input_tokens=outcome.usage.input_tokens,
            output_tokens=outcome.usage.output_tokens,
        )
        async with self.database.transaction() as tx:
            if thread is not None:
                await threads.add_thread(tx, thread, now=self.clock.now())
            await turns.save(tx, record, now=self.clock.now(), closes=thread is None)
            await threads.set_agent(tx, record.thread, outcome.agent)
        return ended

    def _footer(self, answered: _Answered, sources: Sequence[Hit]) -> Sequence[Block]:
        """Sources, feedback, and the way to a person; small talk gets none."""
        if policy.is_small_talk(answered.question.text) and not sources:
            return ()
        shown = [cards.Source(hit.title, hit.url or "", hit.last_updated or "") for hit in sources]
        ref = str(answered.question.item.id)
        return cards.answer_footer(self.sentences, answered.question.language, ref=ref, sources=shown).blocks

    @asynccontextmanager
    async def _stream(
        self, question: Question, thread: ThreadRef, journal: TurnJournal, name: str
    ) -> AsyncIterator[StreamWriter]:
        """A stream in `thread`; after a crash it takes the place of what the earlier attempt left there."""
        begun = await journal.recall(name)
        opened: list[str] = begun["opened"] if begun else []
        if begun is None:
            # Said before anything is opened: whoever finds it knows that a stream may stand in the thread.
            await journal.record(name, {"opened": opened})

        async def note(ts: str) -> None:
            opened.append(ts)
            await journal.record(name, {"opened": opened})

        async with open_stream(
            self.slack,
            channel=thread.channel,
            thread_ts=thread.ts,
            user=question.item.author,
            team=question.item.author_team,
            gate=OutputGate(self.link_hosts),
            on_open=note,
            adopt=None if begun is None else tuple(opened),
            key=f"turn/{question.item.id}/{name}",
        ) as writer:
            yield writer


def _holds_private(messages: Sequence[Message]) -> bool:
    return any(isinstance(message, ToolResult) and message.private for message in messages)
