"""Where an answer goes: the calls that put a message into one thread, in every form that Slack might take.

If Slack refuses a message with blocks, plainer blocks are tried, and at last the text alone. The calls return whether
the blocks under the text were taken. Otherwise they raise the client's `SlackRefused` and `SlackUnanswered`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bot.errors import Unreachable
from bot.slack.api.chat import EVENT_TYPE
from bot.slack.api.errors import GONE, GONE_FOR_POSTS, SlackRefused, SlackUnanswered
from bot.slack.api.transport import Block, Chunk, Ready
from bot.slack.blocks import labels_in, mrkdwn_in, plainer
from bot.slack.mrkdwn import best_cut, escape, to_mrkdwn

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

TOO_LONG = frozenset({"msg_too_long", "msg_blocks_too_long"})
"""Refusals of a text that needs two messages."""
BAD_BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format", "invalid_arguments", *TOO_LONG})
"""Refusals of a message with blocks after which plainer blocks may be accepted."""
MISMATCH = "block_mismatch"
"""Slack refuses to replace rich text by blocks without any rich text, such as only a table. They can be posted anew."""
TEXT_LIMIT = 3_000
"""The bytes of the text beside blocks. chat.update takes 4,000 characters."""
_WORDS = frozenset({"rich_text", "markdown", "header", "table", "divider"})
"""The blocks of an answer that hold its words. Slack makes several of one Markdown block."""
LOOK_BACK_SECONDS = 600.0
"""How far Slack's clock may differ from ours when a message is looked for."""
TAKE_BACK_SECONDS = 10.0
"""The timeout for deleting a message that should not be there."""


class StreamCalls(Protocol):
    """What the writer needs to stream. `bot.slack.api.streams.Streams` implements it."""

    @property
    def unsupported(self) -> "Features": ...

    async def start(
        self,
        channel: str,
        thread_ts: str,
        *,
        user: str,
        team: str,
        chunks: Sequence[Chunk] = (),
        ready: Ready | None = None,
    ) -> str: ...

    async def append(self, channel: str, ts: str, chunks: Sequence[Chunk], *, ready: Ready | None = None) -> None: ...

    def append_interval(self) -> float: ...

    async def stop(
        self,
        channel: str,
        ts: str,
        *,
        chunks: Sequence[Chunk] = (),
        blocks: Sequence[Block] | None = None,
        metadata: Mapping[str, Any] | None = None,
        ready: Ready | None = None,
    ) -> None: ...


class ChatCalls(Protocol):
    """What the writer needs from the other calls on messages. `bot.slack.api.chat.Chat` implements it."""

    async def post(
        self,
        channel: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        thread_ts: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        ready: Ready | None = None,
    ) -> str: ...

    async def update(
        self,
        channel: str,
        ts: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        at_once: bool = False,
        ready: Ready | None = None,
    ) -> None: ...

    async def delete(self, channel: str, ts: str) -> None: ...

    async def own_replies(
        self, channel: str, thread_ts: str, *, oldest: float | None = None
    ) -> list[dict[str, Any]]: ...


