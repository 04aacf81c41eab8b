"""The inbox's rows. They are stored before Slack gets its "ok", and finished when they are answered or dropped."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Row, bindparam, case, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import attempts, schema
from bot.store.bodies import Body, DeleteBody, EditBody, InteractionBody, MessageBody, body_as, decode, encode
from bot.store.statements import in_batches, insert_all_new, insert_new
from bot.store.threads import add_threads, known_among
from bot.store.turns import REFUSED

Kind = Literal["message", "staff", "interaction", "stop", "edit", "delete"]
"""A customer's message, a message in a thread of a team channel, an interaction; and what people do to what they
wrote (bot/store/interrupts.py)."""
SPOKEN = ("message", "staff", "edit")
"""The kinds of rows that hold a person's words."""
InterruptKind = Literal["", "edited", "claimed", "called", "stop", "deleted"]
"""The interrupt of an open row, lightest first. `edited` and `deleted`: that happened to its message. `stop`: its
answer was stopped. `claimed`: a person answers in its thread from now on. `called`: its author wants a person instead
of its answer."""
MISSED = "missed/"
"""How the event ids of messages begin for which no event came."""
AGAIN = "again/"
"""How the event ids of messages begin that are answered later than they came. The id of the message's row follows."""
RECENT_ROWS = 5_000
"""The number of the latest rows among which recent threads are looked for."""
LOOKED_THROUGH = 200
"""The number of a thread's latest messages that are searched for files."""
SUSPECT_ATTEMPTS = 2
"""From this many unfinished attempts on, the row may be what ends the process."""
SILENT = "silent"
"""The reason of a turn whose words were dropped because a person has taken over the thread."""
FinishedState = Literal["done", "dropped", "dead"]
Finish = tuple[FinishedState, str]
"""The state of a closed row, and the reason in one stable word."""


class _WithBody:
    """Gives the body as what its kind makes it."""

    __slots__ = ()
    body: Body

    @property
    def message(self) -> MessageBody:
        """The body of a message or an edit. Raises TypeError for another kind."""
        return body_as(MessageBody, self.body)

    @property
    def edit(self) -> EditBody:
        """The body of an edit. Raises TypeError for another kind."""
        return body_as(EditBody, self.body)

    @property
    def interaction(self) -> InteractionBody:
        """The body of an interaction. Raises TypeError for another kind."""
        return body_as(InteractionBody, self.body)


@dataclass(frozen=True, slots=True)
class Arrival(_WithBody):
    """Something that came from Slack and needs an answer."""

    event_id: str
    """Slack's id of the delivery. It is the same on every redelivery."""
    kind: Kind
    thread: ThreadRef
    ts: str
    """The message's own timestamp. For an interaction, the interaction's."""
    author: str
    author_team: str
    body: Body
    """What the turn needs to know."""
    addressed: bool
    """True: it starts a conversation. False: it counts only in a thread that already is a conversation."""
    stops: bool = False
    """True: the words ask for an end. They are a stop while an answer is being written, and a message otherwise."""
    calls: bool = False
    """True: the author asks for a person. That is more important than any answer that is being written."""


@dataclass(frozen=True, slots=True)
class InboxItem(_WithBody):
    """A stored arrival that is being worked on."""

    id: int
    kind: Kind
    thread: ThreadRef
    ts: str
    author: str
    author_team: str
    body: Body
    attempts: int
    """1 on the first try; more after a crash or a failure. A try that ended only because Slack did not answer is not
    counted."""
    received_at: float
    interrupt: InterruptKind = ""
    """The interrupt that came before this try began."""
    fence: int = 1
    """The number of this try, which no other try has. It decides who owns the row (bot/store/attempts.py)."""
    is_missed: bool = False
    """Whether no event came for it: it was read from the conversation's history after an outage."""
    is_again: bool = False
    """Whether its message had no answer when it came, because no model answered."""

    @property
    def failures(self) -> int:
        """The number of tries before this one. All of them failed, or this one would not have begun."""
        return self.attempts - 1

    @property
    def said_at(self) -> str:
        """Slack's timestamp of the message. For an edit, that of the edited message."""
        return self.body.of if isinstance(self.body, EditBody | DeleteBody) and self.body.of else self.ts

    @property
    def words(self) -> str:
        """The words of a message or an edit, and the names of the files it brought. Empty for another kind."""
        return self.body.words


