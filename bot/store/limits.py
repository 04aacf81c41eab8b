"""How often something is allowed: rows that all processes share.

The algorithm is the generic cell rate algorithm (GCRA, ATM Forum TM 4.0). A row holds the time until which its owner
has used up the pace. So a count over a sliding minute needs no list of events.

take       whether something is allowed now
reserve    when it is allowed; it then counts as done
pause      nothing is allowed until then
prune      delete rows that have long expired
take_slot  take one of a number of slots; each is free again at its own time. `free_slot` returns it
"""

from dataclasses import dataclass
from functools import cache

from sqlalchemy import Executable, bindparam, case, delete, func, literal, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.clock import DAY
from bot.store import schema
from bot.store.statements import insert_all_new, insert_in, insert_into

PRUNED_SECONDS = DAY
"""If the clock is set back by less than this, what was used up is still known."""


async def take(tx: AsyncConnection, key: str, *, times: int, seconds: float, now: float) -> bool:
    """Whether it is allowed once more, with a limit of `times` in `seconds`. If so, it counts as done."""
    step = seconds / times
    values = {
        "name": key[:128],
        "now": now,
        "step": step,
        "first": now + step,
        "farthest": now + seconds + step,
        "used_up": now + seconds - step,
        # A hundredth of a step absorbs rounding errors of the sums.
        "most": now + seconds + step / 100,
    }
    return (await tx.execute(_taking(tx.dialect.name), values)).scalar_one_or_none() is not None


@cache
def _taking(dialect: str) -> Executable:
    table = schema.pace
    now, step, farthest, used_up, most = (
        bindparam(name, type_=table.c.until.type) for name in ("now", "step", "farthest", "used_up", "most")
    )
    start = case(
        # Further ahead than anyone gets: the clock was set back. All but one of the allowed times then count as used
        # up.
        (table.c.until > farthest, used_up),
        (table.c.until > now, table.c.until),
        else_=now,
    )
    return (
        insert_in(dialect, table)
        .values(key=bindparam("name"), until=bindparam("first"))
        .on_conflict_do_update(index_elements=[table.c.key], set_={"until": start + step}, where=start + step <= most)
        .returning(table.c.until)
    )


async def reserve(
    tx: AsyncConnection, key: str, *, burst: int, step: float, times: int, patience: float, now: float
) -> float:
    """Reserve `times` calls, of which `burst` can come at once, and then one every `step` seconds.

    Returns the seconds until the first of them can be made. The others can be made one step later each. The result is
    negative if there was room to spare. If it is more than `patience`, nothing was reserved.
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
            # Rounding errors of the sums must not count as late.
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
    """Delete rows that expired more than a day ago."""
    await tx.execute(delete(schema.pace).where(schema.pace.c.until < now - PRUNED_SECONDS))


async def pause(tx: AsyncConnection, key: str, *, until: float) -> None:
    """Set the time until which the pace is used up, if it is earlier."""
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
    """The slot's name. None: all are taken."""
    free_at: float
    """When the next one is free."""
    live: int
    """The number of slots that are taken for longer than the time in question."""


async def take_slot(tx: AsyncConnection, key: str, *, slots: int, until: float, live: float, now: float) -> SlotFound:
    """Take one of `slots` slots until then, if one is free. Slots that are taken for longer than `live` are counted."""
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
        # This is the first time, or the number of slots has grown.
        rows = [{"key": name, "until": 0.0} for name in names]
        await insert_all_new(tx, table, rows, "key")
        return await take_slot(tx, key, slots=slots, until=until, live=live, now=now)
    return SlotFound(slot, float(free_at), living)


async def free_slot(tx: AsyncConnection, slot: str, *, was: float, until: float) -> None:
    """Return a slot; it is free at `until`. Nothing happens if it was taken again since."""
    table = schema.pace
    await tx.execute(update(table).where(table.c.key == slot, table.c.until == was).values(until=until))
