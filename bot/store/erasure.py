"""Erases what deleted messages have left behind, in transactions of the caller.

hide             hide the messages and their edits from everyone except the process that erases them
unhidden         one of the messages as it was before
not_erased       the messages that are not erased yet
tombstone        erase the messages themselves; only the length stays
said_besides     what else was written in the thread
words_besides    the words of others, which stay unchanged
others_copies    the copies that show the words of others to the other side
answers_to       the answers to a message, and the messages that show them
forget_answers   erase what was said in those turns
clean_threads    clean other turns, notes and summaries of the threads
cases_of         the cases that may contain words of it
clean_cases      clean cases, drafts and suggested articles
quoting          the messages to staff that quote it, as Slack shows them now
clean_outbox     clean the stored rows of the outbox
blank            empty the stored rows of copies
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import attempts, schema
from bot.store.inbox import SPOKEN, InboxItem, item_of, words_of
from bot.store.interrupts import is_erased
from bot.store.outbox import OutboxRow, row_of
from bot.store.statements import begins_any, in_batches

NO_TITLE = "Deleted by the customer"
"""The title of a case if nothing is left of its own."""

GONE_COPY = "(deleted)"

HIDDEN = "hidden"
"""The key, in the body of a message that is being erased, of its former body."""

Clean = Callable[[Any], Any]
"""Returns JSON without the words of the message. If it does not contain them, the result is equal."""


@dataclass(frozen=True, slots=True)
class Given:
    """An answer that was given."""

    turn: int
    thread: ThreadRef
    posts: tuple[str, ...]
    """The ts of its messages, in the thread's channel."""


async def hide(tx: AsyncConnection, items: Collection[InboxItem]) -> None:
    """Make the rows look erased. Their words are needed to find the rest, so they stay until `tombstone`."""
    await _replace_bodies(tx, {item.id: stone_of(item) | {HIDDEN: item.body} for item in items})


def unhidden(item: InboxItem) -> InboxItem:
    """The item as it was before it was hidden."""
    return replace(item, body=item.body[HIDDEN]) if HIDDEN in item.body else item


async def not_erased(tx: AsyncConnection, ids: Collection[int]) -> list[InboxItem]:
    """The messages with these ids that are not erased, in the order of their ids. Hidden ones are returned as they
    were.
    """
    table = schema.inbox
    rows = await tx.execute(select(table).where(table.c.id.in_(ids)).order_by(table.c.id))
    items = [unhidden(item_of(row)) for row in rows]
    return [item for item in items if not is_erased(item.body)]


async def tombstone(tx: AsyncConnection, items: Collection[InboxItem]) -> None:
    """Erase the rows' texts and store only the length. A hash would make it possible to guess short texts."""
    await _replace_bodies(tx, {item.id: stone_of(item) for item in items})


def stone_of(item: InboxItem) -> dict[str, Any]:
    """The body of a message whose text was erased."""
    if is_erased(item.body):
        return {name: value for name, value in item.body.items() if name != HIDDEN}
    kept = {name: item.body[name] for name in ("of", "is_staff", "edited") if name in item.body}
    return {"text": "", "files": [], "deleted": {"length": len(item.words)}} | kept


async def _replace_bodies(tx: AsyncConnection, bodies: Mapping[int, dict[str, Any]]) -> None:
    await attempts.hold(tx)
    table, rows = schema.inbox, [{"row": row, "left": body} for row, body in bodies.items()]
    if rows:
        await tx.execute(update(table).where(table.c.id == bindparam("row")).values(body=bindparam("left")), rows)


@dataclass(frozen=True, slots=True)
class Said:
    """Another message of the thread."""

    author: str
    ts: str
    text: str


async def said_besides(tx: AsyncConnection, thread: ThreadRef, *, besides: Collection[int]) -> list[Said]:
    """What else was written in the thread."""
    table = schema.inbox
    rows = await tx.execute(
        select(table.c.author, table.c.ts, table.c.body).where(
            table.c.thread == thread.key, table.c.kind == "message", table.c.id.not_in(besides)
        )
    )
    return [Said(row.author, row.ts, str(row.body.get("text", ""))) for row in rows]


