"""Pages of a web help centre, fetched into a folder and then read like files.

`fetch_site` reads the sitemap, then every page that may have changed. Nothing is fetched from a host that is not on the
source's list, not even through a redirect. No connection is made to a private address unless the source allows it
(addresses.py). Sizes, counts and times are bounded. A page that fails today and existed yesterday keeps its content.

It is a polite guest: it keeps the pace of pace.py, waits when the site is busy, and obeys robots.txt and noindex
(robots.py) unless the operator, whose own site it usually is, says otherwise.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import aiohttp

from knowledge.addresses import PrivateAddress
from knowledge.config import LOOPBACK, Source
from knowledge.errors import SourceUnreadable
from knowledge.search.catalog import KnownFile
from knowledge.sources.files import SUFFIXES, Listing, Quarantined, SourceFile, Unfit
from knowledge.sources.pace import BACK_OFF, BUSY, FAILURES_LIMIT, REST_LIMIT, Pace, back_off, retry_after
from knowledge.sources.robots import ROBOTS_BYTES, Robots, forbids_indexing, read_robots
from knowledge.sources.sessions import Sessions, open_sessions

PAGE_SECONDS = 20.0
SITE_SECONDS = 900.0
REDIRECTS = 5
SITEMAPS = 50
MISSING = frozenset({404, 410})

_KINDS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "application/pdf": ".pdf",
}

_Known = Mapping[str, KnownFile]
ReadSitemap = Callable[[bytes], tuple[bool, list[str]]]
"""Returns whether the addresses are those of further sitemaps, and the addresses. Raises Unfit."""


class _Unfetched(Exception):
    """A page that was not fetched. The message is the reason."""

    def __init__(
        self, reason: str, *, status: int = 0, gone: bool = False, busy: bool = False, wait: float = 0.0
    ) -> None:
        super().__init__(reason)
        self.status = status
        """What the site answered. 0 if it gave no answer."""
        self.gone = gone
        """Whether the site says that the page doesn't exist, or doesn't want it to be read."""
        self.busy = busy
        """Whether it may succeed when it is tried again."""
        self.wait = wait
        """Seconds that the site asks to wait first. 0 if it names no time."""


@dataclass(frozen=True, slots=True)
class _Answer:
    url: str
    """Where the page was found after all redirects."""
    status: int
    kind: str
    body: bytes
    etag: str
    modified: str
    charset: str = ""


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
    addresses: list[str] = []
    async with _Visitor.open(source, read_sitemap) as visitor:
        try:
            async with asyncio.timeout(SITE_SECONDS):
                addresses = await visitor.addresses()
                # Pages that were never read come first, in case the time doesn't suffice for all.
                addresses.sort(key=lambda address: visitor.path_of(address) in known)
                await _bring_all(visitor, addresses, known, spool, fetched)
        except TimeoutError:
            if not addresses:
                raise SourceUnreadable(f"{source.where} took longer than {_minutes(SITE_SECONDS)}.") from None
            _note_unreached(visitor, addresses, known, fetched)
    if not fetched.files and not fetched.kept:
        raise SourceUnreadable(f"{source.where} gave no page that could be read.{_first(fetched)}")
    files = sorted(fetched.files, key=lambda file: file.path)
    return Listing(tuple(files), tuple(fetched.quarantined), tuple(fetched.kept))


async def _bring_all(
    visitor: "_Visitor", addresses: Sequence[str], known: _Known, spool: Path, fetched: _Fetched
) -> None:
    waiting = iter(enumerate(addresses))

    async def bring() -> None:
        for number, address in waiting:
            await _bring(visitor, address, known, spool / f"{number:06}", fetched)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(visitor.source.at_once):
            tasks.create_task(bring())


def _note_unreached(visitor: "_Visitor", addresses: Sequence[str], known: _Known, fetched: _Fetched) -> None:
    """Note the pages for which the time did not suffice. They keep their earlier content."""
    done = {file.path for file in fetched.files} | {each.name for each in fetched.quarantined} | set(fetched.kept)
    for path in (visitor.path_of(address) for address in addresses):
        if path in done:
            continue
        fetched.quarantined.append(Quarantined(path, f"not reached within {_minutes(SITE_SECONDS)}"))
        if path in known:
            fetched.kept.append(path)


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
        SourceFile(
            path, full, len(answer.body), time.time_ns(), answer.url, answer.etag, answer.modified, answer.charset
        )
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
    sessions: Sessions
    read_sitemap: ReadSitemap
    pace: Pace
    robots: dict[str, Robots | _Unfetched] = field(default_factory=dict)
    """Scheme and host -> what its robots.txt says, or why it could not be read."""
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a robots.txt is fetched."""

    @classmethod
    @asynccontextmanager
    async def open(cls, source: Source, read_sitemap: ReadSitemap) -> AsyncIterator["_Visitor"]:
        async with open_sessions(timeout=PAGE_SECONDS) as sessions:
            yield cls(source, sessions, read_sitemap, Pace(per_second=source.per_second))

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
        """One page, if the site's robots.txt allows it. Raises _Unfetched."""
        if self.pace.is_hopeless:
            raise _Unfetched(f"not asked for, since {FAILURES_LIMIT} pages failed one after the other")
        try:
            answer = await self._follow(address, _conditions(before), limit=max(SUFFIXES.values()), is_page=True)
        except _Unfetched as unfetched:
            self.pace.note(failed=unfetched.busy)
            raise
        self.pace.note(failed=False)
        return answer

    async def _follow(
        self, address: str, headers: Mapping[str, str], *, limit: int, is_page: bool = False, cut: bool = False
    ) -> _Answer:
        """The answer behind redirects, which are followed within the list of hosts. Raises _Unfetched."""
        for _ in range(REDIRECTS):
            if is_page and not await self._is_allowed(address):
                raise _Unfetched("robots.txt does not allow it", gone=True)
            answer = await self._ask_patiently(address, headers, limit=limit, is_page=is_page, cut=cut)
            if answer.status not in (301, 302, 303, 307, 308):
                if answer.status not in (200, 304):
                    gone = answer.status in MISSING
                    raise _Unfetched(f"the site answers {answer.status}", status=answer.status, gone=gone)
                return answer
            address = urldefrag(urljoin(address, answer.url)).url
            if not self._may_visit(address):
                raise _Unfetched(f"leads to {urlsplit(address).hostname or 'nowhere'}, which is not among the hosts")
        raise _Unfetched("is redirected without end")

    async def _is_allowed(self, address: str) -> bool:
        """Whether robots.txt of the host allows an address. Raises _Unfetched if that cannot be known."""
        if not self.source.robots:
            return True
        host = urljoin(address, "/")
        async with self.asking:
            if host not in self.robots:
                self.robots[host] = await self._read_robots(f"{host}robots.txt")
        robots = self.robots[host]
        if isinstance(robots, _Unfetched):
            raise _Unfetched(f"robots.txt cannot be read: {robots}")
        return robots.allows(address)

    async def _read_robots(self, address: str) -> Robots | _Unfetched:
        """The rules of a host. A site without them allows everything; from one that fails, nothing may be asked."""
        try:
            answer = await self._follow(address, {}, limit=ROBOTS_BYTES, cut=True)
        except _Unfetched as unfetched:
            return Robots() if unfetched.status in range(400, 500) else unfetched
        robots = read_robots(answer.body.decode("utf-8", "replace"))
        self.pace.slow_down(robots.delay)
        return robots

    async def _ask_patiently(
        self, address: str, headers: Mapping[str, str], *, limit: int, is_page: bool, cut: bool
    ) -> _Answer:
        """The answer to one request, asked for again while the site is busy. Raises _Unfetched."""
        for tries in range(1, len(BACK_OFF) + 1):
            await self.pace.wait()
            try:
                return await self._ask(address, headers, limit=limit, is_page=is_page, cut=cut)
            except _Unfetched as unfetched:
                if not unfetched.busy or self.pace.is_hopeless:
                    raise
                if unfetched.wait > REST_LIMIT:
                    raise _Unfetched(f"{unfetched}, and asks to wait {_minutes(unfetched.wait)}", busy=True) from None
                if unfetched.wait:
                    self.pace.rest(unfetched.wait)
                else:
                    await asyncio.sleep(back_off(tries))
        await self.pace.wait()
        return await self._ask(address, headers, limit=limit, is_page=is_page, cut=cut)

    async def _ask(self, address: str, headers: Mapping[str, str], *, limit: int, is_page: bool, cut: bool) -> _Answer:
        try:
            session = await self.sessions.session_for(address, may_be_private=self.source.private)
            async with session.get(address, headers=headers, allow_redirects=False) as response:
                return await self._answer(response, address, limit=limit, is_page=is_page, cut=cut)
        except TimeoutError:
            raise _Unfetched(f"gave no answer within {PAGE_SECONDS:.0f} s", busy=True) from None
        except (PrivateAddress, aiohttp.ClientConnectorError) as error:
            if isinstance(getattr(error, "os_error", error), PrivateAddress):
                raise _Unfetched("leads to a private address, and its source does not say private: true") from None
            raise _Unfetched(f"cannot be fetched ({type(error).__name__})", busy=True) from None
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
            raise _Unfetched(f"cannot be fetched ({type(error).__name__})", busy=True) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _Unfetched(f"cannot be fetched ({type(error).__name__})") from None

    async def _answer(
        self, response: aiohttp.ClientResponse, address: str, *, limit: int, is_page: bool, cut: bool
    ) -> _Answer:
        """What a response says. Raises _Unfetched if the site is busy, or does not want the page to be indexed.

        Only a page is judged by that: many sites keep their sitemap and robots.txt out of search results, too.
        """
        headers = response.headers
        if response.status in BUSY:
            wait = retry_after(headers.get("Retry-After", ""))
            raise _Unfetched(f"the site answers {response.status}", status=response.status, busy=True, wait=wait)
        if is_page and self.source.robots and forbids_indexing(headers.getall("X-Robots-Tag", [])):
            raise _Unfetched("the site asks not to index it (X-Robots-Tag)", gone=True)
        url = headers.get("Location", "") if response.status in (301, 302, 303, 307, 308) else address
        body = await _read(response, limit, cut=cut) if response.status == 200 else b""
        etag, modified = headers.get("ETag", ""), headers.get("Last-Modified", "")
        charset = (response.charset or "")[:40]
        return _Answer(url, response.status, response.content_type, body, etag[:200], modified[:100], charset)

    async def _sitemap(self) -> AsyncIterator[str]:
        """Addresses from the sitemap, and from the sitemaps that it lists, one level deep."""
        waiting = [(self.source.sitemap or "", 0)]
        for number, (address, depth) in enumerate(waiting):
            if number >= SITEMAPS:
                break
            answer = await self._follow(address, {}, limit=max(SUFFIXES.values()))
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


async def _read(response: aiohttp.ClientResponse, limit: int, *, cut: bool) -> bytes:
    """The body. If it is larger than `limit`, it is `cut` there, or refused with _Unfetched."""
    body = b""
    async for block in response.content.iter_chunked(1 << 16):
        body += block
        if len(body) > limit:
            if cut:
                return body[:limit]
            raise _Unfetched(f"larger than {limit // 1_000_000} MB")
    return body


def _conditions(before: KnownFile | None) -> dict[str, str]:
    named = {"If-None-Match": before.etag, "If-Modified-Since": before.modified} if before else {}
    return {name: value for name, value in named.items() if value}


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes"


def _first(fetched: _Fetched) -> str:
    return f" {fetched.quarantined[0].name}: {fetched.quarantined[0].reason}." if fetched.quarantined else ""
