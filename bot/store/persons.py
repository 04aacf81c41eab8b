"""Everything that is stored about one person: finding and counting it, and asking to erase it.

find              what there is
count             how much there is of each kind
close_requests    close the person's other requests for it
ask               ask for it from outside of Slack
asked_outside     requests from outside of Slack on which work has not begun
interrupt_deleted interrupt the turns that run for the person

bot.store.forgetting does the erasing. Staff who are also customers keep what they did as staff.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import schema
from bot.store.bodies import DeleteBody, EditBody, InteractionBody
from bot.store.cases import ERASED
from bot.store.inbox import Arrival, InboxItem, insert, item_of
from bot.store.statements import begins, in_batches

REQUEST = "home.erase"
"""The interaction that asks for it. Operators ask in the same way."""
OPERATORS = "operators"
"""The channel of such an interaction if it was not made in Slack."""
KEPT = "forgotten/"
"""The beginning of the keys of the outbox's rows that belong to the erasing itself."""


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """What is stored about a person."""

    user: str
    items: tuple[InboxItem, ...]
    """Everything that came from the person."""
    open: frozenset[int]
    """The ids of the items that are not closed."""
    turns: tuple[int, ...]
    own: frozenset[ThreadRef]
    """The threads in which no one else has asked anything. The others are `shared`."""
    shared: frozenset[ThreadRef]
    cases: tuple[int, ...]
    cards: frozenset[str]
    """The keys of the threads below the cards of the person's cases."""
    others_copies: frozenset[str]
    """The outbox's keys of what others wrote and what was relayed in the person's cases."""

    @property
    def rows(self) -> tuple[int, ...]:
        """The items' ids."""
        return tuple(item.id for item in self.items)

    @property
    def channels(self) -> frozenset[str]:
        """The channels of the person's direct messages."""
        return frozenset(thread.channel for thread in self.own if thread.is_direct)


@dataclass(frozen=True, slots=True)
class OutboxRef:
    """A row of the outbox, without its words."""

    id: int
    key: str
    method: str
    channel: str
    parent: str | None
    state: str


async def find(tx: AsyncConnection, user: str, *, besides: int | None = None) -> PersonRecord:
    """What is stored about the person, without the inbox's row `besides`."""
    inbox, turn, kase = schema.inbox, schema.turn, schema.kase
    written = (await tx.execute(select(inbox).where(inbox.c.author == user))).all()
    desks = await desks_among(tx, map(item_of, written))
    rows = [row for row in written if row.id != besides and not is_staffs(item_of(row), desks)]
    ids = [row.id for row in rows]
    answered = [*await tx.execute(select(turn.c.id, turn.c.thread).where(turn.c.customer == user))]
    for some in in_batches(ids):
        answered += await tx.execute(select(turn.c.id, turn.c.thread).where(turn.c.id.in_(some)))
    theirs = (await tx.execute(select(kase).where(kase.c.customer == user).order_by(kase.c.id))).all()
    keys = {row.thread for row in rows if row.kind != "interaction"} | {row.thread for row in (*answered, *theirs)}
    threads = frozenset(map(ThreadRef.of, keys))
    own = threads - await shared_among(tx, user, threads)
    cards = await cards_of(tx, [case.id for case in theirs])
    return PersonRecord(
        user=user,
        items=tuple(map(item_of, rows)),
        open=frozenset(row.id for row in rows if row.state == "new"),
        turns=tuple(dict.fromkeys(row.id for row in answered)),
        own=own,
        shared=threads - own,
        cases=tuple(case.id for case in theirs),
        cards=frozenset(ThreadRef(team, channel, ts).key for team, channel, ts in cards),
        others_copies=frozenset(await _others_copies(tx, user, [case.id for case in theirs])),
    )


async def count(tx: AsyncConnection, kept: PersonRecord) -> dict[str, int]:
    """How much there is of each kind."""
    posts = await _posts(tx, kept)
    copies = await _file_copies(tx, [row.key for row in posts])
    draft, suggestion, feedback, spending = schema.draft, schema.suggestion, schema.feedback, schema.spending

    async def number(statement: Select[Any]) -> int:
        return int((await tx.execute(select(func.count()).select_from(statement.subquery()))).scalar_one())

    return {
        "messages": sum(item.kind in ("message", "edit") for item in kept.items),
        "answers": len(kept.turns),
        "cases": len(kept.cases),
        "drafts": await number(select(draft.c.number).where(draft.c.case_id.in_(kept.cases))),
        "suggestions": await number(select(suggestion.c.id).where(_suggested(kept))),
        "feedback": await number(select(feedback.c.subject).where(feedback.c.person == kept.user)),
        "posts": sum(row.method == "post" for row in posts),
        "files": len(copies),
        "costs": await number(select(spending.c.key).where(spending.c.customer == kept.user)),
        "actions": await number(select(schema.action.c.id).where(schema.action.c.customer == kept.user)),
    }


