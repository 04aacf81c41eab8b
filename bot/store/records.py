"""Feedback and the audit trail."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_new


async def rate(tx: AsyncConnection, subject: str, person: str, value: str, *, now: float) -> None:
    """Keep a person's verdict on `turn/7` or `case/FD-1012`; a later press replaces it."""
    table = schema.feedback
    values = {"subject": subject, "person": person, "value": value, "given_at": now}
    if await insert_new(tx, table, values) is None:
        statement = table.update().where(table.c.subject == subject, table.c.person == person)
        await tx.execute(statement.values(value=value, given_at=now))


async def note(
    tx: AsyncConnection,
    *,
    actor: str,
    action: str,
    subject: str,
    detail: Mapping[str, Any] | None = None,
    now: float,
) -> None:
    """Append one line to the audit trail."""
    values = {
        "at": now,
        "actor": actor[:32],
        "action": action[:64],
        "subject": subject[:160],
        "detail": dict(detail or {}),
    }
    await tx.execute(insert(schema.audit).values(**values))
