"""The outbox's rows: the calls to Slack, each under a deterministic key, in order."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import Row, and_, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot import tracing
from bot.conversation import ThreadRef
from bot.store import attempts, schema
from bot.store.statements import begins_any, in_batches, insert_each_new
from bot.store.threads import epoch_of

OPEN = ("pending", "sending")
"""The states of a row that is neither sent nor failed."""

Method = Literal["post", "update", "delete", "react", "unreact", "ephemeral", "unshare", "session"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One call to Slack that must happen exactly once."""

    key: str
    """Deterministic. Adding the same key twice adds one row."""
    method: Method
    channel: str
    payload: Mapping[str, Any]
    """The call's own arguments: `text`, `blocks`, `username`, `name` ….

    An ephemeral has the `user` who sees it. `ts` is for a message that no row posted. `link_to` is the key of the row
    whose message's address the texts contain. A post can have `files`, each with the `id` and `name` of a file that a
    person shared, and `if_missing`, a text for when one cannot be shared. An unshare names some of the files' ids;
    with none it means all. A session sets the `status` of the thread's agent session, or its `title`."""
    thread_ts: str | None = None
    parent: str | None = None
    """The key of an earlier row of the channel whose message this one belongs to. A post replies under it, an
    ephemeral is shown there to one person, an update changes it, a delete deletes it, an unshare deletes its files. A
    reaction without a `ts` of its own is put on it.
    If Slack refuses the earlier row for good, this one fails, too."""
    case_id: int | None = None
    source: tuple[str, str] | None = None
    """The (channel, ts) of the message that this one mirrors."""
    epoch: tuple[str, int] | None = None
    """For what the assistant says: the key of the conversation and its ownership epoch. It is not posted in a later
    epoch."""
    when_sent: tuple["Outgoing", ...] = ()
    """Calls that are queued in the transaction that marks this one as sent."""
    when_failed: tuple["Outgoing", ...] = ()
    """Calls that are queued in the transaction that marks this one as refused by Slack."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A stored `Outgoing` on its way."""

    id: int
    key: str
    method: Method
    channel: str
    thread_ts: str | None
    lane: str
    """The queue of the row: the rows of one thread, or about one message, leave in order."""
    parent: str | None
    payload: Mapping[str, Any]
    state: str
    attempts: int
    """How often it was marked as being sent."""
    ts: str | None
    created_at: float
    case_id: int | None
    source: tuple[str, str] | None
    epoch: tuple[str, int] | None
    when_sent: tuple[Outgoing, ...]
    when_failed: tuple[Outgoing, ...]
    traceparent: str | None = None
    """The span in which it was queued. None if no traces are made."""


async def add(tx: AsyncConnection, *calls: Outgoing, now: float) -> None:
    """Queue calls. If a key already exists, its row stays as it is. Raises Superseded in a turn that a later attempt
    has taken over.
    """
    await attempts.hold(tx)
    table, rows, traceparent = schema.outbox, [], tracing.traceparent()
    lanes: dict[str, str] = {}
    if parents := {outgoing.parent for outgoing in calls if outgoing.parent is not None}:
        known = await tx.execute(select(table.c.key, table.c.lane).where(table.c.key.in_(parents)))
        lanes = {row.key: row.lane for row in known}
    for outgoing in calls:
        source_channel, source_ts = outgoing.source or (None, None)
        conversation, epoch = outgoing.epoch or (None, None)
        lane = _lane(outgoing, lanes)
        lanes.setdefault(outgoing.key, lane)
        rows.append(
            {
                "key": outgoing.key,
                "method": outgoing.method,
                "channel": outgoing.channel,
                "thread_ts": outgoing.thread_ts,
                "lane": lane,
                "parent": outgoing.parent,
                "payload": dict(outgoing.payload),
                "afterwards": {
                    "sent": [asdict(one) for one in outgoing.when_sent],
                    "failed": [asdict(one) for one in outgoing.when_failed],
                },
                "state": "pending",
                "case_id": outgoing.case_id,
                "source_channel": source_channel,
                "source_ts": source_ts,
                "conversation": conversation,
                "epoch": epoch,
                "created_at": now,
                "traceparent": traceparent,
            }
        )
    await insert_each_new(tx, table, rows)


