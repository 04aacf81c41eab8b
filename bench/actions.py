"""What a change of an order costs, and how soon a press becomes a request at the shop and a message to the customer.

    python -m bench.actions            rows to read, then one JSON object as the last line

Every customer asks for the cancellation of an order of their own; the model's rule prepares it, and the customer
presses Yes. The product runs as in production, over signed HTTP; Slack and the model (bench.outside) and the shop
(bench.shop) keep nobody waiting, unless they are told to. All parts play in one run, one after the other.

The floor of a press is a bare client that asks Slack and the shop the same questions one after the other, and then
sends the request: while the same answers run, after each press. That of the burst is a server that checks signatures.

request_p50_ms       from a press to its request at the shop, less the floor, beside 50 running answers
told_p50_ms          from the shop's answer to the customer's message at Slack, beside them
cpu_ms_per_action    of the product, from the press to the told end; statements and transactions are those of the same
floor_cpu_ms         of a bare client that makes the same calls to Slack and the shop, and stores nothing
cpu_ms_per_offer     of a turn that prepares a change, less that of a turn that looks the order up
together_s           until 200 changes are told that are pressed at once, if each answer of the shop takes 300 ms
press_ack_p99_ms     of 200 presses in a burst of 1,000 events at once
judge_ms, map_…_ms   see bench.rules
refused              presses that were not acknowledged, and made once more
once, pressed        presses whose change the shop made once, and whose customer was told once; of how many
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import aiohttp

from bench import rules
from bench.children import serving
from bench.counted import COUNTED
from bench.door import DOOR
from bench.outside import OUTSIDE
from bench.serving import Press, Question, Served, post, questions, served, stage
from bench.shop import SHOP
from bench.timing import paced, quantile

PAUSE = 0.5
"""Seconds between two customers who come one after the other."""
SENTENCES_A_SECOND = 0.6
"""Of an answer that is running beside them."""
SHOP_SECONDS = 0.3
SETTLE_SECONDS = 1.0
PATIENCE_SECONDS = 600.0
"""For what may wait behind all answers of the burst."""
LOOK_SECONDS = 0.2
TOGETHER = 200
"""Connections at the same time."""
POLICY = """
version: 1
currency_limits: {USD: {staff_above: 100000}}
actions:
  cancel_order:
    rules:
      - {id: not_packed, fact: order.status, one_of: [pending, processing], else: refuse, because: shipped_already}
"""
ASKED = ("users.info", "customers", "users.info", "customers", "order", "orders", "quotes", "actions")
"""What is asked between a press and its request: who it is, twice; the order, the customer's orders, what it costs."""

