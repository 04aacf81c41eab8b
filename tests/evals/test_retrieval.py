"""The retrieval evaluation on a small set of our own: built, asked, judged, drawn; and the same in other forms."""

import csv
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from evals.plot import picture
from evals.retrieval import Set, main
from evals.transform import pages_to_html, table_to_lines

SCORER = """
import json, sys
folder, results = sys.argv[1:3]
questions = {q["qid"]: q for q in map(json.loads, open(f"{folder}/questions.jsonl"))}
found = {r["qid"]: r for r in map(json.loads, open(results))}
right = [found[qid]["results"][0]["doc"] in q["docs"] for qid, q in questions.items() if q["answerable"]]
print(json.dumps({"doc_mrr@10": 100 * sum(right) / len(right)}))
"""
QUESTIONS = [
    {"qid": "1", "question": "How do I return a lamp?", "answerable": True, "kind": "plain", "docs": ["returns.md"]},
    {"qid": "2", "question": "When are you open?", "answerable": True, "kind": "plain", "docs": ["hours.md"]},
    {"qid": "3", "question": "How do I tune a violin?", "answerable": False, "kind": "far", "docs": []},
]
PAGES = {
    "returns.md": "---\ntitle: Returning a lamp\n---\n## Parcels\n\nPut the lamp into its box and send it back.\n",
    "hours.md": "# Opening hours\n\nOur shop is open from nine to five o'clock.\n\n"
    "| Day | Hours |\n| --- | --- |\n| Sunday | none |\n",
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of sets as the evaluation expects it, with a judge of its own."""
    pages = tmp_path / "sets" / "shop" / "docs"
    pages.mkdir(parents=True)
    for name, text in PAGES.items():
        (pages / name).write_text(text)
    (pages.parent / "questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    (tmp_path / "sets" / "score.py").write_text(SCORER)
    return tmp_path / "sets"


def test_every_set_is_built_asked_judged_and_drawn_and_so_is_its_other_form(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "out" / "plot.svg"

    assert main(["--data", str(data), "--plot", str(plot)]) == 0

    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {name: row["doc_mrr10"] for name, row in figures.items()} == {"shop": 100.0, "shop-html": 100.0}
    assert {"shop", "shop-html", "100.0"} <= {*ET.fromstring(plot.read_text()).itertext()}  # noqa: S314 - our own


def test_a_set_of_ones_own_is_measured_alone(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, judge = data / "shop", str(data / "score.py")
    options = ["--source", str(place / "docs"), "--questions", str(place / "questions.jsonl"), "--scorer", judge]

    assert main([*options, "--plot", str(tmp_path / "plot.svg")]) == 0
    assert set(json.loads(capsys.readouterr().out.splitlines()[-1])) == {"docs"}


def test_without_data_nothing_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"skipped": str(tmp_path)}


def test_a_hit_is_named_as_the_judge_knows_it() -> None:
    pages = Set("pages", Path(), Path(), Path(), ".html")
    rows = Set("rows", Path(), Path(), Path())

    assert pages.named("part/hours.html") == "part/hours.md"
    assert rows.named("faq.csv#faq-1") == "faq-1"


def test_the_other_forms_hold_the_same_texts(data: Path, tmp_path: Path) -> None:
    page = (pages_to_html(data / "shop" / "docs", tmp_path / "html") / "hours.html").read_text()
    table = tmp_path / "faq.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "question", "answer"], ["1", "Where?", 'In "Leipzig",\ndowntown']])

    lines = table_to_lines(table, tmp_path / "lines" / "faq.jsonl").read_text()

    assert "<h1>Opening hours</h1>" in page
    assert "<td>Sunday</td>" in page
    assert json.loads(lines) == {"id": "1", "question": "Where?", "answer": 'In "Leipzig",\ndowntown'}


def test_a_figure_that_a_judge_does_not_give_has_no_bar() -> None:
    assert picture({"set": {"auc": None}}).count('class="ours"') == 0
