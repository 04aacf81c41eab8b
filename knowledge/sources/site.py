"""Pages of a web help centre, fetched into a folder and then read like files.

`fetch_site` reads the sitemap, then every page that may have changed. Nothing is fetched from a host that is not on the
source's list, not even through a redirect. No connection is made to a private address unless the source allows it
(addresses.py). Sizes, counts and times are bounded. A page that fails today and existed yesterday keeps its content.
"""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from knowledge.addresses import PrivateAddress, any_private, is_private_host, open_connector
from knowledge.catalog import KnownFile
from knowledge.config import LOOPBACK, Source
from knowledge.errors import SourceUnreadable
from knowledge.sources.files import SUFFIXES, Listing, Quarantined, SourceFile, Unfit

AT_ONCE = 4
PAGE_SECONDS = 20.0
SITE_SECONDS = 900.0
REDIRECTS = 4
SITEMAPS = 50
MISSING = frozenset({404, 410})

_KINDS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "application/pdf": ".pdf",
}
_AGENT = "frontdesk-knowledge/1"

_Known = Mapping[str, KnownFile]
ReadSitemap = Callable[[bytes], tuple[bool, list[str]]]
"""Returns whether the addresses are those of further sitemaps, and the addresses. Raises Unfit."""


class _Unfetched(Exception):
    """A page that was not fetched. The message is the reason. `gone` means that the server says it does not exist."""

    def __init__(self, reason: str, *, gone: bool = False) -> None:
        super().__init__(reason)
        self.gone = gone


@dataclass(frozen=True, slots=True)
class _Answer:
    url: str
    """Where the page was found after all redirects."""
    status: int
    kind: str
    body: bytes
    etag: str
    modified: str


@dataclass(slots=True)
class _Fetched:
    """The listing while it grows."""

    files: list[SourceFile] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)


async def fetch_site(source: Source, known: _Known, spool: Path, *, read_sitemap: ReadSitemap) -> Listing:
    """Fetch what has changed into the folder `spool`; `read_sitemap` reads sitemaps.

    Raises SourceUnreadable if the site as a whole cannot be reached.
    """
    fetched = _Fetched()
    try:
        async with asyncio.timeout(SITE_SECONDS), _Visitor.open(source, read_sitemap) as visitor:
            addresses = await visitor.addresses()
            places = asyncio.Semaphore(AT_ONCE)

            async def bring(number: int, address: str) -> None:
                async with places:
                    await _bring(visitor, address, known, spool / f"{number:06}", fetched)

            async with asyncio.TaskGroup() as tasks:
                for number, address in enumerate(addresses):
                    tasks.create_task(bring(number, address))
    except TimeoutError:
        raise SourceUnreadable(f"{source.where} took longer than {SITE_SECONDS / 60:.0f} minutes.") from None
    if not fetched.files and not fetched.kept:
        raise SourceUnreadable(f"{source.where} gave no page that could be read.{_first(fetched)}")
    files = sorted(fetched.files, key=lambda file: file.path)
    return Listing(tuple(files), tuple(fetched.quarantined), tuple(fetched.kept))


async def _bring(visitor: "_Visitor", address: str, known: _Known, target: Path, fetched: _Fetched) -> None:
    """Fetch one page. A failure is noted, and the page keeps its earlier content."""
    path = visitor.path_of(address)
    before = known.get(path)
    try:
        answer = await visitor.get(address, before=before)
        if answer.status == 304:
            fetched.kept.append(path)
            return
        suffix = _suffix_of(answer)
    except _Unfetched as unfetched:
        fetched.quarantined.append(Quarantined(path, str(unfetched)))
        if before and not unfetched.gone:
            fetched.kept.append(path)
        return
    full = target.with_suffix(suffix)
    await asyncio.to_thread(full.write_bytes, answer.body)
    fetched.files.append(
        SourceFile(path, full, len(answer.body), time.time_ns(), answer.url, answer.etag, answer.modified)
    )


def _suffix_of(answer: _Answer) -> str:
    """The suffix under which files of this kind are read. Raises _Unfetched."""
    if answer.kind not in _KINDS:
        raise _Unfetched(f"of a kind that is not read ({answer.kind or 'unknown'})")
    return _KINDS[answer.kind]


