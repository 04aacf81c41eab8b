"""The bound for stored questions: no question that is asked is stored as well."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals import doc2query
from evals.retrieval import Set

PASSAGES = (("1", "fees.md", "It costs 5 EUR."), ("2", "fees.md", "Send it by post."))
ASKED = (("What does it cost?", "1"), ("Is it free?", "1"), ("The price?", "1"), ("How do I send it?", "2"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "pages"
    (place / "docs").mkdir(parents=True)
    (place / "docs" / "fees.md").write_text("# Fees\n\nIt costs 5 EUR.\n\n## Ways\n\nSend it by post.\n")
    passages = [{"pid": pid, "doc": doc, "text": text, "later": False} for pid, doc, text in PASSAGES]
    questions: list[dict[str, Any]] = [
        {
            "qid": str(number),
            "question": text,
            "answerable": True,
            "kind": "answerable",
            "docs": ["fees.md"],
            "pids": [pid],
        }
        for number, (text, pid) in enumerate(ASKED)
    ]
    questions.append(
        {"qid": "n", "question": "Who are you?", "answerable": False, "kind": "far", "docs": [], "pids": []}
    )
    for name, rows in (("passages", passages), ("questions", questions)):
        (place / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return place


def prepared(folder: Path, work: Path, *, number: int, stored: Path | None = None) -> tuple[Set, list[str], str]:
    work.mkdir()
    made = doc2query.prepare(folder, work, number=number, stored=stored)
    asked = [json.loads(line)["question"] for line in made.questions.read_text().splitlines()]
    return made, asked, (made.source / "fees.md").read_text()


def test_every_second_question_is_stored_below_its_passage_and_the_others_are_asked(
    folder: Path, tmp_path: Path
) -> None:
    _, asked, page = prepared(folder, tmp_path / "work", number=3)
    assert sorted(asked) == ["The price?", "What does it cost?", "Who are you?"]
    assert page == "# Fees\n\nIt costs 5 EUR.\n\nIs it free?\n\n## Ways\n\nSend it by post.\n"


def test_none_a_passage_leaves_the_pages_as_they_are_and_asks_the_same(folder: Path, tmp_path: Path) -> None:
    _, asked, page = prepared(folder, tmp_path / "work", number=0)
    assert sorted(asked) == ["The price?", "What does it cost?", "Who are you?"]
    assert page == (folder / "docs" / "fees.md").read_text()


def test_a_models_questions_take_the_place_of_peoples(folder: Path, tmp_path: Path) -> None:
    stored = tmp_path / "stored.jsonl"
    stored.write_text(
        '{"set": "pages", "pid": "2", "questions": ["By post?"]}\n{"set": "other", "pid": "1", "questions": []}'
    )
    _, _, page = prepared(folder, tmp_path / "work", number=3, stored=stored)
    assert "Send it by post.\n\nBy post?" in page
    assert "Is it free?" not in page
