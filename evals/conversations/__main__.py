"""Play conversations in the demo, and judge what the customer gets to read: `make eval-conversations`.

Prints what is wrong, a row for each category, and as the last line one JSON object. Exit status 0 when every
conversation was played and, with `--least`, enough of them passed.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from evals.conversations.judging import is_beside_the_point, judge
from evals.conversations.playing import Played, play
from evals.conversations.reading import Json
from evals.conversations.world import PEOPLE, PUBLIC_CHANNEL, SETTINGS, Spent, World, at_page, open_demo

HERE = Path(__file__).resolve().parent
SETS = (HERE / "visitors.jsonl", HERE / "frontdesk.jsonl", HERE / "manners.jsonl")
SHOWN = 700
"""Characters of a message that are printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the evaluation; returns the exit status."""
    options = _parser().parse_args(arguments)
    begun = time.monotonic()
    played, spent = asyncio.run(_run(options))
    figures = {
        **report(played, show=options.show, brief=options.brief),
        "models": sorted(spent.models),
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost": round(spent.cost, 4),
        "seconds": round(time.monotonic() - begun),
    }
    print(json.dumps(figures, ensure_ascii=False))
    return 1 if figures["unplayed"] or figures["passed"] < options.least * figures["asked"] else 0


def read_sets(paths: Sequence[Path], only: str = "") -> list[Json]:
    """The conversations, or those of them with these ids and categories, separated by commas."""
    talks = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines() if line.strip()]
    wanted = set(filter(None, only.split(",")))
    return [talk for talk in talks if not wanted or {talk["id"], talk["category"]} & wanted]


def sample(talks: Sequence[Json], every: int) -> list[Json]:
    """One of so many conversations of each category, always the same ones."""
    seen: Counter[str] = Counter()
    taken = []
    for talk in talks:
        if seen[talk["category"]] % every == 0:
            taken.append(talk)
        seen[talk["category"]] += 1
    return taken


def report(played: Sequence[Played], *, show: bool = False, brief: bool = False) -> Json:
    """Print what is wrong and a table; returns the figures."""
    faults = {each.talk["id"]: judge(each) for each in played}
    for each in sorted(played, key=lambda one: str(one.talk["id"])):
        wrong = faults[each.talk["id"]]
        if wrong or show:
            print(
                f"{'FAIL' if wrong else 'ok  '} {each.talk['id']}: {each.talk.get('about', '')} ({each.seconds:.0f} s)"
            )
            print(*(f"    - {fault}\n" for fault in wrong), sep="", end="")
            if not brief or show:
                print("\n".join(_told(each)))
    by_category: dict[str, list[int]] = {}
    for each in played:
        row = by_category.setdefault(each.talk["category"], [0, 0])
        row[0] += not faults[each.talk["id"]]
        row[1] += 1
    print(f"\n{'category':22} passed   asked")
    for category, (passed, asked) in sorted(by_category.items()):
        print(f"{category:22} {passed:6} {asked:7}")
    waited = [seconds for each in played for seconds in each.first_words]
    return {
        "asked": len(played),
        "passed": sum(not wrong for wrong in faults.values()),
        "beside_the_point_with_source": sum(map(is_beside_the_point, played)),
        "by_category": dict(sorted(by_category.items())),
        "failed": sorted(name for name, wrong in faults.items() if wrong),
        "unplayed": sorted(each.talk["id"] for each in played if each.fault),
        "first_words_median": round(statistics.median(waited), 2) if waited else None,
    }


def _told(played: Played) -> Iterator[str]:
    """The conversation as people would read it."""
    for reply in played.replies:
        yield f"      customer: {reply.asked!r}"
        for seen in reply.seen:
            sources = f"  [source: {'; '.join(seen.sources)}]" if seen.sources else ""
            yield f"      app:      {seen.text[:SHOWN]!r}{sources}"
        if not reply.seen:
            yield "      app:      (nothing)"
    for card in played.cards.values():
        state = "open" if card.is_open else "closed"
        yield f"      card:     {card.case}, reason {card.why!r}, priority {card.priority.strip()!r}, {state}"


async def _run(options: argparse.Namespace) -> tuple[list[Played], Spent]:
    talks = sample(read_sets(options.set or [path for path in SETS if path.exists()], options.only), options.every)
    by_day = [talk for talk in talks if talk.get("desk", "open") == "open"]
    by_night = [talk for talk in talks if talk.get("desk") == "closed"]
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http:
        if options.attach:
            return await _play_all(at_page(http, options.attach), by_day, options), Spent()
        played, spent = list[Played](), Spent()
        more: Mapping[str, str]
        for those, more in ((by_day, {}), (by_night, {"DESK_HOURS": _not_now()})):
            if those:
                settings = {**SETTINGS, **more}
                async with open_demo(http, settings, pace=options.pace, patience=options.patience) as world:
                    played += await _play_all(world, those, options)
                spent += world.spent
        return played, spent


def _not_now() -> str:
    """Opening hours two days ahead."""
    return f"{datetime.now(UTC) + timedelta(days=2):%a} 09:00-10:00"


async def _play_all(world: World, talks: Sequence[Json], options: argparse.Namespace) -> list[Played]:
    channels = {PEOPLE[talk.get("by", "A")][1] for talk in talks} | {
        PUBLIC_CHANNEL for talk in talks if talk.get("place")
    }
    gate = asyncio.Semaphore(options.at_once)
    done: dict[str, Played] = {}

    async def one(talk: Json) -> None:
        async with gate:
            done[talk["id"]] = await play(world, talk)

    watching = asyncio.create_task(world.watch(sorted(channels)))
    tasks = [asyncio.create_task(one(talk)) for talk in talks]
    try:
        async with asyncio.timeout(options.most):
            await _first(watching, tasks)
    except TimeoutError:
        pass  # what is missing then counts as not played
    finally:
        for task in (watching, *tasks):
            task.cancel()
        await asyncio.gather(watching, *tasks, return_exceptions=True)
    late = f"not played within {options.most:.0f} s"
    return [done.get(talk["id"]) or Played(talk, fault=late) for talk in talks]


async def _first(watching: asyncio.Task[None], tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait until all is played; raises what ends the watching before that."""
    pending: set[asyncio.Task[None]] = {watching, *tasks}
    while pending - {watching}:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.conversations", description=__doc__)
    parser.add_argument("--set", type=Path, action="append", help="conversations (default: all beside this program)")
    parser.add_argument("--only", default="", help="ids and categories, separated by commas")
    parser.add_argument("--attach", metavar="URL", help="a running demo's page, with ?secret=…; its desk must be open")
    parser.add_argument("--show", action="store_true", help="print what was said in those that pass, too")
    parser.add_argument("--brief", action="store_true", help="print no conversations, only what is wrong")
    parser.add_argument("--at-once", type=int, default=16, help="conversations at the same time (default: %(default)s)")
    parser.add_argument("--every", type=int, default=1, help="play one of so many of each category (default: all)")
    parser.add_argument("--least", type=float, default=0.0, help="the share that must pass, or the exit status is 1")
    most, patience = (7_200.0, 180.0) if os.environ.get("OPENAI_API_KEY") else (900.0, 45.0)
    parser.add_argument("--most", type=float, default=most, help="seconds for all of them (default: %(default)s)")
    parser.add_argument("--patience", type=float, default=patience, help="seconds for a reply (default: %(default)s)")
    parser.add_argument("--pace", type=float, default=0.1, help="the pauses of the stand-in (default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
