"""What is no longer kept: finding conversations that ended on a day, and emptying or deleting what is stored of them.

The caller opens each transaction and decides how much goes into it. A second time, nothing is left to do.

A conversation is a customer's thread with its cases and the threads below their cards. It ended on the day of the last
thing that happened in any of these. A thread that has no case is a conversation, too.

begins           when the oldest row was stored
reached · reach  the day up to which a kind is swept
happened_on      threads and cases of a day, some at a time
ended_by         those of their conversations in which nothing happened later
rows_of          what is stored of them
empty_*          take the words of rows
delete_*         delete rows
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from sqlalchemy import Column, ColumnElement, Table, and_, bindparam, delete, func, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import daily, outbox, schedule, schema, scores
from bot.store.actions import ERASED_PREVIEW, RUNNING
from bot.store.bodies import encode
from bot.store.cases import ref_of
from bot.store.erasure import ARTICLES, NO_LONGER_KEPT
from bot.store.inbox import item_of
from bot.store.outbox import OPEN, Outgoing
from bot.store.persons import is_card

Kind = Literal["words", "records"]
"""What goes: the words of a conversation, or its rows."""
ENDED_CASES = ("closed", "merged", "bot")
"""The states of a case from which it does not go on."""
DELIVERY_ONLY = ("react", "unreact", "ephemeral", "session", "unshare")
"""Calls that left nothing which is looked up later."""


@dataclass(frozen=True, slots=True)
class Happened:
    """Some of what happened on a day."""

    threads: frozenset[str] = frozenset()
    cases: frozenset[int] = frozenset()
    after: tuple[str, float, int] | None = None
    """Where the next ones begin. None: there are no more."""

    def parts(self, size: int) -> Iterator["Happened"]:
        """The same in parts of that size."""
        threads, cases = sorted(self.threads), sorted(self.cases)
        for at in range(0, max(len(threads), len(cases)), size):
            yield Happened(frozenset(threads[at : at + size]), frozenset(cases[at : at + size]))


@dataclass(frozen=True, slots=True)
class Ended:
    """Conversations that have ended."""

    threads: frozenset[str] = frozenset()
    """Keys: those of customers, and those below cards."""
    cases: frozenset[int] = frozenset()

    def besides(self, others: "Ended") -> "Ended":
        """The same without these others."""
        return Ended(self.threads - others.threads, self.cases - others.cases)

    @property
    def places(self) -> set[tuple[str, str]]:
        """Channel and ts of each thread."""
        return {(thread.channel, thread.ts) for thread in map(ThreadRef.of, self.threads)}


class Post(NamedTuple):
    """A row of the outbox."""

    id: int
    key: str
    channel: str


@dataclass(frozen=True, slots=True)
class Rows:
    """What is stored of some conversations."""

    messages: Sequence[int]
    """The numbers of rows of the inbox."""
    answers: Sequence[int]
    posts: Sequence[Post]
    last: frozenset[int]
    """The newest message of each thread. While it is there, the conversation is found."""
    cards: frozenset[int]
    """Those posts below which staff wrote. While they are there, these threads are found."""


@dataclass(slots=True)
class _Conversation:
    """A conversation that may have ended."""

    threads: set[str] = field(default_factory=set)
    cases: set[int] = field(default_factory=set)


async def begins(tx: AsyncConnection) -> float | None:
    """When the oldest message was stored, or the oldest case was opened or ended. None: there is neither."""
    columns = (schema.inbox.c.received_at, schema.kase.c.opened_at, schema.kase.c.ended_at)
    found = [(await tx.execute(select(func.min(column)))).scalar_one() for column in columns]
    return min((float(at) for at in found if at is not None), default=None)


async def happens_next(tx: AsyncConnection, start: float) -> float | None:
    """When, from then on, the next message was stored or case ended."""
    columns = (schema.inbox.c.received_at, schema.kase.c.ended_at)
    found = [(await tx.execute(select(func.min(column)).where(column >= start))).scalar_one() for column in columns]
    return min((float(at) for at in found if at is not None), default=None)


async def oldest_use(tx: AsyncConnection) -> float | None:
    """When a model was first used, as far as it is stored."""
    oldest: float | None = (await tx.execute(select(func.min(schema.spending.c.at)))).scalar_one()
    return oldest


async def reached(tx: AsyncConnection, name: str) -> str:
    """How far a sweep got: a day, or a number. Empty if it never ran."""
    table = schema.schedule
    found = select(table.c.rule).where(table.c.name == f"retention/{name}")
    return (await tx.execute(found)).scalar_one_or_none() or ""


async def reach(tx: AsyncConnection, name: str, to: str, *, now: float) -> None:
    """Store how far a sweep got."""
    await schedule.plan(tx, f"retention/{name}", rule=to, due=now)


async def happened_on(
    tx: AsyncConnection, start: float, *, after: tuple[str, float, int] | None = None, limit: int
) -> Happened:
    """Threads in which something arrived on the day that begins then, and after them cases that ended on it."""
    kind, at, number = after or ("thread", start, 0)
    end = start + daily.SECONDS
    if kind == "thread":
        table = schema.inbox
        rows = await _page(tx, table, table.c.received_at, table.c.thread, (at, number), end, limit)
        following = ("thread", *rows[-1][:2]) if len(rows) == limit else ("case", start, 0)
        return Happened(threads=frozenset(row.value for row in rows), after=following)
    table = schema.kase
    rows = await _page(tx, table, table.c.ended_at, table.c.id, (at, number), end, limit)
    return Happened(
        cases=frozenset(row.value for row in rows), after=("case", *rows[-1][:2]) if len(rows) == limit else None
    )


async def _page(
    tx: AsyncConnection,
    table: Table,
    at: ColumnElement[float],
    value: ColumnElement[Any],
    after: tuple[float, int],
    end: float,
    limit: int,
) -> list[Any]:
    """Rows of a time in the order of `at`, with a `value` of each."""
    # The first condition follows from the second, and lets every database begin there in an index.
    later = and_(at >= after[0], tuple_(at, table.c.id) > tuple_(*after), at < end)
    columns = (at.label("at"), table.c.id, value.label("value"))
    return list((await tx.execute(select(*columns).where(later).order_by(at, table.c.id).limit(limit))).all())


async def ended_by(tx: AsyncConnection, happened: Happened, end: float) -> Ended:
    """The conversations of these threads and cases in which nothing happened from `end` on, and nothing goes on."""
    kase, posts = schema.kase, schema.outbox
    below = select(posts.c.case_id, posts.c.channel, posts.c.ts).where(
        *_near(posts.c.channel, posts.c.ts, Ended(happened.threads)), posts.c.case_id.is_not(None), *is_card()
    )
    threads = {key: ThreadRef.of(key) for key in happened.threads}
    places = {key: (thread.channel, thread.ts) for key, thread in threads.items()}
    carded = {(row.channel, row.ts): row.case_id for row in await tx.execute(below)}
    customers = {key for key, place in places.items() if place not in carded}
    known = {*happened.cases, *(carded[place] for place in places.values() if place in carded)}
    if known:
        of_cases = select(kase.c.thread).where(kase.c.id.in_(sorted(known)))
        customers |= set((await tx.execute(of_cases)).scalars())
    conversations = {key: _Conversation({key}) for key in customers}
    going: set[str] = set()
    columns = (kase.c.id, kase.c.thread, kase.c.state, func.coalesce(kase.c.ended_at, kase.c.opened_at).label("at"))
    owners: dict[int, str] = {}
    for row in (await tx.execute(select(*columns).where(kase.c.thread.in_(sorted(customers))))).all():
        conversations[row.thread].cases.add(row.id)
        owners[row.id] = row.thread
        if row.state not in ENDED_CASES or row.at >= end:
            going.add(row.thread)
    for case_id, key in await _cards(tx, sorted(owners)):
        conversations[owners[case_id]].threads.add(key)
    keys = {key: owner for owner, each in conversations.items() for key in each.threads}
    table = schema.inbox
    later = or_(table.c.received_at >= end, table.c.state == "new")
    still = select(table.c.thread).where(table.c.thread.in_(sorted(keys)), later).distinct()
    going |= {keys[key] for key in (await tx.execute(still)).scalars()}
    ended = [each for key, each in conversations.items() if key not in going]
    return Ended(
        frozenset(key for each in ended for key in each.threads),
        frozenset(case for each in ended for case in each.cases),
    )


async def _cards(tx: AsyncConnection, cases: Collection[int]) -> list[tuple[int, str]]:
    """The cases' numbers with the keys of the threads below their cards."""
    posts, kase = schema.outbox, schema.kase
    columns = (posts.c.case_id, kase.c.team, posts.c.channel, posts.c.ts)
    where = (posts.c.case_id.in_(cases), posts.c.ts.is_not(None), *is_card())
    found = select(*columns).join(kase, kase.c.id == posts.c.case_id).where(*where)
    return [(number, ThreadRef(team, channel, ts).key) for number, team, channel, ts in await tx.execute(found)]


