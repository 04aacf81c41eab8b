"""Interrupts: people stop an answer, edit or delete their message, or ask for a person.

Each is a row of the inbox, in the lane of the message's thread. It also sets an interrupt on the rows of the message
that are still open, in the same transaction. A process that works on such a row ends early. The rest is done when the
lane reaches the interrupt's own row. Slack may deliver the interrupt before the message, and everything twice.

store_all      store arrivals of any kind, and say which rows to interrupt at once
written        the row of a message by any author
latest_edit    the newest edit of a message that its row does not have yet
replace_body   give a row the words of an edit
claim          a person answers in a thread: interrupt the answers that have begun in it
find_requested which of the rows have an interrupt
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, get_args

from sqlalchemy import ColumnElement, and_, bindparam, case, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import attempts, inbox, schema
from bot.store.bodies import Body, DeleteBody, EditBody, MessageBody, StopBody, encode
from bot.store.cases import find_open
from bot.store.inbox import SPOKEN, Arrival, InboxItem, InterruptKind
from bot.store.threads import find_thread

MAX_EDIT_DELAY = 3600.0
"""If the message itself has not come, an edit can take its place up to this many seconds after the message."""


@dataclass(frozen=True, slots=True)
class StoredArrival:
    """The result of storing an arrival."""

    item: int | None
    """Its row. None if it is already here, or concerns no one."""
    thread: str = ""
    """The key of the lane of that row."""
    told: tuple[int, ...] = ()
    """The open rows that it interrupts."""
    interrupt: InterruptKind = ""
    """The interrupt of the rows in `told`."""


async def store_all(tx: AsyncConnection, arrivals: Sequence[Arrival], *, now: float) -> list[StoredArrival]:
    """Store arrivals of any kind. Neighbours without special handling share a few statements."""
    stored: list[StoredArrival] = []
    for is_plain, group in groupby(arrivals, key=_is_plain):
        if is_plain:
            plain = list(group)
            ids = await inbox.add_all(tx, plain, now=now)
            stored += [StoredArrival(item, each.thread.key) for each, item in zip(plain, ids, strict=True)]
        else:
            stored += [await store(tx, each, now=now) for each in group]
    return stored


async def store(tx: AsyncConnection, arrival: Arrival, *, now: float) -> StoredArrival:
    """Store an arrival of any kind."""
    match arrival.body:
        case EditBody(of="") | DeleteBody(of=""):
            # An edit or deletion that could not be stored as it came no longer names its message.
            return StoredArrival(None)
        case EditBody() as edit:
            return await _store_edit(tx, arrival, edit, now=now)
        case DeleteBody() as deletion:
            return await _store_delete(tx, arrival, deletion, now=now)
        case StopBody() as stop:
            return await _store_stop(tx, arrival, stop, now=now)
    if arrival.stops:
        return await _store_word(tx, arrival, now=now)
    if arrival.calls:
        return await _store_call(tx, arrival, now=now)
    return StoredArrival(await inbox.add(tx, arrival, now=now), arrival.thread.key)


def _is_plain(arrival: Arrival) -> bool:
    return arrival.kind in ("message", "staff", "interaction") and not (arrival.stops or arrival.calls)


async def written(tx: AsyncConnection, team: str, channel: str, ts: str) -> InboxItem | None:
    """The row of the message at (channel, ts). None if it has not come, or was not for the assistant or staff."""
    table = schema.inbox
    where = (table.c.team == team, table.c.channel == channel, table.c.ts == ts, table.c.kind.in_(("message", "staff")))
    row = (await tx.execute(select(table).where(*where))).first()
    return inbox.item_of(row) if row else None


async def latest_edit(tx: AsyncConnection, item: InboxItem) -> InboxItem | None:
    """The newest edit of the item's message that the item's words do not include yet."""
    since = item.message.edited or (item.ts if item.kind == "edit" else "")
    edits = [edit for edit in await edits_of(tx, item.thread.key, item.said_at) if edit.ts > since]
    return max(edits, key=lambda edit: edit.ts, default=None)


async def edits_of(tx: AsyncConnection, thread: str, *of: str) -> list[InboxItem]:
    """The rows of all edits of the thread's messages with the ts `of`."""
    table = schema.inbox
    rows = await tx.execute(select(table).where(table.c.thread == thread, table.c.kind == "edit"))
    return [item for item in map(inbox.item_of, rows) if item.said_at in of]


async def replace_body(tx: AsyncConnection, item_id: int, body: Body, *, anew: bool = False) -> None:
    """Give a row other words. With `anew` it begins again with them: the interrupt `edited` is removed and the
    attempts count from 1.
    """
    await attempts.hold(tx)
    values: dict[str, Any] = {"body": encode(body)}
    if anew:
        # A graver interrupt that came in the meantime stays.
        interrupt = schema.inbox.c.interrupt
        values |= {"interrupt": case((interrupt == "edited", ""), else_=interrupt), "attempts": 1}
    await tx.execute(update(schema.inbox).where(schema.inbox.c.id == item_id).values(**values))


