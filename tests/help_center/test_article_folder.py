"""The articles on a machine's disk follow the rows, and the index follows both."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from bot.help_center.article_folder import INDEX_RETRY_DELAY, MARK, QUESTIONS, ArticleFolder, Publishing, page
from bot.help_center.library import BEHIND, Bases, Library, Refresh
from bot.help_center.status_texts import Watch
from bot.store import suggestions
from bot.store.database import Database
from bot.store.suggestions import Suggestion
from knowledge.documents import read_page
from knowledge.errors import BuildFailed, KnowledgeError
from tests.doubles.clock import ManualClock
from tests.help_center.test_library import REPORT, FakeBase, Received

ARTICLE = Suggestion(
    id=0,
    key="case/42/0",
    case_id=None,
    title='Late: "returns"',
    question="May I return late?",
    answer="Within 40 days.\n\n- if the parcel came late",
    state="approved",
    asked_by="U0AGENTA",
    made_at=1_795_000_000.0,
    decided_by="U0AGENTA",
    decided_at=1_795_000_000.0,
)


async def approved(database: Database, key: str = "case/42/0") -> Suggestion:
    async with database.transaction() as tx:
        made = await suggestions.add(tx, Suggestion(**{**_fields(ARTICLE), "key": key}))
    assert made is not None
    return made


async def takes_back(database: Database, article: Suggestion) -> None:
    async with database.transaction() as tx:
        assert await suggestions.change(tx, article, Suggestion(**{**_fields(article), "state": "forgotten"}))


def _fields(article: Suggestion) -> dict[str, Any]:
    return {name: getattr(article, name) for name in Suggestion.__dataclass_fields__}


def pages(shelf: ArticleFolder) -> list[str]:
    return sorted(path.name for path in shelf.folder.glob("*.md"))


async def test_the_folder_and_the_questions_are_made_from_the_rows(database: Database, tmp_path: Path) -> None:
    shelf = ArticleFolder(tmp_path, database)
    assert not await shelf.is_behind()
    await shelf.lay_out()
    assert not shelf.folder.exists(), "before there is an article there is no such source"

    first, second = await approved(database), await approved(database, "message/C/1")
    assert await shelf.is_behind()
    mark = await shelf.lay_out()
    assert pages(shelf) == ["1.md", "2.md"]
    asked = [json.loads(line) for line in (tmp_path / QUESTIONS).read_text().splitlines()]
    assert asked[0] == {
        "qid": "1",
        "question": "May I return late?",
        "answerable": True,
        "kind": "learned",
        "docs": ["learned/1.md"],
    }
    assert await shelf.is_behind(), "nothing is in the index before somebody says so"
    await shelf.note(mark)
    assert not await shelf.is_behind()

    await takes_back(database, first)
    assert await shelf.is_behind()
    kept = (shelf.folder / "2.md").stat().st_mtime_ns
    await shelf.lay_out()
    assert pages(shelf) == ["2.md"]
    assert (shelf.folder / "2.md").stat().st_mtime_ns == kept, "what has not changed is not written again"
    await takes_back(database, second)
    await shelf.lay_out()
    assert pages(shelf) == []


def test_a_page_says_where_it_comes_from_and_reads_as_it_was_written() -> None:
    text = page(ARTICLE)
    for words in ("source: a message of the team", "approved_by: U0AGENTA", "review: '2027-05-19'"):
        assert words in text
    read = read_page(text, path="learned/1.md", markup="markdown")
    assert (read.title, read.last_updated) == ('Late: "returns"', "2026-11-18")
    assert read.text == "# May I return late?\n\nWithin 40 days.\n\n- if the parcel came late\n"


@dataclass
class Base(FakeBase):
    """Remembers what was read of it and for whom."""

    read: list[tuple[str, bool]] = field(default_factory=list)

    async def refresh(self, source: Path, *, only: str = "", follows: bool = False, **_others: Any) -> Any:
        self.read.append((only, follows))
        if isinstance(self.outcome, KnowledgeError):
            raise self.outcome
        return self.outcome


@dataclass
class Desk:
    base: Base
    shelf: ArticleFolder
    library: Library
    publishing: Publishing
    clock: ManualClock


@pytest.fixture
def desk(database: Database, tmp_path: Path) -> Desk:
    (tmp_path / "help").mkdir()
    clock, base, shelf = ManualClock(), Base(), ArticleFolder(tmp_path, database)
    library = Library(Bases(cast(Any, base)), tmp_path / "help", clock, None, database, shelf=shelf)

    async def expire() -> None:
        """Nothing is overdue."""

    return Desk(base, shelf, library, Publishing(shelf, clock, library.publish, expire, asyncio.Event()), clock)


async def test_the_index_reads_new_articles_alone_and_once(desk: Desk, database: Database) -> None:
    await desk.publishing.look(follows=False)
    assert desk.base.read == []
    await approved(database)
    for _ in range(2):
        await desk.publishing.look(follows=True)
    assert desk.base.read == [("learned", True)]
    assert pages(desk.shelf) == ["1.md"]


async def test_an_index_that_could_not_follow_is_tried_again_and_says_so_meanwhile(
    desk: Desk, database: Database
) -> None:
    await approved(database)
    desk.base.outcome = BuildFailed("no space left")
    for _ in range(2):
        await desk.publishing.look(follows=True)
    assert len(desk.base.read) == 1
    assert desk.library.failures["public"].startswith(BEHIND)
    desk.base.outcome = REPORT
    desk.clock.advance(INDEX_RETRY_DELAY)
    await desk.publishing.look(follows=True)
    assert len(desk.base.read) == 2
    assert desk.library.failures == {}


async def test_whatever_reads_all_sources_reads_the_articles_too(desk: Desk, database: Database) -> None:
    await approved(database)
    await desk.library.refresh(Refresh(), begins=Received(), watch=Watch())
    assert (desk.shelf.folder / "1.md").exists()
    assert not await desk.shelf.is_behind()
    (desk.shelf.folder / MARK).unlink()
    await desk.library.catch_up("public", force=False)
    assert not await desk.shelf.is_behind()


async def test_one_other_source_leaves_the_articles_to_be_read(desk: Desk, database: Database, tmp_path: Path) -> None:
    (tmp_path / "kb.yml").write_text("sources:\n  - {name: help, folder: help}\n")
    desk.library.source = tmp_path / "kb.yml"
    await approved(database)
    await desk.library.refresh(Refresh("help"), begins=Received(), watch=Watch())
    assert await desk.shelf.is_behind()
