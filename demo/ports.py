"""Ports, and servers that listen on them.

free_port  Returns a port that nobody listens on.
listening  Serves an application until its block ends.
"""

import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiohttp import web

GOODBYE_SECONDS = 0.2
"""How long requests under way may take when a server ends. Those of clients that hang would hold it up for ever."""


@asynccontextmanager
async def listening(
    app: web.Application, *, host: str = "127.0.0.1", port: int = 0, cancels: bool = False
) -> AsyncIterator[str]:
    """The address of a server of the application, without a slash at its end. Port 0 takes a free one.

    `cancels`: whether a handler is cancelled when its client has gone, as a model server's is.
    """
    runner = web.AppRunner(app, access_log=None, handler_cancellation=cancels, shutdown_timeout=GOODBYE_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def free_port() -> int:
    """A port that nobody listens on, below those that outgoing connections are given."""
    while True:
        port = random.randint(20_000, 32_000)  # noqa: S311
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
