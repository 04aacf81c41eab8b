"""What is known of a Slack thread: the agent that answers in it, its language, its episode."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import schema
from bot.store.statements import insert_all_new


@dataclass(frozen=True, slots=True)
class ThreadState:
    """A thread that is a conversation."""

    agent: str
    """The agent that answered last; empty before the first answer."""
    language: str
    """The language of the customer's last message; empty before the first."""
    episode: int
    """Counts the hand-backs from people; the model sees the present episode only."""
    note: str
    """What the model is told of the stretch before this episode."""
    hands: int = 0
    """How often the thread went from the assistant to a person, between persons, or back."""
    changes: int = -1
    """CHANGES when this was read; none for a thread that is no conversation."""


@dataclass(slots=True)
class Changes:
    """Counts how often this process makes a thread change hands, whichever thread that is."""

    count: int = 0


CHANGES = Changes()
"""As long as this stands still, and no other process may write, whatever was read of `hands` holds."""


async def add_thread(tx: AsyncConnection, thread: ThreadRef, *, now: float) -> None:
    """Make the thread a conversation, unless it is one."""
    await add_threads(tx, [thread], now=now)


async def add_threads(tx: AsyncConnection, threads: Iterable[ThreadRef], *, now: float) -> None:
    """Make the threads conversations, those that are none."""
    rows = [
        {"key": thread.key, "team": thread.team, "channel": thread.channel, "ts": thread.ts, "opened_at": now}
        for thread in sorted(set(threads), key=lambda thread: thread.key)
    ]
    await insert_all_new(tx, schema.thread, rows, "key")


async def known_among(tx: AsyncConnection, threads: Iterable[ThreadRef]) -> set[ThreadRef]:
    """Those of the threads that are conversations."""
    keys = {thread.key: thread for thread in threads}
    if not keys:
        return set()
    table = schema.thread
    found = await tx.execute(select(table.c.key).where(table.c.key.in_(keys)))
    return {keys[key] for key in found.scalars()}


async def find_thread(tx: AsyncConnection, thread: ThreadRef) -> ThreadState | None:
    """The thread's state, or None when it is no conversation."""
    table = schema.thread
    columns = (table.c.agent, table.c.language, table.c.episode, table.c.note, table.c.hands)
    changes = CHANGES.count
    row = (await tx.execute(select(*columns).where(table.c.key == thread.key))).one_or_none()
    return ThreadState(*row, changes) if row else None


async def languages_of(tx: AsyncConnection, threads: Collection[ThreadRef]) -> dict[str, str]:
    """The languages of the threads by their keys, without those that are no conversations."""
    table = schema.thread
    rows = await tx.execute(
        select(table.c.key, table.c.language).where(table.c.key.in_([each.key for each in threads]))
    )
    return {row.key: row.language for row in rows}


async def hands_of(tx: AsyncConnection, key: str) -> int:
    """How often the thread with this key has changed hands."""
    return (await hands_among(tx, [key])).get(key, 0)


async def hands_among(tx: AsyncConnection, keys: Iterable[str]) -> dict[str, int]:
    """The same for those of the keys that are conversations'."""
    table = schema.thread
    rows = await tx.execute(select(table.c.key, table.c.hands).where(table.c.key.in_(list(keys))))
    return {row.key: row.hands for row in rows}


async def change_hands(tx: AsyncConnection, keys: Collection[str]) -> None:
    """Say that somebody else speaks in these threads from here on."""
    CHANGES.count += 1
    table = schema.thread
    await tx.execute(update(table).where(table.c.key.in_(keys)).values(hands=table.c.hands + 1))


async def set_language(tx: AsyncConnection, thread: ThreadRef, language: str) -> None:
    """Remember the language of the customer's last message."""
    await tx.execute(update(schema.thread).where(schema.thread.c.key == thread.key).values(language=language))


async def set_agent(tx: AsyncConnection, thread: ThreadRef, agent: str) -> None:
    """Remember which agent answered last."""
    await tx.execute(update(schema.thread).where(schema.thread.c.key == thread.key).values(agent=agent))


async def begin_episode(tx: AsyncConnection, thread: ThreadRef, *, note: str) -> None:
    """Start afresh after a person: the model will see `note` and nothing older."""
    table = schema.thread
    values = {"episode": table.c.episode + 1, "note": note, "agent": ""}
    await tx.execute(update(table).where(table.c.key == thread.key).values(**values))
