"""Fields that servers refuse, in their own words, and requests without them."""

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolCall, ToolResult
from bot.agent.model import Finished, Model, ModelEvent, ModelFailure, ModelRequest
from bot.models.families import accepted_effort, default_effort, end_of, family_of, refused_fields
from bot.models.profile import Effort
from bot.models.providers import Api, Server, open_model
from tests.agent.desk import Counter, desk_tools
from tests.doubles.chat_server import ChatServer, Reply, open_chat_server, refuses, text
from tests.doubles.responses_events import Response

REQUEST = ModelRequest("model-1", "You are the desk.", (CustomerMessage("Hi"),), tools=desk_tools(Counter()))
FASTAPI = b'{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs"}]}'
EXTRA = (
    b'[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs","input":true}]'
)
MISTRAL = b'{"object":"error","message":{"detail":%s},"type":"invalid_request_error","param":null,"code":null}' % EXTRA
MISTRAL_NOW = b'{"object":"Error","detail":%s,"message":%s,"type":"invalid_request_error","code":3001}' % (EXTRA, EXTRA)


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with open_chat_server() as opened:
        yield opened


async def ask(model: Model, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    async with aclosing(model.stream(request)) as events:
        return [event async for event in events]


@pytest.mark.parametrize(
    ("refusal", "field"),
    [
        (refuses(400, {"message": "`temperature` is deprecated for this model."}), "temperature"),
        (refuses(400, {"message": "Unsupported value.", "param": "temperature"}), "temperature"),
        (refuses(422, {"message": "Unknown field stream_options"}), "stream_options"),
        (Reply((FASTAPI,), 422, {"Content-Type": "application/json"}), "stream_options"),
        (Reply((MISTRAL,), 422, {"Content-Type": "application/json"}), "stream_options"),
        (Reply((MISTRAL_NOW,), 422, {"Content-Type": "application/json"}), "stream_options"),
        (refuses(400, {"message": "Unrecognized request argument supplied: reasoning_effort"}), "reasoning_effort"),
        (refuses(400, {"message": '"llama3.1:8b" does not support thinking'}), "reasoning_effort"),
        (refuses(400, {"message": "Budget 0 is invalid. This model only works in thinking mode."}), "reasoning_effort"),
        (refuses(400, {"message": "Thinking level is not supported: thinking_level"}), "reasoning_effort"),
        (refuses(400, {"message": "Model grok-4 does not support parameter reasoningEffort."}), "reasoning_effort"),
        (refuses(500, {"message": 'think value "low" is not supported for this model'}), "reasoning_effort"),
        (refuses(400, {"message": 'invalid reasoning value: \'low\' (must be "high" or "none")'}), "reasoning_effort"),
        (refuses(400, {"message": "Unsupported parameter: 'max_tokens'", "param": "max_tokens"}), "max_tokens"),
    ],
)
async def test_a_field_that_is_refused_is_left_out_once_and_for_all(
    server: ChatServer, refusal: Reply, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.will(refusal, text("Hello"))
    effort: Effort | None = "low" if field == "reasoning_effort" else None
    async with open_model("our-model", Server("k", server.url), effort=effort, temperature=0.5) as model:
        for _ in range(2):
            assert (await ask(model))[-1] == Finished("stop")
        assert list(model.dialect.left_out) == [field]
    with_it, without, again = server.requests
    assert field in with_it
    assert field not in without
    assert field not in again
    assert [record.msg for record in caplog.records if "refuses a field" in record.msg] == [caplog.records[-1].msg]


async def test_ids_of_calls_that_the_server_itself_made_and_refuses_are_replaced(server: ChatServer) -> None:
    words = "Tool call id was call_72d731dd but must be a-z, A-Z, 0-9, with a length of 9."
    server.will(refuses(400, {"message": words}), text("Hello"))
    calls = (ToolCall("call_72d731dd", "lookup_order", "{}"), ToolCall("abcDEF123", "lookup_order", "{}"))
    results = tuple(ToolResult(call.id, call.name, "Shipped.") for call in calls)
    asked = replace(REQUEST, messages=(*REQUEST.messages, AgentMessage("", calls, "orders", "model-1"), *results))
    async with open_model("our-model", Server("k", server.url)) as model:
        for _ in range(2):
            assert (await ask(model, asked))[-1] == Finished("stop")
        assert list(model.dialect.left_out) == ["tool_call_ids"]
    _, healed, again = server.requests
    asking, *found = healed["messages"][-3:]
    ids = [call["id"] for call in asking["tool_calls"]]
    assert ids == [line["tool_call_id"] for line in found]
    assert ids[1] == "abcDEF123"
    assert re.fullmatch("[a-zA-Z0-9]{9}", ids[0])
    assert again["messages"] == healed["messages"]


@pytest.mark.parametrize(
    "name",
    [
        *("mistral-large-latest", "mistral-medium-3-5", "mistral-medium-2508", "mistralai/mistral-small-2603"),
        *("ministral-8b-2410", "codestral-2508", "devstral-2512", "open-mistral-nemo", "pixtral-12b-2409"),
    ],
)
def test_models_of_mistrals_own_server_get_no_field_that_it_forbids(name: str) -> None:
    assert refused_fields(name) == {"stream_options", "tool_call_ids"}


@pytest.mark.parametrize(
    "name", ["mistral", "mistral-nemo:12b", "mistralai/Mistral-7B-Instruct-v0.3", "devstral-small-2507-q4_k_m"]
)
def test_models_of_mistral_elsewhere_are_asked_for_their_usage(name: str) -> None:
    assert refused_fields(name) == {"tool_call_ids"}


async def test_what_is_said_beside_calls_is_left_out_where_it_is_refused(server: ChatServer) -> None:
    words = "Assistant message must have either content or tool_calls, but not both."
    server.will(refuses(400, {"message": words}), text("Hello"))
    calls = (ToolCall("abcDEF123", "lookup_order", "{}"),)
    said = (AgentMessage("One moment.", calls, "orders", "our-model"), ToolResult("abcDEF123", "lookup_order", "{}"))
    asked = replace(REQUEST, messages=(*REQUEST.messages, *said))
    async with open_model("our-model", Server("k", server.url)) as model:
        assert (await ask(model, asked))[-1] == Finished("stop")
        assert list(model.dialect.left_out) == ["words_with_calls"]
    before, after = (request["messages"][-2] for request in server.requests)
    assert (before["content"], after["content"]) == ("One moment.", None)
    assert after["tool_calls"] == before["tool_calls"]


async def test_a_limit_goes_by_its_other_name(server: ChatServer) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    server.will(refuses(400, {"message": words, "param": "max_tokens"}), text("Hello"))
    async with open_model("our-model", Server("k", server.url)) as model:
        await ask(model)
    assert server.requests[1]["max_completion_tokens"] == server.requests[0]["max_tokens"]


async def test_a_limit_whose_use_is_refused_goes_by_its_other_name(server: ChatServer) -> None:
    words = "Unsupported parameter: 'max_tokens'. It must be replaced with 'max_completion_tokens'."
    server.will(refuses(400, {"message": words, "param": "max_tokens"}), text("Hello"))
    async with open_model("our-model", Server("k", server.url)) as model:
        await ask(model)
    assert server.requests[1]["max_completion_tokens"] == server.requests[0]["max_tokens"]


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 4000. This model supports at most 2048 completion tokens.",
        "Invalid 'max_tokens': integer above maximum value. Expected <= 2048.",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 2048]. It must be in that range.",
        "`max_tokens` must be less than or equal to `2048`, the maximum value for `max_tokens` of this model",
        "max_tokens (4000) exceeds model's maximum output tokens (2048) for model deepseek-v4-flash:0731",
        "The maximum tokens you requested exceeds the model limit of 2048.",
    ],
)
async def test_a_limit_beyond_the_servers_own_is_lowered_to_it(server: ChatServer, words: str) -> None:
    server.will(refuses(400, {"message": words}), text("Hello"))
    asked = replace(REQUEST, output_tokens=4_000)
    async with open_model("our-model", Server("k", server.url)) as model:
        for _ in range(2):
            assert (await ask(model, asked))[-1] == Finished("stop")
        assert list(model.dialect.left_out) == ["output_tokens"]
    assert [body["max_tokens"] for body in server.requests] == [4_000, 2_048, 2_048]


