"""The processes that share the database, and what only one of them does.

beat, leave      a process's row in `member`; it is alive until its lease ends
alive            the members whose lease has not ended
claim, release   a name that only one member holds; void when that member's lease ends
held_by_others   the names that other members hold
prune            delete old rows

open_membership  the rows of this process; it sends heartbeats while the context lasts
Membership       the identity of this process, and what it holds

All times are the caller's wall clock, so the clocks of the machines must agree within a few seconds (NTP).
"""

import asyncio
import contextlib
import logging
import os
import socket
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sqlalchemy import delete, exists, literal, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.clock import DAY, Clock
from bot.errors import StoreUnavailable
from bot.store import schema
from bot.store.database import Database
from bot.store.statements import insert_into

logger = logging.getLogger(__name__)

LEASE_SECONDS = 15.0
"""How long a process counts as alive after its last heartbeat."""
HEARTBEAT_INTERVAL = 5.0
"""The time between two heartbeats."""
HEARTBEAT_TIMEOUT = 3.0
"""The timeout of one heartbeat."""
MISSED_SECONDS = 1.0
"""The delay before a failed heartbeat is tried again."""
OVERDUE_SECONDS = 10.0
"""A process whose last heartbeat is older must stop its work, because others will soon consider it dead."""
GONE_MEMBER_PERIOD = DAY
"""How long the row of a process that is gone is kept, so that people can see it."""
FROZEN_STATUS = 70
"""The exit status of a process that could not keep its lease (EX_SOFTWARE of sysexits.h)."""


async def beat(tx: AsyncConnection, member: str, role: str, *, now: float, lease: float = LEASE_SECONDS) -> None:
    """Renew the lease of the process for `lease` seconds. The first heartbeat creates its row."""
    table = schema.member
    statement = insert_into(tx, table).values(id=member, role=role, started_at=now, until=now + lease)
    await tx.execute(
        statement.on_conflict_do_update(index_elements=[table.c.id], set_={"until": statement.excluded.until})
    )


async def leave(tx: AsyncConnection, member: str) -> None:
    """End the membership. What the process held is void from now on."""
    await tx.execute(delete(schema.claim).where(schema.claim.c.owner == member))
    await tx.execute(delete(schema.member).where(schema.member.c.id == member))


async def alive(tx: AsyncConnection, *, now: float) -> set[str]:
    """The ids of all members whose lease has not ended."""
    return set((await tx.execute(select(schema.member.c.id).where(schema.member.c.until > now))).scalars())


async def claim(tx: AsyncConnection, name: str, owner: str, *, now: float) -> bool:
    """Whether `owner` alone holds the name from now on. It does if the name was free, void, or already its own.

    A member whose own lease has ended gets nothing.
    """
    table, member = schema.claim, schema.member
    lives = exists().where(member.c.id == owner, member.c.until > now)
    # A literal column. Correlation by SQLAlchemy would mean any claim, and not the one in conflict.
    held_by_another = exists().where(member.c.id == literal_column("claim.owner"), member.c.until > now)
    statement = insert_into(tx, table).from_select(
        ["name", "owner"], select(literal(name), literal(owner)).where(lives)
    )
    statement = statement.on_conflict_do_update(
        index_elements=[table.c.name],
        set_={"owner": statement.excluded.owner},
        where=(table.c.owner == owner) | ~held_by_another,
    )
    return (await tx.execute(statement.returning(table.c.name))).scalar_one_or_none() is not None


async def release(tx: AsyncConnection, name: str, owner: str) -> None:
    """Release the name, if the owner holds it."""
    table = schema.claim
    await tx.execute(delete(table).where(table.c.name == name, table.c.owner == owner))


async def held_by_others(tx: AsyncConnection, prefix: str, owner: str, *, now: float) -> set[str]:
    """The names with this beginning that members other than `owner` hold with a valid lease."""
    table, member = schema.claim, schema.member
    lives = exists().where(member.c.id == table.c.owner, member.c.until > now)
    statement = select(table.c.name).where(table.c.name.startswith(prefix, autoescape=True), table.c.owner != owner)
    return set((await tx.execute(statement.where(lives))).scalars())


async def prune(tx: AsyncConnection, *, now: float) -> None:
    """Delete processes that ended a day ago, and claims whose process has no row."""
    table, member = schema.claim, schema.member
    await tx.execute(delete(member).where(member.c.until < now - GONE_MEMBER_PERIOD))
    await tx.execute(delete(table).where(~exists().where(member.c.id == table.c.owner)))


