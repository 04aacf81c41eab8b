"""Members of the team who said that they are away."""

from collections.abc import Collection

from sqlalchemy import delete, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_new


async def begin(tx: AsyncConnection, person: str, *, now: float, until: float | None) -> None:
    """The person is away from now on, until a time or until they are back."""
    await end(tx, person)
    await insert_new(tx, schema.away, {"person": person, "since": now, "until": until})


async def end(tx: AsyncConnection, person: str) -> bool:
    """The person is back. False if they were not away."""
    table = schema.away
    ended = await tx.execute(delete(table).where(table.c.person == person).returning(table.c.person))
    return ended.one_or_none() is not None


async def since(tx: AsyncConnection, people: Collection[str], *, now: float) -> dict[str, float]:
    """Those of the people who are away now -> since when."""
    table = schema.away
    still = or_(table.c.until.is_(None), table.c.until > now)
    rows = await tx.execute(select(table.c.person, table.c.since).where(table.c.person.in_(people), still))
    return {row.person: row.since for row in rows}
