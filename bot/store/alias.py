"""What a name points to now, for all processes that share the database."""

from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_into


@dataclass(frozen=True, slots=True)
class Alias:
    """A name, and what it points to."""

    name: str
    target: str
    set_by: str
    set_at: float


async def of(tx: AsyncConnection, name: str) -> Alias | None:
    """What a name points to. None if it was never set."""
    table = schema.alias
    row = (await tx.execute(select(table).where(table.c.name == name))).one_or_none()
    return Alias(*row) if row else None


async def beginning(tx: AsyncConnection, prefix: str) -> tuple[Alias, ...]:
    """All aliases whose names begin with the prefix, by name."""
    table = schema.alias
    wanted = select(table).where(table.c.name.startswith(prefix, autoescape=True)).order_by(table.c.name)
    return tuple(Alias(*row) for row in await tx.execute(wanted))


async def point(tx: AsyncConnection, name: str, target: str, *, by: str, now: float) -> Alias:
    """Point a name to a target, whatever it pointed to before."""
    table = schema.alias
    fresh = Alias(name, target, by, now)
    values = {"target": fresh.target, "set_by": fresh.set_by, "set_at": fresh.set_at}
    statement = insert_into(tx, table).values(name=name, **values)
    await tx.execute(statement.on_conflict_do_update(index_elements=[table.c.name], set_=values))
    return fresh


async def drop(tx: AsyncConnection, alias: Alias) -> None:
    """Delete an alias, unless it was set again since it was read."""
    table = schema.alias
    await tx.execute(delete(table).where(table.c.name == alias.name, table.c.set_at == alias.set_at))
