"""Erases everything that is stored about one person, except numbers, in short transactions.

The caller opens each transaction and decides how much goes into it. Erased data cannot be found again. So a process
that continues after a crash, or anywhere else, finds what is left.

bounds            the newest rows that the erasure covers
next_items        some of what came from the person, and its threads
next_answers      some of the answers to the person whose questions are no longer theirs
next_case         the next of their cases
erase_posts       some of our messages in a place: Slack deletes them, and their words are erased
close_items       close items, so that they are not worked on; the next functions then erase what belongs to them,
                  each in a transaction of its own
erase_items_posts the posts for the items
erase_posts_below the posts whose keys begin with a text
erase_items_answers the answers to the items
erase_items       the items themselves, and what is stored about their threads
erase_answers     answers without an item
erase_below       what staff wrote and filled in below the card of a case
erase_case        what is left of a case
erase_costs       their name in the rows of what models have cost
erase_preferences what they chose and how they rated

Each row keeps its number, its times, its cost, and Slack's ids of channels, messages and files. ERASED replaces the
person's id.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import attempts, erasure, outbox, schema
from bot.store.bodies import encode
from bot.store.cases import ERASED, ref_of
from bot.store.erasure import GONE_COPY, NO_TITLE
from bot.store.inbox import InboxItem, item_of
from bot.store.outbox import OPEN, Outgoing
from bot.store.persons import KEPT, cards_of, desks_among, is_staffs, shared_among
from bot.store.statements import begins, begins_any, in_batches

TAKEN_AWAY = ("delete", "unshare")
"""Calls that show no words and only delete what others have shown."""

Place = ColumnElement[bool]
"""The condition that finds the posts to erase."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The newest rows that the erasure covers. Later rows are new data."""

    item: int
    post: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Some of what came from the person."""

    items: tuple[InboxItem, ...]
    """Oldest first, without what the person did as staff."""
    open: frozenset[int]
    """The ids of the rows that are not closed."""
    last: int
    """The id up to which rows were looked at."""
    own: frozenset[ThreadRef]
    """The threads in which no one else has asked anything. The others are `shared`."""
    shared: frozenset[ThreadRef]

    @property
    def ids(self) -> list[int]:
        """The items' ids."""
        return [item.id for item in self.items]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that was given."""

    turn: int
    thread: ThreadRef


@dataclass(frozen=True, slots=True)
class TheirCase:
    """A case of the person."""

    id: int
    thread: ThreadRef
    is_own: bool
    """Whether no one else has asked anything in its thread."""
    cards: tuple[ThreadRef, ...]
    """The threads below its cards."""


@dataclass(frozen=True, slots=True)
class _Post:
    """A row of the outbox, without its words."""

    id: int
    key: str
    method: str
    channel: str
    parent: str | None
    state: str

    @property
    def origins(self) -> set[str]:
        """Its key, its parent's, and those of rows from which it may follow."""
        words = self.key.split("/")
        found = {"/".join(words[:length]) for length in range(1, len(words) + 1)}
        return found | {self.parent} if self.parent else found


async def bounds(tx: AsyncConnection) -> Bounds:
    """The newest rows there are."""
    item = (await tx.execute(select(func.max(schema.inbox.c.id)))).scalar_one()
    post = (await tx.execute(select(func.max(schema.outbox.c.id)))).scalar_one()
    return Bounds(item or 0, post or 0)


async def next_items(
    tx: AsyncConnection, user: str, within: Bounds, *, after: int, besides: int, limit: int
) -> Batch | None:
    """The next of the person's items by id, without the row `besides`. None if there are no more."""
    table, turn = schema.inbox, schema.turn
    theirs = (table.c.author == user, table.c.id > after, table.c.id <= within.item, table.c.id != besides)
    rows = (await tx.execute(select(table).where(*theirs).order_by(table.c.id).limit(limit))).all()
    if not rows:
        return None
    items = [item_of(row) for row in rows]
    desks = await desks_among(tx, items)
    items = [item for item in items if not is_staffs(item, desks)]
    answered = await tx.execute(select(turn.c.thread).where(turn.c.id.in_([item.id for item in items])))
    threads = {item.thread for item in items if item.kind != "interaction"} | set(map(ThreadRef.of, answered.scalars()))
    shared = await shared_among(tx, user, threads)
    is_open = frozenset(row.id for row in rows if row.state == "new")
    return Batch(tuple(items), is_open, rows[-1].id, frozenset(threads) - shared, shared)


