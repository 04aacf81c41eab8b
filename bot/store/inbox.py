"""The inbox's rows: stored before Slack hears "ok", finished when they are answered or dropped with a reason."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Row, case, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import attempts, schema
from bot.store.statements import insert_all_new, insert_new
from bot.store.threads import add_threads, known_among

Kind = Literal["message", "staff", "interaction", "stop", "edit", "delete"]
"""A customer's message, a message in a thread of a team channel, a press of a button; and what people do to what
they wrote (bot/store/interrupts.py)."""
SPOKEN = ("message", "staff", "edit")
"""The kinds of rows that hold what somebody said."""
InterruptKind = Literal["", "edited", "claimed", "called", "stop", "deleted"]
"""What is wanted of an open row since it was stored; `claimed`: a person answers in its thread from now on; `called`:
its author wants a person instead of its answer."""
LOOKED_THROUGH = 200
"""Of a thread's messages, the latest that are looked through for files."""
SUSPECT_ATTEMPTS = 2
"""Tries that came to nothing, from which on a row may be what ends the process."""
SILENT = "silent"
"""How a turn has ended whose words were dropped, since a person has the thread by now."""
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
    """What the turn needs to know: `text` and `files` (each `id`, `name`, `mimetype`, `size`), for a press `action` and
    `value`."""
    addressed: bool
    """True: it starts a conversation. False: it counts only in a thread that already is one."""
    stops: bool = False
    """True: the words ask for an end; while an answer is on its way they are a stop, and a message otherwise."""
    calls: bool = False
    """True: a person is asked for, who is worth more than any answer that is on its way."""


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
    interrupt: InterruptKind = ""
    """What has been wished of it before this try began."""
    fence: int = 1
    """The number of this very try, which no other has; it decides whose the row is (bot/store/attempts.py)."""

    @property
    def failures(self) -> int:
        """Tries before this one; they came to nothing, or it would not have begun."""
        return self.attempts - 1

    @property
    def said_at(self) -> str:
        """Slack's timestamp of the message, which for an edit is that of what was edited."""
        return str(self.body.get("of", self.ts))

    @property
    def words(self) -> str:
        """The message's words, and the names of the files it brought."""
        return words_of(self.body)


def words_of(body: Mapping[str, Any]) -> str:
    """What a stored body says to a reader."""
    return naming_files(str(body["text"]), file_names(body))


def file_names(body: Mapping[str, Any]) -> tuple[str, ...]:
    """What the files of a stored body are called. Earlier releases kept their names alone."""
    return tuple(file if isinstance(file, str) else str(file["name"]) for file in body.get("files", ()))


def naming_files(text: str, names: Sequence[str]) -> str:
    """A message with the names of the files that it brought."""
    return f"{text}\n[attached: {', '.join(names)}]".strip() if names else text


def without_files(words: str) -> str:
    """What was written beside the files, of words by `naming_files`."""
    return _ATTACHED.sub("", words)


_ATTACHED = re.compile(r"\n?\[attached: [^\n]*\]\Z")


async def add(tx: AsyncConnection, arrival: Arrival, *, now: float) -> int | None:
    """Store an arrival; its id, or None when it is already here or nobody here is spoken to."""
    return (await add_all(tx, [arrival], now=now))[0]


async def add_all(tx: AsyncConnection, arrivals: Sequence[Arrival], *, now: float) -> list[int | None]:
    """As `add`, for many with few statements: one that comes before another counts as having come before."""
    conversations = await known_among(tx, [arrival.thread for arrival in arrivals if not arrival.addressed])
    spoken_to: list[Arrival] = []
    for arrival in arrivals:
        if arrival.addressed:
            conversations.add(arrival.thread)
        if arrival.thread in conversations:
            spoken_to.append(arrival)
    await add_threads(tx, [arrival.thread for arrival in spoken_to if arrival.addressed], now=now)
    rows = [_values(arrival, now=now) for arrival in sorted(spoken_to, key=_place)]
    ids = {row.event_id: row.id for row in await insert_all_new(tx, schema.inbox, rows, "id", "event_id")}
    # One event twice in a group is one row, and one answer to whoever asks.
    return [ids.pop(arrival.event_id, None) for arrival in arrivals]


async def insert(
    tx: AsyncConnection, arrival: Arrival, *, now: float, state: str = "new", reason: str = ""
) -> int | None:
    """Store an arrival whoever is spoken to; its id, or None when it is already here."""
    values = _values(arrival, now=now) | {"state": state, "reason": reason}
    item: int | None = await insert_new(tx, schema.inbox, values)
    return item


def _place(arrival: Arrival) -> tuple[str, ...]:
    return (arrival.thread.team, arrival.thread.channel, arrival.ts, arrival.kind, arrival.event_id)


def _values(arrival: Arrival, *, now: float) -> dict[str, Any]:
    return {
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
    }


async def unfinished(tx: AsyncConnection) -> list[tuple[int, str]]:
    """Every open row as (id, thread key), oldest message first."""
    table = schema.inbox
    rows = await tx.execute(select(table.c.id, table.c.thread).where(table.c.state == "new").order_by(table.c.ts))
    return [(row.id, row.thread) for row in rows]


async def suspects(tx: AsyncConnection) -> list[int]:
    """Open rows that failed twice, or were at work at two crashes."""
    return list((await tx.execute(_SUSPECTS)).scalars())


