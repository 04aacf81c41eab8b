"""Which tracker of EasyPost stands for a tracking number: in the database, or without one in memory."""

import logging
import time

from bot.errors import StoreUnavailable
from bot.shops.port import ShopUnavailable
from bot.store import trackers
from bot.store.database import Database

logger = logging.getLogger(__name__)


class Trackers:
    """Remembers trackers. Commands that end soon have no database."""

    def __init__(self, database: Database | None) -> None:
        self._database = database
        self._known: dict[str, str] = {}

    async def find(self, number: str) -> str:
        """The tracker of a number. Empty if there is none yet. Raises ShopUnavailable."""
        if self._database is None:
            return self._known.get(number, "")
        try:
            async with self._database.transaction() as tx:
                return await trackers.find(tx, number, now=time.time())
        except StoreUnavailable as error:
            raise ShopUnavailable("the database does not say whether the parcel is tracked") from error

    async def save(self, number: str, tracker: str, *, order: str) -> None:
        """Remember a tracker. If it cannot be stored, EasyPost is asked for the same one again."""
        if self._database is None:
            self._known[number] = tracker
            return
        try:
            async with self._database.transaction() as tx:
                await trackers.save(tx, number, tracker, order=order, now=time.time())
        except StoreUnavailable as error:
            logger.warning("a tracker could not be stored", extra={"error": str(error)})
