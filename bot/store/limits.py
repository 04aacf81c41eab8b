"""How often something may be done: rows that all processes share.

The generic cell rate algorithm (GCRA, ATM Forum TM 4.0): a row holds the moment until which its owner has used
up the pace, so that a count over a sliding minute needs no list of what was done in it.

take      whether something may be done now
reserve   when it may be done, and then it counts as done
pause     nobody does it until then
prune     forget who has used up nothing for long
take_slot       one of so many slots, each free again at a time of its own; `free_slot` gives it back
"""

from dataclasses import dataclass

from sqlalchemy import case, delete, func, literal, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.clock import DAY
from bot.store import schema
from bot.store.statements import insert_all_new, insert_into

PRUNED_SECONDS = DAY
"""A clock that is put back by less finds what was used up."""


async def take(tx: AsyncConnection, key: str, *, times: int, seconds: float, now: float) -> bool:
    """Whether it may be done once more, with `times` in `seconds` as the bound; when it may, it counts as done."""
    table = schema.pace
    step = seconds / times
    start = case(
        # Further ahead than anybody gets: the clock was put back. What was used up then is still used up, but for one.
        (table.c.until > now + seconds + step, literal(now + seconds - step)),
        (table.c.until > now, table.c.until),
        else_=literal(now),
    )
    statement = (
        insert_into(tx, table)
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


async def reserve(
    tx: AsyncConnection, key: str, *, burst: int, step: float, times: int, patience: float, now: float
) -> float:
    """Take `times` calls, of which `burst` may come at once and then one every `step` seconds.

    The seconds until the first of them may be made, the others a step later each; less than nothing when there was
    room to spare. More than `patience`, and nothing was taken.
    """
    table = schema.pace
    start = case((table.c.until > now, table.c.until), else_=literal(now))
    lead = (burst - 1) * step
    statement = (
        insert_into(tx, table)
        .values(key=key[:128], until=now + times * step)
        .on_conflict_do_update(
            index_elements=[table.c.key],
            set_={"until": start + times * step},
            # What adding fractions up leaves over must not count as lateness.
            where=start <= now + patience + lead + step / 1_000,
        )
        .returning(table.c.until)
    )
    until = (await tx.execute(statement)).scalar_one_or_none()
    if until is not None:
        return min(float(until) - times * step - lead - now, patience)
    until = (await tx.execute(select(table.c.until).where(table.c.key == key[:128]))).scalar_one()
    return max(float(until) - lead - now, patience + step / 1_000)


async def prune(tx: AsyncConnection, *, now: float) -> None:
    """Forget rows that have meant nothing for a day."""
    await tx.execute(delete(schema.pace).where(schema.pace.c.until < now - PRUNED_SECONDS))


async def pause(tx: AsyncConnection, key: str, *, until: float) -> None:
    """Move the moment until which the pace is used up, if it is earlier."""
    table = schema.pace
    await tx.execute(
        insert_into(tx, table)
        .values(key=key[:128], until=until)
        .on_conflict_do_update(index_elements=[table.c.key], set_={"until": until}, where=table.c.until < until)
    )


@dataclass(frozen=True, slots=True)
class SlotFound:
    """A slot, or when to ask again."""

    slot: str | None
    """None: all are taken."""
    free_at: float
    """When the next one is free."""
    live: int
    """Slots that are taken for longer than the time that was asked about."""


async def take_slot(tx: AsyncConnection, key: str, *, slots: int, until: float, live: float, now: float) -> SlotFound:
    """Take one of `slots` slots until then, if one is free; `live` is the time after which taken ones are counted."""
    table = schema.pace
    names = [f"{key[:120]}/{number}" for number in range(slots)]
    free = (
        select(table.c.key)
        .where(table.c.key.in_(names), table.c.until <= now)
        .order_by(table.c.until, table.c.key)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    taking = update(table).where(table.c.key == free.scalar_subquery()).values(until=until).returning(table.c.key)
    slot = (await tx.execute(taking)).scalar_one_or_none()
    counted = select(func.min(table.c.until), func.count(case((table.c.until > live, 1))), func.count()).where(
        table.c.key.in_(names)
    )
    free_at, living, known = (await tx.execute(counted)).one()
    if slot is None and known < slots:
        # The first time; or there are more slots than there were.
        rows = [{"key": name, "until": 0.0} for name in names]
        await insert_all_new(tx, table, rows, "key")
        return await take_slot(tx, key, slots=slots, until=until, live=live, now=now)
    return SlotFound(slot, float(free_at), living)


async def free_slot(tx: AsyncConnection, slot: str, *, was: float, until: float) -> None:
    """Give a slot back, to be free at `until`; nothing happens when it is somebody else's by now."""
    table = schema.pace
    await tx.execute(update(table).where(table.c.key == slot, table.c.until == was).values(until=until))