async def words_besides(
    tx: AsyncConnection, thread: ThreadRef, cases: Collection[int], *, besides: Collection[int], by_staff: bool
) -> list[str]:
    """What customers wrote in the thread, in these cases and about them, including the words before an edit.

    A message deleted `by_staff` can also repeat what colleagues wrote there, and answers. So these are added.
    """
    table, shown, kase = schema.inbox, schema.outbox, schema.kase
    threads = [thread.key, *(await tx.execute(select(kase.c.thread).where(kase.c.id.in_(cases)))).scalars()]
    spoken = select(table.c.id, table.c.kind, table.c.body).where(table.c.kind.in_(SPOKEN), table.c.id.not_in(besides))
    written = and_(shown.c.source_channel == table.c.channel, shown.c.source_ts == table.c.ts)
    mirrored = spoken.join(shown, written).where(shown.c.case_id.in_(cases))
    # Two statements, because one with both alternatives would read the whole table.
    rows = [*await tx.execute(spoken.where(table.c.thread.in_(threads))), *await tx.execute(mirrored)]
    each_once = {row.id: row for row in rows}.values()
    bodies = [row.body for row in each_once if by_staff or not (row.kind == "staff" or row.body.get("is_staff"))]
    said = [words for body in bodies for words in (words_of(body), str(body.get("before", "")))]
    if by_staff:
        answered = await tx.execute(select(schema.turn.c.messages).where(schema.turn.c.thread.in_(threads)))
        said += [str(each.get("text", "")) for messages in answered.scalars() for each in messages]
    return said


async def others_copies(
    tx: AsyncConnection, cases: Collection[int], *, besides: Collection[tuple[str, str]]
) -> set[str]:
    """The keys of the rows that mirror what people wrote about the cases, except at these (channel, ts)."""
    table, said = schema.outbox, schema.inbox
    written = and_(said.c.channel == table.c.source_channel, said.c.ts == table.c.source_ts)
    rows = await tx.execute(
        select(table.c.key, table.c.source_channel, table.c.source_ts)
        .join(said, written)
        .where(table.c.case_id.in_(cases), said.c.kind.in_(("message", "staff")))
    )
    return {row.key for row in rows if (row.source_channel, row.source_ts) not in besides}


async def answers_to(tx: AsyncConnection, turns: Collection[int]) -> list[Given]:
    """The answers in these turns, private ones included."""
    table = schema.turn
    rows = await tx.execute(select(table.c.id, table.c.thread, table.c.posts).where(table.c.id.in_(turns)))
    return [Given(row.id, ThreadRef.of(row.thread), tuple(row.posts or ())) for row in rows]


async def forget_answers(tx: AsyncConnection, turns: Collection[int]) -> None:
    """Delete what was said in the turns, and the steps of unfinished ones."""
    table = schema.turn
    values: dict[str, Any] = {"messages": [], "trace": None, "failures": None, "sources": [], "posts": []}
    await tx.execute(update(table).where(table.c.id.in_(turns)).values(**values))
    await tx.execute(delete(schema.journal).where(schema.journal.c.turn.in_(turns)))


async def clean_threads(tx: AsyncConnection, threads: Collection[str], *, since: str, clean: Clean) -> None:
    """Clean the threads' turns, the steps of dead letters, and notes. Delete the summaries that cover the message.

    Summaries are made again. What customers said in other turns belongs to them and stays.
    """
    turn, thread, summary = schema.turn, schema.thread, schema.summary
    for row in (await tx.execute(select(turn).where(turn.c.thread.in_(threads)))).all():
        failures = row.failures and [clean({"text": failure})["text"] for failure in row.failures]
        cleaned = {"messages": _clean_said(row.messages, clean), "trace": _clean_said(row.trace, clean)}
        cleaned["failures"] = failures
        if cleaned != {name: getattr(row, name) for name in cleaned}:
            await tx.execute(update(turn).where(turn.c.id == row.id, turn.c.thread == row.thread).values(**cleaned))
    journal, inbox = schema.journal, schema.inbox
    dead = select(inbox.c.id).where(inbox.c.thread.in_(threads), inbox.c.state == "dead")
    for row in (await tx.execute(select(journal).where(journal.c.turn.in_(dead)))).all():
        if (value := clean(row.value)) != row.value:
            step = (journal.c.turn == row.turn, journal.c.name == row.name)
            await tx.execute(update(journal).where(*step).values(value=value))
    for row in (await tx.execute(select(thread.c.key, thread.c.note).where(thread.c.key.in_(threads)))).all():
        if (note := clean({"text": row.note})["text"]) != row.note:
            await tx.execute(update(thread).where(thread.c.key == row.key).values(note=note))
    await tx.execute(delete(summary).where(summary.c.thread.in_(threads), summary.c.through >= since))


def _clean_said(messages: list[dict[str, Any]] | None, clean: Clean) -> list[dict[str, Any]] | None:
    return messages and [each if each["type"] == "customer" else clean(each) for each in messages]


