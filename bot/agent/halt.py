"""How a running turn is told to end: from outside, at any moment, for good."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Halt:
    """One turn's ear for that; set at the most once."""

    def __init__(self) -> None:
        self._clocks: set[asyncio.Timeout] = set()
        self._set = asyncio.Event()

    def set(self) -> None:
        """End what runs under `bounding`, now, and whatever is begun under it from here on."""
        self._set.set()
        now = asyncio.get_running_loop().time()
        for clock in self._clocks:
            if not clock.expired():
                clock.reschedule(now)

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._set.is_set()

    @contextmanager
    def bounding(self, clock: asyncio.Timeout) -> Iterator[None]:
        """Within, the halt makes the entered `clock` expire, so that it looks like a time limit that is reached."""
        if self.is_set():
            clock.reschedule(asyncio.get_running_loop().time())
        self._clocks.add(clock)
        try:
            yield
        finally:
            self._clocks.discard(clock)
