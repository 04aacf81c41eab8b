"""What a desk costs after years: a big database is made by SQL, and all that a desk does is done on it beside serving.

    python -m bench.age                        500,000 messages, 50,000 cases; rows to read, then one JSON object
    python -m bench.age --messages 5000000     ten times as many

The product runs as in production over signed HTTP, once with an empty database (the floor of the same run) and once
with the big one. Slack, the model and the shop are servers of the bench that keep nobody waiting.

start_s, floor_start_s          from the start of the process, without a knowledge base, to its first good /healthz
answer_cpu_ms, floor_answer_cpu_ms, answer_ratio
                                CPU of an answer, the median of blocks that play in turn
home_p50_ms, floor_home_p50_ms  from the opening of a customer's Home tab to views.publish
Beside each of the next three, a question comes PER_SECOND times a second. ack_p99_ms and refused are of these events.
report                          `frontdesk report` of all the time: wall_s, cpu_s, peak_mb
erasure                         of one customer of 500, from `frontdesk erase` to their last row: wall_s,
                                s_per_100_messages
retention                       a sweep by the shipped RETAIN_DAYS: first_after_s, from the start of the process to the
                                first words that go, and how many messages lose theirs in the seconds after that
floor_ack_p99_ms                of the same events with the empty database and nothing beside
answered, asked                 questions whose answer was complete; all of them, or the bench ends with 1
"""

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from bench.big_desk import customer, fill
from bench.children import serving
from bench.counted import COUNTED
from bench.outside import OUTSIDE, TEAM
from bench.serving import ROOT, Question, Served, answered, post, questions, served, stage
from bench.timing import paced, quantile
from bot.store.database import open_database

Row = dict[str, Any]

CUSTOMERS = 500
BLOCKS, ANSWERS = 4, 15
"""Blocks of each database, and the answers of each block. One more block comes first and does not count."""
PAUSE = 0.25
"""Seconds between the questions of a block."""
HOMES = 20
PER_SECOND = 2
"""Questions beside the other work."""
FLOOR_SECONDS = 15.0
RETENTION_SECONDS = 60.0
ERASED_SECONDS = 900.0
"""How long an erasure may take."""
SWEEP_BEGINS_SECONDS = 900.0
"""How long a sweep may store figures before the first words go. It begins 20 s after the start."""
SETTLE_SECONDS = 3.0
STREAMED_QUESTIONS = 3_000
LOOK_SECONDS = 0.02


class HomeOpened(Question):
    """Somebody opens the app's Home tab."""

    def body(self) -> bytes:
        """The event as Slack posts it."""
        event = {"type": "app_home_opened", "user": self.user, "channel": f"D{self.user[1:]}", "tab": "home"}
        payload = {
            "type": "event_callback",
            "token": "unused",
            "team_id": TEAM,
            "api_app_id": "A0BENCH",
            "event": {**event, "event_ts": self.ts},
            "event_id": f"Ev{self.mark}{self.ts}",
            "event_time": int(float(self.ts)),
            "authorizations": [{"team_id": TEAM, "user_id": "U0BENCHBOT", "is_bot": True}],
        }
        return json.dumps(payload).encode()


