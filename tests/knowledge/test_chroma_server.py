"""Vectors on a Chroma server: a real one, started here, that goes away and comes back."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from knowledge.build.process import build
from knowledge.build.report import BuildReport
from knowledge.embedding.table import TableEmbedder
from knowledge.generations import ChromaCollection, Generations, Hold
from knowledge.knowledge_base import KnowledgeBase, open_knowledge_base
from knowledge.search import vectors
from knowledge.search.catalog import IndexedChunk
from knowledge.search.vectors import ServerVectors, VectorIndex
from tests.doubles.chroma_server import START_SECONDS, ChromaServer, open_chroma_server
from tests.knowledge.conftest import sources_of

pytestmark = [
    # Chroma's HTTP clients (1.5.9) leave sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ChromaServer]:
    async with open_chroma_server(tmp_path / "chroma") as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "on-a-server"


@asynccontextmanager
async def opened(root: Path, embedder: TableEmbedder, server: ChromaServer) -> AsyncIterator[KnowledgeBase]:
    async with open_knowledge_base(root, embedder, chroma_url=server.url) as base:
        yield base


async def test_vectors_live_on_the_server_one_collection_a_generation(
    server: ChromaServer, root: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with opened(root, embedder, server) as base:
        first = await base.refresh(library)
        found = await base.search("How long is the warranty?")
        assert (found.degraded, bool(found.hits)) == (False, True)
        current = Generations(root).current()
        assert current is not None
        assert not current.chroma.exists()
        with closing(VectorIndex(ChromaCollection(server.url, current.manifest.collection))) as index:
            assert index.count() == first.chunks

        await asyncio.to_thread((library / "new.md").write_text, "# New\n\nSomething that was not there before.\n")
        await base.refresh(library)
        assert not (await base.search("What was not there before?")).degraded
        kept = {generation.manifest.collection for generation in Generations(root).whole()}
        assert set(server.collections()) == kept
        assert len(kept) == 2

        assert (await base.rollback()).generation == first.generation
        assert not (await base.search("How long is the warranty?")).degraded


async def test_while_the_server_is_away_words_alone_answer_and_afterwards_both(
    server: ChromaServer, root: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with opened(root, embedder, server) as base:
        await base.refresh(library)
        await server.kill()
        found = await base.search("How long is the warranty?")
        assert (found.degraded, bool(found.hits)) == (True, True)
        assert "fails" in ((await base.status()).error or "")

        await server.start()
        await until_whole(base)
        assert (await base.status()).error is None


async def test_a_collection_that_is_lost_is_made_anew_without_embedding(
    server: ChromaServer, root: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with opened(root, embedder, server) as base:
        await base.refresh(library)
        current = Generations(root).current()
        assert current is not None
        with closing(VectorIndex(ChromaCollection(server.url, current.manifest.collection))) as index:
            index._client.delete_collection(current.manifest.collection)
        assert (await base.search("How long is the warranty?")).degraded
        await until_whole(base)


async def until_whole(base: KnowledgeBase) -> None:
    begun = time.monotonic()
    while (await base.search("How long is the warranty?")).degraded:
        assert time.monotonic() - begun < START_SECONDS
        await asyncio.sleep(0.05)


async def test_a_base_moves_to_the_server_and_back_with_its_next_refresh(
    server: ChromaServer, kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with opened(kb, embedder, server) as base:
        assert not (await base.search("How long is the warranty?")).degraded
        await asyncio.to_thread((library / "new.md").write_text, "# New\n\nSomething that was not there before.\n")
        await base.refresh(library)
        assert Generations(kb).whole()[0].manifest.collection
    async with open_knowledge_base(kb, embedder) as base:
        assert "CHROMA_URL" in ((await base.status()).error or "")
        assert (await base.search("How long is the warranty?")).hits


async def test_the_first_search_finds_the_server_connected_and_chroma_was_not_imported_on_the_loop(
    server: ChromaServer, root: Path, library: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(root, embedder, server) as base:
        await base.refresh(library)
        await asyncio.to_thread((library / "new.md").write_text, "# New\n\nSomething that was not there before.\n")
        await base.refresh(library)

    imported_by: list[threading.Thread] = []
    chroma = vectors._chroma

    def imported() -> object:
        imported_by.append(threading.current_thread())
        return chroma()

    monkeypatch.setattr(vectors, "_chroma", imported)

    async def connect(_: ServerVectors) -> None:
        raise AssertionError("connected by a search")

    async with opened(root, embedder, server) as base:
        assert imported_by[0] is not threading.main_thread()
        with monkeypatch.context() as connected:
            connected.setattr(ServerVectors, "_connected", connect)
            assert not (await base.search("How long is the warranty?")).degraded
        await base.rollback()
        monkeypatch.setattr(ServerVectors, "_connected", connect)
        assert not (await base.search("How long is the warranty?")).degraded, "warm after a rollback, too"


async def test_a_server_that_is_away_does_not_keep_the_base_from_opening(
    server: ChromaServer, root: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with opened(root, embedder, server) as base:
        await base.refresh(library)
    await server.kill()
    async with opened(root, embedder, server) as base:
        found = await base.search("How long is the warranty?")
        assert (found.degraded, bool(found.hits)) == (True, True)


RIGHT = "products/warranty.md"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many vectors each build sends to the server."""
    counts: list[int] = []
    add = VectorIndex.add

    def counted(index: VectorIndex, entries: Iterable[IndexedChunk]) -> int:
        counts.append(add(index, entries))
        return counts[-1]

    monkeypatch.setattr(VectorIndex, "add", counted)
    return counts


