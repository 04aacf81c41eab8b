"""What is found to be damaged only while it is served."""

import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge import knowledge_base
from knowledge.build.builder import Builder
from knowledge.build.report import BuildReport
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import BuildFailed, BuildRefused, BuildStopped
from knowledge.generations import Generations
from knowledge.knowledge_base import Findings, KnowledgeBase, open_knowledge_base
from knowledge.search.filters import Filter
from tests.knowledge.pages import PAGES
from tests.knowledge.processes import until

QUESTION = "How long is the warranty on lamps?"


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"nonsense" * (path.stat().st_size // 8))


def truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 3)


def change(library: Path) -> None:
    (page := library / "products" / "warranty.md").write_text(page.read_text() + "\n\nOne more sentence on lamps.\n")


async def settled(base: KnowledgeBase, wanted: str) -> str:
    """The base's error, as soon as it tells that."""

    async def error() -> str:
        await base.search(QUESTION)
        return (await base.status()).error or ""

    return await until(error, lambda error: wanted in error)


@pytest.mark.parametrize("damage", [overwrite, truncate])
async def test_texts_that_break_are_told_and_a_refresh_without_changes_makes_them_whole(
    kb: Path,
    library: Path,
    embedder: TableEmbedder,
    damage: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        damage(kb / "gen-000001" / "kb.sqlite")
        assert await base.search(QUESTION) == Findings(degraded=True)
        (told,) = (record for record in caplog.records if record.message == "search failed")
        assert (told.exc_info, "cannot be read" in vars(told)["fault"]) == (None, True)
        assert base.is_damaged
        assert "no other generation" in await settled(base, "no other generation")
        assert (await base.status()).degraded

        report = await base.refresh(library)
        findings, status = await base.search(QUESTION), await base.status()

    assert report.documents == len(PAGES) + 3
    assert findings.hits[0].source == "products/warranty.md"
    assert (status.error, base.is_damaged) == (None, False)


@pytest.mark.long
async def test_the_generation_before_takes_over(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        change(library)
        await base.refresh(library)
        overwrite(kb / "gen-000002" / "kb.sqlite")
        await base.search(QUESTION)
        told = await settled(base, "instead")
        findings = await base.search(QUESTION)
        await base.reload()
        assert (await base.status()).generation == 1, "CURRENT still names the damaged one"
        report = await base.refresh(library)
        afterwards = await base.status()

    assert told == "Generation 2 is damaged; generation 1 is served instead."
    assert findings.hits[0].source == "products/warranty.md"
    assert (report.generation, afterwards.generation, afterwards.error) == (3, 3, None)


async def test_an_index_that_was_removed_and_built_under_the_same_number_is_served(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        (kb / "gen-000001" / "kb.sqlite").unlink()
        await asyncio.gather(*(base.search(QUESTION) for _ in range(8)))
        report = await base.refresh(library)
        findings = await base.search(QUESTION)

    assert report.documents == len(PAGES) + 3
    assert (findings.degraded, bool(findings.hits)) == (False, True)


async def test_troubles_that_pass_are_not_taken_for_damage(
    kb: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        with monkeypatch.context() as broken:
            broken.setattr("knowledge.search.catalog.CatalogReader.passages", _no_memory)
            assert await base.search(QUESTION) == Findings(degraded=True)
        assert not base.is_damaged
        assert (await base.status()).degraded
        assert not (await base.search(QUESTION)).degraded
        assert (await base.status()).error is None


def _no_memory(*_arguments: object) -> None:
    error = sqlite3.OperationalError("out of memory")
    error.sqlite_errorname = "SQLITE_NOMEM"
    raise error


async def test_a_first_build_that_failed_is_not_taken_for_an_empty_base(
    tmp_path: Path, embedder: TableEmbedder
) -> None:
    (empty := tmp_path / "pages").mkdir()
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        with pytest.raises(BuildRefused):
            await base.refresh(empty)
        assert await base.search(QUESTION) == Findings(degraded=True)
        assert "no document" in ((await base.status()).error or "")


async def test_while_the_first_build_runs_nothing_can_be_looked_up(
    tmp_path: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        begun = asyncio.Event()
        building = asyncio.create_task(base.refresh(library, on_progress=lambda _: begun.set()))
        await begun.wait()
        assert await base.search(QUESTION) == Findings(degraded=True)
        await building
        assert (await base.search(QUESTION)).hits


async def test_a_refresh_mends_vectors_however_often_they_broke(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with open_knowledge_base(kb, embedder, mends=False) as base:
        overwrite(kb / "gen-000001" / "chroma" / "chroma.sqlite3")
        assert (await base.search(QUESTION)).degraded
        report = await base.refresh(library)
        findings = await base.search(QUESTION)

    assert (report.is_new, report.mended, report.generation, findings.degraded) == (False, True, 2, False)


class FullDisk:
    """A builder that finds no room, so many times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, times: int) -> None:
        self.asked = 0
        self._times = times
        self._repair = Builder.repair
        monkeypatch.setattr(Builder, "repair", lambda builder: self.repair(builder))

    async def repair(self, builder: Builder) -> BuildReport:
        self.asked += 1
        if self.asked <= self._times:
            raise BuildFailed("[Errno 28] No space left on device")
        return await self._repair(builder)


async def test_vectors_that_could_not_be_made_anew_are_as_soon_as_there_is_room(
    kb: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge_base, "REPAIR_PAUSES", (0.01,))
    disk = FullDisk(monkeypatch, times=5)
    overwrite(kb / "gen-000001" / "chroma" / "chroma.sqlite3")
    async with open_knowledge_base(kb, embedder, follow_seconds=0.01) as base:
        assert (await base.status()).degraded
        status = await until(base.status, lambda status: not status.degraded)
        assert (disk.asked, status.generation) == (6, 2)
        assert not (await base.search(QUESTION)).degraded


async def test_attempts_at_making_vectors_anew_are_spread_over_time(
    kb: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch, times=1_000)
    async with open_knowledge_base(kb, embedder, follow_seconds=0.001) as base:
        overwrite(kb / "gen-000001" / "chroma" / "chroma.sqlite3")
        for _ in range(20):
            assert (await base.search(QUESTION)).hits
    assert disk.asked == 1


async def test_a_base_that_is_deleted_while_it_serves_is_told_until_it_is_built_again(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with open_knowledge_base(kb, embedder, follow_seconds=0.01) as base:
        await base.search(QUESTION)
        shutil.rmtree(kb)
        await settled(base, "memory")
        assert (await base.search(QUESTION)).hits, "what is open can be read"
        await base.reload()
        status = await base.status()
        assert status.error == f"Generation 1 is gone from {kb}. It serves from memory until it is built again."
        assert (status.degraded, base.is_damaged) == (True, True)

        await base.refresh(library)
        afterwards = await base.status()
    assert (afterwards.error, base.is_damaged, Generations(kb).named()) == (None, False, 1)


async def test_a_vector_index_that_is_deleted_while_it_serves_is_made_anew(kb: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, embedder, follow_seconds=0.01) as base:
        await base.search(QUESTION)
        shutil.rmtree(kb / "gen-000001" / "chroma")
        await until(base.status, lambda status: status.generation != 1 and not status.degraded)
        assert not base.is_damaged


async def test_a_builder_that_is_ended_with_all_processes_of_the_service_is_no_fault(
    kb: Path,
    library: Path,
    embedder: TableEmbedder,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change(library)
    # A builder that is a child of this process.
    monkeypatch.setattr(asyncio, "create_subprocess_exec", asyncio.subprocess.create_subprocess_exec)
    async with open_knowledge_base(kb, embedder) as base:
        with pytest.raises(BuildStopped):
            await base.refresh(library, on_progress=lambda _: end_children(signal.SIGTERM))
        with pytest.raises(BuildFailed, match="unexpectedly") as died:
            await base.refresh(library, on_progress=lambda _: end_children(signal.SIGKILL))
    assert not isinstance(died.value, BuildStopped)
    told = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert told == ["the builder died"]


def end_children(number: signal.Signals) -> None:
    """Send a signal to every child of this process that builds."""
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            # Others of this process's children may end meanwhile.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if b"knowledge.build.process" in Path("/proc", child, "cmdline").read_bytes():
                    os.kill(int(child), number)


async def test_a_filter_that_nothing_fits_finds_nothing(kb: Path, embedder: TableEmbedder) -> None:
    from_nowhere = Filter(category="no such category")
    async with open_knowledge_base(kb, embedder) as base:
        assert await base.search(QUESTION, only=from_nowhere) == Findings()


async def test_a_hit_tells_what_of_its_score_the_words_brought(kb: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        same, other = await base.search(QUESTION), await base.search("zzz qqq xxx")
    assert 0 < same.hits[0].words < same.hits[0].score
    assert all(hit.words == 0 for hit in other.hits)
