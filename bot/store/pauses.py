"""Channels in which staff have paused the assistant."""

from dataclasses import dataclass

from sqlalchemy import bindparam, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import schema
from bot.store.statements import insert_new
from bot.store.threads import FINDING_THREAD, LOCAL_CHANGES, ThreadState


@dataclass(frozen=True, slots=True)
class Pause:
    """One paused channel."""

    channel: str
    by: str
    """The Slack user id of the person who paused it."""
    at: float


async def is_paused(tx: AsyncConnection, channel: str) -> bool:
    """Whether the assistant is paused in the channel."""
    return (await tx.execute(_PAUSED, {"where": channel})).one_or_none() is not None


async def begin(tx: AsyncConnection, channel: str, *, by: str, now: float) -> bool:
    """Pause the assistant in the channel. False if it already is."""
    return await insert_new(tx, schema.pause, {"channel": channel, "by": by, "at": now}) is not None


async def end(tx: AsyncConnection, channel: str) -> bool:
    """End the pause in the channel. False if there is none."""
    table = schema.pause
    ended = await tx.execute(delete(table).where(table.c.channel == channel).returning(table.c.channel))
    return ended.one_or_none() is not None


async def latest(tx: AsyncConnection) -> list[Pause]:
    """All pauses, the oldest first."""
    table = schema.pause
    rows = await tx.execute(select(table).order_by(table.c.at))
    return [Pause(row.channel, row.by, row.at) for row in rows]


async def with_thread(tx: AsyncConnection, thread: ThreadRef) -> tuple[ThreadState | None, bool]:
    """The thread's state, None if it is no conversation, and whether its channel is paused: with one query."""
    changes = LOCAL_CHANGES.count
    row = (await tx.execute(_FINDING, {"name": thread.key})).one_or_none()
    if row is None:
        return None, await is_paused(tx, thread.channel)
    state = ThreadState(row.agent, row.language, row.episode, row.note, row.epoch, changes)
    return state, row.channel is not None


_FINDING = FINDING_THREAD.outerjoin_from(
    schema.thread, schema.pause, schema.pause.c.channel == schema.thread.c.channel
).add_columns(schema.pause.c.channel)
_PAUSED = select(schema.pause.c.channel).where(schema.pause.c.channel == bindparam("where"))
