"""A small desk to run turns on: two look-ups, a way to a person, and a record of what happened."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models
from bot.agent.events import Emit, Event, TextDelta
from bot.agent.journal import NO_JOURNAL, Journal
from bot.agent.limits import Limits
from bot.agent.loop import Outcome, run
from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolResult
from bot.agent.model import Model, ModelRequest
from bot.agent.tools import Context, Tool, ToolOutput, ToolProblem, tool
from bot.conversation import Customer, ThreadRef

CONTEXT = Context(
    Customer("T0FRONTDESK", "U0CUSTOMERA", "Customer A", "en-US", "member"),
    ThreadRef("T0FRONTDESK", "D0CUSTOMERA", "1700000000.000100"),
    turn="turn-1",
)
QUESTION = CustomerMessage("Where is my order?", speaker="U0CUSTOMERA")
PATIENT = Limits(retry_seconds=0.001)
"""The usual limits, without waiting between attempts."""
QUICK = replace(PATIENT, outage_seconds=0.9)
"""The same, and no waiting for a server that is away."""


class Counter:
    """A backend that counts its look-ups. "wait…" hangs; "meet…" goes on when another one runs meanwhile."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.keys: list[str] = []
        self.running = 0
        self.most = 0
        self.started = asyncio.Event()
        """Set when a look-up runs."""
        self.met = asyncio.Event()
        """Set when two run at the same time."""
        self.failures: list[Exception] = []
        """Raised by the next look-ups, one each."""

    async def look_up(self, what: str, context: Context) -> dict[str, Any]:
        """Note the look-up and find something."""
        self.seen.append(what)
        self.keys.append(context.key)
        if self.failures:
            raise self.failures.pop(0)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            self.started.set()
            if self.running > 1:
                self.met.set()
            if what.startswith("wait"):
                await asyncio.Event().wait()
            elif what.startswith("meet"):
                await self.met.wait()
            await asyncio.sleep(0)
        finally:
            self.running -= 1
        return {"id": what, "status": "shipped"}


def desk_tools(counter: Counter) -> tuple[Tool, ...]:
    """The desk's tools over a counting backend."""

    @tool(title="Looking up the order", private=True, subject="order_id")
    async def lookup_order(
        context: Context, order_id: Annotated[str, Field(max_length=40, description="As ORD-12345")]
    ) -> dict[str, Any]:
        """Find one of the customer's orders."""
        return await counter.look_up(order_id, context)

    @tool(title="Finding the parcel", timeout=0.05, repeatable=True)
    async def check_shipping(context: Context, tracking_number: str, days: int = 1) -> ToolOutput:
        """Find where a parcel is."""
        if tracking_number == "unknown":
            return ToolOutput({"error": "not_found"}, ok=False)
        if tracking_number == "strike":
            raise ToolProblem("The carrier is on strike until Monday.")
        return ToolOutput(await counter.look_up(tracking_number, context) | {"days": days})

    @tool(title="Calling a person", terminal=True)
    async def escalate_to_human(context: Context, reason: str) -> str:
        """Hand over to a person."""
        await counter.look_up(f"escalate: {reason}", context)
        return "A person takes over."

    return lookup_order, check_shipping, escalate_to_human


def passages_in(request: ModelRequest) -> str:
    """What was retrieved for the customer's latest message, as a request has it."""
    return next((each.passages for each in reversed(request.messages) if isinstance(each, CustomerMessage)), "")


@dataclass
class Desk:
    """Runs turns of one agent and keeps the events."""

    counter: Counter = field(default_factory=Counter)
    events: list[Event] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """All text that was emitted."""
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def emit(self) -> Emit:
        """What the loop is given."""
        return self.events.append

    def happened(self, kind: type[Event]) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def team(self) -> Team:
        """One agent with all the tools."""
        return Team((Agent("desk", "You are the desk.", desk_tools(self.counter)),), entry="desk")

    async def run(
        self,
        model: Model | None = None,
        *,
        models: Models | None = None,
        history: Sequence[Message] = (QUESTION,),
        limits: Limits = QUICK,
        journal: Journal = NO_JOURNAL,
        team: Team | None = None,
        agent: str = "",
        passages: str = "",
        turn: str = "turn-1",
    ) -> Outcome:
        """One turn; checks what holds for every outcome."""
        outcome = await run(
            team or self.team(),
            agent,
            history,
            models=models or _models(model),
            context=replace(CONTEXT, turn=turn),
            passages=passages,
            emit=self.emit,
            limits=limits,
            journal=journal,
        )
        assert_paired(outcome.messages)
        return outcome


def _models(model: Model | None) -> Models:
    assert model is not None, "a desk needs a model, or models"
    return Models(strong=(Endpoint("model-1", model),), cheap=(Endpoint("cheap", model),))


def results(outcome: Outcome) -> list[ToolResult]:
    """The tool results of a turn."""
    return [message for message in outcome.messages if isinstance(message, ToolResult)]


def assert_paired(messages: Sequence[Message]) -> None:
    """Each call is followed by exactly one result, in the order of the calls, and no result stands alone."""
    expected: list[str] = []
    for message in messages:
        if isinstance(message, ToolResult):
            assert expected, f"result {message.call_id} has no call"
            assert message.call_id == expected.pop(0)
        else:
            assert not expected, f"calls without a result: {expected}"
            expected = [call.id for call in message.calls] if isinstance(message, AgentMessage) else []
    assert not expected, f"calls without a result: {expected}"