async def next_answers(tx: AsyncConnection, user: str, within: Bounds, *, limit: int) -> list[Answered]:
    """Answers to the person that are not erased."""
    table = schema.turn
    statement = select(table.c.id, table.c.thread).where(table.c.customer == user, table.c.id <= within.item)
    return [Answered(row.id, ThreadRef.of(row.thread)) for row in await tx.execute(statement.limit(limit))]


async def cases_of(tx: AsyncConnection, user: str) -> list[int]:
    """The ids of the person's cases."""
    table = schema.kase
    return list((await tx.execute(select(table.c.id).where(table.c.customer == user).order_by(table.c.id))).scalars())


async def the_case(tx: AsyncConnection, user: str, case_id: int) -> TheirCase:
    """One of the cases."""
    table = schema.kase
    thread = ThreadRef.of((await tx.execute(select(table.c.thread).where(table.c.id == case_id))).scalar_one())
    cards = [ThreadRef(team, channel, ts) for team, channel, ts in await cards_of(tx, [case_id])]
    return TheirCase(case_id, thread, not await shared_among(tx, user, [thread]), tuple(cards))


async def erase_posts(
    tx: AsyncConnection,
    user: str,
    place: Place,
    within: Bounds,
    *,
    before: int | None = None,
    limit: int,
    now: float,
) -> tuple[int, Counter[str]] | None:
    """Erase the latest posts of a place with ids below `before`. So replies are erased before the posts above them.

    Returns the lowest id that was looked at, and the numbers of posts and files. None if there are no more.
    """
    table = schema.outbox
    below = table.c.id < before if before is not None else table.c.id <= within.post
    found = await _posts(tx, place, below, latest=limit)
    return (found[-1].id, await _erase(tx, user, found, now=now)) if found else None


def in_channel(channel: str) -> Place:
    """The place of all posts in a channel."""
    return schema.outbox.c.channel == channel


def in_thread(thread: ThreadRef) -> Place:
    """The place of all posts in a thread."""
    return and_(schema.outbox.c.channel == thread.channel, schema.outbox.c.thread_ts == thread.ts)


def of_case(case_id: int) -> Place:
    """The place of all posts about a case, in any channel."""
    return schema.outbox.c.case_id == case_id


async def close_items(tx: AsyncConnection, batch: Batch, *, now: float) -> None:
    """Close the items. Writes of a process that still works on one are refused, and no one begins on them."""
    await attempts.hold(tx)
    table = schema.inbox
    await tx.execute(update(table).where(table.c.id.in_(batch.ids)).values(fence=table.c.fence + 1))
    dropped = {"state": "dropped", "reason": ERASED, "finished_at": now}
    await tx.execute(update(table).where(table.c.id.in_(batch.ids), table.c.state == "new").values(**dropped))


async def erase_items_posts(tx: AsyncConnection, user: str, batch: Batch, *, now: float) -> Counter[str]:
    """Erase the posts for the items, which are closed. Returns how much was erased."""
    if not batch.items:
        return Counter()
    key = schema.outbox.c.key
    found = await _posts(tx, key.in_([f"relay/{row}" for row in batch.ids]))
    for some in in_batches([f"{kind}/{row}/" for row in batch.ids for kind in ("turn", "relay")]):
        found += await _posts(tx, or_(*begins_any(key, some)))
    return await _erase(tx, user, found, now=now)


