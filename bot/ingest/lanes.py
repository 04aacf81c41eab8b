"""The engine of one process: a lane for each thread, many lanes at once.

submit   queue a row, and wake its lane at once
resume   queue the rows that an earlier process left open, in order
drain    finish running turns within a time limit; the next process continues the rest
"""

import asyncio
from collections import deque

from bot.clock import Clock
from bot.failpoints import failpoint
from bot.ingest.engine import CLEANUP_TIMEOUT, RetryingRunner, TakeTurn, cancel_all
from bot.store import inbox
from bot.store.database import Database


class Lanes:
    """Runs at most `concurrent` rows at once, one for each thread, in the order of submission."""

    def __init__(self, take_turn: TakeTurn, clock: Clock, *, concurrent: int) -> None:
        self._runner = RetryingRunner(take_turn, clock)
        self._places = asyncio.Semaphore(concurrent)
        self._alone = asyncio.Semaphore(1)
        self._suspects: frozenset[int] = frozenset()
        self._lanes: dict[str, deque[int]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, item_id: int, thread: str) -> None:
        """Queue one inbox row in its thread's lane. Returns at once."""
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
        """Queue every unfinished row of earlier processes. Return the number of these rows.

        Rows that were running at two crashes run one by one. So a row that crashes the process does not use up the
        tries of all the others.
        """
        async with database.transaction() as tx:
            rows = await inbox.unfinished(tx)
            self._suspects = frozenset(await inbox.suspects(tx))
        failpoint("resuming")
        for item_id, thread in rows:
            self.submit(item_id, thread)
        return len(rows)

    async def drain(self, seconds: float) -> None:
        """Start nothing more, wait up to `seconds` for running turns, and cancel the rest."""
        self._runner.close()
        for lane in self._lanes.values():
            lane.clear()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        await cancel_all(tuple(self._tasks), CLEANUP_TIMEOUT)

    @property
    def active(self) -> int:
        """The number of threads with a row that runs or waits."""
        return len(self._lanes)

    async def _run_lane(self, thread: str) -> None:
        lane = self._lanes[thread]
        try:
            while lane:
                item_id = lane.popleft()
                await self._runner.take(item_id, self._alone if item_id in self._suspects else self._places)
        finally:
            del self._lanes[thread]
