"""Joins a streamed reply of the Responses API, whatever dialect the server speaks.

`ResponseReader` takes the bytes of a response and returns the loop's events. Servers are known to differ in this:
text or arguments, or their ends, only in the closing events, or only in the response at the very end; items that are
never announced; ids that change from event to event, or none; every item at index 0; "[DONE]" after the end; one JSON
object instead of a stream.

What the model needs to get back comes as ReplyExtra: the reply's items in their order. Reasoning is kept as received.
Of messages and calls only the ids and the phase are kept, because the reply itself has the rest. responses.py sends
them back.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from bot.agent.events import TextDelta
from bot.agent.messages import JsonObject, ToolCall
from bot.agent.model import FailureKind, Finished, FinishReason, ModelEvent, ModelFailure, ReplyExtra, Thinking, Usage
from bot.agent.surrogates import Joiner, sound, sound_value
from bot.agent.tools import Tool
from bot.agent.wording import RESPONSES_ITEMS
from bot.models.call_fragments import repaired_name
from bot.models.compat.markup import Markup
from bot.models.failures import provider_failure
from bot.models.sse import SseReader, is_ping

_LIFECYCLE = frozenset({"response.created", "response.queued", "response.in_progress"})
"""Events that are sent before the model has done anything, so they are no sign of life."""
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_TEXTS = ("output_text", "text")
"""The types of a message's parts that are shown."""


