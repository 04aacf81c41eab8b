"""Play changes of orders in the demo, and compare the shop: `make eval-actions`.

Prints what is wrong, and as the last line one JSON object. Exit status 0 if everything was right. With OPENAI_API_KEY
set, that model answers; what only a scripted model does is left out then, and the figures are a report.
"""

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import yaml

from demo.model.server import Pace
from demo.shop.server import Shop
from demo.world import open_world
from evals.actions.judging import COUNTERS, judge
from evals.actions.playing import Stage
from evals.conversations.reading import Json
from evals.conversations.world import SETTINGS, World

SCENARIOS = Path(__file__).parent / "scenarios.yml"
READY_SECONDS = 240.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the evaluation; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.actions", description=__doc__)
    parser.add_argument("--only", default="", help="ids of scenarios, separated by commas")
    parser.add_argument("--times", type=int, default=1, help="how often each is played: 4 gives pass^4")
    parser.add_argument("--patience", type=float, default=45.0, help="seconds for one reply (default: %(default)s)")
    options = parser.parse_args(arguments)
    figures = asyncio.run(run(options.only, times=options.times, patience=options.patience))
    print(json.dumps(figures))
    return 0 if not figures["failed"] else 1


async def run(only: str = "", *, times: int = 1, patience: float = 45.0) -> Json:
    """Play the scenarios, print what is wrong, and return the figures."""
    real = bool(os.environ.get("OPENAI_API_KEY"))
    scenarios = [each for each in read_scenarios(only) if not (real and {"calls", "text"} & each.keys())]
    passed: defaultdict[str, int] = defaultdict(int)
    asked, right = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="actions-") as folder:
        data = Path(folder)
        async with (
            open_world(data, extra=dict(SETTINGS), pace=Pace(0), rate_limits=False) as demo,
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http,
        ):
            await demo.program.wait_ready(seconds=READY_SECONDS)
            people = World(http, demo.workspace.url, demo.workspace.secret, patience=patience)
            if not isinstance(demo.shop, Shop):
                raise TypeError
            stage = Stage(demo.shop, demo.stand_in, people, data / "frontdesk.db")
            for scenario in [each for each in scenarios for _ in range(times)]:
                faults = judge(await stage.play(scenario))
                asked.update(faults.keys())
                right.update(name for name, wrong in faults.items() if not wrong)
                passed[scenario["id"]] += not any(faults.values())
                for name, wrong in faults.items():
                    if wrong:
                        print(f"FAIL {scenario['id']}: {name}: {wrong}")
    return {
        "asked": len(scenarios),
        "counters": {name: f"{right[name]}/{asked[name]}" for name in COUNTERS},
        "pass^1": round(sum(passed.values()) / (len(scenarios) * times), 3),
        f"pass^{times}": round(sum(number == times for number in passed.values()) / len(scenarios), 3),
        "failed": sorted(each["id"] for each in scenarios if passed[each["id"]] < times),
    }


def read_scenarios(only: str = "") -> list[Json]:
    """The scenarios, or those of them with these ids."""
    wanted = set(filter(None, only.split(",")))
    scenarios: list[Json] = yaml.safe_load(SCENARIOS.read_text("utf-8"))
    return [each for each in scenarios if not wanted or each["id"] in wanted]


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    sys.exit(main())
