"""Admission control: a new turn starts only while the event loop is on time.

A turn costs some dozen milliseconds of CPU, and acknowledgements to Slack run on the same loop. If a thousand turns
started at once, Slack would wait longer than its three seconds. So this module measures the loop lag, and new turns
wait until the lag is small again. Turns that already run are not affected.

Waiting turns are admitted round robin, one of each customer, so one customer with many messages does not delay the
others.

run         measure the loop lag until cancelled
admitting   wrap a `take` so that it waits for admission first
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from bot.ingest.engine import TakeTurn

LOOP_CHECK_SECONDS = 0.02
"""The time between two measurements of the loop lag."""
MAX_LOOP_LAG_SECONDS = 0.02
"""A loop with more lag than this is late, and no new turn starts."""
MAX_STARTS = 4
"""The number of turns that can start between two measurements."""
MAX_WAIT_SECONDS = 0.25
"""One turn starts after this time even if the loop is late, so that work never stops completely."""


GroupOf = Callable[[int], Awaitable[str]]
"""Finds the group of a row, such as its customer. Groups are admitted round robin."""


async def _no_group(item_id: int) -> str:
    return ""


class AdmissionControl:
    """Measures one event loop and admits turns to it."""

    def __init__(self, group_of: GroupOf = _no_group) -> None:
        self._group_of = group_of
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._free_starts = MAX_STARTS
        self._started_at = 0.0
        self._is_closed = False
        self.loop_lag = 0.0
        """The lag of the loop at the last measurement, in seconds."""

    async def run(self) -> None:
        """Measure until cancelled. Then every waiting turn is cancelled, and so is every later one."""
        now = asyncio.get_running_loop().time
        try:
            while True:
                due = now() + LOOP_CHECK_SECONDS
                await asyncio.sleep(LOOP_CHECK_SECONDS)
                self.loop_lag = now() - due
                is_overdue = now() - self._started_at >= MAX_WAIT_SECONDS
                self._free_starts = MAX_STARTS if self.loop_lag < MAX_LOOP_LAG_SECONDS else int(is_overdue)
                self._admit()
        finally:
            self._is_closed = True
            for waiting in self._waiting.values():
                for each in waiting:
                    each.cancel()

    def admitting(self, take: TakeTurn) -> Callable[[int], Coroutine[Any, Any, None]]:
        """Return a `take` that waits for admission first. The rows of one group keep their order."""

        async def take_when_admitted(item_id: int) -> None:
            await self._wait(item_id)
            await take(item_id)

        return take_when_admitted

    async def _wait(self, item_id: int) -> None:
        if self._is_closed:
            # No one would ever admit it. The engines read this as a turn that started too late to finish.
            raise asyncio.CancelledError
        if self._free_starts and not self._waiting:
            self._start()
            return
        group = await self._group_of(item_id)
        if self._is_closed:
            raise asyncio.CancelledError
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group, deque()).append(waiting)
        await waiting

    def _admit(self) -> None:
        while self._free_starts and self._waiting:
            # A dict keeps its order: the group that is served now goes to the end.
            group = next(iter(self._waiting))
            queue = self._waiting.pop(group)
            waiting = queue.popleft()
            if queue:
                self._waiting[group] = queue
            if not waiting.done():
                waiting.set_result(None)
                self._start()

    def _start(self) -> None:
        self._free_starts -= 1
        self._started_at = asyncio.get_running_loop().time()
