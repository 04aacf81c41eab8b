"""What may be added to the knowledge base: proposed, decided by staff, and as an article kept until one takes it back.

Every change is a compare-and-set on `version`, so of two people one decides.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

from sqlalchemy import Row, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import attempts, schema
from bot.store.cases import ref_of
from bot.store.statements import insert_new

State = Literal["pending", "approved", "discarded", "expired", "replaced", "forgotten"]
"""Undecided · an article · not wanted · nobody decided in time · an article that another took the place of · an article
that was taken back."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One of them."""

    id: int
    """What people call an article by."""
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
    """The document of the knowledge base that says something close to it; empty for none."""
    likeness: float = 0.0
    """How close, from 0 to 1."""
    contradicts: bool = False
    """Whether a model takes that document to say otherwise."""
    decided_by: str | None = None
    decided_at: float | None = None
    reason: str = ""
    """Why it was discarded; of one that was replaced, the number of the article in its place."""

    @property
    def ref(self) -> str:
        """The case that it comes from; empty for none."""
        return "" if self.case_id is None else ref_of(self.case_id)


async def add(tx: AsyncConnection, suggestion: Suggestion) -> Suggestion | None:
    """Keep a new one (`id` is ignored); None when its key is there already. Superseded in a turn that somebody else
    has taken over."""
    await attempts.hold(tx)
    values = {name: getattr(suggestion, name) for name in _FIELDS if name != "id"}
    number = await insert_new(tx, schema.suggestion, values)
    return None if number is None else replace(suggestion, id=number)


async def find(tx: AsyncConnection, number: int) -> Suggestion | None:
    """The one of this number."""
    table = schema.suggestion
    row = (await tx.execute(select(table).where(table.c.id == number))).one_or_none()
    return _suggestion(row) if row else None


async def by_key(tx: AsyncConnection, key: str) -> Suggestion | None:
    """The one that was made from this."""
    table = schema.suggestion
    row = (await tx.execute(select(table).where(table.c.key == key))).one_or_none()
    return _suggestion(row) if row else None


async def change(tx: AsyncConnection, before: Suggestion, after: Suggestion) -> Suggestion | None:
    """Write `after` over `before`; None when somebody else was faster. Superseded as `add` is."""
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
    """Everything that was approved and not taken back, by number."""
    table = schema.suggestion
    rows = await tx.execute(select(table).where(table.c.state == "approved").order_by(table.c.id))
    return [_suggestion(row) for row in rows]


async def mark_of_articles(tx: AsyncConnection) -> str:
    """What changes whenever an article is added, replaced or taken back."""
    table = schema.suggestion
    wanted = select(table.c.id, table.c.version).where(table.c.state == "approved").order_by(table.c.id)
    told = " ".join(f"{row.id}.{row.version}" for row in await tx.execute(wanted))
    return blake2b(told.encode(), digest_size=16).hexdigest()


async def undecided_since(tx: AsyncConnection, before: float, *, limit: int = 100) -> list[Suggestion]:
    """Those that nobody has decided on and that were made before then."""
    table = schema.suggestion
    statement = select(table).where(table.c.state == "pending", table.c.made_at < before).order_by(table.c.id)
    return [_suggestion(row) for row in await tx.execute(statement.limit(limit))]


async def cases_answered_in(tx: AsyncConnection, threads: Collection[str]) -> dict[str, int]:
    """Thread's key -> its latest case that is over and in which a person wrote to the customer."""
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
