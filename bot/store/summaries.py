"""Summaries of the older turns of an episode. A summary belongs to its thread and is made once."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import attempts, schema
from bot.store.statements import insert_new


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of an episode up to one of its turns."""

    through: str
    """The timestamp of the last turn that it covers."""
    text: str


async def latest(tx: AsyncConnection, thread: ThreadRef, episode: int) -> Summary | None:
    """The summary that covers most of the episode. None if there is none yet."""
    table = schema.summary
    statement = (
        select(table.c.through, table.c.text)
        .where(table.c.thread == thread.key, table.c.episode == episode)
        .order_by(table.c.through.desc())
        .limit(1)
    )
    row = (await tx.execute(statement)).one_or_none()
    return Summary(row.through, row.text) if row else None


async def save(tx: AsyncConnection, thread: ThreadRef, episode: int, summary: Summary, *, now: float) -> bool:
    """Store a summary. False if there is already one up to that turn. Superseded if its turns were erased."""
    await attempts.hold(tx)
    values = {
        "thread": thread.key,
        "episode": episode,
        "through": summary.through,
        "text": summary.text,
        "made_at": now,
    }
    return await insert_new(tx, schema.summary, values) is not None
