"""Feedback and the audit trail."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_into


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the audit trail."""

    at: float
    actor: str
    action: str
    detail: Mapping[str, Any]


async def rate(tx: AsyncConnection, subject: str, person: str, value: str, *, now: float) -> None:
    """Store a person's rating of `turn/7` or `case/FD-1012`. A later rating replaces it."""
    table = schema.feedback
    values = {"value": value, "given_at": now}
    statement = insert_into(tx, table).values(subject=subject, person=person, **values)
    await tx.execute(statement.on_conflict_do_update(index_elements=table.primary_key, set_=values))


async def ratings(tx: AsyncConnection, subjects: Collection[str], *, person: str) -> dict[str, str]:
    """The person's ratings of these subjects."""
    table = schema.feedback
    rows = await tx.execute(
        select(table.c.subject, table.c.value).where(table.c.person == person, table.c.subject.in_(subjects))
    )
    return {row.subject: row.value for row in rows}


async def note(
    tx: AsyncConnection,
    *,
    actor: str,
    action: str,
    subject: str,
    detail: Mapping[str, Any] | None = None,
    now: float,
) -> None:
    """Append one entry to the audit trail."""
    values = {
        "at": now,
        "actor": actor[:32],
        "action": action[:64],
        "subject": subject[:160],
        "detail": dict(detail or {}),
    }
    await tx.execute(insert(schema.audit).values(**values))


async def of_subject(tx: AsyncConnection, subject: str) -> list[AuditEntry]:
    """The audit entries about a case or another subject, oldest first."""
    table = schema.audit
    rows = await tx.execute(select(table).where(table.c.subject == subject).order_by(table.c.id))
    return [AuditEntry(row.at, row.actor, row.action, row.detail) for row in rows]
