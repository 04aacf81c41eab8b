"""Is the right passage found, how soon is it read, and does the confidence tell what has no answer?

    python -m evals.retrieval                          every set below ../shared/data/kb, and transformed ones
    python -m evals.retrieval --source PLACE --questions FILE [--scorer score.py]

A set is a folder with questions.jsonl, passages.jsonl and either `docs` or `faq.csv`; beside it lies score.py, which
judges. A set of one's own is any folder or CSV or JSONL file that a base can be built from, and questions in the same
form (`qid`, `question`, `answerable`, `docs`, and with passages.jsonl beside it `pids`). Each is built into a temporary
folder with the embedder of the installation, asked everything, and scored.

To see that the method holds for other forms of the same texts, pages in Markdown are measured once more as HTML, and
tables as JSON lines (`--as-they-are` leaves that out). Nothing of the texts is kept: the plot and the report hold
figures alone. The last line is one JSON object with a row for each set:

passage_mrr10, doc_mrr10, evidence400    percentages as the scorer gives them
auc                    how well the confidence separates what has an answer from all that has none
answered_at_95         share of answerable questions above a score that refuses 95 % of the off-topic ones
clearly, perhaps       the base's own thresholds
clearly_<kind>         share of each kind of questions at or above the answer threshold: found clearly
found_<kind>           the same for the lower threshold: found clearly or perhaps, so that the model reads the passages
search_p50_ms, search_p95_ms             of the whole search
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.plot import draw
from evals.transform import pages_to_html, table_to_lines
from knowledge.embedding.embedder import Embedder
from knowledge.embedding.folder import FolderEmbedder
from knowledge.embedding.table import TableEmbedder
from knowledge.knowledge_base import Findings, KnowledgeBase, open_knowledge_base
from knowledge.thresholds import Certainty

DATA = Path(__file__).parents[2] / "shared" / "data" / "kb"
OUT = Path(__file__).parent / "out"
LIMIT, WORDS = 10, 4_000
"""Wide enough for MRR@10; the scorer itself reads no more than the first 400 words as evidence."""
PAGES, TABLE = "docs", "faq.csv"

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Set:
    """What is built, what is asked of it, and who judges."""

    name: str
    source: Path
    questions: Path
    scorer: Path
    suffix: str = ""
    """What the documents' names end with in place of the original `.md`."""

    def named(self, source: str) -> str:
        """A hit's document as the scorer knows it: rows of a table by their id alone."""
        name = source.rpartition("#")[2]
        return f"{name.removesuffix(self.suffix)}.md" if self.suffix and name.endswith(self.suffix) else name


@dataclass(frozen=True, slots=True)
class Answer:
    """One question with what was found for it."""

    question: dict[str, Any]
    findings: Findings
    milliseconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the evaluation; returns the exit code."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="eval-") as folder:
        sets = list(_sets(options, Path(folder)))
        if not sets:
            print(f"No set in {options.data}: nothing was measured.", file=sys.stderr)
            print(json.dumps({"skipped": str(options.data)}))
            return 0
        results = {each.name: asyncio.run(measure(each, _embedder(options))) for each in sets}
    for name, figures in results.items():
        print(name, *(f"  {figure:24} {value}" for figure, value in figures.items()), sep="\n")
    options.plot.parent.mkdir(parents=True, exist_ok=True)
    draw(options.plot, results)
    print(f"plot: {options.plot}")
    print(json.dumps(results))
    return 0


