"""How often something may be done: one row for each person and thing, shared by all processes.

The generic cell rate algorithm (GCRA, ATM Forum TM 4.0): a row holds the moment until which its owner has used
up the pace, so that a count over a sliding minute needs no list of what was done in it.
"""

from sqlalchemy import case, literal
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema


async def take(tx: AsyncConnection, key: str, *, times: int, seconds: float, now: float) -> bool:
    """Whether it may be done once more, with `times` in `seconds` as the bound; when it may, it counts as done."""
    table = schema.pace
    step = seconds / times
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    start = case((table.c.until > now, table.c.until), else_=literal(now))
    statement = (
        insert(table)
        .values(key=key[:128], until=now + step)
        .on_conflict_do_update(
            index_elements=[table.c.key],
            set_={"until": start + step},
            # A hundredth of a step absorbs what adding fractions up leaves over.
            where=start + step <= now + seconds + step / 100,
        )
        .returning(table.c.until)
    )
    return (await tx.execute(statement)).scalar_one_or_none() is not None
