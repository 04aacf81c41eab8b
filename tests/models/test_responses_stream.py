"""Streams of the Responses API as servers really send them, put together."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.events import TextDelta
from bot.agent.messages import ToolCall
from bot.agent.model import Finished, ModelEvent, ModelFailure, ReplyExtra, Thinking, Usage
from bot.agent.wording import RESPONSES_ITEMS
from bot.models.responses_stream import ResponseReader
from tests.agent.desk import Counter, desk_tools
from tests.doubles.chat_server import DONE, Reply, event
from tests.doubles.responses_events import Response, changed, without

ORDER = {"order_id": "ORD-1"}
ORDER_CALL = ToolCall("c1", "lookup_order", '{"order_id":"ORD-1"}')
PARCEL_CALL = ToolCall("c2", "check_shipping", '{"tracking_number":"1Z9"}')
CALL_SHAPE = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "lookup_order"}
USAGE = Usage(70, 9, 20)


def read(*blocks: bytes, characters: int = 10_000) -> list[ModelEvent]:
    """All events of a reply that came in these blocks."""
    reader = ResponseReader(characters=characters, tools=desk_tools(Counter()))
    return [event for block in blocks for event in reader.feed(block)] + list(reader.close())


def spoken(events: Iterable[ModelEvent]) -> str:
    """The text of these events."""
    return "".join(each.text for each in events if isinstance(each, TextDelta))


def gist(reply: Reply) -> list[ModelEvent]:
    """The same without signs of life and without what the model left for itself, text in one piece."""
    events = [event for event in read(*reply.blocks) if not isinstance(event, Thinking | ReplyExtra)]
    text = spoken(events)
    rest: list[ModelEvent] = [event for event in events if not isinstance(event, TextDelta)]
    return [TextDelta(text), *rest] if text else rest


def failure(*blocks: bytes) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        read(*blocks)
    return caught.value


def left(reply: Reply) -> list[dict[str, Any]]:
    """What the model left for itself."""
    for each in read(*reply.blocks):
        if isinstance(each, ReplyExtra):
            items: list[dict[str, Any]] = each.fields[RESPONSES_ITEMS]
            return items
    return []


def test_a_sign_of_life_in_place_of_an_event_is_none_of_the_reply() -> None:
    table = [b"ping", b'"keep-alive"', b"null", b": x", b'{"type": "ping"}']
    misses = []
    for noise in table:
        reply = Response().says("Hel", "lo.").ends()
        blocks = [each for block in reply.blocks for each in (b"data: " + noise + b"\n\n", block)]
        if gist(Reply(tuple(blocks))) != [TextDelta("Hello."), USAGE, Finished("stop")]:
            misses.append(noise)
    assert misses == []


def test_what_comes_behind_the_end_of_a_response_does_not_undo_it() -> None:
    table = [b"{oops", b'{"type": "error", "error": {"message": "overloaded"}}', b"[DONE]", b"7"]
    misses = []
    for behind in table:
        reply = Response().says("Hello.").ends()
        more = Response().says(" EXTRA").ends()
        blocks = (*reply.blocks, b"data: " + behind + b"\n\n", *more.blocks)
        if not (
            gist(Reply(blocks)) == gist(Reply((b"".join(blocks),))) == [TextDelta("Hello."), USAGE, Finished("stop")]
        ):
            misses.append(behind)
    assert misses == []


def two_calls() -> Response:
    return (
        Response()
        .calls("lookup_order", ORDER)
        .calls("check_shipping", {"tracking_number": "1Z9"}, id="fc_2", call_id="c2")
    )


def test_text_comes_as_it_is_sent_and_once() -> None:
    assert gist(Response().says("Hel", "lo", ".").ends()) == [TextDelta("Hello."), USAGE, Finished("stop")]
    pieces = [each for each in read(*Response().says("Hel", "lo").ends().blocks) if isinstance(each, TextDelta)]
    assert pieces == [TextDelta("Hel"), TextDelta("lo")]


def test_text_of_one_block_comes_in_one_piece() -> None:
    events = read(b"".join(Response().says("Hel", "lo").ends().blocks))
    assert events == [TextDelta("Hello"), USAGE, Finished("stop")]


def test_calls_come_as_soon_as_they_are_whole() -> None:
    blocks = two_calls().ends().blocks
    assert gist(Reply(blocks)) == [ORDER_CALL, PARCEL_CALL, USAGE, Finished("calls")]
    reader = ResponseReader(characters=1_000)
    first_done = next(at for at, block in enumerate(blocks) if b"output_item.done" in block)
    before = [each for block in blocks[:first_done] for each in reader.feed(block)]
    assert all(isinstance(each, Thinking) for each in before)
    assert reader.feed(blocks[first_done]) == [ORDER_CALL]


def test_text_and_calls_share_a_reply() -> None:
    reply = Response().says("Let me see.").calls("lookup_order", ORDER).ends()
    assert gist(reply) == [TextDelta("Let me see."), ORDER_CALL, USAGE, Finished("calls")]


def test_a_second_message_begins_a_paragraph() -> None:
    reply = Response().says("Let me see.").says("It is shipped.", id="msg_2").ends()
    assert gist(reply)[0] == TextDelta("Let me see.\n\nIt is shipped.")


def test_thoughts_are_a_sign_of_life_and_never_text() -> None:
    events = read(*Response().thinks("First ", "I look.").says("Hello").ends().blocks)
    assert events.count(Thinking()) >= 4
    assert [each for each in events if isinstance(each, TextDelta)] == [TextDelta("Hello")]


def test_what_a_server_says_before_it_works_is_no_sign_of_life() -> None:
    opening = Response().blocks
    reader = ResponseReader(characters=100)
    assert [each for block in opening for each in reader.feed(block)] == []
    assert reader.feed(event({"type": "keepalive", "sequence_number": 2})) == []


def test_a_refusal_is_told_apart_and_not_shown() -> None:
    assert gist(Response().refuses("I cannot ", "help.").ends()) == [USAGE, Finished("refused")]


@pytest.mark.parametrize(("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "filtered")])
def test_a_response_that_is_incomplete_says_why(reason: str, finish: str) -> None:
    reply = Response().says("Hel").ends("incomplete", incomplete_details={"reason": reason})
    assert gist(reply) == [TextDelta("Hel"), USAGE, Finished(finish)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("status", "finish"), [("incomplete", "length"), ("in_progress", "stop")])
def test_a_status_tells_more_than_the_event_it_comes_with(status: str, finish: str) -> None:
    reply = Response().says("Hel").ends()
    whole = orjson.loads(reply.blocks[-1].removeprefix(b"data: "))
    whole["response"]["status"] = status
    assert gist(Reply((*reply.blocks[:-1], event(whole))))[-1] == Finished(finish)  # type: ignore[arg-type]


def test_failures_keep_their_kind_wherever_they_are_told() -> None:
    table = [
        ({"code": "server_error", "message": "x"}, "model_unreachable", True),
        ({"code": "rate_limit_exceeded", "message": "x"}, "rate_limited", True),
        ({"code": "invalid_prompt", "message": "x"}, "filtered", False),
        ({"code": "bio_policy", "message": "x"}, "filtered", False),
        ({"code": "context_length_exceeded", "message": "x"}, "context_length", False),
        ({"code": "insufficient_quota", "message": "x"}, "insufficient_quota", False),
    ]
    misses = []
    for error, kind, retryable in table:
        failed = failure(*Response().ends("failed", error=error).blocks)
        if (
            (failed.kind, failed.retryable) != (kind, retryable)
            or failure(event({"type": "error", **error})).kind != kind
            or failure(event({"type": "error", "error": error})).kind != kind
        ):
            misses.append((error, failed.kind, failed.retryable))
    assert misses == []


@pytest.mark.parametrize("reply", [Response().says("Hel").breaks_off(), Response().breaks_off()])
def test_a_stream_without_an_end_of_the_response_is_a_cut(reply: Reply) -> None:
    assert failure(*reply.blocks).kind == "cut"
    assert failure(*reply.blocks, DONE).kind == "cut"


def test_a_response_that_was_cancelled_is_a_cut() -> None:
    assert failure(*Response().says("Hel").ends("cancelled").blocks).kind == "cut"


def test_what_is_no_response_is_malformed() -> None:
    table = [b"", b"<html>busy</html>", b"data: {\n\n", b"data: 5\n\n", b'data: {"type":"response.completed"}\n\n']
    misses = [(block, got) for block in table if (got := failure(block).kind) != "malformed"]
    assert misses == []


def test_a_reply_beyond_its_limit_is_cut_off_and_not_replayed() -> None:
    reply = Response().thinks().says("Hello ", "and so on").ends()
    reader = ResponseReader(characters=8)
    events = [each for block in reply.blocks for each in reader.feed(block)]
    assert reader.done
    closing = list(reader.close())
    assert closing == [Finished("length")]
    assert [each for each in events if isinstance(each, TextDelta)] == [TextDelta("Hello "), TextDelta("an")]


DIALECTS: dict[str, Callable[[Reply], Reply]] = {
    "as the real API sends it": lambda reply: reply,
    "with [DONE] at the end": lambda reply: Reply((*reply.blocks, DONE)),
    "with comments as data": lambda reply: Reply((b"data: : ping\n\n", *reply.blocks)),
    "without announcements": lambda reply: without(reply, "response.output_item.added", "response.content_part.added"),
    "without fragments": lambda reply: without(
        reply, "response.output_text.delta", "response.function_call_arguments.delta"
    ),
    "with closed items alone": lambda reply: Reply(
        tuple(block for block in reply.blocks if b"output_item.done" in block or b"response.completed" in block)
    ),
    "with fragments alone": lambda reply: without(
        reply, "response.output_text.done", "response.function_call_arguments.done", "response.output_item.done"
    ),
    "with the whole response alone": lambda reply: Reply(reply.blocks[-1:]),
    "without ids": lambda reply: changed(reply, ("item_id",)),
    "without places": lambda reply: changed(reply, ("output_index",)),
    "without ids and places": lambda reply: changed(reply, ("item_id", "output_index")),
    "with every item in the first place": lambda reply: changed(reply, ("output_index",), 0),
    "with an id that is nobody's": lambda reply: changed(reply, ("item_id",), "other"),
}
ANSWERS = {
    "text": Response().says("Hel", "lo").ends(),
    "text after calls": two_calls().says("Let me ", "see.").ends(),
    "a call after text": Response().thinks("hm").says("Let me ", "see.").calls("lookup_order", ORDER).ends(),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_says_the_same(dialect: str) -> None:
    misses = [
        (answer, got) for answer, reply in ANSWERS.items() if (got := gist(DIALECTS[dialect](reply))) != gist(reply)
    ]
    assert misses == []


def test_calls_of_one_id_are_two_calls() -> None:
    reply = Response().calls("lookup_order", ORDER).calls("lookup_order", {"order_id": "ORD-2"}, id="fc_2").ends()
    asked = [each for each in gist(reply) if isinstance(each, ToolCall)]
    assert [(call.id, call.arguments) for call in asked] == [
        ("c1", '{"order_id":"ORD-1"}'),
        ("c1", '{"order_id":"ORD-2"}'),
    ]


def test_a_name_that_providers_would_refuse_is_mended() -> None:
    asked = gist(Response().calls("functions.lookup order", ORDER).ends())[0]
    assert isinstance(asked, ToolCall)
    assert asked.name == "lookup_order"


def test_a_name_behind_a_namespace_is_the_tool_s() -> None:
    assert gist(Response().calls("default_api:lookup_order", ORDER).ends())[0] == ORDER_CALL


def test_markup_that_a_server_left_in_the_text_is_read_and_not_shown() -> None:
    told = '{"name": "lookup_order", "arguments": {"order_id": "ORD-1"}}'
    reply = Response().says("<thi", "nk>hm</think>Let me see.", f"<tool_call>{told}</tool_call>").ends()
    text, call, *rest = gist(reply)
    assert text == TextDelta("Let me see.")
    assert isinstance(call, ToolCall)
    assert (call.name, orjson.loads(call.arguments)) == ("lookup_order", ORDER)
    assert rest == [USAGE, Finished("calls")]


def test_half_a_character_does_not_break_a_stream() -> None:
    half = b'data: {"type": "response.output_text.delta", "delta": "Hi \\ud83d"}\n\n'
    events = read(half, *Response().ends().blocks)
    assert spoken(events) == "Hi \ufffd"


def test_a_character_in_two_halves_is_put_together() -> None:
    halves = Response().says("Hi HERE", "THERE!").ends()
    split = [block.replace(b"HERETHERE", "😀".encode()) for block in halves.blocks]
    split = [block.replace(b"THERE", b"\\ude00").replace(b"HERE", b"\\ud83d") for block in split]
    assert spoken(read(*split)) == "Hi 😀!"
    arguments = b'{"type":"response.function_call_arguments.delta","output_index":0,"delta":"%s"}'
    pieces = [b"data: " + arguments % piece + b"\n\n" for piece in (b'{\\"order_id\\":\\"\\ud83d', b'\\ude00\\"}')]
    begun = event({"type": "response.output_item.added", "output_index": 0, "item": {**CALL_SHAPE, "arguments": ""}})
    *_, call, _ = read(begun, *pieces, event({"type": "response.completed", "response": {"output": []}}))
    assert call == ToolCall("c1", "lookup_order", '{"order_id":"😀"}')


@pytest.mark.parametrize("place", [None, 0])
def test_the_end_of_a_text_may_come_with_its_closing_event_alone(place: int | None) -> None:
    def says(kind: str, part: int | None, **fields: str) -> bytes:
        return event({"type": f"response.output_text.{kind}", "output_index": 0, "content_index": part, **fields})

    end = event({"type": "response.completed", "response": {"output": []}})
    assert spoken(read(says("delta", place, delta="Hel"), says("done", place, text="Hello."), end)) == "Hello."
    assert spoken(read(says("delta", place, delta="Hel"), says("done", place, text="Other."), end)) == "Hel"
    again = says("delta", 1, delta="Hel"), says("done", 1, text="Hello.")
    assert spoken(read(says("done", 0, text="Hel"), *again, end)) == "HelHello."


def test_reasoning_among_the_parts_of_a_message_is_not_shown() -> None:
    content = [{"type": "reasoning_text", "text": "Hm."}, {"type": "output_text", "text": "Hello."}]
    item = {"type": "message", "id": "m", "content": content}
    done = event({"type": "response.output_item.done", "output_index": 0, "item": item})
    assert spoken(read(done, event({"type": "response.completed", "response": {"output": [item]}}))) == "Hello."


def test_reasoning_is_kept_to_the_letter_and_the_rest_by_its_place() -> None:
    reply = (
        Response()
        .thinks("hm", id="rs_1", encrypted="gAAAA1")
        .says("Let me see.", phase="commentary")
        .thinks(id="rs_2", encrypted="gAAAA2")
        .calls("lookup_order", ORDER)
        .ends()
    )
    summary = [{"type": "summary_text", "text": "hm"}]
    assert left(reply) == [
        {"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": "gAAAA1"},
        {"type": "message", "id": "msg_1", "phase": "commentary"},
        {"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA2"},
        {"type": "function_call", "id": "fc_1"},
    ]


def test_reasoning_that_nobody_can_read_again_is_not_kept() -> None:
    assert left(Response().thinks(encrypted=None).says("Hello").ends()) == []
    phased = Response().thinks(encrypted=None).says("Hello", phase="final_answer").ends()
    assert left(phased) == [{"type": "message", "phase": "final_answer"}]
    assert left(Response().says("Hello").ends()) == []


def test_a_reply_that_is_not_complete_leaves_nothing() -> None:
    reply = Response().thinks().says("Hel").ends("incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert left(reply) == []


def test_a_response_in_one_piece_is_read() -> None:
    (body,) = Response().thinks().says("Hello").calls("lookup_order", ORDER).as_json().blocks
    reader = ResponseReader(characters=1_000)
    events = [*reader.feed_whole(body), *reader.close()]
    assert events[:2] == [TextDelta("Hello"), ORDER_CALL]
    assert isinstance(events[2], ReplyExtra)
    assert events[3:] == [USAGE, Finished("calls")]


def test_an_error_in_one_piece_is_a_failure() -> None:
    with pytest.raises(ModelFailure, match="rate_limited"):
        ResponseReader(characters=10).feed_whole(orjson.dumps({"error": {"code": "rate_limit_exceeded"}}))


WHOLE = Response().thinks("größer ", "als").says("Grüß ", "Gott ✓").calls("lookup_order", ORDER).ends()
STREAM = b"".join(WHOLE.blocks)


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_however_a_stream_is_divided_it_says_the_same(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    events = read(*(STREAM[start:end] for start, end in pairwise(places)))
    told = [each for each in events if not isinstance(each, Thinking | TextDelta)]
    assert told == [each for each in read(STREAM) if not isinstance(each, Thinking | TextDelta)]
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == "Grüß Gott ✓"


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "id", "content"]), inner),
)


@given(st.sampled_from(["output_text.delta", "output_item.done", "function_call_arguments.done", "completed"]), JUNK)
def test_an_event_of_any_shape_makes_no_reply_by_itself(kind: str, junk: object) -> None:
    fields = ("delta", "item", "response", "output_index", "item_id", "arguments", "text")
    broken = event({"type": f"response.{kind}", **dict.fromkeys(fields, junk)})
    if kind != "completed":
        assert failure(broken).kind in ("malformed", "cut")
    elif not isinstance(junk, dict):
        assert failure(broken).kind == "malformed"
