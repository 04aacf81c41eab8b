"""A base of several sources: one that fails keeps its documents, and the others are refreshed all the same."""

import shutil
from pathlib import Path

import pytest

from knowledge.audience import Audience
from knowledge.build.process import build
from knowledge.build.report import BuildReport
from knowledge.config import BuildOptions, read_config
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import SourceUnreadable
from knowledge.generations import Generations
from knowledge.knowledge_base import open_knowledge_base
from knowledge.search.filters import Filter
from tests.knowledge.conftest import ignore

CONFIG = """
sources:
  - {name: help, folder: help, url: "https://help.example.com/pages", category: general, language: en}
  - {name: shop, folder: shop}
  - {name: staff, folder: staff, audience: internal}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Two public folders of four pages each, and an internal one."""
    for folder in ("help", "shop", "staff"):
        for number in range(4):
            page = tmp_path / folder / f"page-{number}.md"
            page.parent.mkdir(exist_ok=True)
            page.write_text(f"# {folder.title()} {number}\n\nWhat the {folder} says about matter number {number}.\n")
    (tmp_path / "kb.yml").write_text(CONFIG)
    return tmp_path / "kb.yml"


async def refresh(
    config: Path, embedder: TableEmbedder, options: BuildOptions | None = None, to: Audience = "public"
) -> BuildReport:
    sources = read_config(config).of(to)
    return await build(
        Generations(config.parent / to), sources, embedder, options=options or BuildOptions(), tell=ignore
    )


async def test_all_sources_of_an_audience_are_one_base_and_the_other_audience_has_its_own(
    config: Path, embedder: TableEmbedder
) -> None:
    report = await refresh(config, embedder)
    assert [(source.name, source.documents) for source in report.sources] == [("help", 4), ("shop", 4)]
    internal = await refresh(config, embedder, to="internal")
    assert [(source.name, source.documents) for source in internal.sources] == [("staff", 4)]
    async with open_knowledge_base(config.parent / "public", embedder) as base:
        found = await base.search("What does the staff say about matter number 2?", limit=20, words=4_000)
        assert {hit.source.partition("/")[0] for hit in found.hits} <= {"help", "shop"}


async def test_a_source_gives_its_documents_what_they_lack(config: Path, embedder: TableEmbedder) -> None:
    await refresh(config, embedder)
    async with open_knowledge_base(config.parent / "public", embedder) as base:
        hits = (await base.search("What does the help say about matter number 2?", limit=8)).hits
        hit = next(hit for hit in hits if hit.source == "help/page-2.md")
    assert (hit.url, hit.category, hit.language) == ("https://help.example.com/pages/page-2", "general", "en")


async def test_a_source_that_is_away_keeps_its_documents_and_says_so_until_it_is_back(
    config: Path, embedder: TableEmbedder
) -> None:
    await refresh(config, embedder)
    (config.parent / "shop").rename(config.parent / "away")
    (config.parent / "help" / "page-1.md").write_text("# Help 1\n\nSomething else entirely.\n")
    report = await refresh(config, embedder)
    assert (report.changed, report.removed, report.documents) == (1, 0, 8)
    (stale,) = report.stale
    assert stale.name == "shop"
    assert "cannot be read" in stale.stale

    (config.parent / "away").rename(config.parent / "shop")
    assert (await refresh(config, embedder)).stale == ()


async def test_a_source_of_which_much_would_vanish_keeps_it_unless_it_is_forced(
    config: Path, embedder: TableEmbedder
) -> None:
    await refresh(config, embedder)
    for number in (1, 2, 3):
        (config.parent / "shop" / f"page-{number}.md").unlink()
    kept = await refresh(config, embedder)
    assert kept.documents == 8
    assert "3 of 4 documents would vanish" in kept.stale[0].stale
    forced = await refresh(config, embedder, BuildOptions(force=True))
    assert (forced.removed, forced.documents, forced.stale) == (3, 5, ())


async def test_one_source_alone_can_be_refreshed(config: Path, embedder: TableEmbedder) -> None:
    await refresh(config, embedder)
    for folder in ("help", "shop"):
        (config.parent / folder / "new.md").write_text("# New\n\nA page that was not there before at all.\n")
    report = await refresh(config, embedder, BuildOptions(only="help"))
    assert (report.added, report.documents) == (1, 9)
    assert (await refresh(config, embedder)).added == 1


async def test_a_source_that_is_no_longer_listed_goes_with_its_documents(config: Path, embedder: TableEmbedder) -> None:
    await refresh(config, embedder)
    rewrite(config)
    assert (await refresh(config, embedder)).removed == 4


def rewrite(config: Path) -> None:
    config.write_text("sources: [{name: help, folder: help}]")


async def test_before_anything_was_built_every_source_has_to_be_there(config: Path, embedder: TableEmbedder) -> None:
    shutil.rmtree(config.parent / "shop")
    with pytest.raises(SourceUnreadable, match="shop"):
        await refresh(config, embedder)


async def test_a_search_can_be_narrowed_to_a_source_a_category_or_a_language(
    config: Path, embedder: TableEmbedder
) -> None:
    await refresh(config, embedder)
    async with open_knowledge_base(config.parent / "public", embedder) as base:

        async def sources(only: Filter) -> set[str]:
            found = await base.search("What do they say about matter number 2?", limit=20, words=4_000, only=only)
            return {hit.source.partition("/")[0] for hit in found.hits}

        assert await sources(Filter()) == {"help", "shop"}
        assert await sources(Filter(source="shop")) == {"shop"}
        assert await sources(Filter(category="general")) == {"help"}
        assert await sources(Filter(language="en-gb")) == {"help"}
        assert await sources(Filter(source="shop", language="en")) == set()
