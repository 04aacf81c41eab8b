"""Erases what deleted messages have left behind, in transactions of the caller.

hide             hide the messages and their edits from everyone except the process that erases them
unhidden         one of the messages as it was before
not_erased       the messages that are not erased yet
tombstone        erase the messages themselves; only the length stays
written_by_others     when others have written in the thread
answers_to       the answers to a message, and the messages that show them
forget_answers   erase what was said in those turns
said_besides     what else people wrote in the threads
forget_repeating erase later answers that repeat the message
blank_threads    blank the notes and summaries of its threads
cases_of         the cases of the threads
blank_cases      blank titles and summaries
drop_drafts      delete drafts
drop_suggestions delete suggestions that did not become articles
redraw           store our posts about cases as they look now
blank            empty stored rows of the outbox
blank_asides     empty what an author was told about a message
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.agent.messages import SystemNote, to_json
from bot.conversation import ThreadRef
from bot.store import attempts, schema, turns
from bot.store.bodies import Body, EditBody, encode
from bot.store.inbox import SPOKEN, InboxItem, item_of
from bot.store.outbox import OutboxRow, row_of
from bot.store.statements import begins_any, in_batches

NO_TITLE = "Deleted by the customer"
"""The title of a case whose own title was made from a deleted message."""

NO_LONGER_KEPT = "No longer kept"
"""The title of a case, and the text of a post, whose words were kept long enough."""

GONE_COPY = "(deleted)"

ANSWER_GONE = SystemNote("What was answered here is erased, because an earlier message was deleted.")
"""What the agents read in place of an answer that may repeat a deleted message."""

Repeats = Callable[[Any], bool]
"""Whether stored JSON repeats the messages."""

ARTICLES = ("approved", "replaced", "forgotten")
"""The states of suggestions that became articles. An article belongs to the shop."""


@dataclass(frozen=True, slots=True)
class Given:
    """An answer that was given."""

    turn: int
    thread: ThreadRef
    posts: tuple[str, ...]
    """The ts of its messages, in the thread's channel."""


@dataclass(frozen=True, slots=True)
class Said:
    """Words that someone wrote."""

    words: str
    by_staff: bool


async def hide(tx: AsyncConnection, items: Collection[InboxItem]) -> None:
    """Make the rows look erased. Their words are needed to find the rest, so they stay until `tombstone`."""
    await _replace_bodies(tx, {item.id: replace(item.message.stone(), hidden=item.message) for item in items})


def unhidden(item: InboxItem) -> InboxItem:
    """The item as it was before it was hidden."""
    return replace(item, body=item.message.hidden) if item.message.hidden else item


async def not_erased(tx: AsyncConnection, ids: Collection[int]) -> list[InboxItem]:
    """The messages with these ids that are not erased, in the order of their ids. Hidden ones are returned as they
    were.
    """
    table = schema.inbox
    rows = await tx.execute(select(table).where(table.c.id.in_(ids)).order_by(table.c.id))
    items = [unhidden(item_of(row)) for row in rows]
    return [item for item in items if not item.body.is_erased]


async def tombstone(tx: AsyncConnection, items: Collection[InboxItem]) -> None:
    """Erase the rows' texts and store only the length."""
    await _replace_bodies(tx, {item.id: item.body.stone() for item in items})


async def _replace_bodies(tx: AsyncConnection, bodies: Mapping[int, Body]) -> None:
    await attempts.hold(tx)
    table, rows = schema.inbox, [{"row": row, "left": encode(body)} for row, body in bodies.items()]
    if rows:
        await tx.execute(update(table).where(table.c.id == bindparam("row")).values(body=bindparam("left")), rows)


async def written_by_others(tx: AsyncConnection, thread: ThreadRef, *, author: str) -> list[str]:
    """The ts of what people other than the author wrote in the thread."""
    table = schema.inbox
    where = (table.c.thread == thread.key, table.c.kind == "message", table.c.author != author)
    return list((await tx.execute(select(table.c.ts).where(*where))).scalars())