async def open_rows(tx: AsyncConnection, *, limit: int = 500) -> list[OutboxRow]:
    """The first rows that are neither sent nor failed, in order."""
    table = schema.outbox
    statement = select(table).where(table.c.state.in_(OPEN)).order_by(table.c.id).limit(limit)
    return [row_of(row) for row in await tx.execute(statement)]


async def heads(
    tx: AsyncConnection, *, besides: Collection[tuple[str, str]], channels: Collection[str], limit: int
) -> list[OutboxRow]:
    """The first open row of each lane, in order. The lanes `besides`, by channel and name, and the `channels` are
    left out.
    """
    table = schema.outbox
    busy = [f"{channel}|{lane}" for channel, lane in besides]
    first = (
        select(func.min(table.c.id))
        .where(
            table.c.state.in_(OPEN),
            table.c.channel.not_in(list(channels)),
            (table.c.channel + "|" + table.c.lane).not_in(busy),
        )
        .group_by(table.c.channel, table.c.lane)
        .order_by(func.min(table.c.id))
        .limit(limit)
    )
    statement = select(table).where(table.c.id.in_(first)).order_by(table.c.id)
    return [row_of(row) for row in await tx.execute(statement)]


async def head(tx: AsyncConnection, channel: str, lane: str) -> OutboxRow | None:
    """The first open row of a lane."""
    table = schema.outbox
    statement = (
        select(table)
        .where(table.c.channel == channel, table.c.lane == lane, table.c.state.in_(OPEN))
        .order_by(table.c.id)
        .limit(1)
    )
    row = (await tx.execute(statement)).one_or_none()
    return row_of(row) if row else None


async def by_key(tx: AsyncConnection, key: str) -> OutboxRow | None:
    """The row with this key."""
    row = (await tx.execute(select(schema.outbox).where(schema.outbox.c.key == key))).one_or_none()
    return row_of(row) if row else None


async def by_place(tx: AsyncConnection, channel: str, ts: str) -> OutboxRow | None:
    """The row whose post is at (channel, ts)."""
    table = schema.outbox
    statement = select(table).where(table.c.channel == channel, table.c.ts == ts, table.c.method == "post")
    row = (await tx.execute(statement)).first()
    return row_of(row) if row else None


async def mirrors(tx: AsyncConnection, channel: str, *ts: str) -> list[OutboxRow]:
    """The rows whose posts mirror what a person wrote at (channel, ts), or at one of several ts, oldest first."""
    table = schema.outbox
    where = (table.c.source_channel == channel, table.c.source_ts.in_(ts), table.c.method == "post")
    return [row_of(row) for row in await tx.execute(select(table).where(*where).order_by(table.c.id))]


async def relayed(
    tx: AsyncConnection, thread: ThreadRef, *, latest: int | None, case_id: int | None = None
) -> list[tuple[str, str]]:
    """The latest posts in the thread, or of one case in it, that mirror what people wrote elsewhere. Pairs of (ts,
    text), oldest first.

    The text is the current one, or the one that is about to be shown. Posts that are deleted, or about to be, are
    left out.
    """
    table = schema.outbox
    there = [table.c.channel == thread.channel, table.c.thread_ts == thread.ts, table.c.source_ts.is_not(None)]
    if case_id is not None:
        there.append(table.c.case_id == case_id)
    posted = await tx.execute(
        select(table.c.key, table.c.ts, table.c.payload)
        .where(*there, table.c.method == "post", table.c.state == "sent")
        .order_by(table.c.ts.desc())
        .limit(latest)
    )
    rows = posted.all()
    read = await _as_read(tx, {row.key: str(row.payload["text"]) for row in rows})
    return sorted((row.ts, read[row.key]) for row in rows if row.key in read)


