"""A real Chroma server, as a child process of the test."""

import asyncio
import gc
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from urllib.parse import urlsplit

from demo.ports import free_port
from knowledge.generations import ChromaCollection
from knowledge.search.vectors import create
from tests.forkserver import CHROMA
from tests.patience import patience

START_SECONDS = patience(60.0)
PROBE = "probe-of-the-test"


@asynccontextmanager
async def open_chroma_server(folder: Path) -> AsyncIterator["ChromaServer"]:
    """One that answers, and that keeps its collections in `folder`."""
    server = ChromaServer(folder)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()
        gc.collect()  # what Chroma's clients leave open is told here and not in somebody else's test


class ChromaServer:
    """`chroma run` on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Run it, and wait until it answers."""
        port = str(urlsplit(self.url).port)
        command = ("-m", CHROMA, "run", "--path", str(self._folder), "--port", port, "--host", "127.0.0.1")
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, *command), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
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
        with closing(create(ChromaCollection(self.url, PROBE), metadata={"of": "test"})) as index:
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
