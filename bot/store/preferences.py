"""What people chose for themselves."""

from sqlalchemy import bindparam, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_into


async def language(tx: AsyncConnection, person: str) -> str:
    """The language that the person chose. Empty if they left it to Slack."""
    return (await tx.execute(_CHOSEN, {"who": person})).scalar_one_or_none() or ""


async def choose_language(tx: AsyncConnection, person: str, language: str) -> None:
    """Store the choice. An empty one leaves it to Slack again."""
    table = schema.preference
    if not language:
        await tx.execute(delete(table).where(table.c.person == person))
        return
    statement = insert_into(tx, table).values(person=person, language=language)
    await tx.execute(
        statement.on_conflict_do_update(index_elements=["person"], set_={"language": statement.excluded.language})
    )


_CHOSEN = select(schema.preference.c.language).where(schema.preference.c.person == bindparam("who"))
