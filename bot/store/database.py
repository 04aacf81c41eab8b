"""The database: opening it, bringing its schema up to date, and transactions.

Database        `transaction()` is the only way in
open_database   by its address: SQLite for one process, Postgres for several
open_kept       the one that is there already, for commands beside what serves

SQLite runs with WAL, synchronous=FULL (an acknowledged row survives a power cut), foreign keys, and one
connection, so that a write never meets another write of this process. Writers begin IMMEDIATE: a
transaction that reads first and then writes cannot fail half-way with BUSY_SNAPSHOT, and nobody writes in between.

Postgres runs at READ COMMITTED with a few connections. What reads first and then writes says so: it changes the row it
has read by comparing (`update … where version = …`), or it takes a lock for as long as the transaction lasts
(`bot.store.statements.lock`). Every wait has an end. Times come from our clock, not from the database's: what they are
compared with came from the same clock, and processes whose clocks differ by a second differ in nothing but that.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, event, text
from sqlalchemy.engine.interfaces import ExceptionContext
from sqlalchemy.exc import DataError, DBAPIError, DisconnectionError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool

from bot.errors import ConfigurationError, StoreUnavailable, Unstorable
from bot.failpoints import failpoint
from bot.store import sqlite_file
from bot.store.addresses import POSTGRES, SQLITE
from bot.store.statements import lock
from bot.store.turnstile import Turnstile

PRELIMINARY = "0010"
"""The last revision before the migrations were joined into one, which brings it up to date."""
BUSY_MILLISECONDS = 10_000
"""How long a statement waits for another process's lock before it fails, on either database."""
SCRUB_MILLISECONDS = 200
"""How long the emptying of SQLite's log waits for those who read in it."""
CONNECTIONS, MORE_CONNECTIONS = 8, 4
"""Connections of one process to Postgres: those it keeps, and what it may open beyond them."""
POOL_TIMEOUT = 30.0
"""How long a transaction waits for a connection."""
DATABASE_CONNECT_TIMEOUT = 10.0
BREAK_OFF_SECONDS = 0.1
"""How often a look through SQLite's file is asked to end, until it does."""
STATEMENT_SECONDS = 20.0
"""How long Postgres may work on one statement,"""
GRACE_SECONDS = 5.0
"""and how much longer we listen for its answer: a machine that is gone says nothing."""
IDLE_SECONDS = 8.0
"""How long a transaction may stand still before Postgres ends it. Whoever stands still for longer is frozen or cut off,
and what it has locked would hold up those who take its work over: they wait a little longer than this for a lock."""
TRANSACTION_SECONDS = 60.0
"""How long a transaction may take in all, from Postgres 17 on. Whoever is frozen between two messages of one statement
neither stands still nor works, as Postgres counts, and is ended by nothing else."""
TRANSACTION_TIMEOUT_SINCE = 17
"""The first major version of Postgres that knows the limit."""
MIGRATION_SECONDS = 600.0
"""How long a statement may take while the schema is changed, the wait for another process that changes it included."""
NEEDS_FLEET = "DATABASE_URL: Postgres needs more packages: pip install frontdesk[fleet]"
NO_ADDRESS = "DATABASE_URL: this is no address of a Postgres database"


Transaction = AsyncConnection
"""What a repository's functions take, for those who have no other business with SQL."""


