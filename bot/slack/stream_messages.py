"""The words of an answer in streamed messages: one, or several if the answer grows long.

start       open a message
find_start  look for a message whose start was not answered
go_on       add to the message, or complete it if it is long or old
mend        leave a message behind that Slack ended, or whose content is unknown
finish      complete the last message with the rest of the text and the footer
put_under   put the footer under the message that was completed last
unknown     streams of this answer that were never reported
"""

import asyncio
from collections.abc import Awaitable, Sequence

from bot.errors import Superseded
from bot.failpoints import failpoint
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import Block, Chunk
from bot.slack.place import TOO_LONG, is_streaming
from bot.slack.stream_pace import StreamPace
from bot.slack.stream_record import StreamRecord, streaming_in
from bot.slack.stream_text import ProgressCard, StreamMessage

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
CARDS = "progress cards"
"""The feature's name."""


class StreamedMessages:
    """Shows words by streaming. What Slack accepted, refused or left unanswered decides what comes next."""

    def __init__(self, record: StreamRecord, pace: StreamPace) -> None:
        self.message: StreamMessage | None = None
        """The message that gets the next words."""
        self.last: StreamMessage | None = None
        """The message that was completed last."""
        self.lost_start: tuple[int, list[ProgressCard]] | None = None
        """The position and the cards of a start that was not answered."""
        self._record = record
        self._place = record.place
        self._answer = record.answer
        self._pace = pace

    async def start(self) -> bool:
        """Open a message with what is there. False if there is nothing to show."""
        answer = self._answer
        to, _ = self._reach(answer.next_message("", self._pace.now()))
        chunks, cards = answer.chunks(to, answer.prefix)
        if not cards and not answer.text[answer.shown_to : to].strip():
            return False
        self._answer.sent_to = to
        try:
            ts = await self._place.start(chunks)
        except SlackRefused as refusal:
            if cards and refusal.error not in CANNOT_STREAM:
                self._refuse_cards(refusal)
                return True
            if refusal.error in CANNOT_STREAM:
                self._place.streams.unsupported.add(streaming_in(self._place.channel))
                self._record.mode = "edit"
            else:
                self._record.mode = "at_end"
            return True
        except asyncio.CancelledError:
            self.lost_start = (to, cards)
            raise
        except SlackUnanswered as failure:
            if failure.sent:
                self.lost_start = (to, cards)
            elif failure.reason == "ratelimited":
                self._record.mode = "at_end"
                return True
            raise
        try:
            await self._opened(ts, to, cards)
        except Superseded:
            self.message = None
            await self._record.take_back(ts)
            raise
        return True

    async def find_start(self) -> None:
        """Continue with a message whose start was not answered, if it exists."""
        to, cards = self.lost_start or (self._answer.shown_to, [])
        found = await self.unknown()
        self.lost_start = None
        for ts, is_open in found[:1]:
            await self._opened(ts, to, cards, is_open=is_open)

    async def unknown(self) -> list[tuple[str, bool]]:
        """Streams of this answer that were never reported, and whether they are still open."""
        messages = await self._record.recent()
        others = {*self._record.ts, *self._record.inherited, *await self._record.others()}
        return [
            (message["ts"], is_streaming(message))
            for message in messages
            if message["ts"] not in others
            and self._place.number_of(message) is None
            and self._place.is_ours(message, others)
        ]

    async def go_on(self, message: StreamMessage) -> bool:
        """Add to the message, or complete it if it is long or old. False if there is nothing to do now."""
        to, cut = self._reach(message)
        if cut or message.full:
            return await self._complete(message, self._answer.shown_to if message.full else to)
        chunks, cards = self._answer.chunks(to)
        if self._answer.is_closed or not chunks:
            return False
        self._answer.sent_to = to
        try:
            if await self._said(message, cards, self._place.append(message.ts, chunks)):
                self._answer.accept(message, to, cards)
                failpoint("stream_grown")
        except SlackUnanswered as failure:
            if failure.reason != "ratelimited":
                raise
            self._pace.hold_back(failure)
            return False
        return True

    async def mend(self, message: StreamMessage) -> None:
        """Leave a message behind that Slack ended, or whose content is unknown.

        Unless it is known to end well, it is replaced whole, up to a place where it can end.
        """
        if self._answer.ends_well(message):
            self._leave_behind(message, "", "")
            return
        if message.open:
            await self._place.end(message.ts)
            message.open = False
        part = self._answer.replacement(message)
        self._record.note_sent(part.to)
        try:
            if part.text:
                await self._place.update(message.ts, part.text, None)
        except SlackRefused:
            if message.sure:
                _, opening = self._answer.seam_at(message, self._answer.shown_to)
                self._leave_behind(message, "", opening)
                return
            await self._place.delete(message.ts)
            self._forget(message)
            return
        self._answer.shown_to = part.to
        self._leave_behind(message, part.closing, part.opening)

    async def finish(self, message: StreamMessage) -> None:
        """Complete the message with the rest of the text, as far as it can take it, and then with the footer."""
        to, cut = self._reach(message)
        if cut or message.full:
            await self._complete(message, self._answer.shown_to if message.full else to)
            return
        chunks, cards = self._answer.chunks(to)
        self._answer.sent_to = to
        failpoint("stream_ending")
        if await self._said(message, cards, self._stop(message, chunks)):
            self._answer.accept(message, to, cards)
            self._leave_behind(message, "", "")
            failpoint("stream_ended")

    async def put_under(self, blocks: Sequence[Block]) -> bool:
        """Whether the footer is under the last message now. Raises SlackRefused if that message is gone, as it needs
        none.
        """
        last = self.last
        if self._record.is_footer_apart or last is None or last.ts != self._record.ts[-1] or not last.shown.strip():
            return False
        try:
            await self._place.put_under(last.ts, last.shown, blocks)
        except SlackRefused as refusal:
            if refusal.error == "message_not_found":
                raise
            self._record.is_footer_apart = True
            return False
        return True

    async def _opened(self, ts: str, to: int, cards: list[ProgressCard], *, is_open: bool = True) -> None:
        self.message = self._answer.next_message(ts, self._pace.now(), is_open=is_open)
        self._answer.prefix = ""
        self._record.ts.append(ts)
        self._answer.accept(self.message, to, cards)
        failpoint("stream_opened")
        await self._record.report(ts)
        failpoint("stream_noted")

    async def _complete(self, message: StreamMessage, to: int) -> bool:
        """Stop the message after the text up to `to`. The next message begins there."""
        closing, opening = self._answer.seam_at(message, to)
        chunks, cards = self._answer.chunks(to, after=closing)
        self._record.note_sent(to)
        if await self._said(message, cards, self._place.stop(message.ts, chunks, None)):
            self._answer.accept(message, to, cards)
            self._leave_behind(message, closing, opening)
        return True

    async def _stop(self, message: StreamMessage, chunks: list[Chunk]) -> None:
        """Complete the message with the footer under it."""
        self._record.note_footer(taken=await self._place.stop(message.ts, chunks, self._record.footer))

    async def _said(self, message: StreamMessage, cards: list[ProgressCard], call: Awaitable[object]) -> bool:
        """Whether a call on the message was accepted. If not, the message's state says what to do."""
        try:
            await call
        except SlackRefused as refusal:
            if refusal.error == "stopped_by_user":
                self._record.stopped = True
            elif refusal.error == "message_not_in_streaming_state":
                message.open = False
            elif refusal.error == "message_not_found":
                self._forget(message)
            elif refusal.error in TOO_LONG and not message.full and self._answer.shown_to > message.start:
                message.full = True
            elif cards:
                self._refuse_cards(refusal)
            else:
                message.sure = False
                self._record.mode = "at_end"
            return False
        except SlackUnanswered as failure:
            message.sure = message.sure and not failure.sent
            raise
        return True

    def _reach(self, message: StreamMessage) -> tuple[int, bool]:
        """How far the message can take the text now, and whether it must end there."""
        return self._answer.reach(message, age=self._pace.now() - message.opened)

    def _refuse_cards(self, refusal: SlackRefused) -> None:
        self._answer.refuse_cards()
        if refusal.error.startswith("invalid_"):
            self._place.streams.unsupported.add(CARDS)

    def _leave_behind(self, message: StreamMessage, closing: str, opening: str) -> None:
        self._answer.complete(message, closing, opening)
        self.message, self.last = None, message

    def _forget(self, message: StreamMessage) -> None:
        """The message is gone. Its text must be shown again."""
        self._record.ts.remove(message.ts)
        self._answer.forget(message)
        self.message = None
