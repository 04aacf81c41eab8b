"""What the shop says by itself: an order has changed, look again. Nothing else in it is believed.

accept         store an event before it is acknowledged
accept_parcel  the same for an event about a parcel
run            look at what came, until cancelled
look           read the orders again: an offer that no longer holds ends, and an action without an answer is asked about

An event makes nothing happen that could not happen without it. It only happens sooner.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bot.actions.executing import ActionRunner
from bot.alerts import Alerts
from bot.clock import MINUTE, Clock
from bot.store import actions, shop_events, trackers
from bot.store.actions import State
from bot.store.database import Database

logger = logging.getLogger(__name__)

WAITING_LIMIT = 5_000
"""Events that may wait to be looked at. Beyond it the shop is asked to send them later."""
AT_ONCE = 4
"""Orders that one process reads again at the same time."""
MOST = 200
"""Events that one look handles. The next one handles the rest."""
POLL_SECONDS = 1.0
"""The time between two looks for events that another process has stored."""
LEASE = 30.0
"""Seconds for which one process looks at an event. If it is gone, another looks then."""
CONCERNED: tuple[State, ...] = ("offered", "approving", "executing", "unknown")
"""The states in which a change of the order matters. A confirmed action reads the order by itself before it leaves."""


class TooManyEvents(Exception):
    """More events wait than may."""


@dataclass(slots=True)
class ShopEvents:
    """Takes and handles the shop's events. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    runner: ActionRunner
    alerts: Alerts = field(default_factory=Alerts)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _purge_next: float = 0.0

    async def accept(self, event: str, order: str) -> None:
        """Return when the event is on disk, or if no action is under way that it could matter for.

        Raises:
            TooManyEvents: it is not stored.
            StoreUnavailable: it could not be stored.
        """
        async with self.database.transaction() as tx:
            if await shop_events.count_waiting(tx) >= WAITING_LIMIT:
                raise TooManyEvents
            if await shop_events.add(tx, event, f"order/{order}", now=self.clock.now()):
                self._news.set()

    async def accept_parcel(self, event: str, tracker: str) -> None:
        """Do the same for the order whose parcel a tracker follows. Trackers that nobody has asked about are left."""
        async with self.database.transaction() as tx:
            order = await trackers.order_of(tx, tracker)
        if order:
            await self.accept(event, order)

    async def run(self) -> None:
        """Look at what came until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._news.wait()
            self._news.clear()
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - whatever it is, later events must be looked at
                self.alerts.tell(logger, "the shop's events could not be looked at", about=type(error).__name__)

    async def look(self) -> None:
        """Look at what is due now."""
        now = self.clock.now()
        async with self.database.transaction() as tx:
            taken = await shop_events.take(tx, now=now, lease=LEASE, limit=MOST)
            if now >= self._purge_next:
                await shop_events.purge(tx, now=now)
                self._purge_next = now + MINUTE
        places = asyncio.Semaphore(AT_ONCE)

        async def look_at(subject: str, events: Sequence[str]) -> None:
            async with places:
                await self._look_at(subject, events)

        await asyncio.gather(*(look_at(subject, events) for subject, events in taken.items()))

    async def _look_at(self, subject: str, events: Sequence[str]) -> None:
        async with self.database.transaction() as tx:
            concerned = await actions.of_subject(tx, subject, states=CONCERNED)
        waits = [await self.runner.look_again(action) for action in concerned]
        later = min((wait for wait in waits if wait), default=None)
        async with self.database.transaction() as tx:
            await shop_events.postpone(tx, events, None if later is None else self.clock.now() + later)
