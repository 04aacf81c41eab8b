"""How fast a shop is asked, and when it is left alone.

Pace  A token bucket, a number of requests at once, what `Retry-After` asks for, and a breaker.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from bot.shops.actions import Throttled
from bot.shops.declared.file import Limits
from bot.shops.port import ShopRefuses, ShopUnavailable
from bot.shops.transport import Reply

BURST_SECONDS = 2.0
"""How much of `per_second` can be used at once."""
RETRY_AFTER_LIMIT = 30.0
"""The longest wait that a shop can ask for."""
PATIENCE = 2.0
"""How long a look-up waits for a shop that asked for patience. Beyond it, the look-up fails at once."""
NEARLY_ALL = 0.9
"""The part of a question's time after which a request that was given up counts as one that failed."""
FAILURES = 5
FAILURE_SECONDS = 30.0
"""So many failures within so many seconds, and the shop is left alone for as long."""


class Pace:
    """The pace of one connector in this process."""

    def __init__(self, limits: Limits, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._places = asyncio.Semaphore(limits.at_once)
        self._seconds = limits.seconds
        self._rate = limits.per_second
        self._most = max((limits.per_second or 0.0) * BURST_SECONDS, 1.0)
        self._tokens = self._most
        self._filled_at = now()
        self._blocked_until = 0.0
        self._open_until = 0.0
        self._failures: deque[float] = deque(maxlen=FAILURES)

    @property
    def is_open(self) -> bool:
        """Whether the shop failed so often that it is left alone."""
        return self._now() < self._open_until

    async def exchange(self, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """The answer to one request, in its turn.

        A request failed if its answer has a status of 500 or more, is not usable, or did not come in nearly all of the
        time of its question. Raises ShopUnavailable.
        """
        began = self._now()
        try:
            async with self._turn():
                reply = await self._answer(ask)
        except asyncio.CancelledError:
            if self._now() - began > NEARLY_ALL * self._seconds:
                self._note_failure()
            raise
        if reply.status >= 500:
            self._note_failure()
        else:
            self._failures.clear()
        return reply

    async def _answer(self, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        try:
            return await ask()
        except ShopRefuses:
            raise
        except ShopUnavailable:
            self._note_failure()
            raise

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One request's turn. Raises ShopUnavailable at once if the shop is left alone, or asked for patience."""
        self._check()
        async with self._places:
            await asyncio.sleep(max(self._blocked_until - self._now(), self._take()))
            self._check()
            yield

    def throttled(self, retry_after: str | None) -> Throttled:
        """The shop is busy. Note how long it asks to be left alone, and return what tells so."""
        seconds = min(_seconds(retry_after), RETRY_AFTER_LIMIT)
        self._blocked_until = max(self._blocked_until, self._now() + seconds)
        return Throttled(seconds)

    def _note_failure(self) -> None:
        now = self._now()
        self._failures.append(now)
        if len(self._failures) == FAILURES and now - self._failures[0] < FAILURE_SECONDS:
            self._open_until = now + FAILURE_SECONDS
            self._failures.clear()

    def _check(self) -> None:
        if self.is_open:
            raise ShopUnavailable("the shop failed too often and is left alone for a while")
        if (wait := self._blocked_until - self._now()) > PATIENCE:
            raise Throttled(wait)

    def _take(self) -> float:
        """Take a token, and return how long to wait for it."""
        if self._rate is None:
            return 0.0
        now = self._now()
        self._tokens = min(self._tokens + (now - self._filled_at) * self._rate, self._most) - 1.0
        self._filled_at = now
        return max(-self._tokens / self._rate, 0.0)


def _seconds(retry_after: str | None) -> float:
    """Seconds from a header that has seconds or a date (RFC 9110, section 10.2.3). 1 s if it says nothing."""
    text = (retry_after or "").strip()[:40]
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, IndexError):
        return 1.0
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)
