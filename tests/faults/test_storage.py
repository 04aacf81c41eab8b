"""The disk: what cannot be stored is not acknowledged, what was acknowledged is there, and it recovers by itself.

F28, F29 the database is locked · F30 the disk is full · F31 reads and writes fail · F43 the data is gone
"""

import asyncio
import resource
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from bot.errors import StoreUnavailable
from bot.ingest.inbox import Inbox
from bot.store import inbox as rows
from bot.store.database import Database, open_database
from bot.telemetry import Metrics
from tests.doubles.clock import ManualClock
from tests.faults.quiet import check_log, read_log
from tests.faults.writing import Nobody
from tests.stories.world import PATIENCE, ROOT, World
from tests.turns.arrivals import arrival

pytestmark = pytest.mark.asyncio(loop_scope="module")

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: limits of another process are Linux's")
per_function = pytest.mark.asyncio(loop_scope="function")

PERSON = "I want to talk to a real person"


@contextmanager
def locked(world: World) -> Iterator[sqlite3.Connection]:
    """Another process holds the database's lock; what it holds can be read there."""
    with closing(sqlite3.connect(world.data / "frontdesk.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        yield other
        other.execute("rollback")


@contextmanager
def full_disk(world: World) -> Iterator[None]:
    """No file of the product may grow: what a full disk does, without filling one."""
    pid, unlimited = int(world.ready["bot"]["pid"]), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)


async def refused(world: World) -> float:
    """Events that were not acknowledged, for want of the database."""
    lines = (await world.metrics()).splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("frontdesk_events_refused_total "))


async def until_refused(world: World, *, more_than: float) -> None:
    async with asyncio.timeout(PATIENCE):
        while await refused(world) <= more_than:
            await world.next_change()


async def test_a_lock_of_a_moment_is_waited_for_and_nobody_notices(world: World) -> None:
    before = await refused(world)
    with locked(world):
        asked = await world.customer.says(PERSON)
        # The lock itself takes its time; Slack waits three seconds.
        await asyncio.sleep(0.7)
    assert "FD-" in (await world.customer.reads(asked)).text
    assert (await refused(world), len(await world.replies(asked))) == (before, 1)
    await check_log(world)


async def test_while_the_database_stays_locked_nothing_is_acknowledged_and_all_is_answered_later(world: World) -> None:
    before = await refused(world)
    with locked(world) as other:
        asked = await world.customer.says(PERSON)
        await until_refused(world, more_than=before)
        assert other.execute("select count(*) from inbox where ts = ?", [asked.ts]).fetchone() == (0,)
        assert len(await world.replies(asked)) == 0
    assert "FD-" in (await world.customer.reads(asked)).text
    await world.customer.reads(await world.customer.says("Thanks!"))
    assert len(await world.replies(asked)) == 1
    await check_log(world)


@on_linux
async def test_a_disk_that_is_full_for_a_moment_costs_nobody_an_answer(world: World) -> None:
    before = await refused(world)
    with full_disk(world):
        asked = await world.customer.says(PERSON)
        await until_refused(world, more_than=before)
    assert "FD-" in (await world.customer.reads(asked)).text
    await world.customer.reads(await world.customer.says("Thanks!"))
    assert len(await world.replies(asked)) == 1
    await check_log(world)


@on_linux
async def test_on_a_disk_that_stays_full_nothing_is_acknowledged_what_is_read_is_served_and_space_is_enough(
    world: World,
) -> None:
    before = await refused(world)
    with full_disk(world):
        assert "knowledge base" in await world.staff.runs("/kb status")
        # Slack delivers again after three seconds, and then only after a minute.
        asked = [await world.customer.says(PERSON) for _ in range(3)]
        await until_refused(world, more_than=before + 2)
        with closing(sqlite3.connect(f"file:{world.data / 'frontdesk.db'}?mode=ro", uri=True)) as reader:
            marks = ", ".join("?" * len(asked))
            found = reader.execute(f"select count(*) from inbox where ts in ({marks})", [each.ts for each in asked])  # noqa: S608
            assert found.fetchone() == (0,)
        health = await world.health()
    assert health["status"] == 200
    assert "the database" in health["degraded"]
    for each in asked:
        assert "FD-" in (await world.customer.reads(each)).text
    await world.customer.reads(await world.customer.says("Thanks!"))
    assert [len(await world.replies(each)) for each in asked] == [1, 1, 1]
    assert (await world.health())["degraded"] is None
    # The log could not be written either: how much of it is missing is counted.
    assert "frontdesk_log_lines_dropped_total 0.0" not in await world.metrics()
    await check_log(world)


