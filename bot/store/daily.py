"""The figures of days whose rows are gone or have lost their words. They stay as long as the database.

put     store the figures of days, in place of earlier ones
since   the figures of the days from a time on
newest  the latest day that has some
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_into

SECONDS = 86_400.0
"""The length of a day."""
Name = Literal["report", "spending"]
"""Whose figures they are: the report's, or those of what models cost."""


async def put(tx: AsyncConnection, name: Name, figures: Mapping[str, Any]) -> None:
    """Store the figures of each day, as 2026-11-30. A second time, they replace the first ones."""
    table = schema.daily
    for day, value in figures.items():
        statement = insert_into(tx, table).values(day=day, name=name, figures=value)
        await tx.execute(
            statement.on_conflict_do_update(
                index_elements=table.primary_key, set_={"figures": statement.excluded.figures}
            )
        )


async def since(tx: AsyncConnection, name: Name, start: float) -> dict[str, Any]:
    """Day -> its figures, of all days that end after `start`, in order."""
    table = schema.daily
    where = (table.c.name == name, table.c.day >= day_of(start))
    rows = await tx.execute(select(table.c.day, table.c.figures).where(*where).order_by(table.c.day))
    return {row.day: row.figures for row in rows}


async def newest(tx: AsyncConnection, name: Name) -> str | None:
    """The latest day that has figures of this name."""
    table = schema.daily
    day: str | None = (await tx.execute(select(func.max(table.c.day)).where(table.c.name == name))).scalar_one()
    return day


def day_of(at: float) -> str:
    """The day (UTC), as 2026-11-30."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def start_of(day: str) -> float:
    """When a day (UTC) begins."""
    return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
