"""The adapter against a real server on loopback, through the openai client."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from bot.agent.events import TextDelta
from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolCall
from bot.agent.model import Finished, Model, ModelEvent, ModelFailure, ModelRequest
from bot.models.chat_completions import chat_messages
from bot.models.providers import Server, open_model
from tests.agent.desk import QUESTION, Counter, Desk, desk_tools
from tests.doubles.chat_server import DONE, ChatServer, Reply, chunk, open_chat_server, refuses, text
from tests.patience import patience

REQUEST = ModelRequest("model-1", "You are the desk.", (CustomerMessage("Where is my order?"),))


async def read(model: Model, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    """Everything a request brings."""
    async with aclosing(model.stream(request)) as events:
        return [event async for event in events]


async def failure(model: Model, request: ModelRequest = REQUEST) -> ModelFailure:
    """The failure a request ends in."""
    with pytest.raises(ModelFailure) as caught:
        await read(model, request)
    return caught.value


async def test_a_request_says_what_the_protocol_wants_and_the_reply_streams(server: ChatServer, model: Model) -> None:
    server.will(text("Hel", "lo"))
    tools = desk_tools(Counter())
    events = await read(model, replace(REQUEST, tools=tools, output_tokens=500))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello"
    assert events[-1] == Finished("stop")
    body = server.requests[0]
    assert (body["model"], body["stream"], body["max_tokens"]) == ("model-1", True, 500)
    assert body["stream_options"] == {"include_usage": True}
    assert body["messages"] == [
        {"role": "system", "content": "You are the desk."},
        {"role": "user", "content": "Where is my order?"},
    ]
    assert [tool["function"]["name"] for tool in body["tools"]] == [tool.name for tool in tools]
    assert body["tools"][0]["function"]["parameters"]["additionalProperties"] is False
    assert "tool_choice" not in body
    assert server.headers[0]["Authorization"] == "Bearer key-1"


async def test_a_request_that_may_not_call_keeps_its_tools_and_forbids_them(server: ChatServer, model: Model) -> None:
    server.will(text("Hello"))
    await read(model, replace(REQUEST, tools=desk_tools(Counter()), may_call=False))
    assert server.requests[0]["tool_choice"] == "none"
    assert len(server.requests[0]["tools"]) == 3


async def test_a_connection_is_used_again(server: ChatServer, model: Model) -> None:
    server.will(text("Hello"))
    for _ in range(3):
        await read(model)
    assert len(server.connections) == 1


async def test_an_end_that_does_not_come_holds_nobody_up(server: ChatServer, model: Model) -> None:
    server.will(Reply((chunk({"content": "Hello"}, "stop"), DONE), ending="stall"))
    async with asyncio.timeout(patience(2)):
        assert (await read(model))[-1] == Finished("stop")


async def test_a_refused_connection_is_a_model_out_of_reach() -> None:
    async with open_chat_server() as gone:
        url = gone.url
    async with open_model("model-1", Server("key-1", url)) as model:
        caught = await failure(model)
    assert (caught.kind, caught.retryable) == ("model_unreachable", True)


async def test_a_status_is_told_with_its_wait_and_the_client_does_not_retry(server: ChatServer, model: Model) -> None:
    server.will(refuses(429, {"message": "slow down", "code": "rate_limit_exceeded"}, Retry_After="1.5"))
    caught = await failure(model)
    assert (caught.kind, caught.retryable, caught.retry_after) == ("rate_limited", True, 1.5)
    assert len(server.requests) == 1


async def test_a_redirect_is_not_followed(server: ChatServer, model: Model) -> None:
    server.will(Reply(status=307, headers={"Location": "/v1/chat/completions"}), text("Hello"))
    assert (await failure(model)).kind == "refused_request"
    assert len(server.requests) == 1


async def test_a_reply_that_is_abandoned_is_closed(server: ChatServer, model: Model) -> None:
    server.will(Reply((chunk({"content": "Hello"}),), ending="stall"))
    async with aclosing(model.stream(REQUEST)) as events:
        assert await anext(events) == TextDelta("Hello")
    async with asyncio.timeout(patience(2)):
        await server.released.wait()


async def test_many_turns_share_one_model_and_none_mixes_with_another(server: ChatServer, model: Model) -> None:
    server.will(text(*(f"{number} " for number in range(50))))
    desks = [Desk() for _ in range(40)]
    outcomes = await asyncio.gather(*(desk.run(model) for desk in desks))
    assert {outcome.text for outcome in outcomes} == {"".join(f"{number} " for number in range(50))}
    assert all(desk.shown == outcome.text for desk, outcome in zip(desks, outcomes, strict=True))


def _asked(*messages: Message) -> ModelRequest:
    return ModelRequest("model-1", "", (QUESTION, *messages))


def test_what_a_model_left_for_itself_goes_back_to_it_and_to_no_other() -> None:
    asked = ToolCall("c1", "lookup_order", "{}", {"extra_content": {"google": {"thought_signature": "x"}}})
    wrote = AgentMessage("", (asked,), model="model-1", extra={"reasoning_details": [{"id": "r1"}]})
    (_, own) = chat_messages(_asked(wrote))
    (_, other) = chat_messages(ModelRequest("model-2", "", (QUESTION, wrote)))
    assert own["reasoning_details"] == [{"id": "r1"}]
    assert own["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "x"}}
    assert "reasoning_details" not in other
    assert "extra_content" not in other["tool_calls"][0]


def test_arguments_that_are_no_json_object_are_not_sent_back() -> None:
    broken = AgentMessage("", (ToolCall("c1", "lookup_order", '{"order_id": "OR'),))
    (_, line) = chat_messages(_asked(broken))
    assert line["tool_calls"][0]["function"]["arguments"] == "{}"


async def test_why_there_was_no_connection_is_said_in_the_right_words() -> None:
    async with open_model("m", Server("k", "http://127.0.0.1:9/v1?key=hunter2-query")) as model:
        caught = await failure(model)
    assert "Cannot connect to host 127.0.0.1:9" in str(caught)
    assert "hunter2" not in str(caught)
    async with open_model("m", Server("k", "http://model.invalid/v1")) as model:
        assert "Cannot connect to host model.invalid:80" in str(await failure(model))
