"""The floor: the same turn with aiohttp and orjson alone, no limits, no checks, no recovery. Run by bench.loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson

from bench.measuring import Turn, look_up, measure

SYSTEM = "You are the support desk. Use the tools. Be brief."


async def lookup_order(order_id: str) -> dict[str, str]:
    """Find an order."""
    return await look_up({"order_id": order_id, "status": "shipped", "tracking": "1Z999AA10123456784"})


async def check_shipping(tracking_number: str) -> dict[str, str]:
    """Find a parcel."""
    return await look_up({"tracking_number": tracking_number, "status": "in transit", "eta": "2026-11-24"})


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


@asynccontextmanager
async def open_floor(url: str) -> AsyncIterator[Turn]:
    """One session for all turns."""
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def turn(model: str) -> str:
            messages: list[dict[str, Any]] = [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": "Where are my two parcels?"},
            ]
            while True:
                text, calls = await _reply(session, url, model, messages)
                if not calls:
                    return text
                messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
                messages += await asyncio.gather(*map(_call, calls))

        yield turn


async def _reply(
    session: aiohttp.ClientSession, url: str, model: str, messages: list[dict[str, Any]]
) -> tuple[str, list[dict[str, Any]]]:
    body = {
        "model": model,
        "messages": messages,
        "tools": SCHEMAS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    text: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    rest = b""
    async with session.post(f"{url}/chat/completions", data=orjson.dumps(body)) as response:
        response.raise_for_status()
        async for block in response.content.iter_any():
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                if not line.startswith(b"data: ") or line == b"data: [DONE]":
                    continue
                choices = orjson.loads(line[6:])["choices"]
                if not choices:
                    continue
                delta = choices[0]["delta"]
                if content := delta.get("content"):
                    text.append(content)
                for piece in delta.get("tool_calls", ()):
                    call = calls.setdefault(piece["index"], piece)
                    if call is not piece:
                        call["function"]["arguments"] += piece["function"]["arguments"]
    return "".join(text), list(calls.values())


async def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    found = await asyncio.wait_for(TOOLS[function["name"]](**orjson.loads(function["arguments"])), 10)
    return {"role": "tool", "tool_call_id": call["id"], "content": orjson.dumps(found).decode()}


if __name__ == "__main__":
    measure(open_floor)
