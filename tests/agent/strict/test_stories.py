"""Every kind of request, told to servers that each keep one family's rules: none may end in a failure."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models
from bot.agent.loop import Outcome, run
from bot.agent.messages import (
    AgentMessage,
    CustomerMessage,
    Image,
    Message,
    StaffMessage,
    SystemNote,
    ToolCall,
    ToolResult,
)
from bot.agent.patterns import Terms, brainstorm, concurrent, handoff, magentic, sequential, single
from bot.desk.danger.asking import build_sorter
from bot.desk.prompts import compose
from bot.desk.rewriting import build_rewriter
from bot.desk.summing_up import as_note, build_summarizer, transcript
from bot.desk.team import build_checker
from bot.desk_file.model import DeskFile
from bot.learning.suggestions import build_learners
from bot.models.images import UNSEEN
from bot.models.providers import Server, open_model
from tests.agent.desk import CONTEXT, Counter, desk_tools
from tests.agent.strict.server import CUT, FAMILIES, SHIPPED, Family, StrictServer, open_strict_server
from tests.agent.test_patterns import LEAD, Room, shares

IMAGES = (Image("image/png", "UE5H", 3, 2),)
WHERE = CustomerMessage("Where is ORD-1?", speaker="U0CUSTOMERA", images=IMAGES)
LONG: list[Message] = [
    SystemNote(as_note("They asked about ORD-7.")),
    CustomerMessage("Hello", speaker="U0CUSTOMERA"),
    AgentMessage("Hello!", agent="triage"),
    CustomerMessage("I want a person", speaker="U0CUSTOMERA"),
    AgentMessage(
        "One moment.",
        (ToolCall("call_of_another_provider_1", "escalate_to_human", '{"reason":"x"}'),),
        "orders",
        "other",
    ),
    ToolResult("call_of_another_provider_1", "escalate_to_human", "A person takes over."),
    StaffMessage("I look into it.", speaker="U0AGENTA"),
    StaffMessage("It left today.", speaker="U0AGENTA"),
    SystemNote("The case is closed. The assistant answers again."),
    CustomerMessage("Thanks", speaker="U0CUSTOMERA"),
    CustomerMessage("And another thing", speaker="U0CUSTOMERB"),
    SystemNote("Before the customer edited this message, this was done for it."),
    WHERE,
]
"""A conversation with everything that can be in one."""


@pytest.fixture(params=FAMILIES, ids=lambda family: family.name)
async def strict(request: pytest.FixtureRequest) -> AsyncIterator[StrictServer]:
    family: Family = request.param
    async with open_strict_server(family) as server:
        yield server


@pytest.fixture
async def terms(strict: StrictServer) -> AsyncIterator[Terms]:
    family = strict.family
    server = Server("key-1", strict.url, api=family.api)  # type: ignore[arg-type]
    async with open_model(family.model, server, **family.settings) as model:
        dialect = model.dialect
        endpoint = Endpoint(family.model, model, left_out=dialect.left_out, takes_images=lambda: dialect.takes_images)
        room = Room()
        yield Terms(Models((endpoint,)), CONTEXT, room.events.append, room.terms(model).limits, "Passages.")


def assert_answered(outcome: Outcome, text: str = SHIPPED) -> None:
    assert (outcome.ended, outcome.text.strip()) == ("answered", text), outcome.reason


@pytest.mark.parametrize("history", [[WHERE], LONG], ids=["first", "long"])
async def test_a_whole_answer(strict: StrictServer, terms: Terms, history: list[Message]) -> None:
    assert_answered(await single(Room().team, "orders", history, terms=terms))
    assert strict.taken


async def test_a_forced_end(terms: Terms) -> None:
    outcome = await single(
        Room().team, "orders", [CustomerMessage("Where is it, for ever?", images=IMAGES)], terms=terms
    )
    assert_answered(outcome)
    assert outcome.forced


async def test_a_forced_end_of_a_single_round(terms: Terms) -> None:
    limits = replace(terms.limits, rounds=1)
    assert_answered(await single(Room().team, "orders", LONG, terms=replace(terms, limits=limits)))


async def test_a_continuation(terms: Terms) -> None:
    said = CustomerMessage(CUT, speaker="U0CUSTOMERA", images=IMAGES)
    assert_answered(await single(Room().team, "orders", [*LONG[:-1], said], terms=terms))


@pytest.mark.parametrize("history", [[WHERE], LONG], ids=["first", "long"])
async def test_a_handover(terms: Terms, history: list[Message]) -> None:
    outcome = await handoff(Room().team, "triage", history, terms=terms)
    assert_answered(outcome)
    assert outcome.agent == "orders"


async def test_a_summary(terms: Terms) -> None:
    team = build_summarizer(shop_name="Fernwick")
    outcome = await run(
        team,
        team.entry,
        [SystemNote(as_note("They asked.")), CustomerMessage(transcript(LONG))],
        models=terms.models,
        context=CONTEXT,
        passages="",
        emit=terms.emit,
        limits=terms.limits,
    )
    assert_answered(outcome)


@pytest.mark.parametrize("said", [[WHERE], LONG, LONG[:-1], LONG[:3]], ids=["first", "long", "note", "answered"])
async def test_drafts(terms: Terms, said: list[Message]) -> None:
    room = Room()
    drafts = await brainstorm(room.team, "answers", said, ["Be warm.", "Be short."], terms=terms)
    assert drafts.texts == (SHIPPED,), drafts.reason


async def test_a_check(terms: Terms) -> None:
    checker = build_checker(desk=DeskFile(shop="Fernwick"))
    outcome = await sequential(Room().team, "orders", LONG, terms=terms, checker=checker)
    assert_answered(outcome)
    assert len(outcome.messages) == 3


@pytest.mark.parametrize(
    "team",
    [build_rewriter(shop_name="Fernwick"), build_sorter(shop_name="Fernwick"), build_learners("Fernwick")],
    ids=lambda team: str(team.entry),
)
async def test_what_works_behind_the_answers(terms: Terms, team: Team) -> None:
    outcome = await run(
        team,
        team.entry,
        [CustomerMessage(transcript(LONG))],
        models=terms.models,
        context=CONTEXT,
        passages="",
        emit=terms.emit,
        limits=terms.limits,
    )
    assert outcome.ended == "answered", outcome.reason


async def test_an_image_arrives_or_the_model_reads_that_there_was_one(strict: StrictServer, terms: Terms) -> None:
    assert_answered(await single(Room().team, "orders", [WHERE], terms=terms))
    takes = terms.models.take_images()
    sees = ("images", "gpt-6", "gateway-responses", "no-prefill", "mistral-itself", "mistral-long-ids", "gemini-3")
    assert takes == (strict.family.name in sees)
    for body in map(str, strict.taken):
        assert (IMAGES[0].base64 in body, UNSEEN in body) == (takes, not takes)


async def test_several_questions_at_once(terms: Terms) -> None:
    room = Room()
    asked = shares(room, "Where is ORD-1?", "Where is ORD-2?")
    outcome = await concurrent(room.team, "orders", LONG, asked, terms=terms)
    assert_answered(outcome, f"{SHIPPED}\n\n{SHIPPED}")


async def test_a_lead(terms: Terms) -> None:
    assert_answered(await magentic(Room().team, "", LONG, terms=terms, lead=LEAD))


async def test_only_what_is_refused_is_left_out_and_each_field_is_refused_once(
    strict: StrictServer, terms: Terms
) -> None:
    for _ in range(3):
        assert_answered(await single(Room().team, "orders", [WHERE], terms=terms))
    left_out = {
        "alternation": {"system"},
        "no-temperature": {"temperature"},
        "no-prefill": {"temperature", "top_p"},
        "no-minimal": {"reasoning_effort"},
        "responses": {"reasoning"},
        "unknown-fields": {"reasoning_effort", "stream_options"},
        "gateway": {"reasoning_effort", "stream_options", "prompt_cache_key", "prompt_cache_breakpoint", "images"},
        "gateway-responses": {"prompt_cache_key", "prompt_cache_breakpoint"},
        "content-of-words": {"images"},
        "images-refused": {"images"},
        "images-refused-by-500": {"images"},
        "images-refused-by-responses": {"images"},
        "mistral-itself": {"stream_options", "tool_call_ids"},
        "mistral-unnamed": {"stream_options", "reasoning_effort"},
        "mistral-long-ids": {"tool_call_ids"},
        "mistral-nemo": {"tool_call_ids"},
        "gemini-3": {"unsigned_calls"},
        "deepseek-v4": {"calls_without_thoughts", "output_tokens"},
        "ollama": {"reasoning_effort", "images"},
        "small-window": {"output_tokens"},
        "everything": {"system", "stream_options", "temperature", "images"},
    }
    assert {*terms.models.strong[0].left_out} == left_out.get(strict.family.name, set())
    learns = ("gateway", "gateway-responses", "gemini-3", "deepseek-v4")
    known = strict.family.model != "our-model" and strict.family.name not in learns
    assert len(strict.refused) == (0 if known else len(left_out.get(strict.family.name, set())))


async def test_the_real_prompts_are_taken(terms: Terms) -> None:
    team = Team((Agent("orders", compose("orders", shop_name="Fernwick"), desk_tools(Counter())),), entry="orders")
    assert_answered(await single(team, "orders", LONG, terms=terms))
