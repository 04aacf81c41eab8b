"""A database with rows in every table, made from the schema alone, and the commands in processes that can be killed."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Float, Integer, Table, insert, select

from bot.store import schema
from bot.store.copying import LEFT_BEHIND
from bot.store.database import Database, open_database
from tests import forkserver
from tests.patience import patience

ODD = 'a "quote", a \\ and é 漢 😀'
NUMBERS = (3, 4, 1_207)
"""The rows of every table."""

COMMAND = """
import sys
from bot.cli.main import main
from bot.failpoints import arm
if sys.argv[1]:
    arm(sys.argv[1], int(sys.argv[2]))
sys.exit(main(sys.argv[3:]))
"""

Rows = dict[str, list[dict[str, Any]]]


async def fill_all(database: Database, numbers: Sequence[int] = NUMBERS) -> None:
    """Add rows to every table but those of running processes."""
    async with database.transaction() as tx:
        for table in schema.metadata.sorted_tables:
            if table.name not in LEFT_BEHIND:
                await tx.execute(insert(table), [_row(table, number) for number in numbers])


def _row(table: Table, number: int) -> dict[str, Any]:
    return {column.name: _value(column, number) for column in table.columns}


def _value(column: "Column[Any]", number: int) -> Any:
    match column.type:
        case Boolean():
            return number % 2 == 1
        case Float():
            return 1_700_000_000 + number / 3
        case Integer():
            return number
        case JSON():
            return {"number": number, "words": [ODD, None], "ratio": 0.1}
        case schema.Words():
            return f"{ODD} {number}"[: column.type.limit]
    return f"{column.name[:8]}{number}"[: getattr(column.type, "length", None) or 99]


async def all_rows(database: Database) -> Rows:
    """Every row of every table but those of running processes, in the order of their keys."""
    found: Rows = {}
    async with database.transaction() as tx:
        for table in schema.metadata.sorted_tables:
            if table.name not in LEFT_BEHIND:
                rows = [dict(row) for row in (await tx.execute(select(table))).mappings()]
                found[table.name] = sorted(rows, key=lambda row: str(sorted(row.items())))
    return found


async def rows_at(url: str) -> Rows:
    """The same of the database at an address."""
    async with open_database(url, read_only=True) as database:
        return await all_rows(database)


async def command(
    *arguments: str, data: Path, database: str, at: str = "", passing: int = 1, **environ: str
) -> tuple[int, str, str]:
    """Run a command. `at` is the failpoint where it is killed. Returns its status and what it wrote."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    child = await forkserver.start(
        *("-c", COMMAND, at, str(passing), *arguments),
        env={**kept, "DATA_DIR": str(data), "DATABASE_URL": database, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(patience(100)):
        out, err = await child.communicate()
    status = child.returncode if child.returncode is not None else 0
    assert (status == -signal.SIGKILL) == bool(at), (status, err)
    return status, (out or b"").decode(), (err or b"").decode()


def sqlite_url(path: Path) -> str:
    """The address of a file."""
    return f"sqlite+aiosqlite:///{path}"


def names_in(folder: Path) -> set[str]:
    """The names of everything in a folder."""
    return {path.name for path in folder.rglob("*")}
