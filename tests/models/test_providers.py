"""Which adapter speaks with which model, and what it is sent."""

from contextlib import aclosing
from dataclasses import replace
from typing import Any, Literal

import pytest

from bot.agent.messages import CustomerMessage
from bot.agent.model import Finished, Model, ModelRequest
from bot.models.chat_completions import ChatCompletions
from bot.models.profile import Effort
from bot.models.providers import Api, Server, address_faults, chosen_api, open_model, output_limit, reasons, thinks
from bot.models.responses import Responses
from tests.doubles.chat_server import ChatServer, open_chat_server, text
from tests.doubles.responses_events import Response

OPENAI = Server("key-1")
EUROPE = Server("key-1", "https://eu.api.openai.com/v1")
AZURE = Server("key-1", "https://shop.openai.azure.com/openai/v1")
FOUNDRY = Server("key-1", "https://shop.services.ai.azure.com/openai/v1/")
CLASSIC = Server("key-1", "https://shop.openai.azure.com", azure_version="2025-04-01-preview")
GATEWAY = Server("key-1", "https://shop.azure-api.net", azure_version="2025-04-01-preview")
OTHER = Server("key-1", "http://127.0.0.1:11434/v1")
ALIKE = Server("key-1", "https://api.openai.com.example.org/v1")
REQUEST = ModelRequest("", "You are the desk.", (CustomerMessage("Hi"),))


def test_these_names_are_of_models_that_reason() -> None:
    table = [
        *("o1", "o3", "o4-mini", "o3-2025-04-16", "gpt-5", "gpt-5-mini-2025-08-07", "gpt-5.4-nano", "gpt-6.2-astra"),
        *("gpt-10", "GPT-5", "ft:o4-mini-2025-04-16:shop::1", "openai/gpt-5.6-sol"),
        *("gemini-3.8-flash", "models/gemini-2.5-pro", "gemini-flash-latest", "deepseek-v4-flash", "gpt-oss:20b"),
        *("claude-opus-5", "anthropic/claude-sonnet-5.5", "moonshotai/kimi-k2.5"),
    ]
    misses = [name for name in table if not reasons(name)]
    assert misses == []


def test_these_are_not_whatever_effort_is_set() -> None:
    table = [
        *("gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-3.5-turbo", "gpt-35-turbo", "gpt-5-chat-latest"),
        *("ft:gpt-4.1-mini-2025-04-14:shop::1", "openai/gpt-4o"),
    ]
    misses = [name for name in table if reasons(name, effort="high")]
    assert misses == []


def test_of_any_other_name_the_effort_tells() -> None:
    table = [
        "our-deployment",
        "llama3.2",
        "gemini-2.5-flash-lite",
        "claude-opus-4-8",
        "deepseek-chat",
        "o200",
        "frontdesk-offline",
    ]
    misses = [name for name in table if reasons(name) or not reasons(name, effort="low")]
    assert misses == []


def test_models_that_reason_speak_responses_where_it_is_whole() -> None:
    table = [
        (OPENAI, "chat", "responses"),
        (EUROPE, "chat", "responses"),
        (AZURE, "chat", "responses"),
        (FOUNDRY, "chat", "responses"),
        (CLASSIC, "chat", "chat"),
        (GATEWAY, "chat", "chat"),
        (OTHER, "chat", "chat"),
        (ALIKE, "chat", "chat"),
    ]
    misses = [
        (server, got)
        for server, talks, thinks in table
        if (got := (chosen_api(server, reasons=False), chosen_api(server, reasons=True))) != (talks, thinks)
    ]
    assert misses == []


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_an_api_that_was_set_is_the_one(api: Api) -> None:
    for url in (None, OTHER.url):
        for reasoning in (False, True):
            assert chosen_api(Server("key-1", url, api=api), reasons=reasoning) == api


def test_the_limit_of_a_reply_has_the_name_the_server_knows() -> None:
    table = [
        (OPENAI, "max_completion_tokens", "max_completion_tokens"),
        (EUROPE, "max_completion_tokens", "max_completion_tokens"),
        (AZURE, "max_tokens", "max_completion_tokens"),
        (CLASSIC, "max_tokens", "max_completion_tokens"),
        (OTHER, "max_tokens", "max_tokens"),
    ]
    misses = [
        (server, got)
        for server, talks, thinks in table
        if (got := (output_limit(server, reasons=False), output_limit(server, reasons=True))) != (talks, thinks)
    ]
    assert misses == []


def test_an_address_that_cannot_work_is_told() -> None:
    table = [
        (Server("k", "https://api.openai.com/v1/chat/completions"), "one request"),
        (Server("k", "http://127.0.0.1:8000/v1/responses/"), "one request"),
        (Server("k", "https://shop.openai.azure.com"), "/openai/v1"),
        (Server("k", "https://shop.openai.azure.com/openai/v1", azure_version="2024-10-21"), "no AZURE_API_VERSION"),
        (Server("k", "https://shop.openai.azure.com/openai/deployments/x", azure_version="2024-10-21"), "deployment"),
    ]
    misses = [(server, got) for server, words in table if words not in (got := "".join(address_faults(server)))]
    assert misses == []


def test_a_sound_address_is_none() -> None:
    table = [OPENAI, EUROPE, AZURE, FOUNDRY, CLASSIC, GATEWAY, OTHER]
    misses = [(server, got) for server in table if (got := address_faults(server)) != []]
    assert misses == []


