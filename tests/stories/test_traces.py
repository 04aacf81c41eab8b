"""Traces: what a collector gets of a whole answer, and what it doesn't."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
import pytest_asyncio
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from demo.ports import free_port
from tests.doubles.collector import Collector, TakenSpan, open_collector
from tests.stories.stage import Stage
from tests.stories.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

AT_ONCE = {"OTEL_BSP_SCHEDULE_DELAY": "100"}
ORDER = "Where is my order ORD-12345? I hope the marmalade survives."
KNOWN = {
    value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_") and isinstance(value, str)
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def collector() -> AsyncIterator[Collector]:
    async with open_collector() as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def traced(tmp_path_factory: pytest.TempPathFactory, stage: Stage, collector: Collector) -> AsyncIterator[World]:
    env = AT_ONCE | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
    }
    async with stage.open_world(tmp_path_factory.mktemp("traced"), env=env, pace=0.1) as opened:
        yield opened


async def test_a_whole_answer_is_one_trace(traced: World, collector: Collector) -> None:
    asked = await traced.customer.says(ORDER)
    assert "1Z999AA10123456784" in (await traced.customer.reads(asked)).text
    spans = await collector.trace(is_turn_of(asked.ts), lambda span: span.name.startswith("execute_tool"))
    (turn,) = (span for span in spans if not span.parent)
    assert (turn.name, turn.kind) == ("turn message", "SPAN_KIND_CONSUMER")
    assert turn.attributes["frontdesk.turn.reason"] == "answered"
    run = only(spans, "invoke_agent ")
    assert run.parent == turn.id
    assert run.attributes["frontdesk.run.ended"] == "answered"
    tools = [span for span in spans if span.name.startswith("execute_tool ")]
    rounds = [span for span in spans if span.name.startswith("chat ")]
    assert {span.parent for span in (*tools, *rounds)} == {run.id}
    assert len(rounds) >= 2
    assert {span.kind for span in rounds} == {"SPAN_KIND_CLIENT"}
    assert {span.kind for span in tools} == {"SPAN_KIND_INTERNAL"}
    assert all(span.attributes["gen_ai.usage.input_tokens"] for span in rounds)
    *looking, last = (span.attributes["gen_ai.response.finish_reasons"] for span in rounds)
    assert looking == [["tool_call"]] * len(looking)
    assert last == ["stop"]
    searches = [span for span in spans if span.name == "retrieval public"]
    assert turn.id in {span.parent for span in searches}
    calls = {span.name for span in spans if span.attributes.get("rpc.system.name") == "slack"}
    assert {"chat.startStream", "chat.stopStream"} <= calls


async def test_a_post_of_the_outbox_belongs_to_the_trace_of_its_turn(traced: World, collector: Collector) -> None:
    asked = await traced.customer.says("human please")
    await traced.customer.reads(asked)
    await traced.card_of(asked)
    spans = await collector.trace(is_turn_of(asked.ts), lambda span: span.name == "outbox post")
    (turn,) = (span for span in spans if not span.parent)
    posts = [span for span in spans if span.name == "outbox post"]
    assert {span.parent for span in posts} == {turn.id}
    sent = [span for span in spans if span.name == "chat.postMessage"]
    assert {span.parent for span in sent} <= {span.id for span in posts}
    assert sent


async def test_traces_hold_ids_and_numbers_alone(traced: World, collector: Collector) -> None:
    asked = await traced.customer.says(ORDER)
    answer = await traced.customer.reads(asked)
    await collector.trace(is_turn_of(asked.ts), lambda span: span.name.startswith("execute_tool"))
    told = json.dumps([[span.name, span.status_text, *map(str, span.attributes.items())] for span in collector.spans])
    words = {*ORDER.split()[3:], *answer.text.split(), "ORD-12345", "1Z999AA10123456784"}
    assert not [word for word in words if len(word) > 6 and word.strip("*_.,:") in told]
    assert sum(span.events for span in collector.spans) == 0, "an event holds an exception's text"


async def test_names_are_those_of_the_conventions(traced: World, collector: Collector) -> None:
    asked = await traced.customer.says(ORDER)
    await traced.customer.reads(asked)
    spans = await collector.trace(is_turn_of(asked.ts), lambda span: span.name.startswith("execute_tool"))
    names = {name for span in collector.spans for name in span.attributes if name.startswith("gen_ai.")}
    assert names <= KNOWN
    assert {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.tool.name"} <= names
    assert {span.resource["service.name"] for span in spans} == {"frontdesk"}
    assert {span.resource["deployment.environment.name"] for span in spans} == {"test"}
    assert collector.paths == {"/v1/traces"}


async def test_words_are_in_traces_only_if_a_setting_says_so(
    stage: Stage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with open_collector() as collector:
        env = AT_ONCE | {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        }
        async with stage.open_world(tmp_path_factory.mktemp("words"), env=env, pace=0.1) as world:
            asked = await world.customer.says(ORDER)
            await world.customer.reads(asked)
            spans = await collector.trace(is_turn_of(asked.ts), lambda span: span.name.startswith("execute_tool"))
    first, *_, last = (span for span in spans if span.name.startswith("chat "))
    assert "marmalade" in str(first.attributes["gen_ai.input.messages"])
    assert "1Z999AA10123456784" in str(last.attributes["gen_ai.output.messages"])
    tools = [span for span in spans if span.name.startswith("execute_tool ")]
    assert any("ORD-12345" in str(span.attributes["gen_ai.tool.call.arguments"]) for span in tools)


async def test_a_collector_that_is_away_costs_one_line_of_the_log(
    stage: Stage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    env = AT_ONCE | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "0.3",
        "OTEL_BSP_MAX_QUEUE_SIZE": "8",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "4",
    }
    async with stage.open_world(tmp_path_factory.mktemp("away"), env=env, pace=0.1) as world:
        for _ in range(3):
            asked = await world.customer.says(ORDER)
            assert "1Z999AA10123456784" in (await world.customer.reads(asked)).text
        lines = log_lines(world)
    about = [line for line in lines if "otel" in line["logger"] or "opentelemetry" in line["logger"]]
    assert [line["level"] for line in about] == ["warning"]


async def test_lines_of_the_log_name_the_trace_of_their_turn(traced: World, collector: Collector) -> None:
    asked = await traced.customer.says(ORDER)
    await traced.customer.reads(asked)
    spans = await collector.trace(is_turn_of(asked.ts))
    lines = log_lines(traced)
    assert spans[0].trace.hex() in {line.get("trace") for line in lines}
    (ready,) = (line for line in lines if line["message"] == "ready")
    assert "trace" not in ready


def log_lines(world: World) -> list[Any]:
    return [json.loads(line) for line in world.bot_log().splitlines() if line.startswith("{")]


def is_turn_of(ts: str) -> Callable[[TakenSpan], bool]:
    def is_turn(span: TakenSpan) -> bool:
        return span.name == "turn message" and str(span.attributes["gen_ai.conversation.id"]).endswith(ts)

    return is_turn


def only(spans: Sequence[TakenSpan], beginning: str) -> TakenSpan:
    (found,) = (span for span in spans if span.name.startswith(beginning))
    return found
