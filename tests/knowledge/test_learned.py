"""The folder of articles that staff add is a source beside the others, and comes and goes alone."""

from pathlib import Path

import pytest

from knowledge.config import LEARNED, read_config
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import SourcesFaulty
from knowledge.knowledge_base import open_knowledge_base


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def help_pages(tmp_path: Path) -> Path:
    write(tmp_path / "help" / "returns.md", "# Returns\n\nYou can return boots within 30 days if they are unused.\n")
    # A folder of the same name as the source of the articles, and a page that is named as an article might be.
    write(tmp_path / "help" / LEARNED / "7.md", "# Ropes\n\nRopes are cut to length in our shop for free.\n")
    return tmp_path / "help"


async def test_articles_come_and_go_without_touching_a_folder_without_a_name(tmp_path: Path, help_pages: Path) -> None:
    learned = tmp_path / LEARNED
    async with open_knowledge_base(tmp_path / "kb", TableEmbedder(), learned=learned) as base:
        assert (await base.refresh(help_pages)).documents == 2
        write(learned / "FD-1001-1.md", "# Do you repair furnaces?\n\nFurnaces are repaired within 19 days.\n")
        added = await base.refresh(help_pages, only=LEARNED)
        assert (added.added, added.removed, added.documents) == (1, 0, 3)
        found = await base.search("Do you repair furnaces?")
        assert found.answerable
        assert found.hits[0].source == "learned/FD-1001-1.md"
        assert [source.name for source in added.sources] == ["", LEARNED]

        # The only one goes, which for any other source would be too much at once.
        (learned / "FD-1001-1.md").unlink()
        gone = await base.refresh(help_pages, only=LEARNED)
        assert (gone.removed, gone.documents, gone.stale) == (1, 2, ())
        ropes = await base.search("Are ropes cut to length?")
        assert ropes.hits[0].source == "learned/7.md"
        assert (await base.refresh(help_pages)).documents == 2


def test_the_name_of_that_source_is_taken(tmp_path: Path) -> None:
    write(tmp_path / "kb.yml", f"sources:\n  - {{name: {LEARNED}, folder: x}}\n")
    with pytest.raises(SourcesFaulty, match="is taken"):
        read_config(tmp_path / "kb.yml", learned=tmp_path / LEARNED)
    assert read_config(tmp_path / "kb.yml").sources[0].name == LEARNED


def test_without_any_article_there_is_no_such_source(tmp_path: Path) -> None:
    assert len(read_config(tmp_path, learned=tmp_path / LEARNED).sources) == 1