async def rows_of(tx: AsyncConnection, ended: Ended, *, unsent: bool = False) -> Rows:
    """What is stored of the conversations. Posts that wait for Slack, and need their words, only with `unsent`."""
    inbox, turn, table = schema.inbox, schema.turn, schema.outbox
    written = (await tx.execute(select(inbox.c.id, inbox.c.thread).where(_of(inbox, ended)).order_by(inbox.c.id))).all()
    last = {row.thread: row.id for row in written}
    answers = list((await tx.execute(select(turn.c.id).where(_of(turn, ended)))).scalars())
    columns = (table.c.id, table.c.key, table.c.channel, table.c.thread_ts, and_(*is_card()).label("is_card"))
    found: list[Any] = []
    if ended.threads:
        near = select(*columns).where(*_near(table.c.channel, table.c.thread_ts, ended))
        places = ended.places
        rows = await tx.execute(near if unsent else near.where(table.c.state.not_in(OPEN)))
        found += [row for row in rows if (row.channel, row.thread_ts) in places]
    if ended.cases:
        of_cases = select(*columns).where(table.c.case_id.in_(sorted(ended.cases)))
        found += (await tx.execute(of_cases if unsent else of_cases.where(table.c.state.not_in(OPEN)))).all()
    posts = {row.id: Post(row.id, row.key, row.channel) for row in found}
    cards = {row.id for row in found if row.is_card}
    return Rows(
        [row.id for row in written],
        sorted(answers),
        [posts[number] for number in sorted(posts)],
        frozenset(last.values()),
        frozenset(cards),
    )


