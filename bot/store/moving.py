"""Copies a desk's database to another place: SQLite to Postgres, Postgres to SQLite, one Postgres to another.

move                 to an empty database, while nothing runs on either of them; the old one is marked as moved
find_moved           the sentence that a database was moved
refuse_moved         let no process serve from a database that was moved
use_again            take the mark away
copy_into_postgres   all rows into Postgres, in one transaction
copy_into_file       all rows into a new SQLite file, also while the source is served
refuse_used          refuse a place for SQLite's file that is used
put_in_place         give a file that is whole its name

The rows of the source stay as they are. A copy that is interrupted leaves nothing behind but, on SQLite, a file of
another name, which the next one replaces.
"""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path

from bot.errors import ConfigurationError
from bot.failpoints import failpoint
from bot.locks import locked
from bot.store import alias, copying, sqlite_file
from bot.store.addresses import SQLITE
from bot.store.copying import CannotCopy, Counts, Telling
from bot.store.database import Database, Transaction, open_database, open_kept

MOVED = "moved"
"""The alias that marks a database as moved. It points to the place of the new one."""
PLACE_LIMIT = 160
"""Characters of that place which are kept."""
_POSTGRES_PLACE = re.compile(r"\w+(?:\+\w+)?://(?:[^@/?#]*@)?(?P<place>[^@?#]+)(?:\?[^@#]*)?")


def _say_nothing(_table: str, _rows: int) -> None:
    pass


async def move(source_url: str, target_url: str, *, now: float, tell: Telling = _say_nothing) -> Counts:
    """Copy the database at `source_url`, whole or not at all, and mark it as moved. The caller holds the lock of a
    source on SQLite.

    The source is marked as soon as the copy is in place, before any process can start on it. A kill right between the
    two leaves a whole copy, and a source without the mark.

    Raises:
        CannotCopy: a process runs on one of them, the target is not empty or cannot be written, or a row does not fit.
        ConfigurationError: there is no source, its schema is older, it was moved before, or a process runs on the
            target's file.
        StoreUnavailable: one of them cannot be used.
    """
    async with open_kept(source_url, read_only=False) as source, _still(source, now=now) as read:
        if sentence := await find_moved(read):
            raise ConfigurationError([sentence])
        if target_url.startswith(SQLITE):
            counts = await _move_into_file(read, Path(target_url.removeprefix(SQLITE)), tell=tell)
        else:
            counts = await _into_postgres(read, target_url, now=now, tell=tell)
        await alias.point(read, MOVED, _place_of(target_url)[:PLACE_LIMIT], by="frontdesk move", now=now)
        return counts


async def find_moved(tx: Transaction) -> str | None:
    """Return the sentence that this database was moved, when, and how to use it all the same. None if it was not."""
    mark = await alias.of(tx, MOVED)
    if mark is None:
        return None
    at = datetime.fromtimestamp(mark.set_at, UTC)
    return (
        f"this database was moved to {mark.target} on {at:%Y-%m-%d at %H:%M} UTC and has been out of date since: set "
        "DATABASE_URL to the new one (or, to use this one all the same: frontdesk move --undo)"
    )


async def refuse_moved(database: Database) -> None:
    """Refuse to serve from a database that was moved.

    Raises:
        ConfigurationError: it was moved, in a sentence for operators.
        StoreUnavailable: it cannot be read.
    """
    async with database.reading() as tx:
        if sentence := await find_moved(tx):
            raise ConfigurationError([sentence])


async def use_again(url: str) -> bool:
    """Let processes start on a database that was moved. Return False if it was not.

    Raises: as `open_kept` does.
    """
    async with open_kept(url, read_only=False) as database, database.transaction() as tx:
        mark = await alias.of(tx, MOVED)
        if mark is not None:
            await alias.drop(tx, mark)
        return mark is not None


async def copy_into_postgres(source_url: str, target_url: str, *, now: float) -> Counts:
    """Copy all rows into the empty Postgres at `target_url`, in one transaction.

    Raises: as `move` does.
    """
    async with open_kept(source_url) as source, _still(source, now=now) as read:
        return await _into_postgres(read, target_url, now=now)


async def copy_into_file(source_url: str, file: Path) -> Counts:
    """Copy all rows into a new SQLite file, also while the source is served.

    Raises: as `move` does.
    """
    async with open_kept(source_url) as source, _still(source, now=None) as read:
        return await _into_file(read, file)


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


async def _move_into_file(read: Transaction, path: Path, *, tell: Telling) -> Counts:
    partial = path.with_name(f"{path.name}.moving")
    with locked(Path(f"{path}.lock"), "--to", path):
        refuse_used(path)
        try:
            for left in path.parent.glob(f"{partial.name}*"):
                left.unlink()
            counts = await _into_file(read, partial, tell=tell)
            put_in_place(partial, path)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise CannotCopy(f"{path} could not be written: {reason}") from error
        finally:
            for left in path.parent.glob(f"{partial.name}*"):
                left.unlink(missing_ok=True)
    return counts


async def _into_postgres(read: Transaction, url: str, *, now: float, tell: Telling = _say_nothing) -> Counts:
    async with open_database(url) as target, target.transaction() as written:
        await copying.prepare(written, now=now)
        counts = await copying.copy_rows(read, written, tell=tell)
        failpoint("rows_copied")
    return counts


async def _into_file(read: Transaction, file: Path, *, tell: Telling = _say_nothing) -> Counts:
    await asyncio.to_thread(file.touch, 0o600)
    async with open_database(f"{SQLITE}{file}") as target:
        await target.migrate()
        async with target.transaction() as written:
            counts = await copying.copy_rows(read, written, tell=tell)
    await asyncio.to_thread(_make_one_file, file)
    failpoint("rows_copied")
    return counts


def _place_of(url: str) -> str:
    """The place of a database in words, without the user, the password and all that could be a part of one."""
    if url.startswith(SQLITE):
        return url.removeprefix(SQLITE)
    found = _POSTGRES_PLACE.fullmatch(url)
    return f"Postgres at {found['place']}" if found else "Postgres"


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
