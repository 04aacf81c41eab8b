"""How fast a site is asked, and how often again after a failure.

`Pace` spaces requests out and holds them back while the site wants a rest. `retry_after` reads what a site asks for.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

BACK_OFF = (1.0, 4.0)
"""Seconds before the second and the third try, if the site names no time itself."""
REST_LIMIT = 120.0
"""Seconds that a site is waited for at most before a page's next try."""
SLOWEST = 10.0
"""Seconds between two requests, at most, if robots.txt asks for a delay."""
FAILURES_LIMIT = 10
"""Pages that may fail one after the other before a site is left alone."""
BUSY = frozenset({429, 500, 502, 503, 504})
"""Answers after which a page is asked for again."""


class Pace:
    """The pace of requests to one site."""

    def __init__(
        self,
        *,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Allow this many requests in a second, by a clock that counts seconds."""
        self._clock = clock
        self._sleep = sleep
        self._interval = 1.0 / per_second
        self._next = 0.0
        self._failures = 0

    @property
    def is_hopeless(self) -> bool:
        """Whether so many pages failed one after the other that asking for more only adds to the site's load."""
        return self._failures >= FAILURES_LIMIT

    async def wait(self) -> None:
        """Wait until the next request may be sent."""
        while (left := self._next - self._clock()) > 0:
            await self._sleep(left)
        self._next = self._clock() + self._interval

    def rest(self, seconds: float) -> None:
        """Send no request for this long."""
        self._next = max(self._next, self._clock() + seconds)

    def slow_down(self, seconds: float) -> None:
        """Leave at least this long between two requests, within SLOWEST."""
        self._interval = max(self._interval, min(seconds, SLOWEST))

    def note(self, *, failed: bool) -> None:
        """Count pages that failed one after the other."""
        self._failures = self._failures + 1 if failed else 0


def back_off(number: int) -> float:
    """Seconds to wait before try `number`, where 1 is the second try. A little chance keeps clients apart."""
    seconds = BACK_OFF[number - 1]
    return seconds * random.uniform(0.75, 1.25)  # noqa: S311 - nothing secret depends on it


def retry_after(value: str) -> float:
    """The seconds that a Retry-After header asks for, as a number or a date. 0 if it asks for nothing."""
    text = value.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        at = parsedate_to_datetime(text[:60])
    except (TypeError, ValueError):
        return 0.0
    moment = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
