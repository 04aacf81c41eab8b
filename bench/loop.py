"""What the agent loop costs the process that runs it, next to a floor written by hand and to what others do.

    python -m bench.loop               rows to read, a table, then one JSON object as the last line

With --figures the table and the plot also show the clients of earlier runs, which that file keeps.

Scenes, against a scripted server in a process of its own. A: one answer of 300 pieces, as fast as they can be
written. B: a support turn of two calls together (100 ms each), one more call, and an answer of 300 pieces. Paced: 20
turns of B at once, 300 ms to the first event and 20 ms between two. C: the same with 200 turns at once.

Clients: `floor` is aiohttp and orjson and none of the rules; `ours` is bot.agent.loop.run through the openai client;
`typed` is a loop by hand over the client's typed chunks; then the frameworks that are installed (bench/peers). Each
run is a fresh process. A ratio pairs a run with its neighbor of the floor, so that a busy machine disturbs both
alike, and the order turns around each time. CPU is that of the client's process over the measured turns, after
warm-up turns. Every answer is compared whole.

The last line is about `ours`; each figure is a median.

a_ratio, b_ratio, paced_ratio, c_cpu_ratio   CPU, ours / floor
c_wall_over_floor       wall time of C, ours / floor
c_rss_growth_mb         peak memory in C over that after one turn
tool_to_request_ms      from the last tool of a round to the next request at the server, in B (also as t2r_ms)
b_cpu_ms, floor_cpu_ms  CPU of a turn of scene B
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.chat_server import CHAT
from bench.children import serving
from bench.figures import Client, Spread, keep, table
from bench.plot import draw

Row = dict[str, Any]
Pair = tuple[Row, Row]
"""A run of the floor and its neighbor."""

MODULES = {
    "floor": "bench.floor",
    "ours": "bench.ours",
    "typed": "bench.typed",
    "agno": "bench.peers.agno",
    "autogen": "bench.peers.autogen",
    "openai-agents": "bench.peers.openai_agents",
    "langchain": "bench.peers.langchain",
    "pydantic-ai": "bench.peers.pydantic_ai",
}
"""What runs each client."""
NEEDED = {
    "agno": "agno",
    "autogen": "autogen_agentchat",
    "openai-agents": "agents",
    "langchain": "langchain_openai",
    "pydantic-ai": "pydantic_ai",
}
"""The package that must be installed for it."""
PACE = ("--piece-seconds", "0.02", "--first-seconds", "0.3")


@dataclass(frozen=True, slots=True)
class Scene:
    """What a client is made to do."""

    name: str
    arguments: tuple[str, ...]
    """For the client's process."""
    repetitions: int
    pairs: dict[str, list[Pair]] = field(default_factory=dict)
    """What came out, by client."""

    def ratios(self, client: str, figure: str) -> list[float]:
        """A figure of the client as multiples of its neighbors of the floor."""
        return [other[figure] / floor[figure] for floor, other in self.pairs[client]]

    def values(self, client: str, figure: str) -> list[float]:
        """A figure of the client, of each run."""
        return [other[figure] for _, other in self.pairs[client]]

    def floors(self, figure: str) -> list[float]:
        """The same of the floor."""
        return [floor[figure] for pairs in self.pairs.values() for floor, _ in pairs]