class Features(Protocol):
    """Names of the features that Slack refused as unsupported."""

    def add(self, feature: str) -> None: ...

    def __contains__(self, feature: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where the answer goes, and the calls that are the same for all its messages."""

    streams: StreamCalls
    chat: ChatCalls
    channel: str
    thread_ts: str
    user: str
    team: str
    key: str
    """The key of the answer. Its messages have it, so that a later attempt recognises them."""
    after: str = ""
    """The ts of the question. Messages above it belong to other answers."""
    fence: Callable[[], Awaitable[None]] | None = None
    """Awaited before a message is made, changed or deleted. Raises if another attempt has taken over the answer.
    Appends don't need it: a stream that was taken over is stopped, so Slack itself refuses to add to it."""
    may_speak: Ready | None = None
    """Awaited when it is the turn of a call that shows words. Raises if no one may read them any more."""

    async def start(self, chunks: Sequence[Chunk]) -> str:
        await self._check()
        with _reaching(GONE):
            return await self.streams.start(
                self.channel, self.thread_ts, user=self.user, team=self.team, chunks=chunks, ready=self.may_speak
            )

    async def append(self, ts: str, chunks: Sequence[Chunk]) -> None:
        with _reaching(GONE):
            await self.streams.append(self.channel, ts, chunks, ready=self.may_speak)

    async def stop(self, ts: str, chunks: Sequence[Chunk], blocks: Sequence[Block] | None) -> bool:
        """Complete a stream. Returns whether the blocks are under it."""
        metadata = self._mark("stream")
        ready = self.may_speak if chunks or blocks else None

        async def stop(form: _Form) -> None:
            with _reaching(GONE):
                await self.streams.stop(
                    self.channel, ts, chunks=chunks, blocks=form.blocks, metadata=metadata, ready=ready
                )

        forms = [_Form("", footer) for footer in _footers(blocks)]
        taken, _ = await _in_some_form([*forms, _Form("", None, is_whole=not blocks)], stop)
        return taken.is_whole

    async def end(self, ts: str) -> None:
        """Stop a stream, whatever state it is in."""
        try:
            await self.stop(ts, (), None)
        except (SlackRefused, Unreachable) as refusal:
            logger.debug("nothing to stop", extra={"ts": ts, "slack": refusal.error})

    async def post(self, text: str, blocks: Sequence[Block] | None, *, number: int) -> tuple[str, bool]:
        """Post the text with the blocks under it, or only the blocks if the text is empty.

        Returns the ts, and whether the blocks are there. `number` counts the posts among the answer's messages.
        """
        metadata = self._mark(str(number))
        await self._check()

        async def post(form: _Form) -> str:
            with _reaching(GONE_FOR_POSTS):
                return await self.chat.post(
                    self.channel,
                    text=form.text,
                    blocks=form.blocks,
                    thread_ts=self.thread_ts,
                    metadata=metadata,
                    ready=self.may_speak,
                )

        taken, ts = await _in_some_form(_forms(text, blocks), post)
        return ts, taken.is_whole

    async def update(self, ts: str, text: str, blocks: Sequence[Block] | None, *, at_once: bool = False) -> bool:
        """Replace a message by the text with the blocks under it. Returns whether the blocks are there."""
        taken = await self._replace(ts, _forms(text, blocks), at_once=at_once)
        return taken.is_whole

    async def put_under(self, ts: str, text: str, blocks: Sequence[Block]) -> None:
        """Put blocks under a completed message that shows the text. Raises SlackRefused instead of leaving them out."""
        await self._replace(ts, [form for form in _forms(text, blocks) if form.is_whole])

    async def _replace(self, ts: str, forms: "Sequence[_Form]", *, at_once: bool = False) -> "_Form":
        await self._check()

        async def update(form: _Form) -> None:
            with _reaching(GONE):
                await self.chat.update(
                    self.channel, ts, text=form.text, blocks=form.blocks, at_once=at_once, ready=self.may_speak
                )

        try:
            taken, _ = await _in_some_form(forms, update)
        except SlackRefused as refusal:
            if refusal.error != "streaming_state_conflict":
                raise
            await self.end(ts)
            raise SlackUnanswered(refusal.method, refusal.error, sent=False) from None
        return taken

    async def end_with(self, message: Mapping[str, Any], sentence: str) -> None:
        """Put a sentence under a completed message, which is given as Slack returned it. A repeated call adds
        nothing.

        Slack has made its own blocks of what was streamed, and accepts them back.
        """
        line, shown = escape(sentence), str(message["text"])
        if shown.endswith(line):
            return
        under: Block = {"type": "section", "text": {"type": "mrkdwn", "text": line}}
        text = f"{shown[: best_cut(shown, limit=TEXT_LIMIT)]}\n\n{line}"
        blocks = [block for block in message.get("blocks") or () if block["type"] in _WORDS]
        await self._check()

        async def update(form: _Form) -> None:
            await self.chat.update(self.channel, message["ts"], text=form.text, blocks=form.blocks)

        forms = [_Form(text, [*blocks, under]), _Form(text, None)] if blocks else [_Form(text, None)]
        await _in_some_form(forms, update)

    async def delete(self, ts: str) -> None:
        await self._check()
        await self.chat.delete(self.channel, ts)

    async def take_back(self, ts: str) -> None:
        """Delete a message that should not have been made, if that can be done soon. It may be streaming."""
        try:
            async with asyncio.timeout(TAKE_BACK_SECONDS):
                await self.end(ts)
                await self.chat.delete(self.channel, ts)
        except (SlackRefused, SlackUnanswered, TimeoutError) as error:
            logger.warning("a left-over stays", extra={"channel": self.channel, "reason": str(error) or "timeout"})

    async def own_messages(self, *, since: float | None) -> list[dict[str, Any]]:
        """The app's messages in the thread. Empty if the app can't read it. The answer is then written anew."""
        try:
            return await self.chat.own_replies(self.channel, self.thread_ts, oldest=since)
        except SlackRefused as refusal:
            logger.warning("the thread cannot be read", extra={"channel": self.channel, "slack": refusal.error})
            return []

    def number_of(self, message: Mapping[str, Any]) -> int | None:
        """The number of a message among this answer's posts, from its metadata. None if it is not one of them."""
        key, _, number = _marked(message).rpartition("/")
        return int(number) if key == self.key and number.isdigit() else None

    def is_ours(self, message: Mapping[str, Any], others: Collection[str] = ()) -> bool:
        """Whether a message of the app belongs to this answer.

        It does if it streams or has the answer's mark. A stream that Slack or the customer ended has no mark: it
        belongs to this answer if it is below the question and not among the `others`, the thread's known messages of
        other answers.
        """
        if is_streaming(message) or (self.key and _marked(message).startswith(f"{self.key}/")):
            return True
        is_below = self.after != "" and message["ts"] > self.after and message["ts"] not in others
        return is_below and "streaming_state" in message and not message.get("metadata")

    async def _check(self) -> None:
        if self.fence is not None:
            await self.fence()

    def _mark(self, name: str) -> dict[str, Any]:
        return {"event_type": EVENT_TYPE, "event_payload": {"s": f"{self.key}/{name}"}}


def without_end(message: Mapping[str, Any], sentence: str) -> str:
    """What a message shows above the sentence that `Place.end_with` put under it."""
    return str(message["text"]).removesuffix(escape(sentence)).rstrip()


def is_streaming(message: Mapping[str, Any]) -> bool:
    return message.get("streaming_state") == "in_progress"


def _marked(message: Mapping[str, Any]) -> str:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return str(payload.get("s", ""))


@dataclass(frozen=True, slots=True)
class _Form:
    """One form of a message that Slack might take."""

    text: str
    """The mrkdwn for notifications, for screen readers and for places without blocks."""
    blocks: Sequence[Block] | None
    is_whole: bool = True
    """Whether it has the blocks that belong under the text."""


async def _in_some_form(forms: Sequence[_Form], call: Callable[[_Form], Awaitable[Answer]]) -> tuple[_Form, Answer]:
    """Make the call in the first form that Slack takes. Returns that form and the answer.

    Raises SlackRefused if Slack takes none, or refuses something other than the blocks.
    """
    *better, last = forms
    for form in better:
        try:
            return form, await call(form)
        except SlackRefused as refusal:
            if refusal.error not in BAD_BLOCKS:
                raise
    return last, await call(last)


def _forms(text: str, blocks: Sequence[Block] | None) -> list[_Form]:
    """A message as text and blocks, in the forms to try one after the other."""
    if blocks and not text.strip():
        return _footer_alone(blocks)
    beside = to_mrkdwn(text[: best_cut(text, limit=TEXT_LIMIT)])
    whole: Block = {"type": "markdown", "text": text}
    forms = [_Form(beside, [whole, *footer]) for footer in _footers(blocks)]
    plain = not blocks
    return [*forms, _Form(beside, [whole], is_whole=plain), _Form(to_mrkdwn(text), None, is_whole=plain)]


def _footer_alone(blocks: Sequence[Block]) -> list[_Form]:
    """The footer as a message of its own: as it is, or at least its text, which names the sources."""
    says = "\n".join(mrkdwn_in(blocks))
    forms = [_Form(says or " · ".join(labels_in(blocks)), footer) for footer in _footers(blocks)]
    return [*forms, _Form(says, None)] if says else forms


def _footers(blocks: Sequence[Block] | None) -> Iterator[Sequence[Block]]:
    """The blocks, and plainer ones if there are any."""
    if blocks:
        yield blocks
        simple = plainer(blocks)
        if simple != list(blocks):
            yield simple


@contextmanager
def _reaching(gone: Collection[str]) -> Iterator[None]:
    """Turn a refusal in `gone`, which says that the conversation is gone, into Unreachable, which ends the answer.

    Raises:
        Unreachable: no other call for the conversation will succeed.
    """
    try:
        yield
    except SlackRefused as refusal:
        if refusal.error in gone:
            raise Unreachable(refusal.error) from None
        raise
