"""Much work on the database in transactions that each take little time, so that nobody else waits for it.

Steps    how much goes into one batch of it
Pieces   the transactions of one batch
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from bot.clock import Clock
from bot.store.database import Database, Transaction

MAX_TRANSACTION_TIME = 0.05
"""How long one transaction may hold the database. After a batch with a longer one the next is smaller, and after one
with short ones alone it is larger,"""
SMALLEST_STEP, FIRST_STEP, LARGEST_STEP = 10, 20, 40
"""within these numbers of rows: on a machine that is busy with something else fewer are no quicker."""
ENOUGH = 0.2
"""The share of that time after which a transaction is not gone on with: what comes next takes some as well."""


class Steps:
    """Batches of a size that each of their transactions takes little time, whatever the machine and the data."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._size = FIRST_STEP
        self._longest: float | None = None
        """Seconds that the longest transaction of the latest batch has held the database."""

    def next_size(self) -> int:
        """How many rows the next batch may have: fewer or more, by the longest of the last one's transactions.

        Short ones among these say nothing: another one of the batch holds most of the work.
        """
        if self._longest is not None and self._longest > MAX_TRANSACTION_TIME:
            self._size = max(SMALLEST_STEP, self._size // 2)
        elif self._longest is not None and self._longest < MAX_TRANSACTION_TIME / 4:
            self._size = min(LARGEST_STEP, self._size * 2)
        self._longest = None
        return self._size

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """One transaction of the batch."""
        async with self._database.transaction() as tx:
            began = self._clock.monotonic()
            yield tx
            self._longest = max(self._longest or 0.0, self._clock.monotonic() - began)

    @asynccontextmanager
    async def pieces(self) -> AsyncIterator["Pieces"]:
        """As many transactions as the work in between needs; the last one is over at the end."""
        async with AsyncExitStack() as stack:
            yield Pieces(self, self._clock, stack)


class Pieces:
    """One transaction after the other; each begins when it is needed, and ends when it has taken its time."""

    def __init__(self, steps: Steps, clock: Clock, stack: AsyncExitStack) -> None:
        self._steps = steps
        self._clock = clock
        self._stack = stack
        self._open: tuple[Transaction, float] | None = None
        """The one that is open, and when it began."""

    async def go_on(self) -> Transaction:
        """The transaction for what comes next: what came before must be right if nothing ever follows."""
        if self._open is not None and self._clock.monotonic() - self._open[1] > ENOUGH * MAX_TRANSACTION_TIME:
            await self.pause()
        if self._open is None:
            self._open = await self._stack.enter_async_context(self._steps.transaction()), self._clock.monotonic()
        return self._open[0]

    async def pause(self) -> None:
        """Have none open, since what comes next waits for something else."""
        self._open = None
        await self._stack.aclose()