async def measure(each: Set, embedder: Embedder) -> Figures:
    """Build one set in a temporary folder, ask all its questions, and score the answers."""
    questions = [json.loads(line) for line in each.questions.read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory(prefix="eval-kb-") as work:
        async with open_knowledge_base(Path(work, "kb"), embedder) as base:
            report = await base.refresh(each.source)
            await base.search("a first question opens connections")
            answers = [await _ask(base, question) for question in questions]
            status = await base.status()
        scores = _score(each, answers, Path(work, "results.jsonl"))
    times = sorted(answer.milliseconds for answer in answers)
    return {
        "passage_mrr10": scores.get("passage_mrr@10"),
        "doc_mrr10": scores.get("doc_mrr@10"),
        "evidence400": scores.get("evidence@400words"),
        "auc": scores.get("answerability_auc[all]"),
        "answered_at_95": scores.get("answered_when_95%_of_off_topic_refused"),
        "clearly": status.threshold,
        "perhaps": status.perhaps_threshold,
        **{f"clearly_{kind}": share for kind, share in _shares(answers, {"clearly"}).items()},
        **{f"found_{kind}": share for kind, share in _shares(answers, {"clearly", "perhaps"}).items()},
        "chunks": report.chunks,
        "build_s": report.seconds,
        "search_p50_ms": round(times[len(times) // 2], 2),
        "search_p95_ms": round(times[int(len(times) * 0.95)], 2),
    }


def _sets(options: argparse.Namespace, work: Path) -> Iterator[Set]:
    """The sets to measure; transformed ones are written to `work`."""
    if options.source:
        yield Set(options.source.stem, options.source, options.questions, options.scorer)
        return
    scorer = options.data / "score.py"
    folders = sorted(path.parent for path in options.data.glob("*/questions.jsonl")) if scorer.is_file() else []
    for folder in folders:
        questions = folder / "questions.jsonl"
        if (folder / PAGES).is_dir():
            yield Set(folder.name, folder / PAGES, questions, scorer)
            if not options.as_they_are:
                pages = pages_to_html(folder / PAGES, work / folder.name)
                yield Set(f"{folder.name}-html", pages, questions, scorer, ".html")
        elif (folder / TABLE).is_file():
            yield Set(folder.name, folder / TABLE, questions, scorer)
            if not options.as_they_are:
                lines = table_to_lines(folder / TABLE, work / folder.name / "faq.jsonl")
                yield Set(f"{folder.name}-jsonl", lines, questions, scorer)


async def _ask(base: KnowledgeBase, question: dict[str, Any]) -> Answer:
    begun = time.perf_counter()
    findings = await base.search(question["question"], limit=LIMIT, words=WORDS)
    return Answer(question, findings, (time.perf_counter() - begun) * 1_000)


def _score(each: Set, answers: Iterable[Answer], results: Path) -> dict[str, Any]:
    """What the data's own scorer makes of the answers. It wants the folder of the questions."""
    lines = (
        {
            "qid": answer.question["qid"],
            "results": [{"doc": each.named(hit.source), "text": hit.text} for hit in answer.findings.hits],
            "confidence": answer.findings.confidence,
        }
        for answer in answers
    )
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    command = [sys.executable, str(each.scorer), str(each.questions.parent), str(results), "--json"]
    scored: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return scored


def _shares(answers: Iterable[Answer], certainties: Collection[Certainty]) -> dict[str, float]:
    """Of each kind of question, the percentage that is found with one of these certainties."""
    kinds: dict[str, list[bool]] = {}
    for answer in answers:
        kinds.setdefault(answer.question["kind"], []).append(answer.findings.certainty in certainties)
    return {kind: round(100 * sum(passed) / len(passed), 1) for kind, passed in kinds.items()}


def _embedder(options: argparse.Namespace) -> Embedder:
    return FolderEmbedder(options.model_folder) if options.model_folder else TableEmbedder()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.retrieval")
    parser.add_argument("--data", type=Path, default=DATA, help="a folder of sets with score.py")
    parser.add_argument("--source", type=Path, help="a folder or file of one's own in place of the sets")
    parser.add_argument("--questions", type=Path, help="its questions.jsonl; needed with --source")
    parser.add_argument("--scorer", type=Path, default=DATA / "score.py", help="the judge of a set of one's own")
    parser.add_argument("--as-they-are", action="store_true", help="leave the transformed sets out")
    parser.add_argument("--model-folder", type=Path, help="embed with the model in this folder")
    parser.add_argument("--plot", type=Path, default=OUT / "retrieval.svg", help="SVG file to write")
    return parser


if __name__ == "__main__":
    sys.exit(main())
