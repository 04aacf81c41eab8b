"""The stand-in's Responses API, asked by the OpenAI client and by hand."""

import itertools
import json
from typing import Any

import aiohttp
import openai
import pytest

from demo.model.responses import ENCRYPTED, sealed
from demo.model.server import MODEL, StandIn
from tests.demo.model.requests import ORDER, PASSAGES, TOOLS

FLAT_TOOLS: Any = [{"type": "function", **tool["function"], "strict": False} for tool in TOOLS]
STATELESS: Any = {"model": MODEL, "store": False, "include": [ENCRYPTED]}


def asked(said: str, *items: Any) -> list[Any]:
    """The input of a turn that begins with `said`."""
    return [{"role": "user", "content": f"<passages>\n{PASSAGES}\n</passages>\n\n{said}"}, *items]


async def test_the_client_s_typed_events_come_in_the_order_of_the_real_api(client: openai.AsyncOpenAI) -> None:
    stream: Any = await client.responses.create(**STATELESS, input="hello", instructions="You help.", stream=True)
    events = [event async for event in stream]
    assert [kind for kind, _ in itertools.groupby(event.type for event in events)] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    response = events[-1].response
    assert response.output_text == text
    assert text.startswith("Hello!")
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert response.output[0].encrypted_content
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens > 0


async def test_the_client_s_own_accumulator_agrees_with_the_stream(client: openai.AsyncOpenAI) -> None:
    async with client.responses.stream(
        **STATELESS, input=asked("Where are ORD-1001 and ORD-1002?"), tools=FLAT_TOOLS
    ) as stream:
        async for _ in stream:
            pass
        response = await stream.get_final_response()
    calls: list[Any] = [item for item in response.output if item.type == "function_call"]
    assert [(call.name, json.loads(call.arguments)["order_number"]) for call in calls] == [
        (ORDER, "ORD-1001"),
        (ORDER, "ORD-1002"),
    ]


async def test_an_answer_in_one_piece_is_the_same(client: openai.AsyncOpenAI) -> None:
    response = await client.responses.create(model=MODEL, input="hello")
    assert response.status == "completed"
    assert response.output_text.startswith("Hello!")
    assert [item.type for item in response.output] == ["message"], "nobody asked for reasoning"


async def test_a_whole_turn_replays_every_item_as_it_came(client: openai.AsyncOpenAI, stand_in: StandIn) -> None:
    conversation = asked("Where is ORD-1001?")
    first = await client.responses.create(**STATELESS, input=conversation, tools=FLAT_TOOLS)
    (call,) = [item for item in first.output if item.type == "function_call"]
    found = {"id": "ORD-1001", "status": "delivered", "parcels": []}
    replayed: Any = [item.model_dump(exclude_none=True) for item in first.output]
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(found)}
    second = await client.responses.create(**STATELESS, input=[*conversation, *replayed, result], tools=FLAT_TOOLS)
    assert "ORD-1001" in second.output_text
    assert [entry["by"] for entry in stand_in.requests] == ["rules", "rules"]


async def test_both_protocols_say_the_same(client: openai.AsyncOpenAI) -> None:
    question = "How do I send something back?"
    response = await client.responses.create(
        model=MODEL, instructions="You are the shop's assistant.", input=asked(question), tools=FLAT_TOOLS
    )
    tools: Any = TOOLS
    chat = await client.chat.completions.create(
        model=MODEL,
        messages=[
            {"role": "system", "content": "You are the shop's assistant."},
            *asked(question),
        ],
        tools=tools,
    )
    assert response.output_text == chat.choices[0].message.content != ""


async def test_a_model_that_may_not_call_answers_in_words(client: openai.AsyncOpenAI) -> None:
    response = await client.responses.create(
        model=MODEL, input=asked("Where is ORD-1001?"), tools=FLAT_TOOLS, tool_choice="none"
    )
    assert [item.type for item in response.output] == ["message"]


async def test_an_output_limit_makes_the_response_incomplete(client: openai.AsyncOpenAI) -> None:
    question = asked("Tell me all about returns")
    response = await client.responses.create(model=MODEL, input=question, max_output_tokens=16)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"


CALL = {"type": "function_call", "call_id": "c1", "name": ORDER, "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "{}"}
FOREIGN = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}


