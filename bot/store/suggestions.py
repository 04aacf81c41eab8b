"""Suggestions for the knowledge base: proposed, decided by staff, and stored as an article until someone withdraws
it.

Every change is a compare-and-set on `version`, so if two people decide, one wins.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import attempts, schema
from bot.store.cases import ref_of
from bot.store.statements import insert_new

State = Literal["pending", "approved", "discarded", "expired", "replaced", "forgotten"]
"""Not decided · an article · not wanted · not decided in time · an article that another one has replaced · an article
that was withdrawn."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One suggestion or article."""

    id: int
    """The number that people use for an article."""
    key: str
    """Names what it was made from, so that it is made once."""
    case_id: int | None
    title: str
    question: str
    answer: str
    state: State
    asked_by: str
    made_at: float
    version: int = 1
    close_to: str = ""
    """The document of the knowledge base that says something similar. Empty for none."""
    likeness: float = 0.0
    """How similar, from 0 to 1."""
    contradicts: bool = False
    """Whether a model thinks that the document says something different."""
    decided_by: str | None = None
    decided_at: float | None = None
    reason: str = ""
    """Why it was discarded. If it was replaced, the number of the new article."""
    thread: str = ""
    """The key of the thread in a channel that it comes from. Empty if it comes from a case or a single message."""
    person: str = ""
    """Who asked in that thread."""

    @property
    def ref(self) -> str:
        """The case that it comes from. Empty for none."""
        return "" if self.case_id is None else ref_of(self.case_id)


async def add(tx: AsyncConnection, suggestion: Suggestion) -> Suggestion | None:
    """Store a new one (`id` is ignored). None if its key already exists. Raises Superseded in a turn that another
    process has taken over.
    """
    await attempts.hold(tx)
    values = {name: getattr(suggestion, name) for name in _FIELDS if name != "id"}
    number = await insert_new(tx, schema.suggestion, values)
    return None if number is None else replace(suggestion, id=number)


async def find(tx: AsyncConnection, number: int) -> Suggestion | None:
    """The suggestion with this number."""
    table = schema.suggestion
    row = (await tx.execute(select(table).where(table.c.id == number))).one_or_none()
    return _suggestion(row) if row else None


async def by_key(tx: AsyncConnection, key: str) -> Suggestion | None:
    """The suggestion that was made from this."""
    table = schema.suggestion
    row = (await tx.execute(select(table).where(table.c.key == key))).one_or_none()
    return _suggestion(row) if row else None


async def change(tx: AsyncConnection, before: Suggestion, after: Suggestion) -> Suggestion | None:
    """Write `after` over `before`. None if someone else was faster. Raises Superseded like `add`."""
    await attempts.hold(tx)
    table = schema.suggestion
    values = {name: getattr(after, name) for name in _FIELDS if name not in ("id", "key", "version")}
    statement = (
        update(table)
        .where(table.c.id == before.id, table.c.version == before.version)
        .values(version=before.version + 1, **values)
        .returning(table)
    )
    row = (await tx.execute(statement)).one_or_none()
    return _suggestion(row) if row else None


async def articles(tx: AsyncConnection) -> list[Suggestion]:
    """All approved articles that were not withdrawn, by number."""
    table = schema.suggestion
    rows = await tx.execute(select(table).where(table.c.state == "approved").order_by(table.c.id))
    return [_suggestion(row) for row in rows]


async def mark_of_articles(tx: AsyncConnection) -> str:
    """A value that changes whenever an article is added, replaced or withdrawn."""
    table = schema.suggestion
    wanted = select(table.c.id, table.c.version).where(table.c.state == "approved").order_by(table.c.id)
    told = " ".join(f"{row.id}.{row.version}" for row in await tx.execute(wanted))
    return blake2b(told.encode(), digest_size=16).hexdigest()


async def drop_undecided(tx: AsyncConnection, numbers: Collection[int]) -> list[int]:
    """Delete those of the suggestions that are not decided. Returns their numbers."""
    table = schema.suggestion
    undecided = (table.c.id.in_(numbers), table.c.state == "pending")
    return list((await tx.execute(delete(table).where(*undecided).returning(table.c.id))).scalars())


async def drop_undecided_of(tx: AsyncConnection, thread: ThreadRef) -> list[int]:
    """Delete the suggestions from this thread of a channel that are not decided. Returns their numbers."""
    table = schema.suggestion
    undecided = (table.c.thread == thread.key, table.c.state == "pending")
    return list((await tx.execute(delete(table).where(*undecided).returning(table.c.id))).scalars())


async def undecided_since(tx: AsyncConnection, before: float, *, limit: int = 100) -> list[Suggestion]:
    """The suggestions that are not decided and were made before then."""
    table = schema.suggestion
    statement = select(table).where(table.c.state == "pending", table.c.made_at < before).order_by(table.c.id)
    return [_suggestion(row) for row in await tx.execute(statement.limit(limit))]


async def undecided_of_threads(tx: AsyncConnection) -> list[Suggestion]:
    """The suggestions from threads of channels that are not decided."""
    table = schema.suggestion
    rows = await tx.execute(select(table).where(table.c.state == "pending", table.c.thread != "").order_by(table.c.id))
    return [_suggestion(row) for row in rows]


async def cases_answered_in(tx: AsyncConnection, threads: Collection[str]) -> dict[str, int]:
    """Thread's key -> its latest case that has ended and in which a person wrote to the customer."""
    table = schema.kase
    rows = await tx.execute(
        select(table.c.thread, func.max(table.c.id).label("latest"))
        .where(table.c.thread.in_(threads), table.c.ended_at.is_not(None), table.c.replied_at.is_not(None))
        .group_by(table.c.thread)
    )
    return {row.thread: row.latest for row in rows}


_FIELDS = tuple(Suggestion.__dataclass_fields__)


def _suggestion(row: Row[Any]) -> Suggestion:
    return Suggestion(**{name: getattr(row, name) for name in _FIELDS})
