"""What people do to what they wrote: they stop its answer, edit it, delete it, want a person instead.

Each is a row of the inbox, in the lane of the message's thread, and a wish on the rows of the message that are still
open, all in one transaction. Whoever works on such a row ends early; what is left to do is done when the lane comes
to the row of the deed itself. Slack may bring the deed before the message, and everything twice.

store_all      arrivals of any kind, and whom to tell at once
written        the row of a message, whoever wrote it
latest_edit    the newest edit of a message that no row has taken up yet
replace_body   give a row the words of an edit
claim          a person answers in a thread: the answers that are begun in it end
wished         which of the rows have a wish
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, get_args

from sqlalchemy import ColumnElement, and_, case, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import attempts, inbox, schema
from bot.store.cases import find_open
from bot.store.inbox import SPOKEN, Arrival, InboxItem, InterruptKind
from bot.store.threads import find_thread

MAX_EDIT_DELAY = 3600.0
"""How much later than its message an edit may come to stand for a message that has not come itself."""

OVERHEARD = "overheard"
"""In the body of a message: it was not for the assistant."""
IDLE = "idle"
"""In the body of a stop: there was nothing to be stopped."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of an arrival."""

    item: int | None
    """Its row; None when it is already here, or concerns nobody."""
    thread: str = ""
    """The key of the lane of that row."""
    told: tuple[int, ...] = ()
    """The open rows of which it wants something,"""
    interrupt: InterruptKind = ""
    """which is this."""


async def store_all(tx: AsyncConnection, arrivals: Sequence[Arrival], *, now: float) -> list[Stored]:
    """Store arrivals of any kind, those that stand together and are nothing special with few statements."""
    stored: list[Stored] = []
    for is_plain, group in groupby(arrivals, key=_is_plain):
        if is_plain:
            plain = list(group)
            ids = await inbox.add_all(tx, plain, now=now)
            stored += [Stored(item, each.thread.key) for each, item in zip(plain, ids, strict=True)]
        else:
            stored += [await store(tx, each, now=now) for each in group]
    return stored


async def store(tx: AsyncConnection, arrival: Arrival, *, now: float) -> Stored:
    """Store an arrival of any kind."""
    match arrival.kind:
        case "stop":
            return await _store_stop(tx, arrival, now=now)
        case "edit" if arrival.body.get("of"):
            return await _store_edit(tx, arrival, now=now)
        case "delete" if arrival.body.get("of"):
            return await _store_delete(tx, arrival, now=now)
        case "edit" | "delete":
            # What could not be stored for its own sake names no message any more.
            return Stored(None)
        case "message" if arrival.stops:
            return await _store_word(tx, arrival, now=now)
        case "message" | "interaction" if arrival.calls:
            return await _store_call(tx, arrival, now=now)
    return Stored(await inbox.add(tx, arrival, now=now), arrival.thread.key)


def _is_plain(arrival: Arrival) -> bool:
    return arrival.kind in ("message", "staff", "interaction") and not (arrival.stops or arrival.calls)


async def written(tx: AsyncConnection, team: str, channel: str, ts: str) -> InboxItem | None:
    """The row of the message at (channel, ts); None when it has not come, or concerned nobody."""
    table = schema.inbox
    where = (table.c.team == team, table.c.channel == channel, table.c.ts == ts, table.c.kind.in_(("message", "staff")))
    row = (await tx.execute(select(table).where(*where))).first()
    return inbox.item_of(row) if row else None


def is_erased(body: Mapping[str, Any]) -> bool:
    """Whether the message was deleted, and its text with it."""
    return "deleted" in body


def is_erased_in(body: ColumnElement[Any]) -> ColumnElement[bool]:
    """The same of a column of bodies."""
    deleted: ColumnElement[str] = body["deleted"].as_string()
    return deleted.is_not(None)


def words_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """What of an edit's body a message's body takes over: its words, and whom it mentions."""
    return {name: body[name] for name in ("text", "masked", "files", "to_us", "others", "leads") if name in body}