async def test_what_the_real_api_refuses_is_refused(session: aiohttp.ClientSession, stand_in: StandIn) -> None:
    table: list[tuple[dict[str, Any], int, str]] = [
        ({}, 400, "model"),
        ({"model": "any"}, 400, "input"),
        ({"model": "any", "messages": [{"role": "user", "content": "hi"}]}, 400, "moved to 'input'"),
        ({"model": "any", "input": "hi", "max_output_tokens": 5}, 400, "max_output_tokens"),
        ({"model": "any", "input": "hi", "previous_response_id": "resp_1"}, 400, "Previous response"),
        ({"model": "any", "input": "hi", "tools": TOOLS}, 400, "tools[0].name"),
        ({"model": "any", "input": [{"type": "poem"}]}, 400, "poem"),
        ({"model": "any", "input": [{"role": "user"}]}, 400, "input[0].content"),
        ({"model": "any", "input": asked("hi", RESULT)}, 400, "No tool call found"),
        ({"model": "any", "input": asked("hi", CALL)}, 400, "No tool output found"),
        ({"model": "any", "input": asked("hi", RESULT, CALL)}, 400, "No tool call found"),
        ({"model": "any", "input": asked("hi", CALL, RESULT, CALL, RESULT)}, 400, "Duplicate"),
        ({"model": "any", "input": asked("hi", FOREIGN, CALL, RESULT)}, 400, "could not be verified"),
        ({"model": "any", "input": asked("hi", {**FOREIGN, "encrypted_content": ""}, CALL, RESULT)}, 404, "not found"),
    ]
    misses = []
    for body, status, words in table:
        async with session.post(f"{stand_in.url}/responses", json=body) as response:
            if response.status != status or words not in (await response.json())["error"]["message"]:
                misses.append((body, status, words))
        if stand_in.requests[-1]["by"] != "refusal":
            misses.append((body, status, words))
    assert misses == []


async def test_reasoning_must_stand_before_what_came_of_it_and_the_other_way_round(
    session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    token = f"r{'0' * 24}"
    own = {**FOREIGN, "id": f"rs_{token}", "encrypted_content": sealed(token, stand_in.key)}
    call = {**CALL, "id": f"fc_{token}_1"}
    for items, words in (
        ([call, RESULT], "without its required 'reasoning' item"),
        ([own], "required following item"),
        ([own, {"role": "user", "content": "And?"}], "required following item"),
        ([{**own, "id": "rs_other"}, CALL, RESULT], "could not be verified"),
    ):
        assert words in await refused(session, stand_in, *items)
    assert await refused(session, stand_in, own, call, RESULT) == ""


async def refused(session: aiohttp.ClientSession, stand_in: StandIn, *items: Any) -> str:
    """Why the items are refused; empty if they are not."""
    body = {"model": "any", "input": asked("hi", *items)}
    async with session.post(f"{stand_in.url}/responses", json=body) as response:
        error = (await response.json())["error"] or {}
        return str(error.get("message", ""))


async def test_a_body_that_is_no_request_is_refused(session: aiohttp.ClientSession, stand_in: StandIn) -> None:
    table = ["", "[]", "not json", "{}", '{"model": "any", "input": 5}', '{"model": 1}']
    misses = []
    for body in table:
        async with session.post(f"{stand_in.url}/responses", data=body) as response:
            if response.status != 400:
                misses.append(body)
    assert misses == []


async def script(session: aiohttp.ClientSession, stand_in: StandIn, *rounds: Any) -> None:
    async with session.post(f"{stand_in.root}/_local/script", json={"rounds": list(rounds)}) as response:
        assert response.status == 200


async def test_scripted_rounds_serve_this_protocol_too(
    client: openai.AsyncOpenAI, session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    calls = [{"name": "one", "arguments": '{"broken": '}, {"name": "two", "arguments": {"a": 1}, "id": "mine"}]
    await script(session, stand_in, {"text": "wait", "calls": calls}, {"text": "half", "finish": "content_filter"})
    first: Any = await client.responses.create(model=MODEL, input="hello")
    assert (first.output[0].content[0].text, first.output[1].arguments) == ("wait", '{"broken": ')
    assert first.output[2].call_id == "mine"
    second: Any = await client.responses.create(model=MODEL, input="hello")
    assert second.incomplete_details.reason == "content_filter"
    assert [entry["by"] for entry in stand_in.requests] == ["script", "script"]


async def test_scripted_errors_cuts_and_raw_lines_serve_it_too(
    client: openai.AsyncOpenAI, session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    error = {"status": 429, "headers": {"Retry-After": "1"}, "body": "no"}
    await script(session, stand_in, {"error": error}, {"raw": ["data: nonsense", ""]}, {"text": "half an", "cut": True})
    with pytest.raises(openai.RateLimitError):
        await client.responses.create(model=MODEL, input="hello")
    body = {"model": MODEL, "input": "hello", "stream": True}
    async with session.post(f"{stand_in.url}/responses", json=body) as response:
        assert await response.text() == "data: nonsense\n\n"
    received: list[bytes] = []
    with pytest.raises(aiohttp.ClientPayloadError):
        await _receive(session, stand_in, body, received)
    assert b"half" in b"".join(received)
    assert b"response.completed" not in b"".join(received)


async def test_a_stalled_stream_is_silent_after_its_text(session: aiohttp.ClientSession, stand_in: StandIn) -> None:
    await script(session, stand_in, {"text": "wait", "stall": 600})
    body = {"model": MODEL, "input": "hello", "stream": True}
    async with session.post(f"{stand_in.url}/responses", json=body) as response:
        received = b""
        while b'"delta":"wait"' not in received:
            received += await response.content.readany()
        assert b"output_text.done" not in received


async def _receive(session: aiohttp.ClientSession, stand_in: StandIn, body: Any, into: list[bytes]) -> None:
    async with session.post(f"{stand_in.url}/responses", json=body) as response:
        async for block in response.content.iter_any():
            into.append(block)  # noqa: PERF401 - what came before the cut must be kept
