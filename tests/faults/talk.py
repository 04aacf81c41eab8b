"""A question under a fault, from the message to what is read; and a small world for faults that stay."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from demo.model.server import Pace
from demo.program import READY_SECONDS
from demo.world import open_world
from tests.patience import patience
from tests.stories.world import Json, Person, Post, Seen, T, World

SILENCE_SECONDS = patience(80.0)
"""What may be waited for here: the product itself gives up a silent model after nearly half a minute."""


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a question."""

    asked: Post
    text: str
    """The first message with words that was completed, with the words of its blocks."""
    said: str
    """Its text alone, as it was streamed or posted."""
    seconds: float
    """From the question to that."""
    requests: list[Json]
    """What the model was asked about it and answered by script."""


async def talk(world: World, person: Person, thing: str, *rounds: Json) -> Told:
    """Ask how long `thing` may be returned; the model answers what is asked of that by `rounds`, then by its rules."""
    if rounds:
        await world.model_says_too(*({"when": thing, **each} for each in rounds))
    began = time.monotonic()
    asked = await person.says(question(thing))
    seen = await person.reads(asked, having=lambda seen: bool(seen.text.strip()), patience=SILENCE_SECONDS)
    seconds = time.monotonic() - began
    wanted = question(thing)
    requests = [each for each in await world.model_requests() if each["by"] == "script" and wanted in _said_to(each)]
    return Told(asked, seen.text, said_in(seen), seconds, requests)


@asynccontextmanager
async def at_once(works: Mapping[str, Coroutine[Any, Any, T]]) -> AsyncIterator[dict[str, asyncio.Task[T]]]:
    """All of it is begun; what is not over when the block is left is given up."""
    running = {name: asyncio.create_task(work) for name, work in works.items()}
    yield running
    for task in running.values():
        task.cancel()
    await asyncio.gather(*running.values(), return_exceptions=True)


def said_in(seen: Seen) -> str:
    """A message's text, streamed or posted, without the words of its blocks."""
    parts = (seen.raw.get("stream") or {}).get("parts", ())
    streamed = "".join(part["text"] for part in parts if part["type"] == "markdown")
    posted = (block["text"] for block in seen.raw.get("blocks") or () if block["type"] == "markdown")
    return streamed or next(posted, "") or str(seen.raw.get("text", ""))


def question(thing: str) -> str:
    """A question that the help pages answer with 30 days."""
    return f"How many days do I have to return an item? It is a {thing}."


@asynccontextmanager
async def open_bare_world(data: Path, **settings: str) -> AsyncIterator[World]:
    """A world of its own without help pages, for settings, or for faults that would be in others' way."""
    async with open_world(data, environ=_surroundings(), extra={"KB_PATH": "", **settings}, pace=Pace(0, 0)) as running:
        await running.program.wait_ready(seconds=patience(READY_SECONDS))
        async with aiohttp.ClientSession() as http:
            yield World(http, running.describe(), data)


def _said_to(request: Json) -> str:
    return "\n".join(str(each.get("content")) for each in request["body"]["messages"] if each["role"] == "user")


def _surroundings() -> dict[str, str]:
    """What any program needs, and no model but the stand-in."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
