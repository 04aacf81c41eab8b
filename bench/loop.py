"""What the agent loop costs the process that runs it, next to a floor written by hand.

    python -m bench.loop               rows to read, then one JSON object as the last line

Two scenes against a scripted server in a process of its own. A: one answer of 300 pieces. B: a support turn of two
calls together (100 ms each), one more call, and an answer of 300 pieces. `ours` is bot.agent.loop.run through the
openai client; `floor` does the same with aiohttp and orjson and none of the rules. Each run is a fresh process, the
two alternate, and a ratio pairs two neighbors, so that a busy machine disturbs both alike. CPU is that of the
client's process over the measured turns, after warm-up turns. Every answer is compared whole.

a_ratio, b_ratio        median of the paired CPU ratios ours / floor
b_cpu_ms, floor_cpu_ms  median CPU of a turn of scene B
t2r_ms                  median time from the last tool of a round to the next request at the server
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Row = dict[str, Any]


def main() -> None:
    """Alternate the two clients and print what came out."""
    parser = argparse.ArgumentParser(prog="python -m bench.loop", description="CPU of the agent loop")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of runs for each scene (default 7)")
    parser.add_argument("--turns", type=int, default=12, help="measured turns in a run (default 12)")
    options = parser.parse_args()
    results: dict[str, list[tuple[Row, Row]]] = {"a": [], "b": []}
    print("scene  pair   floor ms    ours ms   ratio   t2r ms")
    with _server() as url:
        for pair in range(options.pairs):
            for scene, pairs in results.items():
                floor, ours = _pair(url, scene, options.turns, ours_first=bool(pair % 2))
                pairs.append((floor, ours))
                ratio = ours["cpu_ms"] / floor["cpu_ms"]
                row = f"{floor['cpu_ms']:>9.2f}  {ours['cpu_ms']:>9.2f}  {ratio:>6.2f}  {ours['t2r_ms']:>7.2f}"
                print(f"{scene:<5}  {pair + 1:>4}  {row}", flush=True)
    summary = {
        "a_ratio": _median(ours["cpu_ms"] / floor["cpu_ms"] for floor, ours in results["a"]),
        "b_ratio": _median(ours["cpu_ms"] / floor["cpu_ms"] for floor, ours in results["b"]),
        "b_cpu_ms": _median(ours["cpu_ms"] for _, ours in results["b"]),
        "floor_cpu_ms": _median(floor["cpu_ms"] for floor, _ in results["b"]),
        "t2r_ms": _median(ours["t2r_ms"] for _, ours in results["b"]),
        "floor_t2r_ms": _median(floor["t2r_ms"] for floor, _ in results["b"]),
    }
    print(f"B: {summary['b_ratio']} times the floor's CPU (goal: at most 4)")
    print(json.dumps(summary))


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, "-m", "bench.chat_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the server's pipes are not there")
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()


def _pair(url: str, scene: str, turns: int, *, ours_first: bool) -> tuple[Row, Row]:
    if ours_first:
        ours = _client("ours", url, scene, turns)
        return _client("floor", url, scene, turns), ours
    return _client("floor", url, scene, turns), _client("ours", url, scene, turns)


def _client(name: str, url: str, scene: str, turns: int) -> Row:
    command = [sys.executable, "-m", f"bench.{name}", url, scene, "--turns", str(turns)]
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    row: Row = json.loads(finished.stdout)
    if row["right"] != row["turns"]:
        raise SystemExit(f"{name}: only {row['right']} of {row['turns']} answers are whole")
    return row


def _median(values: Iterator[float]) -> float:
    return round(statistics.median(values), 2)


if __name__ == "__main__":
    main()
