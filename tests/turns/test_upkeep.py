"""A database is looked after, and a damaged file is found without a start that waits for it."""

import asyncio
import logging
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.clock import WEEK
from bot.errors import StoreUnavailable
from bot.store import limits, sqlite_file
from bot.store.database import Database, open_database
from bot.turns.upkeep import Upkeep
from tests.doubles.clock import ManualClock
from tests.patience import patience

DAY = 86_400.0


async def paces(database: Database) -> int:
    async with database.transaction() as tx:
        return int((await tx.execute(text("select count(*) from pace"))).scalar_one())


async def test_what_nobody_has_used_for_a_day_is_forgotten(database: Database) -> None:
    clock = ManualClock()
    async with database.transaction() as tx:
        await limits.take(tx, "tools/T/U1", times=5, seconds=60.0, now=clock.now() - 2 * DAY)
        await limits.take(tx, "tools/T/U2", times=5, seconds=60.0, now=clock.now())
    await Upkeep(database, clock).look()
    assert await paces(database) == 1


async def test_the_file_is_looked_through_once_a_week(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    if not database.is_alone:
        pytest.skip("Postgres looks after its own files")
    clock, looks = ManualClock(), []
    sound = sqlite_file.Check.run

    def run(check: sqlite_file.Check) -> str | None:
        looks.append(clock.now())
        return sound(check)

    monkeypatch.setattr(sqlite_file.Check, "run", run)
    for wait in (0.0, 3_600.0, WEEK, 3_600.0):
        clock.advance(wait)
        await Upkeep(database, clock).look()
    assert len(looks) == 2


async def test_a_start_reads_little_and_the_damage_is_found_afterwards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "frontdesk.db"
    async with open_database(f"sqlite+aiosqlite:///{path}") as database:
        await database.migrate()
    whole = bytearray(path.read_bytes())
    # The last page is an index or a table of its own, in which a start has no business.
    whole[-4_096:] = b"\xff" * 4_096
    path.write_bytes(whole)
    async with open_database(f"sqlite+aiosqlite:///{path}") as database:
        await database.migrate()
        upkeep = Upkeep(database, ManualClock())
        await upkeep.look()
        assert upkeep.fault is not None
        assert f"{path} is damaged" in upkeep.fault
        (told,) = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert str(path) in told.message


async def test_a_look_through_the_file_ends_with_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}"
    async with open_database(url) as database:
        await database.migrate()
        begun, loop = asyncio.Event(), asyncio.get_running_loop()
        endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"

        def run(check: sqlite_file.Check) -> None:
            with closing(sqlite_file._open(tmp_path / "frontdesk.db", for_any_thread=True)) as connection:
                check._connection = connection
                loop.call_soon_threadsafe(begun.set)
                time.sleep(0.3)  # What is broken off before it has begun ends as well.
                try:
                    connection.execute(endless).fetchone()
                except sqlite3.OperationalError:
                    raise StoreUnavailable("SQLITE_INTERRUPT") from None

        monkeypatch.setattr(sqlite_file.Check, "run", run)
        looking = asyncio.create_task(database.find_damage())
        await begun.wait()
        looking.cancel()
        async with asyncio.timeout(patience(60)):
            await asyncio.gather(looking, return_exceptions=True)
        assert looking.cancelled()


async def test_who_reads_for_long_keeps_nobody_from_writing(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}"
    async with open_database(url) as database, open_database(url, read_only=True) as reader:
        await database.migrate()
        async with reader.transaction() as reading:
            await reading.execute(text("select count(*) from inbox"))
            async with database.transaction() as tx:
                await limits.take(tx, "x", times=1, seconds=1.0, now=1.0)
            async with asyncio.timeout(patience(5)):
                await database.scrub()
        await database.scrub()
    assert (tmp_path / "frontdesk.db-wal").exists() is False