def is_overheard(body: Mapping[str, Any]) -> bool:
    """Whether the message was for others in a channel's thread; then nothing of its words is kept."""
    return OVERHEARD in body


def edited_at(body: Mapping[str, Any]) -> str:
    """Slack's time of the edit that a body is of; empty for the message as it was sent."""
    return str(body.get("edited", ""))


async def latest_edit(tx: AsyncConnection, item: InboxItem) -> InboxItem | None:
    """The newest edit of the item's message that its words do not have yet."""
    since = edited_at(item.body) or (item.ts if item.kind == "edit" else "")
    edits = [edit for edit in await edits_of(tx, item.thread.key, item.said_at) if edit.ts > since]
    return max(edits, key=lambda edit: edit.ts, default=None)


async def edits_of(tx: AsyncConnection, thread: str, *of: str) -> list[InboxItem]:
    """The rows of all edits of messages of a thread, `of` these ts."""
    table = schema.inbox
    rows = await tx.execute(select(table).where(table.c.thread == thread, table.c.kind == "edit"))
    return [inbox.item_of(row) for row in rows if row.body.get("of") in of]


async def replace_body(tx: AsyncConnection, item_id: int, body: Mapping[str, Any], *, anew: bool = False) -> None:
    """Give a row other words; with `anew` it is begun again with them: no edit is wished of it, no attempt counts."""
    await attempts.hold(tx)
    values: dict[str, Any] = {"body": dict(body)}
    if anew:
        # What was wished in the meantime is graver than an edit, and stays.
        interrupt = schema.inbox.c.interrupt
        values |= {"interrupt": case((interrupt == "edited", ""), else_=interrupt), "attempts": 1}
    await tx.execute(update(schema.inbox).where(schema.inbox.c.id == item_id).values(**values))


async def overhear(tx: AsyncConnection, item: InboxItem) -> None:
    """Keep nothing of what the row says but that it was for others."""
    kept = {name: item.body[name] for name in ("of", "edited", "is_staff", "speaks_anew") if name in item.body}
    await replace_body(tx, item.id, {**kept, "text": "", "masked": False, "files": [], OVERHEARD: True})


async def stopped_since(tx: AsyncConnection, item: InboxItem) -> bool:
    """Whether its author stopped an answer in the thread after this row was stored."""
    table = schema.inbox
    where = (
        table.c.thread == item.thread.key,
        table.c.kind == "stop",
        table.c.author == item.author,
        table.c.id > item.id,
    )
    return any(not body.get(IDLE) for body in (await tx.execute(select(table.c.body).where(*where))).scalars())


async def claim(tx: AsyncConnection, thread: ThreadRef) -> None:
    """Wish of the rows that are worked on in the thread that no answer be given; the next attempt leaves them to the
    person."""
    table = schema.inbox
    begun = (table.c.state == "new", table.c.kind.in_(("message", "edit")), table.c.fence > 0)
    lighter = table.c.interrupt.in_(("", "edited"))
    await tx.execute(update(table).where(table.c.thread == thread.key, *begun, lighter).values(interrupt="claimed"))


async def find_requested(tx: AsyncConnection, items: Collection[int]) -> dict[int, InterruptKind]:
    """Those of the open rows of which something is wished, and what."""
    table = schema.inbox
    statement = select(table.c.id, table.c.interrupt).where(
        table.c.id.in_(items), table.c.interrupt != "", table.c.state == "new"
    )
    return {row.id: row.interrupt for row in await tx.execute(statement)}


