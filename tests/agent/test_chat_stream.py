"""Streams as servers really send them, put together."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.chat_stream import ReplyReader
from bot.agent.events import TextDelta
from bot.agent.messages import ToolCall
from bot.agent.model import Finished, ModelEvent, ModelFailure, Thinking, Usage
from tests.doubles.chat_server import DONE, chunk, event

ORDER = {"name": "lookup_order", "arguments": '{"order_id": "ORD-1"}'}
PARCEL = {"name": "check_shipping", "arguments": '{"tracking_number": "1Z9"}'}
ORDER_CALL = ToolCall("c1", "lookup_order", ORDER["arguments"])
PARCEL_CALL = ToolCall("c2", "check_shipping", PARCEL["arguments"])


def read(*blocks: bytes, characters: int = 10_000) -> list[ModelEvent]:
    """All events of a reply that came in these blocks."""
    reader = ReplyReader(characters=characters)
    return [event for block in blocks for event in reader.feed(block)] + list(reader.close())


def called(*fragments: Mapping[str, Any] | list[Mapping[str, Any]], finish: str = "tool_calls") -> list[ToolCall]:
    """The calls that these fragments, a delta each, add up to."""
    deltas = [chunk({"tool_calls": part if isinstance(part, list) else [part]}) for part in fragments]
    *events, finished = read(b"".join(deltas) + chunk({}, finish) + DONE)
    assert finished == Finished("calls")
    return [event for event in events if isinstance(event, ToolCall)]


def test_text_of_one_block_comes_in_one_piece() -> None:
    start, end = (
        chunk({"content": "Hel"}) + chunk({"content": "lo"}),
        chunk({"content": "."}) + chunk({}, "stop") + DONE,
    )
    assert read(start, end) == [TextDelta("Hello"), TextDelta("."), Finished("stop")]


def test_arguments_in_fragments_are_joined_by_index() -> None:
    assert called(
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "lookup_order", "arguments": ""}},
        {"index": 1, "id": "c2", "type": "function", "function": {"name": "check_shipping", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"order_id":'}},
        {"index": 1, "function": {"arguments": PARCEL["arguments"]}},
        {"index": 0, "function": {"arguments": ' "ORD-1"}'}},
    ) == [ORDER_CALL, PARCEL_CALL]


def test_an_index_that_is_always_zero_does_not_mix_calls_with_ids_of_their_own() -> None:
    assert called(
        {"index": 0, "id": "c1", "function": {"name": "lookup_order", "arguments": '{"order_id": '}},
        {"index": 0, "id": "c1", "function": {"arguments": '"ORD-1"}'}},
        {"index": 0, "id": "c2", "function": {"name": "check_shipping", "arguments": ""}},
        {"index": 0, "id": "c2", "function": {"arguments": PARCEL["arguments"]}},
    ) == [ORDER_CALL, PARCEL_CALL]


def test_a_new_id_begins_a_new_call_of_the_same_tool() -> None:
    again = called(
        {"index": 0, "id": "c1", "function": ORDER},
        {"index": 0, "id": "c2", "function": {"name": "lookup_order", "arguments": ""}},
        {"index": 0, "function": {"arguments": ORDER["arguments"]}},
    )
    assert again == [ORDER_CALL, ToolCall("c2", "lookup_order", ORDER["arguments"])]


def test_whole_calls_without_index_and_id_are_kept_apart() -> None:
    apart = [ToolCall("", "lookup_order", ORDER["arguments"]), ToolCall("", "check_shipping", PARCEL["arguments"])]
    assert called({"function": ORDER}, {"function": PARCEL}) == apart
    assert called([{"function": ORDER}, {"function": PARCEL}]) == apart
    assert called({"index": 0, "function": ORDER}, {"index": 0, "id": "", "function": PARCEL}) == apart
    name, rest = {"name": "check_shipping", "arguments": ""}, {"arguments": PARCEL["arguments"]}
    assert called({"function": ORDER}, {"function": name}, {"function": rest}) == apart


def test_two_calls_of_one_tool_without_ids_are_two_calls() -> None:
    twice = called({"index": 0, "function": ORDER}, {"index": 0, "function": ORDER})
    assert [call.arguments for call in twice] == [ORDER["arguments"]] * 2


def test_one_id_for_two_indexes_is_two_calls() -> None:
    assert len(called({"index": 0, "id": "c1", "function": ORDER}, {"index": 1, "id": "c1", "function": PARCEL})) == 2


def test_name_and_id_on_every_fragment_are_taken_once() -> None:
    head = {"index": 0, "id": "c1"}
    assert called(
        {**head, "function": {"name": "lookup_order", "arguments": '{"order_id":'}},
        {**head, "function": {"name": "lookup_order", "arguments": ' "ORD-1"}'}},
        {**head, "function": {"name": "lookup_order", "arguments": ""}},
    ) == [ORDER_CALL]


def test_a_name_in_pieces_is_joined() -> None:
    assert called(
        {"index": 0, "id": "c1", "function": {"name": "lookup_"}},
        {"index": 0, "function": {"name": "order"}},
        {"index": 0, "function": {"arguments": ORDER["arguments"]}},
    ) == [ORDER_CALL]


def test_an_id_that_comes_late_is_taken() -> None:
    assert called(
        {"index": 0, "function": {"name": "lookup_order", "arguments": '{"order_id":'}},
        {"index": 0, "id": "c1", "function": {"arguments": ' "ORD-1"}'}},
    ) == [ORDER_CALL]


def test_whole_calls_that_finish_with_stop_are_calls() -> None:
    assert called({"index": 0, "id": "c1", "function": ORDER}, finish="stop") == [ORDER_CALL]


def test_fields_of_the_provider_are_kept() -> None:
    signature = {"google": {"thought_signature": "abc"}}
    (call,) = called({"index": 0, "id": "c1", "type": "function", "function": ORDER, "extra_content": signature})
    assert call.extra == {"extra_content": signature}
    (call,) = called({"index": 0, "id": "c1", "function": ORDER}, {"index": 0, "extra_content": signature})
    assert call.extra == {"extra_content": signature}


def test_arguments_as_an_object_become_text() -> None:
    (call,) = called({"index": 0, "id": "c1", "function": {"name": "lookup_order", "arguments": {"order_id": "ORD-1"}}})
    assert orjson.loads(call.arguments) == {"order_id": "ORD-1"}


def test_a_name_that_could_not_be_sent_back_is_made_so_that_it_can() -> None:
    (call,) = called({"index": 0, "id": "c1", "function": {"name": "functions.look up", "arguments": "{}"}})
    assert call.name == "look_up"


def test_text_and_calls_come_together() -> None:
    events = read(
        chunk({"content": "Let me see."}), chunk({"tool_calls": [{"id": "c1", "function": ORDER}]}, "tool_calls")
    )
    assert events == [TextDelta("Let me see."), Thinking(), ORDER_CALL, Finished("calls")]


def test_usage_counts_wherever_it_comes_and_a_null_does_not_erase_it() -> None:
    usage = {"prompt_tokens": 120, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 64}}
    last = event({"choices": [], "usage": usage}) + event({"choices": [], "usage": None}) + DONE
    assert read(chunk({"content": "Hi"}, "stop", usage=None), last)[1:] == [Usage(120, 30, 64), Finished("stop")]


def test_reasoning_is_a_sign_of_life_and_never_text() -> None:
    assert read(chunk({"reasoning_content": "The customer wants"}), chunk({"content": "Hi"}, "stop")) == [
        Thinking(),
        TextDelta("Hi"),
        Finished("stop"),
    ]


@pytest.mark.parametrize(
    "noise",
    [
        b": keep-alive\n\n",
        b"data: : keep-alive\n\n",
        b"data: \n\n",
        b"retry: 3000\n\n",
        b"id: 1\n\n",
        event({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        event({"choices": [{"index": 0, "delta": None, "finish_reason": None}]}),
        event(None),
    ],
)
def test_noise_is_neither_text_nor_a_sign_of_life(noise: bytes) -> None:
    reader = ReplyReader(characters=100)
    assert reader.feed(noise) == []
    assert reader.feed(chunk({"content": "Hi"}, "stop") + noise) == [TextDelta("Hi")]
    assert list(reader.close()) == [Finished("stop")]


def test_chunks_without_the_blank_line_between_them_are_read() -> None:
    tight = chunk({"content": "Hel"}).strip() + b"\n" + chunk({"content": "lo"}, "stop").strip() + b"\n" + DONE
    assert read(tight) == [TextDelta("Hello"), Finished("stop")]


def test_text_as_a_list_of_parts_is_text() -> None:
    parts = [{"type": "text", "text": "Hel"}, {"type": "reference"}, {"type": "text", "text": "lo"}]
    assert read(chunk({"content": parts}, "stop"))[0] == TextDelta("Hello")


@pytest.mark.parametrize(
    ("finish", "meaning"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "filtered"), ("eos", "stop"), ("tool_calls", "stop")],
)
def test_a_finish_reason_is_understood(finish: str, meaning: str) -> None:
    assert read(chunk({"content": "Hi"}, finish))[-1] == Finished(meaning)  # type: ignore[arg-type]


def test_done_alone_is_a_finish() -> None:
    assert read(chunk({"content": "Hi"}), DONE)[-1] == Finished("stop")


def test_a_last_event_without_its_line_end_counts() -> None:
    assert read(chunk({"content": "Hi"}, "stop").strip()) == [TextDelta("Hi"), Finished("stop")]


def test_a_refusal_is_told_apart_from_an_answer() -> None:
    assert read(chunk({"refusal": "I cannot help with that."}), chunk({}, "stop"))[-1] == Finished("refused")


@pytest.mark.parametrize(
    ("blocks", "kind", "retryable"),
    [
        ([chunk({"content": "Hi"})], "cut", True),
        ([chunk({"tool_calls": [{"id": "c1", "function": {"name": "x", "arguments": '{"a'}}]})], "cut", True),
        ([b"<html><body>busy</body></html>"], "malformed", True),
        ([], "malformed", True),
        ([b"data: {broken\n\n"], "malformed", True),
        ([b"data: \xff\xfe{}\n\n"], "malformed", True),
        ([b'data: {"choices": [17]}\n\n'], "malformed", True),
        ([b'data: {"choices": {"a": 1}}\n\n'], "malformed", True),
        ([b"data: " + b"[" * 100_000 + b"\n\n"], "malformed", True),
        ([event({"error": {"message": "oops", "type": "server_error"}})], "model_unreachable", True),
        ([event({"error": {"message": "no", "code": 429}})], "rate_limited", True),
        ([event({"error": {"code": "context_length_exceeded"}})], "context_length", False),
        ([event({"error": {"code": "insufficient_quota"}})], "insufficient_quota", False),
        ([event({"error": "overloaded"})], "model_unreachable", True),
        ([chunk({}, "error")], "model_unreachable", True),
    ],
)
def test_what_is_no_whole_reply_is_a_failure_of_its_kind(blocks: list[bytes], kind: str, retryable: bool) -> None:
    with pytest.raises(ModelFailure) as caught:
        read(*blocks)
    assert (caught.value.kind, caught.value.retryable) == (kind, retryable)


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


WHOLE = (
    chunk({"role": "assistant", "content": ""})
    + b": ping\r\n\r\n"
    + chunk({"content": "Où est "})
    + chunk({"content": "ma commande 🙏"})
    + chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "lookup_order", "arguments": '{"or'}}]})
    + chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'der_id": "ORD-1"}'}}]})
    + chunk({}, "tool_calls")
    + event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
    + DONE
)


@given(st.lists(st.integers(0, len(WHOLE))))
def test_however_a_reply_is_cut_into_blocks_it_says_the_same(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(WHOLE)]
    events = read(*(WHOLE[start:end] for start, end in pairwise(places)))
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    rest = [event for event in events if not isinstance(event, TextDelta | Thinking)]
    assert text == "Où est ma commande 🙏"
    assert rest == [ORDER_CALL, Usage(7, 3), Finished("calls")]
