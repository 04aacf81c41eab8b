"""Plant faults in the files that decide, and count those that their tests find: `make mutants`."""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from time import monotonic

from tools.mutants import judging
from tools.mutants.equivalent import load_equivalent
from tools.mutants.faults import Fault, walk_files
from tools.mutants.files import TESTS
from tools.mutants.judging import Trial, Verdict

SEED = 20
FAULTS = 400
MINUTES = 60.0
WORKERS = 2
GOAL = 0.9
"""The share of faults that tests should find."""
MAX_UNCHANGED_SECONDS = 300.0
"""What the tests of a file can use of a processor while nothing is wrong."""
PATIENCE_FACTOR = 5
"""A fault that makes the tests use so many times as much of a processor is found: a loop has no end. Seconds of a
clock would find faults on a busy machine that nobody finds on a quiet one."""


def main() -> int:
    """Judge the faults, print the survivors and the score, and say whether the goal is reached."""
    arguments = _arguments()
    drawn = draw(arguments.only or [*TESTS], arguments.faults, seed=arguments.seed, having=arguments.having)
    equivalent = load_equivalent()
    faults = [fault for fault in drawn if fault.name not in equivalent]
    print(f"{len(drawn)} faults, {len(drawn) - len(faults)} of them listed as equivalent, seed {arguments.seed}")
    judging.import_libraries()
    began = monotonic()
    verdicts = judge(faults, workers=arguments.workers, seconds=arguments.minutes * 60)
    counts = {verdict: [*verdicts.values()].count(verdict) for verdict in ("killed", "timed out", "survived")}
    score = 1 - counts["survived"] / max(len(verdicts), 1)
    figures = {"faults": len(verdicts), **counts, "equivalent": len(drawn) - len(faults), "score": round(score, 3)}
    figures |= {"not judged": len(faults) - len(verdicts), "seed": arguments.seed, "minutes": _minutes(began)}
    print(json.dumps(figures))
    return 0 if score >= GOAL else 1


def draw(paths: Sequence[str], count: int, *, seed: int, having: str = "") -> list[Fault]:
    """So many faults of these files at random, in the files' order. The same seed draws the same."""
    every = [fault for fault in walk_files(paths) if having in fault.name]
    places = random.Random(seed).sample(range(len(every)), min(count, len(every)))  # noqa: S311
    return [every[place] for place in sorted(places)]


def judge(faults: Sequence[Fault], *, workers: int, seconds: float) -> dict[Fault, Verdict]:
    """The verdict on each fault that there was time for, in an order drawn anew so that no file is left out."""
    deadline = monotonic() + seconds
    waiting = random.Random(len(faults)).sample(faults, len(faults))  # noqa: S311
    allowed: dict[tuple[str, ...], float] = {}
    verdicts: dict[Fault, Verdict] = {}
    running: dict[Trial, Fault] = {}
    try:
        while running or (waiting and monotonic() < deadline):
            while waiting and len(running) < workers and monotonic() < deadline:
                fault = waiting.pop()
                tests = TESTS[fault.path]
                if tests not in allowed:
                    allowed[tests] = _measure_unchanged(tests)
                running[judging.begin(fault, tests, cpu_seconds=allowed[tests])] = fault
            for trial in judging.wait_for_one([*running]):
                fault, spent = running.pop(trial), trial.seconds
                verdict = verdicts[fault] = trial.end()
                print(f"{len(verdicts):4} {verdict} after {spent:.0f} s: {fault.name}", flush=True)
    finally:
        for trial in running:
            trial.end()
    return verdicts


def _measure_unchanged(tests: tuple[str, ...]) -> float:
    """What the tests may use of a processor with a fault. Raises SystemExit when they fail twice without one."""
    for _ in range(2):
        trial = judging.begin(None, tests, cpu_seconds=MAX_UNCHANGED_SECONDS)
        [ended] = judging.wait_for_one([trial])
        output = ended.output()
        used = ended.cpu_seconds
        if ended.end() == "survived":
            return PATIENCE_FACTOR * used + 20.0
    sys.exit(f"These tests fail without a fault: {' '.join(tests)}\n{output}")


def _minutes(began: float) -> float:
    return round((monotonic() - began) / 60, 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--faults", type=int, default=FAULTS, help=f"how many to draw (default: {FAULTS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"the seed of the draw (default: {SEED})")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="begin no further fault after this time")
    parser.add_argument("--workers", type=int, default=WORKERS, help="faults that are judged at the same time")
    parser.add_argument("--only", action="append", choices=[*TESTS], metavar="FILE", help="draw from this file only")
    parser.add_argument("--having", default="", metavar="TEXT", help="draw only faults whose name has this text")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
