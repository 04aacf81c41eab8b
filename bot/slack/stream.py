"""Writes an answer while the model produces it: one streamed message, or several if it grows long.

If Slack does not stream, the answer is a post that is replaced as the words come. If the workspace's stream slots are
used up, it is one post at the end. While many answers are written at once, each shows words less often, and more at a
time.

Whatever fails, the customer reads the text exactly once. One task makes all the calls, in steps that can be repeated,
and tracks what each message shows:

- A refused call did nothing; the text waits for the next message.
- An unanswered append may have been applied. The message is then stopped and replaced whole with `chat.update`,
  which can be repeated any number of times.
- An unanswered start is looked for in the thread by its streaming state, a post by its metadata.

open_stream      the entry point; leaving it stops what is still open
StreamWriter     what a turn uses: text, task, finish, abandon
_Worker          the task: run → _advance while words come → _conclude at the end. It decides when and where words are
                 shown; stream_messages.py shows them by streaming, stream_posts.py in posts
"""

import asyncio
import logging
import math
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from bot.clock import Clock, SystemClock
from bot.errors import FrontdeskError, Unreachable
from bot.guard.guardrails import OutputGate
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import Block
from bot.slack.mrkdwn import MESSAGE_BYTES, seam
from bot.slack.place import ChatCalls, Place, StreamCalls
from bot.slack.stream_messages import CARDS, StreamedMessages
from bot.slack.stream_pace import StreamPace
from bot.slack.stream_posts import PostedMessages
from bot.slack.stream_record import StreamRecord
from bot.slack.stream_text import FIELD_LIMIT, ProgressCard, StreamMessage, StreamText, TaskStatus

logger = logging.getLogger(__name__)

LEAVE_SECONDS = 5.0
"""The timeout for leaving the writer."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """When a writer shows words, and when it begins another message."""

    flush_seconds: float = 0.5
    """The least time between two calls while words come. The first call leaves at once."""
    edit_seconds: float = 3.0
    """The same for a post that is replaced. Slack advises against less."""
    message_bytes: int = MESSAGE_BYTES
    """The UTF-8 bytes of one message, including its progress cards."""
    message_seconds: float = 240.0
    """The age at which a streamed message is completed. Slack itself ends it soon after 300 seconds."""
    attempts: int = 5
    """After this many unanswered calls in a row, at the end, the writer gives up."""
    retry_seconds: float = 0.5
    """The wait after the first unanswered call. It doubles each time."""


class StreamWriter:
    """Made by `open_stream`. `text` and `task` never wait. The turn's limits bound what they get."""

    def __init__(self, worker: "_Worker", gate: OutputGate, running: asyncio.Task[None]) -> None:
        self._worker = worker
        self._gate = gate
        self._running = running

    @property
    def stopped(self) -> bool:
        """True once the customer pressed Stop. This is an end and no failure. What is written afterwards is dropped."""
        return self._worker.record.stopped

    @property
    def posts(self) -> tuple[str, ...]:
        """The ts of the answer's messages so far, in order."""
        return tuple(self._worker.record.ts)

    @property
    def shown(self) -> str:
        """The text that has left the gate. The customer sees it or is about to."""
        return self._worker.answer.text

    def text(self, delta: str) -> None:
        """Add the model's next words."""
        self._worker.say(self._gate.feed(delta))

    def task(self, task_id: str, *, title: str, status: TaskStatus, details: str = "") -> None:
        """Show a progress card or change the one with this id. Slack replaces title and status, and appends details."""
        self._worker.show(ProgressCard(task_id, title[:FIELD_LIMIT], status, details[:FIELD_LIMIT]))

    async def finish(
        self, *, blocks: Sequence[Block] | None = None, text_if_empty: str | None = None
    ) -> tuple[str, ...]:
        """Complete the answer. Returns the ts of its messages in order, () if there are none.

        `blocks` appear under the last message. `text_if_empty` is shown if the model wrote nothing. Without it, an
        empty answer shows nothing, and no blocks either. Raises SlackRefused or SlackUnanswered if the text could not
        be shown whole. A writer that adopts what `on_open` reported can then write the same text again.
        """
        self._worker.say(self._gate.close())
        if self._worker.answer.is_empty and text_if_empty:
            self._worker.say(self._gate.feed(text_if_empty) + self._gate.close())
        return await self._end(blocks)

    async def abandon(self, text: str) -> tuple[str, ...]:
        """End an answer that cannot be completed. What is shown stays, and `text`, if not empty, appears below it."""
        self._gate.close()
        self._worker.drop_unsent()
        closing, _ = seam(self._worker.answer.text)
        gap = "\n\n" if text and not self._worker.answer.is_empty else ""
        self._worker.say(closing + gap + self._gate.feed(text) + self._gate.close())
        return await self._end(None)

    async def _end(self, blocks: Sequence[Block] | None) -> tuple[str, ...]:
        self._worker.close(blocks)
        await asyncio.wait({self._running})
        self._running.result()
        return tuple(self._worker.record.ts)


