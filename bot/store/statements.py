"""The one statement that databases spell differently: insert unless it is already there."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection


async def insert_new(tx: AsyncConnection, table: Table, values: Mapping[str, Any]) -> Any | None:
    """Insert one row; its first primary-key value, or None when a unique column says it is there already."""
    key = next(iter(table.primary_key.columns))
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    statement = insert(table).values(**values).on_conflict_do_nothing().returning(key)
    return (await tx.execute(statement)).scalar_one_or_none()
