"""The rows of procedures that have begun. Every move is a compare-and-set on `version`: of two that meet, one is made.

ProcedureRun    one procedure in one thread, with its place and what was collected
begin           store a new one, unless the thread has one that is on
running_in      the one that is on in a thread
change          save a moved one
count           add a turn's model rounds
to_move         those that something has happened to: an action's end, a case, silence
end_of_turns    end those that hold something of messages that are taken back
erase_customer  take a person's name and words out of theirs
ended_since     how they ended, for the report
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Row, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import schema
from bot.store.actions import State
from bot.store.cases import ERASED, OPEN_STATES
from bot.store.statements import in_batches, insert_new

End = Literal["done", "handed_over", "left", "silence", "taken_back", "withdrawn", "with_people", "erased"]
OPEN_ACTIONS: tuple[State, ...] = ("offered", "approving", "ready", "executing", "unknown")
"""The states of an action whose end a procedure waits for."""


@dataclass(frozen=True, slots=True)
class ProcedureRun:
    """One procedure in one thread."""

    thread: ThreadRef
    customer: str
    procedure: str
    digest: str
    """The SHA-256 of the file."""
    source: str
    """The file with which it began. Empty once it has ended."""
    step: str
    started_at: float
    touched_at: float
    """When the customer wrote last, or something moved."""
    collected: Mapping[str, Any]
    """Name -> value, as `bot.procedures.values` made it. Empty once it has ended."""
    tries: Mapping[str, int]
    """Name -> how many values in a row were wrong."""
    turns: tuple[int, ...] = ()
    """The messages from which something was collected."""
    action: str = ""
    """The reference of the action whose end it waits for."""
    rounds: int = 0
    """How many replies of a model it has taken."""
    ended_at: float | None = None
    why: str = ""
    """How it ended, in one word of `End`."""
    version: int = 1
    id: int = 0
    """0 until it is stored."""

    def end(self, why: End, *, now: float) -> "ProcedureRun":
        """The run at its end. What was collected is not kept."""
        return replace(self, why=why, ended_at=now, source="", collected={}, tries={}, turns=(), action="")


async def begin(tx: AsyncConnection, new: ProcedureRun) -> ProcedureRun | None:
    """Store it, and return it with its id. None if one is on in the thread."""
    values = _values(new) | {
        "thread": new.thread.key,
        "customer": new.customer,
        "procedure": new.procedure,
        "digest": new.digest,
        "started_at": new.started_at,
        "touched_at": new.touched_at,
    }
    number = await insert_new(tx, schema.procedure_run, values)
    return None if number is None else replace(new, id=number)


async def running_in(tx: AsyncConnection, thread: ThreadRef) -> ProcedureRun | None:
    """The one that is on in the thread."""
    table = schema.procedure_run
    found = await tx.execute(select(table).where(table.c.thread == thread.key, table.c.ended_at.is_(None)))
    row = found.one_or_none()
    return _run_of(row) if row else None


async def change(tx: AsyncConnection, before: ProcedureRun, after: ProcedureRun, *, now: float) -> ProcedureRun | None:
    """Save it under the next version. None if it has moved, or ended, since it was read."""
    table = schema.procedure_run
    version = before.version + 1
    statement = (
        update(table)
        .where(table.c.id == before.id, table.c.version == before.version, table.c.ended_at.is_(None))
        .values(_values(after) | {"version": version, "touched_at": now})
    )
    changed = (await tx.execute(statement)).rowcount
    return replace(after, version=version, touched_at=now) if changed else None


async def count(tx: AsyncConnection, thread: ThreadRef, *, rounds: int, now: float) -> None:
    """Add a turn's model rounds to the one that is on in the thread."""
    table = schema.procedure_run
    await tx.execute(
        update(table)
        .where(table.c.thread == thread.key, table.c.ended_at.is_(None))
        .values(rounds=table.c.rounds + rounds, touched_at=now)
    )


async def to_move(tx: AsyncConnection, *, silent_since: float, limit: int) -> Sequence[ProcedureRun]:
    """Those whose action has ended, whose thread has an open case, or whose customer is silent."""
    run, action, kase = schema.procedure_run, schema.action, schema.kase
    is_open = exists().where(action.c.ref == run.c.action, action.c.state.in_(OPEN_ACTIONS))
    has_case = exists().where(kase.c.thread == run.c.thread, kase.c.state.in_(OPEN_STATES))
    moved = or_((run.c.action != "") & ~is_open, has_case, run.c.touched_at < silent_since)
    rows = await tx.execute(select(run).where(run.c.ended_at.is_(None), moved).order_by(run.c.id).limit(limit))
    return [_run_of(row) for row in rows]


async def any_on(tx: AsyncConnection) -> bool:
    """Whether one is on at all."""
    table = schema.procedure_run
    return bool((await tx.execute(select(exists().where(table.c.ended_at.is_(None))))).scalar_one())


async def end_of_turns(tx: AsyncConnection, turns: Collection[int], *, now: float) -> None:
    """End those that hold something of these messages, because they say something else now."""
    run, inbox = schema.procedure_run, schema.inbox
    for some in in_batches(turns):
        threads = select(inbox.c.thread).where(inbox.c.id.in_(some))
        rows = await tx.execute(select(run).where(run.c.thread.in_(threads), run.c.ended_at.is_(None)))
        for found in map(_run_of, rows.all()):
            if not set(some).isdisjoint(found.turns):
                await change(tx, found, found.end("taken_back", now=now), now=now)


async def erase_customer(tx: AsyncConnection, customer: str, *, now: float) -> None:
    """Take the person's name and words out of theirs, and end those that are on."""
    table = schema.procedure_run
    empty = {"customer": ERASED, "source": "", "collected": {}, "tries": {}, "turns": [], "action": ""}
    on = update(table).where(table.c.customer == customer, table.c.ended_at.is_(None))
    await tx.execute(on.values({**empty, "ended_at": now, "why": "erased", "version": table.c.version + 1}))
    await tx.execute(update(table).where(table.c.customer == customer).values(empty))


async def ended_since(tx: AsyncConnection, since: float) -> Mapping[tuple[str, str], int]:
    """(procedure, how it ended) -> how many."""
    table = schema.procedure_run
    rows = await tx.execute(
        select(table.c.procedure, table.c.why, func.count())
        .where(table.c.ended_at >= since)
        .group_by(table.c.procedure, table.c.why)
        .order_by(table.c.procedure, table.c.why)
    )
    return {(row[0], row[1]): row[2] for row in rows}


def _values(run: ProcedureRun) -> dict[str, Any]:
    """What a move can change."""
    return {
        "version": run.version,
        "source": run.source,
        "step": run.step,
        "collected": dict(run.collected),
        "tries": dict(run.tries),
        "turns": list(run.turns),
        "action": run.action,
        "ended_at": run.ended_at,
        "why": run.why,
    }


def _run_of(row: Row[Any]) -> ProcedureRun:
    return ProcedureRun(
        id=row.id,
        version=row.version,
        thread=ThreadRef.of(row.thread),
        customer=row.customer,
        procedure=row.procedure,
        digest=row.digest,
        source=row.source,
        step=row.step,
        collected=row.collected,
        tries=row.tries,
        turns=tuple(row.turns),
        action=row.action,
        rounds=row.rounds,
        started_at=row.started_at,
        touched_at=row.touched_at,
        ended_at=row.ended_at,
        why=row.why,
    )