@pytest.mark.parametrize(
    "words",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 24000. This model's maximum context length is 16384 "
        "tokens and your request has 2000 input tokens (24000 > 16384 - 2000).",
        "This model's maximum context length is 16384 tokens. However, you requested 26000 tokens (2000 in the "
        "messages, 24000 in the completion). Please reduce the length of the messages or completion.",
    ],
)
async def test_a_limit_without_room_beside_the_input_is_halved_until_little_is_left(
    server: ChatServer, words: str
) -> None:
    refusal = refuses(400, {"message": words})
    server.will(refusal, text("Hello"), *[refusal] * 9)
    asked = replace(REQUEST, output_tokens=4_000)
    async with open_model("our-model", Server("k", server.url), effort="low") as model:
        assert (await ask(model, asked))[-1] == Finished("stop")
        with pytest.raises(ModelFailure, match="context_length"):
            await ask(model, asked)
    assert [body["max_tokens"] for body in server.requests] == [24_000, 12_000, 12_000, 6_000, 3_000]


OF_ANOTHER = replace(
    REQUEST,
    messages=(
        *REQUEST.messages,
        AgentMessage("", (ToolCall("abcDEF123", "lookup_order", "{}"),), "orders", "another-model"),
        ToolResult("abcDEF123", "lookup_order", "{}"),
    ),
)


