"""Many who ask whether a thread changed hands share a look, and nobody is told how it was before they asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from bot.conversation import ThreadRef
from bot.errors import StoreUnavailable
from bot.store import threads
from bot.store.database import Database, Transaction
from bot.turns.ownership import EpochReader, OwnershipGuard
from tests.turns.arrivals import TEAM

THREADS = [ThreadRef(TEAM, "D0CUSTOMERA", f"{number}.1") for number in range(1, 51)]


class Counted:
    """A database whose readings are counted, wait, and fail when they are told to."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_alone = database.is_alone
        self.looks = 0
        self.is_away = False
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.may_end.set()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        """As Database.reading."""
        self.looks += 1
        self.has_begun.set()
        if self.is_away:
            raise StoreUnavailable("out_of_hours")
        async with self._database.reading() as tx:
            yield tx
            found = self.may_end
        await found.wait()


@pytest.fixture
async def counted(database: Database) -> Counted:
    async with database.transaction() as tx:
        for thread in THREADS:
            await threads.add_thread(tx, thread, now=1.0)
        await threads.advance_epoch(tx, [THREADS[3].key])
    return Counted(database)


async def test_who_asks_at_the_same_time_shares_a_look(counted: Counted) -> None:
    epochs = EpochReader(cast(Any, counted))
    told = await asyncio.gather(*(epochs.of(thread.key) for thread in THREADS for _ in range(2)))
    assert told[::2] == told[1::2] == [int(thread is THREADS[3]) for thread in THREADS]
    assert counted.looks == 1
    assert await epochs.of("no conversation") == 0


async def test_who_asks_while_somebody_looks_is_told_how_it_is_since(database: Database, counted: Counted) -> None:
    epochs = EpochReader(cast(Any, counted))
    counted.may_end.clear()
    first = asyncio.create_task(epochs.of(THREADS[0].key))
    await counted.has_begun.wait()
    async with database.transaction() as tx:
        await threads.advance_epoch(tx, [THREADS[0].key])
    second = asyncio.create_task(epochs.of(THREADS[0].key))
    await asyncio.sleep(0)
    counted.may_end.set()
    await first
    assert await second == 1


async def test_a_look_that_fails_is_told_to_all_who_asked_and_the_next_one_is_another(counted: Counted) -> None:
    epochs = EpochReader(cast(Any, counted))
    counted.is_away = True
    told = await asyncio.gather(*(epochs.of(thread.key) for thread in THREADS[:3]), return_exceptions=True)
    assert [type(each) for each in told] == [StoreUnavailable] * 3
    counted.is_away = False
    assert await epochs.of(THREADS[3].key) == 1


async def test_a_process_alone_looks_only_once_something_has_changed_hands(
    database: Database, counted: Counted
) -> None:
    async with database.transaction() as tx:
        state = await threads.find_thread(tx, THREADS[0])
    assert state is not None
    guard = OwnershipGuard(EpochReader(cast(Any, counted)), THREADS[0].key, state.epoch, state.local_changes)
    for _ in range(3):
        assert await guard.is_current()
    assert counted.looks == (0 if database.is_alone else 3)
    before = counted.looks
    async with database.transaction() as tx:
        await threads.advance_epoch(tx, [THREADS[1].key])
    for _ in range(3):
        assert await guard.is_current(), "another thread did"
    assert counted.looks == before + (1 if database.is_alone else 3)
    async with database.transaction() as tx:
        await threads.advance_epoch(tx, [THREADS[0].key])
    assert not await guard.is_current()
    assert not await guard.is_current(), "what is lost stays lost"
