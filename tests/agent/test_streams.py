"""Awkward streams that real providers send, from files, through the reader, the adapter, and the loop."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.events import ModelRetried, TextDelta
from bot.agent.loop import Outcome
from bot.agent.messages import CustomerMessage, ToolCall
from bot.agent.model import Finished, Model, ModelEvent, ModelFailure, ModelRequest, ReplyExtra, Thinking, Usage
from bot.models.chat_stream import ReplyReader
from tests.agent.desk import PATIENT, QUICK, Counter, Desk, desk_tools, results
from tests.agent.stream_files import STREAMS, Stream
from tests.doubles.chat_server import ChatServer, text
from tests.patience import patience

TOOLS = desk_tools(Counter())
REQUEST = ModelRequest("model-1", "You are the desk.", (CustomerMessage("Where is my order?"),), tools=TOOLS)
IMPATIENT = replace(QUICK, first_token_seconds=patience(0.2), idle_seconds=patience(0.2))

KINDS = {
    "thought-signature": "Gemini's signature must come back with the call",
    "index-always-zero": "the index of every call is 0, its id empty or missing",
    "duplicate-ids": "one id for two calls, or one call told twice",
    "two-calls-in-one-delta": "",
    "id-or-name-repeated": "on later fragments",
    "whole-arguments-with-stop": "in one delta, the finish being another word",
    "content-and-calls": "in one reply",
    "empty-object-first": "in front of the arguments",
    "lost-calls": "begun, and none that can be told",
    "calls-announced": "and none begun",
    "behind-the-end": "of a reply that is whole",
    "message-beside-delta": "at the end",
    "ping-as-data": "",
    "two-choices": "that nobody asked for",
    "odd-finish": "words that are not OpenAI's",
    "leaked-tool-name": "with tokens of the model's format",
    "dotted-tool-name": "with a namespace",
    "blank-answer": "",
    "tool-markup": "inside the text",
    "reasoning-markup": "inside the text",
    "reasoning-content": "in a field of its own",
    "provider-fields": "of the whole message, which must come back",
    "refusal": "",
    "content-filter": "",
    "azure-first-chunk": "without choices, with the results of its filter",
    "usage-with-empty-choices": "",
    "null-usage-after-usage": "",
    "usage-elsewhere": "or none",
    "keep-alive-comments": "",
    "keep-alive-after-id": "",
    "comment-as-data": "",
    "retry-only-block": "",
    "crlf": "",
    "split-utf-8": "",
    "split-emoji": "as two escapes in two chunks",
    "error-in-stream": "with status 200",
    "cut-in-text": "",
    "cut-in-arguments": "",
    "cut-before-first-token": "",
    "end-without-finish": "nor [DONE]",
    "stall": "with and without pings",
    "json-in-place-of-stream": "",
    "page-in-place-of-stream": "",
    "retry-after": "0.5, 1, 600, a date",
    "insufficient-quota": "",
}
"""Every kind that has to be among the files."""


READABLE = [stream for stream in STREAMS if stream.status == 200]


def of_kinds(streams: Iterable[Stream]) -> pytest.MarkDecorator:
    """One test for each kind of them."""
    kinds: dict[str, list[Stream]] = {}
    for stream in streams:
        kinds.setdefault(stream.kind, []).append(stream)
    return pytest.mark.parametrize("streams", kinds.values(), ids=kinds)


def told(events: Sequence[ModelEvent], failure: ModelFailure | None = None) -> dict[str, Any]:
    """What events amount to, in the form of Stream.reply."""
    amount: dict[str, Any] = {}
    if spoken := "".join(event.text for event in events if isinstance(event, TextDelta)):
        amount["text"] = spoken
    if failure is not None:
        return amount | {"failure": failure.kind, "retryable": failure.retryable}
    for event in events:
        match event:
            case ToolCall(id_, name, arguments, extra):
                call = {"id": id_, "name": name, "arguments": _value(arguments)} | ({"extra": extra} if extra else {})
                amount.setdefault("calls", []).append(call)
            case ReplyExtra(fields):
                amount["extra"] = fields
            case Usage(read, written, cached):
                amount["usage"] = [read, written, cached]
            case Finished(reason):
                amount["finish"] = reason
            case TextDelta() | Thinking():
                pass
    return amount if isinstance(events[-1], Finished) else amount | {"last": events[-1]}


def _value(arguments: str) -> Any:
    try:
        return orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments


def read(blocks: Iterable[bytes]) -> dict[str, Any]:
    """What the reader makes of these blocks."""
    reader, events = ReplyReader(characters=10_000, tools=TOOLS), list[ModelEvent]()
    try:
        for block in blocks:
            events += reader.feed(block)
        events += reader.close()
    except ModelFailure as failure:
        return told(events, failure)
    return told(events)


def without_wait(reply: Mapping[str, Any]) -> dict[str, Any]:
    """A reply but for what only headers tell."""
    return {name: value for name, value in reply.items() if name != "retry_after"}


def test_every_kind_has_a_stream() -> None:
    assert set(KINDS) <= {stream.kind for stream in STREAMS}


def cuts(body: bytes) -> Iterator[tuple[object, list[bytes]]]:
    """A body in one piece, in two pieces cut at every place, and byte by byte, each under what it is called."""
    yield "whole", [body]
    yield from ((place, [body[:place], body[place:]]) for place in range(1, len(body)))
    yield "byte by byte", [body[place : place + 1] for place in range(len(body))]


@of_kinds(READABLE)
def test_a_stream_is_read_for_what_it_says_wherever_it_is_cut(streams: list[Stream]) -> None:
    misses = [
        (stream.name, cut, said)
        for stream in streams
        for cut, blocks in cuts(stream.body)
        if (said := read(blocks)) != without_wait(stream.reply)
    ]
    assert misses == []


@given(st.sampled_from(READABLE), st.lists(st.integers(1, 200), min_size=1))
def test_in_pieces_of_any_size_a_stream_says_the_same(stream: Stream, sizes: list[int]) -> None:
    blocks, place = [], 0
    for size in sizes:
        blocks.append(stream.body[place : place + size])
        place += size
    assert read([*blocks, stream.body[place:]]) == read([stream.body])


@of_kinds(stream for stream in STREAMS if not stream.never_ends)
async def test_the_adapter_gives_what_a_stream_says(streams: list[Stream], server: ChatServer, model: Model) -> None:
    misses = []
    for stream in streams:
        server.will(stream.as_reply())
        events, failure = list[ModelEvent](), None
        try:
            async with asyncio.timeout(patience(5)), aclosing(model.stream(REQUEST)) as given_events:
                async for event in given_events:
                    events.append(event)
        except ModelFailure as raised:
            failure = raised
        wait = failure.retry_after if failure else None
        asked = stream.reply.get("retry_after")
        in_time = (wait is not None and 0 < wait <= 2) if asked == "date" else wait == asked
        if (said := told(events, failure)) != without_wait(stream.reply) or not in_time:
            misses.append((stream.name, said, wait))
    assert misses == []


@of_kinds(STREAMS)
async def test_the_loop_makes_the_best_of_a_stream(streams: list[Stream], server: ChatServer, model: Model) -> None:
    misses = []
    for stream in streams:
        server.requests.clear()
        server.will(stream.as_reply(), text(stream.then))
        desk = Desk()
        usual = PATIENT if "retry_after" in stream.reply else QUICK
        outcome = await desk.run(model, limits=IMPATIENT if stream.never_ends else usual)
        misses += otherwise(stream, desk, outcome, server.requests)
    assert misses == []


def otherwise(
    stream: Stream, desk: Desk, outcome: Outcome, requests: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str, object]]:
    """What a turn came to that the sheet says otherwise, and calls that went back without an id of their own."""
    turn = stream.turn
    lines = [line for request in requests[1:2] for line in request["messages"]]
    came_and_should = {
        "ended": (outcome.ended, turn["ended"]),
        "reason": (outcome.reason, turn.get("reason", "")),
        "shown": (desk.shown, turn["shown"]),
        "ran": (sorted(desk.counter.seen), sorted(turn["ran"])),
        "requests": (len(requests), turn["requests"]),
        "estimated": (outcome.usage.estimated, turn.get("estimated", outcome.usage.estimated)),
        "without their word": (
            [
                result
                for result, word in zip(results(outcome), turn.get("results", ()), strict=False)
                if word not in result.content
            ],
            [],
        ),
        "too early": ([gone for gone in desk.happened(ModelRetried) if gone.wait < turn.get("waited", 0)], []),
    }
    if "next" in turn:
        said = [line for line in lines if line["role"] == "assistant"]
        came_and_should["next"] = (
            [{name: line.get(name, "missing") for name in turn["next"]} for line in said[-1:]],
            [turn["next"]],
        )
    if "calls" in stream.reply:
        asked = [call["id"] for line in lines for call in line.get("tool_calls", ())]
        answered = [line["tool_call_id"] for line in lines if line["role"] == "tool"]
        own = [id_ for id_ in dict.fromkeys(asked) if id_]
        came_and_should["ids"] = ((asked, answered), (own, own) if own else "one at least")
    return [(stream.name, what, came) for what, (came, should) in came_and_should.items() if came != should]