async def erase_posts_below(tx: AsyncConnection, user: str, prefix: str, *, now: float) -> Counter[str]:
    """Erase the posts whose keys begin with `prefix`. Returns how much was erased."""
    return await _erase(tx, user, await _posts(tx, begins(schema.outbox.c.key, prefix)), now=now)


async def erase_items_answers(tx: AsyncConnection, batch: Batch, *, now: float) -> Counter[str]:
    """Erase the answers to the items, and the steps that led to them. Returns how much was erased."""
    turn, ids = schema.turn, batch.ids
    statement = select(turn.c.id, turn.c.thread).where(turn.c.id.in_(ids), turn.c.customer != ERASED)
    answered = [Answered(row.id, ThreadRef.of(row.thread)) for row in await tx.execute(statement)]
    counts = await erase_answers(tx, answered, now=now)
    await tx.execute(delete(schema.journal).where(schema.journal.c.turn.in_(ids)))
    return counts


async def erase_items(tx: AsyncConnection, batch: Batch) -> Counter[str]:
    """Erase the items themselves, and what is stored about their threads. Returns how much was erased.

    This comes last. Until then the items belong to the person, and are found again.
    """
    await attempts.hold(tx)
    table = schema.inbox
    await _forget_threads(tx, batch.own)
    stones = [{"row": item.id, "stone": encode(item.body.stone())} for item in batch.items]
    anonymous = {"author": ERASED, "author_team": ERASED}
    if stones:
        await tx.execute(
            update(table).where(table.c.id == bindparam("row")).values(body=bindparam("stone"), **anonymous), stones
        )
    return Counter(messages=sum(item.kind in ("message", "edit") for item in batch.items))


async def erase_answers(tx: AsyncConnection, answers: Sequence[Answered], *, now: float) -> Counter[str]:
    """Erase what was said in the turns, and queue the deletion of the messages that show it. Returns the number of
    turns.
    """
    table, turns = schema.turn, {answer.turn for answer in answers}
    if not turns:
        return Counter()
    shown = await tx.execute(select(table.c.thread, table.c.posts).where(table.c.id.in_(turns)))
    places = [(ThreadRef.of(row.thread).channel, ts) for row in shown for ts in row.posts or ()]
    withdrawn = select(schema.outbox.c.key).where(
        schema.outbox.c.key.in_([f"withdrawn/{at}/{ts}" for at, ts in places])
    )
    gone = set((await tx.execute(withdrawn)).scalars()) if places else set()
    calls = [
        Outgoing(f"{KEPT}{channel}/{ts}", "delete", channel, {"ts": ts})
        for channel, ts in places
        if f"withdrawn/{channel}/{ts}" not in gone
    ]
    await outbox.add(tx, *calls, now=now)
    await erasure.forget_answers(tx, turns)
    await tx.execute(update(table).where(table.c.id.in_(turns)).values(customer=ERASED))
    return Counter(answers=len(turns))


async def forget_threads(tx: AsyncConnection, user: str, threads: Collection[ThreadRef]) -> None:
    """Erase what is stored about those of the threads in which no one else has asked anything."""
    await _forget_threads(tx, frozenset(threads) - await shared_among(tx, user, threads))


async def forget_drafting(tx: AsyncConnection, cases: Collection[int]) -> None:
    """Delete the steps of drafts that are being written for the cases. Drafts have a lane of their own."""
    inbox, journal, refs = schema.inbox, schema.journal, set(map(ref_of, cases))
    writing = select(inbox).where(inbox.c.kind == "interaction", inbox.c.state.in_(("new", "dead")))
    pressed = map(item_of, await tx.execute(writing))
    asked = [item.id for item in pressed if item.interaction.value.split("/")[0] in refs]
    await tx.execute(delete(journal).where(journal.c.turn.in_(asked)))