async def add(tx: AsyncConnection, arrival: Arrival, *, now: float) -> int | None:
    """Store an arrival. Returns its id, or None if it is already here or is not meant for the assistant."""
    return (await add_all(tx, [arrival], now=now))[0]


async def add_all(tx: AsyncConnection, arrivals: Sequence[Arrival], *, now: float) -> list[int | None]:
    """Like `add`, for many arrivals with few statements. An arrival counts as earlier than those after it."""
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
    # An event that comes twice in a group is one row. The first arrival gets its id.
    return [ids.pop(arrival.event_id, None) for arrival in arrivals]


async def stored(tx: AsyncConnection, event_ids: Collection[str]) -> set[str]:
    """Those of the ids whose arrivals are stored."""
    table, found = schema.inbox, set[str]()
    for some in in_batches(event_ids):
        found.update((await tx.execute(select(table.c.event_id).where(table.c.event_id.in_(some)))).scalars())
    return found


async def insert(
    tx: AsyncConnection, arrival: Arrival, *, now: float, state: str = "new", reason: str = ""
) -> int | None:
    """Store an arrival, whether or not it is meant for the assistant. Returns its id, or None if it is already here."""
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
        "body": encode(arrival.body),
        "state": "new",
        "received_at": now,
    }


async def last_received(tx: AsyncConnection) -> float | None:
    """When the newest row came. None if nothing ever came."""
    last: float | None = (await tx.execute(select(func.max(schema.inbox.c.received_at)))).scalar_one()
    return last


async def is_stored(tx: AsyncConnection, arrival: Arrival) -> bool:
    """Whether this message is a row already, by whatever delivery it came."""
    table, thread = schema.inbox, arrival.thread
    same = (table.c.team == thread.team, table.c.channel == thread.channel, table.c.ts == arrival.ts)
    return (await tx.execute(select(table.c.id).where(*same, table.c.kind == arrival.kind))).first() is not None


async def recent_threads(tx: AsyncConnection, *, since: float, limit: int) -> list[ThreadRef]:
    """The threads in which somebody wrote since then, those with the newest messages first."""
    table = schema.inbox
    wanted = select(table.c.thread, table.c.kind).where(table.c.received_at >= since)
    rows = await tx.execute(wanted.order_by(table.c.received_at.desc()).limit(RECENT_ROWS))
    keys = dict.fromkeys(row.thread for row in rows if row.kind in ("message", "staff"))
    return [ThreadRef.of(key) for key in [*keys][:limit]]


async def unfinished(tx: AsyncConnection) -> list[tuple[int, str]]:
    """Every open row as (id, thread key), oldest message first."""
    table = schema.inbox
    rows = await tx.execute(select(table.c.id, table.c.thread).where(table.c.state == "new").order_by(table.c.ts))
    return [(row.id, row.thread) for row in rows]


async def suspects(tx: AsyncConnection) -> list[int]:
    """Open rows that failed twice, or were being worked on at two crashes."""
    return list((await tx.execute(_SUSPECTS)).scalars())


async def is_suspect(tx: AsyncConnection, item_id: int) -> bool:
    """Whether the row is one of `suspects`."""
    return (await tx.execute(_SUSPECTS.where(schema.inbox.c.id == item_id))).first() is not None


HELD = "held"
"""How a row ends whose author was asked whether the customer should get the message."""
_INBOX = schema.inbox
_STARTING = (
    update(_INBOX)
    .where(_INBOX.c.id == bindparam("row"), _INBOX.c.state == "new")
    .values(
        attempts=_INBOX.c.attempts + 1,
        fence=_INBOX.c.fence + 1,
        interrupt=case((_INBOX.c.interrupt == "claimed", ""), else_=_INBOX.c.interrupt),
        reason="",
    )
    .returning(_INBOX)
)
_FINISHING = (
    update(_INBOX)
    .where(_INBOX.c.id == bindparam("row"))
    .values(
        state=bindparam("ended"),
        reason=case((_INBOX.c.reason == SILENT, SILENT), else_=bindparam("why", type_=_INBOX.c.reason.type)),
        finished_at=bindparam("now"),
    )
)
_SUSPECTS = select(schema.inbox.c.id).where(schema.inbox.c.state == "new", schema.inbox.c.attempts >= SUSPECT_ATTEMPTS)


