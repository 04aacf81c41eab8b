"""The inbox, which every event passes: it is stored first and acknowledged second.

accept   hand one arrival to the writer and wait until it is on disk
run      the writer: one transaction for all waiting arrivals, so a burst costs few disk flushes

Some events have content that the database refuses. The writer stores such an event without that content, as a dead
letter, and it is acknowledged.

A message that was refused may be stored later all the same: Slack delivers it again, and that is a duplicate. Slack
delivers no interaction again, and the person sees an error. So one that was refused is not stored any more.

With one writer and group commit, the 99th percentile of a 1,000-event burst stayed under half a second. With one
flush for each event it was three seconds.
"""

import asyncio
import contextlib
import logging
import math
from dataclasses import dataclass, replace

from bot.agent.surrogates import sound
from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.errors import StoreUnavailable, Unstorable
from bot.failpoints import failpoint
from bot.ingest.admission import Group
from bot.ingest.engine import TurnQueue
from bot.ingest.interrupts import Interrupts
from bot.store import inbox, interrupts, schedule
from bot.store.bodies import InteractionBody
from bot.store.database import Database
from bot.store.inbox import Arrival, insert
from bot.store.interrupts import StoredArrival
from bot.telemetry import Metrics

logger = logging.getLogger(__name__)

QUEUE_LIMIT = 5_000
"""How many arrivals can wait for the disk. Beyond it the inbox refuses events, and Slack delivers them again."""
GROUP_LIMIT = 500
"""The largest number of arrivals in one transaction."""
WRITE_RETRY_INTERVAL = 1.0
"""Seconds between two checks whether the database can be written again. One check takes no longer either."""
_LOOK = "look whether the disk is written"
ACCEPT_SECONDS = 2.5
"""Seconds after which an arrival is refused. Slack waits three seconds for its acknowledgement."""
COMMIT_SECONDS = 0.4
"""How many seconds more an arrival has whose transaction is being committed. It can't be taken out of it any more."""
LATE = "the inbox was not written in time"


@dataclass(slots=True, eq=False)
class _Waiting:
    """An arrival that waits for the disk."""

    arrival: Arrival
    stored: asyncio.Future[None]
    """Cancelled when it is refused."""
    is_committing: bool = False

    @property
    def is_withdrawn(self) -> bool:
        """Whether it must not be stored any more."""
        return self.stored.cancelled() and isinstance(self.arrival.body, InteractionBody)


class _Withdrawn(Exception):
    """An interaction was refused while its transaction was written, and is to be left out."""


