"""Each desk's channel: its messages that change by themselves, when its last alarm rang, and who got its last case.

A desk is named by its channel. Nothing here is the truth about a case; the cases' own rows are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Table, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_new

Name = Literal["queue", "fix"]
"""The desk's two messages that change by themselves: its queue, and its list of things to fix."""
TABLES: Mapping[Name, Table] = {"queue": schema.desk, "fix": schema.fix_list}


@dataclass(frozen=True, slots=True)
class LivingMessage:
    """A message of a desk that is edited in place."""

    channel: str
    number: int
    """It changes when the message is posted anew. The post's key in the outbox contains it."""
    ts: str | None
    """None until Slack has taken the post."""
    shown: str
    """A digest of what the message shows. Empty if that is not known."""
    begun_at: float
    """When its post was planned, in seconds since 1970."""
    name: Name = "queue"

    @property
    def key(self) -> str:
        """The post's key in the outbox."""
        return f"{self.name}/{self.channel}/{self.number}"


async def message(tx: AsyncConnection, channel: str, *, name: Name = "queue") -> LivingMessage | None:
    """The desk's message. None if it never had one."""
    table = TABLES[name]
    columns = (table.c.channel, table.c.number, table.c.ts, table.c.shown, table.c.begun_at)
    row = (await tx.execute(select(*columns).where(table.c.channel == channel))).one_or_none()
    return LivingMessage(*row, name) if row and row.number else None


async def begin_message(
    tx: AsyncConnection, channel: str, *, after: int, now: float, name: Name = "queue"
) -> LivingMessage | None:
    """Plan a post for the message. None if another process has already planned one after that number."""
    table = TABLES[name]
    await insert_new(tx, table, {"channel": channel})
    statement = update(table).where(table.c.channel == channel, table.c.number == after)
    planned = statement.values(number=after + 1, ts=None, shown="", begun_at=now).returning(table.c.number)
    number = (await tx.execute(planned)).scalar_one_or_none()
    return None if number is None else LivingMessage(channel, number, None, "", now, name)


async def end_message(tx: AsyncConnection, message: LivingMessage, ts: str) -> None:
    """Slack has taken the post."""
    table = TABLES[message.name]
    await tx.execute(
        update(table).where(table.c.channel == message.channel, table.c.number == message.number).values(ts=ts)
    )


async def may_edit(tx: AsyncConnection, message: LivingMessage, *, now: float, pause: float) -> bool:
    """Whether the caller may edit the message now: no process has for `pause` seconds. From now on others may not."""
    table = TABLES[message.name]
    theirs = (table.c.channel == message.channel, table.c.number == message.number, table.c.edited_at <= now - pause)
    changed = await tx.execute(update(table).where(*theirs).values(edited_at=now).returning(table.c.channel))
    return changed.one_or_none() is not None


async def note_shown(tx: AsyncConnection, message: LivingMessage, shown: str) -> None:
    """The message shows this now."""
    table = TABLES[message.name]
    await tx.execute(
        update(table).where(table.c.channel == message.channel, table.c.number == message.number).values(shown=shown)
    )


async def may_ring(tx: AsyncConnection, channel: str, *, now: float, pause: float) -> bool:
    """Whether an alarm may ring at the desk now: none has for `pause` seconds. From now on others may not."""
    table = schema.desk
    await insert_new(tx, table, {"channel": channel})
    statement = update(table).where(table.c.channel == channel, table.c.rang_at <= now - pause)
    changed = await tx.execute(statement.values(rang_at=now).returning(table.c.channel))
    return changed.one_or_none() is not None


async def last_assigned(tx: AsyncConnection, channel: str) -> tuple[str, int]:
    """The person whom the desk gave its last case, empty if there is none, and how many cases it has given."""
    table = schema.desk
    row = (await tx.execute(select(table.c.assigned, table.c.assignments).where(table.c.channel == channel))).first()
    return (row.assigned, row.assignments) if row else ("", 0)


async def may_assign(tx: AsyncConnection, channel: str, person: str, *, after: int) -> bool:
    """Whether the desk may give the person a case now: it has given none since the `after` that were counted."""
    table = schema.desk
    await insert_new(tx, table, {"channel": channel})
    statement = update(table).where(table.c.channel == channel, table.c.assignments == after)
    changed = await tx.execute(statement.values(assigned=person, assignments=after + 1).returning(table.c.channel))
    return changed.one_or_none() is not None
