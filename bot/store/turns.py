"""Turns and their journal. The journal holds the steps of a running turn; saving the turn closes it."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Executable, bindparam, delete, func, select, true, union_all, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.agent.surrogates import sound
from bot.conversation import ThreadRef
from bot.errors import Superseded
from bot.store import attempts, schema
from bot.store.statements import insert_in, insert_new

STANDING = ("stream", "private-stream")
"""The steps that say which messages hold the answer."""
SET_ASIDE = "set-aside"
"""The step that holds the expected cost of an answer. It is stored before the answer begins."""
NAME_LIMIT = 128
"""The maximum of characters in a step's name."""

REFUSED = "refused"
"""How a turn ended that code answered with the shop's sentence on a topic."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One finished answer, as it is stored."""

    id: int
    """The inbox row's id."""
    thread: ThreadRef
    episode: int
    ts: str
    """The timestamp of the customer's message. The order of turns is the order of messages."""
    customer: str
    agent: str
    ended: str
    """`answered`, `refused`, `no_answer`, `too_fast`, `escalated`, `failed` or `stopped`."""
    reason: str
    messages: Sequence[Mapping[str, Any]]
    """The customer's message and all that followed, as `bot.agent.messages.to_json` writes them."""
    sources: Sequence[Mapping[str, str]]
    confidence: float
    input_tokens: int
    output_tokens: int
    trace: Sequence[Mapping[str, Any]] | None = None
    """What really followed, where `messages` holds something else in its place. Only people read it."""
    failures: Sequence[str] = ()
    """Why requests to models failed, a line each, in the provider's masked words."""
    rewrites: Sequence[str] = ()
    """What the cheap model made of the question before the pages were searched again. Only people read it."""
    posts: Sequence[str] = ()
    """The timestamps of the messages that show the answer, in the thread's channel."""


async def save(tx: AsyncConnection, record: TurnRecord, *, now: float, closes: bool = True) -> None:
    """Store the finished turn. With `closes`, delete its journal. Raises Superseded if a later attempt has begun."""
    await attempts.hold(tx)
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
            "failures": list(record.failures) or None,
            "rewrites": list(record.rewrites) or None,
            "posts": list(record.posts),
            "confidence": record.confidence,
            "input_tokens": min(record.input_tokens, schema.INTEGER_LIMIT),
            "output_tokens": min(record.output_tokens, schema.INTEGER_LIMIT),
            "finished_at": now,
        },
    )
    if closes:
        await tx.execute(_CLOSING, {"of_turn": record.id})


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What later turns need of an earlier one."""

    ended: str
    messages: list[dict[str, Any]]
    ts: str


async def ended(tx: AsyncConnection, turn: int, thread: ThreadRef) -> str | None:
    """How the turn ended. None while it has not."""
    return (await tx.execute(_ENDED, {"of_turn": turn, "thread_key": thread.key})).scalar_one_or_none()


async def customer_of(tx: AsyncConnection, turn: int) -> str | None:
    """The customer whose question the turn answered or answers. None if nothing is stored about it."""
    turns, inbox = schema.turn, schema.inbox
    asked = (await tx.execute(select(turns.c.customer).where(turns.c.id == turn))).scalars().first()
    # Not every message becomes a turn, and an answer that is still being written is none yet.
    written = select(inbox.c.author).where(inbox.c.id == turn, inbox.c.kind.in_(("message", "edit")))
    return asked or (await tx.execute(written)).scalar_one_or_none()


async def latest_customer(tx: AsyncConnection, thread: ThreadRef) -> str | None:
    """The customer whose question was answered last in the thread. None if none was."""
    table = schema.turn
    statement = select(table.c.customer).where(table.c.thread == thread.key).order_by(table.c.ts.desc()).limit(1)
    return (await tx.execute(statement)).scalar_one_or_none()


async def forget(tx: AsyncConnection, turn: int) -> None:
    """Delete the journal of a turn that will not continue."""
    await tx.execute(delete(schema.journal).where(schema.journal.c.turn == turn))


async def keep_side_effects(tx: AsyncConnection, turn: int, *, prefix: str, now: float) -> None:
    """Delete the steps of a turn that begins again with other words, except where its answers are, what is reserved for
    them, and its side effects.

    Side effects continue under the name in their values, which begins with `prefix`. The steps that stay get the time
    `now`. So a case that was opened because of the old words is older than the answer to the new ones.
    """
    await attempts.hold(tx)
    table = schema.journal
    for row in (await tx.execute(select(table.c.name, table.c.value).where(table.c.turn == turn))).all():
        where = (table.c.turn == turn, table.c.name == row.name)
        side_effect = row.value.get("write", "") if isinstance(row.value, dict) else ""
        if side_effect.startswith(prefix) and row.name != side_effect:
            known = select(table.c.name).where(table.c.turn == turn, table.c.name == side_effect)
            if (await tx.execute(known)).first() is None:
                await tx.execute(update(table).where(*where).values(name=side_effect))
                continue
        if row.name != side_effect and row.name not in (*STANDING, SET_ASIDE):
            await tx.execute(delete(table).where(*where))
    await tx.execute(update(table).where(table.c.turn == turn).values(recorded_at=now))


async def blank_steps(tx: AsyncConnection, turn: int, *, text: str) -> None:
    """Replace what tools returned in the steps of a turn by `text`. The shown part of its answer is dropped."""
    table = schema.journal
    for row in (await tx.execute(select(table.c.name, table.c.value).where(table.c.turn == turn))).all():
        value = {name: each for name, each in row.value.items() if name != "text"}
        if "result" in value:
            value["result"] = {**value["result"], "content": text}
        await tx.execute(update(table).where(table.c.turn == turn, table.c.name == row.name).values(value=value))


async def reopen(tx: AsyncConnection, turn: int, *, thread: str, now: float) -> None:
    """Delete what was stored of a turn that was given up and begins again. Its steps get the time `now`."""
    await tx.execute(delete(schema.turn).where(schema.turn.c.id == turn, schema.turn.c.thread == thread))
    await tx.execute(update(schema.journal).where(schema.journal.c.turn == turn).values(recorded_at=now))


async def posts_in(tx: AsyncConnection, thread: ThreadRef) -> set[str]:
    """The timestamps of the messages that show the thread's finished answers."""
    rows = await tx.execute(select(schema.turn.c.posts).where(schema.turn.c.thread == thread.key))
    return {ts for posts in rows.scalars() for ts in posts or ()}


