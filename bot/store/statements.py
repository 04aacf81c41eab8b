"""What databases spell differently: inserting what may be there already, and a lock for one transaction."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Table, and_, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

AT_ONCE = 32
"""Values in one statement that makes an alternative of each: SQLAlchemy takes milliseconds for more of them."""

Each = TypeVar("Each")


def insert_into(tx: AsyncConnection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert that may say what is done when the row is there already."""
    return sqlite.insert(table) if tx.dialect.name == "sqlite" else postgresql.insert(table)


async def insert_new(tx: AsyncConnection, table: Table, values: Mapping[str, Any]) -> Any | None:
    """Insert one row; its first primary-key value, or None when a unique column says it is there already.

    On Postgres it waits for another transaction that is inserting the same. None then means that the other one has
    committed, and the next statement of this transaction sees its row.
    """
    key = next(iter(table.primary_key.columns))
    statement = insert_into(tx, table).values(**values).on_conflict_do_nothing().returning(key)
    return (await tx.execute(statement)).scalar_one_or_none()


async def insert_all_new(
    tx: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]], *columns: str
) -> list[Any]:
    """Insert rows in one statement, except those that are there already; the `columns` of those that were inserted.

    Rows of the same unique value come in the same order in every process, or two of them may wait for each other.
    """
    if not rows:
        return []
    statement = insert_into(tx, table).on_conflict_do_nothing().returning(*(table.c[name] for name in columns))
    return [*await tx.execute(statement, list(rows))]


async def insert_each_new(tx: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows in the order in which they are given, except those that are there already."""
    if rows:
        await tx.execute(insert_into(tx, table).on_conflict_do_nothing().inline(), list(rows))


def in_batches(values: Iterable[Each]) -> Iterator[list[Each]]:
    """The values, as many together as one statement takes."""
    left = iter(values)
    while some := list(islice(left, AT_ONCE)):
        yield some


def begins(column: ColumnElement[str], prefix: str) -> ColumnElement[bool]:
    """Whether the text begins with the prefix, as a range: for `like … escape` no index serves.

    On Postgres the column must be one that characters put in order (`bot.store.schema.KEY`).
    """
    return and_(column >= prefix, column < prefix[:-1] + chr(ord(prefix[-1]) + 1))


def begins_any(column: ColumnElement[str], prefixes: Sequence[str]) -> list[ColumnElement[bool]]:
    """The alternatives that the text begins with one of the prefixes.

    The last prefix is repeated up to a power of two: SQLAlchemy compiles a statement again for each new number of
    alternatives, which takes longer than the database does.
    """
    if not prefixes:
        return []
    wanted = 1 << (len(prefixes) - 1).bit_length()
    return [begins(column, prefix) for prefix in [*prefixes, *[prefixes[-1]] * (wanted - len(prefixes))]]


async def clock_differs(tx: AsyncConnection, now: float) -> float:
    """Seconds by which `now` is ahead of the clock of Postgres' machine, behind when negative; 0.0 on SQLite, which has
    ours."""
    if tx.dialect.name == "sqlite":
        return 0.0
    return now - float((await tx.execute(select(func.extract("epoch", func.clock_timestamp())))).scalar_one())


async def lock(tx: AsyncConnection, name: str) -> None:
    """Wait until no other transaction holds the lock of this name, and hold it until this one ends.

    For what reads rows and adds one by what they say, where there is no row yet to compare with. SQLite has one writer
    at a time anyway. Who needs two locks takes them in the order of their names.
    """
    if tx.dialect.name == "postgresql":
        await tx.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))
