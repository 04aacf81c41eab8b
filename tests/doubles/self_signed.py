"""A server whose certificate nobody vouches for."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

CERTIFICATE = Path(__file__).with_suffix(".pem")
"""Made by openssl for 127.0.0.1, with its key; it protects nothing."""


@asynccontextmanager
async def open_self_signed() -> AsyncIterator[int]:
    """The port of a server that hangs up on everybody who trusts it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)

    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0, ssl=context)
    async with server:
        yield int(server.sockets[0].getsockname()[1])
