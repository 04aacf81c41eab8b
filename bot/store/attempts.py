"""Whose a row of the inbox is: whoever began on it last. What an older attempt wants to write is refused.

A process that was frozen for longer than its lease does not know that another has taken its work over. It finds out
here: everything that an attempt leaves behind is written in a transaction that looks first.

working_on   this task and what it starts work on the row, by this attempt
hold         refuse the transaction when that attempt is not the latest any more
hold_row     the same for an attempt that is named
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.errors import Superseded
from bot.store import schema

_CURRENT: ContextVar[tuple[int, int] | None] = ContextVar("attempt", default=None)
"""The row and its fence; None outside of a turn. It goes with the task, as a deadline does."""


@contextmanager
def working_on(row: int, fence: int) -> Iterator[None]:
    """What is done in this context is done by this attempt at the row."""
    before = _CURRENT.set((row, fence))
    try:
        yield
    finally:
        _CURRENT.reset(before)


async def hold(tx: AsyncConnection) -> None:
    """Keep later attempts at the row from beginning until the transaction ends; nothing outside of a turn.

    Raises:
        Superseded: one has begun.
    """
    if current := _CURRENT.get():
        await hold_row(tx, *current)


async def hold_row(tx: AsyncConnection, row: int, fence: int) -> None:
    """The same for this row and attempt."""
    # Postgres: whoever begins a later attempt waits for this transaction; SQLite knows only one writer anyway.
    statement = select(schema.inbox.c.fence).where(schema.inbox.c.id == row).with_for_update(read=True)
    latest = (await tx.execute(statement)).scalar_one_or_none()
    if latest != fence:
        raise Superseded(f"attempt {fence} at row {row}: {latest} has begun")