class Database:
    """One engine; `transaction()` is the only way in."""

    def __init__(
        self, engine: AsyncEngine, *, places: int, migrating: AsyncEngine | None = None, file: Path | None = None
    ) -> None:
        """`places`: how many transactions there may be at once; `file`: SQLite's."""
        self._engine = engine
        self._turnstile = Turnstile(places)
        self._migrating = migrating or engine
        self._file = file
        self.is_new = False
        """Whether `migrate` found no file, and made one."""

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        """Commit on leaving, roll back on an exception. What is `urgent` passes all that waits for a connection.

        Raises:
            StoreUnavailable: the database is locked, full, read-only or gone. Nothing was written, unless the
                connection broke during the commit itself: what is done again must find what is there already.
            Unstorable: it is sound, and what it was given is not.
        """
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._turnstile.passing(urgent=urgent, seconds=POOL_TIMEOUT))
            except TimeoutError:
                raise StoreUnavailable("every connection was busy for too long") from None
            try:
                async with _transaction(self._engine) as connection:
                    yield connection
            except (StatementError, UnicodeError, OverflowError) as error:
                if not _is_about_data(error):
                    raise
                raise Unstorable(type(error).__name__) from error

    @property
    def is_alone(self) -> bool:
        """Whether no other process writes: SQLite's file is one process's."""
        return self._file is not None

    async def scrub(self) -> None:
        """Have what was erased leave SQLite's write-ahead log too, which is emptied unless somebody else reads in it.

        Whoever reads for long, as a backup, is not waited for: nobody could write meanwhile. Then a later call does it.
        On Postgres the log is the server's, and goes with the checkpoints and vacuums that it makes.
        """
        if self._file is None:
            return
        async with self._turnstile.passing(urgent=False, seconds=POOL_TIMEOUT), self._engine.connect() as connection:
            # Not in a transaction, which SQLAlchemy would begin.
            driver: Any = (await connection.get_raw_connection()).driver_connection
            try:
                for statement in (f"PRAGMA busy_timeout={SCRUB_MILLISECONDS}", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    async with driver.execute(statement) as answer:
                        await answer.fetchall()
            finally:
                async with driver.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}") as answer:
                    await answer.fetchall()

    async def find_damage(self) -> str | None:
        """What is wrong with SQLite's file, all of which is read, in a sentence that names it; None when it is sound.

        Raises:
            StoreUnavailable: it could not be read.
        """
        if self._file is None:
            return None
        check = sqlite_file.Check(self._file)
        reading = asyncio.create_task(asyncio.to_thread(check.run), name="database check")
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            # SQLite forgets to break off what had not quite begun when it was asked to.
            for _ in range(round(DATABASE_CONNECT_TIMEOUT / BREAK_OFF_SECONDS)):
                check.end()
                done, _ = await asyncio.wait({reading}, timeout=BREAK_OFF_SECONDS)
                if done:
                    break
            raise

    async def migrate(self) -> None:
        """Bring the schema up to date; of several processes that begin at once one does it.

        SQLite's file is looked through first, and copied when it is of an older schema.

        Raises:
            ConfigurationError: the database was made by a newer version, is damaged, or cannot be written.
            StoreUnavailable: Postgres is away for now, or starting.
        """
        if self._file is not None:
            self.is_new = not await asyncio.to_thread(self._file.exists)
            await asyncio.to_thread(_secure, self._file)
        try:
            async with _transaction(self._migrating) as connection:
                await lock(connection, "migrate")
                if self._file is None:
                    # While we wait for a table, everybody else waits behind us.
                    await connection.execute(text(f"set local lock_timeout = {BUSY_MILLISECONDS}"))
                await connection.run_sync(_upgrade)
                failpoint("migrating")
        except StoreUnavailable as error:
            if self._file is None and _comes_back(error.__cause__):
                raise StoreUnavailable(self.unusable(str(error))) from error
            raise ConfigurationError([self.unusable(str(error))]) from None
        except DBAPIError as error:
            raise ConfigurationError([self.unusable(_short(error))]) from None

    def unusable(self, why: str) -> str:
        """That it cannot be used, in a sentence that names it; `why` as StoreUnavailable has it."""
        if self._file is None:
            return f"DATABASE_URL: the database cannot be used ({why})"
        return sqlite_file.unusable(self._file, why)


@asynccontextmanager
async def open_database(url: str, *, read_only: bool = False) -> AsyncIterator[Database]:
    """Open the database at `url`: `sqlite+aiosqlite:///path`, whose folder is made when missing, or `postgresql://…`.

    With `read_only` nothing is written to it.

    Raises:
        ConfigurationError: its folder cannot be made, or what is needed to speak to it is missing.
    """
    opening = _open_sqlite(url, read_only=read_only)
    if url.startswith(POSTGRES):
        opening = _open_postgres(url, read_only=read_only)
    async with opening as database:
        yield database


@asynccontextmanager
async def open_kept(url: str, *, read_only: bool = True) -> AsyncIterator[Database]:
    """Open the database that is at `url` already. One of a later schema is taken: schemas only grow.

    Raises:
        ConfigurationError: there is none, or it is of an earlier schema, or what is needed to speak to it is missing.
        StoreUnavailable: as `Database.transaction`, in a sentence that names the database.
    """
    path = Path(url.removeprefix(SQLITE))
    if url.startswith(SQLITE) and not await asyncio.to_thread(path.exists):
        raise ConfigurationError([f"no database at {path}: has Frontdesk run with this DATA_DIR?"])
    # Writers put their marks into a file when they open it.
    async with open_database(url, read_only=True) as looked_at, open_database(url, read_only=read_only) as database:
        try:
            async with looked_at.transaction() as tx:
                present = await tx.run_sync(
                    lambda connection: MigrationContext.configure(connection).get_current_revision()
                )
            if present is None:
                raise ConfigurationError(
                    ["no tables in this database: has Frontdesk run with this DATABASE_URL or DATA_DIR?"]
                )
            if present in _older():
                raise ConfigurationError(
                    ["the database is of an older Frontdesk: `frontdesk migrate` brings it up to date"]
                )
            yield database
        except StoreUnavailable as error:
            raise StoreUnavailable(database.unusable(str(error))) from error


