"""Copies a desk's database to another place: SQLite to Postgres, Postgres to SQLite, one Postgres to another.

move                 to an empty database, while nothing runs on either of them
copy_into_postgres   the same, into Postgres, in one transaction
copy_into_file       into a new SQLite file, also while the source is served
refuse_used          refuse a place for SQLite's file that is used
put_in_place         give a file that is whole its name

The source is only read. A copy that is interrupted leaves nothing behind but, on SQLite, a file of another name, which
the next one replaces.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from bot.failpoints import failpoint
from bot.locks import locked
from bot.store import copying, sqlite_file
from bot.store.addresses import SQLITE
from bot.store.copying import CannotCopy, Counts, Telling
from bot.store.database import Database, Transaction, open_database, open_kept


def _say_nothing(_table: str, _rows: int) -> None:
    pass


async def move(source_url: str, target_url: str, *, now: float, tell: Telling = _say_nothing) -> Counts:
    """Copy the database at `source_url`, whole or not at all. The caller holds the lock of a source on SQLite.

    Raises:
        CannotCopy: a process runs on one of them, the target is not empty or cannot be written, or a row does not fit.
        ConfigurationError: there is no source, its schema is older, or a process runs on the target's file.
        StoreUnavailable: one of them cannot be used.
    """
    if not target_url.startswith(SQLITE):
        return await copy_into_postgres(source_url, target_url, now=now, tell=tell)
    path = Path(target_url.removeprefix(SQLITE))
    partial = path.with_name(f"{path.name}.moving")
    with locked(Path(f"{path}.lock"), "--to", path):
        refuse_used(path)
        try:
            for left in path.parent.glob(f"{partial.name}*"):
                left.unlink()
            counts = await copy_into_file(source_url, partial, now=now, tell=tell)
            put_in_place(partial, path)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise CannotCopy(f"{path} could not be written: {reason}") from error
        finally:
            for left in path.parent.glob(f"{partial.name}*"):
                left.unlink(missing_ok=True)
    return counts


async def copy_into_postgres(source_url: str, target_url: str, *, now: float, tell: Telling = _say_nothing) -> Counts:
    """Copy all rows into the empty Postgres at `target_url`, in one transaction.

    Raises: as `move` does.
    """
    async with open_kept(source_url) as source, open_database(target_url) as target:
        async with _still(source, now=now) as read, target.transaction() as written:
            await copying.prepare(written, now=now)
            counts = await copying.copy_rows(read, written, tell=tell)
            failpoint("rows_copied")
        return counts


async def copy_into_file(
    source_url: str, file: Path, *, now: float | None = None, tell: Telling = _say_nothing
) -> Counts:
    """Copy all rows into a new SQLite file. With `now`, refuse a source on which a process runs.

    Raises: as `move` does.
    """
    await asyncio.to_thread(file.touch, 0o600)
    async with open_kept(source_url) as source, open_database(f"{SQLITE}{file}") as target:
        await target.migrate()
        async with _still(source, now=now) as read, target.transaction() as written:
            counts = await copying.copy_rows(read, written, tell=tell)
    await asyncio.to_thread(_make_one_file, file)
    failpoint("rows_copied")
    return counts


def refuse_used(path: Path) -> None:
    """Refuse a place for SQLite's file that is used.

    Raises:
        CannotCopy: there is a file, or the log of one, which SQLite would play into the new file.
    """
    if path.exists() and path.stat().st_size:
        raise CannotCopy(f"{path} is there already: move it away first, with its -wal and -shm if they are there")
    for suffix in ("-wal", "-shm", "-journal"):
        if (beside := path.with_name(path.name + suffix)).exists():
            raise CannotCopy(f"{beside} is left of another database: move it away first")


def put_in_place(partial: Path, path: Path) -> None:
    """Give a file that is whole and on disk its name."""
    partial.replace(path)
    sqlite_file.flush(path.parent)


@asynccontextmanager
async def _still(source: Database, *, now: float | None) -> AsyncIterator[Transaction]:
    async with source.transaction() as tx:
        await copying.hold_still(tx)
        if now is not None:
            await copying.shut_out(tx, now=now)
        yield tx


def _make_one_file(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma journal_mode=delete").fetchone()
    sqlite_file.flush(file)
