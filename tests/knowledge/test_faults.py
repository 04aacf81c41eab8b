"""What can befall a base while it serves, is opened or is made: once, and for good."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from knowledge import knowledge_base
from knowledge.build.process import build
from knowledge.build.report import Progress
from knowledge.embedding.openai import OpenAIEmbedder
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import BuildFailed, EmbedderFailed
from knowledge.generations import CHROMA, DATABASE, Generations
from knowledge.knowledge_base import Findings, KnowledgeBase, open_knowledge_base
from tests.doubles.embedding_server import EmbeddingServer, open_embedding_server
from tests.knowledge.conftest import ignore, sources_of
from tests.knowledge.pages import PAGES
from tests.knowledge.processes import until
from tests.patience import patience

QUESTION = "How long is the warranty on lamps?"
RIGHT = "products/warranty.md"
FIRST = "gen-000001"


async def ask(base: KnowledgeBase) -> Findings:
    """A search that must come back soon, whatever is wrong."""
    async with asyncio.timeout(patience(10)):
        return await base.search(QUESTION)


async def until_whole(base: KnowledgeBase) -> Findings:
    return await until(lambda: base.search(QUESTION), lambda found: not found.degraded)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """An SQLite file that another process keeps for itself: locks within one process are none."""
    program = (
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute('BEGIN EXCLUSIVE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "locked\n"
            yield
        finally:
            process.kill()


async def test_a_locked_vector_index_leaves_the_words_and_comes_back_when_it_is_free(
    kb: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge_base, "VECTOR_SECONDS", 0.05)
    async with open_knowledge_base(kb, embedder) as base:
        with locked(kb / FIRST / CHROMA / "chroma.sqlite3"):
            meanwhile = [await ask(base) for _ in range(50)]
        free = await until_whole(base)

    assert {found.hits[0].source for found in meanwhile} == {RIGHT}
    assert all(found.degraded for found in meanwhile)
    assert (free.hits[0].source, free.answerable) == (RIGHT, True)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def nonsense(path: Path) -> None:
    path.write_bytes(b"nonsense" * 5_000)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def remove(path: Path) -> None:
    path.unlink()


def swap_for_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = [empty, nonsense, truncate, remove, swap_for_a_folder]
Damage = Callable[[Path], None]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_start_on_damaged_vectors_answers_by_words_and_mends_them(
    kb: Path, embedder: TableEmbedder, damage: Damage
) -> None:
    damage(kb / FIRST / CHROMA / "chroma.sqlite3")

    async with open_knowledge_base(kb, embedder) as base:
        meanwhile = await ask(base)
        mended = await until_whole(base)
        status = await base.status()

    assert (meanwhile.hits[0].source, mended.hits[0].source) == (RIGHT, RIGHT)
    assert (status.degraded, status.error) == (False, None)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_start_on_damaged_texts_serves_the_last_good_generation(
    kb: Path, library: Path, embedder: TableEmbedder, damage: Damage
) -> None:
    (library / "hours.txt").write_text("We never sleep.\n")
    await build(Generations(kb), sources_of(library), embedder, tell=ignore)
    damage(kb / "gen-000002" / DATABASE)

    async with open_knowledge_base(kb, embedder) as base:
        found = await ask(base)
        status = await base.status()

    assert (found.hits[0].source, status.generation) == (RIGHT, 1)
    assert status.error


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_start_without_any_good_generation_says_so_and_answers_nothing(
    kb: Path, embedder: TableEmbedder, damage: Damage
) -> None:
    damage(kb / FIRST / DATABASE)

    async with open_knowledge_base(kb, embedder) as base:
        found = [await ask(base) for _ in range(3)]
        status = await base.status()

    assert set(found) == {Findings(degraded=True)}
    assert (status.degraded, bool(status.error)) == (True, True)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", [DATABASE, f"{CHROMA}/chroma.sqlite3"])
async def test_damage_under_a_serving_base_raises_nothing_and_a_refresh_mends_it(
    kb: Path, library: Path, embedder: TableEmbedder, file: str, damage: Damage
) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        damage(kb / FIRST / file)
        found = [await ask(base) for _ in range(5)]
        (library / "hours.txt").write_text("We never sleep.\n")
        await base.refresh(library)
        mended = await until_whole(base)

    assert all(each.degraded or each.hits[0].source == RIGHT for each in found)
    assert mended.hits[0].source == RIGHT


def change_all(library: Path) -> None:
    for page in library.rglob("*.md"):
        page.write_text(page.read_text() + "\nAsk us.\n")


async def test_a_page_that_vanishes_while_it_is_read_is_told_and_harms_nothing(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    change_all(library)
    victim = library / "orders" / "cancel.md"

    def vanish(progress: Progress) -> None:
        if progress.phase == "read":
            victim.unlink(missing_ok=True)

    report = await build(Generations(kb), sources_of(library), embedder, tell=vanish)

    assert [each.name for each in report.quarantined] == ["orders/cancel.md"]
    assert (report.documents, report.generation) == (len(PAGES) + 2, 2)


def counted_words(text: str, *, width: int = 16) -> list[float]:
    """A vector of so many numbers, near to those of texts with the same words."""
    vector = np.ones(width)
    for word in text.lower().split():
        vector[sum(word.encode()) % width] += 1
    return [float(number) for number in vector]


longer = partial(counted_words, width=24)


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with open_embedding_server(counted_words) as opened:
        yield opened


async def test_a_service_that_fails_halfway_is_asked_again_and_one_that_stays_away_ends_the_build(
    server: EmbeddingServer, library: Path, tmp_path: Path
) -> None:
    embedder = OpenAIEmbedder(api_key="key", base_url=server.url, model="m")
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        server.failures = [500, 500]
        once = await base.refresh(library)
        (library / "hours.txt").write_text("We never sleep.\n")
        server.is_away = True
        with pytest.raises(BuildFailed, match="gave no vectors"):
            await base.refresh(library)
        server.is_away = False
        found = await ask(base)
        status = await base.status()
    await embedder.close()

    assert (once.generation, status.generation) == (1, 1)
    assert found.hits[0].source == RIGHT
    assert [path.name for path in (tmp_path / "kb").glob("gen-*")] == [FIRST]


async def test_vectors_of_another_length_are_refused_told_and_made_anew_by_a_refresh(
    server: EmbeddingServer, library: Path, tmp_path: Path
) -> None:
    before = OpenAIEmbedder(api_key="key", base_url=server.url, model="m")
    async with open_knowledge_base(tmp_path / "kb", before) as base:
        await base.refresh(library)
    await before.close()
    server.vector = longer

    after = OpenAIEmbedder(api_key="key", base_url=server.url, model="m")
    async with open_knowledge_base(tmp_path / "kb", after) as base:
        found = [await ask(base) for _ in range(3)]
        status = await base.status()
        await base.refresh(library)
        mended = await ask(base)
    await after.close()

    assert {(each.hits[0].source, each.degraded) for each in found} == {(RIGHT, True)}
    assert "24 numbers" in str(status.error)
    assert (mended.hits[0].source, mended.degraded) == (RIGHT, False)


async def test_a_build_does_not_mix_vectors_of_two_lengths(
    server: EmbeddingServer, library: Path, tmp_path: Path
) -> None:
    before, after = (OpenAIEmbedder(api_key="key", base_url=server.url, model="m") for _ in "12")
    first = await build(Generations(tmp_path / "kb"), sources_of(library), before, tell=ignore)
    (library / "hours.txt").write_text("We never sleep.\n")
    server.vector = longer
    second = await build(Generations(tmp_path / "kb"), sources_of(library), after, tell=ignore)
    await asyncio.gather(before.close(), after.close())

    assert (first.embedded, second.embedded + second.reused) == (first.chunks, second.chunks)
    assert second.reused == 1, "the first try has embedded it"


async def test_an_embedder_that_is_gone_for_good_leaves_the_words(
    server: EmbeddingServer, library: Path, tmp_path: Path
) -> None:
    embedder = OpenAIEmbedder(api_key="key", base_url=server.url, model="m")
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        await base.refresh(library)
        server.is_away = True
        found = [await ask(base) for _ in range(10)]
        with pytest.raises(EmbedderFailed):
            await embedder.embed_query("a")
    await embedder.close()

    assert {(each.hits[0].source, each.degraded) for each in found} == {(RIGHT, True)}
