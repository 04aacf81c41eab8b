"""A streamed Chat Completions reply put together, whatever dialect the server speaks.

`ReplyReader` takes the bytes of a response and gives the loop's events. Servers are known to differ in this: an
index that is always 0 or missing; ids that are missing, empty or repeated; a name in pieces or on every
fragment; whole arguments in one delta; two calls in one delta; text as a list of parts; usage at any place, or
null after it was there; comments as data; "stop" as the finish of a reply with calls; one JSON object instead of
a stream.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from bot.agent.events import TextDelta
from bot.agent.failures import provider_failure
from bot.agent.messages import ToolCall
from bot.agent.model import FailureKind, Finished, FinishReason, ModelEvent, ModelFailure, Thinking, Usage
from bot.agent.sse import SseReader

_FINISH: Mapping[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "tool_calls": "calls",
    "function_call": "calls",
}
"""What finish reasons mean. Any other word says that the reply is complete."""
_REASONING = ("reasoning_content", "reasoning", "thinking")
"""Where servers put what the model thinks before it speaks; never shown."""


class ReplyReader:
    """The state of one reply. Every method that reads raises ModelFailure for what is no reply."""

    def __init__(self, *, characters: int) -> None:
        self.done = False
        """True: nothing that matters can follow."""
        self._sse = SseReader()
        self._room = characters
        self._text: list[str] = []
        self._calls = _Calls()
        self._begun = False
        self._alive = False
        self._refused = False
        self._usage: Usage | None = None
        self._finish: FinishReason | None = None

    def feed(self, block: bytes) -> list[ModelEvent]:
        """What these bytes brought: text in one piece, or a sign of life, or nothing."""
        try:
            payloads = self._sse.feed(block)
        except ValueError as error:
            raise ModelFailure("malformed", str(error), retryable=True) from None
        for payload in payloads:
            self._read(payload)
        return self._news()

    def feed_whole(self, body: bytes) -> list[ModelEvent]:
        """The same for a reply that came as one JSON object, or a stream that calls itself one."""
        if not body.lstrip().startswith(b"{"):
            return self.feed(body)
        self._read(body)
        return self._news()

    def close(self) -> Iterator[ModelEvent]:
        """The rest, once the bytes are at their end: calls, usage, Finished."""
        for payload in self._sse.close():
            self._read(payload)
        yield from self._news()
        if self._finish is None:
            kind: FailureKind = "cut" if self._begun else "malformed"
            raise ModelFailure(kind, "the stream ended without a finish", retryable=True)
        calls = self._calls.whole()
        yield from calls
        if self._usage:
            yield self._usage
        if self._finish in ("stop", "calls"):
            self._finish = "calls" if calls else "refused" if self._refused else "stop"
        yield Finished(self._finish)

    def _news(self) -> list[ModelEvent]:
        alive, self._alive = self._alive, False
        if self._text:
            text = "".join(self._text)
            self._text.clear()
            return [TextDelta(text)]
        return [Thinking()] if alive else []

    def _read(self, payload: bytes) -> None:
        self._begun = True
        if payload == b"[DONE]":
            self.done = True
            self._finish = self._finish or "stop"
            return
        try:
            chunk = orjson.loads(payload)
        except orjson.JSONDecodeError:
            self._read_unusual(payload)
            return
        if not isinstance(chunk, dict):
            return
        if error := chunk.get("error"):
            raise provider_failure(error)
        try:
            if usage := chunk.get("usage"):
                self._usage = _usage(usage)
            if choices := chunk.get("choices"):
                self._read_choice(choices[0])
        except (AttributeError, TypeError, LookupError) as error:
            raise ModelFailure("malformed", f"a chunk of another shape: {error}", retryable=True) from None

    def _read_unusual(self, payload: bytes) -> None:
        """Data that is no JSON: a comment, or chunks without the blank line between them."""
        lines = [line for line in payload.split(b"\n") if line.strip() and not line.startswith(b":")]
        if lines == [payload]:
            raise ModelFailure("malformed", "a chunk is not JSON", retryable=True)
        for line in lines:
            self._read(line.strip())

    def _read_choice(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message") or {}
        if content := delta.get("content"):
            text = content if isinstance(content, str) else _text_of(content)
            self._text.append(text)
            self._spend(len(text))
        for fragment in delta.get("tool_calls") or ():
            self._spend(self._calls.add(fragment))
        for name in _REASONING:
            if delta.get(name):
                self._spend(len(str(delta[name])))
        if delta.get("refusal"):
            self._refused = True
            self._spend(len(delta["refusal"]))
        if reason := choice.get("finish_reason"):
            if reason == "error":
                raise ModelFailure("model_unreachable", "finish_reason error", retryable=True)
            self._finish = _FINISH.get(reason, "stop")

    def _spend(self, characters: int) -> None:
        self._alive = True
        self._room -= characters
        if self._room < 0:
            self.done = True
            self._finish = "length"


class _Calls:
    """Tool calls from their fragments."""

    def __init__(self) -> None:
        self._all: list[_Call] = []

    def add(self, fragment: Mapping[str, Any]) -> int:
        """Take one fragment; says how many characters of arguments it had."""
        function = fragment.get("function") or {}
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = orjson.dumps(arguments).decode()
        piece = _Call(fragment.get("index"), fragment.get("id") or "", function.get("name") or "", arguments)
        piece.extra.update((key, value) for key, value in fragment.items() if key not in _OWN_FIELDS)
        call = self._continued_by(piece)
        if call is None:
            self._all.append(piece)
        else:
            call.extend(piece)
        return len(arguments)

    def whole(self) -> list[ToolCall]:
        """The calls in the order they began; a missing id stays empty."""
        return [ToolCall(call.id, _tidy_name(call.name), call.arguments, call.extra) for call in self._all]

    def _continued_by(self, piece: "_Call") -> "_Call | None":
        """The call that this piece goes on with; None if it begins one."""
        same_index = (call for call in reversed(self._all) if piece.index is None or call.index == piece.index)
        call = next(same_index, None)
        if call is None or (piece.id and call.id and piece.id != call.id):
            return None
        begins_again = piece.name and (piece.name != call.name or (piece.arguments and call.is_whole()))
        return None if call.arguments and begins_again else call


_OWN_FIELDS = frozenset({"index", "id", "type", "function"})


@dataclass(slots=True)
class _Call:
    index: object
    id: str
    name: str
    arguments: str
    extra: dict[str, Any] = field(default_factory=dict)

    def extend(self, piece: "_Call") -> None:
        self.id = self.id or piece.id
        if piece.name != self.name:
            self.name = piece.name if piece.name.startswith(self.name) else self.name + piece.name
        self.arguments += piece.arguments
        self.extra |= piece.extra

    def is_whole(self) -> bool:
        try:
            return isinstance(orjson.loads(self.arguments), dict)
        except orjson.JSONDecodeError:
            return False


def _tidy_name(name: str) -> str:
    """A name that providers accept when it is sent back to them."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name.removeprefix("functions."))[:64] or "unnamed"


def _text_of(parts: object) -> str:
    if not isinstance(parts, list):
        return ""
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("prompt_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or 0,
        cached_tokens=details.get("cached_tokens") or 0,
    )
