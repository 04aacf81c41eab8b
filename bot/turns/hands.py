"""Whose a thread is, asked before each call that shows words: many ask, and one look serves them all."""

import asyncio
from dataclasses import dataclass

from bot.store import threads
from bot.store.database import Database
from bot.store.threads import CHANGES


class Hands:
    """Reads how often threads have changed hands.

    Two hundred answers ask for it many times a second. Those who ask until the next look begins share it: nobody is
    told how it was before they asked.
    """

    def __init__(self, database: Database) -> None:
        self.is_alone = database.is_alone
        self._database = database
        self._wanted: dict[str, asyncio.Future[int]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def of(self, thread: str) -> int:
        """How often the thread with this key has changed hands by now.

        Raises:
            StoreUnavailable: nobody knows.
        """
        if thread not in self._wanted:
            self._wanted[thread] = asyncio.get_running_loop().create_future()
        wanted = self._wanted[thread]
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="look who has the threads")
        # Whoever gives up must not take the answer away from the others.
        return await asyncio.shield(wanted)

    async def _look(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            try:
                async with self._database.transaction() as tx:
                    found = await threads.hands_among(tx, wanted)
            except Exception as error:  # noqa: BLE001 - it is told to those who asked
                for each in wanted.values():
                    each.set_exception(error)
                    # All who asked may have given up.
                    each.exception()
            else:
                for thread, each in wanted.items():
                    each.set_result(found.get(thread, 0))


@dataclass(slots=True)
class Floor:
    """Whether the assistant still has the floor in a thread, for one answer."""

    hands: Hands
    thread: str
    count: int
    """How often the thread had changed hands when it was decided that the assistant answers,"""
    changes: int
    """and CHANGES when that was read."""

    async def is_ours(self) -> bool:
        """Whether the thread has not changed hands since. Raises StoreUnavailable when nobody knows."""
        changes = CHANGES.count
        if self.hands.is_alone and changes == self.changes:
            return True
        if await self.hands.of(self.thread) != self.count:
            return False
        self.changes = changes
        return True
