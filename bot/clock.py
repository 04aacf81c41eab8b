"""The time, injected: production reads the system's clocks, a test winds its own."""

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


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
