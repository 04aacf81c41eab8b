"""Dead letters: inbox rows that were set aside because they failed each time, or could not be stored as they came."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema, turns
from bot.store.bodies import Body, decode


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A row that is set aside."""

    id: int
    kind: str
    thread: str
    """The thread's key: team/channel/timestamp."""
    author: str
    reason: str
    """"failed" or "unstorable"."""
    failures: int
    """The number of tries that failed. The one that set the row aside does not count."""
    body: Body
    received_at: float


async def latest(tx: AsyncConnection, *, limit: int) -> Sequence[DeadLetter]:
    """The latest dead letters, with the newest last."""
    table = schema.inbox
    rows = await tx.execute(select(table).where(table.c.state == "dead").order_by(table.c.id.desc()).limit(limit))
    return [
        DeadLetter(
            id=row.id,
            kind=row.kind,
            thread=row.thread,
            author=row.author,
            reason=row.reason,
            failures=row.attempts - 1,
            body=decode(row.kind, row.body),
            received_at=row.received_at,
        )
        for row in reversed(rows.all())
    ]


async def retry(tx: AsyncConnection, item_id: int, *, now: float) -> str:
    """Open the row again, with all its tries. The new answer replaces what is shown now.

    Returns why this is not possible, as a clause, or "" if it is done.
    """
    table = schema.inbox
    found = select(table.c.kind, table.c.body, table.c.thread).where(table.c.id == item_id, table.c.state == "dead")
    row = (await tx.execute(found)).one_or_none()
    if row is None:
        return f"there is no dead letter {item_id}"
    body = decode(row.kind, row.body)
    if body.is_erased:
        return f"the message of dead letter {item_id} was deleted since: nothing is left to work on"
    if body.unstorable:
        return f"dead letter {item_id} could not be stored as it came, and no try brings back what is missing"
    statement = (
        update(table)
        .where(table.c.id == item_id, table.c.state == "dead")
        .values(state="new", reason="", attempts=0, finished_at=None)
    )
    await tx.execute(statement)
    await turns.reopen(tx, item_id, thread=row.thread, now=now)
    return ""
