"""The base in service: what is found, what happens when parts of it break, and refreshing without disturbing."""

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge import knowledge_base
from knowledge.build.process import build
from knowledge.build.report import BuildReport, Progress
from knowledge.embedding.embedder import Vectors
from knowledge.embedding.recipe import Recipe
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import BuildFailed, BuildRefused, EmbedderFailed
from knowledge.generations import Generations
from knowledge.knowledge_base import Findings, open_knowledge_base
from knowledge.search.index import Index
from knowledge.search.vectors import VectorIndex
from tests.knowledge.conftest import ignore, sources_of
from tests.knowledge.pages import PAGES
from tests.knowledge.processes import until
from tests.patience import patience


class BrokenEmbedder:
    """The table's twin whose service is gone."""

    recipe = Recipe("", ())

    def __init__(self, table: TableEmbedder) -> None:
        self.name = table.name
        self.dim = table.dim
        self.fingerprint = table.fingerprint
        self.window_words = table.window_words

    def count_tokens(self, text: str) -> int:
        return len(text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderFailed("The service is gone.")

    async def embed_query(self, text: str) -> Vectors:
        raise EmbedderFailed("The service is gone.")


def settle(library: Path) -> None:
    """Let the files have been written long ago, so that their times are believed."""
    for path in library.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))


