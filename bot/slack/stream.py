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
_Worker          the task: run → _advance while words come → _conclude at the end
"""

import asyncio
import logging
import math
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from bot.clock import Clock, SystemClock
from bot.errors import FrontdeskError, Superseded, Unreachable
from bot.failpoints import failpoint
from bot.guard.guardrails import OutputGate
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import Block, Chunk
from bot.slack.mrkdwn import MESSAGE_BYTES, seam, to_mrkdwn
from bot.slack.place import LOOK_BACK_SECONDS, TOO_LONG, ChatCalls, Place, StreamCalls, is_streaming
from bot.slack.stream_text import FIELD_LIMIT, ProgressCard, StreamMessage, StreamText, TaskStatus

logger = logging.getLogger(__name__)

CANNOT_STREAM = frozenset(
    {
        "unknown_method",
        "feature_not_enabled",
        "method_not_supported_for_channel_type",
        "channel_type_not_supported",
        "missing_recipient_team_id",
        "missing_recipient_user_id",
        "missing_scope",
        "not_allowed_token_type",
    }
)
"""Refusals of a start that are about the workspace or channel and not about this message."""
LEAVE_SECONDS = 5.0
"""The timeout for leaving the writer."""
LONGEST_REST = 30.0
"""The longest wait, in seconds, because of a rate limit."""


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
        return self._worker.stopped

    @property
    def posts(self) -> tuple[str, ...]:
        """The ts of the answer's messages so far, in order."""
        return tuple(self._worker.ts)

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
        return tuple(self._worker.ts)


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
    worker = _Worker(place, limits or StreamLimits(), clock or SystemClock(), on_open=on_open, adopt=adopt, known=known)
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
        self,
        place: Place,
        limits: StreamLimits,
        clock: Clock,
        *,
        on_open: Callable[[str], Awaitable[None]] | None,
        adopt: Sequence[str] | None,
        known: Callable[[], Awaitable[Collection[str]]] | None,
    ) -> None:
        self.answer = StreamText(limits.message_bytes, limits.message_seconds)
        self.stopped = False
        self.ts: list[str] = []
        """The answer's messages, in order."""
        self._place = place
        self._limits = limits
        self._clock = clock
        self._on_open = on_open
        self._adopt = adopt
        self._known = known
        self._began = clock.now()

        self._message: StreamMessage | None = None
        """The streamed message that gets the next words."""
        self._last: StreamMessage | None = None
        """The streamed message that was completed last."""
        self._lost_start: tuple[int, list[ProgressCard]] | None = None
        """The position and the cards of a start that was not answered."""
        self._unwanted: str | None = None
        """A message that must be deleted in any case."""
        self._lost_post: tuple[str, Sequence[Block] | None] | None = None
        """The text and blocks of a post that was not answered."""
        self._inherited: list[str] = []
        """A dead process's messages. They are filled with the new text."""
        self._found_there: dict[str, str] = {}
        """What the app's messages in the thread showed when this writer took over."""
        self._to_stop: list[str] = []
        """Messages of a dead process that may still be streaming."""
        self._streams = _streaming(place.channel) not in place.streams.unsupported
        self._edits = not self._streams
        """Whether words are shown in a post that is replaced."""
        self._draft: str | None = None
        """The ts of the post that is replaced. It is also the first of `_inherited`."""
        self._drafted: tuple[int, str] | None = None
        """How far the post shows the text, and what opens a code fence again after that. None if this is unknown."""

        self._blocks: Sequence[Block] | None = None
        """The footer, until it is shown."""
        self._apart = False
        """Whether Slack refused the footer under the last words. Then it goes into a reply of its own."""
        self._keep_inherited = False
        self._flushed = -math.inf
        self._dry_until = -math.inf
        """Before this time, Slack's rate limits leave nothing for words that can wait."""
        self._more = asyncio.Event()
        self._end = asyncio.Event()

    def say(self, words: str) -> None:
        """Add to the text."""
        if words and not self.answer.is_closed:
            self.answer.add(words)
            self._more.set()

    def show(self, card: ProgressCard) -> None:
        """Change a card, unless Slack takes none."""
        if self.answer.takes_cards and _CARDS not in self._place.streams.unsupported:
            self.answer.change(card)
            self._more.set()

    def drop_unsent(self) -> None:
        """Drop the words that were in no call yet."""
        self.answer.drop_unsent()
        self._keep_inherited = self.answer.is_empty

    def close(self, blocks: Sequence[Block] | None) -> None:
        """End the text. Nothing more is written after it."""
        if not self.answer.is_closed:
            self._blocks = blocks or None
            self.answer.is_closed = True
            self._end.set()
            self._more.set()

    async def run(self) -> None:
        """Show the text as it comes, until all of it is shown."""
        failures = 0
        while not self.stopped:
            await self._until_due()
            closing = self.answer.is_closed
            self._more.clear()
            try:
                await self._inherit()
                await self._advance()
                if closing:
                    await self._conclude()
                    return
                failures = 0
            except SlackUnanswered as failure:
                failures += 1
                if closing and failures >= self._limits.attempts:
                    raise
                await self._rest(failures, failure.retry_after)
                failures = failures if closing else min(failures, 1)
                self._more.set()
            self._flushed = self._clock.monotonic()

    async def leave(self) -> None:
        """Stop what is still open, if that can be done soon."""
        message = self._message
        is_open = message is not None and message.open and not self.stopped
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                if self._unwanted is not None:
                    await self._place.take_back(self._unwanted)
                if message is not None and is_open:
                    await self._place.end(message.ts)
                if self._lost_start is not None:
                    for ts, is_left_open in await self._unknown_streams():
                        if is_left_open:
                            await self._place.end(ts)
        except (SlackUnanswered, Unreachable, TimeoutError):
            logger.warning(
                "a stream may be open", extra={"channel": self._place.channel, "thread_ts": self._place.thread_ts}
            )

    async def _others(self) -> Collection[str]:
        """Messages of the thread that belong to other answers."""
        return () if self._known is None else await self._known()

    async def _until_due(self) -> None:
        """Wait until there is something to show and the time to show it, or until a message has become old."""
        while not self.answer.is_closed:
            now = self._clock.monotonic()
            if self._more.is_set():
                wait, event = self._due() - now, self._end
            elif self._message is not None and self._streams:
                wait, event = self._message.opened + self._limits.message_seconds - now, self._more
            else:
                wait, event = math.inf, self._more
            if wait <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(None if wait == math.inf else wait):
                    await event.wait()

    def _due(self) -> float:
        """When the words that are there can be shown."""
        message = self._message
        if message is not None and message.open and message.sure:
            interval = max(self._limits.flush_seconds, self._place.streams.append_interval())
            return max(self._flushed + interval, self._dry_until)
        if self._streams or message is not None or self._lost_start is not None or self._adopt is not None:
            return self._flushed + self._limits.flush_seconds
        if self._edits:
            return max(self._flushed + (self._limits.edit_seconds if self._draft else 0.0), self._dry_until)
        return math.inf

    async def _rest(self, failures: int, retry_after: float) -> None:
        """Wait before another try, but not longer than until the text ends."""
        wait = self._limits.retry_seconds * 2 ** (failures - 1)
        resting: list[asyncio.Task[object]] = [
            asyncio.create_task(self._clock.sleep(max(wait, min(retry_after, LONGEST_REST))))
        ]
        if not self.answer.is_closed:
            resting.append(asyncio.create_task(self._end.wait()))
        try:
            await asyncio.wait(resting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in resting:
                each.cancel()

    async def _inherit(self) -> None:
        """Stop what a dead process left. When the text is complete, it replaces these messages without streaming."""
        if self._adopt is not None:
            there = {message["ts"]: message for message in await self._place.own_messages(since=None)}
            others = await self._others()
            left = [ts for ts, one in there.items() if self._place.is_ours(one, others)]
            self._inherited = sorted({*self._adopt, *left})
            self._found_there = {ts: str(one.get("text") or "") for ts, one in there.items()}
            # Stops are scarce. So only streaming messages are stopped, or, if the thread can't be read, the one that
            # may stream.
            streaming = [ts for ts in left if is_streaming(there[ts])]
            self._to_stop = streaming if there else list(self._adopt[-1:])
            self._streams = self._edits = False
            self._adopt = None
        while self._to_stop:
            await self._place.end(self._to_stop[0])
            del self._to_stop[0]

    # While words come.

    async def _advance(self) -> None:
        """Show as much as can be shown now."""
        while not self.stopped:
            message = self._message
            if self._lost_start is not None:
                await self._find_start()
            elif message is not None and not (message.open and message.sure):
                await self._mend(message)
            elif not await self._go_on(message):
                return

    async def _go_on(self, message: StreamMessage | None) -> bool:
        """Do the next step. Returns whether something was shown, so that there may be more to show."""
        if not self._streams:
            return message is None and self._edits and not self.answer.is_closed and await self._edit()
        if message is not None:
            return await self._continue(message)
        return not self.answer.is_closed and await self._start()

    async def _start(self) -> bool:
        """Open a message with what is there. False if there is nothing to show."""
        answer = self.answer
        to, _ = self._reach(answer.next_message("", self._clock.monotonic()))
        chunks, cards = answer.chunks(to, answer.prefix)
        if not cards and not answer.text[answer.shown_to : to].strip():
            return False
        self.answer.sent_to = to
        try:
            ts = await self._place.start(chunks)
        except SlackRefused as refusal:
            if cards and refusal.error not in CANNOT_STREAM:
                self._refuse_cards(refusal)
                return True
            if refusal.error in CANNOT_STREAM:
                self._place.streams.unsupported.add(_streaming(self._place.channel))
                self._edits = True
            self._streams = False
            return True
        except asyncio.CancelledError:
            self._lost_start = (to, cards)
            raise
        except SlackUnanswered as failure:
            if failure.sent:
                self._lost_start = (to, cards)
            elif failure.reason == "ratelimited":
                self._streams = False
                return True
            raise
        try:
            await self._opened(ts, to, cards)
        except Superseded:
            await self._take_back(ts)
            raise
        return True

    async def _find_start(self) -> None:
        """Continue with a message whose start was not answered, if it exists."""
        to, cards = self._lost_start or (self.answer.shown_to, [])
        found = await self._unknown_streams()
        self._lost_start = None
        for ts, is_open in found[:1]:
            await self._opened(ts, to, cards, is_open=is_open)

    async def _unknown_streams(self) -> list[tuple[str, bool]]:
        """Streams of this answer that were never reported, and whether they are still open."""
        messages = await self._place.own_messages(since=self._began - LOOK_BACK_SECONDS)
        others = {*self.ts, *self._inherited, *await self._others()}
        return [
            (message["ts"], is_streaming(message))
            for message in messages
            if message["ts"] not in others
            and self._place.number_of(message) is None
            and self._place.is_ours(message, others)
        ]

    async def _opened(self, ts: str, to: int, cards: list[ProgressCard], *, is_open: bool = True) -> None:
        self._message = self.answer.next_message(ts, self._clock.monotonic(), is_open=is_open)
        self.answer.prefix = ""
        self.ts.append(ts)
        self.answer.accept(self._message, to, cards)
        failpoint("stream_opened")
        if self._on_open is not None:
            await self._on_open(ts)
        failpoint("stream_noted")

    async def _take_back(self, ts: str) -> None:
        """Delete a message that was just made, because the answer has been taken over and this message is not part of
        it.
        """
        self._message, self._unwanted = None, ts
        await self._place.take_back(ts)
        self._unwanted = None

    async def _continue(self, message: StreamMessage) -> bool:
        """Add to the message, or complete it if it is long or old. False if there is nothing to do now."""
        to, cut = self._reach(message)
        if cut or message.full:
            return await self._complete(message, self.answer.shown_to if message.full else to)
        chunks, cards = self.answer.chunks(to)
        if self.answer.is_closed or not chunks:
            return False
        self.answer.sent_to = to
        try:
            if await self._said(message, cards, self._place.append(message.ts, chunks)):
                self.answer.accept(message, to, cards)
                failpoint("stream_grown")
        except SlackUnanswered as failure:
            if failure.reason != "ratelimited":
                raise
            self._wait_for_budget(failure)
            return False
        return True

    async def _edit(self) -> bool:
        """Show the text so far in a post: a new one or the existing one. False if there is nothing to do now."""
        part, known = self.answer.draft(), self._drafted
        if not part.text or (known is not None and part.to <= known[0] and part.is_last):
            return False
        self._note_sent(part.to)
        self._drafted = None
        try:
            if self._draft is None:
                self._draft = await self._posted(part.text, None)
                if self._draft is None:
                    self._draft = self._inherited[0]
                    self._more.set()
                    return False
                self._inherited.insert(0, self._draft)
            else:
                await self._place.update(self._draft, part.text, None, at_once=True)
        except SlackRefused:
            self._edits, self._drafted = False, known
            return False
        except SlackUnanswered as failure:
            if not failure.sent:
                self._drafted = known
            if failure.reason != "ratelimited":
                raise
            self._wait_for_budget(failure)
            return False
        self._drafted = part.to, part.opening
        if not part.is_last:
            self._leave_draft(self._draft, part.to, part.opening)
        return not part.is_last

    def _leave_draft(self, ts: str, to: int, opening: str) -> None:
        """Leave the post as it is. The next message begins at `to`."""
        self._inherited.remove(ts)
        self.ts.append(ts)
        self.answer.shown_to, self.answer.prefix = to, opening
        self._draft, self._drafted = None, None

    def _wait_for_budget(self, failure: SlackUnanswered) -> None:
        """Keep the words back. They go with later ones, or with the end."""
        self._dry_until = self._clock.monotonic() + min(failure.retry_after, LONGEST_REST)
        self._more.set()

    async def _complete(self, message: StreamMessage, to: int) -> bool:
        """Stop the message after the text up to `to`. The next message begins there."""
        closing, opening = self.answer.seam_at(message, to)
        chunks, cards = self.answer.chunks(to, after=closing)
        self._note_sent(to)
        if await self._said(message, cards, self._place.stop(message.ts, chunks, None)):
            self.answer.accept(message, to, cards)
            self._leave_behind(message, closing, opening)
        return True

    async def _said(self, message: StreamMessage, cards: list[ProgressCard], call: Awaitable[object]) -> bool:
        """Whether a call on the message was accepted. If not, the message's state says what to do."""
        try:
            await call
        except SlackRefused as refusal:
            if refusal.error == "stopped_by_user":
                self.stopped = True
            elif refusal.error == "message_not_in_streaming_state":
                message.open = False
            elif refusal.error == "message_not_found":
                self._forget(message)
            elif refusal.error in TOO_LONG and not message.full and self.answer.shown_to > message.start:
                message.full = True
            elif cards:
                self._refuse_cards(refusal)
            else:
                message.sure = self._streams = False
            return False
        except SlackUnanswered as failure:
            message.sure = message.sure and not failure.sent
            raise
        return True

    async def _mend(self, message: StreamMessage) -> None:
        """Leave a message behind that Slack ended, or whose content is unknown.

        Unless it is known to end well, it is replaced whole, up to a place where it can end.
        """
        if self.answer.ends_well(message):
            self._leave_behind(message, "", "")
            return
        if message.open:
            await self._place.end(message.ts)
            message.open = False
        part = self.answer.replacement(message)
        self._note_sent(part.to)
        try:
            if part.text:
                await self._place.update(message.ts, part.text, None)
        except SlackRefused:
            if message.sure:
                _, opening = self.answer.seam_at(message, self.answer.shown_to)
                self._leave_behind(message, "", opening)
                return
            await self._place.delete(message.ts)
            self._forget(message)
            return
        self.answer.shown_to = part.to
        self._leave_behind(message, part.closing, part.opening)

    def _reach(self, message: StreamMessage) -> tuple[int, bool]:
        """How far the message can take the text now, and whether it must end there."""
        return self.answer.reach(message, age=self._clock.monotonic() - message.opened)

    def _note_sent(self, to: int) -> None:
        self.answer.sent_to = max(self.answer.sent_to, to)

    def _refuse_cards(self, refusal: SlackRefused) -> None:
        self.answer.refuse_cards()
        if refusal.error.startswith("invalid_"):
            self._place.streams.unsupported.add(_CARDS)

    def _leave_behind(self, message: StreamMessage, closing: str, opening: str) -> None:
        self.answer.complete(message, closing, opening)
        self._message, self._last = None, message

    def _forget(self, message: StreamMessage) -> None:
        """The message is gone. Its text must be shown again."""
        self.ts.remove(message.ts)
        self.answer.forget(message)
        self._message = None

    # At the end.

    async def _conclude(self) -> None:
        """Show the rest, put the footer under it, and delete leftover messages."""
        while self._message is not None and not self.stopped:
            await self._finish_stream(self._message)
            await self._advance()
        while self.answer.has_more and not self.stopped:
            await self._show_rest()
        if self.stopped:
            return
        if self._blocks is not None and self.ts and not self.answer.is_empty:
            await self._add_footer(self._blocks)
        if not self.answer.is_empty and not self._keep_inherited:
            while self._inherited:
                await self._discard(self._inherited[0])
                del self._inherited[0]

    async def _finish_stream(self, message: StreamMessage) -> None:
        to, cut = self._reach(message)
        if cut or message.full:
            await self._complete(message, self.answer.shown_to if message.full else to)
            return
        chunks, cards = self.answer.chunks(to)
        self.answer.sent_to = to
        failpoint("stream_ending")
        if await self._said(message, cards, self._stop(message, chunks)):
            self.answer.accept(message, to, cards)
            self._leave_behind(message, "", "")
            failpoint("stream_ended")

    async def _stop(self, message: StreamMessage, chunks: list[Chunk]) -> None:
        """Complete the message with the footer under it."""
        self._footer_is(taken=await self._place.stop(message.ts, chunks, self._blocks))

    def _footer_is(self, *, taken: bool) -> None:
        """Note whether Slack took the footer with the answer's last words. If not, it goes below them."""
        if taken:
            self._blocks = None
        self._apart = not taken

    async def _show_rest(self) -> None:
        """Show one more message of the text that is not shown yet, without streaming."""
        part = self.answer.rest()
        self.answer.sent_to = part.to
        if part.text and not await self._show(part.text, self._blocks if part.is_last else None):
            return
        self.answer.shown_to, self.answer.prefix = part.to, part.opening

    async def _show(self, text: str, blocks: Sequence[Block] | None) -> bool:
        """Show a message. False if an existing message already holds the beginning of the text and can't be changed."""
        while True:
            while self._inherited and not self._keep_inherited:
                ts = self._inherited[0]
                try:
                    taken = await self._place.update(ts, text, blocks)
                except SlackRefused:
                    if ts == self._draft and self._drafted is not None:
                        self._leave_draft(ts, *self._drafted)
                        return False
                    await self._discard(ts)
                    del self._inherited[0]
                except SlackUnanswered as failure:
                    self._drafted = None if failure.sent else self._drafted
                    raise
                else:
                    self.ts.append(self._inherited.pop(0))
                    if blocks is not None:
                        self._footer_is(taken=taken)
                    return True
            posted = self._said_before(text) or await self._posted(text, blocks)
            if posted is not None:
                self.ts.append(posted)
                return True

    def _said_before(self, text: str) -> str | None:
        """The ts of the message that an earlier attempt ended with this text, among those that are kept."""
        said = to_mrkdwn(text).strip()
        kept = self._inherited if self._keep_inherited else []
        return next((ts for ts in reversed(kept) if self._found_there.get(ts, "").strip().endswith(said)), None)

    async def _posted(self, text: str, blocks: Sequence[Block] | None) -> str | None:
        """Post, unless an unanswered post has arrived. None if that one holds other words and must be changed.

        It is then the first of `_inherited`.
        """
        number, held = len(self.ts), self._lost_post
        if held is not None and (ts := await self._found(number)) is not None:
            self._lost_post = None
            if self._on_open is not None:
                await self._on_open(ts)
            if held == (text, blocks):
                if blocks is not None:
                    self._footer_is(taken=True)
                return ts
            self._inherited.insert(0, ts)
            self._keep_inherited = False
            return None
        try:
            ts, taken = await self._place.post(text, blocks, number=number)
        except SlackUnanswered as failure:
            self._lost_post = (text, blocks) if failure.sent else None
            raise
        self._lost_post = None
        if blocks is not None:
            self._footer_is(taken=taken)
        try:
            if self._on_open is not None:
                await self._on_open(ts)
        except Superseded:
            await self._take_back(ts)
            raise
        return ts

    async def _found(self, number: int) -> str | None:
        for message in await self._place.own_messages(since=self._began - LOOK_BACK_SECONDS):
            if self._place.number_of(message) == number and message["ts"] not in self._inherited:
                return str(message["ts"])
        return None

    async def _add_footer(self, blocks: Sequence[Block]) -> None:
        """Put the footer under the last message. If Slack refuses it there, it becomes a reply of its own."""
        try:
            if not await self._put_under(blocks):
                await self._show("", blocks)
        except SlackRefused as refusal:
            logger.warning("no footer", extra={"channel": self._place.channel, "slack": refusal.error})
        self._blocks = None

    async def _put_under(self, blocks: Sequence[Block]) -> bool:
        """Whether the footer is under the last message now. Raises SlackRefused if that message is gone, as it needs
        none.
        """
        last = self._last
        if self._apart or last is None or last.ts != self.ts[-1] or not last.shown.strip():
            return False
        try:
            await self._place.put_under(last.ts, last.shown, blocks)
        except SlackRefused as refusal:
            if refusal.error == "message_not_found":
                raise
            self._apart = True
            return False
        return True

    async def _discard(self, ts: str) -> None:
        try:
            await self._place.delete(ts)
        except SlackRefused as refusal:
            logger.warning("a left-over stays", extra={"channel": self._place.channel, "slack": refusal.error})


_CARDS = "progress cards"


def _streaming(channel: str) -> str:
    """The feature's name. Slack can support streaming in one kind of conversation and not in another."""
    return f"streaming in {channel[:1]}"
