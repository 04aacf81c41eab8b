"""Places for what runs at the same time, shared out fairly: who is busy does not keep the others waiting."""

import asyncio
from collections import Counter, deque
from contextlib import suppress


class Places:
    """A semaphore that asks for whom: a place that is freed goes to whoever has fewest of those who wait."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def acquire(self, group: str) -> None:
        """Wait for a place in the name of the group, in its own order; whoever has got one calls `release`."""
        if self._free and not self._waiting:
            self._give(group)
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release(group)
            else:
                self._forget(group, place)
            raise

    def release(self, group: str) -> None:
        """Leave a place, which somebody else gets at once."""
        self._held[group] -= 1
        if not self._held[group]:
            del self._held[group]
        self._free += 1
        while self._free and self._waiting:
            # Of several with equally few the one that has waited longest for its turn: a dict keeps its order, and
            # whose turn it was goes to its end.
            group = min(self._waiting, key=lambda waiting: self._held[waiting])
            places = self._waiting.pop(group)
            place = places.popleft()
            if places:
                self._waiting[group] = places
            if not place.done():
                # Else who waited has given up in this very moment, and has not come to say so.
                self._give(group)
                place.set_result(None)

    def _give(self, group: str) -> None:
        self._free -= 1
        self._held[group] += 1

    def _forget(self, group: str, place: asyncio.Future[None]) -> None:
        places = self._waiting.get(group, deque())
        with suppress(ValueError):
            places.remove(place)
        if not places:
            self._waiting.pop(group, None)
