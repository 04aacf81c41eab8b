"""The database and its schema."""

import asyncio
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, event, insert, text

from bot.errors import ConfigurationError, StoreUnavailable
from bot.store import schema
from bot.store.database import Database, open_database, open_kept


async def test_migrations_make_exactly_the_schema(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), schema.metadata))

    async with database.transaction() as tx:
        assert await tx.run_sync(differences) == []


async def test_migrating_twice_changes_nothing(database: Database) -> None:
    await database.migrate()


async def test_deleted_words_are_overwritten_where_sqlite_does_not_do_so_by_itself(tmp_path: Path) -> None:
    path, words = tmp_path / "x.db", "tungsten boots " * 200

    def forget_to_overwrite(connection: Any, _record: object) -> None:
        # Debian's SQLite overwrites by default; others are compiled without it.
        cursor = connection.cursor()
        cursor.execute("PRAGMA secure_delete=OFF")
        cursor.close()

    event.listen(Engine, "connect", forget_to_overwrite)
    try:
        async with open_database(f"sqlite+aiosqlite:///{path}") as database:
            await database.migrate()
            async with database.transaction() as tx:
                row = {"at": 1.0, "actor": "U1", "action": "x", "subject": "y", "detail": {"words": words}}
                await tx.execute(insert(schema.audit).values(**row))
            await database.scrub()
            assert b"tungsten boots" in path.read_bytes()
            async with database.transaction() as tx:
                await tx.execute(text("delete from audit"))
            await database.scrub()
            assert b"tungsten boots" not in path.read_bytes()
    finally:
        event.remove(Engine, "connect", forget_to_overwrite)


@pytest.mark.parametrize("statement", ["select", "insert"])
async def test_who_is_cancelled_in_a_statement_leaves_the_database_to_others(tmp_path: Path, statement: str) -> None:
    async with open_database(f"sqlite+aiosqlite:///{tmp_path / 'x.db'}") as database:
        async with database.transaction() as tx:
            await tx.execute(text("create table notes (text)"))
        held: list[Any] = []

        async def write() -> None:
            async with database.transaction() as tx:
                await tx.execute(text("select count(*) from notes"))
                await tx.execute(text("insert into notes values ('a')"))

        async def is_cancelled() -> None:
            writing = asyncio.create_task(write())

            def cancel(_connection: Connection, cursor: Any, said: str, *_rest: object) -> None:
                if said.startswith(statement):
                    held.append(cursor)
                    asyncio.get_running_loop().call_soon(writing.cancel)

            event.listen(Engine, "before_cursor_execute", cancel)
            try:
                with pytest.raises(asyncio.CancelledError):
                    await writing
            finally:
                event.remove(Engine, "before_cursor_execute", cancel)

        await is_cancelled()
        # SQLite ends no transaction of a closed connection of which somebody holds a cursor, as a traceback does.
        await write()
        async with database.transaction() as tx:
            assert list((await tx.execute(text("select text from notes"))).scalars()) == ["a"]


async def test_a_failed_transaction_leaves_nothing(database: Database) -> None:
    async def fail_half_way() -> None:
        async with database.transaction() as tx:
            row = {"at": 1.0, "actor": "U1", "action": "x", "subject": "y", "detail": {}}
            await tx.execute(insert(schema.audit).values(**row))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_half_way()
    async with database.transaction() as tx:
        assert (await tx.execute(text("select count(*) from audit"))).scalar_one() == 0


async def test_who_reads_waits_for_no_writer_and_sees_what_was_committed(database: Database) -> None:
    async def count() -> int:
        async with database.reading() as look:
            found: int = (await look.execute(text("select count(*) from audit"))).scalar_one()
            return found

    async with database.transaction() as tx:
        row = {"at": 1.0, "actor": "U1", "action": "x", "subject": "y", "detail": {}}
        await tx.execute(insert(schema.audit).values(**row))
        assert await count() == 0
    assert await count() == 1


async def test_who_reads_a_file_cannot_change_it(tmp_path: Path) -> None:
    async with open_database(f"sqlite+aiosqlite:///{tmp_path / 'x.db'}") as database:
        await database.migrate()
        with pytest.raises(StoreUnavailable, match="SQLITE_READONLY"):
            async with database.reading() as look:
                await look.execute(text("delete from audit"))


async def test_a_read_only_database_is_unavailable_and_not_a_crash(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'x.db'}"
    async with open_database(url) as writable:
        await writable.migrate()
    async with open_database(url, read_only=True) as opened:
        with pytest.raises(StoreUnavailable, match="SQLITE_READONLY"):
            async with opened.transaction() as tx:
                await tx.execute(text("delete from audit"))


async def test_a_file_that_is_damaged_while_it_is_used_is_unavailable(tmp_path: Path) -> None:
    """So nothing is acknowledged, and Slack delivers again once somebody has mended it."""
    path = tmp_path / "x.db"
    path.write_bytes(b"no database at all " * 400)
    async with open_database(f"sqlite+aiosqlite:///{path}") as opened:
        with pytest.raises(StoreUnavailable, match="SQLITE_NOTADB"):
            async with opened.transaction() as tx:
                await tx.execute(text("select 1 from audit"))


async def test_the_command_line_reads_while_the_server_writes(database: Database, database_url: str) -> None:
    async with database.transaction() as writer, open_kept(database_url) as reader:
        await writer.execute(text("delete from audit"))
        async with reader.transaction() as tx:
            assert (await tx.execute(text("select count(*) from audit"))).scalar_one() == 0


async def test_what_is_committed_is_on_disk_before_the_commit_returns(tmp_path: Path) -> None:
    async with open_database(f"sqlite+aiosqlite:///{tmp_path / 'x.db'}") as database, database.transaction() as tx:
        assert (await tx.execute(text("pragma synchronous"))).scalar_one() == 2
        assert (await tx.execute(text("pragma journal_mode"))).scalar_one() == "wal"


async def test_no_database_is_told_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no database"):
        async with open_kept(f"sqlite+aiosqlite:///{tmp_path / 'none.db'}"):
            pass


def test_nothing_forgets_what_was_delivered() -> None:
    """Rows of the inbox are what keeps a redelivery from being answered twice."""
    words = re.compile(r"(?:schema\.)?inbox\.delete\(|delete\((?:schema\.)?inbox\b|delete from inbox", re.IGNORECASE)
    sources = [path for folder in ("bot", "handlers") for path in (Path(__file__).parents[2] / folder).rglob("*.py")]
    assert sources
    assert not [str(path) for path in sources if words.search(path.read_text())]


def test_the_library_is_new_enough_for_returning() -> None:
    assert sqlite3.sqlite_version_info >= (3, 35)
