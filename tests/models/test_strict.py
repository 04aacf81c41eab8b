"""Schemas in strict mode, and tools that read what models write under them."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from bot.agent.messages import CustomerMessage
from bot.agent.model import ModelRequest
from bot.agent.tools import Context, InvalidArguments, tool
from bot.models.providers import Api, Server, open_model
from bot.models.strict import strict_schema
from tests.doubles.chat_server import Reply, open_chat_server, text
from tests.doubles.responses_events import Response


@tool(title="Calling")
async def call_person(
    context: Context,
    summary: Annotated[str, Field(min_length=3, max_length=600, description="What the customer wants.")],
    priority: Literal["low", "high"] = "low",
    subject: Annotated[str, Field(max_length=80)] = "",
) -> str:
    """Call a person."""
    return summary


def test_every_property_is_required_and_an_optional_one_can_be_null() -> None:
    assert strict_schema(call_person.schema) == {
        "type": "object",
        "properties": {
            "summary": {"type": "string", "description": "What the customer wants."},
            "priority": {"type": ["string", "null"], "enum": ["low", "high", None]},
            "subject": {"type": ["string", "null"]},
        },
        "required": ["summary", "priority", "subject"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": True},
        {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}},
    ],
)
def test_what_the_mode_does_not_know_is_not_strict(schema: dict[str, Any]) -> None:
    assert strict_schema(schema) is None


def test_a_format_that_the_mode_does_not_know_is_left_out() -> None:
    url, day = {"type": "string", "format": "uri"}, {"type": "string", "format": "date"}
    schema = strict_schema({"type": "object", "properties": {"url": url, "day": day}, "required": ["url", "day"]})
    assert schema is not None
    assert schema["properties"] == {"url": {"type": "string"}, "day": day}


def test_a_tool_reads_null_as_left_out_where_it_may_be() -> None:
    read = call_person.read('{"summary": "A refund", "priority": null, "subject": null}')
    assert read.model_dump() == {"summary": "A refund", "priority": "low", "subject": ""}
    with pytest.raises(InvalidArguments):
        call_person.read('{"summary": null}')
    with pytest.raises(InvalidArguments):
        call_person.read('{"summary": "A refund", "other": null}')


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("name", "is_strict"), [("gpt-6-luna", True), ("our-model", False)])
async def test_models_that_know_the_mode_are_held_to_it(name: str, is_strict: bool, api: Api) -> None:
    request = ModelRequest("m", "You are the desk.", (CustomerMessage("Hi"),), tools=(call_person,))
    async with open_chat_server() as server:
        server.will(Reply(Response().says("Hi").ends().blocks) if api == "responses" else text("Hi"))
        async with open_model(name, Server("k", server.url, api=api)) as model:
            async for _ in model.stream(request):
                pass
    described = server.requests[0]["tools"][0]
    described = described.get("function", described)
    assert (described.get("strict") is True) == is_strict
    assert ("subject" in described["parameters"]["required"]) == is_strict
