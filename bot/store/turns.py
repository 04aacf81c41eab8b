"""Turns and their journal. The journal holds the steps of a running turn; saving the turn closes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import schema
from bot.store.statements import insert_new


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One finished answer, as it is kept."""

    id: int
    """The inbox row's id."""
    thread: ThreadRef
    episode: int
    ts: str
    """The customer's message's timestamp: the order of turns is the order of messages."""
    customer: str
    agent: str
    ended: str
    """`answered`, `no_answer`, `too_fast`, `escalated`, `failed` or `stopped`."""
    reason: str
    messages: Sequence[Mapping[str, Any]]
    """The customer's message and all that followed, as `bot.agent.messages.to_json` writes them."""
    sources: Sequence[Mapping[str, str]]
    confidence: float
    input_tokens: int
    output_tokens: int
    trace: Sequence[Mapping[str, Any]] | None = None
    """What really followed, where `messages` holds something else in its place; nobody but people reads it."""


async def save(tx: AsyncConnection, record: TurnRecord, *, now: float, closes: bool = True) -> None:
    """Keep the finished turn; with `closes`, drop its journal."""
    await insert_new(
        tx,
        schema.turn,
        {
            "id": record.id,
            "thread": record.thread.key,
            "episode": record.episode,
            "ts": record.ts,
            "customer": record.customer,
            "agent": record.agent,
            "ended": record.ended,
            "reason": record.reason[:64],
            "messages": list(record.messages),
            "trace": None if record.trace is None else list(record.trace),
            "sources": list(record.sources),
            "confidence": record.confidence,
            "input_tokens": record.input_tokens,
            "output_tokens": record.output_tokens,
            "finished_at": now,
        },
    )
    if closes:
        await tx.execute(delete(schema.journal).where(schema.journal.c.turn == record.id))


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What later turns need of an earlier one."""

    ended: str
    messages: list[dict[str, Any]]
    ts: str


async def ended(tx: AsyncConnection, turn: int, thread: ThreadRef) -> str | None:
    """How the turn has ended; None while it has not."""
    table = schema.turn
    statement = select(table.c.ended).where(table.c.id == turn, table.c.thread == thread.key)
    return (await tx.execute(statement)).scalar_one_or_none()


async def customer_of(tx: AsyncConnection, turn: int) -> str | None:
    """Whose question the turn answered; None when there is no such turn."""
    return (await tx.execute(select(schema.turn.c.customer).where(schema.turn.c.id == turn))).scalars().first()


async def forget(tx: AsyncConnection, turn: int) -> None:
    """Drop the journal of a turn that will not go on."""
    await tx.execute(delete(schema.journal).where(schema.journal.c.turn == turn))


async def of_episode(tx: AsyncConnection, thread: ThreadRef, episode: int, *, latest: int) -> list[PastTurn]:
    """The episode's `latest` turns, oldest first."""
    table = schema.turn
    statement = (
        select(table.c.ended, table.c.messages, table.c.ts)
        .where(table.c.thread == thread.key, table.c.episode == episode)
        .order_by(table.c.ts.desc())
        .limit(latest)
    )
    rows = (await tx.execute(statement)).all()
    return [PastTurn(row.ended, row.messages, row.ts) for row in reversed(rows)]


async def began(tx: AsyncConnection, turn: int) -> float | None:
    """When the first step of a running turn was finished that is kept; None when none is."""
    table = schema.journal
    earliest = select(func.min(table.c.recorded_at)).where(table.c.turn == turn)
    at: float | None = (await tx.execute(earliest)).scalar_one()
    return at


async def recall(tx: AsyncConnection, turn: int) -> dict[str, Any]:
    """The finished steps of a running turn, by name, in the order in which they were finished."""
    table = schema.journal
    statement = (
        select(table.c.name, table.c.value).where(table.c.turn == turn).order_by(table.c.recorded_at, table.c.name)
    )
    return {row.name: row.value for row in await tx.execute(statement)}


async def record(tx: AsyncConnection, turn: int, name: str, value: Any, *, attempt: int, now: float) -> None:
    """Keep one step; a later record of the name takes the place of an earlier, which keeps its time."""
    table = schema.journal
    values = {"turn": turn, "name": name, "attempt": attempt, "value": value, "recorded_at": now}
    if await insert_new(tx, table, values) is None:
        del values["recorded_at"]
        await tx.execute(update(table).where(table.c.turn == turn, table.c.name == name).values(**values))
