"""The floor: the same turn with aiohttp and orjson alone, no limits, no checks, no recovery. Run by bench.loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson

from bench.desk import QUESTION, SCHEMAS, SYSTEM, TOOLS
from bench.measuring import Turn, measure


@asynccontextmanager
async def open_floor(url: str, model: str) -> AsyncIterator[Turn]:
    """One session for all turns."""
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
    connector = aiohttp.TCPConnector(limit=1000)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:

        async def turn() -> str:
            messages: list[dict[str, Any]] = [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": QUESTION},
            ]
            while True:
                text, calls = await _reply(session, url, model, messages)
                if not calls:
                    return text
                messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
                messages += await asyncio.gather(*map(carry_out, calls))

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


async def carry_out(call: dict[str, Any]) -> dict[str, Any]:
    """What the model reads of one call's result."""
    function = call["function"]
    found = await asyncio.wait_for(TOOLS[function["name"]](**orjson.loads(function["arguments"])), 10)
    return {"role": "tool", "tool_call_id": call["id"], "content": orjson.dumps(found).decode()}


if __name__ == "__main__":
    measure(open_floor)
