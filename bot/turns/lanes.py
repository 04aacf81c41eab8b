"""The engine of one process: a lane for each thread, many lanes at once.

submit   queue a row; its lane is woken at once
resume   queue again, in order, what an earlier process left open
drain    finish what runs, within a limit; the rest is taken up by the next process
"""

import asyncio
import logging
from collections import deque

from bot.clock import Clock
from bot.errors import StoreUnavailable
from bot.slack.client import SlackUnanswered
from bot.store import inbox
from bot.store.database import Database
from bot.turns.engine import TakeTurn

logger = logging.getLogger(__name__)

RETRY_SECONDS = (0.5, 5.0, 20.0, 60.0)
"""Waits before a failed row is tried again; the last repeats. The turn itself gives a row up after three tries."""


class Lanes:
    """At most `concurrent` rows at once, one of each thread, in the order of submission."""

    def __init__(self, take_turn: TakeTurn, clock: Clock, *, concurrent: int) -> None:
        self._take_turn = take_turn
        self._clock = clock
        self._places = asyncio.Semaphore(concurrent)
        self._lanes: dict[str, deque[int]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._resting: set[asyncio.Task[None]] = set()
        self._closing = False

    def submit(self, item_id: int, thread: str) -> None:
        """Queue one inbox row in its thread's lane; returns at once."""
        if self._closing:
            return
        lane = self._lanes.get(thread)
        if lane is not None:
            lane.append(item_id)
            return
        self._lanes[thread] = deque([item_id])
        task = asyncio.create_task(self._run_lane(thread), name=f"lane {thread}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def resume(self, database: Database) -> int:
        """Queue every unfinished row of earlier processes; how many there were."""
        async with database.transaction() as tx:
            rows = await inbox.unfinished(tx)
        for item_id, thread in rows:
            self.submit(item_id, thread)
        return len(rows)

    async def drain(self, seconds: float) -> None:
        """Begin nothing, wait up to `seconds` for what runs, cancel the rest."""
        self._closing = True
        for lane in self._lanes.values():
            lane.clear()
        for resting in self._resting:
            resting.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def active(self) -> int:
        """Threads with something to do."""
        return len(self._lanes)

    async def _run_lane(self, thread: str) -> None:
        lane = self._lanes[thread]
        try:
            while lane:
                await self._take(lane.popleft())
        finally:
            del self._lanes[thread]

    async def _take(self, item_id: int) -> None:
        failures = 0
        while True:
            try:
                async with self._places:
                    if self._closing:
                        return
                    await self._take_turn(item_id)
            except (StoreUnavailable, SlackUnanswered) as error:
                logger.warning("a turn waits", extra={"turn": item_id, "reason": str(error)})
            except Exception:
                logger.exception("the turn failed", extra={"turn": item_id})
            else:
                return
            await self._rest(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
            failures += 1

    async def _rest(self, seconds: float) -> None:
        """Wait before another try; draining ends the wait, and the row with it."""
        rest = asyncio.ensure_future(self._clock.sleep(seconds))
        self._resting.add(rest)
        try:
            await rest
        finally:
            self._resting.discard(rest)