@dataclass(slots=True)
class Desk:
    """One of the two databases, with what serves it."""

    folder: Path
    outside: str
    http: aiohttp.ClientSession
    blocks: list[list[Question]]
    stream: Iterator[Question]
    """The questions that come beside other work."""
    process: Served | None = None
    asked: int = 0
    answered: int = 0
    homes_ms: list[float] = field(default_factory=list)

    @asynccontextmanager
    async def serving(self, **extra: str) -> AsyncIterator[Served]:
        """Serve the desk."""
        settings = {
            "SLACK_RATE": "100",
            "SHOP_URL": f"{self.outside}/shop",
            "SHOP_TOKEN": "bench",
            "SHOP_PLAIN_HTTP": "on",
            "LOG_LEVEL": "WARNING",
            "RETAIN_DAYS": "words=0,records=0,delivery=0",
        }
        async with served(self.outside, self.folder, settings | extra, program=COUNTED) as process:
            self.process = process
            yield process
            await process.end()

    async def answer(self, block: Sequence[Question]) -> None:
        """Ask a block's questions and wait for the answers."""
        posting = [asyncio.create_task(self.post(each)) async for each in paced(block, PAUSE)]
        await asyncio.gather(*posting)
        await self.count(block)

    async def count(self, block: Sequence[Question]) -> None:
        """Wait until the questions are answered, and count."""
        seen = await answered(self.http, self.outside, block, seconds=120.0)
        self.asked += len(block)
        self.answered += sum(seen["seen"].get(each.mark, {}).get("ended", 0) > 0 for each in block)
        await asyncio.sleep(SETTLE_SECONDS)

    async def post(self, sent: Question) -> float | None:
        """Seconds until the event was acknowledged. None if it was refused."""
        if self.process is None:
            raise RuntimeError("the desk is not served")
        return await post(self.http, self.process.url, sent)

    async def open_home(self, number: int, user: str) -> None:
        """Open the Home tab of a customer, and wait until it is there."""
        before, began = await self._published(), time.monotonic()
        await self.post(HomeOpened(f"h{number:06d}", user, f"{time.time():.6f}"))
        async with asyncio.timeout(60):
            while await self._published() == before:  # noqa: ASYNC110 - another process publishes it
                await asyncio.sleep(LOOK_SECONDS)
        self.homes_ms.append((time.monotonic() - began) * 1e3)

    async def beside(self, work: Awaitable[Row]) -> Row:
        """Do something while questions come. Return its figures with those of the events."""
        doing, took, came = asyncio.ensure_future(work), list[asyncio.Task[float | None]](), list[Question]()
        async for question in paced(self.stream, 1 / PER_SECOND):
            if doing.done():
                break
            came.append(question)
            took.append(asyncio.create_task(self.post(question)))
        acks = [seconds for seconds in await asyncio.gather(*took) if seconds is not None]
        await self.count(came)
        events = {"ack_p99_ms": round(quantile(acks, 0.99) * 1e3, 1), "refused": len(came) - len(acks)}
        return await doing | events

    async def _published(self) -> int:
        async with self.http.get(f"{self.outside}/seen") as response:
            return int((await response.json())["calls"].get("views.publish", 0))

    def per_answer_ms(self) -> list[float]:
        """CPU of an answer in each block."""
        marks = self.process.figures["marks"] if self.process else []
        pairs = zip(marks[::2], marks[1::2], strict=False)
        return [(ended["cpu_s"] - begun["cpu_s"]) / ANSWERS * 1e3 for begun, ended in pairs]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=500_000, help="(default: %(default)s)")
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="of answers (default: %(default)s)")
    parser.add_argument("--retention", type=float, default=RETENTION_SECONDS, help="seconds (default: %(default)s)")
    figures = asyncio.run(_measured(parser.parse_args(arguments)))
    print(json.dumps(figures))
    return 0 if figures["answered"] == figures["asked"] else 1


async def _measured(options: argparse.Namespace) -> Row:
    with tempfile.TemporaryDirectory(prefix="bench-age-") as place, serving(OUTSIDE) as one, serving(OUTSIDE) as other:
        async with aiohttp.ClientSession() as http:
            floor = await _desk(Path(place) / "new", one, http, blocks=options.blocks)
            big = await _desk(Path(place) / "old", other, http, blocks=options.blocks)
            began = time.monotonic()
            async with open_database(f"sqlite+aiosqlite:///{big.folder / 'frontdesk.db'}") as database:
                await database.migrate()
                await fill(database, messages=options.messages, customers=CUSTOMERS)
            made, size = time.monotonic() - began, (big.folder / "frontdesk.db").stat().st_size
            print(f"{options.messages} messages, {size >> 20} MB, were made in {made:.0f} s", flush=True)
            figures: Row = {"messages": options.messages, "size_mb": size >> 20}
            for name, desk in (("floor_start_s", floor), ("start_s", big)):
                figures[name] = await _start(desk)
                print(name, figures[name], flush=True)
            return (
                figures
                | await _serve(floor, big, options)
                | {
                    "answered": floor.answered + big.answered,
                    "asked": floor.asked + big.asked,
                }
            )


async def _desk(folder: Path, outside: str, http: aiohttp.ClientSession, *, blocks: int) -> Desk:
    await asyncio.to_thread(folder.mkdir)
    asked = questions((blocks + 1) * ANSWERS + STREAMED_QUESTIONS)
    in_blocks, rest = asked[: (blocks + 1) * ANSWERS], asked[(blocks + 1) * ANSWERS :]
    await stage(outside, asked, first_seconds=0.2, seconds=1.0, sentences=4, looks_up=True)
    parts = [in_blocks[at : at + ANSWERS] for at in range(0, len(in_blocks), ANSWERS)]
    return Desk(folder, outside, http, parts, iter(rest))


