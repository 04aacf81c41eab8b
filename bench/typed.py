"""The same turn as most programs do it: the openai client's typed chunks and a loop by hand. Run by bench.loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai

from bench.desk import QUESTION, SCHEMAS, SYSTEM
from bench.floor import carry_out
from bench.measuring import Turn, measure


@asynccontextmanager
async def open_typed(url: str, model: str) -> AsyncIterator[Turn]:
    """One client for all turns, on aiohttp as ours is."""
    async with openai.AsyncOpenAI(api_key="none", base_url=url, http_client=openai.DefaultAioHttpClient()) as client:

        async def turn() -> str:
            messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
            while True:
                text, calls = await _reply(client, model, messages)
                if not calls:
                    return text
                messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
                messages += await asyncio.gather(*map(carry_out, calls))

        yield turn


async def _reply(client: openai.AsyncOpenAI, model: str, messages: list[Any]) -> tuple[str, list[dict[str, Any]]]:
    tools: list[Any] = SCHEMAS
    text: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    stream = await client.chat.completions.create(
        model=model, messages=messages, tools=tools, stream=True, stream_options={"include_usage": True}
    )
    async for chunk in stream:
        if not chunk.choices:
            continue
        delta = chunk.choices[0].delta
        if delta.content:
            text.append(delta.content)
        for piece in delta.tool_calls or ():
            call = calls.setdefault(piece.index, {"type": "function", "function": {"name": "", "arguments": ""}})
            if piece.id:
                call["id"] = piece.id
            if piece.function:
                call["function"]["name"] += piece.function.name or ""
                call["function"]["arguments"] += piece.function.arguments or ""
    return "".join(text), list(calls.values())


if __name__ == "__main__":
    measure(open_typed)