class Inbox:
    """Stores arrivals, hands the stored rows to the queue of turns, and interrupts the running turns that they end."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        metrics: Metrics,
        interrupts: Interrupts | None = None,
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._clock = clock
        self._interruptions = interrupts or Interrupts()
        self.fault: str | None = None
        """Why the last arrivals could not be stored. None if they were stored, or if a later check succeeded."""
        self._looked_at = -math.inf
        self._waiting: asyncio.Queue[_Waiting] = asyncio.Queue(QUEUE_LIMIT)

    async def accept(self, arrival: Arrival) -> None:
        """Return when the arrival is on disk. A duplicate, or an arrival that needs no row, returns too.

        Raises:
            StoreUnavailable: it could not be stored in time, so it must not be acknowledged.
        """
        waiting = _Waiting(arrival, asyncio.get_running_loop().create_future())
        try:
            self._waiting.put_nowait(waiting)
            await _wait_for(waiting)
        except asyncio.QueueFull:
            self._metrics.event_refused()
            raise StoreUnavailable("the inbox is full") from None
        except TimeoutError:
            self._metrics.event_refused()
            # The writer may wait much longer before the database itself reports that it cannot be written.
            self.fault = self.fault or LATE
            raise StoreUnavailable(LATE) from None
        except StoreUnavailable:
            self._metrics.event_refused()
            raise
        failpoint("before_ack")

    async def is_first(self, arrival: Arrival) -> bool:
        """Deduplicate an arrival that is handled at once, not in a lane. Return whether it is the first delivery.

        The arrival is then on disk, with the state "done". If the process ends now, it is never handled rather than
        handled twice.
        """
        async with self._database.transaction() as tx:
            row = await insert(tx, arrival, now=self._clock.now(), state="done", reason="at_once")
        return row is not None

    async def find_fault(self) -> str | None:
        """Check whether writing works again, and return `fault`: no arrival may have come since to clear it."""
        now = self._clock.monotonic()
        if self.fault is not None and now - self._looked_at >= WRITE_RETRY_INTERVAL:
            self._looked_at = now
            with contextlib.suppress(StoreUnavailable, TimeoutError):
                async with asyncio.timeout(WRITE_RETRY_INTERVAL), self._database.transaction() as tx:
                    # The row is deleted in the same transaction, but the transaction still writes to the disk.
                    await schedule.plan(tx, _LOOK, rule="", due=self._clock.now())
                    await schedule.forget(tx, _LOOK)
                self.fault = None
        return self.fault

    async def run(self, queue: TurnQueue) -> None:
        """Write arrivals and hand their rows to the queue, until cancelled. Nothing else ends it."""
        while True:
            group = [await self._waiting.get()]
            with contextlib.suppress(asyncio.QueueEmpty):
                while len(group) < GROUP_LIMIT:
                    group.append(self._waiting.get_nowait())
            try:
                await self._write(group, queue)
            except Exception:
                # Whatever failed, later arrivals must still be stored. Slack delivers these again.
                logger.exception("the inbox failed", extra={"count": len(group)})
                self._refuse(group, StoreUnavailable("the inbox failed"))

    def _refuse(self, group: list[_Waiting], refusal: StoreUnavailable) -> None:
        self.fault = str(refusal)
        for each in group:
            if not each.stored.done():
                each.stored.set_exception(refusal)

    async def _write(self, group: list[_Waiting], queue: TurnQueue, *, alone: bool = False) -> None:
        try:
            kept = await self._store(group)
        except Exception as error:
            if not isinstance(error, StoreUnavailable) and not alone:
                # One arrival cannot be stored. Try each alone, so that it does not fail the others at every redelivery.
                for one in group:
                    await self._write([one], queue, alone=True)
                return
            [first, *_] = group
            if isinstance(error, Unstorable) and not first.arrival.body.unstorable:
                # The rest of this event can be stored. Any other failure has an unknown cause: Slack delivers it again.
                logger.exception("an event cannot be stored as it came", extra={"event": first.arrival.event_id})
                await self._write([_Waiting(_bare(first.arrival), first.stored)], queue, alone=True)
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
        for each, row in kept:
            if not each.stored.done():
                each.stored.set_result(None)
            try:
                self._hand_on(row, queue)
            except Exception:
                # It is on disk, so the next start continues with it.
                logger.exception("a stored event was not handed on", extra={"turn": row.item})

    def _hand_on(self, row: StoredArrival, queue: TurnQueue) -> None:
        for item_id in row.told:
            self._interruptions.tell(item_id, row.interrupt)
        if row.item is not None:
            self._metrics.event_stored()
            queue.submit(row.item, row.thread)

    async def _store(self, group: list[_Waiting]) -> list[tuple[_Waiting, StoredArrival]]:
        """Store what was not withdrawn, and return it with its rows."""
        while True:
            with contextlib.suppress(_Withdrawn):
                return await self._store_once([each for each in group if not each.is_withdrawn])

    async def _store_once(self, group: list[_Waiting]) -> list[tuple[_Waiting, StoredArrival]]:
        now = self._clock.now()
        async with self._database.transaction(urgent=True) as tx:
            kept = await interrupts.store_all(tx, [each.arrival for each in group], now=now)
            if any(each.is_withdrawn for each in group):
                raise _Withdrawn
            for each in group:
                each.is_committing = True
        return list(zip(group, kept, strict=True))


async def _wait_for(waiting: _Waiting) -> None:
    """Wait until it is stored. Raises TimeoutError if it is not, and StoreUnavailable if it can't be."""
    try:
        await asyncio.wait({waiting.stored}, timeout=ACCEPT_SECONDS)
        if waiting.is_committing:
            await asyncio.wait({waiting.stored}, timeout=COMMIT_SECONDS)
        if not waiting.stored.done():
            raise TimeoutError
        waiting.stored.result()
    finally:
        waiting.stored.cancel()


async def group_of(database: Database, item_id: int) -> Group:
    """Return who wrote or pressed a stored row, and which of the two. While the database is away, nobody wrote it."""
    try:
        async with database.reading() as tx:
            author, kind = await inbox.origin_of(tx, item_id)
    except StoreUnavailable:
        return Group()
    return Group(author, are_presses=kind == "interaction")


def _bare(arrival: Arrival) -> Arrival:
    """Return the storable part of an event: who, where and when, so that a person can follow it up."""
    thread, body = arrival.thread, type(arrival.body)(unstorable=True)
    if isinstance(body, InteractionBody):
        body = replace(body, action=_storable(arrival.interaction.action))
    return replace(
        arrival,
        event_id=_storable(arrival.event_id, 255),
        thread=ThreadRef(_storable(thread.team), _storable(thread.channel), _storable(thread.ts)),
        ts=_storable(arrival.ts),
        author=_storable(arrival.author),
        author_team=_storable(arrival.author_team),
        body=body,
    )


def _storable(text: object, limit: int = 32) -> str:
    """Return at most `limit` characters, as many as the column holds. A database can store every one."""
    return sound(str(text)).replace("\0", "\ufffd")[:limit]
