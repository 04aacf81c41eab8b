"""`make chaos`: kill Frontdesk hundreds of times and see that nobody notices. Every line of violations, then JSON.

python -m tests.chaos.run --engine sqlite --kills 200 --seed 7
python -m tests.chaos.run --points --each 20
"""

import argparse
import asyncio
import json
import logging
import math
import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from tests.chaos.campaign import ZOMBIES, Campaign, open_campaign, places
from tests.chaos.points import POINTS

OUTAGES = (2.0, 2.0)
"""Seconds for which Postgres is away."""
KILLS = {"sqlite": 200, "postgres": 100}
"""Engine -> kills when no number is given."""


def main() -> int:
    """The exit status is 1 when anything was violated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=sorted(KILLS), help="all of them unless given")
    parser.add_argument("--kills", type=int, help="200 on SQLite and 100 on Postgres unless given")
    parser.add_argument("--points", action="store_true", help="kill at the points of tests/chaos/points.py alone,")
    parser.add_argument("--each", type=int, default=20, help="so many times at each of them")
    parser.add_argument("--seed", type=int, help="what is random; another one each time unless given")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after so many kill no more, and look")
    parser.add_argument("--without", default="", help="take a safeguard out, to see that its loss is found")
    parser.add_argument("--keep", type=Path, help="a folder for database and logs; a temporary one unless given")
    parser.add_argument("--log", type=Path, help="a file for who starts and ends when")
    given = parser.parse_args()
    if given.log:
        logging.basicConfig(filename=given.log, level=logging.INFO, format="%(asctime)s %(message)s")
    seed = random.SystemRandom().randrange(10_000) if given.seed is None else given.seed
    failed = False
    for engine in [given.engine] if given.engine else KILLS:
        with tempfile.TemporaryDirectory() as folder:
            where = (given.keep or Path(folder)) / f"{engine}-{seed}"
            kills, minutes = given.kills or KILLS[engine], given.minutes
            if given.points:
                failed |= not asyncio.run(run_points(engine, where, seed, given.each, without=given.without))
            else:
                failed |= not asyncio.run(run(engine, where, seed, kills, minutes=minutes, without=given.without))
    return int(failed)


async def run(
    engine: str, folder: Path, seed: int, kills: int, *, minutes: float = math.inf, without: str = ""
) -> bool:
    """One campaign; whether nothing was violated."""
    print(f"{engine}: {kills} kills, seed {seed}", flush=True)
    began = time.monotonic()
    async with open_campaign(engine, folder, seed=seed, is_staffed=True, without=without) as campaign:
        await kill_all(campaign, kills, began + minutes * 60)
        found = await campaign.look()
        print(f"{engine}: {len(campaign.people.lines)} messages in {time.monotonic() - began:.0f} s")
        if campaign.ended_by_themselves:
            print(f"{engine}: {campaign.ended_by_themselves} processes ended since the machine let them stand still")
        for violation in found.violations:
            print(f"  violated: {violation}")
        print(campaign.summary(found), flush=True)
    return not found.violations


async def run_points(engine: str, folder: Path, seed: int, each: int, *, without: str = "") -> bool:
    """So many kills at each point, every point in a world of its own; whether nothing was violated."""
    print(f"{engine}: {each} kills at each of {len(POINTS)} points, seed {seed}", flush=True)
    counts: dict[str, dict[str, float]] = {}
    is_whole = True
    for name, point in POINTS.items():
        async with open_campaign(engine, folder / point.place, seed=seed, without=without) as campaign:
            people = campaign.people
            load = partial(people.say, "work") if point.what == "work" else partial(people.begin, "solved")
            for _ in range(each):
                if not await campaign.strike(point.place, point.passing, load):
                    campaign.findings.wrong(f"{point.place} was not reached")
            found = await campaign.look()
        for violation in found.violations:
            print(f"  violated {name}: {violation}")
        is_whole &= not found.violations
        counts[name] = {
            "kills": campaign.kills,
            "lost": found.lost,
            "doubled": found.doubled,
            "repeated_writes": found.repeated_writes,
            "resume_max_s": round(max(people.late(), default=0.0), 1),
        }
        print(f"  {name}: {counts[name]}", flush=True)
    print(json.dumps({"engine": engine, "points": counts}), flush=True)
    return is_whole


async def kill_all(campaign: Campaign, kills: int, until: float) -> None:
    """At random moments, with a polite stop now and then, and at every place; no more once it is `until`."""
    is_fleet = campaign.server is not None
    kill_some = campaign.random_fleet_kills if is_fleet else campaign.random_kills
    swept = places(again=not is_fleet)[:kills]
    await campaign.start(*campaign.members)
    while campaign.kills < kills - len(swept) and time.monotonic() < until:
        await kill_some(min(16, kills - len(swept) - campaign.kills))
        if campaign.kills < kills - len(swept):
            await campaign.kill_at_ack()
        await campaign.polite_stop()
        tell(campaign)
    for place in swept:
        if time.monotonic() < until:
            await campaign.sweep([place])
    tell(campaign)
    if campaign.kills < kills and time.monotonic() < until:
        # A place that some other process passed first.
        await kill_some(kills - campaign.kills)
    if is_fleet:
        await hold_up(campaign, until)
    await campaign.quiet()


async def hold_up(campaign: Campaign, until: float) -> None:
    """What is no kill and yet not there: Postgres for a while, and a worker for longer than its lease."""
    await campaign.start(*campaign.members)
    for seconds in OUTAGES:
        await campaign.outage(seconds)
    frozen = 0
    for place in ZOMBIES:
        if time.monotonic() < until:
            frozen += await campaign.freeze(place)
    print(f"  Postgres was away {len(OUTAGES)} times, a worker was frozen {frozen} times of {len(ZOMBIES)}")
    tell(campaign)


def tell(campaign: Campaign) -> None:
    """How far it is."""
    wrong = campaign.findings.violations
    print(
        f"  {campaign.kills} kills, {len(campaign.people.lines)} messages, {wrong[-1:] or 'nothing wrong so far'}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
