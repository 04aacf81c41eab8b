"""Half a character, which can be neither stored nor sent: whoever brings it, it costs one call or one request."""

import json
from typing import Any

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.messages import CustomerMessage
from bot.agent.model import Model
from bot.agent.tools import Context, ToolOutput, ToolProblem, tool
from tests.agent.desk import Desk, results
from tests.doubles.chat_server import DONE, ChatServer, Reply, chunk, text

HALF = "\ud83d"


class StrictJournal:
    """Stores bytes, as a database does."""

    def __init__(self) -> None:
        self.steps: dict[str, bytes] = {}

    async def recall(self, name: str) -> dict[str, Any] | None:
        """Implements Journal.recall."""
        return json.loads(self.steps[name]) if name in self.steps else None

    async def record(self, name: str, value: dict[str, Any]) -> None:
        """Implements Journal.record."""
        self.note(name, value)

    def note(self, name: str, value: dict[str, Any]) -> None:
        """Implements Journal.note."""
        self.steps[name] = json.dumps(value, ensure_ascii=False).encode()


@tool(title="Reading")
async def read_note(context: Context, kind: str = "text") -> ToolOutput:
    """Read a note."""
    del context
    match kind:
        case "text":
            return ToolOutput(f"It says {HALF}.")
        case "value":
            return ToolOutput({"notes": [{"text": f"It says {HALF}."}]})
        case "key":
            return ToolOutput({HALF: 1})
        case "refusal":
            return ToolOutput(f"No {HALF}", ok=False)
        case _:
            raise ToolProblem(f"The note {HALF} is away.")


@tool(title="Writing", writes=True)
async def write_note(context: Context) -> str:
    """Write a note."""
    del context
    return f"Written: {HALF}"


TEAM = Team((Agent("desk", "You are the desk.", (read_note, write_note)),), entry="desk")


def asks(name: str, arguments: str) -> Reply:
    """A reply with one call."""
    fragment = {"index": 0, "id": "c1", "function": {"name": name, "arguments": arguments}}
    return Reply((chunk({"tool_calls": [fragment]}), chunk({}, "tool_calls"), DONE))


@pytest.mark.parametrize("kind", ["text", "value", "key", "refusal", "problem"])
async def test_what_a_tool_returns_is_refused_and_the_turn_goes_on(server: ChatServer, model: Model, kind: str) -> None:
    server.will(asks("read_note", json.dumps({"kind": kind})), text("The note cannot be read."))
    outcome = await Desk().run(model, team=TEAM, journal=StrictJournal())
    (result,) = results(outcome)
    assert (outcome.ended, result.ok, len(server.requests)) == ("answered", False, 2)
    assert json.loads(result.content)["error"] == ("problem" if kind == "problem" else "unavailable")


async def test_of_what_was_changed_it_stays_unknown_whether_it_worked(server: ChatServer, model: Model) -> None:
    server.will(asks("write_note", "{}"), text("I do not know."))
    outcome = await Desk().run(model, team=TEAM, journal=StrictJournal())
    (result,) = results(outcome)
    assert (outcome.ended, json.loads(result.content)["error"]) == ("answered", "unknown_outcome")


@pytest.mark.parametrize(
    "asked",
    [
        asks("read_note", '{"kind": "\\ud83d"}'),
        asks("read_\\ud83d", "{}"),
        Reply(
            (
                chunk({"content": '<tool_call>{"name": "read_note", "arguments": {"kind": "\\ud83d"}}</tool_call>'}),
                chunk({}, "stop"),
                DONE,
            )
        ),
        Reply((chunk({"content": '{"name": "read_note", "arguments": "{\\"kind\\": \\"\\ud83d\\"}"}'}, "stop"), DONE)),
        Reply((chunk({"content": 'commentary to=functions.read_note json{"kind": "\\ud83d"}'}, "stop"), DONE)),
    ],
)
async def test_what_a_model_asks_with_is_refused_and_the_turn_goes_on(
    server: ChatServer, model: Model, asked: Reply
) -> None:
    server.will(asked, text("It cannot be read."))
    outcome = await Desk().run(model, team=TEAM, journal=StrictJournal())
    assert (outcome.ended, [result.ok for result in results(outcome)], len(server.requests)) == ("answered", [False], 2)


async def test_a_request_that_cannot_be_written_is_tried_once(server: ChatServer, model: Model) -> None:
    server.will(text("Hello."))
    outcome = await Desk().run(model, history=[CustomerMessage(f"Where is {HALF}?", speaker="U1")])
    assert (outcome.ended, outcome.reason, server.requests) == ("failed", "refused_request", [])
