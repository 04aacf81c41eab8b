"""Who shares the database, and what each of them does alone.

beat, leave      a process's row in `member`, alive until its lease is over
alive            whose lease is not over
claim, release   a name that one member holds alone; void when that member's lease is over
held_by_others   what is not to be had now
prune            forget what ended long ago

open_membership  the rows of this process: beating while the context lasts
Membership       who this process is, and what it holds

Every time given is the caller's wall clock, so the clocks of the machines must agree within a few seconds (NTP).
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
"""How long a process counts as alive after its last beat."""
HEARTBEAT_INTERVAL = 5.0
"""Between two beats."""
HEARTBEAT_TIMEOUT = 3.0
"""How long one beat may take."""
MISSED_SECONDS = 1.0
"""Before a beat that failed is tried again."""
OVERDUE_SECONDS = 10.0
"""A process whose last beat is older must let its work go: soon others will take it for a dead one's."""
GONE_MEMBER_PERIOD = DAY
"""How long the row of a process that is gone is kept, for people who look."""
FROZEN_STATUS = 70
"""The exit status of a process that could not keep its lease (EX_SOFTWARE of sysexits.h)."""


async def beat(tx: AsyncConnection, member: str, role: str, *, now: float, lease: float = LEASE_SECONDS) -> None:
    """Say that the process is alive for `lease` seconds more; the first time it comes into being by it."""
    table = schema.member
    statement = insert_into(tx, table).values(id=member, role=role, started_at=now, until=now + lease)
    await tx.execute(
        statement.on_conflict_do_update(index_elements=[table.c.id], set_={"until": statement.excluded.until})
    )


async def leave(tx: AsyncConnection, member: str) -> None:
    """The process ends: what it held is void from now on."""
    await tx.execute(delete(schema.claim).where(schema.claim.c.owner == member))
    await tx.execute(delete(schema.member).where(schema.member.c.id == member))


async def alive(tx: AsyncConnection, *, now: float) -> set[str]:
    """The ids of all members whose lease is not over."""
    return set((await tx.execute(select(schema.member.c.id).where(schema.member.c.until > now))).scalars())


async def claim(tx: AsyncConnection, name: str, owner: str, *, now: float) -> bool:
    """Whether `owner` holds the name alone from now on: it was free, void, or its own already.

    A member whose own lease is over gets nothing.
    """
    table, member = schema.claim, schema.member
    lives = exists().where(member.c.id == owner, member.c.until > now)
    # A column in words: what is correlated here by itself would be any claim, not the one that is in the way.
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
    """Give the name up, when it is the owner's."""
    table = schema.claim
    await tx.execute(delete(table).where(table.c.name == name, table.c.owner == owner))


async def held_by_others(tx: AsyncConnection, prefix: str, owner: str, *, now: float) -> set[str]:
    """The names with this beginning that members other than `owner` hold, whose leases are not over."""
    table, member = schema.claim, schema.member
    lives = exists().where(member.c.id == table.c.owner, member.c.until > now)
    statement = select(table.c.name).where(table.c.name.startswith(prefix, autoescape=True), table.c.owner != owner)
    return set((await tx.execute(statement.where(lives))).scalars())


async def prune(tx: AsyncConnection, *, now: float) -> None:
    """Forget processes that ended a day ago, and claims of processes that nobody knows."""
    table, member = schema.claim, schema.member
    await tx.execute(delete(member).where(member.c.until < now - GONE_MEMBER_PERIOD))
    await tx.execute(delete(table).where(~exists().where(member.c.id == table.c.owner)))


class Membership:
    """This process among those that share the database; its id is new at every boot."""

    def __init__(self, database: Database, clock: Clock, *, role: str, is_alone: bool) -> None:
        """`is_alone`: no other process may use the database (a lock sees to that), so that everything is held."""
        self.id = f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid.uuid4().hex}"
        self._is_alone = is_alone
        self._database = database
        self._clock = clock
        self._role = role
        self._last = self._tried = clock.monotonic()
        self._when_lost: list[Callable[[], None]] = []

    async def hold(self, name: str) -> bool:
        """Whether this process alone does what the name stands for; ask again before every piece of it.

        Raises:
            StoreUnavailable: the database is away, so nobody can know.
        """
        if self._is_alone:
            return True
        async with self._database.transaction() as tx:
            return await claim(tx, name, self.id, now=self._clock.now())

    async def held_by_others(self, prefix: str) -> set[str]:
        """The names with this beginning that `hold` would refuse now."""
        if self._is_alone:
            return set()
        async with self._database.transaction() as tx:
            return await held_by_others(tx, prefix, self.id, now=self._clock.now())

    async def let_go(self, name: str) -> None:
        """Leave the name to others at once."""
        async with self._database.transaction() as tx:
            await release(tx, name, self.id)

    async def beat(self) -> None:
        """Renew the lease. The time counts from before the statement: that is what others read."""
        began = self._clock.monotonic()
        async with asyncio.timeout(HEARTBEAT_TIMEOUT), self._database.transaction(urgent=True) as tx:
            await beat(tx, self.id, self._role, now=self._clock.now())
        self._last = self._tried = began

    def when_lost(self, let_go: Callable[[], None]) -> None:
        """Call this while the database is away for so long that others may soon have our work, again and again."""
        self._when_lost.append(let_go)

    async def run(self) -> None:
        """Beat until cancelled, after the first beat."""
        pause = HEARTBEAT_INTERVAL
        while True:
            await self._clock.sleep(pause)
            pause = HEARTBEAT_INTERVAL if await self._beats() else MISSED_SECONDS

    async def leave(self) -> None:
        """Say that this process ends, so that nobody waits for its lease."""
        async with self._database.transaction() as tx:
            await leave(tx, self.id)

    @property
    def is_frozen(self) -> bool:
        """Whether it is long that a beat was so much as tried: the process stood still, or its event loop does."""
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

    A process that `is_alone` needs no lease. Of the others a thread of its own calls `end` when no beat was even tried
    for too long, which ends the process unless something else is given: it sees what an event loop that hangs, or was
    stopped with the whole process, would see too late. While the database is away nobody can take anything over; then
    the process lives on and only lets its work go.
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
    """Look once a second; a clock that is read is safe from any thread."""
    while not done.wait(1.0):
        if membership.is_frozen:
            logger.critical("this process stood still for too long and ends", extra={"member": membership.id})
            end()
            return


def end_now() -> None:
    """End this process: cleaning up would touch what is another process's already."""
    logging.shutdown()
    os._exit(FROZEN_STATUS)