@asynccontextmanager
async def _transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    try:
        async with engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        if _is_unavailable(error):
            raise StoreUnavailable(_short(error)) from error
        raise
    except PoolTimeout:
        raise StoreUnavailable("the connection was busy for too long") from None


@asynccontextmanager
async def _open_sqlite(url: str, *, read_only: bool) -> AsyncIterator[Database]:
    path = Path(url.removeprefix(SQLITE))
    if not read_only:
        try:
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                [f"the database's folder {path.parent} cannot be made ({error.strerror})"]
            ) from None
    engine = create_async_engine(
        f"{SQLITE}file:{path}?mode=ro&uri=true" if read_only else url,
        poolclass=AsyncAdaptedQueuePool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=POOL_TIMEOUT,
        connect_args={"factory": _SqliteConnection},
        # An error's text would hold what customers wrote.
        hide_parameters=True,
    )
    _prepare_sqlite(engine, read_only=read_only)
    try:
        yield Database(engine, places=1, file=path)
    finally:
        await engine.dispose()


class _SqliteConnection(sqlite3.Connection):
    """One that ends its transaction when it is closed, as it is when somebody is cancelled within a statement.

    SQLite keeps a closed connection, and its locks, for as long as somebody holds a cursor of it, as a traceback does.
    """

    def close(self) -> None:
        try:
            if self.in_transaction:
                self.rollback()
        finally:
            super().close()


def _prepare_sqlite(engine: AsyncEngine, *, read_only: bool) -> None:
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
            # What is deleted is overwritten, not only forgotten.
            cursor.execute("PRAGMA secure_delete=ON")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)


@asynccontextmanager
async def _open_postgres(url: str, *, read_only: bool) -> AsyncIterator[Database]:
    try:
        driver = import_module("asyncpg")
    except ImportError:
        raise ConfigurationError([NEEDS_FLEET]) from None
    address = "postgresql://" + url.partition("://")[2]
    async with AsyncExitStack() as stack:

        def build(seconds: float, lock_seconds: float, *, whole: float, **pool: Any) -> AsyncEngine:
            settings = {
                "application_name": "frontdesk",
                "default_transaction_read_only": "on" if read_only else "off",
                "statement_timeout": str(int(seconds * 1_000)),
                "lock_timeout": str(int(lock_seconds * 1_000)),
                "idle_in_transaction_session_timeout": str(int(IDLE_SECONDS * 1_000)),
                "jit": "off",
            }

            async def connect() -> Any:
                try:
                    # The driver reads the address by itself, so that all that Postgres' own programs know may be in it.
                    connection = await driver.connect(
                        address,
                        timeout=DATABASE_CONNECT_TIMEOUT,
                        command_timeout=seconds + GRACE_SECONDS,
                        server_settings=settings,
                    )
                    if connection.get_server_version().major >= TRANSACTION_TIMEOUT_SINCE:
                        # An older server would refuse a greeting that names it.
                        set_it = "select set_config('transaction_timeout', $1, false)"
                        await connection.fetchval(set_it, str(int(whole * 1_000)))
                except (OSError, TimeoutError) as error:
                    raise StoreUnavailable(f"Postgres does not answer: {type(error).__name__}") from None
                except (driver.InterfaceError, driver.InternalClientError) as error:
                    if isinstance(error, ValueError):
                        raise ConfigurationError([NO_ADDRESS]) from None
                    # The connection ended in the middle of the greeting, or what answers is not all there yet.
                    raise StoreUnavailable(f"Postgres does not answer: {type(error).__name__}") from None
                except ValueError:
                    # Its text shows what it could not read, which may be the password.
                    raise ConfigurationError([NO_ADDRESS]) from None
                else:
                    return connection

            engine = create_async_engine(
                "postgresql+asyncpg://",
                async_creator=connect,
                isolation_level="READ COMMITTED",
                hide_parameters=True,
                **pool,
            )
            stack.push_async_callback(engine.dispose)
            _prepare_postgres(engine)
            return engine

        lasting = {"pool_size": CONNECTIONS, "max_overflow": MORE_CONNECTIONS, "pool_timeout": POOL_TIMEOUT}
        engine = build(STATEMENT_SECONDS, BUSY_MILLISECONDS / 1_000, whole=TRANSACTION_SECONDS, **lasting)
        migrating = build(MIGRATION_SECONDS, MIGRATION_SECONDS, whole=2 * MIGRATION_SECONDS, poolclass=NullPool)
        yield Database(engine, places=CONNECTIONS + MORE_CONNECTIONS, migrating=migrating)