async def said_in_case(tx: AsyncConnection, case_id: int, channel: str, *, latest: int) -> list[str]:
    """The latest of staff's words in a case that its customer sees in `channel`, or soon will, oldest first."""
    table = schema.outbox
    theirs = (table.c.case_id == case_id, table.c.channel == channel, table.c.source_ts.is_not(None))
    posted = await tx.execute(
        select(table.c.key, table.c.payload)
        .where(*theirs, table.c.method == "post", table.c.state != "failed")
        .order_by(table.c.id.desc())
        .limit(latest)
    )
    texts = {row.key: str(row.payload["text"]) for row in reversed(posted.all())}
    return list((await _as_read(tx, texts)).values())


async def _as_read(tx: AsyncConnection, texts: dict[str, str]) -> dict[str, str]:
    """Key -> text of posts, with their edits. Deleted posts are left out."""
    table = schema.outbox
    changes = await tx.execute(
        select(table.c.parent, table.c.method, table.c.payload)
        .where(table.c.parent.in_(texts), table.c.state != "failed")
        .where(table.c.method.in_(("update", "delete")))
        .order_by(table.c.id)
    )
    for row in changes:
        if row.method == "delete":
            texts.pop(row.parent, None)
        elif row.parent in texts:
            texts[row.parent] = str(row.payload["text"])
    return texts


async def standing(tx: AsyncConnection, case_id: int, channel: str, lane: str) -> dict[str, Mapping[str, Any]]:
    """What our messages about a case show in one lane, or soon will: by the keys of their posts, oldest first."""
    table = schema.outbox
    rows = await tx.execute(
        select(table.c.key, table.c.method, table.c.parent, table.c.payload)
        .where(table.c.channel == channel, table.c.lane == lane, table.c.case_id == case_id)
        .where(table.c.method.in_(("post", "update", "delete")), table.c.state != "failed")
        .order_by(table.c.id)
    )
    shown: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row.method == "post":
            shown[row.key] = row.payload
        elif row.method == "delete":
            shown.pop(row.parent, None)
        elif row.parent in shown:
            shown[row.parent] = row.payload
    return shown


async def posts_under(tx: AsyncConnection, *prefixes: str) -> list[OutboxRow]:
    """The posts whose keys begin with one of the prefixes, oldest first."""
    table = schema.outbox
    found: list[OutboxRow] = []
    for some in in_batches(prefixes):
        # With alternatives, an order would make the database read all rows in that order.
        where = (or_(*begins_any(table.c.key, some)), table.c.method == "post")
        found += map(row_of, await tx.execute(select(table).where(*where)))
    return sorted(found, key=lambda row: row.id)


async def reword(tx: AsyncConnection, post: OutboxRow, text: str) -> None:
    """Store another text of a post, also in the updates of it."""
    table = schema.outbox
    of_it = or_(table.c.key == post.key, and_(table.c.parent == post.key, table.c.method == "update"))
    await tx.execute(update(table).where(of_it).values(payload={**post.payload, "text": text}))


async def drop_from_payload(tx: AsyncConnection, row_id: int, name: str) -> dict[str, Any] | None:
    """Remove one key from a row's payload, as it is stored by now. Returns what is left, or None if the row is gone."""
    table = schema.outbox
    stored = (await tx.execute(select(table.c.payload).where(table.c.id == row_id).with_for_update())).scalar()
    if stored is None:
        return None
    payload = {key: value for key, value in stored.items() if key != name}
    await tx.execute(update(table).where(table.c.id == row_id).values(payload=payload))
    return payload


async def mark_sending(tx: AsyncConnection, row_id: int, *, attempts: int) -> bool:
    """Note that the call is about to leave: from here on it may have happened.

    False if the row is closed, or was marked more often than the caller knows. Then another process may have sent it.
    """
    table = schema.outbox
    statement = update(table).where(table.c.id == row_id, table.c.state.in_(OPEN), table.c.attempts == attempts)
    marking = statement.values(state="sending", attempts=table.c.attempts + 1).returning(table.c.id)
    return (await tx.execute(marking)).scalar_one_or_none() is not None


