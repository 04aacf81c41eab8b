"""Limits how many transactions use the database at the same time. Urgent ones go first."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turnstile:
    """Lets `places` through at the same time. Of those that wait, urgent ones go first, then the order of arrival."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def passing(self, *, urgent: bool, seconds: float) -> AsyncIterator[None]:
        """Hold a place for the block. Raises TimeoutError if none is free within `seconds`."""
        await self._enter(urgent=urgent, seconds=seconds)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, *, urgent: bool, seconds: float) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        (self._urgent if urgent else self._others).append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                # The place was assigned just before the wait was cancelled.
                self._leave()
            turn.cancel()
            raise

    def _leave(self) -> None:
        for waiting in (self._urgent, self._others):
            while waiting:
                turn = waiting.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._free += 1
