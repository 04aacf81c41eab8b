"""Notifications between the processes of a fleet, by Postgres' LISTEN and NOTIFY.

They only make something happen sooner. All who listen also look by themselves now and then, because a notification gets
lost while a connection is away.

tell    notify all processes when the transaction is committed
listen  hear it, until cancelled
"""

import logging
from collections.abc import Callable

from sqlalchemy import String, bindparam, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.clock import Clock
from bot.errors import StoreUnavailable
from bot.store.database import Database

logger = logging.getLogger(__name__)

QUEUE = "frontdesk_queue"
"""The channel of what was put into the queue of turns."""
RETRY_SECONDS = 2.0
"""Seconds before a lost connection is opened again."""


async def tell(tx: AsyncConnection, by: str) -> None:
    """Tell all other processes that the queue has new entries, once the transaction is committed."""
    await tx.execute(_TELLING, {"teller": by})


async def listen(database: Database, clock: Clock, to_all_but: str, heard: Callable[[], None]) -> None:
    """Call `heard` whenever another process tells, and after each time when nothing could be heard.

    Runs until cancelled.
    """

    def hear(by: str) -> None:
        if by != to_all_but:
            heard()

    while True:
        try:
            await database.listen(QUEUE, hear)
        except (StoreUnavailable, DBAPIError, OSError) as error:
            logger.info("the queue is not listened to", extra={"reason": type(error).__name__})
        await clock.sleep(RETRY_SECONDS)


_TELLING = select(func.pg_notify(QUEUE, bindparam("teller", type_=String)))
