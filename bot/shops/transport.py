"""HTTP to one shop: how much of an answer is read, what is never sent, and whether a request may have left.

Transport  Two pools of connections, for questions and for requests that change something.
Reply      A whole answer.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from yarl import URL

from bot.shops.port import ShopUnavailable

ANSWER_LIMIT = 256 * 1024
"""Bytes of one answer, unless a connector sets another limit. A longer one is not used at all."""
CONNECTIONS = 20
"""Look-ups at the same time."""
ACTION_CONNECTIONS = 4
"""Requests that change something, at the same time. Each has a connection of its own."""


@dataclass(slots=True)
class _Departure:
    """Whether a request may have left."""

    is_connected: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A shop's whole answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """Their names do not depend on case."""


class NotSent(Exception):
    """No byte of the request left."""


class Unanswered(Exception):
    """The request may have left, and there is no usable answer."""


@asynccontextmanager
async def open_transport(
    headers: Mapping[str, str], *, limit: int = ANSWER_LIMIT, connections: int = CONNECTIONS
) -> AsyncIterator["Transport"]:
    """A transport that sends `headers` with every request. It connects at the first one."""
    lookups = aiohttp.TCPConnector(limit=connections)
    # A connection that was used before can have ended unnoticed, and then nobody knows whether a request arrived.
    actions = aiohttp.TCPConnector(limit=ACTION_CONNECTIONS, force_close=True)
    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(_note_departure)
    trace.on_connection_reuseconn.append(_note_departure)
    async with _session(headers, lookups) as asking, _session(headers, actions, trace) as acting:
        yield Transport(asking, acting, limit)


def _session(
    headers: Mapping[str, str], connector: aiohttp.TCPConnector, *traces: aiohttp.TraceConfig
) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        # Compressed answers are refused: unpacking could turn a small body into a large one.
        headers={"Accept": "application/json", **headers, "Accept-Encoding": "identity"},
        auto_decompress=False,
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        trace_configs=list(traces),
    )


async def _note_departure(_: aiohttp.ClientSession, context: Any, __: Any) -> None:
    context.trace_request_ctx.is_connected = True


class Transport:
    """Sends requests as they are, follows no redirect, and reads answers up to a limit."""

    def __init__(self, asking: aiohttp.ClientSession, acting: aiohttp.ClientSession, limit: int) -> None:
        self._asking = asking
        self._acting = acting
        self._limit = limit

    async def ask(
        self, method: str, url: URL, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Reply:
        """Send a request that changes nothing. Raises ShopUnavailable."""
        try:
            async with self._asking.request(method, url, data=body, headers=headers, allow_redirects=False) as response:
                return await self._read(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise ShopUnavailable(f"the shop cannot be reached: {type(error).__name__}") from error

    async def act(
        self, method: str, url: URL, *, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Reply:
        """Send a request that changes something, once. Raises NotSent or Unanswered."""
        departure = _Departure()
        try:
            async with (
                asyncio.timeout(seconds),
                self._acting.request(
                    method, url, data=body, headers=headers, allow_redirects=False, trace_request_ctx=departure
                ) as response,
            ):
                return await self._read(response)
        except (aiohttp.ClientError, OSError, ValueError, ShopUnavailable) as error:
            kind = Unanswered if departure.is_connected else NotSent
            raise kind(type(error).__name__) from error

    async def _read(self, response: aiohttp.ClientResponse) -> Reply:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise ShopUnavailable("the shop packed its answer though it was asked not to")
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > self._limit:
                raise ShopUnavailable(f"the shop's answer is longer than {self._limit} bytes")
        return Reply(response.status, bytes(body), response.headers)
