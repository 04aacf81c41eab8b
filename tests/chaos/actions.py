"""`make chaos-actions`: kill Frontdesk while it changes orders. Every line of violations, then one line of JSON.

python -m tests.chaos.actions --engine sqlite --random 300 --each 20 --seed 7
"""

import argparse
import asyncio
import json
import math
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

from bot.store.database import open_database
from demo.shop.server import Fault
from tests.chaos.campaign import Campaign, open_campaign
from tests.chaos.changes import RULES, SLOW_SECONDS, Buyers, Course, Tally, decide, look, open_buyers
from tests.chaos.invariants import Findings

RANDOM = {"sqlite": 300, "postgres": 100}
EACH = {"sqlite": 20, "postgres": 5}
"""Engine -> kills when no number is given: at random, and at each point."""
IN_A_ROW = 2
"""Random kills before everything is waited for. A message that is cut off more than three times goes to a person."""
RECEIVED = (("slow", SLOW_SECONDS), ("act_then_silence", 0.0))
"""What the shop is doing when it has a request: it has not acted yet, or it has and says nothing."""


@dataclass(frozen=True, slots=True)
class Point:
    """A passing of a place of bot/failpoints.py, counted while one customer wants one change."""

    place: str
    passing: int = 1
    course: Course = "cancelled"


POINTS: Mapping[str, Point | None] = {
    "action_stored": Point("action_stored"),
    "offer_shown": Point("post_sent"),
    "press_stored": Point("after_insert", 2),
    "action_confirmed": Point("action_confirmed"),
    "approval_asked": Point("post_sent", 3, "approved"),
    "vote_stored": Point("vote_stored", 1, "approved"),
    "refusal_stored": Point("vote_stored", 1, "rejected"),
    "less_offered": Point("vote_stored", 1, "reduced"),
    "less_confirmed": Point("action_confirmed", 2, "reduced"),
    "action_marked": Point("action_marked"),
    "action_sent": None,
    "action_answered": Point("action_answered"),
    "refund_answered": Point("action_answered", 1, "approved"),
    "action_kept": Point("action_kept"),
    "end_told": Point("post_sent", 4),
}
"""What has just been done -> where that is. At None the shop has the request: the kill comes from outside."""


@dataclass(slots=True)
class Changes:
    """A campaign over changes of orders."""

    campaign: Campaign
    tally: Tally = field(default_factory=Tally)

    @property
    def buyers(self) -> Buyers:
        """Its people."""
        return cast("Buyers", self.campaign.people)

    async def strike(self, name: str, times: int = 1) -> None:
        """Kills at one point."""
        campaign, point = self.campaign, POINTS[name]
        for number in range(times):
            if point is None:
                kind, seconds = RECEIVED[number % len(RECEIVED)]
                fault = Fault(kind, seconds=seconds, path="/actions")
                await campaign.strike_shop(fault, partial(self.buyers.want, "cancelled"))
            elif not await campaign.strike(point.place, point.passing, partial(self.buyers.want, point.course)):
                campaign.findings.wrong(f"{name} was not reached")

    async def kill_at_random(self, count: int) -> None:
        """Kills at any moment while changes are under way."""
        campaign = self.campaign
        if campaign.server is not None:
            await campaign.start(*campaign.members)
            await campaign.random_fleet_kills(count)
            return
        end = campaign.kills + count
        while campaign.kills < end:
            await campaign.start(*campaign.members)
            for _ in range(min(IN_A_ROW, end - campaign.kills)):
                await self.buyers.say_some()
                await asyncio.sleep(campaign.chance.uniform(0.2, 2.0))
                await campaign.kill(*campaign.members)
                await campaign.start(*campaign.members)
            await campaign.settle()

    async def freeze(self) -> bool:
        """A worker stands still between its mark and the request, longer than its lease, and sends nothing then."""
        stood = await self.campaign.freeze("action_marked", partial(self.buyers.want, "cancelled"))
        calls = self.campaign.outside.shop.calls
        sent = Counter(call.key for call in calls if (call.method, call.path) == ("POST", "/actions"))
        for key, times in sent.items():
            if times != 1:
                self.campaign.findings.wrong(f"{key} was sent {times} times though one worker was only frozen")
        return stood

    async def look(self) -> tuple[Tally, list[str]]:
        """Stop the product and look at everything."""
        campaign = self.campaign
        await campaign.start(*campaign.members)
        async with open_database(campaign.database_url) as database:
            with suppress(TimeoutError):
                await campaign.until_closed(database)
        await campaign.stop()
        async with open_database(campaign.database_url) as database:
            tally = await look(self.buyers, database, campaign.log, campaign.findings)
        tally.kills = campaign.kills
        return tally, campaign.findings.violations


