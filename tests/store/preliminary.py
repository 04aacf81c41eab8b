"""The tables as the last preliminary version made them."""

from pathlib import Path

from sqlalchemy import text

from bot.store.database import Database

FOLDER = Path(__file__).parent / "schema_0010"


async def create_preliminary(database: Database) -> None:
    """Make the tables, at revision 0010."""
    async with database.transaction() as tx:
        for statement in (FOLDER / f"{tx.dialect.name}.sql").read_text().split(";"):
            if statement.strip():
                await tx.execute(text(statement))
