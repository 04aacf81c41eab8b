"""The door that every event passes: stored first, acknowledged second.

accept   hand one arrival to the writer and wait until it is on disk
run      the writer: one transaction for all that is waiting, so a burst costs few disk flushes; an event that cannot be
         stored for its own sake is kept without what could not, as a dead letter, and acknowledged

A single writer with group commit kept the 99th percentile of a 1,000-event burst under half a second,
where one flush an event took three.
"""

import asyncio
import contextlib
import logging
import math
from dataclasses import replace

from bot.agent.surrogates import sound
from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.errors import StoreUnavailable, Unstorable
from bot.failpoints import failpoint
from bot.ingest.dead_letters import UNSTORABLE
from bot.ingest.engine import TurnQueue
from bot.ingest.interrupts import Interrupts
from bot.store import inbox, schedule
from bot.store import interrupts as interrupts
from bot.store.database import Database
from bot.store.inbox import Arrival, insert
from bot.store.interrupts import Stored
from bot.telemetry import Metrics

logger = logging.getLogger(__name__)

QUEUE_LIMIT = 5_000
"""Arrivals waiting for the disk; past it nothing is accepted, and Slack delivers again."""
GROUP_LIMIT = 500
"""Arrivals in one transaction."""
WRITE_RETRY_INTERVAL = 1.0
"""Between two looks whether what could not be written can be by now; and the longest that one may take."""
_LOOK = "look whether the disk is written"
ACCEPT_SECONDS = 2.5
"""Slack waits three seconds for its acknowledgement; past this it is better to say no."""
LATE = "the inbox was not written in time"


