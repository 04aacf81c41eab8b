"""The desk that every client of the loop bench runs: its instructions, the question, and two tools that wait."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

SYSTEM = "You are the support desk. Use the tools. Be brief."
QUESTION = "Where are my two parcels?"
TOOL_SECONDS = 0.1
"""What each tool takes."""
TOOL_ENDS: list[float] = []
"""When the tools of the current turn came back, on CLOCK_MONOTONIC."""


async def lookup_order(order_id: str) -> dict[str, str]:
    """Find one of the customer's orders."""
    return await _found({"order_id": order_id, "status": "shipped", "tracking": "1Z999AA10123456784"})


async def check_shipping(tracking_number: str) -> dict[str, str]:
    """Find where a parcel is."""
    return await _found({"tracking_number": tracking_number, "status": "in transit", "eta": "2026-11-24"})


async def _found(found: dict[str, str]) -> dict[str, str]:
    await asyncio.sleep(TOOL_SECONDS)
    TOOL_ENDS.append(time.monotonic())
    return found


TOOLS: Mapping[str, Callable[..., Awaitable[dict[str, str]]]] = {
    "lookup_order": lookup_order,
    "check_shipping": check_shipping,
}
SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": "string"}},
                "required": [argument],
                "additionalProperties": False,
            },
        },
    }
    for name, description, argument in (
        ("lookup_order", "Find one of the customer's orders.", "order_id"),
        ("check_shipping", "Find where a parcel is.", "tracking_number"),
    )
]
