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
    """The thread's latest lines, oldest first: what customers wrote and what they were answered."""
    inbox, turn = schema.inbox, schema.turn
    asked = await tx.execute(
        select(inbox.c.ts, inbox.c.author, inbox.c.body)
        .where(inbox.c.thread == thread.key, inbox.c.kind == "message")
        .order_by(inbox.c.ts.desc())
        .limit(latest)
    )
    answered = await tx.execute(
        select(turn.c.ts, turn.c.messages).where(turn.c.thread == thread.key).order_by(turn.c.ts.desc()).limit(latest)
    )
    lines = [Line(row.ts, row.author, row.body.get("text", "")) for row in asked]
    for row in answered:
        texts = (message["text"] for message in row.messages if message["type"] == "agent")
        lines += [Line(row.ts, "assistant", text) for text in texts if text.strip()]
    # An answer bears its question's timestamp and follows it, since sorting keeps the order of equals.
    return [line for line in sorted(lines, key=lambda line: line.ts) if line.text][-latest:]
