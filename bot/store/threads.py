"""What is stored about a Slack thread: the agent that answers in it, its language, its episode."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import bindparam, select, update
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
    """Counts the hand-backs from people. The model sees only the present episode."""
    note: str
    """What the model is told about the time before this episode."""
    epoch: int = 0
    """The ownership epoch: how often the thread went from the assistant to a person, between persons, or back."""
    local_changes: int = -1
    """The value of LOCAL_CHANGES when the epoch was read. -1, which is never current, for a thread that is no
    conversation."""


@dataclass(slots=True)
class LocalChanges:
    """Counts the epochs that this process has advanced, of all threads."""

    count: int = 0


LOCAL_CHANGES = LocalChanges()
"""While this count stays the same and no other process can write, every epoch that was read is current."""


async def add_thread(tx: AsyncConnection, thread: ThreadRef, *, now: float) -> None:
    """Make the thread a conversation, unless it already is one."""
    await add_threads(tx, [thread], now=now)


async def add_threads(tx: AsyncConnection, threads: Iterable[ThreadRef], *, now: float) -> None:
    """Make those of the threads conversations that are not."""
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
    """The thread's state. None if it is no conversation."""
    changes = LOCAL_CHANGES.count
    row = (await tx.execute(FINDING_THREAD, {"name": thread.key})).one_or_none()
    return ThreadState(*row, changes) if row else None


async def languages_of(tx: AsyncConnection, threads: Collection[ThreadRef]) -> dict[str, str]:
    """The languages of the threads by key, without threads that are no conversations."""
    table = schema.thread
    rows = await tx.execute(
        select(table.c.key, table.c.language).where(table.c.key.in_([each.key for each in threads]))
    )
    return {row.key: row.language for row in rows}


async def epoch_of(tx: AsyncConnection, key: str) -> int:
    """The ownership epoch of the thread with this key; 0 if it is no conversation."""
    return (await epochs_of(tx, [key])).get(key, 0)


async def epochs_of(tx: AsyncConnection, keys: Iterable[str]) -> dict[str, int]:
    """The epochs of several threads by key, without threads that are no conversations."""
    rows = await tx.execute(_EPOCHS, {"names": list(keys)})
    return {row.key: row.epoch for row in rows}


async def advance_epoch(tx: AsyncConnection, keys: Collection[str]) -> None:
    """Give these threads a new owner. Nothing that was begun in an earlier epoch is posted any more."""
    LOCAL_CHANGES.count += 1
    table = schema.thread
    await tx.execute(update(table).where(table.c.key.in_(keys)).values(epoch=table.c.epoch + 1))


async def set_language(tx: AsyncConnection, thread: ThreadRef, language: str) -> None:
    """Store the language of the customer's last message."""
    await tx.execute(_UPDATING, {"name": thread.key, "language": language})


async def set_agent(tx: AsyncConnection, thread: ThreadRef, agent: str) -> None:
    """Store which agent answered last."""
    await tx.execute(_UPDATING, {"name": thread.key, "agent": agent})


async def begin_episode(tx: AsyncConnection, thread: ThreadRef, *, note: str) -> None:
    """Start a new episode after a person was there. The model will see `note` and nothing older."""
    table = schema.thread
    values = {"episode": table.c.episode + 1, "note": note, "agent": ""}
    await tx.execute(update(table).where(table.c.key == thread.key).values(**values))


_THREAD = schema.thread
FINDING_THREAD = select(_THREAD.c.agent, _THREAD.c.language, _THREAD.c.episode, _THREAD.c.note, _THREAD.c.epoch).where(
    _THREAD.c.key == bindparam("name")
)
_EPOCHS = select(_THREAD.c.key, _THREAD.c.epoch).where(_THREAD.c.key.in_(bindparam("names", expanding=True)))
_UPDATING = update(_THREAD).where(_THREAD.c.key == bindparam("name"))
"""The other parameters are the columns that are set."""
