"""Summaries of the older turns of an episode. A summary belongs to its thread and is made once."""

from dataclasses import dataclass

from sqlalchemy import bindparam, select
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
    row = (await tx.execute(_LATEST, {"thread_key": thread.key, "number": episode})).one_or_none()
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


_SUMMARY = schema.summary
_LATEST = (
    select(_SUMMARY.c.through, _SUMMARY.c.text)
    .where(_SUMMARY.c.thread == bindparam("thread_key"), _SUMMARY.c.episode == bindparam("number"))
    .order_by(_SUMMARY.c.through.desc())
    .limit(1)
)
