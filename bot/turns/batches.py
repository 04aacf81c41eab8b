"""Large work on the database in short transactions, so that others do not wait long for the database.

Steps    the size of each batch
Pieces   the transactions of one batch
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from bot.clock import Clock
from bot.store.database import Database, Transaction

MAX_TRANSACTION_TIME = 0.05
"""How long one transaction may hold the database, in seconds.

After a batch with a longer one the next batch is smaller. After a batch with only short ones it is larger.
"""
SMALLEST_STEP, FIRST_STEP, LARGEST_STEP = 10, 20, 40
"""The bounds and the first size of a batch, in rows. On a busy machine smaller batches are no quicker."""
ENOUGH = 0.2
"""The share of MAX_TRANSACTION_TIME after which a new transaction begins. The next piece needs some time as well."""


class Steps:
    """Adapts the size of batches, so that each transaction is short on any machine and with any data."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._size = FIRST_STEP
        self._longest: float | None = None
        """How long the latest batch's longest transaction held the database, in seconds."""

    def next_size(self) -> int:
        """Return the number of rows for the next batch. It depends on the longest transaction before.

        The shorter ones do not count, because one transaction of a batch holds most of the work.
        """
        if self._longest is not None and self._longest > MAX_TRANSACTION_TIME:
            self._size = max(SMALLEST_STEP, self._size // 2)
        elif self._longest is not None and self._longest < MAX_TRANSACTION_TIME / 4:
            self._size = min(LARGEST_STEP, self._size * 2)
        self._longest = None
        return self._size

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open one transaction of the batch and measure it."""
        async with self._database.transaction() as tx:
            began = self._clock.monotonic()
            yield tx
            self._longest = max(self._longest or 0.0, self._clock.monotonic() - began)

    @asynccontextmanager
    async def pieces(self) -> AsyncIterator["Pieces"]:
        """Open as many transactions as the work in the block needs. The last one ends with the block."""
        async with AsyncExitStack() as stack:
            yield Pieces(self, self._clock, stack)


class Pieces:
    """One transaction after the other. Each begins when it is needed, and ends when it has used its time."""

    def __init__(self, steps: Steps, clock: Clock, stack: AsyncExitStack) -> None:
        self._steps = steps
        self._clock = clock
        self._stack = stack
        self._open: tuple[Transaction, float] | None = None
        """The open transaction, and when it began."""

    async def go_on(self) -> Transaction:
        """Return the transaction for the next piece. The pieces before must be correct even if nothing follows."""
        if self._open is not None and self._clock.monotonic() - self._open[1] > ENOUGH * MAX_TRANSACTION_TIME:
            await self.pause()
        if self._open is None:
            self._open = await self._stack.enter_async_context(self._steps.transaction()), self._clock.monotonic()
        return self._open[0]

    async def pause(self) -> None:
        """Close the open transaction, because the next work does not use the database."""
        self._open = None
        await self._stack.aclose()
