"""A process that stores events and tells which it would acknowledge: `python -m tests.faults.writing FILE COUNT`.

It is run where writing fails now and then; each line is the id of an event that is on disk by its word.
"""

import asyncio
import sys

from bot.clock import SystemClock
from bot.errors import ConfigurationError, StoreUnavailable
from bot.ingest.inbox import Inbox
from bot.store.database import Database, open_database
from bot.telemetry import Metrics
from tests.turns.arrivals import arrival

TOGETHER = 10
"""Events that come at the same time."""


class Nobody:
    """An engine that works on nothing."""

    def submit(self, item_id: int, thread: str) -> None:
        """The row stays as it is."""

    async def resume(self, database: Database) -> int:
        return 0

    async def drain(self, seconds: float) -> None:
        """Nothing runs."""

    @property
    def active(self) -> int:
        return 0


async def write(file: str, count: int) -> None:
    """Store so many events, whatever fails."""
    async with open_database(f"sqlite+aiosqlite:///{file}") as database:
        for _ in range(20):
            try:
                await database.migrate()
                break
            except ConfigurationError:
                continue
        inbox = Inbox(database, SystemClock(), Metrics())
        writer = asyncio.create_task(inbox.run(Nobody()))
        for first in range(0, count, TOGETHER):
            await asyncio.gather(*(store(inbox, f"{number}.1") for number in range(first, first + TOGETHER)))
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)


async def store(inbox: Inbox, ts: str) -> None:
    """Tell one event's id when it is acknowledged."""
    event = arrival(ts)
    try:
        await inbox.accept(event)
    except StoreUnavailable:
        return
    print(event.event_id, flush=True)


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], int(sys.argv[2])))