@asynccontextmanager
async def open_changes(engine: str, folder: Path, *, seed: int, without: str = "") -> AsyncIterator[Changes]:
    """A campaign whose customers want their orders changed."""
    async with open_campaign(
        engine, folder, seed=seed, without=without, script=decide, gather=open_buyers, rules=RULES
    ) as campaign:
        yield Changes(campaign)


async def run(
    engine: str, folder: Path, *, seed: int, at_random: int, each: int, minutes: float, without: str
) -> tuple[Tally, list[str]]:
    """One campaign, and what it found."""
    print(f"{engine}: {at_random} kills at random, {each} at each of {len(POINTS)} points, seed {seed}", flush=True)
    began = time.monotonic()
    async with open_changes(engine, folder, seed=seed, without=without) as changes:
        campaign = changes.campaign
        for name in POINTS:
            if time.monotonic() - began < minutes * 60:
                await changes.strike(name, each)
                _tell(changes, f"after {name}")
        if campaign.server is not None:
            print(f"  a worker was frozen: {await changes.freeze()}", flush=True)
        end = campaign.kills + at_random
        while campaign.kills < end and time.monotonic() - began < minutes * 60:
            await changes.kill_at_random(min(16, end - campaign.kills))
            _tell(changes, "at random")
        tally, violations = await changes.look()
        for violation in violations:
            print(f"  violated: {violation}")
        late = round(max(campaign.people.late(), default=0.0), 1)
        seconds = time.monotonic() - began
        print(f"{engine}: {tally}, the last to end did so {late} s after its kill, {seconds:.0f} s in all", flush=True)
    return tally, violations


def _tell(changes: Changes, where: str) -> None:
    wrong: Findings = changes.campaign.findings
    said = wrong.violations[-1:] or "nothing wrong so far"
    print(f"  {changes.campaign.kills} kills {where}, {len(changes.buyers.demands)} changes, {said}", flush=True)


def main() -> int:
    """The exit status is 1 when anything was violated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=sorted(RANDOM), help="all of them unless given")
    parser.add_argument("--random", type=int, help="kills at random: 300 on SQLite and 100 on Postgres unless given")
    parser.add_argument("--each", type=int, help="kills at each point: 20 on SQLite and 5 on Postgres unless given")
    parser.add_argument("--seed", type=int, help="what is random; another one each time unless given")
    parser.add_argument("--minutes", type=float, default=math.inf, help="for each engine; then kill no more, and look")
    parser.add_argument("--without", default="", help="take a safeguard out, to see that its loss is found")
    parser.add_argument("--keep", type=Path, help="a folder for database and logs; a temporary one unless given")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10_000) if given.seed is None else given.seed
    total: Counter[str] = Counter(dict.fromkeys(asdict(Tally()), 0))
    failed = False
    for engine in [given.engine] if given.engine else RANDOM:
        with tempfile.TemporaryDirectory() as folder:
            tally, violations = asyncio.run(
                run(
                    engine,
                    (given.keep or Path(folder)) / f"{engine}-{seed}",
                    seed=seed,
                    at_random=RANDOM[engine] if given.random is None else given.random,
                    each=EACH[engine] if given.each is None else given.each,
                    minutes=given.minutes,
                    without=given.without,
                )
            )
        total.update(asdict(tally))
        failed |= bool(violations)
    print(json.dumps(dict(total)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
