"""The outbox's rows: what Slack must be told, each under a deterministic key, in order."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import Row, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_new

Method = Literal["post", "update", "react"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One call to Slack that must happen exactly once."""

    key: str
    """Deterministic: adding the same key twice is adding it once."""
    method: Method
    channel: str
    payload: Mapping[str, Any]
    """The call's own arguments: `text`, `blocks`, `username`, `name` …"""
    thread_ts: str | None = None
    parent: str | None = None
    """The key of an earlier row of the channel whose message this one belongs to: a post replies under it, an
    update changes it. When that one was refused for good, so is this one."""
    case_id: int | None = None
    source: tuple[str, str] | None = None
    """The (channel, ts) of the message this one mirrors."""
    when_sent: tuple["Outgoing", ...] = ()
    """Queued in the same transaction that says this one is sent."""
    when_failed: tuple["Outgoing", ...] = ()
    """Queued in the same transaction that says Slack refused this one."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A stored `Outgoing` on its way."""

    id: int
    key: str
    method: Method
    channel: str
    thread_ts: str | None
    parent: str | None
    payload: Mapping[str, Any]
    state: str
    ts: str | None
    created_at: float
    case_id: int | None
    when_sent: tuple[Outgoing, ...]
    when_failed: tuple[Outgoing, ...]


async def add(tx: AsyncConnection, outgoing: Outgoing, *, now: float) -> None:
    """Queue one call; a key that is there already is left as it is."""
    source_channel, source_ts = outgoing.source or (None, None)
    await insert_new(
        tx,
        schema.outbox,
        {
            "key": outgoing.key,
            "method": outgoing.method,
            "channel": outgoing.channel,
            "thread_ts": outgoing.thread_ts,
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
            "created_at": now,
        },
    )


async def open_rows(tx: AsyncConnection, *, besides: Collection[str] = (), limit: int = 500) -> list[OutboxRow]:
    """The first rows that are neither sent nor failed, in order; those of the channels `besides` are left out."""
    table = schema.outbox
    statement = (
        select(table)
        .where(table.c.state.in_(("pending", "sending")), table.c.channel.not_in(besides))
        .order_by(table.c.id)
        .limit(limit)
    )
    return [_row(row) for row in await tx.execute(statement)]


async def by_key(tx: AsyncConnection, key: str) -> OutboxRow | None:
    """The row with this key."""
    row = (await tx.execute(select(schema.outbox).where(schema.outbox.c.key == key))).one_or_none()
    return _row(row) if row else None


async def by_place(tx: AsyncConnection, channel: str, ts: str) -> OutboxRow | None:
    """The row whose post stands at (channel, ts)."""
    table = schema.outbox
    statement = select(table).where(table.c.channel == channel, table.c.ts == ts, table.c.method == "post")
    row = (await tx.execute(statement)).first()
    return _row(row) if row else None


async def mark_sending(tx: AsyncConnection, row_id: int) -> None:
    """Say that the call is about to leave: from here on it may have happened."""
    table = schema.outbox
    statement = update(table).where(table.c.id == row_id)
    await tx.execute(statement.values(state="sending", attempts=table.c.attempts + 1))


async def mark_sent(tx: AsyncConnection, row: OutboxRow, ts: str | None, *, now: float) -> None:
    """Say that Slack did it, and queue what follows; `ts` is the message's."""
    statement = update(schema.outbox).where(schema.outbox.c.id == row.id)
    await tx.execute(statement.values(state="sent", ts=ts, sent_at=now, error=""))
    for following in row.when_sent:
        await add(tx, following, now=now)


async def mark_failed(tx: AsyncConnection, row: OutboxRow, error: str, *, now: float) -> None:
    """Say that Slack refused for good, and queue what follows."""
    statement = update(schema.outbox).where(schema.outbox.c.id == row.id)
    await tx.execute(statement.values(state="failed", error=error[:160]))
    for following in row.when_failed:
        await add(tx, following, now=now)


def _row(row: Row[Any]) -> OutboxRow:
    return OutboxRow(
        id=row.id,
        key=row.key,
        method=row.method,
        channel=row.channel,
        thread_ts=row.thread_ts,
        parent=row.parent,
        payload=row.payload,
        state=row.state,
        ts=row.ts,
        created_at=row.created_at,
        case_id=row.case_id,
        when_sent=tuple(_outgoing(one) for one in row.afterwards["sent"]),
        when_failed=tuple(_outgoing(one) for one in row.afterwards["failed"]),
    )


def _outgoing(stored: dict[str, Any]) -> Outgoing:
    source = stored["source"]
    nested = {name: tuple(_outgoing(one) for one in stored[name]) for name in ("when_sent", "when_failed")}
    return Outgoing(**{**stored, **nested, "source": tuple(source) if source else None})
