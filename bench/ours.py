"""The project's loop through the real openai client, measured like the floor. Run by bench.loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from pydantic import Field

from bench import desk
from bench.measuring import Turn, measure
from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models
from bot.agent.events import Event, TextDelta
from bot.agent.limits import Limits
from bot.agent.loop import run
from bot.agent.messages import CustomerMessage
from bot.agent.tools import Context, tool
from bot.conversation import Customer, ThreadRef
from bot.models.providers import Server, open_model


@tool(title="Looking up the order", private=True)
async def lookup_order(context: Context, order_id: Annotated[str, Field(max_length=40)]) -> dict[str, str]:
    """Find one of the customer's orders."""
    return await desk.lookup_order(order_id)


@tool(title="Finding the parcel", private=True)
async def check_shipping(context: Context, tracking_number: Annotated[str, Field(max_length=40)]) -> dict[str, str]:
    """Find where a parcel is."""
    return await desk.check_shipping(tracking_number)


DESK = Agent("desk", desk.SYSTEM, (lookup_order, check_shipping))
TEAM = Team((DESK,), entry="desk")
CONTEXT = Context(Customer("T1", "U1", "Customer A", "en-US", "member"), ThreadRef("T1", "D1", "1.0"), "turn-1")
HISTORY = (CustomerMessage(desk.QUESTION, speaker="U1"),)


@asynccontextmanager
async def open_ours(url: str, model: str) -> AsyncIterator[Turn]:
    """One client for all turns."""
    async with open_model(model, Server("none", url)) as server:
        models = Models(strong=(Endpoint(model, server),))

        async def turn() -> str:
            shown: list[str] = []

            def emit(event: Event) -> None:
                if isinstance(event, TextDelta):
                    shown.append(event.text)

            outcome = await run(
                TEAM,
                "desk",
                HISTORY,
                models=models,
                context=CONTEXT,
                passages="",
                emit=emit,
                limits=Limits(),
            )
            if outcome.text != "".join(shown):
                raise RuntimeError("what was shown is not the answer")
            return outcome.text

        yield turn


if __name__ == "__main__":
    measure(open_ours)