class ResponseReader:
    """The state of one reply. Implements http_stream.Reader."""

    def __init__(self, *, characters: int, tools: Sequence[Tool] = ()) -> None:
        self.done = False
        self._sse = SseReader()
        self._offered = [tool.name for tool in tools]
        self._markup = Markup(tools)
        self._room = characters
        self._items = _Items()
        self._text: list[str] = []
        self._joiner = Joiner()
        self._spoken: _Item | None = None
        """The message whose text came last."""
        self._told: list[ToolCall] = []
        """The calls that were already returned."""
        self._begun = False
        self._alive = False
        self._refused = False
        self._completed = False
        self._usage: Usage | None = None
        self._finish: FinishReason | None = None

    @property
    def finished(self) -> bool:
        """Implements Reader.finished: nothing follows the end of a response."""
        return self.done

    def feed(self, block: bytes) -> list[ModelEvent]:
        """The events of these bytes: text in one piece, whole calls, a sign of life, or nothing."""
        try:
            payloads = self._sse.feed(block)
        except ValueError as error:
            raise ModelFailure("malformed", str(error), retryable=True) from None
        for payload in payloads:
            self._read(payload)
        return self._news()

    def feed_whole(self, body: bytes) -> list[ModelEvent]:
        """Like `feed`, for a reply that is one JSON object, or a stream that is declared as JSON."""
        if not body.lstrip().startswith(b"{"):
            return self.feed(body)
        value = _object(body)
        kind = value.get("type") or f"response.{value.get('status') or 'completed'}"
        self._take({"response": value, **value, "type": kind})
        return self._news()

    def close(self) -> Iterator[ModelEvent]:
        """The rest after the last bytes: calls, the items to send back, usage, Finished."""
        for payload in self._sse.close():
            self._read(payload)
        yield from self._news()
        is_whole = self._finish == "stop"
        if text := self._markup.feed(self._joiner.close()) + self._markup.close(whole=is_whole):
            yield TextDelta(text)
        if self._finish is None:
            kind: FailureKind = "cut" if self._begun else "malformed"
            raise ModelFailure(kind, "the stream ended before the response did", retryable=True)
        yield from self._calls(also_unfinished=True)
        unread = self._markup.calls_beside(self._told)
        yield from unread
        if self._completed and (left := self._items.left_behind()):
            yield ReplyExtra({RESPONSES_ITEMS: left})
        if self._usage:
            yield self._usage
        yield Finished(self._meaning(self._finish, has_calls=bool(self._told or unread)))

    def _news(self) -> list[ModelEvent]:
        alive, self._alive = self._alive, False
        news: list[ModelEvent] = []
        if self._text:
            if shown := self._markup.feed(self._joiner.feed("".join(self._text))):
                news.append(TextDelta(shown))
            self._text.clear()
        news.extend(self._calls(also_unfinished=False))
        return news or ([Thinking()] if alive else [])

    def _calls(self, *, also_unfinished: bool) -> Iterator[ToolCall]:
        """The calls that were not returned yet, in the order in which they began, up to one that is not whole."""
        for item in self._items.of("function_call")[len(self._told) :]:
            if not (item.done or also_unfinished):
                return
            self._told.append(ToolCall(item.call_id, repaired_name(item.name, self._offered), sound(item.content)))
            yield self._told[-1]

    def _read(self, payload: bytes) -> None:
        if self.done or payload[:1] in (b"", b":") or is_ping(payload):
            return
        if payload == b"[DONE]":
            self.done = True
            return
        self._take(_object(payload))

    def _take(self, event: Mapping[str, Any]) -> None:
        kind = str(event.get("type"))
        if kind == "error" or event.get("error"):
            raise provider_failure(event.get("error") or event)
        if not kind.startswith("response."):
            return
        self._begun = True
        self._alive = self._alive or kind not in _LIFECYCLE
        try:
            if kind in _ENDS:
                self._end(event["response"], kind.removeprefix("response."))
            elif kind in ("response.output_item.added", "response.output_item.done"):
                self._take_item(event.get("item"), event.get("output_index"), whole=kind.endswith("done"))
            else:
                self._take_fragment(kind, event)
        except (AttributeError, TypeError, LookupError) as error:
            raise ModelFailure("malformed", f"an event of another shape: {error!r}", retryable=True) from None

    def _take_fragment(self, kind: str, event: Mapping[str, Any]) -> None:
        match kind:
            case "response.output_text.delta":
                message = self._items.open("message", event)
                message.enter(event.get("content_index"))
                self._say(message, event["delta"])
            case "response.output_text.done":
                message = self._items.open("message", event)
                message.enter(event.get("content_index"))
                self._say(message, _missing(message.content[message.part_start :], event["text"]))
            case "response.function_call_arguments.delta":
                self._items.open("function_call", event).content += event["delta"]
                self._spend(len(event["delta"]))
            case "response.function_call_arguments.done":
                self._take_arguments(self._items.open("function_call", event), event)
            case "response.refusal.delta" | "response.refusal.done":
                self._refused = True
                self._spend(len(event.get("delta") or ""))
            case _ if kind.endswith(".delta"):  # reasoning, under one of several names
                self._spend(len(event.get("delta") or ""))

    def _take_item(self, shape: Mapping[str, Any] | None, index: object, *, whole: bool) -> None:
        if shape is None:
            return
        item = self._items.of_shape(shape, index)
        item.describe(shape)
        if whole:
            self._complete(item, shape)

    def _complete(self, item: "_Item", shape: Mapping[str, Any]) -> None:
        """Add what no fragment brought."""
        item.done, item.shape = True, shape
        if item.type == "function_call":
            self._take_arguments(item, shape)
        if item.type != "message":
            return
        parts = shape.get("content") or ()
        self._refused = self._refused or any(part.get("type") == "refusal" for part in parts)
        text = "".join(part.get("text") or "" for part in parts if part.get("type", "text") in _TEXTS)
        self._say(item, _missing(item.content, text))

    def _take_arguments(self, call: "_Item", whole: Mapping[str, Any]) -> None:
        call.describe(whole)
        arguments = whole.get("arguments") or call.content
        text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
        self._spend(max(0, len(text) - len(call.content)))
        call.content = text

    def _say(self, message: "_Item", text: str) -> None:
        """Add text of a message. A second message of the reply begins a new paragraph."""
        if not text:
            return
        if self._spoken not in (None, message):
            self._text.append("\n\n")
        self._spoken = message
        self._text.append(text[: max(0, self._room)])
        message.content += text
        self._spend(len(text))

    def _end(self, response: Mapping[str, Any], kind: str) -> None:
        """Read the response as a whole: why it ended, its usage, and the items that no event brought."""
        ends = {kind, response.get("status")}
        if "failed" in ends or response.get("error"):
            raise provider_failure(response.get("error") or {})
        if "cancelled" in ends:
            raise ModelFailure("cut", "the response was cancelled", retryable=True)
        if usage := response.get("usage"):
            self._usage = _usage(usage)
        for shape, item in self._items.matched(response.get("output") or ()):
            item.describe(shape)
            self._complete(item, shape)
        if self.done:
            return
        self.done = True
        self._completed = "incomplete" not in ends
        reason = (response.get("incomplete_details") or {}).get("reason")
        cut_short: FinishReason = "filtered" if reason == "content_filter" else "length"
        self._finish = "stop" if self._completed else cut_short

    def _meaning(self, finish: FinishReason, *, has_calls: bool) -> FinishReason:
        """The final finish reason. Raises ModelFailure if markup in the text shows that something is missing."""
        if finish != "stop":
            return finish
        if self._markup.lost and not has_calls and not self._refused:
            raise ModelFailure("malformed", "markup in the text that cannot be read", retryable=True)
        return "calls" if has_calls else "refused" if self._refused else "stop"

    def _spend(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            self.done = True
            self._finish = "length"


@dataclass(slots=True, eq=False)
class _Item:
    """One output item: a message, a call, or reasoning."""

    type: str
    id: str = ""
    index: object = None
    call_id: str = ""
    name: str = ""
    content: str = ""
    """A message's text or a call's arguments, as far as they have come."""
    part: object = None
    """The part of a message's content that is being received."""
    part_start: int = 0
    """The position where this part begins."""
    done: bool = False
    shape: Mapping[str, Any] = field(default_factory=dict)
    """The item as the server closed it."""

    def enter(self, part: object) -> None:
        """Continue with this part of the content."""
        if part != self.part:
            self.part, self.part_start = part, len(self.content)

    def describe(self, shape: Mapping[str, Any]) -> None:
        """Store the item's ids and name. An id that comes late or changes does no harm."""
        self.id = shape.get("id") or self.id
        self.call_id = shape.get("call_id") or self.call_id
        self.name = shape.get("name") or self.name


class _Items:
    """The items of one reply in the order in which they began."""

    def __init__(self) -> None:
        self._all: list[_Item] = []

    def of(self, type_: str) -> list[_Item]:
        """The items of one type."""
        return [item for item in self._all if item.type == type_]

    def open(self, type_: str, event: Mapping[str, Any]) -> _Item:
        """The unfinished item to which a fragment belongs. It is created if it was not announced."""
        id_, index = event.get("item_id") or "", event.get("output_index")
        if self._all and not (last := self._all[-1]).done and (last.type, last.id, last.index) == (type_, id_, index):
            return last  # almost always
        own = [item for item in self.of(type_) if not item.done]
        named = [item for item in own if id_ and item.id == id_]
        placed = [item for item in own if index is None or item.index in (index, None)]
        return next(reversed(named or placed), None) or self._add(_Item(type_, id_, index))

    def of_shape(self, shape: Mapping[str, Any], index: object) -> _Item:
        """The item that an event announces or closes. Some servers give two calls the same id."""
        named = self._named(shape)
        if named is not None and named.done and named.type == "function_call":
            named = None
        return named or self._placed(shape, index) or self._add(_Item(shape["type"], index=index))

    def matched(self, shapes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], _Item]]:
        """Each item of the whole response, with the matching item that the events brought."""
        awaited = Counter(shape["type"] for shape in shapes)
        in_order = {type_: self.of(type_) for type_ in awaited}
        all_known = {type_ for type_, known in in_order.items() if len(known) == awaited[type_]}
        for shape in shapes:
            next_known = in_order[shape["type"]].pop(0) if shape["type"] in all_known else None
            yield shape, next_known or self._named(shape) or self._add(_Item(shape["type"]))

    def left_behind(self) -> list[JsonObject]:
        """The items to send back with the reply. Empty if its text and calls are everything.

        Ids link items to their reasoning. Without reasoning that can be read again, the ids are left out.
        """
        reasoning = self.of("reasoning")
        readable = bool(reasoning) and all(item.shape.get("encrypted_content") for item in reasoning)
        fields = ("id", "phase") if readable else ("phase",)
        left = [
            dict(item.shape) if item.type == "reasoning" else _only(item.shape, ("type", *fields))
            for item in self._all
            if item.type in ("message", "function_call") or (readable and item.type == "reasoning")
        ]
        return left if readable or any("phase" in item for item in left) else []

    def _named(self, shape: Mapping[str, Any]) -> _Item | None:
        """The item with the same id."""
        for item in reversed(self.of(shape["type"])):
            if call_id := shape.get("call_id"):
                if item.call_id == call_id:
                    return item
            elif item.id and item.id == shape.get("id"):
                return item
        return None

    def _placed(self, shape: Mapping[str, Any], index: object) -> _Item | None:
        """The unfinished item in the same place, unless it is another call."""
        for item in reversed(self.of(shape["type"])):
            is_other = item.call_id and shape.get("call_id")
            if not item.done and not is_other and (index is None or item.index in (index, None)):
                return item
        return None

    def _add(self, item: _Item) -> _Item:
        self._all.append(item)
        return item


