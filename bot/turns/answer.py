"""The answer to one question: ask the agents, stream what they say, and end according to the outcome.

answer        wait for a slot, ask the agents (asking.py), end
  _conclude   choose one of these endings
    _deliver  post the answer, its sources, and the buttons under it
    _deliver_privately   post the same in the direct messages, if it holds order data and others read the thread
    _say_not_found       nothing was found that supports an answer: say so and offer a person; the second time in a
                         row, call one
    _say_out_of_reach    the shop did not answer, or the help pages cannot be searched: say so and call a person;
                         or lookups were refused because they came too fast: say so
    _withdraw            the answer claims an action that no tool took, or names an amount, a date or a number
                         without a source: withdraw it and call a person
    _withhold            the answer holds a secret or the agents' instructions: say that it is withheld
    _escalated           the agent called a person
    _failed              the agent gave no answer: say so and call a person
    _stopped             the customer stopped the answer
  _keep       save the transcript and the costs, and close the turn's journal
  _tell       write the log line and the metrics
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Literal

from bot.agent.journal import WRITE
from bot.agent.limits import Limits
from bot.agent.messages import AgentMessage, CustomerMessage, JsonObject, Message, ToolResult, to_json
from bot.alerts import Alerts
from bot.cases.cases import Cases
from bot.clock import DAY, Clock
from bot.conversation import ThreadRef
from bot.desk import policy
from bot.errors import Silenced
from bot.failpoints import failpoint
from bot.guard.guardrails import OutputGate
from bot.guard.values import Value
from bot.ingest.fair_semaphore import FairSemaphore
from bot.ingest.interrupts import Interrupted
from bot.language.sentences import Language, Sentences
from bot.slack.client import Block, Identity, SlackClient, SlackRefused, SlackUnanswered
from bot.slack.outbox import Outbox
from bot.slack.place import Place, is_streaming, without_end
from bot.slack.stream import StreamWriter, open_stream
from bot.store import outbox, spending, threads, turns
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing
from bot.store.turns import STANDING, TurnRecord
from bot.telemetry import Metrics
from bot.turns.asking import DECLINED, Agents, Asked
from bot.turns.costs import costs_of
from bot.turns.journal import TurnJournal, open_journal
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

    me: Identity
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
            # End what a crashed process was writing. This turn may wait long before it replaces those words.
            await self._halt(item, journal)
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

    async def has_begun(self, item: InboxItem, *, before: float) -> bool:
        """Whether an earlier attempt at this row began its answer by the time `before`, and did not finish it."""
        async with self.database.transaction() as tx:
            began = await turns.began(tx, item.id)
        return began is not None and began <= before

    async def close_leftover(self, item: InboxItem) -> None:
        """End the unfinished answer of an earlier attempt at this row, when no answer will replace it.

        If some of it is posted, a sentence says that it was interrupted. Call `keep_leftover` when the row is closed.

        Raises:
            SlackUnanswered: Slack did not answer. The call can be repeated.
        """
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        if not journal.has_steps:
            return
        async with self.database.transaction() as tx:
            state = await threads.find_thread(tx, item.thread)
        language = self.sentences.language_for(state.language if state else "")
        sentence = self.sentences.say(language, "cut_short")
        for name in STANDING:
            if begun := journal.known(name):
                async with asyncio.timeout(ANSWER_OVERHEAD_TIMEOUT):
                    await journal.record(name, await self._cut_short(item, name, begun, sentence))

    async def _cut_short(self, item: InboxItem, name: str, begun: JsonObject, sentence: str) -> JsonObject:
        """End the answer's messages with the sentence. Return the step's value: their timestamps and their text."""
        place = await self._place(item, name)
        there = await self._end_streams(place)
        if any(map(is_streaming, there)):
            # The streamed text can be read only now.
            there = await place.own_messages(since=None)
        there = [message for message in there if message["ts"] in begun["opened"] or place.is_ours(message)]
        opened = list(dict.fromkeys([*begun["opened"], *(message["ts"] for message in there)]))
        told = [message for message in there if message["text"].strip()]
        if told:
            try:
                await place.end_with(told[-1], sentence)
            except SlackRefused as refusal:
                logger.warning("a leftover answer bears no mark", extra={"turn": item.id, "slack": refusal.error})
        shown = "\n\n".join(without_end(message, sentence) for message in told)
        return {"opened": opened, "text": begun.get("text") or shown}

    async def keep_leftover(self, tx: Transaction, item: InboxItem, *, reason: str, may_return: bool) -> None:
        """Save what `close_leftover` ended as a turn, in the transaction that closes its row.

        If the row `may_return`, the journal keeps the steps that say where the answer is and what was changed.
        """
        journal = TurnJournal(
            self.database, self.clock, turn=item.id, attempt=item.fence, known=await turns.recall(tx, item.id)
        )
        if journal.has_steps:
            await self._keep_unfinished(tx, item, journal, ended="failed", reason=reason, closes=not may_return)
            if may_return:
                await turns.keep_side_effects(tx, item.id, prefix=WRITE, now=self.clock.now())

    async def _halt(self, item: InboxItem, journal: TurnJournal) -> None:
        # A saved turn has no journal and needs none: it is saved after the last call of its stream.
        try:
            async with asyncio.timeout(ANSWER_OVERHEAD_TIMEOUT):
                for name in STANDING:
                    if journal.known(name) is not None:
                        await self._stop_streams(item, name)
        except (SlackRefused, SlackUnanswered, TimeoutError) as error:
            logger.info("a leftover stream was not stopped", extra={"turn": item.id, "reason": str(error)})

    async def take_down(self, item: InboxItem) -> list[tuple[str, str]]:
        """End what attempts at this row began to write. Return the (channel, ts) of each message, noted or not."""
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        found: list[tuple[str, str]] = []
        for name in STANDING:
            if begun := journal.known(name):
                found += await self._stop_streams(item, name, begun["opened"])
        return list(dict.fromkeys(found))

    async def _stop_streams(self, item: InboxItem, name: str, opened: Sequence[str] = ()) -> list[tuple[str, str]]:
        """Stop the app's own streams in the answer's thread, noted or not. They then carry the answer's mark.

        Return the (channel, ts) of the answer's messages: those in `opened`, and these streams.
        """
        place = await self._place(item, name)
        there = await self._end_streams(place)
        ours = [*opened, *(message["ts"] for message in there if place.is_ours(message))]
        return [(place.channel, ts) for ts in ours]

    async def _end_streams(self, place: Place) -> list[JsonObject]:
        """Stop the app's own streams. Return its messages as they were before."""
        there = await place.own_messages(since=None)
        for message in there:
            if is_streaming(message):
                await place.end(message["ts"])
        return there

    async def _place(self, item: InboxItem, name: str) -> Place:
        """Return the place of an answer that is no longer being written."""
        thread = item.thread if name == "stream" else await self._private_thread(item)
        return Place(self.slack, thread.channel, thread.ts, user="", team=thread.team, key=f"turn/{item.id}/{name}")

    async def _private_thread(self, item: InboxItem, opening: str = "", *, epoch: int | None = None) -> ThreadRef:
        """Open a thread in the customer's direct messages for private content. It begins with `opening`.

        The opening is not posted if the question's thread is no longer in that `epoch`.
        """
        channel = await self.slack.open_dm(item.author)
        of = None if epoch is None else (item.thread.key, epoch)
        post = Outgoing(f"turn/{item.id}/private", "post", channel, {"text": opening}, epoch=of)
        root = await self.outbox.deliver(post)
        return ThreadRef(self.me.team, channel, root)

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
            case "stopped":
                return await self._stopped(asked)
            case "failed":
                return await self._failed(asked)
            case "escalated":
                return await self._escalated(asked)
            case "shop_down" | "pages_down" | "too_fast" as what:
                return await self._say_out_of_reach(asked, what)
            case "claimed":
                return await self._withdraw(asked)
            case "leaked":
                return await self._withhold(asked)
            case "not_found":
                return await self._say_not_found(asked)
            case "stands":
                return await (self._deliver_privately(asked) if asked.reply.withheld else self._deliver(asked))

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
        await self._say_stopped(question.item, question.language, has_written=has_written, epoch=question.epoch)
        return await self._keep(asked, "stopped")

    async def stop_leftover(self, item: InboxItem, language: Language) -> str:
        """End a row as stopped, whether or not an earlier attempt had begun its answer."""
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        await self._say_stopped(item, language, has_written=journal.has_written)
        if journal.has_steps:
            await self._halt(item, journal)
        async with self.database.transaction() as tx:
            await self._keep_unfinished(tx, item, journal, ended="stopped", reason="", closes=True)
        return "stopped"

    async def _keep_unfinished(
        self, tx: Transaction, item: InboxItem, journal: TurnJournal, *, ended: str, reason: str, closes: bool
    ) -> None:
        """Save the turn of an answer that will not continue: the question, the calls, the shown text, the costs."""
        for use in costs_of(item, journal.rounds):
            booked = use if closes else replace(use, key=f"{use.key}/before/{item.fence}")
            await spending.add(tx, booked, now=self.clock.now())
        state = await threads.find_thread(tx, item.thread)
        stands: JsonObject = journal.known("stream") or {}
        asked = to_json(CustomerMessage(item.words, speaker=item.author, ts=item.ts))
        said = [to_json(AgentMessage(stands["text"]))] if stands.get("text") else []
        did = [to_json(result) for result in journal.results]
        record = TurnRecord(
            id=item.id,
            thread=item.thread,
            episode=state.episode if state else 0,
            ts=item.ts,
            customer=item.author,
            agent="",
            ended=ended,
            reason=reason,
            messages=[asked, *said],
            sources=[],
            confidence=0.0,
            input_tokens=0,
            output_tokens=0,
            trace=[asked, *did, *said] if did else None,
            posts=stands.get("opened", ()),
        )
        await turns.save(tx, record, now=self.clock.now(), closes=closes)

    async def _say_stopped(
        self, item: InboxItem, language: Language, *, has_written: bool, epoch: int | None = None
    ) -> None:
        words = {"text": self.sentences.say(language, "stopped_part_done" if has_written else "stopped")}
        thread, key = item.thread, f"turn/{item.id}/stopped"
        async with self.database.transaction() as tx:
            of = (thread.key, await threads.epoch_of(tx, thread.key) if epoch is None else epoch)
            post = Outgoing(key, "post", thread.channel, words, thread_ts=thread.ts, epoch=of)
            await outbox.add(tx, post, now=self.clock.now())
        self.outbox.wake()

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
        private = await self._private_thread(question.item, opening, epoch=question.epoch)
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

    async def _say_not_found(self, asked: Asked) -> str:
        question = asked.question
        if question.in_vain_before:
            said = self.sentences.say(question.language, "not_found_again")
            asked.writer.text(said)
            await asked.writer.finish()
            await self.cases.open(question.item.thread, question.customer, reason="no_answer", priority="medium")
            return await self._keep(asked, "no_answer", instead=said)
        card = cards.no_answer(self.sentences, asked.question.language, ref=str(asked.question.item.id))
        asked.writer.text(card.text)
        await asked.writer.finish(blocks=card.blocks)
        return await self._keep(asked, "no_answer", instead=card.text)

    async def _escalated(self, asked: Asked) -> str:
        sentence = await self._give_what_stands(asked)
        await asked.writer.finish(blocks=self._footer_in_part(asked))
        return await self._keep(asked, "escalated", instead=sentence)

    async def _say_out_of_reach(self, asked: Asked, what: Literal["shop_down", "pages_down", "too_fast"]) -> str:
        """End a turn in which a lookup failed and no other found anything: no answer of the agent can be right."""
        question = asked.question
        said = await self._give_what_stands(asked)
        if not asked.partly:
            said = self.sentences.say(question.language, what)
            asked.writer.text(f"\n\n{said}" if asked.reply.shown else said)
        await asked.writer.finish(blocks=self._footer_in_part(asked))
        if what == "too_fast":
            return await self._keep(asked, "too_fast", instead=said)
        await self.cases.open(question.item.thread, question.customer, reason=what, priority="medium")
        return await self._keep(asked, "failed", instead=said, reason=what)

    async def _withdraw(self, asked: Asked) -> str:
        """Say after the shown text that nothing was done. The claim itself was not shown."""
        question, reply = asked.question, asked.reply
        claim = reply.claim
        is_value = isinstance(claim, Value)
        logger.warning(
            "an answer named what stands nowhere" if is_value else "an answer claimed what no tool had done",
            extra={"turn": question.item.id, "kind": claim and claim.kind, "form": getattr(claim, "form", "")},
        )
        said = await self._give_what_stands(asked)
        if not asked.partly:
            sentence = self.sentences.say(question.language, "value_withdrawn" if is_value else "claim_withdrawn")
            said = f"{reply.said}\n\n{sentence}" if reply.said else sentence
            asked.writer.text(said.removeprefix(reply.said))
        await asked.writer.finish(blocks=self._footer_in_part(asked))
        await self.cases.open(question.item.thread, question.customer, reason="change", priority="medium")
        return await self._keep(asked, "failed", instead=said, reason="change")

    async def _withhold(self, asked: Asked) -> str:
        """Withhold a secret or the instructions, which were not shown. Staff are told, but not at each attempt."""
        question, reply = asked.question, asked.reply
        extra = {"turn": question.item.id, "holds": reply.leak}
        logger.warning("an answer was about to tell what the desk keeps to itself", extra=extra)
        said = await self._give_what_stands(asked)
        if not asked.partly:
            sentence = self.sentences.say(question.language, "answer_withheld")
            said = f"{reply.said}\n\n{sentence}" if reply.said else sentence
            asked.writer.text(said.removeprefix(reply.said))
        await asked.writer.finish(blocks=self._footer_in_part(asked))
        await self._tell_staff(asked)
        return await self._keep(asked, "failed", instead=said, reason="leak")

    async def _tell_staff(self, asked: Asked) -> None:
        """Post in the agent channel that an answer was withheld, once in NOTICE_SECONDS across all processes."""
        now = self.clock.now()
        card = staff_cards.withheld(is_secret=asked.reply.leak == "secret", turn=asked.question.item.id)
        key = f"withheld/{asked.reply.leak}/{int(now // NOTICE_SECONDS)}"
        async with self.database.transaction() as tx:
            await outbox.add(tx, Outgoing(key, "post", self.agent_channel, {"text": card.text}), now=now)
        self.outbox.wake()

    async def _failed(self, asked: Asked) -> str:
        question, outcome = asked.question, asked.outcome
        # A model that is away fails every turn. That is one fault, not one for each turn.
        self.alerts.tell(
            logger, "the agent gave no answer", about=outcome.reason, turn=question.item.id, reason=outcome.reason
        )
        sentence = await self._give_what_stands(asked)
        if asked.reply.shown and not asked.partly:
            await asked.writer.abandon(self.sentences.say(question.language, "cut_short"))
        else:
            await asked.writer.finish(blocks=self._footer_in_part(asked))
        reason = "technical_part" if asked.partly else "technical"
        if outcome.reason in DECLINED and not asked.partly:
            reason = "declined"
        await self.cases.open(question.item.thread, question.customer, reason=reason, priority="medium")
        return await self._keep(asked, "failed", instead=sentence)

    async def _give_what_stands(self, asked: Asked) -> str | None:
        """Deliver the valid ones of several answers. They are written already, or they go to the direct messages."""
        return await self._post_privately(asked) if asked.partly and asked.reply.withheld else None

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
        if policy.is_small_talk(asked.question.text) and not asked.sources:
            return ()
        shown = [cards.Source(hit.title, hit.url or "", hit.last_updated or "") for hit in asked.sources]
        ref = str(asked.question.item.id)
        return cards.answer_footer(
            self.sentences, asked.question.language, ref=ref, sources=shown, offer_person=asked.verdict == "stands"
        ).blocks

    def _footer_in_part(self, asked: Asked) -> Sequence[Block] | None:
        """Return the footer of several answers that are not all valid. None if they went to the direct messages."""
        return self._footer(asked) if asked.partly and not asked.reply.withheld else None

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
            self.slack,
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
