"""What databases spell differently, such as inserting rows that may already exist, and a lock for one transaction.

To build a statement takes SQLAlchemy longer than to execute it. So statements that every answer executes are built
once, with `bindparam` for their values, and are constants of their modules.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Executable, Table, and_, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

AT_ONCE = 32
"""The number of values in a statement with one alternative per value. For more of them SQLAlchemy takes
milliseconds."""

Each = TypeVar("Each")


def insert_into(tx: AsyncConnection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert that can say what happens if the row already exists."""
    return insert_in(tx.dialect.name, table)


def insert_in(dialect: str, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Like `insert_into`, for statements that are built once for each dialect."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


@cache
def _inserting(dialect: str, table: Table, *columns: str) -> Executable:
    """An insert of new rows only, which returns the `columns` of those that it inserted."""
    statement = insert_in(dialect, table).on_conflict_do_nothing()
    return statement.returning(*(table.c[name] for name in columns)) if columns else statement.inline()


async def insert_new(tx: AsyncConnection, table: Table, values: Mapping[str, Any]) -> Any | None:
    """Insert one row. Returns its first primary-key value, or None if a unique column says that it already exists.

    On Postgres it waits for another transaction that is inserting the same row. None then means that the other one
    has committed, and the next statement of this transaction sees its row.
    """
    statement = _inserting(tx.dialect.name, table, next(iter(table.primary_key.columns)).key)
    return (await tx.execute(statement, dict(values))).scalar_one_or_none()


async def insert_all_new(
    tx: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]], *columns: str
) -> list[Any]:
    """Insert rows in one statement, except those that already exist. Returns the `columns` of the inserted rows.

    Every process must pass rows with the same unique values in the same order. Otherwise two processes could
    deadlock.
    """
    if not rows:
        return []
    return [*await tx.execute(_inserting(tx.dialect.name, table, *columns), list(rows))]


async def insert_each_new(tx: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows in the given order, except those that already exist."""
    if rows:
        await tx.execute(_inserting(tx.dialect.name, table), list(rows))


def in_batches(values: Iterable[Each]) -> Iterator[list[Each]]:
    """The values in batches that one statement can take."""
    left = iter(values)
    while some := list(islice(left, AT_ONCE)):
        yield some


def begins(column: ColumnElement[str], prefix: str) -> ColumnElement[bool]:
    """Whether the text begins with the prefix, as a range, because no index works for `like … escape`.

    On Postgres the column must be ordered by characters (`bot.store.schema.KEY`).
    """
    return and_(column >= prefix, column < after_prefix(prefix))


def after_prefix(prefix: str) -> str:
    """The first text, in the order of characters, after all that begin with the prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def begins_any(column: ColumnElement[str], prefixes: Sequence[str]) -> list[ColumnElement[bool]]:
    """The alternatives that the text begins with one of the prefixes.

    The last prefix is repeated up to a power of two. SQLAlchemy compiles a statement again for each new number of
    alternatives, which takes longer than the database does.
    """
    if not prefixes:
        return []
    wanted = 1 << (len(prefixes) - 1).bit_length()
    return [begins(column, prefix) for prefix in [*prefixes, *[prefixes[-1]] * (wanted - len(prefixes))]]


async def clock_differs(tx: AsyncConnection, now: float) -> float:
    """The seconds by which `now` is ahead of the clock of Postgres' machine (negative: behind). 0.0 on SQLite, which
    uses our clock.
    """
    if tx.dialect.name == "sqlite":
        return 0.0
    return now - float((await tx.execute(select(func.extract("epoch", func.clock_timestamp())))).scalar_one())


async def lock(tx: AsyncConnection, name: str) -> None:
    """Wait until no other transaction holds the lock of this name, and hold it until this one ends.

    This is for code that reads rows and then adds one depending on them, when there is no row yet to compare with.
    SQLite has only one writer at a time. Code that needs two locks takes them in the order of their names.
    """
    if tx.dialect.name == "postgresql":
        await tx.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))
