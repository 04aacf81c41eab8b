"""Maintenance of the database, in the background.

Every hour, rows that are no longer needed are deleted, and erased data is removed from SQLite's log. Once a day, what
has been kept long enough goes (bot/turns/retention.py). Once a week
SQLite's whole file is checked for damage. That reads all of it, so a start must not wait for it.
"""

import logging

from bot.alerts import Alerts
from bot.clock import HOUR, WEEK, Clock
from bot.store import limits, schedule
from bot.store.database import Database
from bot.turns.retention import RetentionSweep

logger = logging.getLogger(__name__)

CLEANUP_INTERVAL = HOUR
FIRST_CLEANUP_DELAY = 20.0
"""Seconds from the start to the first cleanup. A start is busy enough with the rows that waited."""
CHECK = "database-check"
"""The name of the check's row in the schedule."""


class Upkeep:
    """Maintains one database."""

    def __init__(self, database: Database, clock: Clock, retention: RetentionSweep | None = None) -> None:
        """Without `retention`, everything is kept."""
        self._database = database
        self._retention = retention
        self._clock = clock
        self._alerts = Alerts()
        self.fault: str | None = None
        """A sentence that says what is damaged in the database's file. None if nothing is known to be."""

    async def run(self) -> None:
        """Do the maintenance every CLEANUP_INTERVAL, until cancelled."""
        await self._clock.sleep(FIRST_CLEANUP_DELAY)
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - the database may be away, and the loop must not end
                self._alerts.tell(logger, "the database was not looked after", about=type(error).__name__)
            await self._clock.sleep(CLEANUP_INTERVAL)

    async def look(self) -> None:
        """Do the maintenance that is due."""
        now = self._clock.now()
        async with self._database.transaction() as tx:
            await limits.prune(tx, now=now)
            due = await schedule.due(tx, CHECK)
        await self._database.scrub()
        if self._database.is_alone and (due is None or due <= now):
            await self._check()
        if self._retention is not None:
            await self._retention.look()

    async def _check(self) -> None:
        """Check the file for damage. A damaged file is checked again in an hour."""
        began = self._clock.monotonic()
        self.fault = await self._database.find_damage()
        if self.fault is not None:
            self._alerts.tell(logger, self.fault, about=CHECK)
            return
        then = self._clock.now() + WEEK
        async with self._database.transaction() as tx:
            await schedule.plan(tx, CHECK, rule=f"weekly after {int(then)}", due=then)
        logger.info("the database's file is sound", extra={"seconds": round(self._clock.monotonic() - began, 1)})
        # The log could not be emptied while the file was read.
        await self._database.scrub()
