"""Vectors on a Chroma server: a real one, started here, that goes away and comes back."""

import asyncio
import gc
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from knowledge.embedding.table import TableEmbedder
from knowledge.generations import Generations
from knowledge.knowledge_base import KnowledgeBase, open_knowledge_base
from knowledge.vectors import Shelf, VectorIndex, create

pytestmark = [
    # Chroma's HTTP clients (1.5.9) leave sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

START_SECONDS = 60.0
PROBE = "probe-of-the-test"


class Server:
    """`chroma run` on a port of its own."""

    def __init__(self, folder: Path) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Run it, and wait until it answers."""
        port = str(urlsplit(self.url).port)
        command = (str(Path(sys.executable).with_name("chroma")), "run", "--path", str(self._folder), "--port", port)
        self._process = await asyncio.create_subprocess_exec(
            *command, "--host", "127.0.0.1", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        begun = time.monotonic()
        while not _answers(self.url):
            assert time.monotonic() - begun < START_SECONDS, "the Chroma server did not start"
            await asyncio.sleep(0.05)

    async def kill(self) -> None:
        """End it without warning."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def collections(self) -> list[str]:
        """What it holds."""
        with closing(create(Shelf(self.url, PROBE), metadata={"of": "test"})) as index:
            names = [collection.name for collection in index._client.list_collections()]
            index._client.delete_collection(PROBE)
        return [name for name in names if name != PROBE]


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    server = Server(tmp_path / "chroma")
    await server.start()
    try:
        yield server
    finally:
        await server.kill()
        gc.collect()  # what Chroma's clients leave open is told here and not in somebody else's test


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "on-a-server"


@asynccontextmanager
async def opened(root: Path, embedder: TableEmbedder, server: Server) -> AsyncIterator[KnowledgeBase]:
    async with open_knowledge_base(root, embedder, chroma_url=server.url) as base:
        yield base


async def test_vectors_live_on_the_server_one_collection_a_generation(
    server: Server, root: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with opened(root, embedder, server) as base:
        first = await base.refresh(library)
        found = await base.search("How long is the warranty?")
        assert (found.degraded, bool(found.hits)) == (False, True)
        current = Generations(root).current()
        assert current is not None
        assert not current.chroma.exists()
        with closing(VectorIndex(Shelf(server.url, current.manifest.collection))) as index:
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
    server: Server, root: Path, library: Path, embedder: TableEmbedder
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
    server: Server, root: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with opened(root, embedder, server) as base:
        await base.refresh(library)
        current = Generations(root).current()
        assert current is not None
        with closing(VectorIndex(Shelf(server.url, current.manifest.collection))) as index:
            index._client.delete_collection(current.manifest.collection)
        assert (await base.search("How long is the warranty?")).degraded
        await until_whole(base)


async def until_whole(base: KnowledgeBase) -> None:
    begun = time.monotonic()
    while (await base.search("How long is the warranty?")).degraded:
        assert time.monotonic() - begun < START_SECONDS
        await asyncio.sleep(0.05)


async def test_a_base_moves_to_the_server_and_back_with_its_next_refresh(
    server: Server, kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    async with opened(kb, embedder, server) as base:
        assert not (await base.search("How long is the warranty?")).degraded
        await asyncio.to_thread((library / "new.md").write_text, "# New\n\nSomething that was not there before.\n")
        await base.refresh(library)
        assert Generations(kb).whole()[0].manifest.collection
    async with open_knowledge_base(kb, embedder) as base:
        assert "CHROMA_URL" in ((await base.status()).error or "")
        assert (await base.search("How long is the warranty?")).hits
