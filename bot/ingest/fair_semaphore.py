"""A semaphore that is fair between groups, such as customers."""

import asyncio
from collections import Counter, deque
from contextlib import suppress


class FairSemaphore:
    """Bounds how much runs at the same time. A free slot goes to the waiting group that holds the fewest slots."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def acquire(self, group: str) -> None:
        """Wait for a slot for the group, first come first served within it. Call `release` afterwards."""
        if self._free and not self._waiting:
            self._give(group)
            return
        slot = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group, deque()).append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self.release(group)
            else:
                self._forget(group, slot)
            raise

    def release(self, group: str) -> None:
        """Return a slot of the group. The next waiting group gets it at once."""
        self._held[group] -= 1
        if not self._held[group]:
            del self._held[group]
        self._free += 1
        while self._free and self._waiting:
            # Of several groups with equally few slots the one that waited longest gets it: a dict keeps its order, and
            # the group that is served now goes to the end.
            group = min(self._waiting, key=lambda waiting: self._held[waiting])
            queue = self._waiting.pop(group)
            slot = queue.popleft()
            if queue:
                self._waiting[group] = queue
            if not slot.done():
                # A slot that is done was cancelled at this moment, and its waiter has not run yet.
                self._give(group)
                slot.set_result(None)

    def _give(self, group: str) -> None:
        self._free -= 1
        self._held[group] += 1

    def _forget(self, group: str, slot: asyncio.Future[None]) -> None:
        queue = self._waiting.get(group, deque())
        with suppress(ValueError):
            queue.remove(slot)
        if not queue:
            self._waiting.pop(group, None)