async def overhear(tx: AsyncConnection, item: InboxItem) -> None:
    """Store nothing of the row's words, only that it was for others."""
    await replace_body(tx, item.id, item.message.left())


async def stopped_since(tx: AsyncConnection, item: InboxItem) -> bool:
    """Whether its author stopped an answer in the thread after this row was stored."""
    table = schema.inbox
    where = (
        table.c.thread == item.thread.key,
        table.c.kind == "stop",
        table.c.author == item.author,
        table.c.id > item.id,
    )
    stops = map(inbox.item_of, await tx.execute(select(table).where(*where)))
    return any(isinstance(stop.body, StopBody) and not stop.body.idle for stop in stops)


async def claim(tx: AsyncConnection, thread: ThreadRef) -> None:
    """Interrupt the rows that are being worked on in the thread, because a person has claimed it. The next attempt
    leaves them to the person.
    """
    table = schema.inbox
    begun = (table.c.state == "new", table.c.kind.in_(("message", "edit")), table.c.fence > 0)
    lighter = table.c.interrupt.in_(("", "edited"))
    await tx.execute(update(table).where(table.c.thread == thread.key, *begun, lighter).values(interrupt="claimed"))


async def find_requested(tx: AsyncConnection, items: Collection[int]) -> dict[int, InterruptKind]:
    """The interrupts of those of the open rows that have one."""
    return {row.id: row.interrupt for row in await tx.execute(_REQUESTED, {"rows": list(items)})}


async def _store_word(tx: AsyncConnection, arrival: Arrival, *, now: float) -> StoredArrival:
    """Store a message like "stop". It ends the answer that is being written for its author; otherwise it is a
    message.

    Staff read it while they have the case. Otherwise the assistant says that nothing is running (bot/turns/turn.py).

    In direct messages it can be outside of the thread, because there is no one else whom it could mean.
    """
    table = schema.inbox
    twin = (table.c.channel == arrival.thread.channel, table.c.ts == arrival.ts, table.c.kind == "stop")
    if (await tx.execute(select(table.c.id).where(*twin))).first():
        return StoredArrival(None)
    place: ColumnElement[bool] = table.c.thread == arrival.thread.key
    if arrival.thread.is_direct and arrival.thread.ts == arrival.ts:
        place = table.c.channel == arrival.thread.channel
    running = await _first_open(tx, place, author=arrival.author)
    if running is None or await find_open(tx, running.thread) is not None:
        return StoredArrival(await inbox.add(tx, arrival, now=now), arrival.thread.key)
    word = replace(arrival, kind="stop", thread=running.thread, body=StopBody())
    return await _with_interrupt(tx, word, table.c.id == running.id, "stop", now=now)


async def _store_stop(tx: AsyncConnection, arrival: Arrival, stop: StopBody, *, now: float) -> StoredArrival:
    """Store a press of Stop. In channels it only counts from the author of the question. In direct messages there is
    only one person.
    """
    if await find_thread(tx, arrival.thread) is None:
        return StoredArrival(None)
    table = schema.inbox
    author = None if arrival.thread.is_direct else arrival.author
    running = await _first_open(tx, table.c.thread == arrival.thread.key, author=author)
    if running is None or await _has_ended(tx, arrival.thread, stop):
        idle = replace(arrival, body=replace(stop, idle=True))
        return await _with_interrupt(tx, idle, table.c.id == -1, "stop", now=now)
    return await _with_interrupt(tx, arrival, table.c.id == running.id, "stop", now=now)


async def _store_call(tx: AsyncConnection, arrival: Arrival, *, now: float) -> StoredArrival:
    """Store words or an interaction that ask for a person. The answers to the author's earlier messages are
    interrupted.
    """
    item = await inbox.add(tx, arrival, now=now)
    if item is None or await find_open(tx, arrival.thread) is not None:
        return StoredArrival(item, arrival.thread.key)
    table = schema.inbox
    theirs = and_(
        table.c.thread == arrival.thread.key, table.c.author == arrival.author, table.c.kind.in_(("message", "edit"))
    )
    return await _interrupt(tx, arrival, item, theirs, "called")


async def _has_ended(tx: AsyncConnection, thread: ThreadRef, stop: StopBody) -> bool:
    """Whether the stream that was stopped belongs to a finished turn. Then the press is not about a later one."""
    streams = set(stop.streams)
    table = schema.turn
    ended = await tx.execute(
        select(table.c.posts).where(table.c.thread == thread.key).order_by(table.c.finished_at.desc()).limit(5)
    )
    return bool(streams) and streams <= {ts for (posts,) in ended for ts in posts or ()}


async def _store_edit(tx: AsyncConnection, arrival: Arrival, edit: EditBody, *, now: float) -> StoredArrival:
    row = await written(tx, arrival.thread.team, arrival.thread.channel, edit.of)
    if row is None:
        stored = await _store_as_message(tx, arrival, edit, now=now)
        # If other processes write at the same time, the message may have come between the two queries.
        row = None if stored.item else await written(tx, arrival.thread.team, arrival.thread.channel, edit.of)
        if row is None:
            return stored
    edits = await edits_of(tx, row.thread.key, edit.of)
    newest = max([row.message.edited, *(each.ts for each in edits)])
    words = next((each.words for each in edits if each.ts == newest), row.words)
    is_news = row.author == arrival.author and not row.body.is_erased and arrival.ts > newest
    if not is_news or edit.words == words:
        return StoredArrival(None)
    return await _with_interrupt(tx, replace(arrival, thread=row.thread), _concerns(row, edits), "edited", now=now)


