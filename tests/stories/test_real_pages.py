"""Real questions to real pages: public help pages that are not part of this repository."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.stage import Stage
from tests.stories.world import ROOT, World

PAGES = ROOT.parent / "shared" / "data" / "kb" / "au-gov"
ASKED = 12
RIGHT = 6
"""Of these many questions, so many must be answered by quoting the right page."""
WRONG = 3
"""So many may be answered by quoting another page, often one with nearly the same text. At the others the assistant
says that it is not sure: it hears from the search which passages only perhaps fit."""
QUOTES = "Our help page"

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        not PAGES.is_dir(), reason=f"NOT TESTED with real pages: there is no {PAGES.name} beside the checkout"
    ),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pages(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """The world with the real pages as its knowledge base."""
    async with stage.open_world(tmp_path_factory.mktemp("pages"), kb=PAGES / "docs") as opened:
        yield opened


def questions() -> list[tuple[str, set[str]]]:
    """Answerable questions spread over the file, with the titles of the pages that answer them."""
    lines = [json.loads(line) for line in (PAGES / "questions.jsonl").read_text("utf-8").splitlines()]
    answerable = [line for line in lines if line["answerable"]]
    step = len(answerable) // ASKED
    return [(line["question"], {title_of(name) for name in line["docs"]}) for line in answerable[::step][:ASKED]]


def title_of(name: str) -> str:
    lines = (PAGES / "docs" / name).read_text("utf-8").splitlines()
    return next(line.removeprefix("# ").strip() for line in lines if line.startswith("# "))


async def test_real_questions_are_answered_by_quoting_the_right_page(pages: World) -> None:
    right, wrong = [], []
    for question, titles in questions():
        asked = await pages.customer.says(question)
        answer = await pages.customer.reads(asked)
        if any(title in answer.text for title in titles):
            right.append(question)
        elif QUOTES in answer.text:
            wrong.append(question)
    assert len(right) >= RIGHT, f"{len(right)} of {ASKED} quoted the right page"
    assert len(wrong) <= WRONG, f"{len(wrong)} of {ASKED} quoted another page"