def main() -> None:
    """Measure, print what came out, and keep it if asked."""
    options = _options()
    scenes = _scenes(options)
    print("scene  run  client           CPU, ms    ratio    wall, s   server")
    with serving(CHAT) as url:
        for repetition in range(max(options.pairs, options.slow_pairs)):
            for scene in scenes.values():
                if repetition < scene.repetitions:
                    _repeat(url, scene, repetition, options.clients)
    today = datetime.now(UTC).date().isoformat()
    measured = {name: Client(today, _figures(scenes, name)) for name in options.clients}
    if options.figures:
        measured = keep(options.figures, measured)
    if options.plot:
        draw(options.plot, measured)
    print(f"\n{table(measured)}\n")
    print(json.dumps(_summary(scenes)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.loop", description="what the agent loop costs")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs of A and B (default 5)")
    parser.add_argument("--slow-pairs", type=int, help="pairs of runs of the paced scenes (default 4, at most --pairs)")
    parser.add_argument("--turns", type=int, default=12, help="turns of a run of A and B (default 12)")
    parser.add_argument("--few", type=int, default=20, help="turns at once in the paced scene (default 20)")
    parser.add_argument("--many", type=int, default=200, help="turns at once in C (default 200)")
    parser.add_argument("--pieces", type=int, default=300, help="pieces of the answer (default 300)")
    parser.add_argument("--clients", nargs="+", choices=[*MODULES][1:], help="default: all that are installed")
    parser.add_argument("--figures", type=Path, help="JSON file in which the figures are kept beside earlier ones")
    parser.add_argument("--plot", type=Path, help="SVG file to write")
    options = parser.parse_args()
    options.slow_pairs = options.slow_pairs or min(4, options.pairs)
    options.clients = ["ours", *(name for name in options.clients or _installed() if name != "ours")]
    return options


def _installed() -> list[str]:
    return [name for name in [*MODULES][1:] if name not in NEEDED or find_spec(NEEDED[name])]


def _scenes(options: argparse.Namespace) -> dict[str, Scene]:
    single = ("--pieces", str(options.pieces), "--turns", str(options.turns))
    crowd = ("b", "--pieces", str(options.pieces), "--together", "--warm", "1", *PACE, "--turns")
    scenes = (
        Scene("a", ("a", *single), options.pairs),
        Scene("b", ("b", *single), options.pairs),
        Scene("paced", (*crowd, str(options.few)), options.slow_pairs),
        Scene("c", (*crowd, str(options.many)), options.slow_pairs),
    )
    return {scene.name: scene for scene in scenes}


def _repeat(url: str, scene: Scene, repetition: int, clients: Sequence[str]) -> None:
    """Run every client of a scene once, each just before or just after a run of the floor."""
    for start in range(0, len(clients), 2):
        order = [clients[start], "floor", *clients[start + 1 : start + 2]]
        rows = {name: _run(url, name, scene) for name in (reversed(order) if repetition % 2 else order)}
        for name, row in rows.items():
            ratio = row["cpu_ms"] / rows["floor"]["cpu_ms"]
            figures = f"{row['cpu_ms']:>9.2f}  {ratio:>7.2f}  {row['wall_s']:>9.2f}  {row['server_load']:>6.0%}"
            print(f"{scene.name:<5}  {repetition + 1:>3}  {name:<14}  {figures}", flush=True)
            if name != "floor":
                scene.pairs.setdefault(name, []).append((rows["floor"], row))


def _run(url: str, name: str, scene: Scene) -> Row:
    command = [sys.executable, "-m", MODULES[name], url, *scene.arguments]
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    row: Row = json.loads(finished.stdout.splitlines()[-1])
    if row["right"] != row["turns"]:
        raise SystemExit(f"{name}: only {row['right']} of {row['turns']} answers are whole")
    return row


def _figures(scenes: Mapping[str, Scene], client: str) -> dict[str, Spread]:
    crowd = scenes["c"]
    return {
        "a_ratio": Spread.of(scenes["a"].ratios(client, "cpu_ms")),
        "b_ratio": Spread.of(scenes["b"].ratios(client, "cpu_ms")),
        "paced_ratio": Spread.of(scenes["paced"].ratios(client, "cpu_ms")),
        "c_cpu_ratio": Spread.of(crowd.ratios(client, "cpu_ms")),
        "c_wall_over_floor": Spread.of(crowd.ratios(client, "wall_s")),
        "c_rss_growth_mb": Spread.of(crowd.values(client, "rss_growth_mb")),
        "tool_to_request_ms": Spread.of(scenes["b"].values(client, "t2r_ms")),
        "b_cpu_ms": Spread.of(scenes["b"].values(client, "cpu_ms")),
    }


def _summary(scenes: Mapping[str, Scene]) -> dict[str, float]:
    ours = {name: spread.median for name, spread in _figures(scenes, "ours").items()}
    floor_cpu, floor_wait = (_median(scenes["b"].floors(figure)) for figure in ("cpu_ms", "t2r_ms"))
    return ours | {"floor_cpu_ms": floor_cpu, "t2r_ms": ours["tool_to_request_ms"], "floor_t2r_ms": floor_wait}


def _median(values: Iterable[float]) -> float:
    return round(statistics.median(values), 2)


if __name__ == "__main__":
    main()
