"""The database: opening it, bringing its schema up to date, and transactions.

Database        `transaction()` and, for looks that change nothing, `reading()` are the only ways in
open_database   open it by its address: SQLite for one process, Postgres for several
open_kept       open an existing one, for commands that run next to the server

SQLite runs with WAL, synchronous=FULL (an acknowledged row survives a power cut), foreign keys, and one connection
for transactions, so that writes of this process never collide. A second one reads and waits for no writer. Writers
begin IMMEDIATE: a transaction that first reads and then writes cannot fail half-way with BUSY_SNAPSHOT, and no one
writes in between.

Postgres runs at READ COMMITTED with a few connections. Code that first reads and then writes does one of two things.
It compares when it changes the row (`update … where version = …`), or it takes a lock for the whole transaction
(`bot.store.statements.lock`). Every wait has a timeout. Times come from our clock and not from the database's,
because they are compared with times of our clock. Processes whose clocks differ by a second differ in nothing else.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event, text
from sqlalchemy.engine.interfaces import ExceptionContext
from sqlalchemy.exc import DataError, DBAPIError, DisconnectionError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool

from bot.errors import ConfigurationError, StoreUnavailable, Unstorable
from bot.failpoints import failpoint
from bot.store import revisions, sqlite_file
from bot.store.addresses import POSTGRES, SQLITE
from bot.store.sqlite_connection import Connection as SqliteConnection
from bot.store.statements import lock
from bot.store.turnstile import Turnstile

BUSY_MILLISECONDS = 10_000
"""How long a statement waits, in milliseconds, for another process's lock before it fails, on either database."""
SCRUB_MILLISECONDS = 200
"""How long emptying SQLite's log waits, in milliseconds, for processes that read it."""
CONNECTIONS, MORE_CONNECTIONS = 8, 4
"""The connections of one process to Postgres: those it keeps open, and how many more it can open."""
POOL_TIMEOUT = 30.0
"""How long a transaction waits for a connection."""
DATABASE_CONNECT_TIMEOUT = 10.0
BREAK_OFF_SECONDS = 0.1
"""While a check of SQLite's file is being cancelled, it is asked to end this often."""
STATEMENT_SECONDS = 20.0
"""How long Postgres may work on one statement."""
GRACE_SECONDS = 5.0
"""How much longer than `STATEMENT_SECONDS` we wait for the answer, because a machine that is gone sends none."""
IDLE_SECONDS = 8.0
"""How long a transaction may be idle before Postgres ends it. A process that is idle for longer is frozen or cut off.
Its locks would block the processes that take over its work: these wait a little longer than this for a lock."""
TRANSACTION_SECONDS = 60.0
"""How long a transaction may take in all, from Postgres 17 on. A process that freezes between two messages of one
statement is neither idle nor working by Postgres' count. No other limit ends its transaction."""
TRANSACTION_TIMEOUT_SINCE = 17
"""The first major version of Postgres that has this limit."""
MIGRATION_SECONDS = 600.0
"""How long a statement may take while the schema is changed. This includes the wait for another process that changes
it."""
NEEDS_FLEET = "DATABASE_URL: Postgres needs more packages: pip install frontdesk[fleet]"
NO_ADDRESS = "DATABASE_URL: this is no address of a Postgres database"


READING = {"is_reading": True}
"""The execution option of connections that begin no transaction."""
Transaction = AsyncConnection
"""What the functions of bot/store take. Other modules use this name instead of SQLAlchemy's."""


