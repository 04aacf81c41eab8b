"""One client, measured in a process of its own: CPU of a turn, and how soon a tool's end leads to a request."""

import argparse
import asyncio
import gc
import json
import resource
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import aiohttp

from bench.chat_server import pieces

TOOL_SECONDS = 0.1
"""What each tool takes."""
TOOL_ENDS: list[float] = []
"""When the tools of the current turn came back, on CLOCK_MONOTONIC."""

Turn = Callable[[str], Awaitable[str]]
"""Runs one turn of the scene that the model's name says, and returns the answer."""
OpenClient = Callable[[str], AbstractAsyncContextManager[Turn]]
"""Connects to the server's address."""


async def look_up(found: dict[str, str]) -> dict[str, str]:
    """The work of every tool here: to wait."""
    await asyncio.sleep(TOOL_SECONDS)
    TOOL_ENDS.append(time.monotonic())
    return found


def measure(open_client: OpenClient) -> None:
    """The child's program: run the turns of the command line and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("scene")
    parser.add_argument("--pieces", type=int, default=300)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--warm", type=int, default=3)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(_measured(open_client, options))))


async def _measured(open_client: OpenClient, options: argparse.Namespace) -> dict[str, float | int]:
    model, whole = f"{options.scene}-{options.pieces}", "".join(pieces(options.pieces)).strip()
    async with open_client(f"{options.url}/v1") as turn, aiohttp.ClientSession() as control:
        for _ in range(options.warm):
            await turn(model)
        await _arrivals(control, options.url)
        gc.collect()
        cpu, right, waits = 0.0, 0, list[float]()
        for _ in range(options.turns):
            TOOL_ENDS.clear()
            started = time.process_time()
            answer = await turn(model)
            cpu += time.process_time() - started
            right += answer.strip() == whole
            waits += _waits(await _arrivals(control, options.url))
    return {
        "cpu_ms": cpu / options.turns * 1e3,
        "right": right,
        "turns": options.turns,
        "t2r_ms": statistics.median(waits) * 1e3 if waits else 0.0,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


async def _arrivals(control: aiohttp.ClientSession, url: str) -> list[dict[str, float]]:
    async with control.post(f"{url}/arrivals") as response:
        arrivals: list[dict[str, float]] = await response.json()
        return arrivals


def _waits(arrivals: list[dict[str, float]]) -> list[float]:
    """From the last tool of a round to the request that brought its results."""
    ends = sorted(TOOL_ENDS)
    return [request["time"] - ends[int(request["results"]) - 1] for request in arrivals if request["results"]]
