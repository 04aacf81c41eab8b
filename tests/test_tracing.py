"""Traces: off by default, the packages they need, and what they show of a model's failure."""

import subprocess
import sys
from collections.abc import AsyncGenerator

import pytest

from bot import tracing
from bot.agent.model import ModelEvent, ModelFailure, ModelRequest, Thinking
from bot.errors import ConfigurationError
from bot.integrations import open_models, open_traces
from bot.models.prices import load_prices
from bot.models.providers import Server
from bot.models.traced import TracedModel
from bot.otel import open_tracing
from bot.settings import load_settings
from tests.doubles.collector import Collector, open_collector

IMPORTS = (
    "import sys, bot.cli.main, bot.app, handlers; print(*(name for name in sys.modules if 'opentelemetry' in name))"
)
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
REQUEST = ModelRequest("gpt-6-luna", "Be kind.", ())


class Failing:
    """A model that is never there. Its failure quotes the customer."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if request.model:
            raise ModelFailure("rate_limited", "marmalade")
        yield Thinking()


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")


async def spans_of(collector: Collector, model: TracedModel) -> None:
    async with open_tracing(collector.url, role="serve", keeps_words=False):
        with tracing.span("turn message"), pytest.raises(ModelFailure):
            async for _ in model.stream(REQUEST):
                pass


def test_the_product_imports_nothing_of_opentelemetry() -> None:
    """Chroma does when it is loaded, for itself."""
    run = subprocess.run([sys.executable, "-P", "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


async def test_without_a_collector_nothing_is_measured() -> None:
    async with open_traces(load_settings({}), "serve"):
        assert not tracing.is_on()
        assert tracing.traceparent() is None
        with tracing.span("turn message") as span:
            span.add_words("gen_ai.input.messages", pytest.fail)
    async with open_models(load_settings({"OPENAI_API_KEY": "1"}), load_prices(None)) as models:
        assert not isinstance(models.strong[0].model, TracedModel)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "bot.otel")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigurationError) as refused:
        open_traces(load_settings(ENDPOINT), "serve")
    assert "pip install frontdesk[otel]" in str(refused.value)


async def test_a_failed_request_shows_its_kind_and_not_its_text() -> None:
    async with open_collector() as collector:
        await spans_of(collector, TracedModel(Failing(), Server("key", "https://api.mistral.ai/v1")))
        chat, turn = await collector.trace(lambda span: span.name == "turn message")
    assert chat.name == "chat gpt-6-luna"
    assert chat.parent == turn.id
    assert chat.is_error
    assert chat.attributes["error.type"] == "rate_limited"
    assert chat.attributes["gen_ai.provider.name"] == "mistral_ai"
    assert chat.attributes["server.address"] == "api.mistral.ai"
    assert chat.attributes["server.port"] == 443
    assert not chat.status_text
    assert "marmalade" not in str(collector.spans)


async def test_a_trace_continues_where_its_parent_says() -> None:
    async with open_collector() as collector:
        async with open_tracing(collector.url, role="serve", keeps_words=False):
            with tracing.span("turn message"):
                place = tracing.traceparent()
            assert tracing.traceparent() is None
            with tracing.span("outbox post", parent=place):
                pass
            with tracing.span("auth.test", inside=True):
                pass
        first, second = await collector.trace(lambda span: span.name == "outbox post")
    assert second.parent == first.id
    assert len(collector.spans) == 2, "a call outside of a trace is not measured"


@pytest.mark.parametrize(
    ("address", "provider"),
    [
        (None, "openai"),
        ("https://shop.openai.azure.com/openai/v1", "azure.ai.openai"),
        ("https://api.x.ai/v1", "x_ai"),
        ("https://notx.ai/v1", "openai"),
        ("http://127.0.0.1:8000/v1", "openai"),
    ],
)
async def test_the_provider_is_named_by_its_host(address: str | None, provider: str) -> None:
    async with open_collector() as collector:
        await spans_of(collector, TracedModel(Failing(), Server("key", address)))
        chat, _ = await collector.trace(lambda span: span.name == "turn message")
    assert chat.attributes["gen_ai.provider.name"] == provider