class Database:
    """`transaction()` and `reading()` are the only ways in."""

    def __init__(
        self,
        engine: AsyncEngine,
        *,
        places: int,
        readers: AsyncEngine | None = None,
        migrating: AsyncEngine | None = None,
        file: Path | None = None,
    ) -> None:
        """`places` is the number of transactions at the same time. `readers` has connections of its own, or none.
        `file` is SQLite's.
        """
        self._engine = engine
        self._turnstile = Turnstile(places)
        self._readers = readers or engine.execution_options(isolation_level="AUTOCOMMIT", **READING)
        self._readers_turnstile = Turnstile(1) if readers else self._turnstile
        self._migrating = migrating or engine
        self._file = file
        self.is_new = False
        """Whether `migrate` found no file and made one."""
        self.observe: Callable[[float], None] | None = None
        """Called with the seconds that each transaction and reading waited for its connection, for metrics."""

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        """Commit on leaving, roll back on an exception. An `urgent` transaction is the next to get a connection.

        Raises:
            StoreUnavailable: the database is locked, full, read-only or gone. Nothing was written, unless the
                connection broke during the commit itself. So code that repeats the work must check what is there.
            Unstorable: the database is fine, but it cannot store the values.
        """
        async with self._let_in(self._engine, self._turnstile, urgent=urgent) as connection:
            yield connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Read without a transaction: no lock is taken, and nothing is committed. Each statement sees what was
        committed before it. For what belongs together, or is followed by a change, use `transaction`.

        Raises:
            StoreUnavailable: as `transaction` does.
        """
        async with self._let_in(self._readers, self._readers_turnstile, urgent=False) as connection:
            yield connection

    async def listen(self, channel: str, heard: Callable[[str], None]) -> None:
        """Call `heard` with the text of each notification on Postgres' channel, and with "" once it is listened to.

        It holds a connection of its own, and returns when that connection ends.

        Raises:
            StoreUnavailable: Postgres does not answer.
        """
        ended = asyncio.Event()
        # A listener's arguments are the connection, the server's process, the channel and the payload.
        async with self._migrating.connect() as connection:
            raw = await connection.get_raw_connection()
            listening: Any = raw.driver_connection
            listening.add_termination_listener(lambda *_: ended.set())
            await listening.add_listener(channel, lambda *arguments: heard(arguments[-1]))
            heard("")
            await ended.wait()

    @asynccontextmanager
    async def _let_in(
        self, engine: AsyncEngine, turnstile: Turnstile, *, urgent: bool
    ) -> AsyncIterator[AsyncConnection]:
        asked = time.perf_counter()
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(turnstile.passing(urgent=urgent, seconds=POOL_TIMEOUT))
            except TimeoutError:
                raise StoreUnavailable("every connection was busy for too long") from None
            try:
                async with _transaction(engine) as connection:
                    if self.observe is not None:
                        self.observe(time.perf_counter() - asked)
                    yield connection
            except (StatementError, UnicodeError, OverflowError) as error:
                if not _is_about_data(error):
                    raise
                raise Unstorable(type(error).__name__) from error

    @property
    def is_alone(self) -> bool:
        """Whether no other process writes. SQLite's file belongs to one process."""
        return self._file is not None

    async def scrub(self) -> None:
        """Remove erased data from SQLite's write-ahead log, too. The log is emptied unless another process is reading
        it.

        It does not wait for long readers, such as a backup, because nothing could be written during that time. A
        later call then empties the log. On Postgres the server owns the log and discards it with its checkpoints and
        vacuums.
        """
        if self._file is None:
            return
        async with self._turnstile.passing(urgent=False, seconds=POOL_TIMEOUT), self._engine.connect() as connection:
            # Outside of a transaction; SQLAlchemy would begin one.
            driver: Any = (await connection.get_raw_connection()).driver_connection
            try:
                for statement in (f"PRAGMA busy_timeout={SCRUB_MILLISECONDS}", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    async with driver.execute(statement) as answer:
                        await answer.fetchall()
            finally:
                async with driver.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}") as answer:
                    await answer.fetchall()

    async def find_damage(self) -> str | None:
        """What is wrong with SQLite's file, in a sentence that names it. None if it is sound. The whole file is read.

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
            # SQLite ignores an interrupt that comes before the statement has begun.
            for _ in range(round(DATABASE_CONNECT_TIMEOUT / BREAK_OFF_SECONDS)):
                check.end()
                done, _ = await asyncio.wait({reading}, timeout=BREAK_OFF_SECONDS)
                if done:
                    break
            raise

    async def migrate(self) -> None:
        """Bring the schema up to date. If several processes begin at once, one of them does it.

        SQLite's file is checked first, and copied if its schema is older.

        Raises:
            ConfigurationError: the database was made by a newer version, is damaged, or cannot be written.
            StoreUnavailable: Postgres is unavailable for now, or starting.
        """
        if self._file is not None:
            self.is_new = not await asyncio.to_thread(self._file.exists)
            await asyncio.to_thread(_secure, self._file)
        try:
            async with _transaction(self._migrating) as connection:
                await lock(connection, "migrate")
                if self._file is None:
                    # While this process waits for a table, all others queue behind it.
                    await connection.execute(text(f"set local lock_timeout = {BUSY_MILLISECONDS}"))
                await connection.run_sync(revisions.upgrade)
                failpoint("migrating")
        except StoreUnavailable as error:
            if self._file is None and _comes_back(error.__cause__):
                raise StoreUnavailable(self.unusable(str(error))) from error
            raise ConfigurationError([self.unusable(str(error))]) from None
        except DBAPIError as error:
            raise ConfigurationError([self.unusable(_short(error))]) from None

    def unusable(self, why: str) -> str:
        """The sentence that the database cannot be used. It names the database; `why` is the text of
        StoreUnavailable.
        """
        if self._file is None:
            return f"DATABASE_URL: the database cannot be used ({why})"
        return sqlite_file.unusable(self._file, why)


@asynccontextmanager
async def open_database(url: str, *, read_only: bool = False) -> AsyncIterator[Database]:
    """Open the database at `url`: `sqlite+aiosqlite:///path`, whose folder is made if missing, or `postgresql://…`.

    With `read_only` nothing is written to it.

    Raises:
        ConfigurationError: its folder cannot be made, or the package that it needs is missing.
    """
    opening = _open_sqlite(url, read_only=read_only)
    if url.startswith(POSTGRES):
        opening = _open_postgres(url, read_only=read_only)
    async with opening as database:
        yield database


@asynccontextmanager
async def open_kept(url: str, *, read_only: bool = True) -> AsyncIterator[Database]:
    """Open the existing database at `url`. A later schema is accepted, because schemas only grow.

    Raises:
        ConfigurationError: there is none, its schema is older, or the package that it needs is missing.
        StoreUnavailable: as in `Database.transaction`, in a sentence that names the database.
    """
    path = Path(url.removeprefix(SQLITE))
    if url.startswith(SQLITE) and not await asyncio.to_thread(path.exists):
        raise ConfigurationError([f"no database at {path}: has Frontdesk run with this DATA_DIR?"])
    # Opening a file for writing changes it.
    async with open_database(url, read_only=True) as looked_at, open_database(url, read_only=read_only) as database:
        try:
            async with looked_at.transaction() as tx:
                present = await tx.run_sync(revisions.present)
            if present is None:
                raise ConfigurationError(
                    ["no tables in this database: has Frontdesk run with this DATABASE_URL or DATA_DIR?"]
                )
            if present in revisions.older():
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

    async with AsyncExitStack() as stack:

        def build(begin: str, *, is_for_reading: bool) -> AsyncEngine:
            place = f"file:{path}?mode=ro" if is_for_reading else str(path)

            def connect() -> sqlite3.Connection:
                # The driver's own BEGIN would come too late and would never be IMMEDIATE.
                return sqlite3.connect(place, uri=is_for_reading, isolation_level=None, factory=_SqliteConnection)

            async def open_connection() -> SqliteConnection:
                connection = SqliteConnection(connect, begin=begin)
                await connection
                return connection

            engine = create_async_engine(
                SQLITE,
                async_creator=open_connection,
                poolclass=AsyncAdaptedQueuePool,
                pool_size=1,
                max_overflow=0,
                pool_timeout=POOL_TIMEOUT,
                # An error's text would contain what customers wrote.
                hide_parameters=True,
            )
            stack.push_async_callback(engine.dispose)
            _prepare_sqlite(engine, is_for_reading=is_for_reading)
            return engine

        engine = build("BEGIN" if read_only else "BEGIN IMMEDIATE", is_for_reading=read_only)
        readers = build("", is_for_reading=True).execution_options(**READING)
        yield Database(engine, places=1, readers=readers, file=path)


class _SqliteConnection(sqlite3.Connection):
    """A connection that ends its transaction when it is closed, which also happens if a task is cancelled in a
    statement.

    SQLite keeps a closed connection, and its locks, as long as one of its cursors is referenced, for example by a
    traceback.
    """

    def close(self) -> None:
        try:
            if self.in_transaction:
                self.rollback()
        finally:
            super().close()


def _prepare_sqlite(engine: AsyncEngine, *, is_for_reading: bool) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def set_pragmas(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
        cursor.execute("PRAGMA foreign_keys=ON")
        if not is_for_reading:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
            # What is deleted is overwritten, not only forgotten.
            cursor.execute("PRAGMA secure_delete=ON")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        driver.begin()


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
                    # The driver parses the address itself, so it can contain all that Postgres' own programs accept.
                    connection = await driver.connect(
                        address,
                        timeout=DATABASE_CONNECT_TIMEOUT,
                        command_timeout=seconds + GRACE_SECONDS,
                        server_settings=settings,
                    )
                    if connection.get_server_version().major >= TRANSACTION_TIMEOUT_SINCE:
                        # An older server would refuse a startup message that contains it.
                        set_it = "select set_config('transaction_timeout', $1, false)"
                        await connection.fetchval(set_it, str(int(whole * 1_000)))
                except (OSError, TimeoutError) as error:
                    raise StoreUnavailable(f"Postgres does not answer: {type(error).__name__}") from None
                except (driver.InterfaceError, driver.InternalClientError) as error:
                    if isinstance(error, ValueError):
                        raise ConfigurationError([NO_ADDRESS]) from None
                    # The connection ended during the startup, or the server that answers is not completely up yet.
                    raise StoreUnavailable(f"Postgres does not answer: {type(error).__name__}") from None
                except ValueError:
                    # The error's text shows what could not be parsed, which may be the password.
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
        # The driver notices that the server has closed a connection. Asking the server each time would cost a round
        # trip.
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
    """Check SQLite's file and copy it, if its schema is about to be changed."""
    if sqlite_file.look(path) in revisions.older():
        # A damaged file must not be changed. At all other starts nothing is changed.
        if damage := sqlite_file.Check(path).run():
            raise ConfigurationError([damage])
        sqlite_file.copy_away(path, before=revisions.current())