async def close_requests(tx: AsyncConnection, user: str, *, item: int, now: float) -> None:
    """Take the person's name off the request that is carried out, and close their other ones, because this one covers
    them.
    """
    table = schema.inbox
    await tx.execute(update(table).where(table.c.id == item).values(author=ERASED, author_team=ERASED))
    waiting = select(table).where(table.c.author == user, table.c.kind == "interaction", table.c.state == "new")
    others = [item.id for item in map(item_of, await tx.execute(waiting)) if item.interaction.action == REQUEST]
    closed = {"state": "dropped", "reason": ERASED, "fence": table.c.fence + 1, "finished_at": now}
    await tx.execute(update(table).where(table.c.id.in_(others)).values(author=ERASED, author_team=ERASED, **closed))


async def ask(tx: AsyncConnection, kept: PersonRecord, team: str, *, now: float) -> None:
    """Store an operator's request, in our workspace `team`. The serving process finds it."""
    name = uuid4().hex
    thread = ThreadRef(team, OPERATORS, name)
    own_team = next((item.author_team for item in reversed(kept.items)), team)
    body = InteractionBody(REQUEST, message_ts=name)
    arrival = Arrival(f"erase/{name}", "interaction", thread, name, kept.user, own_team, body, addressed=True)
    await insert(tx, arrival, now=now)


async def asked_outside(tx: AsyncConnection) -> list[tuple[int, str]]:
    """The rows as (id, thread key)."""
    table = schema.inbox
    where = (table.c.channel == OPERATORS, table.c.state == "new", table.c.fence == 0)
    return [(row.id, row.thread) for row in await tx.execute(select(table.c.id, table.c.thread).where(*where))]


async def interrupt_deleted(tx: AsyncConnection, user: str) -> list[int]:
    """Interrupt the turns that run for the person, as after the deletion of their messages. Returns their ids."""
    table = schema.inbox
    where = (table.c.author == user, table.c.state == "new", table.c.kind.in_(("message", "edit")))
    rows = await tx.execute(select(table).where(*where))
    open_rows = [item.id for item in map(item_of, rows) if not is_staffs(item, ())]
    statement = update(table).where(table.c.id.in_(open_rows), table.c.state == "new").values(interrupt="deleted")
    return list((await tx.execute(statement.returning(table.c.id))).scalars())


async def still_open(tx: AsyncConnection, ids: Collection[int]) -> bool:
    """Whether any of these rows is not closed."""
    table = schema.inbox
    found = select(table.c.id).where(table.c.id.in_(ids), table.c.state == "new").limit(1)
    return (await tx.execute(found)).first() is not None


async def teams_of(tx: AsyncConnection, user: str) -> list[str]:
    """Those of our workspaces in which something came from the person."""
    inbox, kase = schema.inbox, schema.kase
    wrote = await tx.execute(select(inbox.c.team).where(inbox.c.author == user).distinct())
    asked = await tx.execute(select(kase.c.team).where(kase.c.customer == user).distinct())
    return sorted({*wrote.scalars(), *asked.scalars()})


async def desks_among(tx: AsyncConnection, items: Iterable[InboxItem]) -> set[str]:
    """Those of the channels in which the items' buttons were pressed that have cards."""
    table = schema.outbox
    found = set()
    for channel in {item.thread.channel for item in items if item.kind == "interaction"}:
        # Each card begins a lane of its own, and the index is ordered by lane.
        card = select(table.c.id).where(table.c.channel == channel, begins(table.c.lane, "/case/"), *is_card())
        if (await tx.execute(card.limit(1))).first():
            found.add(channel)
    return found


def is_staffs(item: InboxItem, desks: Collection[str]) -> bool:
    """Whether the person wrote or pressed it as staff."""
    return (
        item.kind == "staff"
        or (isinstance(item.body, EditBody | DeleteBody) and item.body.is_staff)
        or (item.kind == "interaction" and item.thread.channel in desks)
    )


