"""The shop's own events that say of an order: look again. Each is a row until it was looked at.

Only events about an order that an action is about to change are stored. Nothing in them is believed.

add       store one
take      the due ones, for one process alone
postpone  look at them later, or never again
purge     delete what is too old to come again
"""

from collections import defaultdict
from collections.abc import Collection, Mapping

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.actions import RUNNING
from bot.store.statements import insert_new

KEPT_SECONDS = 3_600.0
"""An id is remembered for so long. Its signature is void much sooner."""


async def add(tx: AsyncConnection, event: str, subject: str, *, now: float) -> bool:
    """Store the event if an action could learn from it. False if none could, or if it is here already."""
    action = schema.action
    concerned = exists().where(action.c.subject == subject, action.c.state.in_(("offered", *RUNNING)))
    if not (await tx.execute(select(concerned))).scalar_one():
        return False
    values = {"id": event, "subject": subject, "received_at": now, "due": now}
    return await insert_new(tx, schema.shop_event, values) is not None


async def count_waiting(tx: AsyncConnection) -> int:
    """The number of events that nobody has looked at."""
    table = schema.shop_event
    waiting = select(func.count()).select_from(table).where(table.c.due.is_not(None))
    return int((await tx.execute(waiting)).scalar_one())


async def take(tx: AsyncConnection, *, now: float, lease: float, limit: int) -> Mapping[str, list[str]]:
    """Subject -> ids of its due events. If the process that took them is gone, they are due again after `lease`."""
    table = schema.shop_event
    due = (table.c.due.is_not(None), table.c.due <= now)
    found = (await tx.execute(select(table.c.id).where(*due).order_by(table.c.due).limit(limit))).scalars().all()
    if not found:
        return {}
    statement = update(table).where(table.c.id.in_(found), *due).values(due=now + lease)
    taken: defaultdict[str, list[str]] = defaultdict(list)
    for row in await tx.execute(statement.returning(table.c.id, table.c.subject)):
        taken[row.subject].append(row.id)
    return taken


async def postpone(tx: AsyncConnection, events: Collection[str], due: float | None) -> None:
    """Look at them again then. None: they were looked at, and only their ids stay, so that none is looked at twice."""
    table = schema.shop_event
    await tx.execute(update(table).where(table.c.id.in_(events)).values(due=due))


async def purge(tx: AsyncConnection, *, now: float) -> None:
    """Delete those that are too old, looked at or not."""
    table = schema.shop_event
    await tx.execute(delete(table).where(table.c.received_at < now - KEPT_SECONDS))
