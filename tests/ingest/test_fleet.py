"""Several processes on one Postgres: what the queue between them is held to, the private parts of DBOS included."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version

import pytest
from sqlalchemy import text

from bot.clock import SystemClock
from bot.conversation import ThreadRef
from bot.ingest.fleet import DONE_ENTRIES_PERIOD, entry_id, open_fleet
from bot.store import inbox
from bot.store.database import Database, open_database
from bot.store.handover import OpenRow
from bot.store.leases import FROZEN_STATUS, open_membership
from tests.doubles.postgres import Postgres, open_postgres
from tests.ingest.test_engine import Room, process_of
from tests.patience import patience


@pytest.fixture
async def room(postgres_url: str) -> AsyncIterator[Room]:
    async with open_database(postgres_url) as database:
        yield Room("fleet", postgres_url, database)


async def entries(database: Database) -> dict[str, str]:
    """The queue's entries and their states."""
    async with database.transaction() as tx:
        rows = await tx.execute(text("select workflow_uuid, status from dbos.workflow_status order by 1"))
        return {row.workflow_uuid: row.status for row in rows}


async def closed(room: Room) -> None:
    """Return when the queue has closed every entry there is."""
    async with asyncio.timeout(patience(60)):
        while set((await entries(room.database)).values()) != {"SUCCESS"}:
            await room.moment()


def test_dbos_is_the_version_whose_private_parts_are_known() -> None:
    assert version("dbos").startswith("3.4.")


def test_entries_sort_as_their_messages_do_and_no_two_rows_share_one() -> None:
    thread = ThreadRef("T1", "C1", "1795000000.000100")
    stamps = ["999999999.9", "1795000000.000100", "1795000000.000200", "1795000001.000001", "10795000000.1"]
    ids = [entry_id(OpenRow(1, "message", thread, ts)) for ts in stamps]
    assert ids == sorted(ids)
    assert ids[1] == "turn|T1|C1|1795000000.000100|001795000000.000100"
    kinds = {entry_id(OpenRow(1, kind, thread, stamps[1])) for kind in ("message", "interaction", "staff")}
    assert len(kinds) == 3


@asynccontextmanager
async def ingress(room: Room) -> AsyncIterator[None]:
    """A process that only puts rows into the queue."""
    clock = SystemClock()
    async with (
        open_membership(room.database, clock, role="ingress", is_alone=False) as membership,
        open_fleet(room.url, room.database, clock, room.work.take, membership, concurrent=10, works=False) as fleet,
    ):
        await fleet.resume(room.database)
        yield


async def test_a_process_that_only_takes_events_puts_rows_into_the_queue_once_and_works_on_none(room: Room) -> None:
    item_id, _ = await room.store("1.1")
    async with ingress(room), asyncio.timeout(patience(60)):
        while not await entries(room.database):
            await room.moment()
    assert list((await entries(room.database)).values()) == ["ENQUEUED"]
    assert room.work.begun == []
    async with room.engine():
        await room.work.until(lambda: room.work.done == [item_id])


async def test_two_workers_share_the_rows_and_take_none_twice(room: Room) -> None:
    rows = [(await room.store(f"{number}.{part}", thread=f"{number}.1"))[0] for number in range(9) for part in (1, 2)]
    async with process_of(room) as one, process_of(room) as two, ingress(room), asyncio.timeout(patience(60)):
        done: list[int] = []
        listening = [asyncio.create_task(keep_done(child.process, done)) for child in (one, two)]
        # A row is closed a moment before its process says so.
        while await room.reads_open() or len(done) < len(rows):
            await room.moment()
        for child in (one, two):
            child.process.kill()
        await asyncio.gather(*listening)
    assert sorted(done) == sorted(rows)


async def keep_done(process: asyncio.subprocess.Process, done: list[int]) -> None:
    """Keep the rows that the process says it has done, until it ends."""
    assert process.stdout is not None
    async for line in process.stdout:
        if line.startswith(b"done"):
            done.append(int(line.split()[1]))  # noqa: PERF401 - it is read while it grows


@pytest.mark.chaos  # it takes a minute; tests/chaos freezes the whole product
async def test_a_process_that_was_frozen_ends_when_it_wakes_and_does_nothing_again(room: Room) -> None:
    item_id, _ = await room.store("1.1", text="wait")
    async with process_of(room) as frozen:
        assert await frozen.hears("begun") == f"begun {item_id} 1"
        frozen.process.send_signal(signal.SIGSTOP)
        async with room.engine():
            await room.work.until(lambda: room.work.done == [item_id])
        frozen.says_go()
        frozen.process.send_signal(signal.SIGCONT)
        async with asyncio.timeout(patience(60)):
            assert await frozen.process.wait() == FROZEN_STATUS
            assert frozen.process.stdout is not None
            assert b"done" not in await frozen.process.stdout.read()


