"""Copies every row of one database into an empty one, whichever of SQLite and Postgres they are.

hold_still   from here on a transaction sees the database as it is now, for as long as it takes
shut_out     keep processes from starting on a database until a transaction ends; refuse one that is served
prepare      make the tables in a database that is empty; refuse one that is not
copy_rows    copy the rows, and read them again to compare

Rows keep their ids, and new ones get ids that were never given out. The rows of one page are in memory at a time. What
only belongs to running processes is left behind: their leases and claims, and which rows are in the queue of a fleet.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from sqlalchemy import JSON, Column, MetaData, Table, Text, cast, func, insert, select, text, tuple_
from sqlalchemy.exc import StatementError
from sqlalchemy.types import UserDefinedType

from bot.errors import FrontdeskError
from bot.failpoints import failpoint
from bot.store import leases, revisions, schema
from bot.store.database import Transaction
from bot.store.statements import lock

PAGE = 500
"""The rows that are copied at a time."""
LEFT_BEHIND = frozenset({"member", "claim"})
"""Tables of running processes."""
DIGEST_BYTES = 16

Counts = dict[str, int]
"""Table -> number of rows."""
Telling = Callable[[str, int], None]
"""Is told of each table that was copied, with the number of its rows."""


class CannotCopy(FrontdeskError):
    """Rows cannot be copied from there, or to there. The text is a sentence for operators."""


class _Verbatim(UserDefinedType[str]):
    """JSON as the text that is stored, so that copying changes no character of it."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "JSON"

    def column_expression(self, column: Any) -> Any:
        # The driver of Postgres parses a JSON column by itself.
        return cast(column, Text)


def _verbatim(table: Table) -> Table:
    columns = (
        Column(each.name, _Verbatim() if isinstance(each.type, JSON) else each.type, primary_key=each.primary_key)
        for each in table.columns
    )
    return Table(table.name, MetaData(), *columns)


TABLES: Sequence[Table] = [_verbatim(each) for each in schema.metadata.sorted_tables if each.name not in LEFT_BEHIND]
"""What is copied. A table comes after those that its rows refer to."""
NUMBERED = [each.name for each in schema.metadata.sorted_tables if each.autoincrement_column is not None]
"""The tables whose rows get a number, in the column `id`."""


async def hold_still(tx: Transaction) -> None:
    """See the database as it is now until the transaction ends. It must be the first statement.

    Nobody waits for that. The transaction may take as long as it needs. On SQLite a transaction is like that anyway.
    """
    if tx.dialect.name == "postgresql":
        await tx.execute(text("set transaction isolation level repeatable read"))
        await tx.execute(_UNHURRIED)


async def shut_out(tx: Transaction, *, now: float) -> None:
    """Keep processes from starting on this Postgres until the transaction ends. On SQLite, a lock on a file does that.

    Raises:
        CannotCopy: a process is running on it.
    """
    if tx.dialect.name != "postgresql" or not await _has(tx, "member"):
        return
    # A process that starts has to write its row there.
    await tx.execute(text("lock table member in share mode"))
    if alive := await leases.alive(tx, now=now):
        raise CannotCopy(f"processes of Frontdesk run on this database: stop them first ({', '.join(sorted(alive))})")


async def prepare(tx: Transaction, *, now: float) -> None:
    """Make the tables in an empty database, in the transaction of the copy. Tables without rows may be there.

    Raises:
        CannotCopy: the database has rows, or is served.
        ConfigurationError: the database was made by a newer version.
    """
    if tx.dialect.name == "postgresql":
        # Starts wait here, because each of them looks at the schema first.
        await lock(tx, "migrate")
        await tx.execute(_UNHURRIED)
    await shut_out(tx, now=now)
    await tx.run_sync(revisions.upgrade)
    for table in schema.metadata.sorted_tables:
        if (await tx.execute(select(1).select_from(table).limit(1))).first() is not None:
            raise CannotCopy(f"the database is not empty: its table {table.name} has rows, and nothing was changed")
    # Turns that an earlier desk has finished would count as finished.
    if tx.dialect.name == "postgresql" and await _has(tx, "dbos.workflow_status") and await _has_turns(tx):
        raise CannotCopy("the database is not empty: its schema dbos has rows of an earlier desk")


async def copy_rows(source: Transaction, target: Transaction, *, tell: Telling = lambda _table, _rows: None) -> Counts:
    """Copy every row, and read the copies again to compare.

    Raises:
        CannotCopy: the source's schema is not of this release, a row does not fit the target, or a copy differs.
    """
    if await source.run_sync(revisions.present) != revisions.current():
        raise CannotCopy("the database is not of this version of Frontdesk: `frontdesk migrate` updates an older one")
    counts: Counts = {}
    for table in TABLES:
        counts[table.name] = await _copy(source, target, table)
        tell(table.name, counts[table.name])
        failpoint("table_copied")
    for name in NUMBERED:
        await _count_on(target, name, await _counted(source, name))
    return counts


