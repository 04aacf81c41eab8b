"""What questions that are stored with a passage would give at most (doc2query), measured without a model.

    python -m evals.doc2query                every set below ../shared/data/kb, with none, one and three a passage
    python -m evals.doc2query --stored FILE  the same with a model's questions: lines of {"set", "pid", "questions"}

For each passage, every second question that people asked about it stands for what a model would write, up to so many.
It is put below the passage before the base is built. The others are asked, so no question finds itself. People asked
both about the same passage, and often in the same words. A model that sees only the passage comes less close, so this
is an upper bound. Only passages with two questions or more take part; what has no answer is asked as it is.

The last line is one JSON object with a row for each set and number: the figures of evals.retrieval.
"""

import argparse
import asyncio
import csv
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.retrieval import DATA, PAGES, TABLE, Set, measure
from knowledge.embedding.table import TableEmbedder

NUMBERS = (0, 1, 3)
"""Questions a passage. Three is what models are asked for as a rule; none is the base as it is."""
Question = Mapping[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the measurement; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m evals.doc2query")
    parser.add_argument("--stored", type=Path, help="questions that a model wrote, in place of people's")
    options = parser.parse_args(arguments)
    folders = sorted(path.parent for path in DATA.glob("*/questions.jsonl"))
    if not folders:
        print(f"No set in {DATA}: nothing was measured.", file=sys.stderr)
        print(json.dumps({"skipped": str(DATA)}))
        return 0
    results = {}
    for folder in folders:
        for number in NUMBERS:
            with tempfile.TemporaryDirectory(prefix="doc2query-") as work:
                prepared = prepare(folder, Path(work), number=number, stored=options.stored)
                figures = asyncio.run(measure(prepared, TableEmbedder()))
            name = f"{folder.name}, {number} a passage"
            results[name] = figures
            print(name, *(f"  {figure:24} {value}" for figure, value in figures.items()), sep="\n")
    print(json.dumps(results))
    return 0


def prepare(folder: Path, work: Path, *, number: int, stored: Path | None = None) -> Set:
    """The set with up to `number` questions below each passage, and the questions that are left to ask."""
    questions = [json.loads(line) for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()]
    written, asked = _halves(questions)
    lines = [json.dumps(question) for question in questions if not question["answerable"]] + [*map(json.dumps, asked)]
    (work / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    shutil.copy(folder / "passages.jsonl", work)
    if stored:
        lines_of = (json.loads(line) for line in stored.read_text("utf-8").splitlines())
        written = {line["pid"]: line["questions"] for line in lines_of if line["set"] == folder.name}
    below = {passage: texts[:number] for passage, texts in written.items()}
    source = _pages(folder, work, below) if (folder / PAGES).is_dir() else _table(folder, work, below)
    return Set(folder.name, source, work / "questions.jsonl", DATA / "score.py")


def _halves(questions: Sequence[Question]) -> tuple[dict[str, list[str]], list[Question]]:
    """The questions to store, by passage, and those to ask. Passages with a single question are left out."""
    by_passage: dict[str, list[Question]] = {}
    for question in questions:
        if question["answerable"]:
            by_passage.setdefault(question["pids"][0], []).append(question)
    several = {passage: found for passage, found in by_passage.items() if len(found) > 1}
    written = {passage: [each["question"] for each in found[1::2]] for passage, found in several.items()}
    return written, [each for found in several.values() for each in found[::2]]


def _pages(folder: Path, work: Path, stored: Mapping[str, Sequence[str]]) -> Path:
    """The Markdown pages, with the questions as a paragraph below each passage."""
    target = shutil.copytree(folder / PAGES, work / PAGES)
    for line in (folder / "passages.jsonl").read_text("utf-8").splitlines():
        passage = json.loads(line)
        if texts := stored.get(passage["pid"]):
            page, words = target / passage["doc"], passage["text"].strip()
            whole = page.read_text("utf-8")
            page.write_text(whole.replace(words, f"{words}\n\n{' '.join(texts)}", 1), encoding="utf-8")
    return target


def _table(folder: Path, work: Path, stored: Mapping[str, Sequence[str]]) -> Path:
    """The table, with the questions below each answer."""
    with (folder / TABLE).open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    with (work / TABLE).open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, fieldnames=list(rows[0]))
        writer.writeheader()
        for row in rows:
            below = " ".join(stored.get(row["id"], ()))
            writer.writerow({**row, "answer": f"{row['answer']}\n\n{below}".strip()})
    return work / TABLE


if __name__ == "__main__":
    sys.exit(main())