async def start(tx: AsyncConnection, item_id: int) -> InboxItem | None:
    """Count one more attempt and return the row. None if the row is finished.

    The interrupt `claimed` is removed: it was meant for the attempt before, and this one sees the case.
    """
    row = (await tx.execute(_STARTING, {"row": item_id})).one_or_none()
    return item_of(row) if row else None


def item_of(row: Row[Any]) -> InboxItem:
    """Turn a whole row into an item."""
    return InboxItem(
        id=row.id,
        kind=row.kind,
        thread=ThreadRef.of(row.thread),
        ts=row.ts,
        author=row.author,
        author_team=row.author_team,
        body=decode(row.kind, row.body),
        attempts=row.attempts,
        received_at=row.received_at,
        interrupt=row.interrupt,
        fence=row.fence,
        is_missed=row.event_id.startswith(MISSED),
        is_again=row.event_id.startswith(AGAIN),
    )


async def uncount(tx: AsyncConnection, item_id: int) -> None:
    """Don't count an attempt that failed because a service did not answer. Raises Superseded if it is not the latest
    attempt.
    """
    await attempts.hold(tx)
    table = schema.inbox
    await tx.execute(update(table).where(table.c.id == item_id).values(attempts=table.c.attempts - 1))


async def finish(tx: AsyncConnection, item_id: int, state: FinishedState, *, reason: str = "", now: float) -> None:
    """Close a row. It is not worked on again. Raises Superseded if a later attempt than the caller's has begun."""
    await attempts.hold(tx)
    await tx.execute(_FINISHING, {"row": item_id, "ended": state, "why": reason[:64], "now": now})


async def note_silence(tx: AsyncConnection, post: str) -> None:
    """Note that the turn of a dropped post, found by the post's key, ends silent. A turn whose answer is saved is
    left alone, unless the post was all of it.
    """
    kind, _, name = post.partition("/")
    number = name.partition("/")[0]
    if kind != "turn" or not number.isdigit():
        return
    table, turn = schema.inbox, schema.turn
    if name.partition("/")[2] == REFUSED:
        await tx.execute(delete(turn).where(turn.c.id == int(number), turn.c.ended == REFUSED))
    kept = select(turn.c.id).where(turn.c.id == table.c.id).exists()
    await tx.execute(update(table).where(table.c.id == int(number), ~kept).values(reason=SILENT))


async def last_said(tx: AsyncConnection, thread: ThreadRef, author: str) -> float | None:
    """When the person's latest message in the thread arrived."""
    table = schema.inbox
    where = (table.c.thread == thread.key, table.c.author == author, table.c.kind == "message")
    at: float | None = (await tx.execute(select(func.max(table.c.received_at)).where(*where))).scalar_one()
    return at


async def answered_last(tx: AsyncConnection, item: InboxItem) -> str | None:
    """The author of the thread's latest message before this one that the assistant or a person has handled."""
    table = schema.inbox
    where = (table.c.thread == item.thread.key, table.c.kind.in_(("message", "edit")), table.c.ts < item.ts)
    taken_up = (table.c.state.in_(("done", "dead")), table.c.reason != "noted")
    statement = select(table.c.author).where(*where, *taken_up).order_by(table.c.ts.desc()).limit(1)
    author: str | None = (await tx.execute(statement)).scalars().first()
    return author


async def last_said_in(tx: AsyncConnection, thread: ThreadRef, author: str) -> tuple[InboxItem, str, str] | None:
    """The person's latest message in the thread, or the edit that is answered in its place; its state and reason."""
    table = schema.inbox
    where = (table.c.thread == thread.key, table.c.author == author, table.c.kind.in_(("message", "edit")))
    statement = select(table).where(*where).order_by(table.c.id.desc()).limit(1)
    row = (await tx.execute(statement)).one_or_none()
    return (item_of(row), row.state, row.reason) if row else None