async def test_a_worker_is_told_of_what_others_put_into_the_queue_and_looks_for_a_threads_next_turn(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody looks by themselves.
    monkeypatch.setattr("bot.ingest.fleet.QUEUE_POLL_INTERVAL", 10 * patience(60.0))
    monkeypatch.setattr("bot.ingest.fleet.HANDOVER_POLL_INTERVAL", 10 * patience(60.0))
    async with room.engine() as worker:
        first, thread = await room.store("1.1", thread="1.1")
        worker.submit(first, thread)
        await room.work.until(lambda: room.work.done == [first])
        of_others = [(await room.store(f"{number}.1", thread=f"{number % 2}.1"))[0] for number in range(2, 6)]
        async with ingress(room):
            await room.work.until(lambda: sorted(room.work.done) == sorted([first, *of_others]))


async def test_a_turn_that_got_lost_in_its_own_process_is_begun_again(room: Room) -> None:
    async with room.engine() as engine:
        item_id, thread = await room.store("1.1")
        room.work.held.add(item_id)
        engine.submit(item_id, thread)
        await room.work.until(lambda: room.work.begun == [item_id])
        (turn,) = (task for task in asyncio.all_tasks() if task.get_name() == f"turn {item_id}")
        turn.cancel()
        room.work.held.clear()
        await room.work.until(lambda: room.work.done == [item_id])
    assert room.work.begun == [item_id, item_id]


async def test_what_was_at_work_at_two_crashes_is_taken_one_by_one(room: Room) -> None:
    suspects, other = [(await room.store(f"{number}.1"))[0] for number in (1, 2, 3)], (await room.store("4.1"))[0]
    room.work.held = {*suspects, other}
    async with room.database.transaction() as tx:
        for item_id in (*suspects, *suspects, other):
            await inbox.start(tx, item_id)
    async with room.engine():
        await room.work.until(lambda: other in room.work.begun and len(room.work.begun) == 2)
        for number in range(3):
            await room.work.let_go(next(each for each in room.work.begun if each in room.work.held and each != other))
            await room.work.until(partial(_ended, room, number + 1))
            assert len(set(room.work.begun) & set(suspects)) <= number + 2
        await room.work.let_go(other)
        await room.work.until(lambda: len(room.work.done) == 4)


def _ended(room: Room, count: int) -> bool:
    """Whether so many have ended, and the next has begun as far as there is one."""
    return len(room.work.done) == count and len(room.work.begun) == min(count + 2, 4)


async def test_a_row_that_the_queue_takes_for_done_is_handed_over_again(room: Room) -> None:
    async with room.engine():
        item_id, _ = await room.store("1.1")
        await room.work.until(lambda: room.work.done == [item_id])
        await closed(room)
    async with room.database.transaction() as tx:
        await tx.execute(text("update inbox set state = 'new'"))
    async with room.engine():
        await room.work.until(lambda: room.work.done == [item_id, item_id])


async def test_entries_are_forgotten_a_week_after_their_end(room: Room) -> None:
    async with room.engine():
        old, new = (await room.store("1.1"))[0], (await room.store("2.1"))[0]
        await room.work.until(lambda: sorted(room.work.done) == [old, new])
        await closed(room)
    aged = text("update dbos.workflow_status set updated_at = :at where workflow_uuid like '%|000000000001.%'")
    async with room.database.transaction() as tx:
        await tx.execute(aged, {"at": int((SystemClock().now() - DONE_ENTRIES_PERIOD - 60) * 1000)})
    async with room.engine(), asyncio.timeout(patience(60)):
        while len(left := await entries(room.database)) > 1:
            await room.moment()
    (kept,) = left
    assert "|000000000002." in kept


@asynccontextmanager
async def room_of_its_own() -> AsyncIterator[tuple[Postgres, Room]]:
    """A room on a server that its test may stop."""
    with open_postgres() as server:
        url = await server.create()
        async with open_database(url) as database:
            await database.migrate()
            yield server, Room("fleet", url, database)


async def test_a_database_that_crashes_for_a_while_costs_no_row_and_doubles_none() -> None:
    async with room_of_its_own() as (server, room), room.engine() as engine:
        rows = [await room.store(f"{number}.1") for number in range(1, 13)]
        room.work.held = {item_id for item_id, _ in rows[:4]}
        for row in rows[:8]:
            engine.submit(*row)
        await room.work.until(lambda: len(room.work.done) == 8)
        await asyncio.to_thread(server.stop, crash=True)
        await room.work.let_go(*room.work.held)
        await asyncio.to_thread(server.start)
        await room.work.until(lambda: len(room.work.done) == 12)
    assert sorted(room.work.done) == sorted(item_id for item_id, _ in rows)


@pytest.mark.chaos
async def test_a_turn_is_let_go_in_a_long_outage_and_begun_again_in_the_same_process_when_it_is_over() -> None:
    async with room_of_its_own() as (server, room), room.engine() as engine:
        item_id, thread = await room.store("1.1")
        room.work.held.add(item_id)
        engine.submit(item_id, thread)
        await room.work.until(lambda: room.work.begun == [item_id])
        await asyncio.to_thread(server.stop, crash=True)
        async with asyncio.timeout(patience(60)):
            while engine.active:
                await room.moment()
        room.work.held.clear()
        await asyncio.to_thread(server.start)
        await room.work.until(lambda: room.work.done == [item_id])
    assert room.work.begun == [item_id, item_id]