async def erase_below(tx: AsyncConnection, card: ThreadRef, *, after: int, limit: int) -> int | None:
    """Erase what staff wrote and filled in below a card, `limit` rows. Returns the last id, or None if there are no
    more.
    """
    table, journal = schema.inbox, schema.journal
    below = select(table).where(table.c.thread == card.key, table.c.id > after).order_by(table.c.id).limit(limit)
    items = [item_of(row) for row in await tx.execute(below)]
    if not items:
        return None
    await erasure.tombstone(tx, [each for each in items if each.kind in ("staff", "edit") and not each.body.is_erased])
    for item in items:
        if item.kind == "interaction" and item.interaction.fields:
            body = replace(item.interaction, fields={})
            await tx.execute(update(table).where(table.c.id == item.id).values(body=encode(body)))
    await tx.execute(delete(journal).where(journal.c.turn.in_([item.id for item in items])))
    return items[-1].id


async def erase_case(tx: AsyncConnection, user: str, case: TheirCase) -> Counter[str]:
    """Erase the words of a case, and its drafts, suggestions and audit details. Returns how much was erased."""
    await attempts.hold(tx)
    kase, draft, suggestion, audit = schema.kase, schema.draft, schema.suggestion, schema.audit
    words = {"customer": ERASED, "customer_name": "", "link": "", "title": NO_TITLE, "summary": ""}
    await tx.execute(update(kase).where(kase.c.id == case.id).values(**words))
    drafts = await tx.execute(delete(draft).where(draft.c.case_id == case.id))
    # An article, current or former, belongs to the shop.
    undecided = suggestion.c.state.in_(("pending", "discarded", "expired"))
    suggested = await tx.execute(delete(suggestion).where(suggestion.c.case_id == case.id, undecided))
    if case.is_own:
        await _forget_threads(tx, [case.thread])
    await tx.execute(update(schema.thread).where(schema.thread.c.key == case.thread.key).values(note=""))
    subject = audit.c.subject == ref_of(case.id)
    await tx.execute(update(audit).where(subject).values(detail={}))
    await tx.execute(update(audit).where(subject, audit.c.actor == user).values(actor=ERASED))
    return Counter(cases=1, drafts=drafts.rowcount, suggestions=suggested.rowcount)


async def erase_suggestions(tx: AsyncConnection, user: str) -> list[int]:
    """Delete the suggestions from threads in which the person asked, and take them off articles. Returns the numbers
    of the deleted ones.
    """
    table = schema.suggestion
    theirs = table.c.person == user
    undecided = table.c.state.in_(("pending", "discarded", "expired"))
    numbers = list((await tx.execute(delete(table).where(theirs, undecided).returning(table.c.id))).scalars())
    await tx.execute(update(table).where(theirs).values(person=""))
    return numbers


async def erase_costs(tx: AsyncConnection, user: str, *, limit: int) -> int:
    """Take the person's name off `limit` uses of models. Returns their number."""
    table = schema.spending
    some = select(table.c.key).where(table.c.customer == user).limit(limit)
    keys = list((await tx.execute(some)).scalars())
    await tx.execute(update(table).where(table.c.key.in_(keys)).values(customer=ERASED))
    return len(keys)


async def erase_preferences(tx: AsyncConnection, user: str) -> Counter[str]:
    """Erase the person's choices, their ratings and their pace."""
    rated = await tx.execute(delete(schema.feedback).where(schema.feedback.c.person == user))
    await tx.execute(delete(schema.preference).where(schema.preference.c.person == user))
    await tx.execute(delete(schema.away).where(schema.away.c.person == user))
    await tx.execute(delete(schema.pace).where(schema.pace.c.key.endswith(f"/{user}", autoescape=True)))
    return Counter(feedback=rated.rowcount)


async def _forget_threads(tx: AsyncConnection, threads: Iterable[ThreadRef]) -> None:
    """Erase what is stored about the threads."""
    table, summary, keys = schema.thread, schema.summary, [thread.key for thread in threads]
    if keys:
        await tx.execute(update(table).where(table.c.key.in_(keys)).values(note="", language=""))
        await tx.execute(delete(summary).where(summary.c.thread.in_(keys)))


