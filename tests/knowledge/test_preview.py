"""What `preview` shows of a file is what a build of its source makes of it."""

from contextlib import closing
from pathlib import Path

import pytest

from knowledge.build.preview import preview
from knowledge.build.process import build
from knowledge.config import Source
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import SourceUnreadable
from knowledge.generations import Generations
from knowledge.search.catalog import CatalogReader
from tests.knowledge.conftest import ignore

AWS_KEY = "AKIA" + "Q3EGV7KZN2XW5RTY"
PAGE = """---
description: What a transfer costs
tags: [money]
---
# Fees

## Transfers

A transfer inside the country costs nothing, and one to another country costs three euros for each transfer.

## Cards

The first card is free, and each further card costs nine euros in a year, which you pay with the first bill of it.
"""


@pytest.fixture
def source(tmp_path: Path) -> Source:
    folder = tmp_path / "pages"
    (folder / "money").mkdir(parents=True)
    (folder / "money" / "fees.md").write_text(PAGE)
    return Source(name="help", folder=folder, url="https://help.example.com/{path}", language="en")


async def test_the_passages_are_those_that_a_build_makes(
    source: Source, tmp_path: Path, embedder: TableEmbedder
) -> None:
    found = preview(source.place / "money" / "fees.md", [source], count=embedder.count_tokens)
    (previewed,) = found.documents
    assert (found.path, found.source, found.audience) == ("help/money/fees.md", "help", "public")
    document = previewed.document
    assert (document.url, document.language) == ("https://help.example.com/money/fees", "en")

    await build(Generations(tmp_path / "kb"), [source], embedder, tell=ignore)
    current = Generations(tmp_path / "kb").current()
    assert current is not None
    with closing(CatalogReader(current.database)) as reader:
        built = [(passage.heading, passage.text) for passage in reader.passages(range(1, reader.chunks + 1))]
    assert [(chunk.heading, chunk.text) for chunk in previewed.chunks] == built


def test_what_was_removed_is_named(source: Source, embedder: TableEmbedder) -> None:
    hidden = (
        PAGE.replace("costs nothing", "costs\u202e\u202e nothing") + f"\n## Keys\n\nThe key is {AWS_KEY}. " + "a " * 90
    )
    file = source.place / "money" / "fees.md"
    file.write_text(hidden)
    (previewed,) = preview(file, [source], count=embedder.count_tokens).documents
    assert {(notice.kind, notice.times, notice.withheld) for notice in previewed.notices} == {
        ("direction override", 2, 0),
        ("AWS key", 1, 1),
    }
    assert not any(AWS_KEY in chunk.text for chunk in previewed.chunks)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("CHANGELOG.md", "# Changes", "passed over (CHANGELOG.*)"),
        ("logo.png", "x", "passed over (*.png)"),
        (".git/notes.md", "# Notes", "passed over (in a hidden folder)"),
        ("draft.md", "---\ndraft: true\n---\n# Draft\n\nNot yet.", "its front matter says that it is a draft"),
        ("empty.md", "", "empty"),
    ],
)
def test_a_file_that_is_left_out_says_why(
    source: Source, embedder: TableEmbedder, name: str, content: str, reason: str
) -> None:
    file = source.place / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(content)
    found = preview(file, [source], count=embedder.count_tokens)
    assert not found.documents
    assert [(each.name, each.reason) for each in found.left_out] == [(f"help/{name}", reason)]


def test_a_file_in_no_source_is_read_by_itself(source: Source, tmp_path: Path, embedder: TableEmbedder) -> None:
    alone = tmp_path / "alone.md"
    alone.write_text(PAGE)
    found = preview(alone, [source], count=embedder.count_tokens)
    assert (found.path, found.source, len(found.documents)) == ("alone.md", "", 1)


def test_a_file_for_staff_is_shown_as_that(source: Source, embedder: TableEmbedder) -> None:
    inside = source.model_copy(update={"audience": "internal"})
    draft = source.place / "plan.md"
    draft.write_text(f"---\nvisibility: internal\n---\n# Plan\n\nThe key is {AWS_KEY}.\n")
    found = preview(draft, [inside], count=embedder.count_tokens)
    assert (found.audience, len(found.documents[0].chunks)) == ("internal", 1)


def test_a_file_that_is_not_there_is_an_error(source: Source, embedder: TableEmbedder) -> None:
    with pytest.raises(SourceUnreadable, match=r"no file .*absent\.md"):
        preview(source.place / "absent.md", [source], count=embedder.count_tokens)
