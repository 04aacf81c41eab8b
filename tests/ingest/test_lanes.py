"""One turn a thread, many threads at once."""

import asyncio
from contextlib import suppress

import pytest

from bot.errors import StoreUnavailable
from bot.ingest import lanes as lanes_module
from bot.ingest.lanes import Lanes
from bot.store import inbox
from bot.store.database import Database
from tests.doubles.clock import ManualClock, settle
from tests.patience import patience
from tests.turns.arrivals import arrival


class Work:
    """Turns that begin at once and end when they are let go."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.gates: dict[int, asyncio.Event] = {}

    async def take(self, item_id: int) -> None:
        self.begun.append(item_id)
        await self.gates.setdefault(item_id, asyncio.Event()).wait()
        self.ended.append(item_id)

    def let_go(self, *item_ids: int) -> None:
        for item_id in item_ids:
            self.gates.setdefault(item_id, asyncio.Event()).set()


async def test_a_thread_works_on_one_row_at_a_time_in_order() -> None:
    work = Work()
    lanes = Lanes(work.take, ManualClock(), concurrent=10)
    for item_id in (1, 2, 3):
        lanes.submit(item_id, "thread")
    await settle()
    assert work.begun == [1]
    work.let_go(1, 2, 3)
    await settle()
    assert work.ended == [1, 2, 3]
    assert lanes.active == 0


async def test_threads_do_not_wait_for_each_other() -> None:
    work = Work()
    lanes = Lanes(work.take, ManualClock(), concurrent=10)
    for item_id in range(5):
        lanes.submit(item_id, f"thread {item_id}")
    await settle()
    assert work.begun == [0, 1, 2, 3, 4]
    work.let_go(*range(5))
    await settle()


async def test_no_more_than_the_bound_run_at_once() -> None:
    work = Work()
    lanes = Lanes(work.take, ManualClock(), concurrent=2)
    for item_id in range(5):
        lanes.submit(item_id, f"thread {item_id}")
    await settle()
    assert len(work.begun) == 2
    work.let_go(*range(5))
    await settle()
    assert len(work.ended) == 5


async def test_a_row_that_fails_is_tried_again_before_the_next() -> None:
    calls: list[int] = []

    async def take(item_id: int) -> None:
        calls.append(item_id)
        if calls == [1] or calls == [1, 1]:
            raise RuntimeError if len(calls) == 1 else StoreUnavailable("SQLITE_FULL")

    lanes = Lanes(take, ManualClock(), concurrent=1)
    lanes.submit(1, "thread")
    lanes.submit(2, "thread")
    await settle()
    assert calls == [1, 1, 1, 2]


class NotingClock(ManualClock):
    """Notes how long was slept."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await super().sleep(seconds)


@pytest.mark.parametrize(("error", "longest"), [(StoreUnavailable("away"), 5.0), (RuntimeError("a bug"), 60.0)])
async def test_what_waits_for_the_database_goes_on_soon_after_it_is_back(error: Exception, longest: float) -> None:
    calls: list[int] = []
    clock = NotingClock()

    async def take(item_id: int) -> None:
        calls.append(item_id)
        if len(calls) < 7:
            raise error

    lanes = Lanes(take, clock, concurrent=1)
    lanes.submit(1, "thread")
    async with asyncio.timeout(patience(20)):
        while lanes.active:
            await settle()
    assert len(calls) == 7
    assert max(clock.slept) == longest


async def test_draining_finishes_what_runs_and_begins_nothing_new() -> None:
    work = Work()
    lanes = Lanes(work.take, ManualClock(), concurrent=10)
    lanes.submit(1, "thread")
    lanes.submit(2, "thread")
    await settle()
    draining = asyncio.create_task(lanes.drain(5.0))
    await settle()
    lanes.submit(3, "other")
    work.let_go(1)
    await draining
    assert work.begun == work.ended == [1]


async def test_draining_gives_up_on_what_hangs() -> None:
    work = Work()
    lanes = Lanes(work.take, ManualClock(), concurrent=10)
    lanes.submit(1, "thread")
    await settle()
    await lanes.drain(0.01)
    assert work.ended == []


async def test_draining_leaves_what_does_not_end_though_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_module, "CLEANUP_TIMEOUT", 0.01)
    let_go = asyncio.Event()
    begun = asyncio.Event()

    async def take(item_id: int) -> None:
        changing = asyncio.create_task(let_go.wait())
        begun.set()
        while not changing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(changing)

    lanes = Lanes(take, ManualClock(), concurrent=1)
    lanes.submit(1, "thread")
    await begun.wait()
    async with asyncio.timeout(patience(20)):
        await lanes.drain(0.01)
        assert lanes.active
        let_go.set()
        while lanes.active:
            await settle()


async def test_what_an_earlier_process_left_open_is_queued_in_order(database: Database) -> None:
    async with database.transaction() as tx:
        for ts in ("3.1", "1.1", "2.1"):
            await inbox.add(tx, arrival(ts, thread_ts="1.1"), now=1.0)
        await inbox.finish(tx, 2, "done", now=2.0)
    work = Work()
    work.let_go(1, 2, 3)
    lanes = Lanes(work.take, ManualClock(), concurrent=1)
    assert await lanes.resume(database) == 2
    await settle()
    assert work.ended == [3, 1]


async def test_what_was_at_work_at_two_crashes_is_taken_one_by_one(database: Database) -> None:
    async with database.transaction() as tx:
        for ts in ("1.1", "2.1", "3.1"):
            await inbox.add(tx, arrival(ts), now=1.0)
        for item_id in (1, 2, 2, 3, 3):
            await inbox.start(tx, item_id)
    work = Work()
    lanes = Lanes(work.take, ManualClock(), concurrent=10)
    await lanes.resume(database)
    lanes.submit(4, "new")
    await settle()
    assert work.begun == [1, 2, 4]
    work.let_go(2)
    await settle()
    assert work.begun == [1, 2, 4, 3]
    work.let_go(1, 3, 4)
    await settle()