async def reword(tx: AsyncConnection, turn: int, words: str) -> None:
    """Put the customer's new words into a finished turn, in every thread where it is stored."""
    table = schema.turn
    statement = select(table.c.thread, table.c.messages, table.c.trace).where(table.c.id == turn)
    for row in (await tx.execute(statement)).all():
        told = {"messages": _reworded(row.messages, words), "trace": row.trace and _reworded(row.trace, words)}
        values = {**told, "rewrites": None}
        await tx.execute(update(table).where(table.c.id == turn, table.c.thread == row.thread).values(**values))


def _reworded(messages: Sequence[dict[str, Any]], words: str) -> list[dict[str, Any]]:
    """Return the messages with the customer's new words, and without what was retrieved for the old ones."""
    return [
        {**{name: value for name, value in message.items() if name != "passages"}, "text": words}
        if message["type"] == "customer"
        else message
        for message in messages
    ]


async def of_episode(tx: AsyncConnection, thread: ThreadRef, episode: int, *, latest: int) -> list[PastTurn]:
    """The episode's `latest` turns, oldest first."""
    rows = (await tx.execute(_OF_EPISODE, {"thread_key": thread.key, "number": episode, "latest": latest})).all()
    return [PastTurn(row.ended, row.messages, row.ts) for row in reversed(rows)]


async def began(tx: AsyncConnection, turn: int) -> float | None:
    """When the first stored step of a running turn was finished. None if there is none."""
    table = schema.journal
    earliest = select(func.min(table.c.recorded_at)).where(table.c.turn == turn)
    at: float | None = (await tx.execute(earliest)).scalar_one()
    return at


