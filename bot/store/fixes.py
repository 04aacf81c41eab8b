"""What a desk could fix, and what its staff have done of it. Words are read here and stored nowhere else.

low_scores     solved cases whose customers were not satisfied
could_have     cases of which staff said that the assistant could have answered them
cited          the pages that answers named
desks_of       the desks of threads
articles_from  when articles were made from cases
add, since     what is done of all this
digest         what changes if any of it is erased, rated anew or done
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from sqlalchemy import Text, and_, cast, delete, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.case_lists import Desks
from bot.store.cases import id_of, ref_of
from bot.store.statements import insert_into

LOW = ("1", "2")
"""The scores of customers who were not satisfied."""
ANSWERS = 3_000
"""The number of newest answers whose pages are counted."""
COULD_HAVE = "assistant_could_have"
"""The outcome that staff choose for a case that needed no person."""


@dataclass(frozen=True, slots=True)
class BadCase:
    """A case with something to learn from."""

    id: int
    at: float
    """When it was scored, or ended."""
    cause: str
    customer: str
    reason: str = ""
    """What went wrong: a key of `bot.views.score_cards.REASONS`. Empty if the customer chose none."""

    @property
    def ref(self) -> str:
        """The name that people use."""
        return ref_of(self.id)


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer that names a page."""

    title: str
    url: str
    customer: str
    at: float


async def low_scores(tx: AsyncConnection, *, since: float, at: Desks, limit: int) -> list[BadCase]:
    """The cases of these desks that got a low score from their customers since then, the newest scores first."""
    kase, feedback = schema.kase, schema.feedback
    given = (
        select(feedback.c.subject, feedback.c.person, feedback.c.given_at, feedback.c.reason)
        .where(feedback.c.given_at >= since, feedback.c.value.in_(LOW), feedback.c.subject.like("case/%"))
        .order_by(feedback.c.given_at.desc())
        .limit(limit)
    )
    scores = {(id_of(row.subject.removeprefix("case/")), row.person): row for row in await tx.execute(given)}
    numbers = [number for number, _ in scores if number is not None]
    rows = await tx.execute(
        select(kase.c.id, kase.c.cause, kase.c.customer).where(kase.c.id.in_(numbers), at.have_row())
    )
    found = {(row.id, row.customer): row for row in rows}
    return [
        BadCase(found[key].id, score.given_at, found[key].cause, found[key].customer, score.reason)
        for key, score in scores.items()
        if key in found
    ]


async def could_have(tx: AsyncConnection, *, since: float, at: Desks, limit: int) -> list[BadCase]:
    """The cases of these desks that ended so since then, the newest first."""
    table = schema.kase
    rows = await tx.execute(
        select(table.c.id, table.c.ended_at, table.c.cause, table.c.customer)
        .where(table.c.ended_at >= since, table.c.outcome == COULD_HAVE, at.have_row())
        .order_by(table.c.ended_at.desc())
        .limit(limit)
    )
    return [BadCase(row.id, row.ended_at, row.cause, row.customer) for row in rows]


async def cited(tx: AsyncConnection, *, since: float) -> list[Cited]:
    """The pages that the newest answers since then named, once for each answer."""
    table, inbox = schema.turn, schema.inbox
    statement = (
        select(table.c.sources, table.c.customer, table.c.finished_at)
        .join(inbox, inbox.c.id == table.c.id)
        .where(inbox.c.received_at >= since, cast(table.c.sources, Text) != "[]")
        .order_by(inbox.c.received_at.desc())
        .limit(ANSWERS)
    )
    return [
        Cited(page["title"], page["url"], row.customer, row.finished_at)
        for row in await tx.execute(statement)
        for page in row.sources
    ]


async def desks_of(tx: AsyncConnection, threads: Collection[str]) -> dict[str, str]:
    """Thread's key -> the desk of its latest case, as in `Case.desk`. A thread without a case is missing."""
    table = schema.kase
    latest = select(func.max(table.c.id)).where(table.c.thread.in_(threads)).group_by(table.c.thread)
    rows = await tx.execute(select(table.c.thread, table.c.desk).where(table.c.id.in_(latest)))
    return {row.thread: row.desk for row in rows}


async def articles_from(tx: AsyncConnection, cases: Collection[int]) -> dict[int, float]:
    """Case -> when the latest article was made from it."""
    table = schema.suggestion
    rows = await tx.execute(
        select(table.c.case_id, func.max(table.c.decided_at).label("at"))
        .where(table.c.case_id.in_(cases), table.c.state == "approved", table.c.decided_at.is_not(None))
        .group_by(table.c.case_id)
    )
    return {row.case_id: row.at for row in rows}


async def add(tx: AsyncConnection, channel: str, subjects: Collection[str], *, person: str, now: float) -> None:
    """The desk's staff have done these. Doing one again counts from now."""
    table = schema.fixed
    for subject in subjects:
        statement = insert_into(tx, table).values(channel=channel, subject=subject, person=person, at=now)
        again = {"person": person, "at": now}
        await tx.execute(statement.on_conflict_do_update(index_elements=table.primary_key, set_=again))


async def since(tx: AsyncConnection, channel: str, start: float) -> dict[str, float]:
    """What the desk's staff have done since then, and when."""
    table = schema.fixed
    rows = await tx.execute(select(table.c.subject, table.c.at).where(table.c.channel == channel, table.c.at >= start))
    return {row.subject: row.at for row in rows}


async def delete_before(tx: AsyncConnection, before: float, *, limit: int) -> int:
    """Delete some of what was done before then."""
    table = schema.fixed
    rows = (await tx.execute(select(table.c.channel, table.c.subject).where(table.c.at < before).limit(limit))).all()
    for row in rows:
        await tx.execute(delete(table).where(and_(table.c.channel == row.channel, table.c.subject == row.subject)))
    return len(rows)


async def digest(tx: AsyncConnection, channel: str, *, turns: Sequence[int], cases: Sequence[int]) -> str:
    """A digest of what a list was made from: these answers and cases, what is done, and all articles.

    Erased words make an answer shorter, and a case another version.
    """
    turn, kase, fixed, suggestion = schema.turn, schema.kase, schema.fixed, schema.suggestion
    feedback = schema.feedback
    said = select(turn.c.id, func.length(cast(turn.c.messages, Text))).where(turn.c.id.in_(turns))
    stood = select(kase.c.id, kase.c.version).where(kase.c.id.in_(cases))
    subjects = [f"turn/{number}" for number in turns] + [f"case/{ref_of(number)}" for number in cases]
    rated = select(feedback.c.subject, feedback.c.value, feedback.c.reason).where(feedback.c.subject.in_(subjects))
    done = select(func.count(), func.max(fixed.c.at)).where(fixed.c.channel == channel)
    written = select(func.count(), func.max(suggestion.c.decided_at)).where(
        suggestion.c.state == literal("approved"), suggestion.c.case_id.is_not(None)
    )
    rows = [sorted(map(tuple, (await tx.execute(each)).all())) for each in (said, stood, rated, done, written)]
    return blake2b(json.dumps(rows, default=str).encode(), digest_size=16).hexdigest()