async def test_with_its_data_gone_it_says_so_and_answers_nothing_a_second_time(world: World) -> None:
    asked = await world.customer.says(PERSON)
    told = await world.customer.reads(asked)
    shown = {each.ts for channel in ("D0CUSTOMERA", "C0AGENTS") for each in await world.posts(channel)}
    await world.bot("stop")
    for path in (*world.data.glob("frontdesk.db*"), world.data / "kb", world.data / "kb-internal"):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    await world.bot("restart")
    later = await world.other_customer.says(PERSON)
    assert "FD-" in (await world.other_customer.reads(later)).text
    lost = [line for line in read_log(world) if "without any memory" in line["message"]]
    assert [line["level"] for line in lost][-1:] == ["warning"]
    # A press of what is forgotten starts nothing, and what was answered stays answered.
    await world.customer.presses(told, "esc.cancel")
    again = await world.customer.says("Thanks!")
    await world.customer.reads(again)
    shown |= {each.ts for each in await world.posts("C0AGENTS")}
    new = [each for each in await world.posts("D0CUSTOMERA") if each.ts not in shown]
    assert {each.thread_ts for each in new} == {again.ts}
    await check_log(world)


@asynccontextmanager
async def storing(database: Database) -> AsyncIterator[Inbox]:
    """An inbox that writes."""
    inbox = Inbox(database, ManualClock(), Metrics())
    writer = asyncio.create_task(inbox.run(Nobody()))
    try:
        yield inbox
    finally:
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)


async def stored(database: Database) -> list[str]:
    """The ids of the events that are there."""
    async with database.transaction() as tx:
        return list((await tx.execute(text("select event_id from inbox order by id"))).scalars())


@per_function
async def test_who_reads_first_and_then_writes_cannot_be_overtaken(tmp_path: Path) -> None:
    file = tmp_path / "frontdesk.db"
    async with open_database(f"sqlite+aiosqlite:///{file}") as database:
        await database.migrate()
        async with database.transaction() as tx:
            assert await rows.unfinished(tx) == []
            with closing(sqlite3.connect(file, timeout=0)) as other, pytest.raises(sqlite3.OperationalError) as told:
                other.execute("begin immediate")
            await rows.add(tx, arrival("1.1"), now=1.0)
        assert told.value.sqlite_errorname == "SQLITE_BUSY"
        assert len(await stored(database)) == 1


@per_function
async def test_a_transaction_that_began_otherwise_would_be_overtaken(tmp_path: Path) -> None:
    """The fault that the test above is about: without IMMEDIATE it is there."""
    file = tmp_path / "frontdesk.db"
    async with open_database(f"sqlite+aiosqlite:///{file}") as database:
        await database.migrate()
    with closing(sqlite3.connect(file, isolation_level=None, timeout=10)) as one, closing(sqlite3.connect(file)) as two:
        one.execute("begin")
        one.execute("select count(*) from pace").fetchone()
        two.execute("insert into pace values ('other', 1)")
        two.commit()
        with pytest.raises(sqlite3.OperationalError) as told:
            one.execute("insert into pace values ('mine', 1)")
    assert told.value.sqlite_errorname == "SQLITE_BUSY_SNAPSHOT"