def _is_unavailable(error: DBAPIError) -> bool:
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state).startswith(_AWAY)
    return str(getattr(error.orig, "sqlite_errorname", "")).startswith(_BUSY)


def _comes_back(cause: BaseException | None) -> bool:
    """Whether Postgres could not be reached or was busy, so that waiting helps."""
    if not isinstance(cause, DBAPIError):
        return True
    return cause.connection_invalidated or str(getattr(cause.orig, "sqlstate", "")).startswith(_PASSING)


def _is_about_data(error: Exception) -> bool:
    """Whether the values caused the error. Some fail on the way to the driver, some in the driver, some at the
    server.
    """
    if not isinstance(error, DBAPIError):
        return True
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state).startswith(_DATA)
    return isinstance(error, DataError) or "binding parameter" in str(error.orig)


_DATA = "22"
"""Data exceptions: values that a type cannot hold."""
_BUSY = (
    *("SQLITE_BUSY", "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_LOCKED"),
    *("SQLITE_CORRUPT", "SQLITE_NOTADB"),
)
_AWAY = (
    "08",  # the connection broke
    "0A000",  # a statement that was prepared before the schema changed; it is prepared again
    "25",  # a transaction that is read-only, or was ended because it was idle or took too long
    "28",  # the user or the password
    "3D000",  # the database
    "40",  # two transactions that waited for each other
    "53",  # disk, memory, connections
    "55",  # locks
    "57",  # shut down, starting up, out of time
    "58",  # the disk, again
)
"""The classes of errors which say that Postgres cannot serve now, by
https://www.postgresql.org/docs/current/errcodes-appendix.html."""


_PASSING = ("08", "53", "57", "58")
"""Those of them that end without a repair: broken connections, no resources, shut down or starting, disks."""


def _short(error: DBAPIError) -> str:
    """The error's name. Its text may contain what customers wrote."""
    named = getattr(error.orig, "sqlite_errorname", "")
    return str(named) or type(error.driver_exception).__name__
