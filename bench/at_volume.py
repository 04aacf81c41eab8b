"""A desk with 200 open cases and 50 people: how soon a press is seen, and how much the desk's channel is written to.

    python -m bench.at_volume          rows to read, then one JSON object as the last line

Customers ask for a person, and the product opens their cases as it does in production: over signed HTTP, on SQLite,
with a Slack and a model that keep nobody waiting (bench.outside). All parts play in one run, one after the other. The
floor is a bare client that makes the same calls to Slack, before each press.

claim_p95_ms         from a press on Claim to the edit of the case's card, beside 50 running answers
claim_floor_p95_ms   of the bare client
home_p95_ms          from the event to the Home tab with its list of cases, published
next_cases           different cases that 50 people have who press Claim next at once; next_owners: of so many people
queue_gap_s          the least time between two edits of the queue message in the whole run
alarms, late         messages that rang in the desk's channel, for so many cases that nobody had claimed in time

How long a search takes among 50,000 cases, `make bench-search` measures.
"""

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import aiohttp

from bench.children import serving
from bench.outside import AGENTS, OUTSIDE, STAFF
from bench.serving import Click, HomeOpened, Question, Served, post, questions, served, stage
from bench.timing import paced, quantile

PAUSE = 0.3
"""Seconds between two presses that come one after the other."""
ASKS = "I want to talk to a person, please."
LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 300.0
SETTLE_SECONDS = 4.0
"""More than the least time between two edits of the queue message."""
WAIT_MINUTES = 1
"""Until a case counts as late that nobody has claimed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200, help="open at once (default: %(default)s)")
    parser.add_argument("--claims", type=int, default=50, help="one after the other (default: %(default)s)")
    parser.add_argument("--running", type=int, default=50, help="answers beside them (default: %(default)s)")
    options = parser.parse_args(arguments)
    figures = asyncio.run(_measured(options))
    print(json.dumps(figures))
    return 0 if figures["next_cases"] == figures["next_owners"] == 50 else 1


async def _measured(options: argparse.Namespace) -> dict[str, Any]:
    with serving(OUTSIDE) as outside, tempfile.TemporaryDirectory(prefix="bench-desk-") as folder:
        extra = {
            "CONCURRENT_ANSWERS": "400",
            "SLACK_RATE": "100",
            "OPEN_CASES": "1000",
            "WAIT_MINUTES": ",".join([str(WAIT_MINUTES)] * 3),
            "FIRST_REPLY_MINUTES": "60,60,60",
            "LOG_LEVEL": "WARNING",
        }
        connector = aiohttp.TCPConnector(limit=400)
        async with (
            aiohttp.ClientSession(connector=connector) as http,
            served(outside, Path(folder), extra) as product,
        ):
            desk = _Desk(http, outside, product)
            people = iter(questions(10_000))
            waiting = [replace(next(people), words=ASKS) for _ in range(options.cases)]
            cards = await desk.open(waiting)
            answers = [next(people) for _ in range(options.running)]
            figures = await desk.claims(cards[: options.claims], answers)
            figures |= await desk.homes(STAFF[1:21])
            figures |= await desk.claim_next()
            figures |= await desk.queue()
            await asyncio.sleep(WAIT_MINUTES * 60)
            figures |= await desk.alarms()
            await product.end()
    return figures


@dataclass(frozen=True, slots=True)
class _Card:
    """A case's card in the desk's channel."""

    case: str
    ts: str


@dataclass(frozen=True, slots=True)
class _Desk:
    """The product, and the Slack that it talks to."""

    http: aiohttp.ClientSession
    outside: str
    product: Served

    async def open(self, waiting: Sequence[Question]) -> list[_Card]:
        """Let so many customers ask for a person; the cards of their cases, oldest first."""
        await stage(self.outside, waiting, first_seconds=0.1, seconds=0.2, sentences=1)
        sent = [asyncio.create_task(post(self.http, self.product.url, each)) async for each in paced(waiting, 0.05)]
        if None in await asyncio.gather(*sent):
            raise RuntimeError("an event was not acknowledged")

        def cards(desk: list[dict[str, Any]]) -> list[_Card] | None:
            posted = [each for each in desk if each["method"] == "chat.postMessage" and not each["thread"]]
            found = {each["case"]: _Card(each["case"], each["ts"]) for each in posted if each["case"]}
            return [*found.values()] if len(found) >= len(waiting) else None

        found: list[_Card] = await self._until(cards)
        return found

    async def claims(self, cards: Sequence[_Card], answers: Sequence[Question]) -> dict[str, Any]:
        """Presses on Claim, one after the other, beside answers that run."""
        seconds = PAUSE * len(cards) + 15.0
        await stage(self.outside, answers, first_seconds=1.0, seconds=seconds, sentences=int(seconds * 0.6))
        for each in answers:
            await post(self.http, self.product.url, each)
        pressed: dict[str, float] = {}
        floor: list[float] = []
        staff = cycle(STAFF[1:])
        async for card in paced(cards, PAUSE):
            floor.append(await self._floor(card))
            pressed[card.ts] = time.monotonic()
            click = Click(next(staff), AGENTS, card.ts, "case.claim", card.case)
            await self._press(click)

        def edited(desk: list[dict[str, Any]]) -> list[float] | None:
            edits: dict[str, float] = {}
            for each in desk:
                if each["method"] == "chat.update" and each["at"] > pressed.get(each["ts"], float("inf")):
                    edits.setdefault(each["ts"], each["at"])
            return [edits[ts] - at for ts, at in pressed.items()] if len(edits) == len(pressed) else None

        took = await self._until(edited)
        for name, values in (("claim", took), ("floor", floor)):
            print(f"{name:8} p50 {_ms(values, 0.5):7.1f} ms   p95 {_ms(values, 0.95):7.1f} ms")
        return {"claim_p95_ms": _ms(took, 0.95), "claim_floor_p95_ms": _ms(floor, 0.95)}

    async def homes(self, people: Sequence[str]) -> dict[str, Any]:
        """Home tabs, one after the other."""
        opened: dict[str, float] = {}
        async for person in paced(people, PAUSE):
            opened[person] = time.monotonic()
            await post(self.http, self.product.url, HomeOpened(person))

        def published(desk: list[dict[str, Any]]) -> list[float] | None:
            shown: dict[str, float] = {}
            for each in desk:
                if each["method"] == "views.publish" and each["at"] > opened.get(each["user"], float("inf")):
                    shown.setdefault(each["user"], each["at"])
            return [shown[person] - at for person, at in opened.items()] if len(shown) == len(opened) else None

        took = await self._until(published)
        print(f"home     p50 {_ms(took, 0.5):7.1f} ms   p95 {_ms(took, 0.95):7.1f} ms")
        return {"home_p95_ms": _ms(took, 0.95)}

    async def claim_next(self) -> dict[str, Any]:
        """Fifty people press Claim next at once."""
        queue = await self._queue_ts()
        clicks = [Click(person, AGENTS, queue, "queue.next", "next") for person in STAFF[1:]]
        begun = time.time()
        await asyncio.gather(*(self._press(each) for each in clicks))
        claimed: list[tuple[str, str]] = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(claimed) < len(clicks):
                await asyncio.sleep(LOOK_SECONDS)
                claimed = self._rows("select id, owner from case_ where state = 'human' and claimed_at >= ?", begun)
        return {"next_cases": len({case for case, _ in claimed}), "next_owners": len({owner for _, owner in claimed})}

    async def queue(self) -> dict[str, Any]:
        """How often the queue message was edited."""
        queue = await self._queue_ts()
        await asyncio.sleep(SETTLE_SECONDS)
        edits = [each["at"] for each in await self._seen() if each["ts"] == queue and each["method"] == "chat.update"]
        gaps = [after - before for before, after in pairwise(edits)]
        print(f"queue    {len(edits)} edits, the least time between two {min(gaps):.2f} s")
        return {"queue_edits": len(edits), "queue_gap_s": round(min(gaps), 2)}

    async def alarms(self) -> dict[str, Any]:
        """What rang, once every case that nobody has claimed is late."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self._rows("select id from case_ where state = 'waiting' and step = 0"):  # noqa: ASYNC110 - a database
                await asyncio.sleep(LOOK_SECONDS * 10)
        rang = self._rows("select key from outbox where key like 'alarm/%' and channel = ?", AGENTS)
        late = self._rows("select id from case_ where state = 'waiting'")
        return {"alarms": len(rang), "late": len(late)}

    async def _press(self, click: Click) -> None:
        """Press until it is acknowledged, as somebody does who sees that nothing happens."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await post(self.http, self.product.url, click) is None:  # noqa: ASYNC110 - another process decides
                await asyncio.sleep(LOOK_SECONDS)

    async def _floor(self, card: _Card) -> float:
        """Seconds of a bare client that asks who is in the channel and edits the card."""
        begun = time.monotonic()
        for method, body in (
            ("conversations.members", {"channel": "C1"}),
            ("users.info", {"user": STAFF[0]}),
            ("chat.update", {"channel": "C1", "ts": card.ts, "text": "Claimed."}),
        ):
            async with self.http.post(f"{self.outside}/api/{method}", json=body) as response:
                await response.read()
        return time.monotonic() - begun

    async def _queue_ts(self) -> str:
        """Where the queue message is: the last one that was pinned."""
        pinned = [each["ts"] for each in await self._seen() if each["method"] == "pins.add"]
        return str(pinned[-1])

    def _rows(self, statement: str, *values: object) -> list[Any]:
        address = f"file:{self.product.database}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as database:
            return database.execute(statement, values).fetchall()

    async def _until(self, find: Callable[[list[dict[str, Any]]], Any]) -> Any:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = find(await self._seen())
                if found is not None:
                    return found
                await asyncio.sleep(LOOK_SECONDS)

    async def _seen(self) -> list[dict[str, Any]]:
        async with self.http.get(f"{self.outside}/desk") as response:
            seen: list[dict[str, Any]] = (await response.json())["desk"]
        return seen


def _ms(values: Sequence[float], share: float) -> float:
    return round(quantile([each * 1e3 for each in values], share), 1)


if __name__ == "__main__":
    sys.exit(main())
