"""The scores of cases: one for each case, from 1 to 5 (CSAT), and what the customer says went wrong.

They are rows of `feedback` beside the ratings of answers. `given_at` of a score is when it was given first: a change of
mind leaves it as it is.
"""

from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_into


@dataclass(frozen=True, slots=True)
class Score:
    """What a customer thinks of how their case ended."""

    value: int
    """From 1 to 5."""
    given_at: float
    """When it was given first, in seconds since 1970."""
    reason: str = ""
    """What went wrong: a key of `bot.views.score_cards.REASONS`. Empty if they chose none."""
    words: str = ""
    """What went wrong, in the customer's words."""


async def find(tx: AsyncConnection, ref: str, person: str) -> Score | None:
    """The person's score of the case."""
    table = schema.feedback
    columns = (table.c.value, table.c.given_at, table.c.reason, table.c.words)
    row = (
        await tx.execute(select(*columns).where(table.c.subject == subject_of(ref), table.c.person == person))
    ).one_or_none()
    return Score(int(row.value), row.given_at, row.reason, row.words) if row else None


async def save(tx: AsyncConnection, ref: str, person: str, score: Score) -> None:
    """Store the person's score of the case in place of an earlier one."""
    table = schema.feedback
    values = {"value": str(score.value), "given_at": score.given_at, "reason": score.reason, "words": score.words}
    statement = insert_into(tx, table).values(subject=subject_of(ref), person=person, **values)
    await tx.execute(statement.on_conflict_do_update(index_elements=table.primary_key, set_=values))


async def forget_words(tx: AsyncConnection, refs: list[str]) -> None:
    """Empty what customers wrote about these cases. Their scores stay."""
    table = schema.feedback
    subjects = [subject_of(ref) for ref in refs]
    await tx.execute(update(table).where(table.c.subject.in_(subjects)).values(words=""))


def subject_of(ref: str) -> str:
    """The subject of a case's score."""
    return f"case/{ref}"
