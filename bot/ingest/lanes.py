"""The engine of one process: a lane for each thread, many lanes at once.

submit   queue a row; its lane is woken at once
resume   queue again, in order, what an earlier process left open
drain    finish what runs, within a limit; the rest is taken up by the next process
"""

import asyncio
from collections import deque

from bot.clock import Clock
from bot.failpoints import failpoint
from bot.ingest.engine import CLEANUP_TIMEOUT, RetryingRunner, TakeTurn, cancel_all
from bot.store import inbox
from bot.store.database import Database


class Lanes:
    """At most `concurrent` rows at once, one of each thread, in the order of submission."""

    def __init__(self, take_turn: TakeTurn, clock: Clock, *, concurrent: int) -> None:
        self._runner = RetryingRunner(take_turn, clock)
        self._places = asyncio.Semaphore(concurrent)
        self._alone = asyncio.Semaphore(1)
        self._suspects: frozenset[int] = frozenset()
        self._lanes: dict[str, deque[int]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, item_id: int, thread: str) -> None:
        """Queue one inbox row in its thread's lane; returns at once."""
        if self._runner.is_closing:
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
        """Queue every unfinished row of earlier processes; how many there were.

        What was at work at two crashes is taken one by one: the row that ends the process must not use up the tries of
        all others.
        """
        async with database.transaction() as tx:
            rows = await inbox.unfinished(tx)
            self._suspects = frozenset(await inbox.suspects(tx))
        failpoint("resuming")
        for item_id, thread in rows:
            self.submit(item_id, thread)
        return len(rows)

    async def drain(self, seconds: float) -> None:
        """Begin nothing, wait up to `seconds` for what runs, cancel the rest."""
        self._runner.close()
        for lane in self._lanes.values():
            lane.clear()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        await cancel_all(tuple(self._tasks), CLEANUP_TIMEOUT)

    @property
    def active(self) -> int:
        """Threads with something to do."""
        return len(self._lanes)

    async def _run_lane(self, thread: str) -> None:
        lane = self._lanes[thread]
        try:
            while lane:
                item_id = lane.popleft()
                await self._runner.take(item_id, self._alone if item_id in self._suspects else self._places)
        finally:
            del self._lanes[thread]