async def _store_as_message(tx: AsyncConnection, arrival: Arrival, edit: EditBody, *, now: float) -> StoredArrival:
    """Store an edit of a message that has not come. It becomes the message if it now addresses us or has only
    overtaken it.
    """
    if not edit.speaks_anew:
        if float(arrival.ts) - float(edit.of) > MAX_EDIT_DELAY:
            return StoredArrival(None)
        if not arrival.addressed and not await _began_before(tx, arrival.thread.key, edit.of):
            return StoredArrival(None)
    kind: inbox.Kind = "staff" if edit.is_staff else "message"
    body = MessageBody().reworded(edit, edited=arrival.ts)
    message = replace(arrival, kind=kind, ts=edit.of, body=body)
    return StoredArrival(await inbox.add(tx, message, now=now), arrival.thread.key)


async def _store_delete(tx: AsyncConnection, arrival: Arrival, deletion: DeleteBody, *, now: float) -> StoredArrival:
    """Store a deletion. Slack names no author for it, so the row of the message says who that is."""
    of = deletion.of
    row = await written(tx, arrival.thread.team, arrival.thread.channel, of)
    if row is None and not arrival.author:
        return StoredArrival(None)
    if row is not None:
        arrival = replace(arrival, author=row.author, author_team=row.author_team)
    if row is None and (arrival.addressed or await _began_before(tx, arrival.thread.key, of)):
        # If the message still comes, it finds this row in its place, and no one works on it.
        kind: inbox.Kind = "staff" if deletion.is_staff else "message"
        stone = replace(arrival, kind=kind, ts=of, body=MessageBody(deleted=0))
        if await inbox.insert(tx, stone, now=now, state="dropped", reason="deleted") is None:
            # If other processes write at the same time, the message may have come between the two queries.
            row = await written(tx, arrival.thread.team, arrival.thread.channel, of)
    if row is None or row.body.is_erased:
        return StoredArrival(None)
    edits = await edits_of(tx, row.thread.key, of)
    return await _with_interrupt(tx, replace(arrival, thread=row.thread), _concerns(row, edits), "deleted", now=now)


async def _began_before(tx: AsyncConnection, thread: str, ts: str) -> bool:
    """Whether the thread was a conversation before the message at `ts`."""
    table = schema.inbox
    first = await tx.execute(select(func.min(table.c.ts)).where(table.c.thread == thread, table.c.kind == "message"))
    at: str | None = first.scalar_one()
    return at is not None and at < ts


def _concerns(row: InboxItem, edits: Collection[InboxItem]) -> ColumnElement[bool]:
    """The rows in which the message is worked on: its own, and its edits that are answered separately."""
    return schema.inbox.c.id.in_([row.id, *(edit.id for edit in edits)])


async def _first_open(tx: AsyncConnection, place: ColumnElement[bool], *, author: str | None) -> InboxItem | None:
    """The first open row in that place, being worked on or next. None if it is not by `author`; None as `author`
    accepts all.
    """
    table = schema.inbox
    where = [place, table.c.state == "new", table.c.kind.in_(("message", "edit"))]
    rows = (await tx.execute(select(table).where(*where).order_by(table.c.id).limit(1))).all()
    return next((inbox.item_of(row) for row in rows if author in (None, row.author)), None)


async def _with_interrupt(
    tx: AsyncConnection, arrival: Arrival, rows: ColumnElement[bool], interrupt: InterruptKind, *, now: float
) -> StoredArrival:
    """Store the arrival, and set the interrupt on the open ones of the rows that have no graver one."""
    item = await inbox.insert(tx, arrival, now=now)
    return StoredArrival(None) if item is None else await _interrupt(tx, arrival, item, rows, interrupt)


async def _interrupt(
    tx: AsyncConnection, arrival: Arrival, item: int, rows: ColumnElement[bool], interrupt: InterruptKind
) -> StoredArrival:
    """Set the interrupt on the open ones of the rows that have no graver one, except on the arrival's own."""
    table, interrupts = schema.inbox, get_args(InterruptKind)
    lighter = interrupts[: interrupts.index(interrupt)]
    where = (rows, table.c.state == "new", table.c.kind.in_(SPOKEN), table.c.id != item, table.c.interrupt.in_(lighter))
    told = await tx.execute(update(table).where(*where).values(interrupt=interrupt).returning(table.c.id))
    return StoredArrival(item, arrival.thread.key, tuple(told.scalars()), interrupt)


_INBOX = schema.inbox
_REQUESTED = select(_INBOX.c.id, _INBOX.c.interrupt).where(
    _INBOX.c.id.in_(bindparam("rows", expanding=True)), _INBOX.c.interrupt != "", _INBOX.c.state == "new"
)
