"""Vectors on a Chroma server: a real one, started here, that goes away and comes back."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from knowledge import vectors
from knowledge.embedding.table import TableEmbedder
from knowledge.generations import ChromaCollection, Generations
from knowledge.knowledge_base import KnowledgeBase, open_knowledge_base
from knowledge.vectors import ServerVectors, VectorIndex
from tests.doubles.chroma_server import START_SECONDS, ChromaServer, open_chroma_server

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
