"""Whether the addresses of pages lead anywhere: HEAD requests, few and slow, to what answers would link to."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urldefrag, urljoin, urlsplit

import aiohttp

from knowledge.addresses import PrivateAddress
from knowledge.sources.pace import BUSY, Pace, retry_after
from knowledge.sources.sessions import Sessions, open_sessions

LINK_SECONDS = 10.0
"""Seconds for one request."""
CHECK_SECONDS = 600.0
"""Seconds for all of them."""
AT_ONCE = 4
PER_SECOND = 4.0
"""Requests to one host in a second."""
REST_LIMIT = 30.0
"""Seconds that a host is waited for at most."""
REDIRECTS = 5

Outcome = Literal["fine", "moved", "broken", "not asked"]

_MOVED = frozenset({301, 302, 303, 307, 308})
_SURE = frozenset({404, 410})
"""Answers that are believed at once. After others, a GET request has the last word: not every site knows HEAD."""


@dataclass(frozen=True, slots=True)
class CheckedLink:
    """One address and where it leads."""

    address: str
    pages: tuple[str, ...]
    """The pages that have it."""
    outcome: Outcome
    detail: str = ""
    """Why it is broken or was not asked for, or where it has moved."""


async def check_links(
    pages: Mapping[str, Sequence[str]], *, limit: int, private: frozenset[str] = frozenset()
) -> list[CheckedLink]:
    """Ask for at most `limit` addresses, each of which has the names of its pages.

    Nothing private is connected to, except the hosts `private`. After CHECK_SECONDS the rest is not asked for.
    """
    addresses = list(pages)
    checked = {each: CheckedLink(each, tuple(pages[each]), "not asked", "over the limit") for each in addresses}
    waiting = iter(addresses[:limit])
    for address in addresses[:limit]:
        checked[address] = CheckedLink(address, tuple(pages[address]), "not asked", "no time was left")

    async with open_sessions(timeout=LINK_SECONDS) as sessions:
        checker = _Checker(sessions, private)

        async def work() -> None:
            for address in waiting:
                outcome, detail = await checker.check(address)
                checked[address] = CheckedLink(address, tuple(pages[address]), outcome, detail)

        try:
            async with asyncio.timeout(CHECK_SECONDS), asyncio.TaskGroup() as tasks:
                for _ in range(AT_ONCE):
                    tasks.create_task(work())
        except TimeoutError:
            # What was not asked for says so.
            pass
    return list(checked.values())


def addresses_of(documents: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Addresses with the names of their pages, from pairs of a page's name and its address."""
    found: dict[str, list[str]] = {}
    for name, address in documents:
        if address:
            found.setdefault(urldefrag(address).url, []).append(name)
    return found


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    location: str = ""
    wait: float = 0.0


@dataclass(slots=True)
class _Checker:
    sessions: Sessions
    private: frozenset[str]
    paces: dict[str, Pace] = field(default_factory=dict)
    """Host -> its pace."""

    async def check(self, address: str) -> tuple[Outcome, str]:
        """Where an address leads, and a word about it."""
        at, is_moved = address, False
        try:
            for _ in range(REDIRECTS):
                if urlsplit(at).scheme not in ("http", "https"):
                    return ("broken", "leads to no web page") if is_moved else ("not asked", "no web address")
                answer = await self._ask(at)
                if answer.status not in _MOVED:
                    return self._judge(answer, at if is_moved else "")
                at, is_moved = urldefrag(urljoin(at, answer.location)).url, True
        except PrivateAddress:
            return "not asked", "leads to a private address"
        except TimeoutError:
            return "broken", f"no answer within {LINK_SECONDS:.0f} s"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(getattr(error, "os_error", error), PrivateAddress):
                return "not asked", "leads to a private address"
            return "broken", f"cannot be reached ({type(error).__name__})"
        return "broken", "is redirected without end"

    def _judge(self, answer: _Answer, moved_to: str) -> tuple[Outcome, str]:
        if answer.status in BUSY:
            return "not asked", f"the site is busy ({answer.status})"
        if answer.status >= 400:
            return "broken", f"{answer.status}{f' at {moved_to}' if moved_to else ''}"
        return ("moved", f"to {moved_to}") if moved_to else ("fine", "")

    async def _ask(self, address: str) -> _Answer:
        """The answer to HEAD, or to GET if the site may not know HEAD. A busy site is asked once more after a rest."""
        answer = await self._request("HEAD", address)
        if answer.status in BUSY and answer.wait <= REST_LIMIT:
            self._pace(address).rest(answer.wait or 1.0)
            answer = await self._request("HEAD", address)
        if answer.status >= 400 and answer.status not in (*_SURE, 429):
            answer = await self._request("GET", address)
        return answer

    async def _request(self, method: str, address: str) -> _Answer:
        await self._pace(address).wait()
        host = urlsplit(address).hostname or ""
        session = await self.sessions.session_for(address, may_be_private=host in self.private)
        # The body is not read: leaving the context closes the connection.
        async with session.request(method, address, allow_redirects=False) as response:
            wait = retry_after(response.headers.get("Retry-After", ""))
            return _Answer(response.status, response.headers.get("Location", ""), wait)

    def _pace(self, address: str) -> Pace:
        host = urlsplit(address).netloc
        if host not in self.paces:
            self.paces[host] = Pace(per_second=PER_SECOND, clock=time.monotonic)
        return self.paces[host]
