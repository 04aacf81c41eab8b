"""Fencing: the row of the inbox belongs to the attempt that began last. Writes of an older attempt are refused.

A process that was frozen for longer than its lease does not know that another one has taken over its work. It finds
out here: everything that an attempt stores is written in a transaction that checks this first.

working_on   this task, and the tasks it starts, work on the row as this attempt
hold         refuse the transaction if that attempt is no longer the latest
hold_row     the same for a given row and attempt
confirm      the database has just said that the attempt is the latest
is_sure      it has said so within a second
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from sqlalchemy import Transaction, bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.errors import Superseded
from bot.store import schema

_HOLDING = select(schema.inbox.c.fence).where(schema.inbox.c.id == bindparam("row")).with_for_update(read=True)
"""On Postgres, a later attempt that begins waits for the transaction. SQLite has only one writer."""
SURE_SECONDS = 1.0
"""How long an attempt counts as the latest after the database has said so. A later one begins only after a lease has
expired, which takes many times as long. A process that was frozen meanwhile finds out by its clock."""


@dataclass(slots=True)
class _Attempt:
    row: int
    fence: int
    confirmed_at: float
    held_in: Transaction | None = None
    """The transaction that held it last."""


_CURRENT: ContextVar[_Attempt | None] = ContextVar("attempt", default=None)
"""The row and its fence. None outside of a turn. Tasks inherit it, and share what one of them finds out."""


@contextmanager
def working_on(row: int, fence: int) -> Iterator[None]:
    """What is done in this context is done by this attempt at the row, which has just begun."""
    before = _CURRENT.set(_Attempt(row, fence, time.monotonic()))
    try:
        yield
    finally:
        _CURRENT.reset(before)


async def hold(tx: AsyncConnection) -> None:
    """Stop later attempts at the row from beginning until the transaction ends. Does nothing outside of a turn.

    Raises:
        Superseded: a later attempt has begun.
    """
    current = _CURRENT.get()
    if current is None:
        return
    transaction = tx.sync_connection.get_transaction() if tx.sync_connection is not None else None
    if transaction is None or transaction is not current.held_in:
        await hold_row(tx, current.row, current.fence)
        current.held_in = transaction


def confirm(row: int, fence: int) -> None:
    """The database has just said that this attempt at the row is the latest."""
    current = _CURRENT.get()
    if current is not None and (current.row, current.fence) == (row, fence):
        current.confirmed_at = time.monotonic()


def is_sure(row: int, fence: int) -> bool:
    """Whether this attempt at the row was the latest within the last second. False outside of its turn."""
    current = _CURRENT.get()
    if current is None or (current.row, current.fence) != (row, fence):
        return False
    return time.monotonic() - current.confirmed_at < SURE_SECONDS


async def hold_row(tx: AsyncConnection, row: int, fence: int) -> None:
    """Like `hold`, for this row and attempt."""
    latest = (await tx.execute(_HOLDING, {"row": row})).scalar_one_or_none()
    if latest != fence:
        raise Superseded(f"attempt {fence} at row {row}: {latest} has begun")