async def silence(tx: AsyncConnection, row: OutboxRow, *, attempts: int) -> bool:
    """Drop a row of the assistant's from an earlier ownership epoch. Any other row is left alone, and the result is
    False.

    It can be queued again under the same key, if the situation at that time calls for it.
    """
    if row.epoch is None or await epoch_of(tx, row.epoch[0]) == row.epoch[1]:
        return False
    table = schema.outbox
    dropping = delete(table).where(table.c.id == row.id, table.c.state.in_(OPEN), table.c.attempts == attempts)
    return (await tx.execute(dropping.returning(table.c.id))).scalar_one_or_none() is not None


async def mark_sent(tx: AsyncConnection, row: OutboxRow, ts: str | None, *, now: float) -> None:
    """Note that Slack did it, and queue what follows. `ts` is the message's."""
    statement = update(schema.outbox).where(schema.outbox.c.id == row.id)
    await tx.execute(statement.values(state="sent", ts=ts, sent_at=now, error=""))
    await add(tx, *row.when_sent, now=now)


async def mark_failed(tx: AsyncConnection, row: OutboxRow, error: str, *, now: float) -> OutboxRow:
    """Note that Slack refused for good, and queue what follows. Returns the row as it is now, because it may have
    been erased since it was read.
    """
    table = schema.outbox
    failing = update(table).where(table.c.id == row.id).values(state="failed", error=error).returning(table)
    failed = row_of((await tx.execute(failing)).one())
    await add(tx, *failed.when_failed, now=now)
    return failed


def _lane(outgoing: Outgoing, lanes: Mapping[str, str]) -> str:
    """The row's lane in its channel: its parent's, its thread's, that of the message it is about, or one of its own.

    `lanes` holds the parents' lanes by key. Session calls have lanes of their own, so they don't delay what people
    read.
    """
    if outgoing.method == "session":
        return f"session@{outgoing.thread_ts}"
    if outgoing.parent is not None:
        return lanes.get(outgoing.parent) or lane_under(outgoing.parent)
    ts = outgoing.thread_ts or outgoing.payload.get("ts")
    return lane_of_thread(ts) if ts else lane_under(outgoing.key)


def lane_of_thread(ts: str) -> str:
    """The lane of a thread that a person began, and of calls about its first message."""
    return f"@{ts}"


def lane_under(key: str) -> str:
    """The lane of the thread that a row's own post begins."""
    return f"/{key}"


def row_of(row: Row[Any]) -> OutboxRow:
    """Turn a whole row into an `OutboxRow`."""
    return OutboxRow(
        id=row.id,
        key=row.key,
        method=row.method,
        channel=row.channel,
        thread_ts=row.thread_ts,
        lane=row.lane,
        parent=row.parent,
        payload=row.payload,
        state=row.state,
        attempts=row.attempts,
        ts=row.ts,
        created_at=row.created_at,
        case_id=row.case_id,
        source=(row.source_channel, row.source_ts) if row.source_channel else None,
        epoch=(row.conversation, row.epoch) if row.conversation else None,
        when_sent=tuple(_outgoing(one) for one in row.afterwards["sent"]),
        when_failed=tuple(_outgoing(one) for one in row.afterwards["failed"]),
        traceparent=row.traceparent,
    )


def _outgoing(stored: dict[str, Any]) -> Outgoing:
    source, epoch = stored["source"], stored["epoch"]
    nested = {name: tuple(_outgoing(one) for one in stored[name]) for name in ("when_sent", "when_failed")}
    pairs = {"source": tuple(source) if source else None, "epoch": tuple(epoch) if epoch else None}
    return Outgoing(**{**stored, **nested, **pairs})
