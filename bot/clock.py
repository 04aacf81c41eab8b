"""The time, injected: production reads the system's clocks, a test winds its own.

Clock       what the product needs to know about time
SystemClock the machine's clocks
JumpWatch   whether the wall clock was set, or the machine slept
"""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the product needs to know about time."""

    def now(self) -> float:
        """Seconds since 1970, for what is stored and shown."""

    def monotonic(self) -> float:
        """Seconds that never jump, for waits and intervals."""

    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds."""


MINUTE, HOUR, DAY, WEEK = 60.0, 3_600.0, 86_400.0, 7 * 86_400.0
"""The lengths of these spans, in seconds."""
JUMP_SECONDS = 30.0
"""Seconds that the wall clock may drift between two looks; daemons that correct it move it by less."""


class JumpWatch:
    """Compares the two clocks. The monotonic clock stops while the machine sleeps, and the wall clock does not."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall, self._steady = clock.now(), clock.monotonic()
        self._jumped = 0.0

    def look(self) -> float:
        """Return how many seconds the wall clock has jumped since `settle` was called: negative for back, 0.0 for none.

        A clock that is set back to where it was has not jumped.
        """
        wall, steady = self._clock.now(), self._clock.monotonic()
        drift = (wall - self._wall) - (steady - self._steady)
        self._wall, self._steady = wall, steady
        if abs(drift) >= JUMP_SECONDS:
            self._jumped += drift
        return self._jumped if abs(self._jumped) >= JUMP_SECONDS else 0.0

    def settle(self) -> None:
        """Forget the jump: everything that it called for is done."""
        self._jumped = 0.0


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