async def _start(desk: Desk) -> float:
    began = time.monotonic()
    async with desk.serving(KB_PATH=""):
        started = time.monotonic() - began
    return round(started, 2)


async def _serve(floor: Desk, big: Desk, options: argparse.Namespace) -> Row:
    async with floor.serving(), big.serving():
        for number in range(options.blocks + 1):
            for desk in (floor, big):
                # What is done for the first time is done in the first block, which does not count.
                if number and desk.process:
                    desk.process.mark()
                await desk.answer(desk.blocks[number])
                if number and desk.process:
                    desk.process.mark()
        for number in range(HOMES):
            for desk in (floor, big):
                await desk.open_home(number, customer(100 + number))
        quiet = await floor.beside(_sleep(FLOOR_SECONDS))
        report = await big.beside(_report(big))
        print("report", report, flush=True)
        erasure = await big.beside(_erase(big, customer(7), messages=options.messages // CUSTOMERS))
        print("erasure", erasure, flush=True)
    cpu, plain = big.per_answer_ms(), floor.per_answer_ms()
    # Without its row, a sweep is due at once.
    with closing(sqlite3.connect(big.folder / "frontdesk.db")) as opened, opened:
        opened.execute("delete from schedule where name = 'retention'")
    async with big.serving(RETAIN_DAYS="words=90,records=400,delivery=7"):
        retention = await big.beside(_swept(big, options.retention))
    print("retention", retention, flush=True)
    return {
        "answer_cpu_ms": round(statistics.median(cpu), 1),
        "floor_answer_cpu_ms": round(statistics.median(plain), 1),
        "answer_ratio": round(statistics.median(mine / its for mine, its in zip(cpu, plain, strict=True)), 3),
        "home_p50_ms": round(statistics.median(big.homes_ms), 1),
        "floor_home_p50_ms": round(statistics.median(floor.homes_ms), 1),
        "floor_ack_p99_ms": quiet["ack_p99_ms"],
        "report": report,
        "erasure": erasure,
        "retention": retention,
    }


async def _sleep(seconds: float) -> Row:
    await asyncio.sleep(seconds)
    return {}


async def _report(desk: Desk) -> Row:
    began = time.monotonic()
    usage = await asyncio.to_thread(_command, desk, "report", "--days", "3650", "--output", str(desk.folder / "r.html"))
    return {
        "wall_s": round(time.monotonic() - began, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": round(usage.ru_maxrss / 1024),
    }


async def _erase(desk: Desk, user: str, *, messages: int) -> Row:
    began = time.monotonic()
    await asyncio.to_thread(_command, desk, "erase", user, "--yes")
    async with asyncio.timeout(ERASED_SECONDS):
        while await asyncio.to_thread(_rows_of, desk, user):  # noqa: ASYNC110 - another process erases
            await asyncio.sleep(0.5)
    wall = time.monotonic() - began
    return {"messages": messages, "wall_s": round(wall, 1), "s_per_100_messages": round(100 * wall / messages, 2)}


async def _swept(desk: Desk, seconds: float) -> Row:
    """How much goes in so many seconds."""
    gone = "select count(*) from inbox where json_extract(body, '$.deleted') is not null"
    before, began = await asyncio.to_thread(_count, desk, gone), time.monotonic()
    async with asyncio.timeout(SWEEP_BEGINS_SECONDS):
        while await asyncio.to_thread(_count, desk, gone) == before:  # noqa: ASYNC110 - another process sweeps
            await asyncio.sleep(1.0)
    first = round(time.monotonic() - began)
    await asyncio.sleep(seconds)
    swept = await asyncio.to_thread(_count, desk, gone) - before
    return {"first_after_s": first, "seconds": seconds, "messages_redacted": swept}


def _command(desk: Desk, *arguments: str) -> Any:
    """Run a command beside the process that serves; the resources that it used."""
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(desk.folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "bot", *arguments]
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"frontdesk {arguments[0]} ended with {process.returncode}")
    return usage


def _rows_of(desk: Desk, user: str) -> int:
    kept = (("inbox", "author"), ("turn", "customer"), ("case_", "customer"), ("spending", "customer"))
    found = [_count(desk, f"select count(*) from {table} where {column} = '{user}'") for table, column in kept]  # noqa: S608
    return sum(found)


def _count(desk: Desk, statement: str) -> int:
    with closing(sqlite3.connect(f"file:{desk.folder / 'frontdesk.db'}?mode=ro", uri=True)) as opened:
        return int(opened.execute(statement).fetchone()[0])


if __name__ == "__main__":
    sys.exit(main())
