"""What waits in the database, and since when: for an operator who wants to know what is stuck.

messages      messages and presses that are not worked on to their end
line          the open messages of customers, for the places in the line
posts         what Slack has not taken yet; `posts_by_channel` counts it for each channel
cases         cases that nobody has claimed
actions       changes of orders of which nobody knows whether they took effect
dead_letters  what was set aside of late
overdue       recurring work that should have begun
roles         the processes that share the database
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, FromClause, and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import outbox, schema


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits of one kind."""

    number: int
    since: float
    """Since when the oldest waits. 0.0 if nothing does."""
    about: tuple[str, ...] = ()
    """What the oldest are, such as their numbers or channels."""


EXAMPLES = 5


async def messages(tx: AsyncConnection) -> Waiting:
    """Messages and presses that are not worked on to their end, with their numbers."""
    table = schema.inbox
    return await _waiting(tx, table, table.c.state == "new", since=table.c.received_at, about=table.c.id)


@dataclass(frozen=True, slots=True)
class LineRow:
    """An open message of a customer."""

    id: int
    thread: str
    whose: str
    """The author, unique across workspaces."""
    since: float
    is_begun: bool
    """Whether a process has taken it up."""


async def line(tx: AsyncConnection, *, limit: int) -> list[LineRow]:
    """The open messages of customers, in the order in which they were stored."""
    table = schema.inbox
    columns = (table.c.id, table.c.thread, table.c.author_team, table.c.author, table.c.received_at, table.c.fence)
    where = (table.c.state == "new", table.c.kind.in_(("message", "edit")))
    rows = await tx.execute(select(*columns).where(*where).order_by(table.c.id).limit(limit))
    return [
        LineRow(row.id, row.thread, f"{row.author_team}/{row.author}", row.received_at, row.fence > 0) for row in rows
    ]


async def posts(tx: AsyncConnection) -> Waiting:
    """What Slack has not taken yet, with its channels."""
    table = schema.outbox
    is_open = table.c.state.in_(outbox.OPEN)
    return await _waiting(tx, table, is_open, since=table.c.created_at, about=table.c.channel)


async def posts_by_channel(tx: AsyncConnection) -> dict[str, tuple[int, float]]:
    """Channel -> how many posts Slack has not taken yet, and since when the oldest waits."""
    table = schema.outbox
    counted = select(table.c.channel, func.count(), func.min(table.c.created_at))
    rows = await tx.execute(counted.where(table.c.state.in_(outbox.OPEN)).group_by(table.c.channel))
    return {channel: (int(number), float(since)) for channel, number, since in rows}


async def cases(tx: AsyncConnection) -> Waiting:
    """Cases that nobody has claimed during opening hours, with their numbers."""
    table = schema.kase
    since = func.coalesce(table.c.waiting_since, table.c.opened_at)
    return await _waiting(tx, table, table.c.state == "waiting", since=since, about=table.c.id)


async def actions(tx: AsyncConnection) -> Waiting:
    """Changes of orders that staff must look at in the shop, with their references."""
    table = schema.action
    left = and_(table.c.state.in_(("stuck", "partly")), ~table.c.settled)
    since = func.coalesce(table.c.sent_at, table.c.offered_at)
    return await _waiting(tx, table, left, since=since, about=table.c.ref)


async def dead_letters(tx: AsyncConnection, *, since: float) -> Waiting:
    """What was set aside since then, with its numbers."""
    table = schema.inbox
    of_late = and_(table.c.state == "dead", table.c.finished_at >= since)
    return await _waiting(tx, table, of_late, since=table.c.finished_at, about=table.c.id)


async def overdue(tx: AsyncConnection, *, before: float) -> list[str]:
    """The names of recurring work that was due before then."""
    table = schema.schedule
    return list((await tx.execute(select(table.c.name).where(table.c.due < before).order_by(table.c.name))).scalars())


async def roles(tx: AsyncConnection, *, now: float) -> Counter[str]:
    """Role -> the number of processes that are alive."""
    table = schema.member
    statement = select(table.c.role, func.count()).where(table.c.until > now).group_by(table.c.role)
    return Counter({role: int(number) for role, number in await tx.execute(statement)})


async def _waiting(
    tx: AsyncConnection,
    table: FromClause,
    where: ColumnElement[bool],
    *,
    since: ColumnElement[Any],
    about: ColumnElement[Any],
) -> Waiting:
    counted = select(func.count(), func.coalesce(func.min(since), 0.0)).select_from(table).where(where)
    number, oldest = (await tx.execute(counted)).one()
    if not number:
        return Waiting(0, 0.0)
    named = (await tx.execute(select(about).where(where).order_by(since).limit(EXAMPLES))).scalars()
    return Waiting(int(number), float(oldest), tuple(dict.fromkeys(str(each) for each in named)))