class Inbox:
    """Stores arrivals, hands the stored ones to the engine, and interrupts the turns that they put an end to."""

    def __init__(
        self,
        database: Database,
        engine: TurnQueue,
        clock: Clock,
        metrics: Metrics,
        interrupts: Interrupts | None = None,
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._engine = engine
        self._clock = clock
        self._interruptions = interrupts or Interrupts()
        self.fault: str | None = None
        """Why the last arrivals could not be stored; None when they were, or could be by now."""
        self._looked_at = -math.inf
        self._waiting: asyncio.Queue[tuple[Arrival, asyncio.Future[None]]] = asyncio.Queue(QUEUE_LIMIT)

    async def accept(self, arrival: Arrival) -> None:
        """Return when the arrival is on disk, or was before, or concerns nobody here.

        Raises:
            StoreUnavailable: it could not be stored in time; it must not be acknowledged.
        """
        stored = asyncio.get_running_loop().create_future()
        try:
            self._waiting.put_nowait((arrival, stored))
            async with asyncio.timeout(ACCEPT_SECONDS):
                await stored
        except asyncio.QueueFull:
            self._metrics.event_refused()
            raise StoreUnavailable("the inbox is full") from None
        except TimeoutError:
            self._metrics.event_refused()
            # The writer may wait for much longer before the database itself says that it cannot be written.
            self.fault = self.fault or LATE
            raise StoreUnavailable(LATE) from None
        except StoreUnavailable:
            self._metrics.event_refused()
            raise
        failpoint("before_ack")

    async def is_first(self, arrival: Arrival) -> bool:
        """Whether this is delivered for the first time; for what is done at once, and not in a lane.

        It is on disk then, as done: a process that ends now leaves it undone rather than done twice.
        """
        async with self._database.transaction() as tx:
            row = await insert(tx, arrival, now=self._clock.now(), state="done", reason="at_once")
        return row is not None

    async def find_fault(self) -> str | None:
        """`fault` as it is now: nothing may have come since there is room again."""
        now = self._clock.monotonic()
        if self.fault is not None and now - self._looked_at >= WRITE_RETRY_INTERVAL:
            self._looked_at = now
            with contextlib.suppress(StoreUnavailable, TimeoutError):
                async with asyncio.timeout(WRITE_RETRY_INTERVAL), self._database.transaction() as tx:
                    # What is taken back at once goes to the disk all the same.
                    await schedule.plan(tx, _LOOK, rule="", due=self._clock.now())
                    await schedule.forget(tx, _LOOK)
                self.fault = None
        return self.fault

    async def run(self) -> None:
        """Write until cancelled; nothing else ends it."""
        while True:
            group = [await self._waiting.get()]
            with contextlib.suppress(asyncio.QueueEmpty):
                while len(group) < GROUP_LIMIT:
                    group.append(self._waiting.get_nowait())
            try:
                await self._write(group)
            except Exception:
                # Whatever it is, those who come next must not suffer for it, and these come again.
                logger.exception("the inbox failed", extra={"count": len(group)})
                self._refuse(group, StoreUnavailable("the inbox failed"))

    def _refuse(self, group: list[tuple[Arrival, asyncio.Future[None]]], refusal: StoreUnavailable) -> None:
        self.fault = str(refusal)
        for _, stored in group:
            if not stored.done():
                stored.set_exception(refusal)

    async def _write(self, group: list[tuple[Arrival, asyncio.Future[None]]], *, alone: bool = False) -> None:
        try:
            kept = await self._store([arrival for arrival, _ in group])
        except Exception as error:
            if not isinstance(error, StoreUnavailable) and not alone:
                # One of them cannot be stored; the others must not suffer for it, at every redelivery again.
                for one in group:
                    await self._write([one], alone=True)
                return
            if isinstance(error, Unstorable) and UNSTORABLE not in group[0][0].body:
                # What is left of it can be stored. Of any other failure nobody knows whose fault it is: it comes again.
                logger.exception("an event cannot be stored as it came", extra={"event": group[0][0].event_id})
                await self._write([(_bare(group[0][0]), group[0][1])], alone=True)
                return
            if isinstance(error, StoreUnavailable):
                logger.error("arrivals not stored", extra={"count": len(group), "reason": str(error)})
                refusal = error
            else:
                logger.exception("arrivals not stored", extra={"count": len(group)})
                refusal = StoreUnavailable("the inbox failed")
            self._refuse(group, refusal)
            return
        failpoint("after_insert")
        self.fault = None
        for (_, stored), row in zip(group, kept, strict=True):
            if not stored.done():
                stored.set_result(None)
            try:
                self._hand_on(row)
            except Exception:
                # It is on disk, so the next start takes it up.
                logger.exception("a stored event was not handed on", extra={"turn": row.item})

    def _hand_on(self, row: Stored) -> None:
        for item_id in row.told:
            self._interruptions.tell(item_id, row.interrupt)
        if row.item is not None:
            self._metrics.event_stored()
            self._engine.submit(row.item, row.thread)

    async def _store(self, arrivals: list[Arrival]) -> list[Stored]:
        now = self._clock.now()
        async with self._database.transaction(urgent=True) as tx:
            return await interrupts.store_all(tx, arrivals, now=now)


async def author_of(database: Database, item_id: int) -> str:
    """Who wrote or pressed a stored row; empty while the database is away."""
    try:
        async with database.transaction() as tx:
            return await inbox.author_of(tx, item_id)
    except StoreUnavailable:
        return ""


def _bare(arrival: Arrival) -> Arrival:
    """What can be stored of an event that could not: who, where and when, so that somebody can look after it."""
    thread, action = arrival.thread, str(arrival.body.get("action", ""))
    return replace(
        arrival,
        event_id=_storable(arrival.event_id, 255),
        thread=ThreadRef(_storable(thread.team), _storable(thread.channel), _storable(thread.ts)),
        ts=_storable(arrival.ts),
        author=_storable(arrival.author),
        author_team=_storable(arrival.author_team),
        body={"text": "", "files": [], "action": _storable(action), "value": "", UNSTORABLE: True},
    )


def _storable(text: object, limit: int = 32) -> str:
    """At most as many characters as the column holds, each of which a database can store."""
    return sound(str(text)).replace("\0", "\ufffd")[:limit]
