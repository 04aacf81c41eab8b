"""Time as the workspace sees it, so that tests can move it, and the tasks that wait for it."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Protocol

logger = logging.getLogger(__name__)


class Clock(Protocol):
    """Wall time in seconds since the epoch, and a sleep measured in the same seconds."""

    def time(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own time."""

    def time(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Background:
    """Owner of the tasks that no request waits for; `close` ends them all."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: dict[Hashable, asyncio.Task[None]] = {}

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` now; a failure is logged, never lost."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def after(self, clock: Clock, seconds: float, act: Callable[[], object]) -> asyncio.Task[None]:
        """Call `act` once `clock` says that `seconds` have passed. Cancel the task to call it off."""

        async def wait() -> None:
            await clock.sleep(seconds)
            act()

        return self.start(wait())

    def set_timer(self, key: Hashable, clock: Clock, seconds: float, act: Callable[[], object]) -> None:
        """The same under a key: it replaces the timer that runs under it."""
        self.cancel_timer(key)
        timer = self.after(clock, seconds, act)
        self._timers[key] = timer
        timer.add_done_callback(lambda _: self._timers.pop(key) if self._timers.get(key) is timer else None)

    def cancel_timer(self, key: Hashable) -> None:
        """Call off the timer of this key, if one runs."""
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()

    async def close(self) -> None:
        """Cancel what still runs and wait until it has ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a background task of the local Slack failed", exc_info=error)
