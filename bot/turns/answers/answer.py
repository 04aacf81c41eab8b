"""The answer to one question: ask the agents, stream what they say, and end according to the outcome.

answer        wait for a slot, ask the agents (asking.py), end
  _conclude   end by the verdict
    _deliver            post the answer, its sources, and the buttons under it
    _deliver_privately  post the same in the direct messages, if it holds order data and others read the thread
    _end                say why there is no answer, or only a part, and call a person: as the table in endings.py says
    _stopped            the customer stopped the answer
    _stay_silent        no one asked the app, and it has nothing to say
What is stored of it is in answer_records.py, and what operators and staff learn in answer_reports.py.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from bot.agent.limits import Limits
from bot.cases.cases import Cases
from bot.desk import policy
from bot.desk.courtesies import asks_nothing
from bot.desk.topics import without_marks
from bot.errors import Silenced
from bot.ingest.fair_semaphore import FairSemaphore
from bot.ingest.interrupts import Interrupted
from bot.language.sentences import Sentences
from bot.slack.api.transport import Block
from bot.slack.stream import StreamWriter
from bot.turns.answers.asking import Agents, Asked
from bot.turns.answers.endings import Ending, ending_of
from bot.turns.answers.journal import TurnJournal
from bot.turns.answers.leftovers import Leftovers
from bot.turns.answers.outages import ModelOutages
from bot.turns.answers.posts import AnswerPosts
from bot.turns.answers.question import Question
from bot.turns.answers.records import AnswerRecords
from bot.turns.answers.reports import AnswerReports
from bot.turns.answers.streams import AnswerStreams
from bot.turns.answers.waiting_line import WaitingLine
from bot.turns.sessions import TurnSessions
from bot.views import cards
from bot.views.announcements import SAID_FIRST

ANSWER_OVERHEAD_TIMEOUT = 30.0
"""Seconds for an answer in addition to the agent's own limit: for search, end of the stream, storage."""
ANSWER_SLOT_TIMEOUT = 300.0
"""How long a question may wait for a slot, in seconds. After that the attempt has failed."""
UNANSWERED = "unanswered"
"""How a turn ends that posts nothing, because the message was not addressed to the assistant."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers questions. `bot.app` puts the parts together."""

    sentences: Sentences
    agents: Callable[[], Agents]
    """The agents of the desk file in force."""
    limits: Limits
    cases: Cases
    slots: FairSemaphore
    """Bounds how many answers run at once. A customer who writes much does not delay the others for long."""
    sessions: TurnSessions
    posts: AnswerPosts
    leftovers: Leftovers
    streams: AnswerStreams
    records: AnswerRecords
    reports: AnswerReports
    outages: ModelOutages | None = None
    """None if no case is ever taken back."""
    line: WaitingLine | None = None
    """None if no one is told how long the line for a slot is."""

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
        journal = await self.records.journal(item)
        if item.fence > 1 and journal.has_steps:
            # This turn may wait long before it replaces what a crashed process was writing.
            await self.leftovers.halt(item, journal)
        async with question.interrupt.timeout(ANSWER_SLOT_TIMEOUT):
            await self.slots.acquire(question.whose, item.id)
        try:
            is_told = self.line is not None and self.line.leave(item.id)
            again = self.sessions.working(item, question.language) if is_told else nullcontext()
            async with again, asyncio.timeout(self.limits.turn_seconds + ANSWER_OVERHEAD_TIMEOUT):
                return await self._answer(question, journal)
        finally:
            self.slots.release(question.whose)

    async def _answer(self, question: Question, journal: TurnJournal) -> str:
        thread = question.item.thread
        async with self.streams.open(question, thread, journal, "stream") as writer:
            if question.heading:
                writer.text(f"{question.heading}\n\n")
            asked = await self.agents().ask(question.after(journal.side_effects), writer, journal, limits=self.limits)
            if _is_of_no_use(asked):
                raise Interrupted
            try:
                ended = await self._conclude(asked)
            except Silenced:
                if asked.verdict != "escalated":
                    raise
                # The person who was called has arrived.
                ended = await self.records.keep(asked, "escalated")
        self.reports.tell(asked, ended)
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
        await self.records.forget(asked)
        return UNANSWERED

    async def _stopped(self, asked: Asked) -> str:
        """End an answer that the customer stopped. The shown text stays, and a sentence says that no more comes."""
        question = asked.question
        await asked.writer.abandon("")
        has_written = asked.journal.has_written
        await self.posts.say_stopped(question.item, question.language, has_written=has_written, epoch=question.epoch)
        return await self.records.keep(asked, "stopped")

    async def _deliver(self, asked: Asked) -> str:
        asked.reply.release()
        self._say_what_is_left(asked, asked.writer)
        await asked.writer.finish(blocks=self._footer(asked), text_if_empty=asked.outcome.text)
        if asked.writer.stopped:
            return await self._stopped(asked)
        return await self.records.keep(asked, "answered", sources=asked.sources)

    async def _deliver_privately(self, asked: Asked) -> str:
        sentence = await self._post_privately(asked)
        await asked.writer.finish()
        return await self.records.keep(asked, "answered", instead=sentence)

    async def _post_privately(self, asked: Asked) -> str:
        """Post the answer in the direct messages, and say so in the question's thread. Return that sentence."""
        question = asked.question
        opening = self.sentences.say(question.language, "private_opening", channel=f"<#{question.item.thread.channel}>")
        private = await self.posts.open_private_thread(question.item, opening, epoch=question.epoch)
        async with self.streams.open(question, private, asked.journal, "private-stream") as writer:
            writer.text(without_marks(asked.outcome.text))
            self._say_what_is_left(asked, writer)
            posts = await writer.finish(blocks=self._footer(asked))
        sentence = self.sentences.say(question.language, "sent_privately")
        asked.writer.text(f"\n\n{sentence}" if asked.reply.shown else sentence)
        await self.records.keep(asked, "answered", sources=asked.sources, thread=private, posts=posts)
        return sentence

    def _say_what_is_left(self, asked: Asked, writer: StreamWriter) -> None:
        """Say what the shop says about a refused topic, and that a length limit cut the answer off."""
        if asked.refusal and asked.verdict == "stands":
            writer.text(f"\n\n{asked.refusal}")
        if asked.outcome.reason == "shortened":
            writer.text(f"\n\n{self.sentences.say(asked.question.language, 'shortened')}")

    async def _end(self, asked: Asked) -> str:
        """End an answer that is not sent as it is."""
        question = asked.question
        again = bool(question.in_vain_before)
        ending = ending_of(
            asked.verdict,
            asked.outcome,
            asked.reply,
            partly=asked.partly,
            is_again=again,
            is_model_away=self.outages is not None and self.outages.models.are_away,
        )
        await self.reports.warn(asked)
        if self.outages is not None and ending.case == "model_down":
            await self.outages.begin()
        said = await (self._end_parts(asked) if asked.partly else self._end_whole(asked, ending))
        if ending.case:
            await self.cases.open(question.item.thread, question.customer, reason=ending.case, priority="medium")
        return await self.records.keep(asked, ending.ended, instead=said, reason=ending.reason)

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
        if asked.verdict == "refused":
            sentence = asked.refusal
        if ending.breaks_off or not sentence:
            await (writer.abandon(sentence) if reply.shown and sentence else writer.finish())
            return None
        if policy.is_upset(asked.question.text) and not reply.shown:
            sentence = f"{self.sentences.say(language, SAID_FIRST['upset'])} {sentence}"
        writer.text(f"\n\n{sentence}" if reply.shown else sentence)
        ref, nearest = str(asked.question.item.id), reply.evidence.nearest
        page = cards.AnswerSource(nearest.title, nearest.url, nearest.last_updated) if nearest else None
        offer = cards.no_answer(self.sentences, language, ref=ref, perhaps=page).blocks
        await writer.finish(blocks=offer if ending.offers_person else None)
        return f"{reply.said}\n\n{sentence}" if reply.said else sentence

    def _footer(self, asked: Asked) -> Sequence[Block]:
        """Return sources, feedback buttons, and the offer of a person. Small talk gets none."""
        if asks_nothing(asked.question.text) and not asked.sources:
            return ()
        shown = [cards.AnswerSource(hit.title, hit.url or "", hit.last_updated or "") for hit in asked.sources]
        ref = str(asked.question.item.id)
        return cards.answer_footer(
            self.sentences, asked.question.language, ref=ref, sources=shown, offer_person=asked.verdict == "stands"
        ).blocks


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