async def rebuild(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    """What another process would do: the next generation, without this one's knowledge base taking part."""
    (library / "hours.txt").write_text("We never sleep, not even on Sundays.\n")
    await build(Generations(kb), sources_of(library), embedder, tell=ignore)


@pytest.mark.parametrize(
    ("question", "source", "words"),
    [
        ("How many days do I have to send something back?", "orders/returns.md", "30 days"),
        ("Hi! My password is lost, how can I sign in again? Thanks!", "account/password.md", "one hour"),
        ("what does express cost to Spain", "shipping/delivery-times.md", "| Spain | 5 days | 2 days |"),
        ("Is there a showroom to visit?", "faq.csv#faq-1", "Leipzig"),
        ("返品できますか", "ja/henpin.md", "30日以内"),
        ("does AURORA-40D work with a dimmer", "products/dimming.md", "AURORA-40D   dimmable"),
    ],
)
async def test_a_question_finds_its_page_first(
    kb: Path, embedder: TableEmbedder, question: str, source: str, words: str
) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        findings = await base.search(question)

    assert findings.hits[0].source == source
    assert words in findings.hits[0].text
    assert findings.answerable
    assert not findings.degraded


@pytest.mark.parametrize(
    "question", ["How do I tune a violin?", "Who won the world cup in 1954?", "Wie pflanze ich einen Apfelbaum?"]
)
async def test_a_foreign_question_stays_below_the_floor(kb: Path, embedder: TableEmbedder, question: str) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        findings = await base.search(question)

    assert not findings.answerable
    assert findings.hits


@pytest.mark.parametrize("query", ["", "   ", "Thanks a lot!", "?!", "\x00\ud800"])
async def test_a_query_that_asks_nothing_finds_nothing(kb: Path, embedder: TableEmbedder, query: str) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        assert await base.search(query) == Findings()


async def test_hits_carry_what_a_reader_needs_to_trust_them(kb: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        hit = (await base.search("When does the refund of a returned item arrive?")).hits[0]

    assert (hit.title, hit.url, hit.category) == ("Returning an item", "https://help.example.com/returns", "returns")
    assert hit.last_updated == "2026-03-01"
    assert hit.heading.startswith("Returning an item")
    assert hit.chunk_id
    assert hit.score > 0


async def test_limit_and_budget_of_words_are_kept(kb: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        few = await base.search("How do I pay for and return an order?", limit=2)
        short = await base.search("How do I pay for and return an order?", words=50)

    assert len(few.hits) == 2
    assert sum(len(hit.text.split()) for hit in short.hits) <= 51
    assert [hit.score for hit in few.hits] == sorted((hit.score for hit in few.hits), reverse=True)


async def test_before_the_first_build_nothing_is_found_and_status_says_so(
    tmp_path: Path, embedder: TableEmbedder
) -> None:
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        assert await base.search("How do I return a lamp?") == Findings()
        status = await base.status()

    assert (status.generation, status.degraded) == (None, False)
    assert status.error == "No knowledge base has been built yet."


async def test_status_tells_what_is_served(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        status = await base.status()

    assert (status.generation, status.documents, status.previous) == (1, len(PAGES) + 3, None)
    assert status.sources[0].path == str(library)
    assert status.embedder == embedder.name
    assert 0 < status.threshold < 1
    assert not status.degraded
    assert status.error is None
    assert not status.building


async def test_many_searches_at_once_agree_with_one(kb: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        alone = await base.search("How long is the warranty?")
        together = await asyncio.gather(*(base.search("How long is the warranty?") for _ in range(40)))

    assert set(together) == {alone}


async def test_without_the_embedder_the_words_answer_alone(kb: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, BrokenEmbedder(embedder)) as base:
        findings = await base.search("How long is the warranty on lamps?")
        foreign = await base.search("How do I tune a violin?")
        status = await base.status()

    assert findings.hits[0].source == "products/warranty.md"
    assert (findings.degraded, findings.answerable, foreign.answerable) == (True, True, False)
    assert status.error == "The service is gone."


async def test_a_base_made_with_another_embedder_is_never_compared_with_this_one(
    kb: Path, embedder: TableEmbedder
) -> None:
    other = BrokenEmbedder(embedder)
    other.fingerprint = "another"
    async with open_knowledge_base(kb, other) as base:
        findings = await base.search("How long is the warranty on lamps?")
        status = await base.status()

    assert findings.hits[0].source == "products/warranty.md"
    assert findings.degraded
    assert status.error is not None
    assert "another embedder" in status.error


async def test_a_broken_vector_index_is_made_anew_while_the_words_answer(kb: Path, embedder: TableEmbedder) -> None:
    (kb / "gen-000001" / "chroma" / "chroma.sqlite3").write_bytes(b"nonsense" * 10_000)

    async with open_knowledge_base(kb, embedder) as base:
        meanwhile = await base.search("How long is the warranty on lamps?")
        afterwards = await until(
            lambda: base.search("How long is the warranty on lamps?"), lambda found: not found.degraded
        )
        status = await base.status()

    assert meanwhile.hits[0].source == afterwards.hits[0].source == "products/warranty.md"
    assert meanwhile.degraded
    assert meanwhile.answerable
    assert (status.generation, status.degraded) == (2, False)


async def test_damaged_texts_fall_back_to_the_generation_before(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    await rebuild(kb, library, embedder)
    (kb / "gen-000002" / "kb.sqlite").write_bytes(b"nonsense" * 1_000)

    async with open_knowledge_base(kb, embedder) as base:
        findings = await base.search("How long is the warranty on lamps?")
        status = await base.status()

    assert findings.hits[0].source == "products/warranty.md"
    assert (status.generation, status.degraded) == (1, True)
    assert status.error == "Generation 2 is damaged; generation 1 is served instead."


async def test_when_nothing_can_be_opened_searches_say_so_and_raise_nothing(kb: Path, embedder: TableEmbedder) -> None:
    (kb / "gen-000001" / "kb.sqlite").write_bytes(b"")

    async with open_knowledge_base(kb, embedder) as base:
        assert await base.search("How long is the warranty?") == Findings(degraded=True)
        status = await base.status()

    assert status.error is not None
    assert "Build the knowledge base again" in status.error


async def test_a_vector_index_that_hangs_costs_neither_the_answer_nor_the_threads(
    kb: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(knowledge_base, "VECTOR_SECONDS", 0.05)
    async with open_knowledge_base(kb, embedder) as base:
        monkeypatch.setattr(VectorIndex, "nearest", lambda *_, **__: released.wait(30) and {})
        async with asyncio.timeout(patience(5)):
            findings = [await base.search("How long is the warranty on lamps?") for _ in range(30)]
        status = await base.status()
        released.set()

    assert all(found.degraded and found.hits[0].source == "products/warranty.md" for found in findings)
    assert status.error == "The vectors took too long to answer."


async def test_a_search_that_hangs_altogether_ends_in_time(
    kb: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(knowledge_base, "SEARCH_SECONDS", 0.2)
    async with open_knowledge_base(kb, embedder) as base:
        monkeypatch.setattr(Index, "words", lambda *_: released.wait(30))
        assert await base.search("How long is the warranty?") == Findings(degraded=True)
        released.set()


async def test_a_refresh_serves_the_new_pages_and_leaves_running_searches_alone(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    (library / "assembly.md").write_text("# Assembling a lamp\n\nTurn the shade until it clicks into the foot.\n")
    heard: list[Progress] = []
    async with open_knowledge_base(kb, embedder) as base:
        refreshing = asyncio.create_task(base.refresh(library, on_progress=heard.append))
        meanwhile: list[Findings] = []
        while not refreshing.done():
            meanwhile.append(await base.search("How long is the warranty on lamps?"))
        report = await refreshing
        findings = await base.search("How do I assemble the lamp?")
        status = await base.status()

    assert meanwhile
    assert all(found.answerable and not found.degraded for found in meanwhile)
    assert (report.added, report.generation, status.generation, status.previous) == (1, 2, 2, 1)
    assert findings.hits[0].source == "assembly.md"
    assert "embed" in {progress.phase for progress in heard}


async def test_requests_during_a_refresh_share_the_one_that_follows(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    started = asyncio.Event()
    async with open_knowledge_base(kb, embedder) as base:
        first = asyncio.create_task(base.refresh(library, on_progress=lambda _: started.set()))
        await started.wait()
        (library / "late.md").write_text("# Lampshades\n\nShades can be washed in lukewarm water.\n")
        later: list[BuildReport] = await asyncio.gather(*(base.refresh(library) for _ in range(5)))
        await first

    assert all(report is later[0] for report in later)
    assert (later[0].generation, later[0].documents) == (2, len(PAGES) + 4)


async def test_a_refused_refresh_is_told_and_changes_nothing(kb: Path, tmp_path: Path, embedder: TableEmbedder) -> None:
    (tmp_path / "void").mkdir()
    async with open_knowledge_base(kb, embedder) as base:
        with pytest.raises(BuildRefused, match="no document"):
            await base.refresh(tmp_path / "void")
        assert (await base.status()).generation == 1


async def test_rolling_back_serves_the_generation_before(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        with pytest.raises(BuildRefused, match="no older generation"):
            await base.rollback()
        await rebuild(kb, library, embedder)
        await base.reload()
        status = await base.rollback()
        findings = await base.search("At what o'clock do your people answer?")

    assert (status.generation, status.previous) == (1, None)
    assert "17 o'clock" in findings.hits[0].text


async def test_bases_that_read_the_same_say_so_and_go_to_what_they_keep_by_it(
    kb: Path, library: Path, tmp_path: Path, embedder: TableEmbedder
) -> None:
    async with open_knowledge_base(kb, embedder) as here, open_knowledge_base(tmp_path / "b", embedder) as there:
        await there.refresh(library)
        before = (await here.status()).content
        assert before == (await there.status()).content
        assert await here.identity() != await there.identity()

        (library / "hours.txt").write_text("We never sleep.\n")
        await here.refresh(library)
        after = (await here.status()).content
        assert (len(after), after != before) == (32, True)
        assert not await there.serve(after), "it has not read that yet"
        assert await here.serve(before)
        assert ((await here.status()).generation, (await here.status()).content) == (1, before)
        assert await here.serve(after)
        assert (await here.status()).generation == 2


async def test_what_was_forced_is_remembered(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        assert not (await base.status()).forced
        (library / "hours.txt").write_text("We never sleep.\n")
        await base.refresh(library, force=True)
        assert (await base.status()).forced


async def test_a_generation_built_by_another_process_is_picked_up(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with open_knowledge_base(kb, embedder, follow_seconds=0.01) as base:
        await rebuild(kb, library, embedder)
        await until(
            lambda: base.search("When do your people sleep?"),
            lambda found: found.hits[0].text.startswith("We never sleep"),
        )
        assert (await base.status()).generation == 2


async def test_leaving_the_base_stops_a_build_under_way(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    started = asyncio.Event()
    async with open_knowledge_base(kb, embedder) as base:
        refreshing = asyncio.create_task(base.refresh(library, on_progress=lambda _: started.set()))
        await started.wait()

    with pytest.raises(BuildFailed, match="stopped"):
        await refreshing
    assert unfinished(kb) == []


def unfinished(kb: Path) -> list[Path]:
    return list(kb.glob("*.tmp"))


async def test_a_refresh_without_changes_starts_no_process(
    tmp_path: Path, library: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(library)
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        await base.refresh(library)
        unchanged = await base.refresh(library, force=True)
        with monkeypatch.context() as without_python:
            without_python.setattr(sys, "executable", "/nowhere/python")
            assert replace(await base.refresh(library), seconds=unchanged.seconds) == unchanged
            for force, only in ((True, ""), (False, "help")):
                with pytest.raises(BuildFailed):
                    await base.refresh(library, force=force, only=only)
            (library / "hours.txt").write_text("We never sleep, not even on Sundays.\n")
            with pytest.raises(BuildFailed):
                await base.refresh(library)
        assert (await base.refresh(library)).changed == 1
        (library / "hours.txt").unlink()
        assert (await base.refresh(library)).removed == 1
        (library / "broken.docx").write_bytes(b"no archive")
        assert [len((await base.refresh(library)).quarantined) for _ in range(2)] == [1, 1], "told each time"
