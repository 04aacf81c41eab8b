"""The leftovers of an earlier attempt at a row: an answer that a crashed or stopped process had begun to write.

close      The row gets no other answer: end the leftover, and say that it was interrupted.
save       Save as a turn what `close` ended.
stop       The customer has stopped the answer: say so, end the leftover, and save it.
halt       Another attempt begins: end what Slack still shows as being written. That attempt replaces the words.
take_down  The message was edited or deleted: end the leftover, and return its messages.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.agent.journal import WRITE
from bot.agent.messages import AgentMessage, CustomerMessage, JsonObject, to_json
from bot.clock import Clock
from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.client import SlackClient
from bot.slack.place import Place, is_streaming, without_end
from bot.store import spending, threads, turns
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.turns import STANDING, TurnRecord
from bot.turns.answers.journal import TurnJournal, open_journal
from bot.turns.answers.posts import AnswerPosts
from bot.turns.costs import costs_of

logger = logging.getLogger(__name__)

END_TIMEOUT = 30.0
"""Seconds to end a leftover in Slack."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Ends what earlier attempts at a row left in Slack, and saves it."""

    database: Database
    slack: SlackClient
    clock: Clock
    sentences: Sentences
    posts: AnswerPosts

    async def close(self, item: InboxItem) -> None:
        """End the unfinished answer of an earlier attempt at this row, when no answer will replace it.

        If some of it is posted, a sentence says that it was interrupted. Call `save` when the row is closed.

        Raises:
            SlackUnanswered: Slack did not answer. The call can be repeated.
        """
        journal = await self._journal(item)
        if not journal.has_steps:
            return
        async with self.database.transaction() as tx:
            state = await threads.find_thread(tx, item.thread)
        language = self.sentences.language_for(state.language if state else "")
        sentence = self.sentences.say(language, "cut_short")
        for name in STANDING:
            if begun := journal.standing(name):
                async with asyncio.timeout(END_TIMEOUT):
                    await journal.record(name, await self._cut_short(item, name, begun, sentence))

    async def save(self, tx: Transaction, item: InboxItem, *, reason: str, may_return: bool) -> None:
        """Save what `close` ended as a turn, in the transaction that closes its row.

        If the row `may_return`, the journal keeps the steps that say where the answer is and what was changed.
        """
        journal = TurnJournal(
            self.database, self.clock, turn=item.id, attempt=item.fence, known=await turns.recall(tx, item.id)
        )
        if journal.has_steps:
            await self._save(tx, item, journal, ended="failed", reason=reason, closes=not may_return)
            if may_return:
                await turns.keep_side_effects(tx, item.id, prefix=WRITE, now=self.clock.now())

    async def stop(self, item: InboxItem, language: Language) -> str:
        """End a row as stopped, whether or not an earlier attempt had begun its answer."""
        journal = await self._journal(item)
        await self.posts.say_stopped(item, language, has_written=journal.has_written)
        if journal.has_steps:
            await self.halt(item, journal)
        async with self.database.transaction() as tx:
            await self._save(tx, item, journal, ended="stopped", reason="", closes=True)
        return "stopped"

    async def halt(self, item: InboxItem, journal: TurnJournal) -> None:
        """End what a crashed process was writing. If Slack refuses or does not answer, that is only logged."""
        # A saved turn has no journal and needs none: it is saved after the last call of its stream.
        try:
            async with asyncio.timeout(END_TIMEOUT):
                for name in STANDING:
                    if journal.standing(name) is not None:
                        await self._stop_streams(item, name)
        except (SlackRefused, SlackUnanswered, TimeoutError) as error:
            logger.info("a leftover stream was not stopped", extra={"turn": item.id, "reason": str(error)})

    async def take_down(self, item: InboxItem) -> list[tuple[str, str]]:
        """End what attempts at this row began to write. Return the (channel, ts) of each message, noted or not."""
        journal = await self._journal(item)
        found: list[tuple[str, str]] = []
        for name in STANDING:
            if begun := journal.standing(name):
                found += await self._stop_streams(item, name, begun["opened"])
        return list(dict.fromkeys(found))

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
        thread = item.thread if name == "stream" else await self.posts.open_private_thread(item)
        return Place(
            self.slack.streams,
            self.slack.chat,
            thread.channel,
            thread.ts,
            user="",
            team=thread.team,
            key=f"turn/{item.id}/{name}",
        )

    async def _save(
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

    async def _journal(self, item: InboxItem) -> TurnJournal:
        return await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