async def files_of(tx: AsyncConnection, posts: Collection[Post]) -> set[str]:
    """The keys of those posts that show the app's own copies of files."""
    table = schema.file_copy
    shared = select(table.c.post).where(table.c.post.in_([post.key for post in posts]), table.c.copy != "")
    return set((await tx.execute(shared)).scalars())


def _of(table: Table, ended: Ended) -> ColumnElement[bool]:
    return table.c.thread.in_(sorted(ended.threads))


def _near(channel: Column[Any], ts: Column[Any], ended: Ended) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The conditions that find what is in the threads, and sometimes a little more.

    No index of SQLite works for pairs. The caller compares these.
    """
    places = ended.places
    return channel.in_(sorted({place[0] for place in places})), ts.in_(sorted({place[1] for place in places}))


async def empty_messages(tx: AsyncConnection, ids: Collection[int]) -> None:
    """Take the words of messages, and delete the steps of answers to them."""
    table, journal = schema.inbox, schema.journal
    items = [item_of(row) for row in await tx.execute(select(table).where(table.c.id.in_(ids)))]
    stones = [{"row": item.id, "stone": encode(item.body.stone())} for item in items if not item.body.is_erased]
    if stones:
        await tx.execute(update(table).where(table.c.id == bindparam("row")).values(body=bindparam("stone")), stones)
    await tx.execute(delete(journal).where(journal.c.turn.in_(ids)))


async def empty_answers(tx: AsyncConnection, ended: Ended, ids: Collection[int]) -> None:
    """Take what was said in answers. Where Slack shows them stays, so that an erasure can delete them there."""
    table = schema.turn
    values: dict[str, Any] = {"messages": [], "trace": None, "failures": None, "rewrites": None, "sources": []}
    await tx.execute(update(table).where(table.c.id.in_(ids), _of(table, ended)).values(**values))


async def empty_posts(tx: AsyncConnection, posts: Collection[Post], *, now: float) -> None:
    """Take the words of posts, and have the app's copies of files deleted in Slack."""
    table, shared = schema.outbox, await files_of(tx, posts)
    files: dict[str, Any] = {"files": []}
    calls = [
        Outgoing(f"retention/{post.id}/files", "unshare", post.channel, files, parent=post.key)
        for post in posts
        if post.key in shared
    ]
    await outbox.add(tx, *calls, now=now)
    emptied = {"payload": {"text": NO_LONGER_KEPT}, "afterwards": {"sent": [], "failed": []}}
    await tx.execute(update(table).where(table.c.id.in_([post.id for post in posts])).values(**emptied))


