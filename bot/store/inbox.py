"""The inbox's rows: stored before Slack hears "ok", finished when they are answered or dropped with a reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import schema
from bot.store.statements import insert_new
from bot.store.threads import add_thread, find_thread

Kind = Literal["message", "staff", "press"]
"""A customer's message, a message in a thread of the agent channel, a customer's press of a button."""
FinishedState = Literal["done", "dropped", "dead"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """Something that came from Slack and wants an answer."""

    event_id: str
    """Slack's id of the delivery, the same on every redelivery."""
    kind: Kind
    thread: ThreadRef
    ts: str
    """The message's own timestamp; of a press, the press's."""
    author: str
    author_team: str
    body: Mapping[str, Any]
    """What the turn needs to know: `text`, for a press `action` and `value`."""
    addressed: bool
    """True: it starts a conversation. False: it counts only in a thread that already is one."""


@dataclass(frozen=True, slots=True)
class InboxItem:
    """A stored arrival that is being worked on."""

    id: int
    kind: Kind
    thread: ThreadRef
    ts: str
    author: str
    author_team: str
    body: Mapping[str, Any]
    attempts: int
    """1 on the first try; more after a crash or a failure. What only Slack's silence ended is taken back."""
    received_at: float

    @property
    def words(self) -> str:
        """The message's words, and the names of the files it brought."""
        return words_of(self.body)


def words_of(body: Mapping[str, Any]) -> str:
    """What a stored body says to a reader."""
    files = ", ".join(body.get("files", ()))
    return f"{body['text']}\n[attached: {files}]".strip() if files else str(body["text"])


async def add(tx: AsyncConnection, arrival: Arrival, *, now: float) -> int | None:
    """Store an arrival; its id, or None when it is already here or nobody here is spoken to."""
    if arrival.addressed:
        await add_thread(tx, arrival.thread, now=now)
    elif await find_thread(tx, arrival.thread) is None:
        return None
    return await insert_new(
        tx,
        schema.inbox,
        {
            "event_id": arrival.event_id,
            "team": arrival.thread.team,
            "channel": arrival.thread.channel,
            "ts": arrival.ts,
            "kind": arrival.kind,
            "thread": arrival.thread.key,
            "author": arrival.author,
            "author_team": arrival.author_team,
            "body": dict(arrival.body),
            "state": "new",
            "received_at": now,
        },
    )


async def unfinished(tx: AsyncConnection) -> list[tuple[int, str]]:
    """Every open row as (id, thread key), oldest message first."""
    table = schema.inbox
    rows = await tx.execute(select(table.c.id, table.c.thread).where(table.c.state == "new").order_by(table.c.ts))
    return [(row.id, row.thread) for row in rows]


async def start(tx: AsyncConnection, item_id: int) -> InboxItem | None:
    """Count one more attempt and return the row; None when it is finished."""
    table = schema.inbox
    statement = (
        update(table)
        .where(table.c.id == item_id, table.c.state == "new")
        .values(attempts=table.c.attempts + 1)
        .returning(table)
    )
    row = (await tx.execute(statement)).one_or_none()
    if row is None:
        return None
    team, channel, ts = row.thread.split("/")
    return InboxItem(
        id=row.id,
        kind=row.kind,
        thread=ThreadRef(team, channel, ts),
        ts=row.ts,
        author=row.author,
        author_team=row.author_team,
        body=row.body,
        attempts=row.attempts,
        received_at=row.received_at,
    )


async def uncount(tx: AsyncConnection, item_id: int) -> None:
    """Take an attempt back that failed for want of somebody else's answer."""
    table = schema.inbox
    await tx.execute(update(table).where(table.c.id == item_id).values(attempts=table.c.attempts - 1))


async def finish(tx: AsyncConnection, item_id: int, state: FinishedState, *, reason: str = "", now: float) -> None:
    """Close a row; it is not worked on again."""
    statement = update(schema.inbox).where(schema.inbox.c.id == item_id)
    await tx.execute(statement.values(state=state, reason=reason[:64], finished_at=now))


async def body_at(tx: AsyncConnection, channel: str, ts: str, *, author: str) -> Mapping[str, Any] | None:
    """What `author` wrote at (channel, ts); None when there is no such message of theirs."""
    table = schema.inbox
    statement = select(table.c.body).where(table.c.channel == channel, table.c.ts == ts, table.c.author == author)
    body: Mapping[str, Any] | None = (await tx.execute(statement)).scalars().first()
    return body
