"""An outage of the models, for all processes: since when it lasts, and what it has cost. Its row is in the schedule.

begin          note that an outage has begun
since          since when it lasts
take           whether the caller is the process that looks after it now
end            note that it is over
waiting_cases  the cases that it has opened and nobody has claimed
count          what it has cost
"""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schedule, schema
from bot.store.cases import WAITING, Case, as_case
from bot.store.statements import insert_new

NAME = "model-outage"
"""The name of its row in the schedule. The rule is when it began."""
REASON = "model_down"
"""The reason of its cases."""
BACK = "model_back"
"""The step in which such a case goes back to the assistant."""
LONGEST_WAIT = 180.0
"""How long before an outage was noticed a question may have come that it holds up, in seconds."""


@dataclass(frozen=True, slots=True)
class Toll:
    """What an outage has cost so far."""

    held: int
    """The questions of which a request failed."""
    answered: int
    """Those of them that were answered in spite of it."""
    cases: int
    """The cases that it has opened."""
    taken_back: int
    """Those of them that the assistant has back."""


async def begin(tx: AsyncConnection, *, now: float) -> float:
    """Note that an outage has begun, unless one lasts. Return since when it lasts."""
    await insert_new(tx, schema.schedule, {"name": NAME, "rule": f"{now:.3f}", "due": now})
    return await since(tx) or now


async def since(tx: AsyncConnection) -> float | None:
    """Since when an outage lasts. None if there is none."""
    table = schema.schedule
    began = (await tx.execute(select(table.c.rule).where(table.c.name == NAME))).scalar_one_or_none()
    return None if began is None else float(began)


async def take(tx: AsyncConnection, *, now: float, then: float) -> bool:
    """Whether the caller looks after the outage until `then`. All other processes leave it alone."""
    return await schedule.take(tx, NAME, now=now, then=then)


async def end(tx: AsyncConnection) -> None:
    """Note that the outage is over."""
    await schedule.forget(tx, NAME)


async def waiting_cases(tx: AsyncConnection, *, limit: int, after: int = 0) -> list[Case]:
    """The cases of outages that nobody has claimed, the oldest first: those opened behind the case `after`."""
    table = schema.kase
    where = (table.c.state.in_(WAITING), table.c.reason == REASON, table.c.id > after)
    rows = await tx.execute(select(table).where(*where).order_by(table.c.id).limit(limit))
    return [as_case(row) for row in rows]


async def count(tx: AsyncConnection, *, since: float) -> Toll:
    """What the outage has cost that lasts since then."""
    inbox, turn, kase, audit = schema.inbox, schema.turn, schema.kase, schema.audit
    came = select(inbox.c.id).where(inbox.c.received_at >= since - LONGEST_WAIT)
    failed = select(turn.c.ended, func.count()).where(turn.c.id.in_(came), turn.c.failures.is_not(None))
    held = {ended: int(number) for ended, number in await tx.execute(failed.group_by(turn.c.ended))}
    opened = select(func.count()).where(kase.c.opened_at >= since, kase.c.reason == REASON)
    back = select(func.count()).where(audit.c.action == f"case.{BACK}", audit.c.at >= since)
    return Toll(
        held=sum(held.values()),
        answered=sum(number for ended, number in held.items() if ended != "failed"),
        cases=(await tx.execute(opened)).scalar_one(),
        taken_back=(await tx.execute(back)).scalar_one(),
    )
