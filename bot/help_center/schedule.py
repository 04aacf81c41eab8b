"""Scheduled refreshes of the knowledge base. Of all processes that share a database, one does each refresh."""

import logging
import random
from collections.abc import Awaitable, Callable

from bot.clock import Clock
from bot.errors import StoreUnavailable
from bot.help_center.recurrence import Rule
from bot.store import schedule
from bot.store.database import Database

logger = logging.getLogger(__name__)

NAME = "kb-refresh"
"""The name of the row in the table."""
URGENT_SECONDS = 600.0
"""The least time between two refreshes because of damage, in seconds."""
SCHEDULE_POLL_INTERVAL = 30.0
"""The time between two polls, in seconds. A machine that was suspended notices a missed refresh within it."""


class Schedule:
    """Refreshes by a rule, once for all processes that share a database."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        rule: Rule | None,
        refresh: Callable[[], Awaitable[None]],
        *,
        is_urgent: Callable[[], bool] = lambda: False,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Without a rule nothing is due, unless it `is_urgent`. `refresh` must handle its expected errors itself."""
        self._database = database
        self._clock = clock
        self._rule = rule
        self._refresh = refresh
        self._is_urgent = is_urgent
        self._chance = chance
        self._not_before = 0.0

    async def run(self) -> None:
        """Refresh at the start, and then whenever a refresh is due, until cancelled."""
        await self._begin()
        await self._refresh()
        while True:
            await self._clock.sleep(SCHEDULE_POLL_INTERVAL)
            if self._is_urgent() and self._clock.monotonic() >= self._not_before:
                # The index of this process is damaged, so it is refreshed whatever the other processes do.
                self._not_before = self._clock.monotonic() + URGENT_SECONDS
                logger.warning("the knowledge base is damaged and is built again")
                await self._refresh()
            elif self._rule is not None and await self._falls_to_us(self._rule):
                logger.info("a refresh of the knowledge base is due")
                await self._refresh()

    async def _begin(self) -> None:
        try:
            async with self._database.transaction() as tx:
                if self._rule is None:
                    await schedule.forget(tx, NAME)
                    return
                now = self._clock.now()
                then = self._rule.after(now, chance=self._chance())
                await schedule.plan(tx, NAME, rule=self._rule.text, due=then)
                # The refresh at the start makes up for refreshes that were missed while nothing ran.
                await schedule.take(tx, NAME, now=now, then=then)
        except StoreUnavailable as error:
            logger.warning("the schedule could not be written", extra={"reason": str(error)})

    async def _falls_to_us(self, rule: Rule) -> bool:
        now = self._clock.now()
        then = rule.after(now, chance=self._chance())
        try:
            async with self._database.transaction() as tx:
                await schedule.plan(tx, NAME, rule=rule.text, due=then)
                return await schedule.take(tx, NAME, now=now, then=then)
        except StoreUnavailable as error:
            logger.warning("the schedule could not be read", extra={"reason": str(error)})
            return False
