"""When recurring work is due next. There is one row for all processes, and one of them does the work."""

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_new


async def due(tx: AsyncConnection, name: str) -> float | None:
    """When it is due next. None if it was never planned."""
    table = schema.schedule
    return (await tx.execute(select(table.c.due).where(table.c.name == name))).scalar_one_or_none()


async def plan(tx: AsyncConnection, name: str, *, rule: str, due: float) -> None:
    """Plan it for then, unless it is already planned by the same rule."""
    table, rule = schema.schedule, rule[:120]
    if await insert_new(tx, table, {"name": name, "rule": rule, "due": due}) is None:
        await tx.execute(update(table).where(table.c.name == name, table.c.rule != rule).values(rule=rule, due=due))


async def take(tx: AsyncConnection, name: str, *, now: float, then: float) -> bool:
    """Whether it is due and the caller has to do it. For all others it is due at `then`."""
    table = schema.schedule
    statement = update(table).where(table.c.name == name, table.c.due <= now).values(due=then).returning(table.c.name)
    return (await tx.execute(statement)).scalar_one_or_none() is not None


async def forget(tx: AsyncConnection, name: str) -> None:
    """Delete the plan."""
    table = schema.schedule
    await tx.execute(table.delete().where(table.c.name == name))