async def count_rows(tx: Transaction) -> Counts:
    """The number of rows of every table that is copied."""
    counted = {}
    for table in TABLES:
        counted[table.name] = int((await tx.execute(select(func.count()).select_from(table))).scalar_one())
    return counted


async def _copy(source: Transaction, target: Transaction, table: Table) -> int:
    read, written = _Seal(), _Seal()
    async for page in _pages(source, table):
        rows = [_left_behind(table, row) for row in page]
        read.add(rows)
        try:
            await target.execute(insert(table), rows)
        except StatementError as error:
            if getattr(error, "connection_invalidated", False):
                raise
            # Its text may hold what customers wrote.
            reason = type(getattr(error, "orig", None) or error).__name__
            raise CannotCopy(f"a row of {table.name} does not fit the other database ({reason})") from None
    async for page in _pages(target, table):
        written.add(page)
    if read != written:
        raise CannotCopy(f"the copy of {table.name} differs: {read.rows} rows were read and {written.rows} are there")
    return read.rows


def _left_behind(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    """The row without what only belongs to the queue of a fleet."""
    return {**row, "handed": False} if table.name == schema.inbox.name else row


async def _pages(tx: Transaction, table: Table) -> AsyncIterator[list[dict[str, Any]]]:
    """All rows in the order of their keys."""
    keys = list(table.primary_key.columns)
    statement = select(table).order_by(*keys).limit(PAGE)
    page = [dict(row) for row in (await tx.execute(statement)).mappings()]
    while page:
        yield page
        last = tuple_(*(page[-1][key.name] for key in keys))
        page = [dict(row) for row in (await tx.execute(statement.where(tuple_(*keys) > last))).mappings()]


class _Seal:
    """What was read of a table: the number of its rows, and a digest of them in whatever order."""

    def __init__(self) -> None:
        self.rows = 0
        self._digest = 0

    def add(self, page: Sequence[dict[str, Any]]) -> None:
        """Take in more rows."""
        self.rows += len(page)
        for row in page:
            digest = hashlib.blake2b(repr(sorted(row.items())).encode(), digest_size=DIGEST_BYTES).digest()
            self._digest = (self._digest + int.from_bytes(digest, "big")) % (1 << 8 * DIGEST_BYTES)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seal) and (self.rows, self._digest) == (other.rows, other._digest)

    __hash__ = None  # type: ignore[assignment]


async def _counted(tx: Transaction, name: str) -> int:
    """The last number that was given out in the table; 0 if none was."""
    if tx.dialect.name == "postgresql":
        return int((await tx.execute(_LAST_VALUE, {"name": name})).scalar_one_or_none() or 0)
    return int((await tx.execute(_LAST_ROW, {"name": name})).scalar_one_or_none() or 0)


async def _count_on(tx: Transaction, name: str, number: int) -> None:
    """Let new rows get numbers above `number`, and above those that are there."""
    table = schema.metadata.tables[name]
    highest = (await tx.execute(select(func.coalesce(func.max(table.c.id), 0)))).scalar_one()
    if not (number := max(number, int(highest))):
        return
    if tx.dialect.name == "postgresql":
        await tx.execute(_GO_ON, {"name": name, "number": number})
    elif table.dialect_options["sqlite"]["autoincrement"]:
        await tx.execute(_FORGET_LAST_ROW, {"name": name})
        await tx.execute(_NOTE_LAST_ROW, {"name": name, "number": number})


async def _has(tx: Transaction, name: str) -> bool:
    """Whether Postgres has the table."""
    return bool((await tx.execute(text("select to_regclass(:name) is not null"), {"name": name})).scalar_one())


async def _has_turns(tx: Transaction) -> bool:
    """Whether a fleet's queue has entries, finished ones among them."""
    return (await tx.execute(text("select 1 from dbos.workflow_status limit 1"))).first() is not None


_UNHURRIED = text(
    "select set_config(name, case name when 'idle_in_transaction_session_timeout' then '10min' else '0' end, true)"
    " from pg_settings"
    # An older server does not know the last one.
    " where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')"
)
_LAST_VALUE = text(
    "select last_value from pg_sequences"
    " where format('%I.%I', schemaname, sequencename) = pg_get_serial_sequence(:name, 'id')"
)
_GO_ON = text("select setval(pg_get_serial_sequence(:name, 'id'), :number)")
_LAST_ROW = text("select seq from sqlite_sequence where name = :name")
_FORGET_LAST_ROW = text("delete from sqlite_sequence where name = :name")
_NOTE_LAST_ROW = text("insert into sqlite_sequence (name, seq) values (:name, :number)")
