"""The signal that ends a running turn from outside, at any moment and for good."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Halt:
    """The signal of one turn. Once it is set, it stays set."""

    def __init__(self) -> None:
        self._clocks: set[asyncio.Timeout] = set()
        self._set = asyncio.Event()

    def set(self) -> None:
        """End the blocks that run under `bounding` now, and any that begin later."""
        self._set.set()
        now = asyncio.get_running_loop().time()
        for clock in self._clocks:
            if not clock.expired():
                clock.reschedule(now)

    def is_set(self) -> bool:
        """Whether the signal was set."""
        return self._set.is_set()

    @contextmanager
    def bounding(self, clock: asyncio.Timeout) -> Iterator[None]:
        """In the block, the signal makes the entered `clock` expire. That looks like a time limit."""
        if self.is_set():
            clock.reschedule(asyncio.get_running_loop().time())
        self._clocks.add(clock)
        try:
            yield
        finally:
            self._clocks.discard(clock)