async def answers_to(tx: AsyncConnection, turns: Collection[int]) -> list[Given]:
    """The answers in these turns, private ones included."""
    table = schema.turn
    rows = await tx.execute(select(table.c.id, table.c.thread, table.c.posts).where(table.c.id.in_(turns)))
    return [Given(row.id, ThreadRef.of(row.thread), tuple(row.posts or ())) for row in rows]


async def forget_answers(tx: AsyncConnection, turns: Collection[int]) -> None:
    """Delete what was said in the turns, and the steps of unfinished ones."""
    table = schema.turn
    values: dict[str, Any] = {"messages": [], "trace": None, "failures": None, "sources": [], "posts": []}
    values["rewrites"] = None
    await tx.execute(update(table).where(table.c.id.in_(turns)).values(**values))
    await tx.execute(delete(schema.journal).where(schema.journal.c.turn.in_(turns)))


async def said_besides(tx: AsyncConnection, threads: Collection[str], *, besides: Collection[int]) -> list[Said]:
    """What else people wrote in the threads, including the words before an edit."""
    table = schema.inbox
    where = (table.c.kind.in_(SPOKEN), table.c.thread.in_(threads), table.c.id.not_in(besides))
    items = [item_of(row) for row in await tx.execute(select(table).where(*where))]
    return [Said(words, _is_by_staff(item)) for item in items for words in item.message.wordings]


def _is_by_staff(item: InboxItem) -> bool:
    return item.kind == "staff" or (isinstance(item.body, EditBody) and item.body.is_staff)


async def forget_repeating(
    tx: AsyncConnection, threads: Collection[str], *, after: int, since: str, repeats: Repeats, keep: str, now: float
) -> None:
    """Erase the later answers in the threads that repeat a message with the inbox id `after` and the ts `since`.

    What customers said in those turns stays. The steps of dead letters are erased in the same way, except that those
    whose names begin with `keep` changed something outside: that they happened stays known.
    """
    turn, inbox = schema.turn, schema.inbox
    # A late delivery can come after a message that was written later.
    later = (turn.c.thread.in_(threads), or_(turn.c.id > after, turn.c.ts > since))
    for row in (await tx.execute(select(turn).where(*later))).all():
        answer = [each for each in row.messages if each["type"] != "customer"]
        traced = [each for each in row.trace or () if each["type"] != "customer"]
        if repeats([answer, traced, [{"text": text} for text in (*(row.failures or ()), *(row.rewrites or ()))]]):
            asked = [each for each in row.messages if each["type"] == "customer"]
            values = {"messages": [*asked, to_json(ANSWER_GONE)], "trace": None, "failures": None, "rewrites": None}
            await tx.execute(update(turn).where(turn.c.id == row.id, turn.c.thread == row.thread).values(**values))
    dead = select(inbox.c.id).where(inbox.c.thread.in_(threads), inbox.c.state == "dead")
    for letter in (await tx.execute(dead)).scalars().all():
        if repeats(list((await turns.recall(tx, letter)).values())):
            await turns.keep_side_effects(tx, letter, prefix=keep, now=now)
            await turns.blank_steps(tx, letter, text=GONE_COPY)


async def blank_threads(tx: AsyncConnection, threads: Collection[str], *, since: str) -> None:
    """Blank the threads' notes. Delete the summaries that cover a message of `since`: they are made again."""
    thread, summary = schema.thread, schema.summary
    await tx.execute(update(thread).where(thread.c.key.in_(threads)).values(note=""))
    await tx.execute(delete(summary).where(summary.c.thread.in_(threads), summary.c.through >= since))


async def cases_of(tx: AsyncConnection, threads: Collection[str], *, more: Collection[int]) -> list[int]:
    """The cases of the threads, and those in `more`."""
    table = schema.kase
    found = await tx.execute(select(table.c.id).where(or_(table.c.thread.in_(threads), table.c.id.in_(more))))
    return list(found.scalars())


