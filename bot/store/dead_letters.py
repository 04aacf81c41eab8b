"""Dead letters: inbox rows that were set aside because they failed each time, or could not be stored as they came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A row that is set aside."""

    id: int
    kind: str
    thread: str
    """Its key, as team/channel/timestamp."""
    author: str
    reason: str
    """"failed" or "unstorable"."""
    attempts: int
    body: Mapping[str, Any]
    received_at: float


async def latest(tx: AsyncConnection, *, limit: int) -> Sequence[DeadLetter]:
    """The newest, the newest last."""
    table = schema.inbox
    rows = await tx.execute(select(table).where(table.c.state == "dead").order_by(table.c.id.desc()).limit(limit))
    return [
        DeadLetter(
            id=row.id,
            kind=row.kind,
            thread=row.thread,
            author=row.author,
            reason=row.reason,
            attempts=row.attempts,
            body=row.body,
            received_at=row.received_at,
        )
        for row in reversed(rows.all())
    ]


async def retry(tx: AsyncConnection, item_id: int) -> bool:
    """Open the row again, with all its tries; False when it is no dead letter."""
    table = schema.inbox
    statement = (
        update(table)
        .where(table.c.id == item_id, table.c.state == "dead")
        .values(state="new", reason="", attempts=0, finished_at=None)
        .returning(table.c.id)
    )
    return (await tx.execute(statement)).scalar_one_or_none() is not None
