"""HTTP sessions that connect to public addresses, and to private ones only where the operator means it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from knowledge.addresses import PrivateAddress, any_private, is_private_host
from knowledge.sources.connectors import open_connector
from knowledge.sources.robots import AGENT

CONNECT_TIMEOUT = 5.0
"""Seconds to connect."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions for one purpose."""

    public: aiohttp.ClientSession
    """Connects to public addresses."""
    private: aiohttp.ClientSession
    """Connects to any address, for instance to the operator's proxy, which usually has a private one."""

    async def session_for(self, address: str, *, may_be_private: bool) -> aiohttp.ClientSession:
        """The session for an address. Raises PrivateAddress if it is a proxy's and the host is private from here."""
        parts = urlsplit(address)
        host = parts.hostname or ""
        if parts.scheme not in getproxies() or proxy_bypass(host):
            return self.private if may_be_private else self.public
        if not may_be_private and (is_private_host(host) or await self._resolves_to_private(host)):
            raise PrivateAddress
        return self.private

    async def _resolves_to_private(self, host: str) -> bool:
        """Whether the host resolves to a private address. Also False for a name that only the proxy can resolve."""
        try:
            async with asyncio.timeout(self.public.timeout.total):
                return any_private(await asyncio.get_running_loop().getaddrinfo(host, 443, type=socket.SOCK_STREAM))
        except OSError:
            return False


@asynccontextmanager
async def open_sessions(*, timeout: float) -> AsyncIterator[Sessions]:
    """Open the sessions. A request may take `timeout` seconds."""
    async with _session(timeout, may_be_private=False) as public, _session(timeout, may_be_private=True) as private:
        yield Sessions(public, private)


def _session(seconds: float, *, may_be_private: bool) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=open_connector(may_be_private=may_be_private),
        timeout=aiohttp.ClientTimeout(total=seconds, connect=CONNECT_TIMEOUT),
        headers={"User-Agent": f"{AGENT}/1"},
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=True,
    )
