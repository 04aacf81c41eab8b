"""The warehouse over HTTP, in this process.

open_warehouse  Serves on a free port of loopback. `break_with` says how it misbehaves, and
                `say_changed` tells clients that the tools have changed.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import ToolsListChanged
from starlette.types import ASGIApp, Receive, Scope, Send

from demo.mcp.warehouse import Fault, build_warehouse

TOKEN = "warehouse-token"  # noqa: S105 - the stand-in's own


@dataclass(slots=True)
class Warehouse:
    """The running server."""

    url: str = ""
    fault: Fault = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    """The arguments of each call."""
    requests: int = 0
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)

    def break_with(self, fault: Fault) -> None:
        """Misbehave from now on."""
        self.fault = fault

    async def say_changed(self) -> None:
        """Tell who listens that the tools have changed."""
        await self.bus.publish(ToolsListChanged())


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the process."""
        yield


@asynccontextmanager
async def open_warehouse(*, json_response: bool = True) -> AsyncIterator[Warehouse]:
    """The server. Requests without its token get 401. With the fault `old` it knows the protocol of 2025 only."""
    warehouse = Warehouse()
    built = build_warehouse(lambda: warehouse.fault, warehouse.calls, bus=warehouse.bus)
    app = built.streamable_http_app(json_response=json_response)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            warehouse.requests += 1
            headers = dict(scope["headers"])
            if warehouse.fault == "old" and headers.get(b"mcp-method") == b"server/discover":
                await _refuse(send, 400)
                return
            if headers.get(b"authorization") != f"Bearer {TOKEN}".encode():
                await _refuse(send, 401)
                return
        await app(scope, receive, send)

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        warehouse.url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        server = _Server(_config(guarded))
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield warehouse
        finally:
            server.should_exit = True
            await serving


async def _refuse(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=0)
