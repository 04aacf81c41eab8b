"""The database: opening it, bringing its schema up to date, and transactions.

SQLite runs with WAL, synchronous=FULL (an acknowledged row survives a power cut), foreign keys, and one
connection, so that a write never meets another write of this process. Writers begin IMMEDIATE: a
transaction that reads first and then writes cannot fail half-way with BUSY_SNAPSHOT.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from bot.errors import ConfigurationError, StoreUnavailable

BUSY_MILLISECONDS = 10_000
"""How long a statement waits for another process's lock before it fails."""


class Database:
    """One engine; `transaction()` is the only way in."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Commit on leaving, roll back on an exception.

        Raises:
            StoreUnavailable: the database is locked, full, read-only or gone; nothing was written.
        """
        try:
            async with self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            if _is_unavailable(error):
                raise StoreUnavailable(_short(error)) from error
            raise
        except PoolTimeout:
            raise StoreUnavailable("the connection was busy for too long") from None

    async def migrate(self) -> None:
        """Bring the schema up to date.

        Raises:
            ConfigurationError: the database was made by a newer version, is no database, or cannot be written.
        """
        try:
            async with self._engine.begin() as connection:
                await connection.run_sync(_upgrade)
        except DBAPIError as error:
            raise ConfigurationError([f"DATABASE_URL: the database cannot be used ({_short(error)})"]) from None


@asynccontextmanager
async def open_database(url: str, *, read_only: bool = False) -> AsyncIterator[Database]:
    """Open the database at `url` (`sqlite+aiosqlite:///path`); its folder is made when missing."""
    path = Path(url.removeprefix("sqlite+aiosqlite:///"))
    if read_only and not await asyncio.to_thread(path.exists):
        raise ConfigurationError([f"no database at {path}: has Frontdesk run with this DATA_DIR?"])
    if not read_only:
        try:
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError([f"DATABASE_URL: {path.parent} cannot be made ({error.strerror})"]) from None
    engine = create_async_engine(
        f"sqlite+aiosqlite:///file:{path}?mode=ro&uri=true" if read_only else url,
        poolclass=AsyncAdaptedQueuePool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=30,
        # An error's text would hold what customers wrote.
        hide_parameters=True,
    )
    _prepare(engine, read_only=read_only)
    try:
        yield Database(engine)
    finally:
        await engine.dispose()


def _prepare(engine: AsyncEngine, *, read_only: bool) -> None:
    begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"

    @event.listens_for(engine.sync_engine, "connect")
    def set_pragmas(connection: Any, _record: object) -> None:
        # The driver's own BEGIN comes too late and is never IMMEDIATE.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
        cursor.execute("PRAGMA foreign_keys=ON")
        if not read_only:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        if "Can't locate revision" in str(error):
            raise ConfigurationError(["the database was made by a newer Frontdesk: run that version"]) from None
        raise


def _is_unavailable(error: DBAPIError) -> bool:
    name = getattr(error.orig, "sqlite_errorname", "")
    kinds = (
        "SQLITE_BUSY",
        "SQLITE_FULL",
        "SQLITE_READONLY",
        "SQLITE_IOERR",
        "SQLITE_CANTOPEN",
        "SQLITE_LOCKED",
    )
    return error.connection_invalidated or name.startswith(kinds)


def _short(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlite_errorname", "") or type(error.orig).__name__
