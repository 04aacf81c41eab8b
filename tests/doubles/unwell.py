"""A database that fails."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store.database import Database


class Unwell(Database):
    """Fails once or more, for a reason nobody has thought of, and is `database` from then on."""

    def __init__(self, database: Database, failures: int = 1) -> None:
        self._database = database
        self.failures = failures

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("never thought of")
        async with self._database.transaction(urgent=urgent) as tx:
            yield tx

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        async with self.transaction() as tx:
            yield tx
