"""What the service that tracks parcels calls each tracking number, so that it is asked to track a number once.

find      the service's id for a number
order_of  the order whose parcel an id of the service stands for
save      remember an id, and forget those that are too old
"""

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.clock import DAY
from bot.store import schema
from bot.store.statements import insert_into

KEPT_SECONDS = 90 * DAY
"""Carriers use their numbers again. EasyPost, too, makes a new tracker for a number after three months."""


async def find(tx: AsyncConnection, number: str, *, now: float) -> str:
    """The service's id for a tracking number. Empty if there is none, or if it is too old."""
    table = schema.tracker
    statement = select(table.c.id).where(table.c.number == number, table.c.created_at > now - KEPT_SECONDS)
    return (await tx.execute(statement)).scalar_one_or_none() or ""


async def order_of(tx: AsyncConnection, ident: str) -> str:
    """The order whose parcel is meant. Empty if nobody has asked about it."""
    table = schema.tracker
    return (await tx.execute(select(table.c.order_id).where(table.c.id == ident).limit(1))).scalar_one_or_none() or ""


async def save(tx: AsyncConnection, number: str, ident: str, *, order: str, now: float) -> None:
    """Remember the service's id for a number, instead of an earlier one."""
    table = schema.tracker
    await tx.execute(delete(table).where(table.c.created_at < now - KEPT_SECONDS))
    values = {"id": ident, "order_id": order, "created_at": now}
    statement = insert_into(tx, table).values(number=number, **values)
    await tx.execute(statement.on_conflict_do_update(index_elements=[table.c.number], set_=values))
