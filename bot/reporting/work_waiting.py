"""How much work waits, and how late the event loop is: measured all the time, for the metrics of a process."""

import logging
from collections.abc import Collection

from bot.alerts import Alerts
from bot.clock import Clock
from bot.store import waiting
from bot.store.database import Database
from bot.telemetry import Metrics

logger = logging.getLogger(__name__)

COUNT_INTERVAL = 15
"""Seconds between two counts."""
CUSTOMERS = "customers"
"""The label of all channels that are not the team's. A label for each would be too many."""


class WorkWaiting:
    """Fills the gauges of what waits. In a fleet each process counts all of it."""

    def __init__(self, database: Database, clock: Clock, metrics: Metrics, channels: Collection[str] = ()) -> None:
        """`channels` are those of the team. Posts in all others are counted together."""
        self._database = database
        self._clock = clock
        self._metrics = metrics
        self._channels = channels
        self._alerts = Alerts()

    async def run(self) -> None:
        """Measure once a second and count every COUNT_INTERVAL, until cancelled."""
        while True:
            for _ in range(COUNT_INTERVAL):
                began = self._clock.monotonic()
                await self._clock.sleep(1.0)
                self._metrics.loop_was_late(self._clock.monotonic() - began - 1.0)
            try:
                await self.count()
            except Exception as error:  # noqa: BLE001 - the database may be away, and the loop must not end
                self._alerts.tell(logger, "what waits was not counted", about=type(error).__name__)

    async def count(self) -> None:
        """Count what waits now."""
        async with self._database.reading() as tx:
            found = {
                "messages": await waiting.messages(tx),
                "posts": await waiting.posts(tx),
                "cases": await waiting.cases(tx),
                "actions": await waiting.actions(tx),
            }
            posts = await waiting.posts_by_channel(tx)
        now = self._clock.now()
        for what, each in found.items():
            self._metrics.waits(what, each.number, now - each.since if each.number else 0.0)
        labelled: dict[str, list[tuple[int, float]]] = {channel: [] for channel in (*self._channels, CUSTOMERS)}
        for channel, post in posts.items():
            labelled[channel if channel in self._channels else CUSTOMERS].append(post)
        for channel, waiting_posts in labelled.items():
            oldest = min((since for _, since in waiting_posts), default=now)
            self._metrics.posts_wait(channel, sum(number for number, _ in waiting_posts), now - oldest)