async def is_suspect(tx: AsyncConnection, item_id: int) -> bool:
    """Whether the row is one of `suspects`."""
    return (await tx.execute(_SUSPECTS.where(schema.inbox.c.id == item_id))).first() is not None


_SUSPECTS = select(schema.inbox.c.id).where(schema.inbox.c.state == "new", schema.inbox.c.attempts >= SUSPECT_ATTEMPTS)


async def start(tx: AsyncConnection, item_id: int) -> InboxItem | None:
    """Count one more attempt and return the row; None when it is finished.

    That somebody has claimed its thread is wished of the attempt before: this one sees the case.
    """
    table = schema.inbox
    interrupt = case((table.c.interrupt == "claimed", ""), else_=table.c.interrupt)
    statement = (
        update(table)
        .where(table.c.id == item_id, table.c.state == "new")
        .values(attempts=table.c.attempts + 1, fence=table.c.fence + 1, interrupt=interrupt, reason="")
        .returning(table)
    )
    row = (await tx.execute(statement)).one_or_none()
    return item_of(row) if row else None


def item_of(row: Row[Any]) -> InboxItem:
    """A whole row as an item."""
    return InboxItem(
        id=row.id,
        kind=row.kind,
        thread=ThreadRef.of(row.thread),
        ts=row.ts,
        author=row.author,
        author_team=row.author_team,
        body=row.body,
        attempts=row.attempts,
        received_at=row.received_at,
        interrupt=row.interrupt,
        fence=row.fence,
    )


async def uncount(tx: AsyncConnection, item_id: int) -> None:
    """Take an attempt back that failed for want of somebody else's answer; Superseded when it is not the latest."""
    await attempts.hold(tx)
    table = schema.inbox
    await tx.execute(update(table).where(table.c.id == item_id).values(attempts=table.c.attempts - 1))


async def finish(tx: AsyncConnection, item_id: int, state: FinishedState, *, reason: str = "", now: float) -> None:
    """Close a row; it is not worked on again. Superseded when a later attempt than the caller's has begun."""
    await attempts.hold(tx)
    table = schema.inbox
    told = case((table.c.reason == SILENT, SILENT), else_=reason[:64])
    await tx.execute(update(table).where(table.c.id == item_id).values(state=state, reason=told, finished_at=now))


async def note_silence(tx: AsyncConnection, post: str) -> None:
    """Say of the turn to which a dropped post belongs, by its key, that it ends silent; not of one whose answer was
    kept."""
    kind, _, name = post.partition("/")
    number = name.partition("/")[0]
    if kind != "turn" or not number.isdigit():
        return
    table, turn = schema.inbox, schema.turn
    kept = select(turn.c.id).where(turn.c.id == table.c.id).exists()
    await tx.execute(update(table).where(table.c.id == int(number), ~kept).values(reason=SILENT))


async def last_said(tx: AsyncConnection, thread: ThreadRef, author: str) -> float | None:
    """When the person's latest message in the thread came."""
    table = schema.inbox
    where = (table.c.thread == thread.key, table.c.author == author, table.c.kind == "message")
    at: float | None = (await tx.execute(select(func.max(table.c.received_at)).where(*where))).scalar_one()
    return at


async def answered_last(tx: AsyncConnection, item: InboxItem) -> str | None:
    """Who wrote the latest message of the thread, before this one, that the assistant or a person has taken up."""
    table = schema.inbox
    where = (table.c.thread == item.thread.key, table.c.kind.in_(("message", "edit")), table.c.ts < item.ts)
    taken_up = (table.c.state.in_(("done", "dead")), table.c.reason != "noted")
    statement = select(table.c.author).where(*where, *taken_up).order_by(table.c.ts.desc()).limit(1)
    author: str | None = (await tx.execute(statement)).scalars().first()
    return author


async def body_at(tx: AsyncConnection, channel: str, ts: str, *, author: str) -> Mapping[str, Any] | None:
    """What `author` wrote at (channel, ts); None when there is no such message of theirs."""
    table = schema.inbox
    statement = select(table.c.body).where(table.c.channel == channel, table.c.ts == ts, table.c.author == author)
    body: Mapping[str, Any] | None = (await tx.execute(statement)).scalars().first()
    return body


async def author_of(tx: AsyncConnection, item_id: int) -> str:
    """Who wrote or pressed it, of all workspaces; empty when there is no such row."""
    table = schema.inbox
    row = (await tx.execute(select(table.c.author_team, table.c.author).where(table.c.id == item_id))).one_or_none()
    return f"{row.author_team}/{row.author}" if row else ""


async def body_of(tx: AsyncConnection, item_id: int) -> Mapping[str, Any]:
    """What is stored with a row now."""
    table = schema.inbox
    body: Mapping[str, Any] = (await tx.execute(select(table.c.body).where(table.c.id == item_id))).scalar_one()
    return body


async def with_files(tx: AsyncConnection, thread: ThreadRef, *, author: str, latest: int) -> list[InboxItem]:
    """The author's latest messages in the thread that brought files, oldest first; those that nobody has begun to work
    on are left to whoever will."""
    table = schema.inbox
    where = (table.c.thread == thread.key, table.c.kind == "message", table.c.author == author, table.c.fence > 0)
    rows = await tx.execute(select(table).where(*where).order_by(table.c.ts.desc()).limit(LOOKED_THROUGH))
    found = [item_of(row) for row in rows if row.body.get("files")]
    return found[:latest][::-1]