async def sent(
    name: str, server: Server, chat_server: ChatServer, **more: Any
) -> tuple[type[Model], dict[str, Any], str, str]:
    """Ask once: the adapter that was opened, the body, where it went, and the header with the key."""
    chat_server.will(text("Hi"))
    async with open_model(name, server, **more) as model:
        if isinstance(model, Responses):
            chat_server.will(Response().says("Hi").ends())
        async with aclosing(model.stream(replace(REQUEST, model=name))) as events:
            assert [event async for event in events][-1] == Finished("stop")
    headers = chat_server.headers[-1]
    key = "api-key" if "api-key" in headers else headers["Authorization"].partition(" ")[0]
    return type(model), chat_server.requests[-1], chat_server.paths[-1], key


async def test_each_api_is_asked_at_its_own_address() -> None:
    async with open_chat_server() as other:
        adapter, body, path, key = await sent("llama3.2", Server("key-1", other.url), other)
        assert (adapter, path, key) == (ChatCompletions, "/v1/chat/completions", "Bearer")
        assert ("temperature" in body, "reasoning_effort" in body, body["max_tokens"]) == (False, False, 4_000)
        adapter, body, path, _ = await sent("gpt-5", Server("key-1", other.url, api="responses"), other)
        assert (adapter, path) == (Responses, "/v1/responses")
        assert (body["include"], "temperature" in body) == (["reasoning.encrypted_content"], False)


async def test_azures_classic_form_has_the_deployment_in_the_path_and_the_key_in_its_own_header() -> None:
    async with open_chat_server() as azure:
        server = Server("key-1", azure.url.removesuffix("/v1") + "/openai", azure_version="2024-10-21")
        _, body, path, key = await sent("our-deployment", server, azure)
        assert path == "/openai/deployments/our-deployment/chat/completions?api-version=2024-10-21"
        assert (key, body["max_tokens"], body["model"]) == ("api-key", 4_000, "our-deployment")
        server = Server(server.key, server.url, server.azure_version, api="responses")
        _, _, path, key = await sent("our-deployment", server, azure)
        assert (path, key) == ("/openai/responses?api-version=2024-10-21", "api-key")


@pytest.mark.parametrize(
    ("name", "effort", "temperature", "told"),
    [
        ("llama3.2", None, None, {}),
        ("llama3.2", None, 1.0, {"temperature": 1.0}),
        ("llama3.2", "low", 1.0, {"reasoning_effort": "low"}),
        ("gpt-4.1", "low", None, {}),
        ("gpt-5", None, 1.0, {}),
        ("gpt-5", "none", None, {"reasoning_effort": "minimal"}),
        ("gpt-5.1", "minimal", None, {"reasoning_effort": "none"}),
        ("gpt-5.1", "xhigh", None, {"reasoning_effort": "high"}),
        ("gpt-5-pro", "low", None, {"reasoning_effort": "high"}),
        ("gemini-3-flash-preview", "none", 1.0, {"reasoning_effort": "minimal"}),
        ("deepseek-v4-pro", None, None, {}),
    ],
)
async def test_effort_goes_to_models_that_reason_and_temperature_to_the_others(
    name: str, effort: Effort | None, temperature: float | None, told: dict[str, Any]
) -> None:
    async with open_chat_server() as other:
        server = Server("key-1", other.url)
        _, body, _, _ = await sent(name, server, other, effort=effort, temperature=temperature)
    assert {key: body[key] for key in ("temperature", "reasoning_effort") if key in body} == told
    assert body["max_tokens"] == (24_000 if thinks(name, effort=effort) else 4_000), "thinking has tokens of its own"


SAMPLING = ("temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "seed", "logit_bias")


@pytest.mark.parametrize("name", ["gpt-4.1-mini", "gpt-5", "claude-opus-4-8", "llama3.2"])
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_nothing_is_said_of_sampling_unless_the_operator_does(
    name: str, api: Literal["chat", "responses"]
) -> None:
    async with open_chat_server() as other:
        _, body, _, _ = await sent(name, Server("key-1", other.url, api=api), other)
        assert not {*SAMPLING} & {*body}
        _, body, _, _ = await sent(name, Server("key-1", other.url, api=api), other, temperature=0.7)
        assert body.get("temperature") == (0.7 if name in ("gpt-4.1-mini", "llama3.2") else None)


@pytest.mark.parametrize(
    ("name", "effort", "less"),
    [
        ("gpt-5", None, "low"),
        ("gpt-5", "high", "low"),
        ("gpt-5-mini-2025-08-07", "low", "minimal"),
        ("openai/gpt-5.1", "low", "none"),
        ("gpt-6-luna", "low", "none"),
        ("gpt-5.1-codex", "low", "low"),
        ("o4-mini", "low", "low"),
        ("o4-mini", "medium", "low"),
        ("qwen3", "low", "low"),
        ("gpt-6-luna", "none", "none"),
        ("llama3.2", None, None),
    ],
)
async def test_a_model_that_shall_think_less_gets_a_lower_effort_that_it_knows(
    name: str, effort: Effort | None, less: str | None
) -> None:
    async with open_chat_server() as other, open_model(name, Server("key-1", other.url), effort=effort) as model:
        other.will(text("Hi"))
        async with aclosing(model.stream(replace(REQUEST, model=name, thinks_less=True))) as events:
            assert [event async for event in events][-1] == Finished("stop")
    assert other.requests[-1].get("reasoning_effort") == less


async def test_no_other_variable_of_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.setenv(name, "stray")
    async with open_chat_server() as azure:
        server = Server("key-1", azure.url.removesuffix("/v1"), azure_version="2024-10-21")
        _, _, path, key = await sent("our-deployment", server, azure)
        assert (path.rpartition("=")[2], key, azure.headers[-1]["api-key"]) == ("2024-10-21", "api-key", "key-1")