async def shared_among(tx: AsyncConnection, user: str, threads: Collection[ThreadRef]) -> frozenset[ThreadRef]:
    """Those of the threads in which someone else has asked anything."""
    table, found = schema.inbox, set[str]()
    for some in in_batches([thread.key for thread in threads if not thread.is_direct]):
        where = (table.c.thread.in_(some), table.c.kind == "message", table.c.author.not_in((user, ERASED)))
        found.update((await tx.execute(select(table.c.thread).where(*where).distinct())).scalars())
    return frozenset(thread for thread in threads if thread.key in found)


async def cards_of(tx: AsyncConnection, cases: Collection[int]) -> list[tuple[str, str, str]]:
    """Team, channel and ts of the cases' cards that are posted."""
    table, kase = schema.outbox, schema.kase
    rows = await tx.execute(
        select(kase.c.team, table.c.channel, table.c.ts)
        .join(kase, kase.c.id == table.c.case_id)
        .where(table.c.case_id.in_(cases), table.c.ts.is_not(None), *is_card())
    )
    return [(row.team, row.channel, row.ts) for row in rows]


def is_card() -> tuple[ColumnElement[bool], ...]:
    """The conditions that a row of the outbox is the card of a case, at any desk."""
    table = schema.outbox
    return table.c.method == "post", table.c.key.startswith("case/"), (table.c.key + "/").contains("/card/")


async def _others_copies(tx: AsyncConnection, user: str, cases: Collection[int]) -> list[str]:
    table, said = schema.outbox, schema.inbox
    written = and_(said.c.channel == table.c.source_channel, said.c.ts == table.c.source_ts)
    rows = await tx.execute(
        select(table.c.key)
        .join(said, written)
        .where(table.c.case_id.in_(cases), said.c.kind == "message", said.c.author.not_in((user, ERASED)))
    )
    return list(rows.scalars())


async def _posts(tx: AsyncConnection, kept: PersonRecord) -> list[OutboxRef]:
    """The outbox's rows about the person, without those of others' words and of the erasing itself."""
    table = schema.outbox
    columns = select(table.c.id, table.c.key, table.c.method, table.c.channel, table.c.parent, table.c.state)
    found: dict[str, OutboxRef] = {}

    async def look(*alternatives: ColumnElement[bool]) -> list[str]:
        """Find rows. Returns the keys of the new ones."""
        new = []
        for some in in_batches(alternatives):
            for row in [OutboxRef(*row) for row in await tx.execute(columns.where(or_(*some)))]:
                if not (row.key in found or row.key.startswith(KEPT) or _is_of(row, kept.others_copies)):
                    found[row.key] = row
                    new.append(row.key)
        return new

    places = [(table.c.channel == each.channel) & (table.c.thread_ts == each.ts) for each in kept.own]
    prefixes = [begins(table.c.key, f"{kind}/{row}/") for row in kept.rows for kind in ("turn", "relay")]
    new = await look(
        *(table.c.case_id.in_(some) for some in in_batches(kept.cases)),
        table.c.channel.in_(kept.channels),
        *places,
        *prefixes,
        *(table.c.key == f"relay/{row}" for row in kept.rows),
    )
    # Rows that follow from these, which may name neither case nor thread.
    while new:
        new = await look(
            *(table.c.parent.in_(some) for some in in_batches(new)),
            *(begins(table.c.key, f"{key}/") for key in new),
        )
    return list(found.values())


def _is_of(row: OutboxRef, keys: Collection[str]) -> bool:
    """Whether the row is one of these, or follows from one."""
    return row.key in keys or row.parent in keys or any(row.key.startswith(f"{key}/") for key in keys)


async def _file_copies(tx: AsyncConnection, posts: Collection[str]) -> set[str]:
    """Those of the posts whose files have copies of the app's."""
    table = schema.file_copy
    found: set[str] = set()
    for some in in_batches(posts):
        copies = await tx.execute(select(table.c.post).where(table.c.post.in_(some), table.c.copy != ""))
        found.update(copies.scalars())
    return found


def _suggested(kept: PersonRecord) -> ColumnElement[bool]:
    """The condition that a suggestion comes from the person's cases or threads and never was an article."""
    table = schema.suggestion
    theirs = table.c.case_id.in_(kept.cases) | (table.c.person == kept.user)
    return theirs & table.c.state.in_(("pending", "discarded", "expired"))
