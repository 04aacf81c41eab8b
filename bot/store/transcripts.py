"""What was said in a customer's thread, for people to read."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import schema


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that one side said."""

    ts: str
    speaker: str
    """The customer's Slack id, or "assistant"."""
    text: str


async def of_thread(tx: AsyncConnection, thread: ThreadRef, *, latest: int = 20) -> list[Line]:
    """The thread's latest lines, oldest first: what people wrote and what they were answered."""
    inbox, turn = schema.inbox, schema.turn
    answered = await tx.execute(
        select(turn.c.id, turn.c.ts, turn.c.customer, turn.c.messages)
        .where(turn.c.thread == thread.key)
        .order_by(turn.c.ts.desc())
        .limit(latest)
    )
    lines: list[Line] = []
    turns = set()
    for row in answered:
        turns.add(row.id)
        speakers = {"customer": row.customer, "agent": "assistant"}
        said = ((speakers.get(message["type"]), message.get("text", "")) for message in row.messages)
        lines += [Line(row.ts, speaker, text) for speaker, text in said if speaker and text.strip()]
    # What was not answered by a turn: relayed to a person, or the very message that calls for one.
    asked = await tx.execute(
        select(inbox.c.id, inbox.c.ts, inbox.c.author, inbox.c.body)
        .where(inbox.c.thread == thread.key, inbox.c.kind == "message")
        .order_by(inbox.c.ts.desc())
        .limit(latest)
    )
    lines += [Line(row.ts, row.author, row.body["text"]) for row in asked if row.id not in turns and row.body["text"]]
    # An answer bears its question's timestamp and follows it, since sorting keeps the order of equals.
    return sorted(lines, key=lambda line: line.ts)[-latest:]