async def look_up(tx: AsyncConnection, turn: int, name: str, *, attempt: int) -> Any | None:
    """One finished step of a running turn, or None. The same query checks whether the turn still belongs to this
    attempt.

    Raises:
        Superseded: a later attempt has begun.
    """
    table, inbox = schema.journal, schema.inbox
    steps = inbox.outerjoin(table, (table.c.turn == inbox.c.id) & (table.c.name == _storable(name)))
    row = (await tx.execute(select(inbox.c.fence, table.c.value).select_from(steps).where(inbox.c.id == turn))).one()
    if row.fence != attempt:
        raise Superseded(f"attempt {attempt} at row {turn}: {row.fence} has begun")
    attempts.confirm(turn, attempt)
    return row.value


async def with_steps(tx: AsyncConnection, turns: Collection[int]) -> set[int]:
    """Those of the turns that have stored steps."""
    table = schema.journal
    return set((await tx.execute(select(table.c.turn).where(table.c.turn.in_(turns)).distinct())).scalars())


async def recall(tx: AsyncConnection, turn: int) -> dict[str, Any]:
    """The finished steps of a running turn, by name, in the order in which they were finished."""
    table = schema.journal
    statement = (
        select(table.c.name, table.c.value).where(table.c.turn == turn).order_by(table.c.recorded_at, table.c.name)
    )
    return {row.name: row.value for row in await tx.execute(statement)}


async def record(tx: AsyncConnection, turn: int, steps: Mapping[str, Any], *, attempt: int, now: float) -> None:
    """Store steps, by name, with one statement. If a name exists, its value is replaced and its time stays.

    Raises:
        Superseded: a later attempt has begun.
    """
    values: dict[str, Any] = {"of_turn": turn, "fence": attempt, "now": now}
    for number, (name, value) in enumerate(steps.items()):
        values |= {f"step_{number}": _storable(name), f"found_{number}": value}
    if (await tx.execute(_recording(tx.dialect.name, len(steps)), values)).first() is None:
        raise Superseded(f"attempt {attempt} at row {turn}: a later one has begun")
    attempts.confirm(turn, attempt)


@cache
def _recording(dialect: str, number: int) -> Executable:
    """Store steps of the latest attempt: one statement, for which a later attempt that begins waits (Postgres; SQLite
    has only one writer).
    """
    table, inbox = schema.journal, schema.inbox
    steps = union_all(
        *(
            select(
                bindparam(f"step_{each}", type_=table.c.name.type).label("name"),
                bindparam(f"found_{each}", type_=table.c.value.type).label("value"),
            )
            for each in range(number)
        )
    ).subquery("steps")
    owned = (
        select(
            inbox.c.id,
            steps.c.name,
            bindparam("fence", type_=table.c.attempt.type),
            steps.c.value,
            bindparam("now", type_=table.c.recorded_at.type),
        )
        .join_from(inbox, steps, true())
        .where(inbox.c.id == bindparam("of_turn"), inbox.c.fence == bindparam("fence"))
    )
    statement = insert_in(dialect, table).from_select(
        ["turn", "name", "attempt", "value", "recorded_at"], owned.with_for_update(read=True, of=inbox)
    )
    statement = statement.on_conflict_do_update(
        index_elements=[table.c.turn, table.c.name],
        set_={"attempt": statement.excluded.attempt, "value": statement.excluded.value},
    )
    return statement.returning(table.c.turn)


def _storable(name: str) -> str:
    """The step's name as it is stored. The ids in it come from a model's server, with any length and characters."""
    if len(name) <= NAME_LIMIT and name.isprintable() and name == sound(name):
        return name
    mark = hashlib.sha256(name.encode("utf-16", "surrogatepass")).hexdigest()[:32]
    return f"{''.join(filter(str.isprintable, name))[: NAME_LIMIT - 33]}~{mark}"


_TURN, _JOURNAL = schema.turn, schema.journal
_CLOSING = delete(_JOURNAL).where(_JOURNAL.c.turn == bindparam("of_turn"))
_ENDED = select(_TURN.c.ended).where(_TURN.c.id == bindparam("of_turn"), _TURN.c.thread == bindparam("thread_key"))
_OF_EPISODE = (
    select(_TURN.c.ended, _TURN.c.messages, _TURN.c.ts)
    .where(_TURN.c.thread == bindparam("thread_key"), _TURN.c.episode == bindparam("number"))
    .order_by(_TURN.c.ts.desc())
    .limit(bindparam("latest"))
)
