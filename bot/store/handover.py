"""Which open rows of the inbox are in the queue of the engine of several processes, and which are not yet.

The queue is a table of DBOS 3.4 in the same database, `dbos.workflow_status`. It is read here, and only DBOS writes
it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Row, Select, bindparam, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import schema
from bot.store.cases import OPEN_STATES
from bot.store.inbox import Kind


@dataclass(frozen=True, slots=True)
class OpenRow:
    """An open row, as the engine needs it."""

    id: int
    kind: Kind
    thread: ThreadRef
    ts: str


async def unhanded(tx: AsyncConnection, *, limit: int, share: int, room: int, now: float) -> tuple[list[OpenRow], bool]:
    """The first rows that the engine does not have, and whether it has no room for more messages. The rows are locked
    until the transaction ends.

    The engine has room for `room` open messages of customers for each process that works, because its queue keeps no
    order between threads. Other rows always fit. People take turns, and each turn is by the messages' ts. The engine
    gets at most `share` open rows of one author, so that other people don't wait behind all of them. A later row of a
    thread waits for the earlier ones of all authors.
    """
    table = schema.inbox
    has = (
        select(table.c.author, func.count().label("number"))
        .where(table.c.state == "new", table.c.handed)
        .group_by(table.c.author)
        .subquery()
    )
    place = func.row_number().over(partition_by=table.c.author, order_by=(table.c.ts, table.c.id))
    columns = (table.c.id, table.c.kind, table.c.thread, table.c.author, table.c.ts, place.label("place"))
    waits = select(*columns).where(table.c.state == "new", ~table.c.handed).subquery()
    turn = (waits.c.place + func.coalesce(has.c.number, 0)).label("turn")
    waiting = select(waits.c.id, waits.c.thread, _is_in_line(waits), turn, _TAKEN, _WORKERS)
    waiting = waiting.outerjoin(has, has.c.author == waits.c.author).order_by(waits.c.ts, waits.c.id)
    rows = (await tx.execute(waiting, {"now": now})).all()
    if not rows:
        return [], False
    free = room * max(1, rows[0].workers) - rows[0].taken
    first: list[int] = []
    blocked, is_full = set[str](), False
    for turn_of_row, row in _in_turns(rows):
        has_no_room = row.is_in_line and free <= 0
        is_full = is_full or has_no_room
        if turn_of_row > share or has_no_room:
            blocked.add(row.thread)
        elif row.thread not in blocked and len(first) < limit:
            first.append(row.id)
            free -= row.is_in_line
    if not first:
        return [], is_full
    statement = _waiting().where(~table.c.handed, table.c.id.in_(first)).order_by(table.c.ts, table.c.id)
    return await _read(tx, statement.with_for_update()), is_full


def _in_turns(rows: Iterable[Row[Any]]) -> list[tuple[int, Row[Any]]]:
    """The rows, each with the turn in which it comes. No row comes before an earlier one of its thread."""
    latest: dict[str, int] = {}
    turns = []
    for row in rows:
        latest[row.thread] = max(row.turn, latest.get(row.thread, 0))
        turns.append((latest[row.thread], row))
    return sorted(turns, key=itemgetter(0))


async def count_unhanded(tx: AsyncConnection) -> int:
    """The number of open rows that the engine does not have."""
    table = schema.inbox
    statement = select(func.count()).where(table.c.state == "new", ~table.c.handed)
    return int((await tx.execute(statement)).scalar_one())


async def handed_before(tx: AsyncConnection, at: float, *, limit: int) -> list[OpenRow]:
    """The oldest open rows that the engine has and that arrived before then."""
    table = schema.inbox
    statement = _waiting().where(table.c.handed, table.c.received_at < at).order_by(table.c.id).limit(limit)
    return await _read(tx, statement)


async def mark(tx: AsyncConnection, ids: Collection[int], *, handed: bool) -> None:
    """Note that the engine has the rows, or must get them again."""
    await tx.execute(update(schema.inbox).where(schema.inbox.c.id.in_(ids)).values(handed=handed))


async def has_next(tx: AsyncConnection, item_id: int) -> bool:
    """Whether the engine has another open row of the row's thread."""
    return (await tx.execute(_NEXT, {"row": item_id})).first() is not None


async def at_work(tx: AsyncConnection, queue: str) -> list[tuple[str, str]]:
    """The queue's entries that are being worked on, and the executor of each."""
    rows = await tx.execute(_AT_WORK, {"queue": queue})
    return [(row.workflow_uuid, row.executor_id) for row in rows]


async def still_open(tx: AsyncConnection, entries: Collection[str]) -> set[str]:
    """Those of the entries that wait or are being worked on."""
    return set((await tx.execute(_OPEN, {"ids": list(entries)})).scalars())


async def ended_before(tx: AsyncConnection, queue: str, at: float, *, limit: int) -> list[str]:
    """Entries that ended before then."""
    ended = await tx.execute(_ENDED, {"queue": queue, "before": int(at * 1_000), "limit": limit})
    return list(ended.scalars())


_AT_WORK = text(
    "select workflow_uuid, executor_id from dbos.workflow_status where status = 'PENDING' and queue_name = :queue"
)
_OPEN = text(
    "select workflow_uuid from dbos.workflow_status"
    " where workflow_uuid = any(:ids) and status in ('ENQUEUED', 'DELAYED', 'PENDING')"
)
_ENDED = text(
    "select workflow_uuid from dbos.workflow_status where queue_name = :queue and updated_at < :before"
    " and status not in ('ENQUEUED', 'DELAYED', 'PENDING') limit :limit"
)


def _waiting() -> Select[Any]:
    table = schema.inbox
    return select(table.c.id, table.c.kind, table.c.thread, table.c.ts).where(table.c.state == "new")


async def _read(tx: AsyncConnection, statement: Select[Any]) -> list[OpenRow]:
    return [OpenRow(row.id, row.kind, ThreadRef.of(row.thread), row.ts) for row in await tx.execute(statement)]


def _is_in_line(rows: FromClause) -> ColumnElement[bool]:
    """Whether a row waits for the assistant. What is for the people on an open case does not."""
    kase = schema.kase
    has_people = select(kase.c.id).where(kase.c.thread == rows.c.thread, kase.c.state.in_(OPEN_STATES)).exists()
    return (rows.c.kind.in_(CUSTOMERS) & ~has_people).label("is_in_line")


CUSTOMERS = ("message", "edit")
"""The kinds of rows that customers write."""
_TAKEN = (
    select(func.count())
    .where(schema.inbox.c.state == "new", schema.inbox.c.handed, schema.inbox.c.kind.in_(CUSTOMERS))
    .scalar_subquery()
    .label("taken")
)
_WORKERS = (
    select(func.count())
    .where(schema.member.c.until > bindparam("now"), schema.member.c.role != "ingress")
    .scalar_subquery()
    .label("workers")
)
_ITEM, _OTHER = schema.inbox.alias("item"), schema.inbox.alias("other")
_NEXT = (
    select(_OTHER.c.id)
    .join_from(_ITEM, _OTHER, _OTHER.c.thread == _ITEM.c.thread)
    .where(_ITEM.c.id == bindparam("row"), _OTHER.c.id != _ITEM.c.id, _OTHER.c.state == "new", _OTHER.c.handed)
    .limit(1)
)
