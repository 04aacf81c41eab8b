"""What runs turns: an at-least-once, one-at-a-time, in-order call of a function for each thread.

TurnQueue    where stored rows go
TurnEngine   the port; `lanes.py` is one process, `fleet.py` several on one Postgres
RetryingRunner       the loop around one row that both share: again and again until it is done
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from bot.clock import Clock
from bot.errors import StoreUnavailable, Superseded
from bot.slack.client import SlackUnanswered
from bot.store.database import Database

logger = logging.getLogger(__name__)

TakeTurn = Callable[[int], Awaitable[None]]
"""Works on one inbox row; may be called again with the same row after a crash."""
ROW_RETRY_DELAYS = (0.5, 5.0, 20.0, 60.0)
"""Waits before a failed row is tried again; the last repeats. The turn itself gives a row up after three tries."""
CLEANUP_TIMEOUT = 4.5
"""How long an engine may take, once it has cancelled what runs: streams are ended, tries given back, rows too."""
MAX_STORE_RETRY_DELAY = 5.0
"""The longest wait for the database, which is all that keeps such a turn: the answer follows soon after it is back."""


class TurnQueue(Protocol):
    """Where stored rows go."""

    def submit(self, item_id: int, thread: str) -> None:
        """Say that a row was stored for the thread; returns at once."""


class TurnEngine(TurnQueue, Protocol):
    """Takes every row that is stored, at least once, one of a thread at a time, in order."""

    async def resume(self, database: Database) -> int:
        """Begin: take what is submitted, and what an earlier process left open; how much that is."""

    async def drain(self, seconds: float) -> None:
        """Begin nothing more, wait up to `seconds` for what runs, cancel the rest; another process takes it up.

        What has been cancelled has a little time to end, TIDY_SECONDS with all else; then it is not waited for.
        """

    @property
    def active(self) -> int:
        """Threads of which a row is at work or waits here."""


async def cancel_all(turns: Collection[asyncio.Task[Any]], seconds: float) -> None:
    """Cancel them and wait for so long at the most: what does not end by then is as if the process had died."""
    for turn in turns:
        turn.cancel()
    if turns:
        _, left = await asyncio.wait(turns, timeout=seconds)
        if left:
            logger.warning("turns are left as they are", extra={"turns": sorted(turn.get_name() for turn in left)})


class RetryingRunner:
    """Takes one row until it is done; failures of any kind are waited out."""

    def __init__(self, take_turn: TakeTurn, clock: Clock) -> None:
        self._take_turn = take_turn
        self._clock = clock
        self._resting: set[asyncio.Future[None]] = set()
        self._closing = asyncio.Event()

    async def take(self, item_id: int, place: AbstractAsyncContextManager[None]) -> bool:
        """Whether the row is done, here or by somebody else; False when `close` came first. Each try takes a place."""
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
        """Begin no further try; what waits for one ends at once."""
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
