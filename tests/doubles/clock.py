"""A clock that a test winds."""

import asyncio


class ManualClock:
    """Stands still until told; sleeping moves it on and lets others run."""

    def __init__(self, now: float = 1_795_000_000.0) -> None:
        self._now = now
        self._set_by = 0.0

    def now(self) -> float:
        return self._now + self._set_by

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._now += seconds
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    def jump(self, seconds: float) -> None:
        """Be set to another time, or stand still for so long with the machine, which the steady clock does not see."""
        self._set_by += seconds


async def settle() -> None:
    """Let everything run that can, without letting time pass."""
    for _ in range(20):
        await asyncio.sleep(0)
