"""From one schema to the next: forward only, once, under the feet of the release before, and never without a copy."""

import asyncio
import logging
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, Connection, Float, MetaData, String, insert, inspect, text, update

from bot.errors import ConfigurationError
from bot.store import cases, outbox, sqlite_file
from bot.store.database import Database, open_database
from bot.store.schema import metadata
from tests import forkserver
from tests.doubles.postgres import Postgres
from tests.store.preliminary import create_preliminary

BEFORE, NEWEST = "0010", "0029"
NEWER = frozenset(
    {"action", "action_vote", "procedure_run", "daily", "desk", "away", "shop_event", "tracker", "fix_list", "fixed"}
)
"""The tables that a preliminary database does not have."""
"""The last preliminary schema, and today's."""
FOLLOWING: dict[str, Any] = {
    "method": "post",
    "channel": "C1",
    "payload": {},
    "thread_ts": None,
    "parent": None,
    "case_id": None,
    "source": None,
    "when_sent": [],
    "when_failed": [],
}
AFTERWARDS = {"sent": [{"key": "then", "hands": ["c", 3], **FOLLOWING}], "failed": []}
"""A post's followers as the preliminary version stored them."""
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


def test_the_revision_named_here_is_the_newest() -> None:
    names = sorted(path.name.partition("_")[0] for path in VERSIONS.glob("0*.py"))
    assert names[-1] == NEWEST


def test_nothing_leads_back() -> None:
    assert not [path.name for path in VERSIONS.glob("*.py") if "downgrade" in path.read_text()]


async def test_processes_that_start_together_migrate_once(empty: str) -> None:
    children = [await forkserver.start("-c", MIGRATE, empty, stderr=asyncio.subprocess.PIPE) for _ in range(4)]
    told = await asyncio.gather(*(child.communicate() for child in children))
    assert [child.returncode for child in children] == [0] * 4, told
    async with open_database(empty) as database:
        assert await revision(database) == NEWEST


async def test_a_preliminary_database_keeps_every_row_under_todays_names(empty: str) -> None:
    async with open_database(empty) as database:
        await create_preliminary(database)
        known = MetaData()
        async with database.transaction() as tx:
            await tx.run_sync(lambda connection: known.reflect(connection))
            await tx.run_sync(_write_a_row_of_each, known, 1)
            await tx.execute(update(known.tables["inbox"]).values(kind="press", wish="stop"))
            await tx.execute(update(known.tables["case_"]).values(state="away", standing="guest"))
            await tx.execute(update(known.tables["thread"]).values(hands=3))
            await tx.execute(update(known.tables["outbox"]).values(conversation="c", hands=3, afterwards=AFTERWARDS))
        await database.migrate()
        async with database.transaction() as tx:
            kept = [table for table in metadata.sorted_tables if table.name not in NEWER]
            rows = {table.name: (await tx.execute(table.select())).one() for table in kept}
            found = await cases.find(tx, 1)
            queued = await outbox.by_key(tx, "1")
    assert (rows["inbox"].kind, rows["inbox"].interrupt, rows["thread"].epoch) == ("interaction", "stop", 3)
    assert found is not None
    assert queued is not None
    assert (found.state, found.member_type) == ("out_of_hours", "guest")
    assert (queued.epoch, queued.when_sent[0].epoch) == (("c", 3), ("c", 3))


async def test_a_preliminary_schema_becomes_todays(empty: str, tmp_path: Path, postgres: Postgres) -> None:
    new = f"sqlite+aiosqlite:///{tmp_path / 'new.db'}" if empty.startswith("sqlite") else await postgres.create()
    schemas = []
    for address in (empty, new):
        async with open_database(address) as database:
            if address == empty:
                await create_preliminary(database)
            await database.migrate()
            async with database.transaction() as tx:
                schemas.append(await tx.run_sync(_described))
    assert schemas[0] == schemas[1]


async def test_a_database_of_before_that_is_refused(empty: str) -> None:
    async with open_database(empty) as database:
        await create_preliminary(database)
        async with database.transaction() as tx:
            await tx.execute(text("update alembic_version set version_num = '0009'"))
        with pytest.raises(ConfigurationError, match="can no longer be upgraded"):
            await database.migrate()


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
        await create_preliminary(database)

        def fail(_: str) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("bot.store.database.failpoint", fail)
        with pytest.raises(ZeroDivisionError):
            await database.migrate()
        assert await revision(database) == BEFORE
        async with database.transaction() as tx:
            columns = await tx.run_sync(lambda connection: inspect(connection).get_columns("inbox"))
            assert "wish" in {column["name"] for column in columns}


async def test_a_table_that_somebody_reads_for_long_stops_the_change_and_nobody_else(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a dump does: whoever waits for the whole table makes all others wait too."""
    monkeypatch.setattr("bot.store.database.BUSY_MILLISECONDS", 200)
    async with open_database(await postgres.create()) as database:
        await create_preliminary(database)
        async with database.transaction() as dump:
            await dump.execute(text("select count(*) from case_"))
            with pytest.raises(ConfigurationError, match="LockNotAvailable"):
                await database.migrate()
        assert await revision(database) == BEFORE
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
    """A file with the preliminary schema and a row."""
    path = folder / "frontdesk.db"
    async with open_database(f"sqlite+aiosqlite:///{path}") as database:
        await create_preliminary(database)
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


def _described(connection: Connection) -> dict[str, Any]:
    """Every table's columns and indexes, as the database tells them."""
    inspector = inspect(connection)
    return {
        name: (
            sorted((column["name"], str(column["type"]), column["nullable"]) for column in inspector.get_columns(name)),
            sorted((str(index["name"]), tuple(index["column_names"])) for index in inspector.get_indexes(name)),
        )
        for name in inspector.get_table_names()
    }


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
