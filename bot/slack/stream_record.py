"""What one answer has shown so far, shared by everything that writes it."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Literal

from bot.clock import Clock
from bot.errors import Superseded
from bot.slack.api.transport import Block
from bot.slack.place import LOOK_BACK_SECONDS, Place
from bot.slack.stream_text import StreamText

Mode = Literal["stream", "edit", "at_end"]
"""How words are shown while they come: streamed, in a post that is replaced, or only when the text is complete."""


class StreamRecord:
    """The answer's text, its messages and its footer."""

    def __init__(
        self,
        place: Place,
        answer: StreamText,
        clock: Clock,
        *,
        on_open: Callable[[str], Awaitable[None]] | None,
        known: Callable[[], Awaitable[Collection[str]]] | None,
    ) -> None:
        self.place = place
        self.answer = answer
        self.mode: Mode = "edit" if streaming_in(place.channel) in place.streams.unsupported else "stream"
        self.stopped = False
        """Whether the customer pressed Stop."""
        self.ts: list[str] = []
        """The answer's messages, in order."""
        self.inherited: list[str] = []
        """A dead process's messages, and the post that is replaced. They are filled with the text."""
        self.unwanted: str | None = None
        """A message that must be deleted in any case."""
        self.footer: Sequence[Block] | None = None
        """The blocks under the last message, until they are shown."""
        self.is_footer_apart = False
        """Whether Slack refused the footer under the last words. Then it goes into a reply of its own."""
        self._on_open = on_open
        self._known = known
        self._began = clock.now()

    def note_sent(self, to: int) -> None:
        """The text up to `to` was in some call."""
        self.answer.sent_to = max(self.answer.sent_to, to)

    def note_footer(self, *, taken: bool) -> None:
        """Note whether Slack took the footer with the answer's last words. If not, it goes below them."""
        if taken:
            self.footer = None
        self.is_footer_apart = not taken

    async def report(self, ts: str) -> None:
        """Report a message that exists, to journal it. Raises Superseded if the answer has been taken over."""
        if self._on_open is not None:
            await self._on_open(ts)

    async def report_new(self, ts: str) -> None:
        """Report a message that was just made. It is deleted if the answer has been taken over.

        Raises:
            Superseded: another attempt writes the answer.
        """
        try:
            await self.report(ts)
        except Superseded:
            await self.take_back(ts)
            raise

    async def take_back(self, ts: str) -> None:
        """Delete a message that is not part of the answer."""
        self.unwanted = ts
        await self.place.take_back(ts)
        self.unwanted = None

    async def others(self) -> Collection[str]:
        """Messages of the thread that belong to other answers."""
        return () if self._known is None else await self._known()

    async def recent(self) -> list[dict[str, Any]]:
        """The app's messages in the thread since this writer began."""
        return await self.place.own_messages(since=self._began - LOOK_BACK_SECONDS)


def streaming_in(channel: str) -> str:
    """The feature's name. Slack can support streaming in one kind of conversation and not in another."""
    return f"streaming in {channel[:1]}"
