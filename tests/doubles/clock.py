"""A clock that a test winds."""

import asyncio


class ManualClock:
    """Stands still until told; sleeping moves it on and lets others run."""

    def __init__(self, now: float = 1_795_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._now += seconds
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds


async def settle() -> None:
    """Let everything run that can, without letting time pass."""
    for _ in range(20):
        await asyncio.sleep(0)
