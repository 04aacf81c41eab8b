"""The project's loop through the real openai client, measured like the floor. Run by bench.loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from pydantic import Field

from bench.measuring import Turn, look_up, measure
from bot.agent.agent import Agent, Team
from bot.agent.chat_completions import open_chat_completions
from bot.agent.events import Event, TextDelta
from bot.agent.loop import Limits, run
from bot.agent.messages import CustomerMessage
from bot.agent.tools import Context, tool
from bot.conversation import Customer, ThreadRef


@tool(title="Looking up the order", private=True)
async def lookup_order(context: Context, order_id: Annotated[str, Field(max_length=40)]) -> dict[str, str]:
    """Find one of the customer's orders."""
    return await look_up({"order_id": order_id, "status": "shipped", "tracking": "1Z999AA10123456784"})


@tool(title="Finding the parcel", private=True)
async def check_shipping(context: Context, tracking_number: Annotated[str, Field(max_length=40)]) -> dict[str, str]:
    """Find where a parcel is."""
    return await look_up({"tracking_number": tracking_number, "status": "in transit", "eta": "2026-11-24"})


DESK = Agent("desk", "You are the support desk. Use the tools. Be brief.", (lookup_order, check_shipping))
TEAM = Team((DESK,), entry="desk")
CONTEXT = Context(Customer("T1", "U1", "Customer A", "en-US", "member"), ThreadRef("T1", "D1", "1.0"), "turn-1")
HISTORY = (CustomerMessage("Where are my two parcels?", speaker="U1"),)


@asynccontextmanager
async def open_ours(url: str) -> AsyncIterator[Turn]:
    """One client for all turns."""
    async with open_chat_completions(api_key="none", base_url=url) as model:

        async def turn(model_name: str) -> str:
            shown: list[str] = []

            def emit(event: Event) -> None:
                if isinstance(event, TextDelta):
                    shown.append(event.text)

            outcome = await run(
                TEAM,
                "desk",
                HISTORY,
                model=model,
                model_name=model_name,
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
