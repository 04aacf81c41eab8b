"""Drafts for staff: the answers that were proposed, and the conversation that they continue."""

import re
from collections.abc import Sequence

from sqlalchemy import func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.agent.messages import CustomerMessage, Message, StaffMessage, from_json
from bot.conversation import ThreadRef
from bot.store import outbox, schema
from bot.store.cases import Case, cards_key
from bot.store.inbox import InboxItem, item_of
from bot.store.statements import begins, insert_new

_EDITED = re.compile(r" _\([^()\n]{1,30}\)_$")
"""The mark, in any language, behind words of staff that were edited."""


async def save(tx: AsyncConnection, case_id: int, asked: int, texts: Sequence[str], *, now: float) -> None:
    """Store the drafts, as mrkdwn, that the interaction with the inbox id `asked` asked for. They are numbered from
    1.
    """
    for number, text in enumerate(texts, start=1):
        values = {"case_id": case_id, "asked": asked, "number": number, "text": text, "made_at": now}
        await insert_new(tx, schema.draft, values)


async def find(tx: AsyncConnection, case_id: int, asked: int) -> list[str]:
    """The case's drafts of one interaction, in order. Empty if there is no such interaction."""
    table = schema.draft
    statement = select(table.c.text).where(table.c.case_id == case_id, table.c.asked == asked).order_by(table.c.number)
    return list((await tx.execute(statement)).scalars())


async def conversation(tx: AsyncConnection, case: Case, *, latest: int = 30) -> list[Message]:
    """What all sides said in the customer's thread since the case before this one ended, oldest first.

    At most the `latest` of each side. Staff's words are mrkdwn as the customer sees them now, with the name in a line
    of its own.
    """
    since = await _end_of_the_case_before(tx, case)
    inbox, turn = schema.inbox, schema.turn
    answered = await tx.execute(
        select(turn.c.id, turn.c.ts, turn.c.messages)
        .where(turn.c.thread == case.thread.key, turn.c.finished_at > since)
        .order_by(turn.c.ts.desc())
        .limit(latest)
    )
    turns = {row.id: row for row in answered}
    wrote = await tx.execute(
        select(inbox)
        .where(inbox.c.thread == case.thread.key, inbox.c.kind == "message", inbox.c.received_at > since)
        .order_by(inbox.c.ts.desc())
        .limit(latest)
    )
    relayed = await outbox.relayed(tx, case.thread, latest=latest, case_id=case.id)
    said: list[tuple[str, list[Message]]] = []
    said += [(row.ts, [from_json(message) for message in row.messages]) for row in turns.values()]
    said += [(item.ts, _wrote(item)) for item in map(item_of, wrote) if item.id not in turns]
    said += [(ts, [StaffMessage(_EDITED.sub("", text))]) for ts, text in relayed]
    return [message for _, messages in sorted(said, key=lambda one: one[0]) for message in messages]


async def deleted_since(tx: AsyncConnection, case: Case, asked: int) -> bool:
    """Whether part of the conversation may have been erased since the interaction with the inbox id `asked`.

    A deletion counts if it came or was carried out since, or is not carried out yet. What this attempt or an earlier
    one has read may contain words that it erases.
    """
    table, posts = schema.inbox, schema.outbox
    pressed = select(table.c.received_at).where(table.c.id == asked).scalar_subquery()
    of_cards = begins(posts.c.key, cards_key(case.id))
    card = select(posts.c.channel, posts.c.ts).where(of_cards, posts.c.method == "post", posts.c.ts.is_not(None))
    threads = [
        case.thread.key,
        *(ThreadRef(case.thread.team, row.channel, row.ts).key for row in await tx.execute(card)),
    ]
    deletions = select(table.c.id).where(
        table.c.thread.in_(threads),
        table.c.kind == "delete",
        or_(table.c.id > asked, table.c.state == "new", table.c.finished_at > pressed),
    )
    return (await tx.execute(deletions.limit(1))).first() is not None


def _wrote(item: InboxItem) -> list[Message]:
    return [CustomerMessage(item.words, speaker=item.author, ts=item.ts)] if item.words else []


async def _end_of_the_case_before(tx: AsyncConnection, case: Case) -> float:
    table = schema.kase
    statement = select(func.max(table.c.ended_at)).where(table.c.thread == case.thread.key, table.c.id < case.id)
    return (await tx.execute(statement)).scalar_one_or_none() or 0.0
