"""The adapter for the Responses API against a real server on loopback, through the openai client."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models
from bot.agent.events import TextDelta
from bot.agent.loop import run
from bot.agent.messages import (
    AgentMessage,
    CustomerMessage,
    Message,
    ToolCall,
    ToolResult,
    from_json,
    to_json,
)
from bot.agent.model import Finished, ModelEvent, ModelFailure, ModelRequest, Usage
from bot.agent.wording import RESPONSES_ITEMS
from bot.models.http_stream import open_client
from bot.models.profile import Manner
from bot.models.responses import Responses, input_items
from tests.agent.desk import CONTEXT, QUESTION, QUICK, Counter, Desk, desk_tools
from tests.agent.test_resuming import Crash, MemoryJournal
from tests.doubles.chat_server import ChatServer, Reply, refuses
from tests.doubles.responses_events import Response
from tests.patience import patience

REQUEST = ModelRequest("model-1", "You are the desk.", (CustomerMessage("Where is my order?", passages="Passages."),))
HELLO = Response().says("Hel", "lo").ends()
LOOK = Response().thinks(encrypted="gAAAA1").calls("lookup_order", {"order_id": "ORD-1"}).ends()
THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA1"}
STALE = refuses(400, {"code": "invalid_encrypted_content", "message": "could not be verified"})


@pytest.fixture
async def model(server: ChatServer) -> AsyncIterator[Responses]:
    async with open_client(api_key="key-1", base_url=server.url) as client:
        yield Responses(client, manner=Manner(reasons=True))


async def read(model: Responses, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    """Everything a request brings."""
    async with aclosing(model.stream(request)) as events:
        return [event async for event in events]


async def failure(model: Responses, request: ModelRequest = REQUEST) -> ModelFailure:
    """The failure a request ends in."""
    with pytest.raises(ModelFailure) as caught:
        await read(model, request)
    return caught.value


async def test_a_request_says_what_the_protocol_wants_and_the_reply_streams(
    server: ChatServer, model: Responses
) -> None:
    server.will(HELLO)
    tools = desk_tools(Counter())
    events = await read(model, replace(REQUEST, tools=tools, output_tokens=500))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello"
    assert events[-2:] == [Usage(70, 9, 20), Finished("stop")]
    body = server.requests[0]
    assert server.paths == ["/v1/responses"]
    assert (body["model"], body["stream"], body["store"], body["max_output_tokens"]) == ("model-1", True, False, 20_500)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["instructions"] == "You are the desk."
    assert body["input"] == [
        {"role": "user", "content": "<passages>\nPassages.\n</passages>\n\nWhere is my order?"},
    ]
    assert [(tool["type"], tool["name"], tool["strict"]) for tool in body["tools"]] == [
        ("function", tool.name, False) for tool in tools
    ]
    assert body["tools"][0]["parameters"]["additionalProperties"] is False
    assert not {"tool_choice", "temperature", "reasoning"} & set(body)
    assert server.headers[0]["Authorization"] == "Bearer key-1"


async def test_a_request_that_may_not_call_keeps_its_tools_and_forbids_them(
    server: ChatServer, model: Responses
) -> None:
    server.will(HELLO)
    await read(model, replace(REQUEST, tools=desk_tools(Counter()), may_call=False))
    assert (server.requests[0]["tool_choice"], len(server.requests[0]["tools"])) == ("none", 3)


@pytest.mark.parametrize(
    ("manner", "thinks_less", "sent"),
    [
        (Manner(), False, {}),
        (Manner(temperature=1.0), False, {"temperature": 1.0}),
        (Manner(reasons=True, temperature=1.0), False, {"include": ["reasoning.encrypted_content"]}),
        (
            Manner(reasons=True, effort="low"),
            False,
            {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}},
        ),
        (
            Manner(reasons=True, effort="high"),
            True,
            {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}},
        ),
    ],
)
async def test_a_model_is_asked_in_its_manner(
    server: ChatServer, manner: Manner, thinks_less: bool, sent: dict[str, Any]
) -> None:
    server.will(HELLO)
    async with open_client(api_key="key-1", base_url=server.url) as client:
        await read(Responses(client, manner=manner), replace(REQUEST, thinks_less=thinks_less))
    told = {
        name: server.requests[0][name] for name in ("temperature", "include", "reasoning") if name in server.requests[0]
    }
    assert told == sent


async def test_a_limit_that_the_protocol_refuses_is_raised(server: ChatServer) -> None:
    server.will(HELLO)
    async with open_client(api_key="key-1", base_url=server.url) as client:
        await read(Responses(client, manner=Manner()), replace(REQUEST, output_tokens=1))
    assert server.requests[0]["max_output_tokens"] == 16


async def test_a_connection_is_used_again(server: ChatServer, model: Responses) -> None:
    server.will(HELLO)
    for _ in range(3):
        await read(model)
    assert len(server.connections) == 1


async def test_an_end_that_does_not_come_holds_nobody_up(server: ChatServer, model: Responses) -> None:
    server.will(replace(HELLO, ending="stall"))
    async with asyncio.timeout(patience(2)):
        assert (await read(model))[-1] == Finished("stop")


async def test_a_reply_as_one_json_object_is_read(server: ChatServer, model: Responses) -> None:
    server.will(Response().says("Hello").as_json())
    assert await read(model) == [TextDelta("Hello"), Usage(70, 9, 20), Finished("stop")]


async def test_an_html_page_is_no_reply(server: ChatServer, model: Responses) -> None:
    server.will(Reply((b"<html><body>busy</body></html>",), headers={"Content-Type": "text/html"}))
    assert (await failure(model)).kind == "malformed"


@pytest.mark.parametrize("start", [(), tuple(HELLO.blocks[:5]), (b"data: {",)])
async def test_a_connection_that_drops_is_a_cut(server: ChatServer, model: Responses, start: tuple[bytes, ...]) -> None:
    server.will(Reply(start, ending="cut"))
    caught = await failure(model)
    assert caught.kind in ("cut", "model_unreachable")
    assert caught.retryable


async def test_an_end_without_the_response_s_end_is_a_cut(server: ChatServer, model: Responses) -> None:
    server.will(Response().says("Hel").breaks_off())
    assert (await failure(model)).kind == "cut"


async def test_a_status_is_told_with_its_wait_and_the_client_does_not_retry(
    server: ChatServer, model: Responses
) -> None:
    server.will(refuses(429, {"message": "slow down", "code": "rate_limit_exceeded"}, Retry_After="1.5"))
    caught = await failure(model)
    assert (caught.kind, caught.retryable, caught.retry_after) == ("rate_limited", True, 1.5)
    assert len(server.requests) == 1


async def test_a_server_without_the_protocol_refuses_once(server: ChatServer, model: Responses) -> None:
    server.will(refuses(404, {"message": "Not Found"}))
    assert (await failure(model)).kind == "refused_request"
    assert len(server.requests) == 1


async def test_a_reply_that_is_abandoned_is_closed(server: ChatServer, model: Responses) -> None:
    server.will(Reply(tuple(HELLO.blocks[:5]), ending="stall"))
    async with aclosing(model.stream(REQUEST)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    async with asyncio.timeout(patience(2)):
        await server.released.wait()


async def test_keep_alive_comments_are_no_progress(server: ChatServer, model: Responses) -> None:
    server.will(Reply(tuple(HELLO.blocks[:5]), ending="drip"))
    outcome = await Desk().run(model, limits=replace(QUICK, idle_seconds=patience(0.1), retries=0, continuations=0))
    assert (outcome.ended, outcome.reason, outcome.text) == ("failed", "deadline", "Hel")


async def test_a_whole_turn_sends_the_model_s_reasoning_back_with_its_call(
    server: ChatServer, model: Responses
) -> None:
    server.will(LOOK, Response().thinks(id="rs_2", encrypted="gAAAA2").says("It is ", "shipped.").ends())
    outcome = await Desk().run(model)
    assert (outcome.text, outcome.usage.input_tokens) == ("It is shipped.", 140)
    thought, call, result = server.requests[1]["input"][-3:]
    assert thought == THOUGHT
    assert call == {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "lookup_order",
        "arguments": '{"order_id":"ORD-1"}',
    }
    assert (result["type"], result["call_id"]) == ("function_call_output", "c1")
    assert '"status":"shipped"' in result["output"]


async def test_what_a_turn_stored_says_the_same_again(server: ChatServer, model: Responses) -> None:
    server.will(LOOK, Response().thinks(id="rs_2", encrypted="gAAAA2").says("Shipped.", phase="final_answer").ends())
    outcome = await Desk().run(model)
    stored = [from_json(json.loads(json.dumps(to_json(message)))) for message in outcome.messages]
    assert items(*stored) == items(*outcome.messages)
    thought, _, _, second_thought, answer = items(*stored)
    assert (thought, second_thought) == (THOUGHT, {**THOUGHT, "id": "rs_2", "encrypted_content": "gAAAA2"})
    assert answer == {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "final_answer",
        "content": [{"type": "output_text", "text": "Shipped.", "annotations": []}],
    }


async def test_a_turn_that_resumes_after_a_crash_sends_the_reasoning_back(server: ChatServer, model: Responses) -> None:
    server.will(LOOK, HELLO)
    journal = MemoryJournal("round-2")
    with pytest.raises(Crash):
        await Desk().run(model, journal=journal)
    journal.crash_at = ""
    server.requests.clear()
    server.will(HELLO)
    desk = Desk()
    assert (await desk.run(model, journal=journal)).text == "Hello"
    assert desk.counter.seen == []
    assert THOUGHT in server.requests[0]["input"]


async def test_another_model_never_sees_the_reasoning(server: ChatServer, model: Responses) -> None:
    server.will(LOOK, HELLO)
    first = Agent("triage", "Sort.", desk_tools(Counter()), tier="cheap")
    outcome = await run(
        Team((first,), entry="triage"),
        "",
        [QUESTION],
        models=Models(strong=(Endpoint("model-1", model),), cheap=(Endpoint("model-2", model),)),
        context=CONTEXT,
        passages="",
        emit=lambda event: None,
        limits=QUICK,
    )
    asked = ModelRequest("model-1", "", (QUESTION, *outcome.messages))
    assert all(item.get("type") != "reasoning" and "id" not in item for item in input_items(asked))
    assert input_items(replace(asked, model="model-2"))[1] == THOUGHT


async def test_reasoning_that_the_server_cannot_read_any_more_is_left_out(server: ChatServer, model: Responses) -> None:
    server.will(LOOK, STALE, HELLO)
    assert (await Desk().run(model)).text == "Hello"
    assert [item.get("type") for item in server.requests[1]["input"]] == [
        None,
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert server.requests[2]["input"][1] == {
        "type": "function_call",
        "call_id": "c1",
        "name": "lookup_order",
        "arguments": '{"order_id":"ORD-1"}',
    }
    assert all(item.get("type") != "reasoning" for item in server.requests[2]["input"])


async def test_without_reasoning_to_leave_out_such_a_refusal_is_a_refusal(server: ChatServer, model: Responses) -> None:
    server.will(STALE)
    assert (await failure(model)).kind == "refused_request"
    assert len(server.requests) == 1


async def test_many_turns_share_one_model_and_none_mixes_with_another(server: ChatServer, model: Responses) -> None:
    server.will(Response().says(*(f"{number} " for number in range(50))).ends())
    desks = [Desk() for _ in range(40)]
    outcomes = await asyncio.gather(*(desk.run(model) for desk in desks))
    assert {outcome.text for outcome in outcomes} == {"".join(f"{number} " for number in range(50))}


def items(*messages: Message, model: str = "model-1") -> list[dict[str, Any]]:
    """The messages as a request to the model that wrote them."""
    whole = input_items(ModelRequest(model, "", (QUESTION, *messages)))
    return [item for item in whole if item.get("role") != "user"]


def wrote(text: str = "", *calls: ToolCall, left: list[dict[str, Any]]) -> AgentMessage:
    return AgentMessage(text, calls, model="model-1", extra={RESPONSES_ITEMS: left})


CALL = ToolCall("c1", "lookup_order", "{}")


def test_a_reply_of_another_protocol_or_model_is_said_plainly() -> None:
    foreign = AgentMessage("Hi", (CALL,), model="model-1", extra={"reasoning_details": [{"id": "r1"}]})
    plain = [
        {"role": "assistant", "content": "Hi"},
        {"type": "function_call", "call_id": "c1", "name": "lookup_order", "arguments": "{}"},
    ]
    assert items(foreign) == plain
    assert items(wrote("Hi", CALL, left=[THOUGHT, {"type": "function_call", "id": "fc_1"}]), model="other") == plain


@pytest.mark.parametrize(
    "message",
    [
        wrote("Hi", left=[THOUGHT, {"type": "function_call", "id": "fc_1"}]),
        wrote("", CALL, left=[THOUGHT, {"type": "message", "id": "msg_1"}]),
        wrote("Hi", CALL, left=[THOUGHT, {"type": "function_call", "id": "fc_1"}]),
    ],
)
def test_reasoning_does_not_go_back_with_a_reply_that_was_changed_since(message: AgentMessage) -> None:
    assert all(item.get("type") != "reasoning" and "id" not in item for item in items(message))


def test_several_messages_of_a_reply_go_back_as_the_last_with_its_reasoning_alone() -> None:
    second = {**THOUGHT, "id": "rs_2"}
    message, last = {"type": "message", "id": "msg_1"}, {"type": "message", "id": "msg_2"}
    sent = items(wrote("One.\n\nTwo.", left=[THOUGHT, message, second, last]))
    assert [item["id"] for item in sent] == ["rs_2", "msg_2"]
    assert sent[1]["content"][0]["text"] == "One.\n\nTwo."


def test_a_phase_goes_back_without_reasoning() -> None:
    sent = items(wrote("Hi", left=[{"type": "message", "phase": "commentary"}]))
    assert sent == [{"type": "message", "role": "assistant", "content": "Hi", "phase": "commentary"}]


def test_an_id_that_begins_anew_in_a_later_turn_gets_a_number() -> None:
    turn = (AgentMessage("", (CALL,)), ToolResult("c1", "lookup_order", "{}"))
    ids = [item["call_id"] for item in items(*turn, CustomerMessage("And now?"), *turn) if "call_id" in item]
    assert ids == ["c1", "c1", "c1_2", "c1_2"]


def test_an_id_is_never_longer_than_the_protocol_allows() -> None:
    long = ToolCall("x" * 200, "lookup_order", "{}")
    turn = (AgentMessage("", (long,)), ToolResult(long.id, "lookup_order", "{}"))
    ids = [item["call_id"] for item in items(*turn, *turn)]
    assert [len(id_) for id_ in ids] == [64, 64, 64, 64]
    assert ids[0] == ids[1] != ids[2] == ids[3]


def test_arguments_that_are_no_json_object_are_not_sent_back() -> None:
    (item,) = items(AgentMessage("", (ToolCall("c1", "lookup_order", '{"order_id": "OR'),)))
    assert item["arguments"] == "{}"
