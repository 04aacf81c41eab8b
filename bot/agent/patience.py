"""Time limits for others that take the delays of our own event loop into account.

While the loop is delayed, by a long computation or a machine that pauses, nothing is read or sent: an answer that came
in time stays in its socket, and a request stays here. So a deadline counts only the time in which the loop could see
that the other side keeps it.
"""

import asyncio
from types import TracebackType

LAG_POLL_INTERVAL = 0.5
"""Seconds between two measurements of the loop lag. At most this much of a delay is missed."""
ON_TIME_LAG = 0.05
"""A loop with no more lag than this, in seconds, is on time."""


class Patience:
    """A time limit like `asyncio.timeout` that is extended by the loop's delays. It raises TimeoutError."""

    def __init__(self, seconds: float) -> None:
        self.late = 0.0
        """Seconds by which the loop has been late so far."""
        self._seconds = seconds
        self._clock = asyncio.timeout(None)
        self._deadline = self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> "Patience":
        self._loop = asyncio.get_running_loop()
        await self._clock.__aenter__()
        self._due = self._loop.time()
        self._deadline = self._due + self._seconds
        self._look()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._clock.__aexit__(kind, error, traceback)

    def expired(self) -> bool:
        """Whether the time limit was reached."""
        return self._clock.expired()

    def move(self, deadline: float) -> None:
        """Set another deadline, on the loop's clock."""
        self._deadline = deadline
        if deadline < self._due and self._timer is not None and not self._clock.expired():
            self._timer.cancel()
            self._look_at(deadline)

    def _look(self) -> None:
        now = self._loop.time()
        if (late := now - self._due) > ON_TIME_LAG:
            self.late += late
            self._deadline += late
        if now < self._deadline:
            self._look_at(min(now + LAG_POLL_INTERVAL, self._deadline))
        else:
            self._timer = None
            self._clock.reschedule(now)

    def _look_at(self, due: float) -> None:
        self._due = due
        self._timer = self._loop.call_at(due, self._look)
