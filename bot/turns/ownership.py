"""Who owns a thread, the assistant or people: checked before each call that shows words of the assistant.

Each time a thread goes from the assistant to a person, between persons, or back, its ownership epoch grows by one. An
answer remembers the epoch in which it was begun, and may not write once the epoch has changed.
"""

import asyncio
from dataclasses import dataclass

from bot.store import threads
from bot.store.database import Database
from bot.store.threads import LOCAL_CHANGES


class EpochReader:
    """Reads the epochs of threads, many with one query.

    Two hundred answers ask many times a second. Those that ask before the next query begins share it, so each gets an
    epoch that was read after it asked.
    """

    def __init__(self, database: Database) -> None:
        self.is_alone = database.is_alone
        self._database = database
        self._wanted: dict[str, asyncio.Future[int]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def of(self, thread: str) -> int:
        """The present epoch of the thread with this key.

        Raises:
            StoreUnavailable: the epoch could not be read.
        """
        if thread not in self._wanted:
            self._wanted[thread] = asyncio.get_running_loop().create_future()
        wanted = self._wanted[thread]
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(), name="read ownership epochs")
        # A caller that is cancelled must not take the result away from the others.
        return await asyncio.shield(wanted)

    async def _read(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            try:
                async with self._database.reading() as tx:
                    found = await threads.epochs_of(tx, wanted)
            except Exception as error:  # noqa: BLE001 - every caller gets it
                for each in wanted.values():
                    each.set_exception(error)
                    # Every caller may have been cancelled.
                    each.exception()
            else:
                for thread, each in wanted.items():
                    each.set_result(found.get(thread, 0))


@dataclass(slots=True)
class OwnershipGuard:
    """Whether the assistant still owns the thread, for one answer."""

    epochs: EpochReader
    thread: str
    epoch: int
    """The epoch in which the answer was begun."""
    local_changes: int
    """LOCAL_CHANGES when that epoch was read."""

    async def is_current(self) -> bool:
        """Whether the epoch is still the same. Raises StoreUnavailable if it could not be read."""
        changes = LOCAL_CHANGES.count
        if self.epochs.is_alone and changes == self.local_changes:
            return True
        if await self.epochs.of(self.thread) != self.epoch:
            return False
        self.local_changes = changes
        return True