class Membership:
    """This process among those that share the database. Its id is new at every start."""

    def __init__(self, database: Database, clock: Clock, *, role: str, is_alone: bool) -> None:
        """`is_alone`: no other process can use the database (a lock ensures that), so this one holds every name."""
        self.id = f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid.uuid4().hex}"
        self._is_alone = is_alone
        self._database = database
        self._clock = clock
        self._role = role
        self._last = self._tried = clock.monotonic()
        self._when_lost: list[Callable[[], None]] = []

    async def hold(self, name: str) -> bool:
        """Whether only this process does what the name is for. Ask again before every piece of the work.

        Raises:
            StoreUnavailable: the database is unavailable, so this is unknown.
        """
        if self._is_alone:
            return True
        async with self._database.transaction() as tx:
            return await claim(tx, name, self.id, now=self._clock.now())

    async def held_by_others(self, prefix: str) -> set[str]:
        """The names with this beginning that `hold` would refuse now."""
        if self._is_alone:
            return set()
        async with self._database.reading() as tx:
            return await held_by_others(tx, prefix, self.id, now=self._clock.now())

    async def let_go(self, name: str) -> None:
        """Release the name at once."""
        async with self._database.transaction() as tx:
            await release(tx, name, self.id)

    async def beat(self) -> None:
        """Renew the lease. Time counts from before the statement, because other processes see that time."""
        began = self._clock.monotonic()
        async with asyncio.timeout(HEARTBEAT_TIMEOUT), self._database.transaction(urgent=True) as tx:
            await beat(tx, self.id, self._role, now=self._clock.now())
        self._last = self._tried = began

    def when_lost(self, let_go: Callable[[], None]) -> None:
        """Register a function that is called, repeatedly, while the database is unavailable for so long that other
        processes may soon take over our work.
        """
        self._when_lost.append(let_go)

    async def run(self) -> None:
        """Send heartbeats until cancelled. The first one is not sent here."""
        pause = HEARTBEAT_INTERVAL
        while True:
            await self._clock.sleep(pause)
            pause = HEARTBEAT_INTERVAL if await self._beats() else MISSED_SECONDS

    async def leave(self) -> None:
        """Note that this process ends, so that no other process waits for its lease."""
        async with self._database.transaction() as tx:
            await leave(tx, self.id)

    @property
    def is_frozen(self) -> bool:
        """Whether no heartbeat was even tried for a long time: the process was frozen, or its event loop is."""
        return self._clock.monotonic() - self._tried > OVERDUE_SECONDS

    async def _beats(self) -> bool:
        self._tried = self._clock.monotonic()
        try:
            await self.beat()
        except (StoreUnavailable, TimeoutError) as error:
            logger.warning("the lease was not renewed", extra={"member": self.id, "reason": str(error) or "timeout"})
        except Exception:
            logger.exception("the lease was not renewed", extra={"member": self.id})
        else:
            return True
        self._tried = self._clock.monotonic()
        if self._tried - self._last > OVERDUE_SECONDS:
            for let_go in self._when_lost:
                let_go()
        return False


@asynccontextmanager
async def open_membership(
    database: Database, clock: Clock, *, role: str, is_alone: bool, end: Callable[[], None] | None = None
) -> AsyncIterator[Membership]:
    """Be a member while the context lasts.

    A process that `is_alone` needs no lease. In other processes, a separate thread calls `end` if no heartbeat was
    even tried for too long. By default that ends the process. The thread notices an event loop that hangs, or that
    was stopped with the whole process; the loop itself would notice too late. While the database is unavailable, no
    other process can take anything over. Then the process keeps running and only stops its work.
    """
    membership = Membership(database, clock, role=role, is_alone=is_alone)
    if is_alone:
        yield membership
        return
    await membership.beat()
    beating = asyncio.create_task(membership.run(), name="membership")
    done = threading.Event()
    threading.Thread(target=_watch, args=(membership, done, end or end_now), name="membership", daemon=True).start()
    try:
        yield membership
    finally:
        done.set()
        beating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beating
        with contextlib.suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(HEARTBEAT_TIMEOUT):
                await membership.leave()


def _watch(membership: Membership, done: threading.Event, end: Callable[[], None]) -> None:
    """Check once a second. Reading a clock is safe from any thread."""
    while not done.wait(1.0):
        if membership.is_frozen:
            logger.critical("this process stood still for too long and ends", extra={"member": membership.id})
            end()
            return


def end_now() -> None:
    """End this process at once. A cleanup could touch what already belongs to another process."""
    logging.shutdown()
    os._exit(FROZEN_STATUS)