async def ask_again(tx: AsyncConnection, item: InboxItem, *, now: float) -> int | None:
    """Store a message that had no answer as one that is to be answered. Returns the row's id, or None if that was done
    before.
    """
    said = item.message
    body = EditBody(of=item.said_at, before=said.words, answers=True).reworded(said)
    again = Arrival(
        f"{AGAIN}{item.id}",
        "edit",
        item.thread,
        # Like a timestamp of Slack's, and no other message that is asked again at this moment has it.
        f"{int(now)}.{item.id % 1_000_000:06}",
        item.author,
        item.author_team,
        replace(body, edited=""),
        addressed=True,
    )
    return await insert(tx, again, now=now)


async def reason_before(tx: AsyncConnection, item: InboxItem) -> str:
    """How the thread's latest message before this one ended. Empty if there is none."""
    table = schema.inbox
    where = (table.c.thread == item.thread.key, table.c.kind == "message", table.c.ts < item.ts)
    statement = select(table.c.reason).where(*where).order_by(table.c.ts.desc()).limit(1)
    return (await tx.execute(statement)).scalars().first() or ""


async def body_at(tx: AsyncConnection, channel: str, ts: str, *, author: str) -> MessageBody | None:
    """What `author` wrote at (channel, ts). None if they wrote no message there."""
    table = schema.inbox
    where = (table.c.channel == channel, table.c.ts == ts, table.c.author == author)
    wrote = select(table.c.kind, table.c.body).where(*where, table.c.kind.in_(("message", "staff")))
    row = (await tx.execute(wrote)).first()
    return body_as(MessageBody, decode(row.kind, row.body)) if row else None


async def held_in(tx: AsyncConnection, thread: ThreadRef) -> list[tuple[str, str, MessageBody]]:
    """What staff wrote in the thread of a card and were asked about, oldest first: the author, the ts and the message.

    Erased messages are left out.
    """
    table = schema.inbox
    where = (table.c.thread == thread.key, table.c.kind == "staff", table.c.reason == HELD)
    rows = await tx.execute(
        select(table.c.author, table.c.ts, table.c.kind, table.c.body).where(*where).order_by(table.c.id)
    )
    found = [(row.author, row.ts, body_as(MessageBody, decode(row.kind, row.body))) for row in rows]
    return [each for each in found if not each[2].is_erased]


async def find_open(tx: AsyncConnection, ids: Collection[int]) -> list[InboxItem]:
    """Those of the rows that are open."""
    table = schema.inbox
    rows = await tx.execute(select(table).where(table.c.id.in_(ids), table.c.state == "new"))
    return [item_of(row) for row in rows]


async def origin_of(tx: AsyncConnection, item_id: int) -> tuple[str, str]:
    """The author of a row, as workspace/user, and its kind. Both are empty if there is no such row."""
    table = schema.inbox
    found = select(table.c.author_team, table.c.author, table.c.kind).where(table.c.id == item_id)
    row = (await tx.execute(found)).one_or_none()
    return (f"{row.author_team}/{row.author}", row.kind) if row else ("", "")


async def words_of(tx: AsyncConnection, item_id: int) -> str:
    """What was written. Empty if the row is gone."""
    table = schema.inbox
    row = (await tx.execute(select(table.c.kind, table.c.body).where(table.c.id == item_id))).one_or_none()
    return decode(row.kind, row.body).words if row else ""


async def body_of(tx: AsyncConnection, item_id: int) -> Body:
    """The row's stored body as it is now."""
    table = schema.inbox
    row = (await tx.execute(select(table.c.kind, table.c.body).where(table.c.id == item_id))).one()
    return decode(row.kind, row.body)


async def with_files(tx: AsyncConnection, thread: ThreadRef, *, author: str, latest: int) -> list[InboxItem]:
    """The author's latest messages in the thread that brought files, oldest first. Messages on which work has not
    begun are left out: their own turns handle them.
    """
    table = schema.inbox
    where = (table.c.thread == thread.key, table.c.kind == "message", table.c.author == author, table.c.fence > 0)
    rows = await tx.execute(select(table).where(*where).order_by(table.c.ts.desc()).limit(LOOKED_THROUGH))
    found = [item for item in map(item_of, rows) if item.message.files]
    return found[:latest][::-1]
