"""How soon an event is acknowledged: a burst of 1,000 at once, and 50 a second for a minute.

    python -m bench.ingress            rows to read, then one JSON object as the last line

The product runs as in production, over signed HTTP, and everything that it is sent it answers too: what is measured
is the door while the house is full. The floor is the same burst at a server that only checks the signature, in the same
run: so much of the time is the machine's and the client's own.

ack_p50_ms, ack_p99_ms, ack_max_ms     of the burst, from the request's start to its whole answer
steady_ack_p50_ms, steady_ack_p99_ms   of the steady stream
floor_ack_p99_ms                       of the floor's burst
ack_ratio, goal_met                    ack_p99_ms by that, and whether it is at most GOAL_RATIO
lost                                   acknowledged events without a row in the inbox; `refused` were not acknowledged
"""

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp

from bench.children import serving
from bench.door import DOOR
from bench.outside import OUTSIDE
from bench.serving import Question, post, questions, served, stage
from bench.timing import paced, quantile

Row = dict[str, Any]

BURST = 1_000
PER_SECOND = 50
SECONDS = 60
GOAL_RATIO = 2.0
TOGETHER = 200
"""Connections at the same time; Slack's are many, but a machine's are not endless."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--burst", type=int, default=BURST, help="events at once (default: %(default)s)")
    parser.add_argument("--per-second", type=int, default=PER_SECOND, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of the steady stream (default: %(default)s)")
    print(json.dumps(asyncio.run(_measured(parser.parse_args(arguments)))))
    return 0


async def _measured(options: argparse.Namespace) -> Row:
    with serving(OUTSIDE) as address:
        floor = await _floor(options.burst)
        burst = await _run(address, questions(options.burst), pause=0.0)
        steady = await _run(address, questions(int(options.per_second * options.seconds)), pause=1 / options.per_second)
    print(f"{'floor':8}", floor)
    for name, row in (("burst", burst), ("steady", steady)):
        print(f"{name:8}", row, flush=True)
    ratio = round(burst["p99_ms"] / max(floor["p99_ms"], 0.1), 2)
    return {
        "ack_p50_ms": burst["p50_ms"],
        "ack_p99_ms": burst["p99_ms"],
        "ack_max_ms": burst["max_ms"],
        "floor_ack_p99_ms": floor["p99_ms"],
        "ack_ratio": ratio,
        "goal_met": ratio <= GOAL_RATIO,
        "steady_ack_p50_ms": steady["p50_ms"],
        "steady_ack_p99_ms": steady["p99_ms"],
        "steady_rss_mb": steady["rss_mb"],
        "steady_cpu_ms_per_event": steady["cpu_ms_per_event"],
        "lost": burst["lost"] + steady["lost"],
        "refused": burst["refused"] + steady["refused"],
    }


async def _run(address: str, asked: Sequence[Question], *, pause: float) -> Row:
    """Post the questions, all at once or one every `pause` seconds, to a product of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-ingress-") as folder:
        await stage(address, asked, first_seconds=1.0, seconds=3.0, sentences=6)
        async with served(address, Path(folder)) as product:
            async with _client() as http:
                product.mark()
                took = await _posted(product.url, http, asked, pause=pause)
                product.mark()
            await product.end()
            acked = {question.mark for question, seconds in zip(asked, took, strict=True) if seconds is not None}
            lost = len(acked - _stored(product.database))
            figures = product.figures
    return _row(took) | {
        "lost": lost,
        "refused": len(asked) - len(acked),
        "rss_mb": figures["rss_mb"],
        "cpu_ms_per_event": round(figures["cpu_s"] / len(asked) * 1e3, 2),
    }


async def _posted(
    url: str, http: aiohttp.ClientSession, asked: Sequence[Question], *, pause: float
) -> list[float | None]:
    posting = [asyncio.create_task(post(http, url, question)) async for question in paced(asked, pause)]
    return await asyncio.gather(*posting)


def _stored(database: Path) -> set[str]:
    """The marks of the questions that have a row."""
    with closing(sqlite3.connect(database)) as opened:
        found = opened.execute("select event_id from inbox").fetchall()
    return {event_id[2:9] for (event_id,) in found}


async def _floor(burst: int) -> Row:
    """The same burst at a server that checks signatures and does nothing else."""
    with serving(DOOR) as url:
        async with _client() as http:
            return _row(await _posted(url, http, questions(burst), pause=0.0))


def _client() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=TOGETHER))


def _row(took: Sequence[float | None]) -> Row:
    acked = [seconds * 1e3 for seconds in took if seconds is not None]
    shares = {"p50_ms": 0.5, "p99_ms": 0.99, "max_ms": 1.0}
    return {name: round(quantile(acked, share), 1) for name, share in shares.items()}


if __name__ == "__main__":
    sys.exit(main())
