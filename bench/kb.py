"""What a knowledge base costs: builds and refreshes of a big tree, searches as it grows, searches during a refresh.

    python -m bench.kb                 rows to read, then one JSON object as the last line

The trees are varied from a folder of Markdown pages (bench.kb_tree) in a temporary folder: 1,200 files of together 12
MB for the builds. Each build is a process of its own, and so are those of LangChain and LlamaIndex, which take part
when `--peers` names a Python that has them (`make bench-kb-peers`): all three write to Chroma and embed with the same
table. Searches ask the questions beside the pages, one after the other, through `KnowledgeBase.search`.

ingest_cpu_s, rss_mb          the whole builder, imports included
nochange_cpu_s, onepct_cpu_s  the builder beyond its imports: nothing has changed; a sentence in 1 % of the files has
search_p95_ms_10k ...         of the whole search, passages joined and cut
refresh_loop_lag_max_ms       how late a timer of 1 ms came at the worst while a base of 10k chunks was refreshed,
                              5 % of its files changed and searches running; refresh_idle_lag_max_ms without a refresh
refresh_failed_searches       that found nothing, were degraded or raised
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bench.kb_tree import change_tree, make_tree
from bench.timing import quantile, watch
from knowledge.build.process import build
from knowledge.build.report import Progress
from knowledge.config import read_config
from knowledge.embedding.table import TableEmbedder
from knowledge.generations import Generations
from knowledge.knowledge_base import KnowledgeBase, open_knowledge_base

DATA = Path(__file__).parents[2] / "shared" / "data" / "kb" / "au-gov"
CHUNK_CHARACTERS = 775
"""What a chunk of these pages takes of its tree; the sizes of the bases come out near enough."""
PAGE_CHARACTERS = 10_000
STEPS = ("full", "nochange", "onepct")
SEARCHES = 400
WARM = 20
TICK = 0.001
"""Seconds of the timer whose lateness is measured."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Builder:
    """One way to build, as the command that does it."""

    name: str
    command: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; returns the exit code."""
    options = _parser().parse_args(arguments)
    if not (options.data / "docs").is_dir():
        print(f"No pages in {options.data}: nothing was measured.", file=sys.stderr)
        print(json.dumps({"skipped": str(options.data)}))
        return 0
    questions = _questions(options.data)
    with tempfile.TemporaryDirectory(prefix="bench-kb-") as folder:
        work = Path(folder)
        builds = _builds(options, work / "builds")
        searches = {size: asyncio.run(_searched(options, work, questions, size)) for size in options.sizes}
        refresh = asyncio.run(_refreshed(options, work, questions)) if options.refresh else {}
    print(json.dumps(_figures(builds, searches, refresh)))
    return 0


def _builds(options: argparse.Namespace, work: Path) -> dict[str, dict[str, Row]]:
    """Full build, no change, and 1 %, by every builder there is."""
    builders = [Builder("ours", (sys.executable, "-m", "bench.kb_child"))]
    if options.peers:
        peers = (str(options.peers), "-W", "ignore", "-m", "bench.kb_peers")
        builders += [Builder(name, (*peers, name)) for name in ("langchain", "llamaindex")]
    print(f"{'build':12}{'':10}{'chunks':>8}{'CPU s':>8}{'beyond imports':>16}{'chunks/s':>10}{'RSS MB':>8}")
    rows: dict[str, dict[str, Row]] = {}
    for builder in builders:
        tree = make_tree(options.data / "docs", work / builder.name, files=options.files, characters=options.characters)
        for step in STEPS:
            if step == "onepct":
                change_tree(tree, files=max(1, options.files // 100))
            row = _cost([*builder.command, str(work / f"{builder.name}-state"), str(tree)])
            rows.setdefault(builder.name, {})[step] = row
            rate = f"{row['chunks'] / row['cpu_s']:,.0f}" if step == "full" else ""
            print(
                f"{builder.name:12}{step:10}{row['chunks']:>8,}{row['cpu_s']:>8}{row['beyond_imports_s']:>16}"
                f"{rate:>10}{row['rss_mb']:>8}",
                flush=True,
            )
    return rows


def _cost(command: Sequence[str]) -> Row:
    # As the program starts its builder.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    row: Row = json.loads(printed.splitlines()[-1])
    return row


async def _searched(options: argparse.Namespace, work: Path, questions: Sequence[str], size: int) -> Row:
    """The base of about so many chunks, asked by one customer after the other."""
    root = await _built(options, work, size)
    async with open_knowledge_base(root, TableEmbedder()) as base:
        for question in islice(questions, WARM):
            await base.search(question)
        took = [await _timed(base, question) for question in islice(cycle(questions), options.searches)]
        chunks = (await base.status()).chunks
    row = {"chunks": chunks, "p50_ms": _at(took, 0.5), "p95_ms": _at(took, 0.95), "max_ms": _at(took, 1.0)}
    print(f"search {chunks:>8,} chunks  p50 {row['p50_ms']} ms  p95 {row['p95_ms']} ms", flush=True)
    return row


async def _refreshed(options: argparse.Namespace, work: Path, questions: Sequence[str]) -> Row:
    """A refresh under load, as those who ask meanwhile notice it."""
    root = await _built(options, work, options.refresh)
    tree = _tree(work, options.refresh)
    async with open_knowledge_base(root, TableEmbedder()) as base:
        for question in islice(questions, WARM):
            await base.search(question)
        idle, _, _ = await _watched(base, questions, asyncio.create_task(asyncio.sleep(3)))
        change_tree(tree, files=max(1, len([*tree.rglob("*.md")]) // 20))
        begun = time.monotonic()
        refreshing = asyncio.create_task(base.refresh(tree))
        lags, took, failed = await _watched(base, questions, refreshing)
        seconds, report = time.monotonic() - begun, await refreshing
    row = {
        "chunks": report.chunks,
        "changed_files": report.changed,
        "seconds": round(seconds, 2),
        "searches": len(took),
        "failed": failed,
        "p95_ms": _at(took, 0.95),
        "lag_max_ms": _at(lags, 1.0),
        "lag_p99_ms": _at(lags, 0.99),
        "idle_lag_max_ms": _at(idle, 1.0),
    }
    print("refresh " + "  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    return row


async def _watched(
    base: KnowledgeBase, questions: Sequence[str], until: asyncio.Task[Any]
) -> tuple[list[float], list[float], int]:
    """Lateness of a timer and time of searches, in ms, while something goes on; and how many searches failed."""
    lags: list[float] = []
    timer = asyncio.create_task(watch(lags, TICK))
    took: list[float] = []
    failed = 0
    for question in cycle(questions):
        if until.done():
            break
        begun = time.perf_counter()
        findings = await base.search(question)
        took.append((time.perf_counter() - begun) * 1e3)
        failed += findings.degraded or not findings.hits
        await asyncio.sleep(0.01)
    timer.cancel()
    with suppress(asyncio.CancelledError):
        await timer
    return lags, took, failed


async def _timed(base: KnowledgeBase, question: str) -> float:
    begun = time.perf_counter()
    await base.search(question)
    return (time.perf_counter() - begun) * 1e3


async def _built(options: argparse.Namespace, work: Path, size: int) -> Path:
    """A base of about that many chunks; built once."""
    root = work / f"kb-{size}"
    if not root.exists():
        characters = size * CHUNK_CHARACTERS
        tree = make_tree(
            options.data / "docs",
            _tree(work, size),
            files=max(1, characters // PAGE_CHARACTERS),
            characters=characters,
        )
        begun = time.process_time()
        await build(Generations(root), read_config(tree).of("public"), TableEmbedder(), tell=_ignore)
        print(f"built a base of {size:,} in {time.process_time() - begun:.1f} s of CPU", flush=True)
    return root


def _tree(work: Path, size: int) -> Path:
    return work / f"tree-{size}"


def _questions(data: Path) -> list[str]:
    lines = (data / "questions.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def _at(values: Sequence[float], share: float) -> float:
    return round(quantile(values, share), 2)


def _figures(builds: Mapping[str, Mapping[str, Row]], searches: Mapping[int, Row], refresh: Row) -> Row:
    ours = builds["ours"]
    figures: Row = {
        "ingest_cpu_s": ours["full"]["cpu_s"],
        "chunks": ours["full"]["chunks"],
        "chunks_per_cpu_s": round(ours["full"]["chunks"] / ours["full"]["cpu_s"]),
        "nochange_cpu_s": ours["nochange"]["beyond_imports_s"],
        "onepct_cpu_s": ours["onepct"]["beyond_imports_s"],
        "rss_mb": ours["full"]["rss_mb"],
    }
    for size, row in searches.items():
        figures |= {f"search_p50_ms_{size // 1_000}k": row["p50_ms"], f"search_p95_ms_{size // 1_000}k": row["p95_ms"]}
    if refresh:
        figures |= {
            "refresh_loop_lag_max_ms": refresh["lag_max_ms"],
            "refresh_idle_lag_max_ms": refresh["idle_lag_max_ms"],
            "refresh_search_p95_ms": refresh["p95_ms"],
            "refresh_searches": refresh["searches"],
            "refresh_failed_searches": refresh["failed"],
        }
    peers = {name: steps for name, steps in builds.items() if name != "ours"}
    return figures | ({"peers": peers} if peers else {})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.kb")
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with docs/*.md and questions.jsonl")
    parser.add_argument("--files", type=int, default=1_200)
    parser.add_argument("--characters", type=int, default=12_000_000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000], help="chunks of the searched")
    parser.add_argument("--searches", type=int, default=SEARCHES)
    parser.add_argument("--refresh", type=int, default=10_000, help="chunks of the base refreshed under load; 0: none")
    parser.add_argument("--peers", type=Path, help="a Python that has LangChain and LlamaIndex")
    return parser


def _ignore(_progress: Progress) -> None:
    """Nobody listens."""


if __name__ == "__main__":
    sys.exit(main())
