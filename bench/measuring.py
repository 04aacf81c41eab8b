"""One client, measured in a process of its own: CPU, wall time, memory, and the way from a tool's end to a request."""

import argparse
import asyncio
import gc
import json
import resource
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp

from bench.chat_server import pieces
from bench.desk import TOOL_ENDS

Turn = Callable[[], Awaitable[str]]
"""Runs one turn and returns the answer."""
OpenClient = Callable[[str, str], AbstractAsyncContextManager[Turn]]
"""Connects to the server's address; the model's name says which scene is played."""


def measure(open_client: OpenClient) -> None:
    """The child's program: run the turns of the command line and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("scene", choices=["a", "b"])
    parser.add_argument("--pieces", type=int, default=300)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--warm", type=int, default=3)
    parser.add_argument("--together", action="store_true", help="all turns at once")
    parser.add_argument("--piece-seconds", type=float, default=0.0)
    parser.add_argument("--first-seconds", type=float, default=0.0)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(_measured(open_client, options))))


async def _measured(open_client: OpenClient, options: argparse.Namespace) -> dict[str, float | int]:
    model, whole = f"{options.scene}-{options.pieces}", "".join(pieces(options.pieces)).strip()
    async with open_client(f"{options.url}/v1", model) as turn, aiohttp.ClientSession() as control:
        for _ in range(options.warm):
            await turn()
        gc.collect()
        TOOL_ENDS.clear()
        memory = peak_mb()
        pace = {"piece_seconds": options.piece_seconds, "first_seconds": options.first_seconds}
        before = await _play(control, options.url, pace)
        started, cpu = time.monotonic(), time.process_time()
        if options.together:
            answers = await asyncio.gather(*(turn() for _ in range(options.turns)))
        else:
            answers = [await turn() for _ in range(options.turns)]
        cpu, seconds = time.process_time() - cpu, time.monotonic() - started
        growth = peak_mb() - memory
        after = await _play(control, options.url, {"piece_seconds": 0.0, "first_seconds": 0.0})
    waits = [] if options.together else _waits(after["arrivals"])
    return {
        "cpu_ms": cpu / options.turns * 1e3,
        "wall_s": seconds,
        "rss_growth_mb": growth,
        "t2r_ms": statistics.median(waits) * 1e3 if waits else 0.0,
        "server_load": (after["cpu"] - before["cpu"]) / seconds,
        "right": sum(answer.strip() == whole for answer in answers),
        "turns": options.turns,
    }


async def _play(control: aiohttp.ClientSession, url: str, pace: dict[str, float]) -> dict[str, Any]:
    async with control.post(f"{url}/play", params=pace) as response:
        seen: dict[str, Any] = await response.json()
        return seen


def _waits(arrivals: list[dict[str, Any]]) -> list[float]:
    """From the last tool of a round to the request that brought its results; the turns came one after the other."""
    ends, before, waits = sorted(TOOL_ENDS), 0, list[float]()
    results = 0
    for request in arrivals:
        if request["results"]:
            waits.append(request["time"] - ends[before + request["results"] - 1])
        else:
            before += results
        results = request["results"]
    return waits


def peak_mb() -> float:
    """The most memory this process has held so far."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
