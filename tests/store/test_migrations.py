"""From one schema to the next: forward only, once, under the feet of the release before, and never without a copy."""

import asyncio
import logging
import resource
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, Connection, Float, MetaData, String, insert, inspect, text

from bot.cases.case import REOPEN_SECONDS
from bot.errors import ConfigurationError
from bot.store import cases, sqlite_file
from bot.store.database import Database, open_database
from tests.doubles.postgres import Postgres

BEFORE, NEWEST = "0009", "0010"
"""The schema of the release before, and today's."""
BEFORE_CHANGES = "0004"
"""One after which a table that was there is changed."""
VERSIONS = Path(__file__).parents[2] / "bot" / "store" / "migrations" / "versions"
MIGRATE = """
import asyncio, sys
from bot.store.database import open_database

async def main():
    async with open_database(sys.argv[1]) as database:
        await database.migrate()

asyncio.run(main())
"""


@pytest.fixture(params=["sqlite", "postgres"])
async def empty(request: pytest.FixtureRequest, tmp_path: Path, postgres: Postgres) -> str:
    """The address of a database that has no table yet."""
    return f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}" if request.param == "sqlite" else await postgres.create()


async def revision(database: Database) -> str:
    async with database.transaction() as tx:
        found: str = (await tx.execute(text("select version_num from alembic_version"))).scalar_one()
    return found


def test_the_revisions_named_here_are_the_newest() -> None:
    names = sorted(path.name.partition("_")[0] for path in VERSIONS.glob("0*.py"))
    assert names[-2:] == [BEFORE, NEWEST]


def test_nothing_leads_back() -> None:
    assert not [path.name for path in VERSIONS.glob("*.py") if "downgrade" in path.read_text()]


async def test_processes_that_start_together_migrate_once(empty: str) -> None:
    children = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", MIGRATE, empty, stderr=asyncio.subprocess.PIPE)
        for _ in range(4)
    ]
    told = await asyncio.gather(*(child.communicate() for child in children))
    assert [child.returncode for child in children] == [0] * 4, told
    async with open_database(empty) as database:
        assert await revision(database) == NEWEST


async def test_what_the_release_before_writes_is_still_taken(empty: str) -> None:
    """A rolling start has both for a while: the old release knows its own columns and no other."""
    async with open_database(empty) as database:
        await database.migrate(to=BEFORE)
        known = MetaData()
        async with database.transaction() as tx:
            await tx.run_sync(lambda connection: known.reflect(connection))
            await tx.run_sync(_write_a_row_of_each, known, 1)
        await database.migrate()
        async with database.transaction() as tx:
            await tx.run_sync(_write_a_row_of_each, known, 2)
            rows = {name: await tx.run_sync(_rows, known, name) for name in known.tables}
    assert {name: count for name, count in rows.items() if count != 2} == {"alembic_version": 1}


async def test_a_schema_that_is_newer_is_refused_and_left_alone(empty: str) -> None:
    async with open_database(empty) as database:
        await database.migrate()
        async with database.transaction() as tx:
            await tx.execute(text("update alembic_version set version_num = '9999'"))
        with pytest.raises(ConfigurationError, match="newer Frontdesk"):
            await database.migrate()
        assert await revision(database) == "9999"