async def blank_cases(tx: AsyncConnection, cases: Collection[int]) -> None:
    """Give the cases a neutral title and no summary."""
    kase = schema.kase
    await tx.execute(update(kase).where(kase.c.id.in_(cases)).values(title=NO_TITLE, summary=""))


async def drop_drafts(tx: AsyncConnection, cases: Collection[int], *, after: int, since: float) -> list[int]:
    """Delete drafts that were asked for after the inbox row `after`, or made since then.

    Returns the inbox ids of the interactions that asked for them.
    """
    table = schema.draft
    seen = (table.c.case_id.in_(cases), or_(table.c.asked > after, table.c.made_at >= since))
    return sorted(set((await tx.execute(delete(table).where(*seen).returning(table.c.asked))).scalars()))


async def drop_suggestions(tx: AsyncConnection, cases: Collection[int], *, since: float) -> list[int]:
    """Delete the suggestions made since then that did not become articles. Returns their numbers.

    A person who has one open in a dialog cannot put the words back.
    """
    table = schema.suggestion
    seen = (table.c.case_id.in_(cases), table.c.made_at >= since, table.c.state.not_in(ARTICLES))
    return list((await tx.execute(delete(table).where(*seen).returning(table.c.id))).scalars())


async def redraw(
    tx: AsyncConnection, cases: Collection[int], *, draw: Callable[[Any], Any]
) -> list[tuple[str, OutboxRow]]:
    """Store our posts about the cases as `draw` returns their JSON.

    Returns what each changed post shows now, with the key of the post. What it shows last is what counts.
    """
    table = schema.outbox
    latest: dict[str, tuple[OutboxRow, bool]] = {}
    for found in (await tx.execute(select(table).where(table.c.case_id.in_(cases)).order_by(table.c.id))).all():
        drawn = {"payload": draw(found.payload), "afterwards": draw(found.afterwards)}
        is_new = drawn != {"payload": found.payload, "afterwards": found.afterwards}
        if is_new:
            await tx.execute(update(table).where(table.c.id == found.id).values(**drawn))
        row = replace(row_of(found), payload=drawn["payload"])
        if row.method in ("post", "update") and row.state != "failed":
            key = row.parent if row.method == "update" and row.parent else row.key
            latest[key] = row, is_new
    return [(key, row) for key, (row, is_new) in latest.items() if is_new]


async def blank(tx: AsyncConnection, keys: Collection[str], *, below: Collection[str] = ()) -> None:
    """Empty the rows with these keys, and those whose keys begin with one of `below`. Nothing follows them any more."""
    table = schema.outbox
    beginnings = (or_(*begins_any(table.c.key, some)) for some in in_batches(below))
    for some in (table.c.key.in_(keys), *beginnings):
        await _empty(tx, some)


async def blank_asides(tx: AsyncConnection, cases: Collection[int], ts: str) -> None:
    """Empty what the author of a message of `ts` below the cards was told about it. It can name the message's files."""
    table = schema.outbox
    about_it = table.c.key.endswith(f"/{ts}", autoescape=True)
    await _empty(tx, and_(table.c.case_id.in_(cases), table.c.method == "ephemeral", about_it))


async def _empty(tx: AsyncConnection, where: ColumnElement[bool]) -> None:
    """Empty the rows that show words. A row that is on its way still names the place and the person."""
    table = schema.outbox
    for row in (await tx.execute(select(table.c.id, table.c.payload).where(where))).all():
        if "text" in row.payload:
            place = {name: row.payload[name] for name in ("ts", "user") if name in row.payload}
            emptied = {"payload": {"text": GONE_COPY, **place}, "afterwards": {"sent": [], "failed": []}}
            await tx.execute(update(table).where(table.c.id == row.id).values(**emptied))
