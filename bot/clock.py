"""The time, injected: production reads the system's clocks, a test winds its own.

Clock       what the product asks of time
SystemClock the machine's
JumpWatch   whether the wall clock was set, or the machine slept
"""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the product asks of time."""

    def now(self) -> float:
        """Seconds since 1970, for what is stored and shown."""

    def monotonic(self) -> float:
        """Seconds that never jump, for waits and intervals."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


MINUTE, HOUR, DAY, WEEK = 60.0, 3_600.0, 86_400.0, 7 * 86_400.0
"""Seconds."""
JUMP_SECONDS = 30.0
"""How far the wall clock may go astray between two looks; daemons that keep it right move it by less."""


class JumpWatch:
    """Compares the two clocks: the one that never jumps stands still while the machine sleeps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall, self._steady = clock.now(), clock.monotonic()
        self._jumped = 0.0

    def look(self) -> float:
        """Seconds by which the wall clock has jumped, back when negative, until `settle` is called; 0.0 for none.

        A clock that is set back to where it was has not jumped.
        """
        wall, steady = self._clock.now(), self._clock.monotonic()
        drift = (wall - self._wall) - (steady - self._steady)
        self._wall, self._steady = wall, steady
        if abs(drift) >= JUMP_SECONDS:
            self._jumped += drift
        return self._jumped if abs(self._jumped) >= JUMP_SECONDS else 0.0

    def settle(self) -> None:
        """What is to be done about the jump is done."""
        self._jumped = 0.0


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