@asynccontextmanager
async def open_stream(
    streams: StreamCalls,
    chat: ChatCalls,
    *,
    channel: str,
    thread_ts: str,
    user: str,
    team: str,
    gate: OutputGate,
    on_open: Callable[[str], Awaitable[None]] | None = None,
    fence: Callable[[], Awaitable[None]] | None = None,
    may_speak: Callable[[], Awaitable[None]] | None = None,
    adopt: Sequence[str] | None = None,
    known: Callable[[], Awaitable[Collection[str]]] | None = None,
    key: str = "",
    after: str = "",
    limits: StreamLimits | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[StreamWriter]:
    """A writer for one answer to `user` of the workspace `team` (the author's own).

    `on_open` is awaited with the ts of every message as soon as it exists, to journal it. If it raises Superseded,
    the message is deleted.
    `fence` is awaited before a message is made, replaced or deleted. It raises Superseded if another attempt has
    taken over the answer, and nothing more is written.
    `may_speak` is awaited when it is the turn of a call that shows words. It raises Silenced if no one may read them
    any more, and nothing more is written.
    `adopt` is for a turn that is repeated after a crash: the ts that `on_open` reported before, in order (can be
    empty). The writer also looks in the thread for messages that were opened but not reported. It stops them all, and
    puts the whole new text in their place. None means a fresh turn.
    `key` names the answer. It is the same on every attempt, so that its posts are found again.
    `after` is the question's ts. A stream below it without a mark belongs to this answer, unless `known` says that it
    is another's. Streams that Slack or the customer ended have no mark.

    Leaving the block without `finish` or `abandon` stops an open stream and writes nothing more.
    """
    place = Place(streams, chat, channel, thread_ts, user, team, key or uuid.uuid4().hex, after, fence, may_speak)
    limits, clock = limits or StreamLimits(), clock or SystemClock()
    answer = StreamText(limits.message_bytes, limits.message_seconds)
    worker = _Worker(StreamRecord(place, answer, clock, on_open=on_open, known=known), limits, clock, adopt=adopt)
    running = asyncio.create_task(worker.run(), name=f"stream {channel}/{thread_ts}")
    try:
        yield StreamWriter(worker, gate, running)
    finally:
        running.cancel()
        await asyncio.wait({running})
        if not running.cancelled() and (error := running.exception()) is not None:
            reason = str(error) if isinstance(error, FrontdeskError) else type(error).__name__
            logger.warning("an answer was not shown whole", extra={"channel": channel, "reason": reason})
        await worker.leave()


class _Worker:
    """The writer's one task: what `StreamText` says can be sent goes to the thread, when it is time."""

    def __init__(
        self, record: StreamRecord, limits: StreamLimits, clock: Clock, *, adopt: Sequence[str] | None
    ) -> None:
        self.record = record
        self.answer = record.answer
        self._place = record.place
        self._limits = limits
        self._pace = StreamPace(clock, limits.retry_seconds)
        self._streamed = StreamedMessages(record, self._pace)
        self._posted = PostedMessages(record, self._pace, adopt)

    def say(self, words: str) -> None:
        """Add to the text."""
        if words and not self.answer.is_closed:
            self.answer.add(words)
            self._pace.more.set()

    def show(self, card: ProgressCard) -> None:
        """Change a card, unless Slack takes none."""
        if self.answer.takes_cards and CARDS not in self._place.streams.unsupported:
            self.answer.change(card)
            self._pace.more.set()

    def drop_unsent(self) -> None:
        """Drop the words that were in no call yet."""
        self.answer.drop_unsent()
        self._posted.keeps_inherited = self.answer.is_empty

    def close(self, blocks: Sequence[Block] | None) -> None:
        """End the text. Nothing more is written after it."""
        if not self.answer.is_closed:
            self.record.footer = blocks or None
            self.answer.is_closed = True
            self._pace.end.set()
            self._pace.more.set()

    async def run(self) -> None:
        """Show the text as it comes, until all of it is shown."""
        failures = 0
        while not self.record.stopped:
            await self._until_due()
            closing = self.answer.is_closed
            self._pace.more.clear()
            try:
                await self._posted.inherit()
                await self._advance()
                if closing:
                    await self._conclude()
                    return
                failures = 0
            except SlackUnanswered as failure:
                failures += 1
                if closing and failures >= self._limits.attempts:
                    raise
                await self._pace.rest(failures, failure.retry_after)
                failures = failures if closing else min(failures, 1)
                self._pace.more.set()
            self._pace.note_flush()

    async def leave(self) -> None:
        """Stop what is still open, if that can be done soon."""
        message = self._streamed.message
        is_open = message is not None and message.open and not self.record.stopped
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                if self.record.unwanted is not None:
                    await self._place.take_back(self.record.unwanted)
                if message is not None and is_open:
                    await self._place.end(message.ts)
                if self._streamed.lost_start is not None:
                    for ts, is_left_open in await self._streamed.unknown():
                        if is_left_open:
                            await self._place.end(ts)
        except (SlackUnanswered, Unreachable, TimeoutError):
            logger.warning(
                "a stream may be open", extra={"channel": self._place.channel, "thread_ts": self._place.thread_ts}
            )

    async def _until_due(self) -> None:
        """Wait until there is something to show and the time to show it, or until a message has become old."""
        pace = self._pace
        while not self.answer.is_closed:
            message, now = self._streamed.message, pace.now()
            if pace.more.is_set():
                wait, event = self._due() - now, pace.end
            elif message is not None and self.record.mode == "stream":
                wait, event = message.opened + self._limits.message_seconds - now, pace.more
            else:
                wait, event = math.inf, pace.more
            if wait <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(None if wait == math.inf else wait):
                    await event.wait()

    def _due(self) -> float:
        """When the words that are there can be shown."""
        message, pace = self._streamed.message, self._pace
        if message is not None and message.open and message.sure:
            interval = max(self._limits.flush_seconds, self._place.streams.append_interval())
            return max(pace.flushed + interval, pace.dry_until)
        has_to_mend = message is not None or self._streamed.lost_start is not None or self._posted.adopt is not None
        if self.record.mode == "stream" or has_to_mend:
            return pace.flushed + self._limits.flush_seconds
        if self.record.mode == "edit":
            return max(pace.flushed + (self._limits.edit_seconds if self._posted.draft else 0.0), pace.dry_until)
        return math.inf

    async def _advance(self) -> None:
        """Show as much as can be shown now."""
        while not self.record.stopped:
            message = self._streamed.message
            if self._streamed.lost_start is not None:
                await self._streamed.find_start()
            elif message is not None and not (message.open and message.sure):
                await self._streamed.mend(message)
            elif not await self._go_on(message):
                return

    async def _go_on(self, message: StreamMessage | None) -> bool:
        """Do the next step. Returns whether something was shown, so that there may be more to show."""
        match self.record.mode:
            case "stream" if message is not None:
                return await self._streamed.go_on(message)
            case "stream":
                return not self.answer.is_closed and await self._streamed.start()
            case "edit":
                return message is None and not self.answer.is_closed and await self._posted.edit()
            case "at_end":
                return False

    async def _conclude(self) -> None:
        """Show the rest, put the footer under it, and delete leftover messages."""
        record = self.record
        while self._streamed.message is not None and not record.stopped:
            await self._streamed.finish(self._streamed.message)
            await self._advance()
        while self.answer.has_more and not record.stopped:
            await self._show_rest()
        if record.stopped:
            return
        if record.footer is not None and record.ts and not self.answer.is_empty:
            await self._add_footer(record.footer)
        if not self.answer.is_empty:
            await self._posted.discard()

    async def _show_rest(self) -> None:
        """Show one more message of the text that is not shown yet, without streaming."""
        part = self.answer.rest()
        self.answer.sent_to = part.to
        if part.text and not await self._posted.show(part.text, self.record.footer if part.is_last else None):
            return
        self.answer.shown_to, self.answer.prefix = part.to, part.opening

    async def _add_footer(self, blocks: Sequence[Block]) -> None:
        """Put the footer under the last message. If Slack refuses it there, it becomes a reply of its own."""
        try:
            if not await self._streamed.put_under(blocks):
                await self._posted.show("", blocks)
        except SlackRefused as refusal:
            logger.warning("no footer", extra={"channel": self._place.channel, "slack": refusal.error})
        self.record.footer = None