@dataclass(frozen=True, slots=True)
class _Visitor:
    """Asks the hosts of one site and no other host."""

    source: Source
    http: aiohttp.ClientSession
    """Connects to public addresses, and to private ones if the source allows them."""
    proxied: aiohttp.ClientSession
    """Connects through the operator's proxy, which usually has a private address."""
    read_sitemap: ReadSitemap

    @classmethod
    @asynccontextmanager
    async def open(cls, source: Source, read_sitemap: ReadSitemap) -> AsyncIterator["_Visitor"]:
        async with (
            _session(open_connector(may_be_private=source.private)) as http,
            _session(open_connector(may_be_private=True)) as proxied,
        ):
            yield cls(source, http, proxied, read_sitemap)

    def path_of(self, address: str) -> str:
        """A page's name in the base."""
        parts = urlsplit(address)
        return f"{self.source.prefix}{parts.hostname}{parts.path}{f'?{parts.query}' if parts.query else ''}"

    async def addresses(self) -> list[str]:
        """The pages' addresses, each once, as many as the source allows. Raises SourceUnreadable."""
        if self.source.pages:
            return self._own(self.source.pages)
        try:
            found = [address async for address in self._sitemap()]
        except _Unfetched as unfetched:
            raise SourceUnreadable(f"{self.source.sitemap} cannot be read: {unfetched}.") from None
        pages = self._own(found)
        if not pages:
            raise SourceUnreadable(f"{self.source.sitemap} lists no page of {', '.join(sorted(self.source.hosts))}.")
        return pages

    async def get(self, address: str, *, before: KnownFile | None = None) -> _Answer:
        """One page. Redirects are followed within the list of hosts. Raises _Unfetched."""
        headers = _conditions(before)
        for _ in range(REDIRECTS):
            answer = await self._ask(address, headers, limit=max(SUFFIXES.values()))
            if answer.status not in (301, 302, 303, 307, 308):
                if answer.status not in (200, 304):
                    raise _Unfetched(f"the site answers {answer.status}", gone=answer.status in MISSING)
                return answer
            address = urldefrag(urljoin(address, answer.url)).url
            if not self._may_visit(address):
                raise _Unfetched(f"leads to {urlsplit(address).hostname or 'nowhere'}, which is not among the hosts")
        raise _Unfetched("is redirected without end")

    async def _ask(self, address: str, headers: Mapping[str, str], *, limit: int) -> _Answer:
        try:
            session = await self._session_for(address)
            async with session.get(address, headers=headers, allow_redirects=False) as response:
                url = response.headers.get("Location", "") if 300 < response.status < 304 else address
                url = response.headers.get("Location", url) if response.status in (307, 308) else url
                body = await _read(response, limit) if response.status == 200 else b""
                etag, modified = response.headers.get("ETag", ""), response.headers.get("Last-Modified", "")
                return _Answer(url, response.status, response.content_type, body, etag[:200], modified[:100])
        except TimeoutError:
            raise _Unfetched(f"gave no answer within {PAGE_SECONDS:.0f} s") from None
        except (PrivateAddress, aiohttp.ClientConnectorError) as error:
            if isinstance(getattr(error, "os_error", error), PrivateAddress):
                raise _Unfetched("leads to a private address, and its source does not say private: true") from None
            raise _Unfetched(f"cannot be fetched ({type(error).__name__})") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _Unfetched(f"cannot be fetched ({type(error).__name__})") from None

    async def _session_for(self, address: str) -> aiohttp.ClientSession:
        """The session for an address. Raises PrivateAddress if it is a proxy's and the host is private from here."""
        parts = urlsplit(address)
        host = parts.hostname or ""
        if parts.scheme not in getproxies() or proxy_bypass(host):
            return self.http
        if not self.source.private and (is_private_host(host) or await _resolves_to_private(host)):
            raise PrivateAddress
        return self.proxied

    async def _sitemap(self) -> AsyncIterator[str]:
        """Addresses from the sitemap, and from the sitemaps that it lists, one level deep."""
        waiting = [(self.source.sitemap or "", 0)]
        for number, (address, depth) in enumerate(waiting):
            if number >= SITEMAPS:
                break
            answer = await self.get(address)
            try:
                is_index, entries = self.read_sitemap(answer.body)
            except Unfit as unfit:
                raise _Unfetched(str(unfit)) from None
            for entry in entries:
                if not is_index:
                    yield entry
                elif depth == 0 and self._may_visit(entry):
                    waiting.append((entry, 1))

    def _own(self, addresses: Iterable[str]) -> list[str]:
        allowed = (urldefrag(address.strip()).url for address in addresses)
        return list(dict.fromkeys(filter(self._may_visit, allowed)))[: self.source.most]

    def _may_visit(self, address: str) -> bool:
        try:
            parts = urlsplit(address)
        except ValueError:
            return False
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        return is_safe and parts.hostname in self.source.hosts and not (parts.username or parts.password)


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=PAGE_SECONDS, connect=5.0),
        headers={"User-Agent": _AGENT},
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=True,
    )


async def _resolves_to_private(host: str) -> bool:
    """Whether the host resolves to a private address. Also False for a name that only the proxy can resolve."""
    try:
        async with asyncio.timeout(PAGE_SECONDS):
            return any_private(await asyncio.get_running_loop().getaddrinfo(host, 443, type=socket.SOCK_STREAM))
    except OSError:
        return False


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    body = b""
    async for block in response.content.iter_chunked(1 << 16):
        body += block
        if len(body) > limit:
            raise _Unfetched(f"larger than {limit // 1_000_000} MB")
    return body


def _conditions(before: KnownFile | None) -> dict[str, str]:
    named = {"If-None-Match": before.etag, "If-Modified-Since": before.modified} if before else {}
    return {name: value for name, value in named.items() if value}


def _first(fetched: _Fetched) -> str:
    return f" {fetched.quarantined[0].name}: {fetched.quarantined[0].reason}." if fetched.quarantined else ""