async def test_calls_of_another_model_get_the_mark_that_gemini_wants(server: ChatServer) -> None:
    words = "Function call is missing a thought_signature in functionCall parts."
    server.will(refuses(400, {"message": words, "status": "INVALID_ARGUMENT"}), text("Hello"))
    async with open_model("our-model", Server("k", server.url)) as model:
        assert (await ask(model, OF_ANOTHER))[-1] == Finished("stop")
        assert list(model.dialect.left_out) == ["unsigned_calls"]
    calls = [body["messages"][-2]["tool_calls"][0].get("extra_content") for body in server.requests]
    assert calls == [None, {"google": {"thought_signature": "skip_thought_signature_validator"}}]


@pytest.mark.parametrize(
    "words",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ],
)
async def test_calls_of_another_model_get_thoughts_where_a_server_wants_them(server: ChatServer, words: str) -> None:
    server.will(refuses(400, {"message": words}), text("Hello"))
    async with open_model("our-model", Server("k", server.url)) as model:
        assert (await ask(model, OF_ANOTHER))[-1] == Finished("stop")
        assert list(model.dialect.left_out) == ["calls_without_thoughts"]
    assert ["reasoning_content" in body["messages"][-2] for body in server.requests] == [False, True]


@pytest.mark.parametrize("message", ["System role not supported", "The server had an error"])
async def test_a_server_that_refuses_with_a_fault_of_its_own_is_read_too(server: ChatServer, message: str) -> None:
    server.will(refuses(500, {"message": message}), text("Hello"))
    async with open_model("our-model", Server("k", server.url)) as model:
        if message.startswith("System"):
            assert (await ask(model))[-1] == Finished("stop")
        else:
            with pytest.raises(ModelFailure, match="model_unreachable"):
                await ask(model)


BAD_SCHEMA = {
    "message": "Invalid schema for function 'lookup_order': In context=('properties', 'a'), 'uri' is no valid format.",
    "param": "tools[0].function.parameters",
    "code": "invalid_function_parameters",
}


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_schema_that_strict_mode_refuses_is_sent_without_the_mode(server: ChatServer, api: Api) -> None:
    server.will(refuses(400, BAD_SCHEMA), Response().says("Hello").ends() if api == "responses" else text("Hello"))
    async with open_model("gpt-6-luna", Server("k", server.url, api=api)) as model:
        assert (await ask(model))[-1] == Finished("stop")
        assert list(model.dialect.left_out) == ["strict"]


