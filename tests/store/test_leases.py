"""Who is alive, and who does alone what one alone may do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from sqlalchemy.ext.asyncio import AsyncConnection

from bot.errors import StoreUnavailable
from bot.store import leases
from bot.store.database import Database, open_database
from bot.store.leases import LEASE_SECONDS, OVERDUE_SECONDS, Membership, open_membership
from tests.doubles.clock import ManualClock
from tests.patience import patience


class StillClock(ManualClock):
    """Whoever sleeps by it sleeps for ever, like a process that was stopped."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


async def test_a_name_is_held_by_one_until_it_is_let_go(database: Database) -> None:
    async with database.transaction() as tx:
        for member in ("a", "b"):
            await leases.beat(tx, member, "work", now=100.0)
        assert await leases.claim(tx, "outbox/C1", "a", now=100.0)
        assert await leases.claim(tx, "outbox/C1", "a", now=101.0)
        assert not await leases.claim(tx, "outbox/C1", "b", now=101.0)
        assert await leases.claim(tx, "outbox/C2", "b", now=101.0)
        await leases.release(tx, "outbox/C1", "b")
        assert not await leases.claim(tx, "outbox/C1", "b", now=101.0)
        await leases.release(tx, "outbox/C1", "a")
        assert await leases.claim(tx, "outbox/C1", "b", now=101.0)


async def test_what_others_hold_is_told_as_long_as_they_live(database: Database) -> None:
    async with database.transaction() as tx:
        for member, name in (("dead", "outbox/C1"), ("alive", "outbox/C2"), ("me", "outbox/C3"), ("alive", "x/C4")):
            await leases.beat(tx, member, "work", now=100.0)
            assert await leases.claim(tx, name, member, now=100.0)
        assert await leases.held_by_others(tx, "outbox/", "me", now=100.0) == {"outbox/C1", "outbox/C2"}
        over = 100.0 + LEASE_SECONDS
        await leases.beat(tx, "alive", "work", now=over)
        assert await leases.held_by_others(tx, "outbox/", "me", now=over) == {"outbox/C2"}


async def test_what_a_dead_process_held_is_free_when_its_lease_is_over(database: Database) -> None:
    over = 100.0 + LEASE_SECONDS
    async with database.transaction() as tx:
        for member in ("dead", "alive"):
            await leases.beat(tx, member, "work", now=100.0)
        assert await leases.claim(tx, "outbox/C1", "dead", now=100.0)
        await leases.beat(tx, "alive", "work", now=over)
        assert await leases.alive(tx, now=over) == {"alive"}
        assert not await leases.claim(tx, "outbox/C1", "dead", now=over)
        assert await leases.claim(tx, "outbox/C1", "alive", now=over)


async def test_what_a_dead_process_held_is_free_though_the_living_hold_something_else(database: Database) -> None:
    over = 100.0 + LEASE_SECONDS
    async with database.transaction() as tx:
        for member in ("dead", "alive"):
            await leases.beat(tx, member, "work", now=100.0)
        assert await leases.claim(tx, "outbox/C1", "dead", now=100.0)
        assert await leases.claim(tx, "outbox/C2", "alive", now=100.0)
        await leases.beat(tx, "alive", "work", now=over)
        assert await leases.claim(tx, "outbox/C1", "alive", now=over)


async def test_a_process_that_leaves_holds_nothing_any_more(database: Database) -> None:
    async with database.transaction() as tx:
        for member in ("a", "b"):
            await leases.beat(tx, member, "work", now=100.0)
        assert await leases.claim(tx, "outbox/C1", "a", now=100.0)
        await leases.leave(tx, "a")
        assert await leases.alive(tx, now=100.0) == {"b"}
        assert await leases.claim(tx, "outbox/C1", "b", now=100.0)
        assert not await leases.claim(tx, "outbox/C2", "a", now=100.0)


async def test_nobody_remembers_a_process_for_ever(database: Database) -> None:
    async with database.transaction() as tx:
        await leases.beat(tx, "old", "work", now=100.0)
        assert await leases.claim(tx, "outbox/C1", "old", now=100.0)
        await leases.beat(tx, "new", "work", now=200_000.0)
        assert await leases.claim(tx, "outbox/C2", "new", now=200_000.0)
        await leases.prune(tx, now=200_000.0)
        await leases.beat(tx, "old", "work", now=200_000.0)
        assert await leases.claim(tx, "outbox/C1", "new", now=200_000.0)
        assert not await leases.claim(tx, "outbox/C2", "old", now=200_000.0)


async def test_a_member_lives_as_long_as_it_beats(database: Database) -> None:
    clock = StillClock()
    async with open_membership(database, clock, role="work", is_alone=False, end=lambda: None) as membership:
        assert await membership.hold("outbox/C1")
        other = Membership(database, clock, role="work", is_alone=False)
        await other.beat()
        assert other.id != membership.id
        assert not await other.hold("outbox/C1")
        await membership.let_go("outbox/C1")
        assert await other.hold("outbox/C1")
    async with database.transaction() as tx:
        assert await leases.alive(tx, now=clock.now()) == {other.id}


async def test_a_process_that_stood_still_ends(database: Database) -> None:
    clock, loop, ended = StillClock(), asyncio.get_running_loop(), asyncio.Event()

    def end() -> None:
        loop.call_soon_threadsafe(ended.set)

    async with open_membership(database, clock, role="work", is_alone=False, end=end):
        clock.advance(OVERDUE_SECONDS + 1)
        async with asyncio.timeout(patience(30)):
            await ended.wait()


class Away:
    """A database that nobody reaches for a while."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_away = False

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        if self.is_away:
            raise StoreUnavailable("Postgres does not answer")
        async with self._database.transaction(urgent=urgent) as tx:
            yield tx


async def test_a_process_lets_its_work_go_while_the_database_is_away_and_lives_on(database: Database) -> None:
    clock, away, lost, ended = ManualClock(), Away(database), asyncio.Event(), list[str]()
    opening = open_membership(
        cast(Database, away), clock, role="work", is_alone=False, end=lambda: ended.append("ended")
    )
    async with opening as membership, asyncio.timeout(patience(30)):
        membership.when_lost(lost.set)
        away.is_away = True
        await lost.wait()
        away.is_away = False
        while not await membership.hold("outbox/C1"):
            await clock.sleep(1.0)
    assert ended == []


async def test_a_beat_passes_everything_that_waits_for_a_connection(tmp_path: Path) -> None:
    begun: list[str] = []

    async with open_database(f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}") as database:
        await database.migrate()
        member = Membership(database, ManualClock(), role="work", is_alone=False)

        async def work() -> None:
            async with database.transaction():
                begun.append("work")

        async def beat() -> None:
            await member.beat()
            begun.append("beat")

        async with database.transaction():
            waiting = [asyncio.create_task(work()) for _ in range(5)]
            await asyncio.sleep(0)
            waiting.append(asyncio.create_task(beat()))
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)
    assert begun[0] == "beat"


async def test_one_process_alone_holds_everything_without_asking(database: Database) -> None:
    async with open_membership(database, ManualClock(), role="serve", is_alone=True) as membership:
        assert await membership.hold("outbox/C1")
    async with database.transaction() as tx:
        assert await leases.alive(tx, now=0.0) == set()