async def _store_word(tx: AsyncConnection, arrival: Arrival, *, now: float) -> Stored:
    """A message like "stop": an end to the answer that is on its way to its author, else a message.

    Staff read it while they are on the matter; otherwise it is answered that nothing is running (bot/turns/turn.py).

    In direct messages it may stand outside of the thread, where there is nobody else whom it could mean.
    """
    table = schema.inbox
    twin = (table.c.channel == arrival.thread.channel, table.c.ts == arrival.ts, table.c.kind == "stop")
    if (await tx.execute(select(table.c.id).where(*twin))).first():
        return Stored(None)
    place: ColumnElement[bool] = table.c.thread == arrival.thread.key
    if arrival.thread.is_direct and arrival.thread.ts == arrival.ts:
        place = table.c.channel == arrival.thread.channel
    running = await _first_open(tx, place, author=arrival.author)
    if running is None or await find_open(tx, running.thread) is not None:
        return Stored(await inbox.add(tx, arrival, now=now), arrival.thread.key)
    word = replace(arrival, kind="stop", thread=running.thread, body={"text": "", "typed": True})
    return await _with_interrupt(tx, word, table.c.id == running.id, "stop", now=now)


async def _store_stop(tx: AsyncConnection, arrival: Arrival, *, now: float) -> Stored:
    """A press of Stop, by whoever wrote the question; in direct messages there is one who could."""
    if await find_thread(tx, arrival.thread) is None:
        return Stored(None)
    table = schema.inbox
    author = None if arrival.thread.is_direct else arrival.author
    running = await _first_open(tx, table.c.thread == arrival.thread.key, author=author)
    if running is None or await _has_ended(tx, arrival):
        idle = replace(arrival, body={**arrival.body, IDLE: True})
        return await _with_interrupt(tx, idle, table.c.id == -1, "stop", now=now)
    return await _with_interrupt(tx, arrival, table.c.id == running.id, "stop", now=now)


async def _store_call(tx: AsyncConnection, arrival: Arrival, *, now: float) -> Stored:
    """Words or a press by which a person is wanted: what their author asked before is not to be waited for."""
    item = await inbox.add(tx, arrival, now=now)
    if item is None or await find_open(tx, arrival.thread) is not None:
        return Stored(item, arrival.thread.key)
    table = schema.inbox
    theirs = and_(
        table.c.thread == arrival.thread.key, table.c.author == arrival.author, table.c.kind.in_(("message", "edit"))
    )
    return await _interrupt(tx, arrival, item, theirs, "called")


async def _has_ended(tx: AsyncConnection, arrival: Arrival) -> bool:
    """Whether the stream that was stopped is of a turn that is over: then the press means no later one."""
    streams = set(arrival.body.get("streams", ()))
    table = schema.turn
    ended = await tx.execute(
        select(table.c.posts).where(table.c.thread == arrival.thread.key).order_by(table.c.finished_at.desc()).limit(5)
    )
    return bool(streams) and streams <= {ts for (posts,) in ended for ts in posts or ()}


async def _store_edit(tx: AsyncConnection, arrival: Arrival, *, now: float) -> Stored:
    of = arrival.body["of"]
    row = await written(tx, arrival.thread.team, arrival.thread.channel, of)
    if row is None:
        stored = await _store_as_message(tx, arrival, now=now)
        # Where others write meanwhile, the message may have come between the two looks.
        row = None if stored.item else await written(tx, arrival.thread.team, arrival.thread.channel, of)
        if row is None:
            return stored
    edits = await edits_of(tx, row.thread.key, of)
    newest = max([edited_at(row.body), *(edit.ts for edit in edits)])
    words = next((edit.words for edit in edits if edit.ts == newest), row.words)
    is_news = row.author == arrival.author and not is_erased(row.body) and arrival.ts > newest
    if not is_news or inbox.words_of(arrival.body) == words:
        return Stored(None)
    return await _with_interrupt(tx, replace(arrival, thread=row.thread), _concerns(row, edits), "edited", now=now)


