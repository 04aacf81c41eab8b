"""What keeps a database well, in the background and long after the start.

Every hour what serves no more is deleted, and SQLite's log is emptied of what was erased. Once a week SQLite's file is
looked through as a whole; that reads all of it, which a start must not wait for.
"""

import logging

from bot.alerts import Alerts
from bot.clock import HOUR, WEEK, Clock
from bot.store import limits, schedule
from bot.store.database import Database

logger = logging.getLogger(__name__)

CLEANUP_INTERVAL = HOUR
FIRST_CLEANUP_DELAY = 20.0
"""After the start, which has enough to do with what waited."""
CHECK = "database-check"
"""The row in the schedule."""


class Upkeep:
    """Looks after one database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._alerts = Alerts()
        self.fault: str | None = None
        """What is damaged in the database's file, in a sentence that names it."""

    async def run(self) -> None:
        """Do it now and then, until cancelled."""
        await self._clock.sleep(FIRST_CLEANUP_DELAY)
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - the database may be away, and whoever stopped would never look
                self._alerts.tell(logger, "the database was not looked after", about=type(error).__name__)
            await self._clock.sleep(CLEANUP_INTERVAL)

    async def look(self) -> None:
        """Do what is due by now."""
        now = self._clock.now()
        async with self._database.transaction() as tx:
            await limits.prune(tx, now=now)
            due = await schedule.due(tx, CHECK)
        await self._database.scrub()
        if self._database.is_alone and (due is None or due <= now):
            await self._check()

    async def _check(self) -> None:
        """Look through the file; one that is damaged is looked through again in an hour."""
        began = self._clock.monotonic()
        self.fault = await self._database.find_damage()
        if self.fault is not None:
            self._alerts.tell(logger, self.fault, about=CHECK)
            return
        then = self._clock.now() + WEEK
        async with self._database.transaction() as tx:
            await schedule.plan(tx, CHECK, rule=f"weekly after {int(then)}", due=then)
        logger.info("the database's file is sound", extra={"seconds": round(self._clock.monotonic() - began, 1)})
        # While it was read, its log could not be emptied.
        await self._database.scrub()
