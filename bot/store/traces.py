"""Turns as people look at them: the question, what the agents did, how it ended; and unanswered questions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One finished turn in one thread. A private answer to a question in a channel has two."""

    id: int
    thread: str
    """The key of the thread in which it was answered."""
    episode: int
    customer: str
    agent: str
    ended: str
    reason: str
    messages: Sequence[dict[str, Any]]
    """What later turns see of it."""
    trace: Sequence[dict[str, Any]] | None
    """What really happened, if that differs from `messages`."""
    sources: Sequence[dict[str, str]]
    confidence: float
    attempts: int
    received_at: float
    finished_at: float
    failures: Sequence[str] = ()
    """Why requests to models failed, a line each."""
    rewrites: Sequence[str] = ()
    """What the cheap model made of the question before the pages were searched again."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """An inbox row in any state."""

    kind: str
    state: str
    reason: str
    steps: Sequence[str]
    """The finished steps of its turn, if that is still running."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that the help pages did not answer, or whose answer did not help."""

    text: str
    """The words as the customer wrote them."""
    customer: str
    at: float
    thread: str = ""
    """The key of the thread in which it was asked."""
    rating: str = ""
    """How the customer rated the answer. Empty if there was no answer."""
    turn: int = 0


async def unanswered(tx: AsyncConnection, *, since: float, limit: int) -> list[Unanswered]:
    """The newest questions since then that ended without an answer, newest first."""
    table = schema.turn
    statement = (
        select(table.c.id, table.c.messages, table.c.customer, table.c.finished_at, table.c.thread)
        .where(table.c.ended == "no_answer", table.c.finished_at >= since)
        .order_by(table.c.finished_at.desc())
        .limit(limit)
    )
    return [
        Unanswered(message["text"], row.customer, row.finished_at, row.thread, turn=row.id)
        for row in await tx.execute(statement)
        for message in row.messages
        if message["type"] == "customer"
    ]


async def rated(tx: AsyncConnection, ratings: Collection[str], *, since: float, limit: int) -> list[Unanswered]:
    """The questions whose answer got one of these ratings from the customer since then, latest rating first."""
    feedback, table = schema.feedback.c, schema.turn
    given = (
        select(feedback.subject, feedback.person, feedback.value)
        .where(feedback.given_at >= since, feedback.value.in_(ratings), feedback.subject.like("turn/%"))
        .order_by(feedback.given_at.desc())
        .limit(limit)
    )
    by_turn = {(int(row.subject.removeprefix("turn/")), row.person): row.value for row in await tx.execute(given)}
    statement = select(table.c.id, table.c.messages, table.c.customer, table.c.finished_at, table.c.thread).where(
        table.c.id.in_({turn for turn, _ in by_turn}), table.c.ended != "no_answer"
    )
    found = {
        # A private answer to a question in a channel has two turns.
        row.id: Unanswered(
            message["text"], row.customer, row.finished_at, row.thread, by_turn[row.id, row.customer], row.id
        )
        for row in await tx.execute(statement.order_by(table.c.finished_at))
        for message in row.messages
        if message["type"] == "customer" and (row.id, row.customer) in by_turn
    }
    return [found[turn] for turn, _ in by_turn if turn in found]


async def latest(
    tx: AsyncConnection, *, limit: int, thread: str | None = None, customer: str | None = None
) -> list[StoredTurn]:
    """The newest turns, with the newest last. If given, only those of one thread (its key) or one customer."""
    table = schema.turn
    statement = _turns().order_by(table.c.id.desc()).limit(limit)
    if thread is not None:
        statement = statement.where(table.c.thread == thread)
    if customer is not None:
        statement = statement.where(table.c.customer == customer)
    return [_turn(row) for row in reversed((await tx.execute(statement)).all())]


async def find(tx: AsyncConnection, turn: int) -> list[StoredTurn]:
    """The turn, in every thread in which it was answered."""
    statement = _turns().where(schema.turn.c.id == turn).order_by(schema.turn.c.finished_at)
    return [_turn(row) for row in await tx.execute(statement)]


async def find_row(tx: AsyncConnection, item: int) -> StoredRow | None:
    """The inbox row with this id. A turn has the same id."""
    inbox, journal = schema.inbox, schema.journal
    row = (await tx.execute(select(inbox).where(inbox.c.id == item))).one_or_none()
    if row is None:
        return None
    statement = select(journal.c.name).where(journal.c.turn == item).order_by(journal.c.recorded_at)
    return StoredRow(row.kind, row.state, row.reason, (await tx.execute(statement)).scalars().all())


def _turns() -> Select[Any]:
    table, inbox = schema.turn, schema.inbox
    return select(table, inbox.c.attempts, inbox.c.state, inbox.c.received_at).join(inbox, inbox.c.id == table.c.id)


def _turn(row: Row[Any]) -> StoredTurn:
    return StoredTurn(
        id=row.id,
        thread=row.thread,
        episode=row.episode,
        customer=row.customer,
        agent=row.agent,
        ended=row.ended,
        reason=row.reason,
        messages=row.messages,
        trace=row.trace,
        sources=row.sources,
        confidence=row.confidence,
        # The attempt that sets a row aside is no attempt at an answer.
        attempts=row.attempts - (row.state == "dead"),
        received_at=row.received_at,
        finished_at=row.finished_at,
        failures=row.failures or (),
        rewrites=row.rewrites or (),
    )