async def cases_of(tx: AsyncConnection, threads: Collection[str], *, more: Collection[int]) -> list[int]:
    """The cases of the threads, and those in `more`."""
    table = schema.kase
    found = await tx.execute(select(table.c.id).where(or_(table.c.thread.in_(threads), table.c.id.in_(more))))
    return list(found.scalars())


async def clean_cases(tx: AsyncConnection, cases: Collection[int], *, clean: Clean) -> None:
    """Clean titles, summaries, drafts, and suggestions that are not decided yet."""
    kase, draft, suggestion = schema.kase, schema.draft, schema.suggestion
    for row in (await tx.execute(select(kase.c.id, kase.c.title, kase.c.summary).where(kase.c.id.in_(cases)))).all():
        title, summary = (clean({"text": text})["text"] for text in (row.title, row.summary))
        if (title, summary) != (row.title, row.summary):
            title = title if any(map(str.isalnum, title)) else NO_TITLE
            await tx.execute(update(kase).where(kase.c.id == row.id).values(title=title, summary=summary))
    for row in (await tx.execute(select(draft).where(draft.c.case_id.in_(cases)))).all():
        if (text := clean({"text": row.text})["text"]) != row.text:
            where = (draft.c.case_id == row.case_id, draft.c.asked == row.asked, draft.c.number == row.number)
            await tx.execute(update(draft).where(*where).values(text=text))
    undecided = select(suggestion).where(suggestion.c.case_id.in_(cases), suggestion.c.state == "pending")
    for row in (await tx.execute(undecided)).all():
        texts = {name: getattr(row, name) for name in ("title", "question", "answer")}
        cleaned = {name: clean({"text": text})["text"] for name, text in texts.items()}
        if cleaned != texts:
            # A person who has it open in a dialog must not be able to put the words back.
            values = cleaned | {"version": row.version + 1}
            await tx.execute(update(suggestion).where(suggestion.c.id == row.id).values(**values))


async def quoting(tx: AsyncConnection, cases: Collection[int], *, clean: Clean) -> list[tuple[str, OutboxRow, Any]]:
    """Each of our messages about the cases that contains words of it: its key, what it says now, and the cleaned
    version.
    """
    table = schema.outbox
    rows = await tx.execute(
        select(table)
        .where(table.c.case_id.in_(cases), table.c.method.in_(("post", "update")), table.c.state != "failed")
        .order_by(table.c.id)
    )
    latest: dict[str, OutboxRow] = {}
    for row in map(row_of, rows):
        key = row.parent if row.method == "update" and row.parent else row.key
        latest[key] = row
    cleaned = ((key, row, clean(row.payload)) for key, row in latest.items())
    return [(key, row, payload) for key, row, payload in cleaned if payload != row.payload]


async def blank(tx: AsyncConnection, keys: Collection[str]) -> None:
    """Empty the copies of the message. Only the fact that there were some stays."""
    table = schema.outbox
    await tx.execute(update(table).where(table.c.key.in_(keys)).values(payload={"text": GONE_COPY}))


async def clean_outbox(
    tx: AsyncConnection,
    cases: Collection[int],
    threads: Sequence[ThreadRef],
    turns: Collection[int],
    *,
    clean: Clean,
    spared: Collection[str],
    within: Collection[str] | None = None,
) -> None:
    """Clean the stored calls about the cases, in the threads, and for the turns.

    The `spared` posts and their changes stay. With `within`, only those channels are cleaned.
    """
    table = schema.outbox
    alternatives: list[ColumnElement[bool]] = [
        (table.c.channel == thread.channel) & (table.c.thread_ts == thread.ts) for thread in threads
    ]
    if turns:
        alternatives.append(table.c.key.in_([f"relay/{turn}" for turn in turns]))
    if cases:
        # With an empty list among the alternatives, SQLite would use no index for any of them.
        alternatives.append(table.c.case_id.in_(cases))
    prefixes = [f"{kind}/{turn}/" for turn in turns for kind in ("turn", "relay")]
    wanted = select(table.c.id, table.c.key, table.c.method, table.c.channel, table.c.parent)
    wanted = wanted.add_columns(table.c.payload, table.c.afterwards)
    found: dict[int, Any] = {}
    for some in (alternatives, *(begins_any(table.c.key, each) for each in in_batches(prefixes))):
        if some:
            found |= {row.id: row for row in await tx.execute(wanted.where(or_(*some)))}
    for row in found.values():
        about = row.parent if row.method == "update" and row.parent else row.key
        if about in spared or (within is not None and row.channel not in within):
            continue
        cleaned = {"payload": clean(row.payload), "afterwards": clean(row.afterwards)}
        if cleaned != {"payload": row.payload, "afterwards": row.afterwards}:
            await tx.execute(update(table).where(table.c.id == row.id).values(**cleaned))
