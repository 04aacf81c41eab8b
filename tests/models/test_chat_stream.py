"""What the reader of a chat stream does block by block; the streams themselves are in streams/ (test_streams.py)."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.events import TextDelta
from bot.agent.messages import ToolCall
from bot.agent.model import Finished, ModelEvent, ModelFailure, ReplyExtra, Thinking, Usage
from bot.models.call_fragments import CALLS_LIMIT, EXTRA_LIMIT
from bot.models.chat_stream import ReplyReader
from bot.models.frames import BODY_LIMIT
from bot.models.reply_fields import FIELDS_LIMIT
from bot.models.sse import EVENT_LIMIT
from tests.agent.desk import Counter, desk_tools
from tests.doubles.chat_server import DONE, chunk, event

TOOLS = desk_tools(Counter())
ORDER = {"name": "lookup_order", "arguments": '{"order_id": "ORD-1"}'}
PARCEL = {"name": "check_shipping", "arguments": '{"tracking_number": "1Z9"}'}


def read(*blocks: bytes, characters: int = 10_000) -> list[ModelEvent]:
    """All events of a reply that came in these blocks."""
    reader = ReplyReader(characters=characters, tools=TOOLS)
    return [event for block in blocks for event in reader.feed(block)] + list(reader.close())


def called(*fragments: Mapping[str, Any] | Sequence[Mapping[str, Any]], finish: str = "tool_calls") -> list[ToolCall]:
    """The calls that these fragments, a delta each, add up to."""
    deltas = [chunk({"tool_calls": [part] if isinstance(part, Mapping) else part}) for part in fragments]
    *events, finished = read(b"".join(deltas) + chunk({}, finish) + DONE)
    assert finished == Finished("calls")
    return [event for event in events if isinstance(event, ToolCall)]


def test_text_of_one_block_comes_in_one_piece() -> None:
    start, end = (
        chunk({"content": "Hel"}) + chunk({"content": "lo"}),
        chunk({"content": "."}) + chunk({}, "stop") + DONE,
    )
    assert read(start, end) == [TextDelta("Hello"), TextDelta("."), Finished("stop")]


def test_text_calls_usage_and_finish_come_in_this_order() -> None:
    events = read(
        chunk({"content": "Let me see."}),
        chunk({"tool_calls": [{"id": "c1", "function": ORDER}], "reasoning_content": "Hm."}, "tool_calls"),
        event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
    )
    assert events == [
        TextDelta("Let me see."),
        Thinking(),
        Usage(7, 3),
        ToolCall("c1", "lookup_order", ORDER["arguments"]),
        ReplyExtra({"reasoning_content": "Hm."}),
        Finished("calls"),
    ]


def test_a_new_id_begins_a_new_call_of_the_same_tool() -> None:
    again = called(
        {"index": 0, "id": "c1", "function": ORDER},
        {"index": 0, "id": "c2", "function": {"name": "lookup_order", "arguments": ""}},
        {"index": 0, "function": {"arguments": ORDER["arguments"]}},
    )
    assert again == [
        ToolCall("c1", "lookup_order", ORDER["arguments"]),
        ToolCall("c2", "lookup_order", ORDER["arguments"]),
    ]


def test_whole_calls_without_index_and_id_are_kept_apart() -> None:
    apart = [ToolCall("", "lookup_order", ORDER["arguments"]), ToolCall("", "check_shipping", PARCEL["arguments"])]
    assert called({"function": ORDER}, {"function": PARCEL}) == apart
    assert called([{"function": ORDER}, {"function": PARCEL}]) == apart
    assert called({"index": 0, "function": ORDER}, {"index": 0, "id": "", "function": PARCEL}) == apart
    name, rest = {"name": "check_shipping", "arguments": ""}, {"arguments": PARCEL["arguments"]}
    assert called({"function": ORDER}, {"function": name}, {"function": rest}) == apart


def test_a_placeholder_that_stays_empty_is_no_call() -> None:
    assert read(chunk({"content": "Hi", "tool_calls": [{"index": 0, "function": {}}]}, "stop"))[-1] == Finished("stop")


def test_a_reply_of_very_many_calls_is_cut_to_what_a_provider_allows() -> None:
    calls = [{"index": at, "id": f"c{at}", "function": ORDER} for at in range(CALLS_LIMIT + 9)]
    assert len(called(calls)) == CALLS_LIMIT


def test_what_a_provider_attaches_is_not_kept_beyond_its_limit() -> None:
    (call,) = called({"index": 0, "id": "c1", "function": ORDER, "extra_content": "x" * (EXTRA_LIMIT + 1)})
    assert (call.id, call.extra) == ("c1", {})
    piece = {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x" * (FIELDS_LIMIT // 2)}]}
    assert not any(
        isinstance(event, ReplyExtra) for event in read(*[chunk(piece)] * 3, chunk({"content": "Hi"}, "stop"))
    )


def test_reasoning_is_a_sign_of_life_and_never_text() -> None:
    assert read(chunk({"reasoning_content": "The customer wants"}), chunk({"content": "Hi"}, "stop")) == [
        Thinking(),
        TextDelta("Hi"),
        Finished("stop"),
    ]


@pytest.mark.parametrize("delta", [{"content": "<think>Hm."}, {"reasoning_details": [{"type": "x", "data": "y"}]}])
def test_what_is_not_shown_is_a_sign_of_life_all_the_same(delta: Mapping[str, Any]) -> None:
    assert ReplyReader(characters=100).feed(chunk(delta)) == [Thinking()]


def test_noise_is_neither_text_nor_a_sign_of_life() -> None:
    table = [
        b": keep-alive\n\n",
        b"data: : keep-alive\n\n",
        b"data: \n\n",
        b"retry: 3000\n\n",
        b"id: 1\n\n",
        event({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        event({"choices": [{"index": 0, "delta": None, "finish_reason": None}]}),
        event(None),
    ]
    misses = []
    for noise in table:
        reader = ReplyReader(characters=100)
        if (
            reader.feed(noise) != []
            or reader.feed(chunk({"content": "Hi"}, "stop") + noise) != [TextDelta("Hi")]
            or list(reader.close()) != [Finished("stop")]
        ):
            misses.append(noise)
    assert misses == []


def test_a_finish_reason_is_understood() -> None:
    table = [
        *(("stop", "stop"), ("STOP", "stop"), ("eos", "stop"), ("stop_sequence", "stop"), ("end_turn", "stop")),
        *(("COMPLETE", "stop"), ("finished", "stop"), ("normal", "stop"), ("TOKEN_LIMIT", "length")),
        *(("guardrail_intervened", "filtered"), ("content_filter: RECITATION", "filtered")),
        *(("length", "length"), ("max_tokens", "length"), ("MAX_TOKENS", "length"), ("model_length", "length")),
        *(("content_filter", "filtered"), ("SAFETY", "filtered"), ("sensitive", "filtered"), ("refusal", "refused")),
    ]
    misses = [
        (finish, got)
        for finish, meaning in table
        if (got := read(chunk({"content": "Hi"}, finish))[-1]) != Finished(meaning)  # type: ignore[arg-type]
    ]
    assert misses == []


def test_a_word_that_nobody_documents_gives_way_to_one_that_is_known() -> None:
    odd, known = chunk({"content": "Hi"}, "going on"), chunk({}, "stop")
    assert read(odd + known)[-1] == read(known + odd)[-1] == Finished("stop")


def test_the_reply_of_a_server_that_counts_choices_from_one_is_read() -> None:
    whole = {"choices": [{"index": 1, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    assert read(event(whole)) == [TextDelta("Hi"), Finished("stop")]


def test_a_reply_is_finished_before_it_is_done() -> None:
    reader, states = ReplyReader(characters=100), []
    for block in (chunk({"content": "Hi"}), chunk({}, "normal"), chunk({}, "stop"), DONE):
        reader.feed(block)
        states.append((reader.finished, reader.done))
    assert states == [(False, False), (False, False), (True, False), (True, True)]


def test_what_is_no_whole_reply_is_a_failure_of_its_kind() -> None:
    table: list[tuple[list[bytes], str, bool]] = [
        ([], "malformed", True),
        ([b"data: {broken\n\n"], "malformed", True),
        ([b"data: \xff\xfe{}\n\n"], "malformed", True),
        ([b'data: {"choices": [17]}\n\n'], "malformed", True),
        ([b'data: {"choices": {"a": 1}}\n\n'], "malformed", True),
        ([b"data: " + b"[" * 100_000 + b"\n\n"], "malformed", True),
        ([event({"error": {"code": "context_length_exceeded"}})], "context_length", False),
        ([event({"error": {"code": "insufficient_quota"}})], "insufficient_quota", False),
        ([event({"error": "overloaded"})], "model_unreachable", True),
        ([event({"detail": "Not Found"})], "model_unreachable", True),
        ([event({"error": {"type": "invalid_request_error"}})], "refused_request", False),
        ([chunk({}, "network_error")], "model_unreachable", True),
        ([chunk({}, "abort")], "cut", True),
        ([chunk({}, "OTHER") + DONE], "cut", True),
        ([chunk({}, "null")], "cut", True),
        ([chunk({}, "MALFORMED_FUNCTION_CALL")], "malformed", True),
        ([chunk({"content": "I look.", "tool_calls": [{"index": 0, "id": "c1"}]}, "tool_calls")], "malformed", True),
        ([b'{"choices": [{"message": {"content": "Hi"}'], "malformed", True),
        ([b'[{"choices": 7}]'], "malformed", True),
        ([b"  \n"], "malformed", True),
        ([b"{" + b" " * BODY_LIMIT], "malformed", True),
        ([b"data: " + b"x" * EVENT_LIMIT], "malformed", True),
    ]
    misses: list[tuple[list[bytes], object]] = []
    for blocks, kind, retryable in table:
        try:
            misses.append((blocks, read(*blocks)))
        except ModelFailure as failure:
            if (failure.kind, failure.retryable) != (kind, retryable):
                misses.append((blocks, failure))
    assert misses == []


def test_text_before_a_failure_is_not_lost() -> None:
    reader = ReplyReader(characters=100)
    assert reader.feed(chunk({"content": "Your order "}) + event({"error": "overloaded"})) == [TextDelta("Your order ")]
    with pytest.raises(ModelFailure):
        list(reader.close())


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "x" * 60},
        {"reasoning_content": "x" * 60},
        {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "a", "arguments": "x" * 60}}]},
    ],
)
def test_a_reply_without_end_is_finished_at_its_length(delta: Mapping[str, Any]) -> None:
    reader = ReplyReader(characters=100)
    reader.feed(chunk(delta))
    done_before = reader.done
    reader.feed(chunk(delta))
    assert (done_before, reader.done) == (False, True)
    assert list(reader.close())[-1] == Finished("length")


def test_text_beyond_the_length_is_not_shown() -> None:
    flood = b"".join(chunk({"content": "x" * 60}) for _ in range(9))
    assert read(flood, chunk({}, "stop"), characters=100) == [TextDelta("x" * 100), Finished("length")]


NAMES = st.sampled_from(
    re.findall(
        r"\w+",
        "id choices delta message content text type index function name arguments tool_calls function_call data "
        "reasoning_content reasoning reasoning_details thinking_blocks extra_content signature refusal finish_reason "
        "usage prompt_tokens completion_tokens prompt_tokens_details cached_tokens error code status detail thought",
    )
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(
        ["stop", "tool_calls", "error", "lookup_order", "{}", "<tool_call>", "\ud83d", "\ude4f", "a\ud83d"]
    )
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)
CHUNKS = VALUES | st.builds(
    lambda delta, finish, more: {**more, "choices": [{"delta": delta, "finish_reason": finish}]},
    st.dictionaries(NAMES, VALUES, max_size=4),
    VALUES,
    st.dictionaries(NAMES, VALUES, max_size=2),
)


def _amount(*blocks: bytes) -> object:
    """What blocks come to, however they are cut; everything in it can be stored as JSON."""
    reader, events = ReplyReader(characters=100, tools=TOOLS), list[ModelEvent]()
    ended: object = None
    try:
        for block in blocks:
            events += reader.feed(block)
        events += reader.close()
    except ModelFailure as failure:
        ended = failure.kind
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    rest = [event for event in events if not isinstance(event, TextDelta | Thinking)]
    stored = [text, *(event.to_json() for event in rest if isinstance(event, ToolCall))]
    orjson.dumps([*stored, *(dict(event.fields) for event in rest if isinstance(event, ReplyExtra))])
    return text, rest, ended


@given(st.lists(CHUNKS, max_size=4), st.integers(1, 60))
def test_chunks_of_any_shape_are_read_or_refused_in_our_words_however_they_are_cut(
    chunks: list[object], size: int
) -> None:
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    assert _amount(*(body[at : at + size] for at in range(0, len(body), size))) == _amount(body)
