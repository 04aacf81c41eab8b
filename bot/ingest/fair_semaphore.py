"""Bounds what runs at the same time, and lets those who wait go on fairly: groups, such as customers, take turns.

FairLine       those who wait
FairSemaphore  slots, and the line of those who wait for one
"""

import asyncio
import heapq
from collections import Counter
from collections.abc import Mapping
from itertools import count
from types import MappingProxyType

_NOTHING: Mapping[str, int] = MappingProxyType({})


class FairLine:
    """Those who wait. First come, first served, but a group that was served goes behind all who wait at that moment.

    Who came first is decided by an order, such as the number of a stored row, and not by who asked first.
    """

    def __init__(self) -> None:
        self._groups: dict[str, list[tuple[int, int, asyncio.Future[None]]]] = {}
        """Group -> a heap of those who wait: the order, a number that no other has, what they wait for."""
        self._served: dict[str, int] = {}
        """Group -> the newest order in the line when it was served last."""
        self._newest = 0
        self._numbers = count()

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, group: str, order: int) -> asyncio.Future[None]:
        """Queue up. Return what is done by the one who calls `pop`."""
        waiting = asyncio.get_running_loop().create_future()
        heapq.heappush(self._groups.setdefault(group, []), (order, next(self._numbers), waiting))
        self._newest = max(self._newest, order)
        return waiting

    def remove(self, group: str, waiting: asyncio.Future[None]) -> None:
        """Leave the line."""
        queue = [each for each in self._groups.get(group, ()) if each[2] is not waiting]
        heapq.heapify(queue)
        if queue:
            self._groups[group] = queue
        else:
            self._groups.pop(group, None)

    def pop(self, held: Mapping[str, int] = _NOTHING) -> tuple[str, asyncio.Future[None]]:
        """Take who goes on out of the line: of the groups that hold the least of something, the one that is due."""
        group = min(self._groups, key=lambda each: (held.get(each, 0), *self._due(each)))
        queue = self._groups.pop(group)
        _, _, waiting = heapq.heappop(queue)
        self._served[group] = self._newest
        if queue:
            # A dict keeps its order. So of groups that are equally due, the one that was served longest ago goes on.
            self._groups[group] = queue
        if not self._groups:
            self._served.clear()
        return group, waiting

    def cancel(self) -> None:
        """Cancel all who wait."""
        for queue in self._groups.values():
            for _, _, waiting in queue:
                waiting.cancel()

    def waiting(self) -> set[int]:
        """The orders of those who wait."""
        return {order for queue in self._groups.values() for order, _, _ in queue}

    def _due(self, group: str) -> tuple[int, bool]:
        first, served = self._groups[group][0][0], self._served.get(group)
        return (first, False) if served is None else (max(first, served), served >= first)


class FairSemaphore:
    """Bounds how much runs at the same time. A free slot goes to the waiting group that holds the fewest slots."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._held: Counter[str] = Counter()
        self._line = FairLine()

    async def acquire(self, group: str, order: int) -> None:
        """Wait for a slot for the group, by order within it. Call `release` afterwards."""
        if self._free and not self._line:
            self._give(group)
            return
        slot = self._line.add(group, order)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self.release(group)
            else:
                self._line.remove(group, slot)
            raise

    def release(self, group: str) -> None:
        """Return a slot of the group. Who waits next gets it at once."""
        self._held[group] -= 1
        if not self._held[group]:
            del self._held[group]
        self._free += 1
        while self._free and self._line:
            group, slot = self._line.pop(self._held)
            if not slot.done():
                # A slot that is done was cancelled at this moment, and its waiter has not run yet.
                self._give(group)
                slot.set_result(None)

    def waiting(self) -> set[int]:
        """The orders of those who wait for a slot."""
        return self._line.waiting()

    def _give(self, group: str) -> None:
        self._free -= 1
        self._held[group] += 1