async def empty_rest(tx: AsyncConnection, ended: Ended) -> None:
    """Take the words of the conversations' notes, summaries, cases, drafts, suggestions, actions and audit entries."""
    thread, summary, kase, draft = schema.thread, schema.summary, schema.kase, schema.draft
    await tx.execute(update(thread).where(thread.c.key.in_(sorted(ended.threads))).values(note=""))
    await tx.execute(delete(summary).where(summary.c.thread.in_(sorted(ended.threads))))
    if ended.threads:
        await _empty_actions(tx, ended)
    if not ended.cases:
        return
    suggestion, audit, cases = schema.suggestion, schema.audit, sorted(ended.cases)
    words = {"title": NO_LONGER_KEPT, "summary": "", "customer_name": "", "link": ""}
    await tx.execute(update(kase).where(kase.c.id.in_(cases)).values(**words))
    await scores.forget_words(tx, list(map(ref_of, cases)))
    await tx.execute(delete(draft).where(draft.c.case_id.in_(cases)))
    # An article, current or former, belongs to the shop.
    undecided = suggestion.c.state.not_in(ARTICLES)
    await tx.execute(delete(suggestion).where(suggestion.c.case_id.in_(cases), undecided))
    await tx.execute(update(audit).where(audit.c.subject.in_(list(map(ref_of, cases)))).values(detail={}))


async def _empty_actions(tx: AsyncConnection, ended: Ended) -> None:
    table, audit = schema.action, schema.audit
    words = {"preview": ERASED_PREVIEW, "arguments": {}, "request": {}, "customer_name": ""}
    found = await _actions(tx, ended)
    if found:
        await tx.execute(update(table).where(table.c.id.in_(list(found))).values(**words))
        await tx.execute(update(audit).where(audit.c.subject.in_(list(found.values()))).values(detail={}))


async def _actions(tx: AsyncConnection, ended: Ended) -> dict[int, str]:
    """The conversations' actions of which nothing is left to do or to find out, with their references."""
    table = schema.action
    over = and_(
        table.c.state.not_in((*RUNNING, "offered")), or_(table.c.state.not_in(("stuck", "partly")), table.c.settled)
    )
    columns = (table.c.id, table.c.ref, table.c.channel, table.c.thread_ts)
    near = select(*columns).where(*_near(table.c.channel, table.c.thread_ts, ended), over)
    places = ended.places
    return {row.id: row.ref for row in await tx.execute(near) if (row.channel, row.thread_ts) in places}


async def delete_posts(tx: AsyncConnection, posts: Collection[Post]) -> None:
    """Delete posts, and why files were not copied. Copies are forgotten when Slack has deleted them."""
    table, copies = schema.outbox, schema.file_copy
    await tx.execute(delete(copies).where(copies.c.post.in_([post.key for post in posts]), copies.c.copy == ""))
    await _delete_numbered(tx, table, [post.id for post in posts], case_id=None)


async def _delete_numbered(tx: AsyncConnection, table: Table, ids: Collection[int], **left: Any) -> None:
    """Delete rows. If the newest row is among them, it stays with `left`: SQLite would give its number out again."""
    newest = (await tx.execute(select(func.max(table.c.id)))).scalar_one_or_none()
    if newest in ids and left:
        await tx.execute(update(table).where(table.c.id == newest).values(**left))
    await tx.execute(delete(table).where(table.c.id.in_([number for number in ids if number != newest])))


async def delete_cases(tx: AsyncConnection, ended: Ended) -> None:
    """Delete the cases and actions, whose posts are gone. Articles that were made from cases stay."""
    kase, suggestion, action, vote = schema.kase, schema.suggestion, schema.action, schema.action_vote
    if ended.threads:
        ids = list(await _actions(tx, ended))
        await tx.execute(delete(vote).where(vote.c.action.in_(ids)))
        await tx.execute(delete(action).where(action.c.id.in_(ids)))
    if not ended.cases:
        return
    cases = sorted(ended.cases)
    is_article = suggestion.c.state.in_(ARTICLES)
    await tx.execute(update(suggestion).where(suggestion.c.case_id.in_(cases), is_article).values(case_id=None))
    for table in (suggestion, schema.draft, schema.case_helper):
        await tx.execute(delete(table).where(table.c.case_id.in_(cases)))
    subjects = [scores.subject_of(ref_of(case)) for case in cases]
    await tx.execute(delete(schema.feedback).where(schema.feedback.c.subject.in_(subjects)))
    await tx.execute(delete(kase).where(kase.c.id.in_(cases)))


