"""The answer thresholds on bases of several kinds, and by the questions that an operator has written down."""

import json
from pathlib import Path

import pytest

from knowledge.build.calibration import LEAST_TEXTS, read_questions
from knowledge.build.process import build
from knowledge.config import read_config
from knowledge.embedding.table import TableEmbedder
from knowledge.generations import Generations
from knowledge.knowledge_base import open_knowledge_base
from knowledge.thresholds import Thresholds
from tests.knowledge.conftest import ignore

PARTS = (
    *("brake", "saddle", "pedal", "chain", "wheel", "light", "bell", "tyre", "handlebar", "pump", "lock", "basket"),
    *(
        "spoke",
        "fork",
        "frame",
        "stem",
        "gear",
        "axle",
        "valve",
        "mudguard",
        "kickstand",
        "trailer",
        "battery",
        "motor",
    ),
)


def write_pages(folder: Path, editions: int) -> Path:
    """A page for each part of a bicycle, in a number of editions that say much the same."""
    folder.mkdir()
    for edition in range(editions):
        for part in PARTS:
            (folder / f"{part}-{edition}.md").write_text(
                f"# Care of the {part}, edition {edition}\n\n## Cleaning the {part}\n\n"
                f"Wipe the {part} with a damp cloth once a month and let it dry in the shade for an hour.\n\n"
                f"## Replacing the {part}\n\nOur workshop replaces a worn {part} within two days, and you pay for the "
                f"part alone when it breaks in the first year.\n"
            )
    return folder


def write_questions(path: Path, *texts: str, answerable: bool) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps({"question": text, "answerable": answerable}) + "\n" for text in texts)


async def thresholds(place: Path, kb: Path, embedder: TableEmbedder) -> Thresholds:
    config, generations = read_config(place), Generations(kb)
    await build(generations, config.of("public"), embedder, questions=config.questions, tell=ignore)
    current = generations.current()
    assert current is not None
    return current.manifest.thresholds


async def test_pages_that_say_the_same_as_others_do_not_lift_the_threshold_above_the_questions(
    tmp_path: Path, embedder: TableEmbedder
) -> None:
    await thresholds(write_pages(tmp_path / "pages", editions=3), tmp_path / "kb", embedder)

    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        found = [await base.search(f"How often do I have to clean my {part}?") for part in PARTS]
        foreign = await base.search("Who composed the opera about the barber?")

    assert [each.certainty for each in found].count("not") == 0
    assert sum(each.answerable for each in found) >= len(PARTS) / 2
    assert foreign.certainty == "not"


async def test_written_questions_with_an_answer_are_found_at_least_perhaps(
    tmp_path: Path, embedder: TableEmbedder
) -> None:
    pages = write_pages(tmp_path / "pages", editions=1)
    measured = await thresholds(pages, tmp_path / "kb", embedder)
    texts = [f"My {part} is dirty" for part in PARTS] + [f"worn {part}" for part in PARTS]
    write_questions(pages / "questions.jsonl", *texts, answerable=True)

    by_questions = await thresholds(pages, tmp_path / "kb-2", embedder)
    async with open_knowledge_base(tmp_path / "kb-2", embedder) as base:
        found = [await base.search(text) for text in texts]
        status = await base.status()

    assert by_questions.perhaps != measured.perhaps
    assert sum(each.certainty == "not" for each in found) <= 0.05 * len(texts) + 1
    assert (status.documents, status.perhaps_threshold) == (len(PARTS), by_questions.perhaps)


async def test_written_questions_without_an_answer_are_mostly_not_found_clearly(
    tmp_path: Path, embedder: TableEmbedder
) -> None:
    pages = write_pages(tmp_path / "pages", editions=1)
    before = await thresholds(pages, tmp_path / "kb", embedder)
    texts = [f"Who invented the {part}?" for part in PARTS] + [f"The {part} of our village church" for part in PARTS]
    write_questions(pages / "questions.jsonl", *texts, answerable=False)

    after = await thresholds(pages, tmp_path / "kb-2", embedder)

    assert after.clearly != before.clearly
    assert after.perhaps == before.perhaps


async def test_too_few_written_questions_change_nothing(tmp_path: Path, embedder: TableEmbedder) -> None:
    pages = write_pages(tmp_path / "pages", editions=1)
    before = await thresholds(pages, tmp_path / "kb", embedder)
    write_questions(pages / "questions.jsonl", *["My bell is dirty"] * (LEAST_TEXTS - 1), answerable=True)

    assert await thresholds(pages, tmp_path / "kb-2", embedder) == before


def test_lines_that_are_no_question_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    lines = (b"\xff", b"[1]", b'{"question": 5}', b"{}", b'{"question": " "}', b'{"question": "Where\\ud800?"}')
    path.write_bytes(b"\n".join((*lines, b"[" * 100_000)))

    (question,) = read_questions(path)
    assert (question.text.encode()[:5], question.answerable) == (b"Where", True)
    assert read_questions(tmp_path / "none.jsonl") == ()


@pytest.mark.parametrize(("score", "certainty"), [(0.9, "clearly"), (0.8, "clearly"), (0.6, "perhaps"), (0.5, "not")])
def test_a_score_says_clearly_perhaps_or_not(score: float, certainty: str) -> None:
    assert Thresholds(clearly=0.8, perhaps=0.6).certainty(score) == certainty


@pytest.mark.parametrize(("score", "is_close"), [(0.8, True), (0.75, True), (0.65, False), (0.5, False)])
def test_a_score_in_the_upper_half_of_perhaps_is_close(score: float, is_close: bool) -> None:
    assert Thresholds(clearly=0.8, perhaps=0.6).is_close(score) is is_close
