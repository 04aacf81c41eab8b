"""What an answer costs, beside a floor of Bolt, openai and aiohttp that stores nothing.

    python -m bench.answer             rows to read, then one JSON object as the last line

A customer whom nobody knows yet asks for an order; the model looks it up and answers. The floor (bench.plain), the
product on SQLite and the product as one worker of a fleet on Postgres take turns at it, block by block, on the same
machine in the same minutes. CPU is that of the serving process alone, from the event to the closed row, with all that
the process does meanwhile. Servers of the bench play Slack, the model and the shop.

sqlite_ratio, fleet_ratio      CPU of an answer by that of the floor: the median of the blocks
statements, transactions       of an answer on SQLite; those of a fleet are printed above, with its queue's
idle_worker_percent            of a core, of a worker of the fleet that nobody asks anything
begin_ms_p50                   in the fleet, from the event's sending to the first call of its turn
full_core_answers_per_second   what one core could answer on SQLite, by the CPU of an answer
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from bench.children import serving
from bench.counted import COUNTED
from bench.outside import OUTSIDE
from bench.plain import PLAIN
from bench.serving import Question, Served, answered, post, questions, served, stage
from bench.timing import paced, quantile
from tests.doubles.postgres import open_postgres

FIRST_SECONDS, WRITING_SECONDS, SENTENCES = 0.2, 1.2, 6
"""How the model answers."""
SETTLE_SECONDS = 0.5
"""After the last answer's last word, until its row is surely closed."""
PATIENCE_SECONDS = 60.0


@dataclass
class Contender:
    """One way to answer, and what its blocks took."""

    name: str
    outside: str
    process: Served
    begun_ms: list[float] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    unanswered: int = 0

    def per_answer(self, what: str, block: int, answers: int) -> float:
        """What an answer of the block took of `what`, by the marks around the block."""
        marks = self.process.figures["marks"]
        spent: float = marks[2 * block + 1][what] - marks[2 * block][what]
        return spent / answers


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=4, help="of each contender (default: %(default)s)")
    parser.add_argument("--answers", type=int, default=20, help="in a block (default: %(default)s)")
    parser.add_argument("--pause", type=float, default=0.25, help="seconds between questions (default: %(default)s)")
    parser.add_argument("--idle", type=float, default=20.0, help="seconds without questions (default: %(default)s)")
    parser.add_argument("--only", nargs="*", default=["sqlite", "fleet"], help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    contenders = asyncio.run(_measured(options))
    print(json.dumps(_figures(contenders, options)))
    return 1 if any(each.unanswered for each in contenders) else 0


async def _measured(options: argparse.Namespace) -> list[Contender]:
    asked = questions(options.answers * (options.blocks + 1))
    blocks = [asked[at : at + options.answers] for at in range(0, len(asked), options.answers)]
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        names = ["floor", *options.only]
        contenders = [await stack.enter_async_context(_open(name)) for name in names]
        for each in contenders:
            await stage(
                each.outside,
                asked,
                first_seconds=FIRST_SECONDS,
                seconds=WRITING_SECONDS,
                sentences=SENTENCES,
                looks_up=True,
            )
        # What is done for the first time is done in the first block, which does not count.
        for number, block in enumerate(blocks):
            for each in contenders:
                await _play(http, each, block, pause=options.pause, is_warm=number > 0)
        if "fleet" in names:
            worker = contenders[names.index("fleet")].process
            # It is idle from the mark that ended its last block.
            await asyncio.sleep(options.idle)
            worker.mark()
            await asyncio.sleep(SETTLE_SECONDS)
        for each in contenders:
            await each.process.end()
    return contenders


@asynccontextmanager
async def _open(name: str) -> AsyncIterator[Contender]:
    """A contender that is ready, with a Slack, a model and a shop of its own."""
    with ExitStack() as stack:
        outside = stack.enter_context(serving(OUTSIDE))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"bench-answer-{name}-")))
        extra = {
            "SLACK_RATE": "100",
            "SHOP_URL": f"{outside}/shop",
            "SHOP_TOKEN": "bench",
            "SHOP_PLAIN_HTTP": "on",
            "LOG_LEVEL": "WARNING",
        }
        if name == "fleet":
            server = stack.enter_context(open_postgres())
            extra["DATABASE_URL"] = await server.create()
        program = PLAIN if name == "floor" else COUNTED
        async with served(outside, folder, extra, program=program) as process:
            yield Contender(name, outside, process)