async def _store_as_message(tx: AsyncConnection, arrival: Arrival, *, now: float) -> Stored:
    """An edit of what has not come: the message itself, when it now speaks to us or has only been overtaken."""
    of = arrival.body["of"]
    if not arrival.body["speaks_anew"]:
        if float(arrival.ts) - float(of) > MAX_EDIT_DELAY:
            return Stored(None)
        if not arrival.addressed and not await _began_before(tx, arrival.thread.key, of):
            return Stored(None)
    body = words_in(arrival.body) | {"edited": arrival.ts}
    kind: inbox.Kind = "staff" if arrival.body["is_staff"] else "message"
    message = replace(arrival, kind=kind, ts=of, body=body)
    return Stored(await inbox.add(tx, message, now=now), arrival.thread.key)


async def _store_delete(tx: AsyncConnection, arrival: Arrival, *, now: float) -> Stored:
    """A deletion; of which Slack names no author, the row of the message says whose it was."""
    of = arrival.body["of"]
    row = await written(tx, arrival.thread.team, arrival.thread.channel, of)
    if row is None and not arrival.author:
        return Stored(None)
    if row is not None:
        arrival = replace(arrival, author=row.author, author_team=row.author_team)
    if row is None and (arrival.addressed or await _began_before(tx, arrival.thread.key, of)):
        # When the message comes yet, it is here already, and nobody works on it.
        kind: inbox.Kind = "staff" if arrival.body["is_staff"] else "message"
        stone = replace(arrival, kind=kind, ts=of, body={"text": "", "files": [], "deleted": {}})
        if await inbox.insert(tx, stone, now=now, state="dropped", reason="deleted") is None:
            # Where others write meanwhile, the message may have come between the two looks.
            row = await written(tx, arrival.thread.team, arrival.thread.channel, of)
    if row is None or is_erased(row.body):
        return Stored(None)
    edits = await edits_of(tx, row.thread.key, of)
    return await _with_interrupt(tx, replace(arrival, thread=row.thread), _concerns(row, edits), "deleted", now=now)


async def _began_before(tx: AsyncConnection, thread: str, ts: str) -> bool:
    """Whether the thread was a conversation before the message at `ts`."""
    table = schema.inbox
    first = await tx.execute(select(func.min(table.c.ts)).where(table.c.thread == thread, table.c.kind == "message"))
    at: str | None = first.scalar_one()
    return at is not None and at < ts


def _concerns(row: InboxItem, edits: Collection[InboxItem]) -> ColumnElement[bool]:
    """The rows in which the message is worked on: its own, and edits of it that are answered."""
    return schema.inbox.c.id.in_([row.id, *(edit.id for edit in edits)])


async def _first_open(tx: AsyncConnection, place: ColumnElement[bool], *, author: str | None) -> InboxItem | None:
    """The row in work there, or the next; by the author, unless it may be anybody's."""
    table = schema.inbox
    where = [place, table.c.state == "new", table.c.kind.in_(("message", "edit"))]
    rows = (await tx.execute(select(table).where(*where).order_by(table.c.id).limit(1))).all()
    return next((inbox.item_of(row) for row in rows if author in (None, row.author)), None)


async def _with_interrupt(
    tx: AsyncConnection, arrival: Arrival, rows: ColumnElement[bool], interrupt: InterruptKind, *, now: float
) -> Stored:
    """Store the deed, and the wish on those of the rows that are open and have no graver one."""
    item = await inbox.insert(tx, arrival, now=now)
    return Stored(None) if item is None else await _interrupt(tx, arrival, item, rows, interrupt)


async def _interrupt(
    tx: AsyncConnection, arrival: Arrival, item: int, rows: ColumnElement[bool], interrupt: InterruptKind
) -> Stored:
    """Put the wish on those of the rows that are open and have no graver one, and are not the arrival's own."""
    table, interrupts = schema.inbox, get_args(InterruptKind)
    lighter = interrupts[: interrupts.index(interrupt)]
    where = (rows, table.c.state == "new", table.c.kind.in_(SPOKEN), table.c.id != item, table.c.interrupt.in_(lighter))
    told = await tx.execute(update(table).where(*where).values(interrupt=interrupt).returning(table.c.id))
    return Stored(item, arrival.thread.key, tuple(told.scalars()), interrupt)