@per_function
async def test_a_full_database_acknowledges_nothing_and_recovers_when_there_is_room(tmp_path: Path) -> None:
    async with open_database(f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}") as database:
        await database.migrate()
        # There is one connection, so its bound is everybody's.
        async with database.transaction() as tx:
            (pages,) = (await tx.execute(text("pragma page_count"))).one()
            await tx.execute(text(f"pragma max_page_count={pages}"))
        async with storing(database) as inbox:
            acknowledged: list[str] = []
            refusal = ""
            while not refusal:
                one = arrival(f"{len(acknowledged)}.1", text="x" * 2_000)
                try:
                    await inbox.accept(one)
                    acknowledged.append(one.event_id)
                except StoreUnavailable as error:
                    refusal = str(error)
            assert "SQLITE_FULL" in refusal
            assert await stored(database) == acknowledged
            async with database.transaction() as tx:
                await tx.execute(text("pragma max_page_count=1000000"))
            await inbox.accept(arrival("later.1", text="x" * 2_000))
        assert len(await stored(database)) == len(acknowledged) + 1


@per_function
async def test_whichever_statement_fails_what_is_acknowledged_is_what_is_stored(database: Database) -> None:
    for failing in range(1, 100):
        async with failing_at(database, failing) as happened, storing(database) as inbox:
            events = [arrival(f"{failing}.{number}") for number in range(3)]
            told = await asyncio.gather(*(inbox.accept(each) for each in events), return_exceptions=True)
        acknowledged = {each.event_id for each, answer in zip(events, told, strict=True) if answer is None}
        assert all(answer is None or isinstance(answer, StoreUnavailable) for answer in told)
        assert acknowledged == {each.event_id for each in events} & set(await stored(database))
        if not happened():
            assert len(acknowledged) == 3
            return
    raise AssertionError("some statement failed each time")


@asynccontextmanager
async def failing_at(database: Database, number: int) -> AsyncIterator[Callable[[], bool]]:
    """The so many-th statement, or commit, from here on fails as a broken disk does; whether it came to that."""
    passed = [0]

    def passing(*_: object) -> None:
        passed[0] += 1
        if passed[0] == number:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_WRITE"
            raise error

    async with database.transaction() as tx:
        engine = tx.sync_connection.engine if tx.sync_connection else None
    assert engine is not None
    commit = engine.dialect.do_commit

    def passing_commit(connection: Any) -> None:
        passing()
        commit(connection)

    event.listen(engine, "do_execute", passing)
    event.listen(engine, "do_executemany", passing)
    engine.dialect.do_commit = passing_commit  # type: ignore[assignment,method-assign]
    try:
        yield lambda: passed[0] >= number
    finally:
        event.remove(engine, "do_execute", passing)
        event.remove(engine, "do_executemany", passing)
        engine.dialect.do_commit = commit  # type: ignore[method-assign]


@per_function
@pytest.mark.skipif(shutil.which("fiu-run") is None, reason="NOT TESTED: fiu-run (Debian: fiu-utils) is not installed")
@pytest.mark.parametrize(
    "faults",
    [
        "enable_random name=posix/io/rw/pwrite*,probability=0.01",
        "enable_random name=posix/io/sync/*,probability=0.02",
        "enable name=posix/io/rw/pwrite*,onetime",
    ],
)
async def test_on_a_disk_with_errors_what_is_acknowledged_is_what_is_stored(tmp_path: Path, faults: str) -> None:
    file = tmp_path / "frontdesk.db"
    process = await asyncio.create_subprocess_exec(
        *("fiu-run", "-x", "-f", str(tmp_path / "fiu"), "-c", faults),
        *(sys.executable, "-m", "tests.faults.writing", str(file), "300"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(PATIENCE):
        output, _ = await process.communicate()
    acknowledged = set(output.decode().split())
    assert acknowledged
    with closing(sqlite3.connect(file)) as reader:
        assert acknowledged <= {event_id for (event_id,) in reader.execute("select event_id from inbox")}
        assert reader.execute("pragma integrity_check").fetchone() == ("ok",)