def _prepare_postgres(engine: AsyncEngine) -> None:
    @event.listens_for(engine.sync_engine, "checkout")
    def replace_closed(connection: Any, _record: object, _proxy: object) -> None:
        # The driver sees by itself that the server has closed a connection; asking the server each time costs a trip.
        if connection.driver_connection.is_closed():
            raise DisconnectionError

    @event.listens_for(engine.sync_engine, "handle_error")
    def tell_lost(context: ExceptionContext) -> None:
        error = context.original_exception
        if isinstance(error, OSError | TimeoutError):
            context.is_disconnect = True
            context.invalidate_pool_on_disconnect = False
            raise StoreUnavailable(f"Postgres does not answer: {type(error).__name__}")


def _secure(path: Path) -> None:
    """Look through SQLite's file, and copy it when its schema is about to be changed."""
    if sqlite_file.look(path) in _older():
        # What is damaged must not be changed; nothing is changed at any other start.
        if damage := sqlite_file.Check(path).run():
            raise ConfigurationError([damage])
        sqlite_file.copy_away(path, before=ScriptDirectory.from_config(_scripts()).get_current_head() or "")


def _older() -> list[str]:
    """The revisions before today's."""
    revisions = [each.revision for each in ScriptDirectory.from_config(_scripts()).walk_revisions()]
    return [*revisions[1:], PRELIMINARY]


def _upgrade(connection: Connection) -> None:
    present = MigrationContext.configure(connection).get_current_revision()
    if present == PRELIMINARY:
        connection.execute(text("delete from alembic_version"))
    elif present is not None and present < PRELIMINARY:
        raise ConfigurationError(
            ["the database is of a preliminary version that can no longer be upgraded: begin with a new one"]
        )
    config = _scripts()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        if "Can't locate revision" in str(error):
            raise ConfigurationError(["the database was made by a newer Frontdesk: run that version"]) from None
        raise


def _scripts() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


def _is_unavailable(error: DBAPIError) -> bool:
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state).startswith(_AWAY)
    return str(getattr(error.orig, "sqlite_errorname", "")).startswith(_BUSY)


def _comes_back(cause: BaseException | None) -> bool:
    """Whether Postgres could not be reached, or was busy with itself, so that waiting helps."""
    if not isinstance(cause, DBAPIError):
        return True
    return cause.connection_invalidated or str(getattr(cause.orig, "sqlstate", "")).startswith(_PASSING)


def _is_about_data(error: Exception) -> bool:
    """Whether it was the values: some fail on their way to the driver, some in it, some at the server."""
    if not isinstance(error, DBAPIError):
        return True
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state).startswith(_DATA)
    return isinstance(error, DataError) or "binding parameter" in str(error.orig)


_DATA = "22"
"""Data exceptions: what a type cannot hold."""
_BUSY = (
    *("SQLITE_BUSY", "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_LOCKED"),
    *("SQLITE_CORRUPT", "SQLITE_NOTADB"),
)
_AWAY = (
    "08",  # the connection broke
    "0A000",  # a statement that was prepared before the schema changed; it is prepared again
    "25",  # a transaction that may only read, or was ended for doing nothing or taking too long
    "28",  # the user or the password
    "3D000",  # the database
    "40",  # two transactions that waited for each other
    "53",  # disk, memory, connections
    "55",  # locks
    "57",  # shut down, starting up, out of time
    "58",  # the disk, again
)
"""What says that Postgres cannot serve now, by https://www.postgresql.org/docs/current/errcodes-appendix.html."""


_PASSING = ("08", "53", "57", "58")
"""Those of them that pass without anybody's help: broken connections, no resources, shut down or starting, disks."""


def _short(error: DBAPIError) -> str:
    """The error's name: its text may hold what customers wrote."""
    named = getattr(error.orig, "sqlite_errorname", "")
    return str(named) or type(error.driver_exception).__name__
