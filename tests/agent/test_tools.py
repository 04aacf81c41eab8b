"""Tools made from typed functions."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from bot.agent.tools import RESULT_LIMIT, Context, InvalidArguments, ToolOutput, tool
from tests.agent.desk import CONTEXT


class Line(BaseModel):
    """One line of an order."""

    sku: str
    count: int = Field(ge=1)


@tool(title="Asking", timeout=3.0, private=True)
async def ask(
    context: Context,
    question: Annotated[str, Field(min_length=2, max_length=20, description="What to ask.")],
    priority: Literal["low", "high"] = "low",
    lines: list[Line] | None = None,
) -> str:
    """Ask something.

    Only when nothing else helps.
    """
    return f"{context.customer.user} {question} {priority} {lines}"


def test_name_docstring_and_annotations_are_what_the_model_sees() -> None:
    assert (ask.name, ask.title, ask.timeout, ask.private, ask.terminal) == ("ask", "Asking", 3.0, True, False)
    assert ask.description == "Ask something.\n\nOnly when nothing else helps."
    assert ask.schema["properties"]["question"] == {
        "description": "What to ask.",
        "maxLength": 20,
        "minLength": 2,
        "type": "string",
    }
    assert ask.schema["properties"]["priority"] == {"default": "low", "enum": ["low", "high"], "type": "string"}
    assert ask.schema["required"] == ["question"]
    assert ask.schema["additionalProperties"] is False
    assert "context" not in ask.schema["properties"]
    assert "title" not in str(ask.schema)


async def test_the_function_gets_typed_arguments_and_the_context_of_code() -> None:
    output = await ask.call(CONTEXT, ask.read('{"question": "why", "lines": [{"sku": "A", "count": 2}]}'))
    assert output == ToolOutput("U0CUSTOMERA why low [Line(sku='A', count=2)]")


def test_faults_name_the_place_and_do_not_repeat_what_was_sent() -> None:
    with pytest.raises(InvalidArguments) as caught:
        ask.read('{"question": "s3cret-and-much-too-long-to-be-one", "lines": [{"sku": "A", "count": 0}]}')
    told = caught.value.output.text()
    assert '"field":"question"' in told
    assert '"field":"lines.0.count"' in told
    assert "s3cret" not in told
    assert caught.value.output.ok is False


def test_a_tool_without_arguments_takes_an_empty_text() -> None:
    @tool(title="Listing")
    async def list_my_orders(context: Context) -> dict[str, Any]:
        """List the orders."""
        return {"turn": context.turn}

    assert list_my_orders.read("").model_dump() == {}
    assert list_my_orders.read("{}").model_dump() == {}


def test_a_text_result_and_a_mapping_are_what_the_model_reads() -> None:
    assert ToolOutput("plain").text() == "plain"
    assert ToolOutput({"total": Decimal("12.50"), "day": date(2026, 11, 20)}).text() == (
        '{"total":"12.50","day":"2026-11-20"}'
    )
    assert len(ToolOutput("x" * (RESULT_LIMIT + 1)).text()) == RESULT_LIMIT
    assert ToolOutput("x" * RESULT_LIMIT).text() == "x" * RESULT_LIMIT


async def no_docstring(context: Context) -> str:
    return ""


async def no_context(question: str) -> str:
    """Ask."""
    return question


async def no_type(context: Context, question) -> str:  # type: ignore[no-untyped-def]
    """Ask."""
    return str(question)


def not_async(context: Context) -> str:
    """Ask."""
    return ""


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (no_docstring, "docstring"),
        (no_context, "context"),
        (no_type, "without a type: question"),
        (not_async, "async"),
    ],
)
def test_a_function_the_model_could_not_be_told_about_is_refused(
    function: Callable[..., Awaitable[str]], fault: str
) -> None:
    with pytest.raises(TypeError, match=fault):
        tool(title="Asking")(function)


@pytest.mark.parametrize(
    ("turn", "logged"),
    [
        ("6", {"turn": 6}),
        ("6/question-2", {"turn": 6, "run": "question-2"}),
        ("drafts/7/warm", {"turn": 7, "run": "drafts/warm"}),
    ],
)
def test_the_log_names_a_turn_by_its_number(turn: str, logged: dict[str, object]) -> None:
    assert replace(CONTEXT, turn=turn).logged == logged
