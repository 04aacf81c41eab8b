"""A local server that answers models' requests by the book of a script, whatever protocol, and misbehaves on demand."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from demo.ports import listening

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Reply:
    """One scripted answer to a request."""

    blocks: tuple[bytes, ...] = ()
    """Written one by one; the client sees at least one read for each."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    ending: str = "close"
    """close: a proper end. cut: the connection drops. stall: nothing more comes. drip: comments for ever."""


class ChatServer:
    """Answers requests from a queue of replies and keeps what was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        """Where they went, with the query."""
        self.headers: list[Mapping[str, str]] = []
        self.connections: set[object] = set()
        """The connections that requests came over."""
        self.released = asyncio.Event()
        """Set when a client has gone from a reply that stalls or drips."""
        self._replies: list[Reply] = []

    def will(self, *replies: Reply) -> None:
        """Answer the next requests with these; the last one stays."""
        self._replies = list(replies)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Handle a POST of any path."""
        body = orjson.loads(await request.read())
        assert not misplaced_system(body), "a server refuses a system message that is not the first"
        self.requests.append(body)
        self.paths.append(request.path_qs)
        self.headers.append(request.headers)
        self.connections.add(request.transport)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        response = web.StreamResponse(status=reply.status, headers=reply.headers)
        await response.prepare(request)
        for block in reply.blocks:
            await response.write(block)
            await asyncio.sleep(0)
        await self._end(reply, request, response)
        return response

    async def _end(self, reply: Reply, request: web.Request, response: web.StreamResponse) -> None:
        match reply.ending:
            case "cut":
                assert request.transport is not None
                request.transport.abort()
            case "stall" | "drip":
                try:
                    while True:
                        await asyncio.sleep(0.01)
                        if reply.ending == "drip":
                            await response.write(b": keep-alive\n\n")
                        elif request.transport is None or request.transport.is_closing():
                            break
                except ConnectionError:
                    pass
                finally:
                    self.released.set()


@asynccontextmanager
async def open_chat_server() -> AsyncIterator[ChatServer]:
    """The server on a free port of loopback."""
    server = ChatServer()
    app = web.Application(client_max_size=64 << 20)
    app.add_routes([web.post("/{path:.+}", server.answer)])
    async with listening(app, cancels=True) as root:
        server.url = f"{root}/v1"
        yield server


def misplaced_system(body: Mapping[str, Any]) -> bool:
    """Whether something speaks as the system elsewhere than first, in either protocol."""
    items = body["input"] if isinstance(body.get("input"), list) else ()
    lines = [*body.get("messages", ())[1:], *items[0 if "instructions" in body else 1 :]]
    return any(isinstance(line, dict) and line.get("role") in ("system", "developer") for line in lines)


def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], **more})


def event(value: object) -> bytes:
    """Any JSON value as an event."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


def text(*pieces: str, finish: str | None = "stop") -> Reply:
    """A whole answer."""
    blocks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": piece}) for piece in pieces)]
    return Reply((*blocks, chunk({}, finish), DONE))


def refuses(status: int, error: Mapping[str, Any], **headers: str) -> Reply:
    """An error answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply((orjson.dumps({"error": error}),), status, {"Content-Type": "application/json", **named})