TOLD = ("chat.update", "chat.postMessage", "chat.update")
"""What the customer then sees: that it is on its way, the end, and the offer in one line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=40, help="one after the other (default: %(default)s)")
    parser.add_argument("--running", type=int, default=50, help="answers beside them (default: %(default)s)")
    parser.add_argument("--together", type=int, default=200, help="changes at once (default: %(default)s)")
    parser.add_argument("--burst", type=int, default=1_000, help="events at once (default: %(default)s)")
    parser.add_argument("--presses", type=int, default=200, help="among those events (default: %(default)s)")
    options = parser.parse_args(arguments)
    figures = asyncio.run(_measured(options))
    print(json.dumps(figures))
    return 0 if figures["once"] == figures["pressed"] else 1


async def _measured(options: argparse.Namespace) -> dict[str, Any]:
    with (
        serving(OUTSIDE) as outside,
        serving(SHOP) as shop,
        serving(DOOR) as door,
        tempfile.TemporaryDirectory(prefix="bench-actions-") as folder,
    ):
        policy = Path(folder) / "policy.yml"
        policy.write_text(POLICY, "utf-8")
        extra = {
            "CONCURRENT_ANSWERS": "400",
            "SLACK_RATE": "100",
            "SHOP_URL": shop,
            "SHOP_TOKEN": "bench",
            "SHOP_PLAIN_HTTP": "on",
            "POLICY_PATH": str(policy),
            "LOG_LEVEL": "WARNING",
        }
        connector = aiohttp.TCPConnector(limit=TOGETHER)
        async with (
            aiohttp.ClientSession(connector=connector) as http,
            served(outside, Path(folder), extra, program=COUNTED) as product,
        ):
            world = World(http, outside, shop, product, iter(questions(100_000)))
            floor_ms = await _alone(world, options.changes)
            figures = await _beside_answers(world, options.changes, running=options.running)
            figures |= await _at_once(world, options.together)
            figures |= await _burst(world, options.burst, presses=options.presses, door=door)
            once = await world.done_once()
            await product.end()
    figures |= _of_cpu(product.figures["marks"], options.changes) | {"floor_cpu_ms": round(floor_ms, 1)}
    contract_ms, declared_ms = rules.map_ms()
    return figures | {
        "judge_ms": round(rules.judge_ms(), 2),
        "map_contract_ms": round(contract_ms, 1),
        "map_declared_ms": round(declared_ms, 1),
        "refused": world.refused,
        "once": once,
        "pressed": len(world.pressed),
    }


async def _alone(world: "World", changes: int) -> float:
    """Marks around look-ups, offers, and presses, with nothing beside them. CPU of the floor of a press, in ms."""
    warm = await world.offered(4)
    await world.told(await world.press(warm, pause=PAUSE))
    looked_up = world.customers(changes)
    await world.play(looked_up, looks_up=True)
    world.product.mark()
    await world.ask(looked_up, pause=PAUSE)
    await world.until(_have("ended", looked_up))
    await asyncio.sleep(SETTLE_SECONDS)
    world.product.mark()
    offers = await world.offered(changes, pause=PAUSE)
    await asyncio.sleep(SETTLE_SECONDS)
    world.product.mark()
    await world.told(await world.press(offers, pause=PAUSE))
    await asyncio.sleep(SETTLE_SECONDS)
    world.product.mark()
    begun = time.process_time()
    for offer in offers:
        await world.floor(offer, tells=True)
    return (time.process_time() - begun) / changes * 1e3


def _of_cpu(marks: Sequence[dict[str, float]], changes: int) -> dict[str, Any]:
    looking, offering, changing = (
        {name: (after[name] - before[name]) / changes for name in after} for before, after in pairwise(marks)
    )
    for name, row in (("look-up", looking), ("offer", offering), ("change", changing)):
        counts = f"{row['statements']:5.1f} statements   {row['transactions']:5.1f} transactions"
        print(f"{name:8} CPU {row['cpu_s'] * 1e3:6.1f} ms   {counts}")
    return {
        "cpu_ms_per_action": round(changing["cpu_s"] * 1e3, 1),
        "cpu_ms_per_offer": round((offering["cpu_s"] - looking["cpu_s"]) * 1e3, 1),
        "statements": round(changing["statements"], 1),
        "transactions": round(changing["transactions"], 1),
    }


async def _beside_answers(world: "World", changes: int, *, running: int) -> dict[str, Any]:
    offers, answers = await world.offered(changes), world.customers(running)
    seconds = PAUSE * changes + 15.0
    sentences = int(seconds * SENTENCES_A_SECOND)
    asked_or_pressed = [*answers, *(each.question for each in offers)]
    await world.play(asked_or_pressed, first_seconds=1.0, seconds=seconds, sentences=sentences)
    await world.ask(answers)
    await world.until(_have("started", answers))
    pressed: dict[str, float] = {}
    floor: list[float] = []
    async for offer in paced(offers, PAUSE):
        pressed |= await world.press([offer])
        await asyncio.sleep(PAUSE / 2)
        floor.append(await world.floor(offer))
    seen = await world.told(pressed)
    orders = (await world.books())["orders"]
    asked = [(orders[_order_of(mark)]["asked"] - at) * 1e3 for mark, at in pressed.items()]
    told = [(seen[mark]["posts"][0] - orders[_order_of(mark)]["answered"]) * 1e3 for mark in pressed]
    base = statistics.median(floor) * 1e3
    for name, values in (("request", asked), ("floor", [each * 1e3 for each in floor]), ("told", told)):
        print(f"{name:8} p50 {quantile(values, 0.5):7.1f} ms   p95 {quantile(values, 0.95):7.1f} ms")
    return {
        "request_p50_ms": round(statistics.median(asked) - base, 1),
        "request_floor_p50_ms": round(base, 1),
        "told_p50_ms": round(statistics.median(told), 1),
    }


async def _at_once(world: "World", together: int) -> dict[str, Any]:
    offers = await world.offered(together)
    await world.slow(SHOP_SECONDS)
    await world.play([each.question for each in offers])
    begun = time.monotonic()
    seen = await world.told(await world.press(offers, pause=0.0))
    await world.slow(0.0)
    ends = [seen[each.question.mark]["posts"][0] - begun for each in offers]
    print(f"together p50 {quantile(ends, 0.5):7.1f} s    last {max(ends):7.1f} s")
    return {"together_s": round(max(ends), 1)}


async def _burst(world: "World", events: int, *, presses: int, door: str) -> dict[str, Any]:
    offers, asked = await world.offered(presses), world.customers(events - presses)
    await world.play([*asked, *(each.question for each in offers)], first_seconds=1.0, seconds=3.0, sentences=6)
    sent: list[Question | Press] = [*asked, *offers]
    random.Random(7).shuffle(sent)  # noqa: S311 - the same order in every run
    floor = await world.acknowledged(sent, url=door)
    took = await world.acknowledged(sent)
    world.pressed |= {each.question.mark: 0.0 for each in offers}
    await world.told({each.question.mark: 0.0 for each in offers})
    of_presses = [each for each, what in zip(took, sent, strict=True) if isinstance(what, Press)]
    for name, values in (("presses", of_presses), ("all", took), ("floor", floor)):
        print(f"{name:8} p50 {quantile(values, 0.5):7.1f} ms   p99 {quantile(values, 0.99):7.1f} ms")
    return {
        "press_ack_p99_ms": round(quantile(of_presses, 0.99), 1),
        "ack_p99_ms": round(quantile(took, 0.99), 1),
        "floor_ack_p99_ms": round(quantile(floor, 0.99), 1),
    }


@dataclass
class World:
    """The product and what is around it, as the parts of the bench use them."""

    http: aiohttp.ClientSession
    outside: str
    shop: str
    product: Served
    unasked: Iterator[Question]
    pressed: dict[str, float] = field(default_factory=dict)
    """When Yes was pressed, by the question's mark."""
    refused: int = 0
    """Presses that were not acknowledged, and made once more."""
    told_of: dict[str, int] = field(default_factory=dict)
    """How many messages told an end, by the question's mark."""

    def customers(self, number: int) -> list[Question]:
        """So many customers who have not asked anything yet."""
        return list(islice(self.unasked, number))

    async def play(self, asked: Sequence[Question], **manner: Any) -> None:
        """Begin a part in which these are asked, or pressed under."""
        manner = {"first_seconds": 0.1, "seconds": 0.2, "sentences": 1} | manner
        await stage(self.outside, asked, **manner)

    async def ask(self, asked: Sequence[Question], *, pause: float = 0.05) -> None:
        """Send the questions."""
        posting = [asyncio.create_task(post(self.http, self.product.url, each)) async for each in paced(asked, pause)]
        if None in await asyncio.gather(*posting):
            raise RuntimeError("an event was not acknowledged")

    async def offered(self, number: int, *, pause: float = 0.12) -> list[Press]:
        """What so many new customers are asked to say yes to. Whom a busy machine offers nothing does not count."""
        offers: list[Press] = []
        while len(offers) < number:
            asked = self.customers(number - len(offers))
            await self.play(asked, prepares=True)
            await self.ask(asked, pause=pause)
            await self.until(_have("ended", asked))
            await asyncio.sleep(SETTLE_SECONDS)
            seen = await self._seen()
            offers += [
                Press(each, seen[each.mark]["offer"], seen[each.mark]["offer_ts"])
                for each in asked
                if seen[each.mark]["offer"]
            ]
        return offers

    async def press(self, offers: Sequence[Press], *, pause: float = 0.0) -> dict[str, float]:
        """Press Yes. When, by the question's mark."""
        if pause:
            await self.play([each.question for each in offers])
        pressed, posting = dict[str, float](), []
        async for offer in paced(offers, pause):
            pressed[offer.question.mark] = time.monotonic()
            posting.append(asyncio.create_task(self._press(offer)))
        await asyncio.gather(*posting)
        self.pressed |= pressed
        return pressed

    async def _press(self, offer: Press) -> None:
        """Press until it is acknowledged, as a customer does who sees that nothing happens."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await post(self.http, self.product.url, offer) is None:
                self.refused += 1
                await asyncio.sleep(LOOK_SECONDS)

    async def told(self, pressed: dict[str, float]) -> dict[str, Any]:
        """What was seen, once every end is told. A little later nothing more has come."""
        await self.until(lambda seen: all(seen.get(mark, {}).get("posts") for mark in pressed))
        await asyncio.sleep(SETTLE_SECONDS)
        seen = await self._seen()
        self.told_of |= {mark: len(seen[mark]["posts"]) for mark in pressed}
        return seen

    async def acknowledged(self, sent: Sequence[Question | Press], *, url: str = "") -> list[float]:
        """How long each took that was sent at once, in ms."""
        took = await asyncio.gather(*(post(self.http, url or self.product.url, each) for each in sent))
        if None in took:
            raise RuntimeError(f"{took.count(None)} of {len(sent)} were not acknowledged")
        return [seconds * 1e3 for seconds in took if seconds is not None]

    async def floor(self, offer: Press, *, tells: bool = False) -> float:
        """Seconds of a bare client with the same questions to Slack and the shop, and a request that it forgets.

        With `tells` it also posts what the customer is told, and changes the offer twice, as the product does.
        """
        number = offer.question.mark[1:]
        paths = {
            "users.info": f"{self.outside}/api/users.info?user={offer.question.user}",
            "customers": f"{self.shop}/customers?email={offer.question.user.lower()}@example.com",
            "order": f"{self.shop}/orders/ORD-{number}",
            "orders": f"{self.shop}/customers/cus_{number}/orders?limit=100",
        }
        begun = time.monotonic()
        for name in (*ASKED, *(TOLD if tells else ())):
            if name in paths:
                call = self.http.get(paths[name])
            elif name in TOLD:
                call = self.http.post(f"{self.outside}/api/{name}", json={"channel": "D1", "text": "Done."})
            else:
                call = self.http.post(f"{self.shop}/{name}", json={"arguments": {"order": "ORD-0"}})
            async with call as response:
                await response.read()
        return time.monotonic() - begun

    async def slow(self, seconds: float) -> None:
        """Let the shop take so long for every answer."""
        async with self.http.post(f"{self.shop}/_bench/seconds", data=str(seconds)) as response:
            response.raise_for_status()

    async def books(self) -> dict[str, Any]:
        """What the shop has done."""
        async with self.http.get(f"{self.shop}/_bench/books") as response:
            books: dict[str, Any] = await response.json()
        return books

    async def done_once(self) -> int:
        """Changes that the shop made once, and whose customer was told once."""
        orders = (await self.books())["orders"]
        return sum(
            orders.get(_order_of(mark), {}).get("times") == 1 and self.told_of.get(mark) == 1 for mark in self.pressed
        )

    async def until(self, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """What was seen, once it is so. After PATIENCE_SECONDS the bench ends."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                seen = await self._seen()
                if is_so(seen):
                    return seen
                await asyncio.sleep(LOOK_SECONDS)

    async def _seen(self) -> dict[str, Any]:
        async with self.http.get(f"{self.outside}/seen") as response:
            seen: dict[str, Any] = (await response.json())["seen"]
        return seen


def _have(what: str, asked: Sequence[Question]) -> Callable[[dict[str, Any]], bool]:
    """Whether this was seen of all of them."""
    return lambda seen: all(seen.get(each.mark, {}).get(what) for each in asked)


def _order_of(mark: str) -> str:
    return f"ORD-{mark[1:]}"


if __name__ == "__main__":
    sys.exit(main())
