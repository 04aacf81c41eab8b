"""What runs turns: for each thread, a function is called at least once for each row, one row at a time, in order.

TurnQueue        where stored rows go
TurnEngine       the port: `lanes.py` is for one process, `fleet.py` for several processes on one Postgres
RetryingRunner   the loop around one row that both engines share: it retries until the row is done
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from bot.clock import Clock
from bot.errors import StoreUnavailable, Superseded
from bot.slack.api.errors import SlackUnanswered
from bot.store.database import Database

logger = logging.getLogger(__name__)

TakeTurn = Callable[[int], Awaitable[None]]
"""Works on one inbox row. After a crash it is called again with the same row."""
ROW_RETRY_DELAYS = (0.5, 5.0, 20.0, 60.0)
"""Seconds before each retry of a failed row. The last one repeats. The turn gives a row up after three tries."""
CLEANUP_TIMEOUT = 4.5
"""How long running turns may take to end after an engine cancels them, in seconds.

In that time they end their streams, and give back their tries and rows.
"""
MAX_STORE_RETRY_DELAY = 5.0
"""The longest wait before a retry while the database is away, in seconds.

Such a turn waits for nothing else, so the answer follows soon after the database is back.
"""


class TurnQueue(Protocol):
    """Where stored rows go."""

    def submit(self, item_id: int, thread: str) -> None:
        """Report that a row was stored for the thread. Returns at once."""


class TurnEngine(TurnQueue, Protocol):
    """Works on every stored row at least once. The rows of one thread run one at a time, in order."""

    async def resume(self, database: Database) -> int:
        """Start to work on submitted rows and on rows that an earlier process left open. Return the number of those."""

    async def drain(self, seconds: float) -> None:
        """Start nothing more, wait up to `seconds` for running turns, cancel the rest. Another process continues them.

        Cancelled turns have until CLEANUP_TIMEOUT to end. After that the engine does not wait for them.
        """

    @property
    def active(self) -> int:
        """The number of threads with a row that runs or waits in this process."""


async def cancel_all(turns: Collection[asyncio.Task[Any]], seconds: float) -> None:
    """Cancel the turns and wait at most `seconds`. A turn that does not end by then is treated as after a crash."""
    for turn in turns:
        turn.cancel()
    if turns:
        _, left = await asyncio.wait(turns, timeout=seconds)
        if left:
            logger.warning("turns are left as they are", extra={"turns": sorted(turn.get_name() for turn in left)})


class RetryingRunner:
    """Works on one row until it is done. After a failure of any kind it waits and tries again."""

    def __init__(self, take_turn: TakeTurn, clock: Clock) -> None:
        self._take_turn = take_turn
        self._clock = clock
        self._resting: set[asyncio.Future[None]] = set()
        self._closing = asyncio.Event()

    async def take(self, item_id: int, place: AbstractAsyncContextManager[None]) -> bool:
        """Return True once the row is done, here or in another process, and False if `close` came first.

        Each try holds a slot of the semaphore `place`.
        """
        failures = 0
        while not self.is_closing:
            longest = ROW_RETRY_DELAYS[-1]
            try:
                async with place:
                    if self._closing.is_set():
                        return False
                    await self._take_turn(item_id)
            except Superseded as error:
                logger.info("a turn goes on elsewhere", extra={"turn": item_id, "reason": str(error)})
                return True
            except StoreUnavailable as error:
                longest = MAX_STORE_RETRY_DELAY
                logger.warning("a turn waits", extra={"turn": item_id, "reason": str(error)})
            except SlackUnanswered as error:
                logger.warning("a turn waits", extra={"turn": item_id, "reason": str(error)})
            except Exception:
                logger.exception("the turn failed", extra={"turn": item_id})
            else:
                return True
            await self._rest(min(longest, ROW_RETRY_DELAYS[min(failures, len(ROW_RETRY_DELAYS) - 1)]))
            failures += 1
        return False

    @property
    def is_closing(self) -> bool:
        """Whether `close` was called."""
        return self._closing.is_set()

    def close(self) -> None:
        """Start no further try. A row that waits for its next try ends at once."""
        self._closing.set()
        for resting in self._resting:
            resting.cancel()

    async def _rest(self, seconds: float) -> None:
        rest = asyncio.ensure_future(self._clock.sleep(seconds))
        self._resting.add(rest)
        try:
            await asyncio.wait({rest})
        finally:
            rest.cancel()
            self._resting.discard(rest)