async def test_from_the_third_build_on_only_changes_are_sent(
    server: ChromaServer, root: Path, library: Path, embedder: TableEmbedder, sent: list[int]
) -> None:
    async def next_build(text: str) -> BuildReport:
        await asyncio.to_thread((library / "hours.txt").write_text, text)
        return await build(Generations(root), sources_of(library), embedder, chroma_url=server.url, tell=lambda _: None)

    await next_build("We are there at noon.\n")
    second = await next_build("We are there at night.\n")
    third = await next_build("We are there on Sundays, with lanterns.\n")
    fourth = await next_build("We never close the workshop.\n")
    assert sent == [second.chunks, second.chunks, 1, 1]
    kept = {generation.manifest.collection for generation in Generations(root).whole()}
    assert set(server.collections()) == kept
    async with opened(root, embedder, server) as base:
        for question, expected in (("Do you close the workshop?", "hours.txt"), ("How long is the warranty?", RIGHT)):
            found = await base.search(question)
            assert not found.degraded
            assert found.hits[0].source == expected
        assert (await base.rollback()).generation == third.generation
        assert "lanterns" in (await base.search("When are you there, with lanterns?")).hits[0].text
        # The generation that serves now is the older one: its collection is not taken.
    assert fourth.chunks == second.chunks
    fifth = await next_build("We close at ten.\n")
    async with opened(root, embedder, server) as base:
        assert (await base.status()).generation == fifth.generation
        found = await base.search("When do you close?")
        assert (found.degraded, "ten" in found.hits[0].text) == (False, True)


async def test_a_generation_that_somebody_serves_keeps_its_collection(
    server: ChromaServer, root: Path, library: Path, embedder: TableEmbedder, sent: list[int]
) -> None:
    async def next_build(text: str) -> BuildReport:
        await asyncio.to_thread((library / "hours.txt").write_text, text)
        return await build(Generations(root), sources_of(library), embedder, chroma_url=server.url, tell=lambda _: None)

    first = await next_build("We are there at noon.\n")
    held = Generations(root).current()
    assert held is not None
    hold = Hold(held.folder)
    await next_build("We are there at night.\n")
    await next_build("We are there on Sundays.\n")
    hold.release()
    assert sent == [first.chunks] * 3
    with closing(VectorIndex(ChromaCollection(server.url, held.manifest.collection))) as index:
        assert index.count() == first.chunks


async def test_a_build_that_fails_after_it_took_a_collection_leaves_a_base_that_goes_back(
    server: ChromaServer, root: Path, library: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("We are there at noon.\n", "We are there at night.\n"):
        await asyncio.to_thread((library / "hours.txt").write_text, text)
        await build(Generations(root), sources_of(library), embedder, chroma_url=server.url, tell=lambda _: None)
    with monkeypatch.context() as failing:
        failing.setattr("knowledge.build.process._verify", lambda *_: (_ for _ in ()).throw(OSError("planted")))
        await asyncio.to_thread((library / "hours.txt").write_text, "We are there on Sundays.\n")
        with pytest.raises(OSError, match="planted"):
            await build(Generations(root), sources_of(library), embedder, chroma_url=server.url, tell=lambda _: None)
    async with opened(root, embedder, server) as base:
        assert not (await base.search("How long is the warranty?")).degraded
        await base.rollback()
        await until_whole(base)
        assert "noon" in (await base.search("Are you there at noon?")).hits[0].text