async def _posts(tx: AsyncConnection, *where: ColumnElement[bool], latest: int | None = None) -> list[_Post]:
    """Rows of the outbox that are not erased and not part of the erasing itself: all, or the latest, newest first."""
    table = schema.outbox
    columns = (table.c.id, table.c.key, table.c.method, table.c.channel, table.c.parent, table.c.state)
    says = (table.c.method.not_in(TAKEN_AWAY), table.c.error != ERASED, ~begins(table.c.key, KEPT))
    statement = select(*columns).where(*where, *says)
    if latest is not None:
        # With alternatives, an order would make the database read all rows in that order.
        statement = statement.order_by(table.c.id.desc()).limit(latest)
    return [_Post(*row) for row in await tx.execute(statement)]


async def _erase(tx: AsyncConnection, user: str, found: Sequence[_Post], *, now: float) -> Counter[str]:
    """Erase rows, and the rows that follow from them, which may name neither case nor thread."""
    rows: dict[int, _Post] = {}
    while found:
        others = await _others_among(tx, user, found)
        new = [row for row in found if row.id not in rows and not row.origins & others]
        rows |= {row.id: row for row in new}
        found = await _followers(tx, [row.key for row in new]) if new else []
    table, keys = schema.outbox, [row.key for row in rows.values()]
    if not rows:
        return Counter()
    copies = schema.file_copy
    shared = set(
        (await tx.execute(select(copies.c.post).where(copies.c.post.in_(keys), copies.c.copy != ""))).scalars()
    )
    posts = [row for row in rows.values() if row.method == "post"]
    deleting = (table.c.parent.in_(keys), table.c.method == "delete", table.c.state != "failed")
    gone = set((await tx.execute(select(table.c.parent).where(*deleting))).scalars())
    calls = []
    for row in sorted(posts, key=lambda row: row.id, reverse=True):
        if row.state not in ("sent", "sending"):
            continue
        if row.key in shared:
            files: dict[str, Any] = {"files": []}
            calls.append(Outgoing(f"{KEPT}{row.id}/files", "unshare", row.channel, files, parent=row.key))
        if row.key not in gone:
            calls.append(Outgoing(f"{KEPT}{row.id}", "delete", row.channel, {}, parent=row.key))
    await outbox.add(tx, *calls, now=now)
    emptied = {"payload": {"text": GONE_COPY}, "afterwards": {"sent": [], "failed": []}, "error": ERASED}
    here = table.c.id.in_(list(rows))
    await tx.execute(update(table).where(here).values(**emptied))
    # A post that is leaving is deleted afterwards. Other calls on their way would have nothing left to send.
    unsent = and_(table.c.state.in_(OPEN), or_(table.c.state == "pending", table.c.method != "post"))
    await tx.execute(update(table).where(here, unsent).values(state="failed"))
    await tx.execute(delete(copies).where(copies.c.post.in_(keys), copies.c.copy == ""))
    return Counter(posts=len(posts), files=len(shared))


async def _followers(tx: AsyncConnection, keys: Sequence[str]) -> list[_Post]:
    """The rows that follow from these."""
    table = schema.outbox
    found: list[_Post] = []
    for some in in_batches(keys):
        below = or_(table.c.parent.in_(some), *begins_any(table.c.key, [f"{key}/" for key in some]))
        found += await _posts(tx, below)
    return found


async def _others_among(tx: AsyncConnection, user: str, rows: Sequence[_Post]) -> set[str]:
    """Among the rows and their origins: the keys of what others wrote and what was relayed in the person's cases."""
    table, said = schema.outbox, schema.inbox
    written = and_(said.c.channel == table.c.source_channel, said.c.ts == table.c.source_ts)
    by_others = (said.c.kind == "message", said.c.author.not_in((user, ERASED)))
    keys = {key for row in rows for key in row.origins}
    found = select(table.c.key).join(said, written).where(table.c.key.in_(keys), *by_others)
    return set((await tx.execute(found)).scalars())