async def test_what_fails_half_way_leaves_the_schema_before(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_database(empty) as database:
        await database.migrate(to=BEFORE)

        def fail(_: str) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("bot.store.database.reach", fail)
        with pytest.raises(ZeroDivisionError):
            await database.migrate()
        assert await revision(database) == BEFORE
        async with database.transaction() as tx:
            columns = await tx.run_sync(lambda connection: inspect(connection).get_columns("turn"))
            assert "failures" not in {column["name"] for column in columns}


@pytest.mark.parametrize(
    ("state", "fields", "due"),
    [
        ("waiting", {"waiting_since": 20.0}, 20.0),
        ("away", {}, 10.0),
        ("waiting", {"waiting_since": 20.0, "step": 3}, None),
        ("waiting", {"waiting_since": 20.0, "due": 900.0}, 900.0),
        ("human", {"waiting_since": 20.0}, None),
        ("resolved", {"ended_at": 30.0}, 30.0 + REOPEN_SECONDS),
        ("closed", {"ended_at": 30.0}, None),
    ],
)
async def test_cases_from_before_the_ladder_are_due(
    empty: str, state: str, fields: dict[str, float], due: float | None
) -> None:
    """Nobody waits unheard for ever; whoever has heard everything hears nothing again."""
    async with open_database(empty) as database:
        await database.migrate(to="0006")
        known = MetaData()
        async with database.transaction() as tx:
            await tx.run_sync(lambda connection: known.reflect(connection, only=["case_"]))
            row = {column.name: _value(column, 1) for column in known.tables["case_"].columns}
            none = dict.fromkeys(("due", "ended_at", "waiting_since"))
            values = row | none | {"state": state, "opened_at": 10.0, "step": 0, "version": 4} | fields
            await tx.execute(insert(known.tables["case_"]).values(values))
        await database.migrate()
        async with database.transaction() as tx:
            found = await cases.find(tx, 1)
        assert found is not None
        assert found.due == due
        assert found.version == (5 if due != fields.get("due") else 4)


async def test_a_table_that_somebody_reads_for_long_stops_the_change_and_nobody_else(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a dump does: whoever waits for the whole table makes all others wait too."""
    monkeypatch.setattr("bot.store.database.BUSY_MILLISECONDS", 200)
    async with open_database(await postgres.create()) as database:
        await database.migrate(to=BEFORE_CHANGES)
        async with database.transaction() as dump:
            await dump.execute(text("select count(*) from case_"))
            with pytest.raises(ConfigurationError, match="LockNotAvailable"):
                await database.migrate()
        assert await revision(database) == BEFORE_CHANGES
        await database.migrate()


async def test_a_file_is_copied_before_its_schema_is_changed_and_the_log_names_the_copy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = await _older(tmp_path)
    path.chmod(0o600)
    with caplog.at_level(logging.INFO, "bot.store"):
        await _migrate(path)
    copy = tmp_path / f"frontdesk.db.before-{NEWEST}"
    assert [record.__dict__["copy"] for record in caplog.records if "copied" in record.message] == [str(copy)]
    assert (sqlite_file.look(copy), sqlite_file.look(path)) == (BEFORE, NEWEST)
    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("select count(*) from schedule").fetchone() == (1,)


async def test_nothing_is_copied_when_there_is_nothing_to_change(tmp_path: Path) -> None:
    path = tmp_path / "frontdesk.db"
    await _migrate(path)
    await _migrate(path)
    assert _copies(tmp_path) == []


async def test_without_room_for_a_copy_the_schema_stays(tmp_path: Path) -> None:
    path = await _older(tmp_path)
    with _files_up_to(40_000), pytest.raises(ConfigurationError, match="make room for 0 MB"):
        await _migrate(path)
    assert sqlite_file.look(path) == BEFORE
    assert _copies(tmp_path) == []


@pytest.mark.parametrize("at", [0, 40, 4_096])
async def test_a_damaged_file_is_refused_by_its_name_and_not_touched(tmp_path: Path, at: int) -> None:
    path = await _older(tmp_path)
    await _migrate(path)
    damaged = bytearray(path.read_bytes())
    damaged[at : at + 3_000] = bytes(b"\xff" * 3_000)
    path.write_bytes(damaged)
    with pytest.raises(ConfigurationError) as refusal:
        await _migrate(path)
    (sentence,) = refusal.value.faults
    assert f"{path} is damaged" in sentence
    assert f"{path}.before-{NEWEST}" in sentence
    assert path.read_bytes() == bytes(damaged)


async def test_a_file_that_lost_everything_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    path = await _older(tmp_path)
    await _migrate(path)
    path.write_bytes(b"")
    with pytest.raises(ConfigurationError, match="is empty"):
        await _migrate(path)
    assert path.read_bytes() == b""


async def test_an_empty_file_without_a_past_is_a_new_one_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "frontdesk.db"
    path.touch()
    await _migrate(path)
    assert "without any memory" in caplog.text
    assert sqlite_file.look(path) == NEWEST


def _copies(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*.before-*")]


async def _migrate(path: Path) -> None:
    async with open_database(f"sqlite+aiosqlite:///{path}") as database:
        await database.migrate()


async def _older(folder: Path) -> Path:
    """A file of the release before, with a row in it."""
    path = folder / "frontdesk.db"
    async with open_database(f"sqlite+aiosqlite:///{path}") as database:
        await database.migrate(to=BEFORE)
        async with database.transaction() as tx:
            await tx.execute(text("insert into schedule values ('kb-refresh', '1h', 1.0)"))
    return path


@contextmanager
def _files_up_to(size: int) -> Iterator[None]:
    """A disk on which no file grows beyond so many bytes, as a full one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _write_a_row_of_each(connection: Connection, known: MetaData, number: int) -> None:
    for table in known.sorted_tables:
        if table.name != "alembic_version":
            connection.execute(insert(table).values({column.name: _value(column, number) for column in table.columns}))


def _value(column: Any, number: int) -> Any:
    match column.type:
        case JSON():
            return {}
        case Boolean():
            return False
        case Float():
            return 1.0
        case String():
            return str(number)
    return number


def _rows(connection: Connection, known: MetaData, name: str) -> int:
    return len(connection.execute(known.tables[name].select()).all())
