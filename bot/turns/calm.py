"""The door comes first: a turn begins only while the event loop is on time.

A turn costs the processor some dozen milliseconds, in pieces, and an acknowledgement goes through the same loop. When
a thousand messages come at once, or more than one process can answer, turns that all begin at once would keep Slack
waiting past its three seconds. So the loop's own lateness is watched, and what is to begin waits until it is on time
again. What runs goes on.

Those who wait are let in by turns, one of each customer, so that nobody waits for all that one of them has written.

run     watch until cancelled
after   a `take` that waits for calm first
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from bot.turns.engine import TakeTurn

TICK_SECONDS = 0.02
"""How often the loop is looked at."""
LATE_SECONDS = 0.02
"""A loop that is later than this is busy."""
STARTS = 4
"""Turns that may begin between two looks while it is on time,"""
LONGEST_SECONDS = 0.25
"""and one begins after so long in any case: being late is no reason to stand still."""


Whose = Callable[[int], Awaitable[str]]
"""Says in whose name a row is worked on."""


async def _nobodys(item_id: int) -> str:
    return ""


class Calm:
    """Watches one event loop."""

    def __init__(self, whose: Whose = _nobodys) -> None:
        self._whose = whose
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._left = STARTS
        self._begun = 0.0
        self._is_over = False
        self.late = 0.0
        """How many seconds the loop was late when it was looked at last."""

    async def run(self) -> None:
        """Watch until cancelled; what waits then does not begin, and what comes later is cancelled too."""
        now = asyncio.get_running_loop().time
        try:
            while True:
                due = now() + TICK_SECONDS
                await asyncio.sleep(TICK_SECONDS)
                self.late = now() - due
                overdue = now() - self._begun >= LONGEST_SECONDS
                self._left = STARTS if self.late < LATE_SECONDS else int(overdue)
                self._let_in()
        finally:
            self._is_over = True
            for waiting in self._waiting.values():
                for each in waiting:
                    each.cancel()

    def after(self, take: TakeTurn) -> Callable[[int], Coroutine[Any, Any, None]]:
        """`take`, begun when there is calm: the customers by turns, and what is of one in order."""

        async def take_in_calm(item_id: int) -> None:
            await self._wait(item_id)
            await take(item_id)

        return take_in_calm

    async def _wait(self, item_id: int) -> None:
        if self._is_over:
            # Nobody would ever let it in; to the engines it is a turn that was begun too late to be finished.
            raise asyncio.CancelledError
        if self._left and not self._waiting:
            self._begin()
            return
        whose = await self._whose(item_id)
        if self._is_over:
            raise asyncio.CancelledError
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(whose, deque()).append(waiting)
        await waiting

    def _let_in(self) -> None:
        while self._left and self._waiting:
            # A dict keeps its order, and whose turn it was goes to its end.
            whose = next(iter(self._waiting))
            theirs = self._waiting.pop(whose)
            waiting = theirs.popleft()
            if theirs:
                self._waiting[whose] = theirs
            if not waiting.done():
                waiting.set_result(None)
                self._begin()

    def _begin(self) -> None:
        self._left -= 1
        self._begun = asyncio.get_running_loop().time()
