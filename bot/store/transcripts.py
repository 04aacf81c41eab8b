"""What was said in a customer's thread, for people to read."""

from dataclasses import dataclass

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import outbox, schema
from bot.store.inbox import item_of
from bot.store.turns import recall

LATEST = 20
"""The number of lines that people see as messages."""


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """One line that one side said."""

    ts: str
    speaker: str
    """The customer's Slack id, or "assistant". For staff, the heading above their words in the customer's thread."""
    text: str
    by_staff: bool = False
    """True: `speaker` and `text` are mrkdwn, as the customer sees them."""


async def of_thread(tx: AsyncConnection, thread: ThreadRef, *, latest: int | None = LATEST + 1) -> list[TranscriptLine]:
    """The thread's latest lines, oldest first: what people wrote, and what the assistant and staff answered.

    None returns all of them. The default is one more than people are shown, so that it is known whether there are
    more. A message on which work has not begun is left out: its own turn shows it in its place.
    """
    inbox, turn = schema.inbox, schema.turn
    answered = await tx.execute(
        select(turn.c.id, turn.c.ts, turn.c.customer, turn.c.messages)
        .where(turn.c.thread == thread.key)
        .order_by(turn.c.ts.desc())
        .limit(latest)
    )
    lines: list[TranscriptLine] = []
    turns = set()
    for row in answered:
        turns.add(row.id)
        speakers = {"customer": row.customer, "agent": "assistant"}
        said = ((speakers.get(message["type"]), message.get("text", "")) for message in row.messages)
        lines += [TranscriptLine(row.ts, speaker, text) for speaker, text in said if speaker and text.strip()]
    # Messages that no turn answered: relayed to a person, or the message that calls for one.
    asked = await tx.execute(
        select(inbox)
        .where(inbox.c.thread == thread.key, inbox.c.kind == "message")
        .where(or_(inbox.c.state != "new", inbox.c.fence > 0))
        .order_by(inbox.c.ts.desc())
        .limit(latest)
    )
    for written in asked:
        if written.id in turns:
            continue
        item = item_of(written)
        # The shown part of an answer that was broken off is stored as a turn only when its row is closed.
        cut = (await recall(tx, item.id)).get("stream") if written.state == "new" else None
        there = ((item.author, item.words), ("assistant", (cut or {}).get("text", "")))
        lines += [TranscriptLine(item.ts, speaker, text) for speaker, text in there if text.strip()]
    for ts, shown in await outbox.relayed(tx, thread, latest=latest):
        # A copy that was erased has no words any more, even if Slack refused to delete it.
        heading, _, text = shown.partition("\n")
        if text:
            lines.append(TranscriptLine(ts, heading.strip("*"), text, by_staff=True))
    # An answer has its question's timestamp and follows it, because the sort is stable.
    return sorted(lines, key=lambda line: line.ts)[-latest if latest else 0 :]