async def _play(
    http: aiohttp.ClientSession, contender: Contender, block: Sequence[Question], *, pause: float, is_warm: bool
) -> None:
    """Ask a block's questions, and wait until all is done."""
    now = asyncio.get_running_loop().time
    if is_warm:
        contender.process.mark()
    sent = dict[str, float]()
    posting = []
    async for question in paced(block, pause):
        sent[question.mark] = now()
        posting.append(asyncio.create_task(post(http, contender.process.url, question)))
    await asyncio.gather(*posting)
    seen = await answered(http, contender.outside, block, seconds=PATIENCE_SECONDS)
    await asyncio.sleep(SETTLE_SECONDS)
    contender.unanswered += sum(not _of(seen, mark)["ended"] for mark in sent)
    contender.calls = seen["calls"]
    if is_warm:
        contender.process.mark()
        contender.begun_ms += [(_of(seen, mark)["begun"] - at) * 1e3 for mark, at in sent.items()]


def _of(seen: dict[str, Any], mark: str) -> dict[str, float]:
    found: dict[str, float] = seen["seen"].get(mark, {"begun": 0.0, "ended": 0.0})
    return found


def _figures(contenders: Sequence[Contender], options: argparse.Namespace) -> dict[str, Any]:
    cpu_ms, ratios, all_answers = {}, {}, options.answers * (options.blocks + 1)
    counted = {}
    floor = [contenders[0].per_answer("cpu_s", block, options.answers) for block in range(options.blocks)]
    for each in contenders:
        blocks = range(options.blocks)
        cpu = [each.per_answer("cpu_s", block, options.answers) for block in blocks]
        cpu_ms[each.name] = statistics.median(cpu) * 1e3
        ratios[each.name] = statistics.median(one / plain for one, plain in zip(cpu, floor, strict=True))
        counted[each.name] = [
            statistics.median(each.per_answer(what, block, options.answers) for block in blocks)
            for what in ("statements", "transactions")
        ]
        statements, transactions = counted[each.name]
        begun = quantile(each.begun_ms, 0.5)
        print(
            f"{each.name:7} CPU {cpu_ms[each.name]:6.1f} ms ({min(cpu) * 1e3:.1f} to {max(cpu) * 1e3:.1f}), "
            f"{ratios[each.name]:.2f} x   {statements:5.1f} statements, {transactions:4.1f} transactions   "
            f"begun after {begun:.0f} ms"
        )
        calls = sorted(each.calls.items())
        print("        calls of an answer:", ", ".join(f"{name} {times / all_answers:.1f}" for name, times in calls))
    figures: dict[str, Any] = {}
    if "sqlite" in ratios:
        figures |= {
            "sqlite_ratio": round(ratios["sqlite"], 2),
            "statements": round(counted["sqlite"][0], 1),
            "transactions": round(counted["sqlite"][1], 1),
            "full_core_answers_per_second": round(1e3 / cpu_ms["sqlite"], 1),
        }
    if "fleet" in ratios:
        fleet = next(each for each in contenders if each.name == "fleet")
        *_, begun_at, ended_at = fleet.process.figures["marks"]
        idle = (ended_at["cpu_s"] - begun_at["cpu_s"]) / options.idle
        figures |= {
            "fleet_ratio": round(ratios["fleet"], 2),
            "idle_worker_percent": round(idle * 100, 1),
            "begin_ms_p50": round(quantile(fleet.begun_ms, 0.5)),
        }
    return figures


if __name__ == "__main__":
    sys.exit(main())
