"""Retrieval on real questions: is the right passage found, how fast, and does the floor tell what has no answer?

`python -m bench.retrieval [FOLDER]` builds each set below FOLDER (default ../shared/data/kb) with the offline
embedder, asks every question of its questions.jsonl, and has the folder's own score.py judge the results. The last
line is one JSON object. The sets stay outside the repository.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge.embedding.table import TableEmbedder
from knowledge.knowledge_base import Findings, KnowledgeBase, open_knowledge_base

DATA = Path(__file__).parents[2] / "shared" / "data" / "kb"
SETS = {"au-gov": "docs", "webapps-faq": "faq.csv"}
"""Each set and what of it is indexed."""
LIMIT, WORDS = 10, 4_000
"""Wide enough for MRR@10; the scorer itself reads no more than the first 400 words as evidence."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One question with what was found for it."""

    question: dict[str, Any]
    findings: Findings
    milliseconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval")
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    folder = parser.parse_args(arguments).folder
    if not (folder / "score.py").is_file():
        print(f"No data in {folder}: nothing was measured.", file=sys.stderr)
        print(json.dumps({"skipped": str(folder)}))
        return 0
    results = {name: asyncio.run(measure(folder, name)) for name in SETS if (folder / name).is_dir()}
    for name, figures in results.items():
        print(name, *(f"  {figure:22} {value}" for figure, value in figures.items()), sep="\n")
    print(json.dumps(results))
    return 0


async def measure(folder: Path, name: str) -> dict[str, Any]:
    """Build one set in a temporary folder, ask all its questions, and score the answers."""
    questions = [json.loads(line) for line in (folder / name / "questions.jsonl").read_text().splitlines()]
    with tempfile.TemporaryDirectory() as work:
        async with open_knowledge_base(Path(work, "kb"), TableEmbedder()) as base:
            report = await base.refresh(folder / name / SETS[name])
            await base.search("a first question opens connections")
            answers = [await ask(base, question) for question in questions]
            floor = (await base.status()).floor
        scores = score(folder, name, answers, Path(work, "results.jsonl"))
    times = sorted(answer.milliseconds for answer in answers)
    return {
        "passage_mrr10": scores["passage_mrr@10"],
        "doc_mrr10": scores["doc_mrr@10"],
        "evidence400": scores["evidence@400words"],
        "auc": scores["answerability_auc[all]"],
        "answered_at_95_refused": scores["answered_when_95%_of_off_topic_refused"],
        "floor": floor,
        **{f"above_floor_{kind}": share for kind, share in above_floor(answers).items()},
        "chunks": report.chunks,
        "build_s": report.seconds,
        "search_p50_ms": round(times[len(times) // 2], 2),
        "search_p95_ms": round(times[int(len(times) * 0.95)], 2),
    }


async def ask(base: KnowledgeBase, question: dict[str, Any]) -> Answer:
    """Ask one question and take the time."""
    begun = time.perf_counter()
    findings = await base.search(question["question"], limit=LIMIT, words=WORDS)
    return Answer(question, findings, (time.perf_counter() - begun) * 1_000)


def score(folder: Path, name: str, answers: Iterable[Answer], results: Path) -> dict[str, Any]:
    """What the data's own scorer makes of the answers."""
    results.write_text("".join(json.dumps(line_of(answer)) + "\n" for answer in answers))
    command = [sys.executable, str(folder / "score.py"), str(folder / name), str(results), "--json"]
    scored: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return scored


def line_of(answer: Answer) -> dict[str, Any]:
    """An answer in the scorer's format; it knows rows of a FAQ by their id alone."""
    return {
        "qid": answer.question["qid"],
        "results": [{"doc": hit.source.rpartition("#")[2], "text": hit.text} for hit in answer.findings.hits],
        "confidence": answer.findings.confidence,
    }


def above_floor(answers: Iterable[Answer]) -> dict[str, float]:
    """Of each kind of question, the percentage that the floor lets pass."""
    kinds: dict[str, list[bool]] = {}
    for answer in answers:
        kinds.setdefault(answer.question["kind"], []).append(answer.findings.answerable)
    return {kind: round(100 * sum(passed) / len(passed), 1) for kind, passed in kinds.items()}


if __name__ == "__main__":
    sys.exit(main())
