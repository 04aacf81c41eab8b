"""An embeddings endpoint by OpenAI's protocol, on loopback, that can be told to misbehave."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

from demo.ports import listening


class EmbeddingServer:
    """Gives vectors by a rule, the last text's first, as the protocol allows."""

    def __init__(self, vector: Callable[[str], Sequence[float]]) -> None:
        self.vector = vector
        self.url = ""
        self.requests: list[list[str]] = []
        """The texts of each."""
        self.failures: list[int] = []
        """Statuses of the next answers."""
        self.is_away = False
        """Every answer is a failure."""

    async def answer(self, request: web.Request) -> web.Response:
        """One request for vectors."""
        texts = json.loads(await request.text())["input"]
        self.requests.append(texts)
        status = self.failures.pop(0) if self.failures else 500 if self.is_away else 200
        if status != 200:
            return web.json_response({"error": {"message": "no"}}, status=status, headers={"retry-after-ms": "1"})
        data = [
            {"object": "embedding", "index": place, "embedding": [*self.vector(text)]}
            for place, text in enumerate(texts)
        ]
        return web.json_response({"object": "list", "model": "m", "data": data[::-1], "usage": {}})


@asynccontextmanager
async def open_embedding_server(vector: Callable[[str], Sequence[float]]) -> AsyncIterator[EmbeddingServer]:
    """One that listens."""
    server, app = EmbeddingServer(vector), web.Application()
    app.router.add_post("/v1/embeddings", server.answer)
    async with listening(app) as root:
        server.url = f"{root}/v1"
        yield server