NO_CHOICE = refuses(400, {"message": "Unknown parameter: 'tool_choice'.", "param": "tool_choice"})
CALLED = (
    CustomerMessage("Hi"),
    AgentMessage("", calls=(ToolCall("call-1", "lookup_order", "{}"),)),
    ToolResult("call-1", "lookup_order", "{}"),
)


@pytest.mark.parametrize(("messages", "has_tools"), [(REQUEST.messages, False), (CALLED, True)])
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_without_a_choice_of_tools_the_last_round_has_those_of_earlier_calls_only(
    server: ChatServer, api: Api, messages: tuple[Message, ...], has_tools: bool
) -> None:
    server.will(NO_CHOICE, *[Response().says("Hello").ends() if api == "responses" else text("Hello")] * 2)
    last = replace(REQUEST, messages=messages, may_call=False)
    async with open_model("our-model", Server("k", server.url, api=api)) as model:
        assert (await ask(model, last))[-1] == Finished("stop")
        assert (await ask(model))[-1] == Finished("stop")
    refused, healed, open_round = server.requests
    assert refused["tool_choice"] == "none"
    assert "tool_choice" not in healed
    assert ("tools" in healed) is has_tools
    assert "tools" in open_round


async def test_instructions_begin_the_first_message_where_the_system_has_no_role(server: ChatServer) -> None:
    server.will(refuses(400, {"message": "System role not supported"}), text("Hello"))
    async with open_model("gemma", Server("k", server.url)) as model:
        await ask(model)
    assert server.requests[1]["messages"] == [
        {"role": "user", "content": "<instructions>\nYou are the desk.\n</instructions>\n\nHi"}
    ]


async def test_tools_that_are_taken_without_thinking_only_are_sent_with_none(server: ChatServer) -> None:
    words = (
        "Function tools with reasoning_effort are not supported. Use /v1/responses or set reasoning_effort to 'none'."
    )
    server.will(refuses(400, {"message": words, "param": "reasoning_effort"}), text("Hello"))
    async with open_model("gpt-5.4", Server("k", server.url), effort="high") as model:
        await ask(model)
    assert [body["reasoning_effort"] for body in server.requests] == ["high", "none"]


ONLY_NONE = refuses(400, {"message": "Tools need reasoning_effort 'none'.", "param": "reasoning_effort"})
NOT_NONE = refuses(400, {"message": "Unsupported value: reasoning_effort 'none'.", "param": "reasoning_effort"})


async def test_an_effort_of_none_that_is_refused_too_is_left_out(server: ChatServer) -> None:
    server.will(ONLY_NONE, NOT_NONE, text("Hello"), text("Hello"))
    async with open_model("our-model", Server("k", server.url), effort="high") as model:
        for _ in range(2):
            assert (await ask(model))[-1] == Finished("stop")
    assert [body.get("reasoning_effort") for body in server.requests] == ["high", "none", None, None]


async def test_a_chosen_effort_of_none_that_is_refused_is_left_out(server: ChatServer) -> None:
    server.will(NOT_NONE, text("Hello"))
    async with open_model("our-model", Server("k", server.url), effort="none") as model:
        assert (await ask(model))[-1] == Finished("stop")
    assert [body.get("reasoning_effort") for body in server.requests] == ["none", None]


async def test_a_server_that_refuses_tools_with_and_without_an_effort_is_not_asked_for_ever(server: ChatServer) -> None:
    server.will(*[ONLY_NONE] * 5)
    async with open_model("our-model", Server("k", server.url), effort="high") as model:
        with pytest.raises(ModelFailure):
            await ask(model)
    assert [body.get("reasoning_effort") for body in server.requests] == ["high", "none", None]