async def delete_messages(tx: AsyncConnection, ids: Collection[int]) -> None:
    """Delete messages with their answers, and the ratings of these."""
    table, turn, journal, feedback = schema.inbox, schema.turn, schema.journal, schema.feedback
    await tx.execute(delete(journal).where(journal.c.turn.in_(ids)))
    await tx.execute(delete(turn).where(turn.c.id.in_(ids)))
    await tx.execute(delete(feedback).where(feedback.c.subject.in_([f"turn/{row}" for row in ids])))
    await _delete_numbered(tx, table, ids)


async def delete_threads(tx: AsyncConnection, ended: Ended) -> None:
    """Delete the threads, whose messages are gone."""
    keys = sorted(ended.threads)
    await tx.execute(delete(schema.summary).where(schema.summary.c.thread.in_(keys)))
    await tx.execute(delete(schema.thread).where(schema.thread.c.key.in_(keys)))


async def old_posts(
    tx: AsyncConnection, before: float, *, after: int, limit: int, delivery: bool
) -> tuple[int, list[Post]]:
    """The next posts after that number which were made before then, and the number up to which was looked, or 0.

    Those that belong to no conversation; with `delivery`, those that nobody looks up any more.
    """
    table = schema.outbox
    columns = (table.c.id, table.c.key, table.c.channel, table.c.method, table.c.state, table.c.case_id)
    some = select(*columns, table.c.thread_ts, table.c.created_at).where(table.c.id > after)
    rows = (await tx.execute(some.order_by(table.c.id).limit(limit))).all()
    young = next((number for number, row in enumerate(rows) if row.created_at >= before), len(rows))
    found = [
        Post(row.id, row.key, row.channel)
        for row in rows[:young]
        if row.state not in OPEN
        and (row.method in DELIVERY_ONLY if delivery else row.case_id is None and row.thread_ts is None)
    ]
    return (rows[young - 1].id if young else 0), found


async def delete_suggestions(tx: AsyncConnection, before: float, *, limit: int) -> int:
    """Delete some of the suggestions from threads of channels that were made before then and are no articles."""
    table = schema.suggestion
    old = (table.c.thread != "", table.c.made_at < before, table.c.state.not_in(ARTICLES))
    ids = list((await tx.execute(select(table.c.id).where(*old).limit(limit))).scalars())
    await tx.execute(delete(table).where(table.c.id.in_(ids)))
    return len(ids)


async def delete_audit(tx: AsyncConnection, before: float, *, limit: int) -> int:
    """Delete some of the oldest audit entries, which were made before then."""
    table = schema.audit
    # Their order is that of time. The condition lets SQLite begin at the first one, and is always true.
    oldest = select(table.c.id, table.c.at).where(table.c.id > 0).order_by(table.c.id).limit(limit)
    rows = (await tx.execute(oldest)).all()
    ids = [row.id for row in rows if row.at < before]
    if ids:
        await tx.execute(delete(table).where(table.c.id.in_(ids)))
    return len(ids)


async def delete_feedback(tx: AsyncConnection, before: float, *, limit: int) -> int:
    """Delete some of the ratings that were given before then."""
    table = schema.feedback
    some = select(table.c.subject).where(table.c.given_at < before).limit(limit)
    subjects = list((await tx.execute(some)).scalars())
    if subjects:
        await tx.execute(delete(table).where(table.c.subject.in_(subjects), table.c.given_at < before))
    return len(subjects)


async def delete_procedures(tx: AsyncConnection, before: float, *, limit: int) -> int:
    """Delete some of the procedures that ended before then. What one collected went when it ended."""
    table = schema.procedure_run
    ids = list((await tx.execute(select(table.c.id).where(table.c.ended_at < before).limit(limit))).scalars())
    if ids:
        await tx.execute(delete(table).where(table.c.id.in_(ids)))
    return len(ids)