def _missing(said: str, whole: str) -> str:
    """What the whole text has beyond the text so far. Empty if it is a different text."""
    said = sound(said)
    return whole[len(said) :] if whole.startswith(said) else ""


def _only(shape: Mapping[str, Any], names: Sequence[str]) -> JsonObject:
    return {name: shape[name] for name in names if shape.get(name)}


def _object(payload: bytes) -> JsonObject:
    try:
        value = orjson.loads(payload)
    except orjson.JSONDecodeError:
        value = _lenient(payload)
    if not isinstance(value, dict):
        raise ModelFailure("malformed", "an event is not a JSON object", retryable=True)
    return value


def _lenient(payload: bytes) -> Any:
    """Parse JSON with control characters or halves of characters in it. None if it is no JSON at all.

    The halves stay in a fragment, because the next one may bring the other halves.
    """
    try:
        value = json.loads(payload.decode(errors="replace"), strict=False)
        fragment = {"delta": value["delta"]} if isinstance(value, dict) and "delta" in value else {}
        return sound_value(value) | fragment if fragment else sound_value(value)
    except (ValueError, RecursionError):
        return None


def _usage(usage: Mapping[str, Any]) -> Usage:
    details, thoughts = usage.get("input_tokens_details") or {}, usage.get("output_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("input_tokens") or 0,
        output_tokens=usage.get("output_tokens") or 0,
        cached_tokens=details.get("cached_tokens") or 0,
        written_tokens=details.get("cache_write_tokens") or 0,
        reasoning_tokens=thoughts.get("reasoning_tokens") or 0,
    )