async def test_the_responses_api_is_healed_too(server: ChatServer) -> None:
    server.will(
        refuses(400, {"message": "Unknown parameter: 'include'.", "param": "include"}),
        refuses(400, {"message": "Unknown parameter: 'tools[0].strict'.", "param": "tools[0].strict"}),
        Response().says("Hello").ends(),
    )
    async with open_model("gpt-5", Server("k", server.url, api="responses")) as model:
        assert (await ask(model))[-1] == Finished("stop")
    assert "include" not in server.requests[2]
    assert all("strict" not in tool for tool in server.requests[2]["tools"])


@pytest.mark.parametrize(
    "error",
    [
        {"message": "max_tokens is too large: the maximum context length is 4096 tokens", "param": "max_tokens"},
        {"message": "max_tokens is too large: this model supports fewer.", "param": "max_tokens"},
        {"message": "Invalid 'max_tokens': integer below minimum value. Expected >= 16.", "param": "max_tokens"},
        {"message": "Please include a question in your store of words.", "param": None},
        {"message": "Invalid schema for function 'lookup_order'", "param": "tools[0].function.parameters"},
        {"message": "The model `x` does not exist", "param": "model"},
    ],
)
async def test_a_refusal_of_anything_else_is_a_failure_at_once(server: ChatServer, error: dict[str, Any]) -> None:
    server.will(refuses(400, error), text("Hello"))
    async with open_model("our-model", Server("k", server.url), temperature=0.5) as model:
        with pytest.raises(ModelFailure):
            await ask(model)
        assert model.dialect.left_out == {}
    assert len(server.requests) == 1


async def test_a_server_that_refuses_for_ever_is_not_asked_for_ever(server: ChatServer) -> None:
    server.will(refuses(400, {"message": "temperature, stream_options, max_tokens, max_completion_tokens"}))
    async with open_model("our-model", Server("k", server.url), temperature=0.5) as model:
        with pytest.raises(ModelFailure):
            await ask(model)
        assert set(model.dialect.left_out) == {"temperature", "stream_options", "max_tokens", "max_completion_tokens"}
    assert len(server.requests) == 5


def test_families_are_told_by_name() -> None:
    table = [
        ("gpt-6-luna", "minimal", "none"),
        ("openai/gpt-6-sol-2026-09-22", "minimal", "none"),
        ("gpt-6.1-sol", "none", "low"),
        ("gpt-6.1-terra", "none", "none"),
        ("gpt-6-astra", "none", "low"),
        ("gpt-5-mini", "none", "minimal"),
        ("o4-mini", "none", "low"),
        ("gpt-5.4", "max", "xhigh"),
        ("qwen3", "minimal", "minimal"),
        ("gpt-6-luna", "high", "high"),
        ("mistral-small-2603", "medium", "high"),
        ("magistral-small-latest", "minimal", "none"),
    ]
    assert [(name, effort, accepted_effort(name, effort)) for name, effort, _ in table] == table  # type: ignore[arg-type]
    refuse = (
        "us.anthropic.claude-opus-4-7-20260416-v1:0",
        "claude-opus-4-7",
        "claude-opus-4.8",
        "anthropic/claude-sonnet-5",
        "claude-haiku-5-5",
        "o4-mini",
    )
    assert all("temperature" in refused_fields(name) for name in refuse)
    take = ("claude-sonnet-4-5", "claude-opus-4-20250514", "claude-3-5-haiku", "gpt-4.1", "qwen3")
    assert not any(refused_fields(name) for name in take)
    assert family_of("mistrals-cousin") is None


def test_the_last_day_of_a_model_is_that_of_its_dated_and_fine_tuned_names() -> None:
    names = ("gpt-5-mini", "openai/gpt-5-2025-08-07", "ft:gpt-4.1-mini-2025-04-14:shop", "gpt-4-turbo", "gpt-6-luna")
    assert [str(end_of(name)) for name in names] == ["2026-12-11", "2026-12-11", "2027-01-14", "2026-10-23", "None"]


def test_the_default_model_does_not_think_unless_a_setting_says_so() -> None:
    assert default_effort("gpt-6-luna", None) == "none"
    assert default_effort("gpt-6-luna", "high") == "high"
    assert default_effort("gpt-6-sol", None) is None
