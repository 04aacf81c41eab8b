"""A Slack thread as the writer sees it, which fails on demand and shows what a customer would read."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import Block, Chunk, Ready

Answer = TypeVar("Answer")

LOST_REQUEST = "lost request"
"""The call never arrives, and nobody says so."""
LOST_ANSWER = "lost answer"
"""The call is carried out, and nobody says so."""
LIMITED = "limited"
LIMITED_FOR_LONG = "limited for long"
UNREACHABLE = "unreachable"
DELETED = "deleted"
"""Somebody has deleted the message just before the call."""
EXPIRED = "expired"
"""The stream has ended by itself just before the call."""
STOPPED = "stopped"
"""The customer has pressed Stop just before the call."""
# Any other fault is the error that Slack refuses the call with.


@dataclass
class Shown:
    """One message."""

    text: str = ""
    streaming: bool = False
    stopped: bool = False
    streamed: bool = False
    cards: dict[str, dict[str, str]] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    metadata: Mapping[str, Any] | None = None
    notification: str = ""


class Features(set[str]):
    """Remembers for ever what is not supported."""


class Thread:
    """Carries out the writer's calls. `faults` says what goes wrong, by the number of the call, from 0."""

    def __init__(self, faults: Mapping[int, str] | None = None, *, always: Mapping[str, str] | None = None) -> None:
        self.messages: dict[str, Shown] = {}
        self.calls: list[str] = []
        self.unsupported = Features()
        self.faults = dict(faults or {})
        self.always = dict(always or {})
        """Faults of every call of a method."""
        self.stuck: set[str] = set()
        """Messages that Slack would not delete; nobody can help their standing there."""
        self.cap = 11_300
        self.gone = asyncio.Event()
        """Set when a dead process's call, by number in `dies_at`, has been reached; later calls never arrive."""
        self.dies_at: int | None = None

    @property
    def read(self) -> list[str]:
        """What stands in the thread, message by message."""
        return [self.messages[ts].text for ts in sorted(self.messages) if ts not in self.stuck]

    @property
    def open(self) -> list[str]:
        """Streams that are still running."""
        return [ts for ts, message in self.messages.items() if message.streaming and ts not in self.stuck]

    async def start(
        self,
        channel: str,
        thread_ts: str,
        *,
        user: str,
        team: str,
        chunks: Sequence[Chunk] = (),
        ready: Ready | None = None,
    ) -> str:
        def start() -> str:
            return self._add(self._grown(Shown(streaming=True, streamed=True), chunks))

        return await self._call("start", start, ready=ready)

    async def append(self, channel: str, ts: str, chunks: Sequence[Chunk], *, ready: Ready | None = None) -> None:
        def append() -> None:
            self._grown(self._running(ts), chunks)

        await self._call("append", append, ts, ready=ready)

    async def stop(
        self,
        channel: str,
        ts: str,
        *,
        chunks: Sequence[Chunk] = (),
        blocks: Sequence[Block] | None = None,
        metadata: Mapping[str, Any] | None = None,
        ready: Ready | None = None,
    ) -> None:
        def stop() -> None:
            message = self._grown(self._running(ts), chunks)
            message.blocks = list(blocks or ())
            message.streaming = False
            message.metadata = metadata

        await self._call("stop", stop, ts, ready=ready)

    async def post(
        self,
        channel: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        thread_ts: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        ready: Ready | None = None,
    ) -> str:
        def post() -> str:
            words, rest = _split(text, blocks)
            return self._add(Shown(words, blocks=rest, metadata=metadata, notification=text))

        return await self._call("post", post, ready=ready)

    def append_interval(self) -> float:
        return 0.0

    async def update(
        self,
        channel: str,
        ts: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        at_once: bool = False,
        ready: Ready | None = None,
    ) -> None:
        def update() -> None:
            message = self._found(ts)
            if message.streaming:
                raise SlackRefused("update", "streaming_state_conflict")
            message.text, message.blocks = _split(text, blocks)
            message.cards = {}
            message.notification = text
            self.stuck.discard(ts)

        await self._call("update", update, ts, ready=ready)

    async def delete(self, channel: str, ts: str) -> None:
        def delete() -> None:
            self.messages.pop(ts, None)

        await self._call("delete", delete, ts)

    async def own_replies(self, channel: str, thread_ts: str, *, oldest: float | None = None) -> list[dict[str, Any]]:
        def replies() -> list[dict[str, Any]]:
            return [self._as_slack(ts) for ts in sorted(self.messages)]

        return await self._call("replies", replies)

    def _as_slack(self, ts: str) -> dict[str, Any]:
        message = self.messages[ts]
        state = {"streaming_state": "in_progress" if message.streaming else "completed"} if message.streamed else {}
        return {"ts": ts, "text": "", "metadata": message.metadata, **state}

    async def _call(
        self, method: str, act: Callable[[], Answer], ts: str = "", *, ready: Ready | None = None
    ) -> Answer:
        if ready is not None:
            await ready()
        number = len(self.calls)
        self.calls.append(method)
        await asyncio.sleep(0)
        fault = self.faults.get(number) or self.always.get(method, "")
        if self.gone.is_set():
            raise SlackUnanswered(method, "connection_refused", sent=False)
        if number == self.dies_at:
            self.gone.set()
            if fault == LOST_ANSWER:
                with suppress(SlackRefused):
                    act()
            await asyncio.Event().wait()
        match fault:
            case "":
                return act()
            case "limited" | "limited for long":
                wait = 1.0 if fault == LIMITED else 1e9
                raise SlackUnanswered(method, "ratelimited", sent=False, retry_after=wait)
            case "unreachable":
                raise SlackUnanswered(method, "connection_refused", sent=False)
            case "lost request":
                raise SlackUnanswered(method, "timeout")
            case "lost answer":
                with suppress(SlackRefused):
                    act()
                raise SlackUnanswered(method, "timeout")
            case "deleted":
                self.messages.pop(ts, None)
                return act()
            case "expired" | "stopped":
                if ts in self.messages and self.messages[ts].streaming:
                    self.messages[ts].streaming = False
                    self.messages[ts].stopped = fault == STOPPED
                return act()
        if method == "delete":
            self.stuck.add(ts)
        if method == "replies":
            return act()  # what is refused to a message is not refused to reading
        raise SlackRefused(method, fault)

    def _found(self, ts: str) -> Shown:
        if ts not in self.messages:
            raise SlackRefused("chat", "message_not_found")
        return self.messages[ts]

    def _running(self, ts: str) -> Shown:
        message = self._found(ts)
        if not message.streaming:
            raise SlackRefused("chat", "stopped_by_user" if message.stopped else "message_not_in_streaming_state")
        return message

    def _grown(self, message: Shown, chunks: Sequence[Chunk]) -> Shown:
        words = "".join(chunk["text"] for chunk in chunks if chunk["type"] == "markdown_text")
        if len((message.text + words).encode()) > self.cap:
            raise SlackRefused("chat", "msg_too_long")
        message.text += words
        for chunk in chunks:
            if chunk["type"] == "task_update":
                card = message.cards.setdefault(chunk["id"], {"details": ""})
                card.update(title=chunk["title"], status=chunk["status"])
                card["details"] += chunk.get("details", "")
        return message

    def _add(self, message: Shown) -> str:
        ts = f"1795000001.{len(self.calls):06d}"
        self.messages[ts] = message
        return ts


def _split(text: str, blocks: Sequence[Block] | None) -> tuple[str, list[Block]]:
    """What is read of a message with these blocks, which stand instead of the text, and the blocks below it."""
    if not blocks:
        return text, []
    words = blocks[0]["text"] if blocks[0]["type"] == "markdown" else ""
    return words, list(blocks[1:] if words else blocks)
