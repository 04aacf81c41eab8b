"""A desk moves: every row is there with its number, new numbers go on, and nothing is done by halves."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, update

from bot.errors import ConfigurationError, StoreUnavailable
from bot.locks import locked
from bot.store import cases, copying, leases, moving, schema
from bot.store.copying import CannotCopy
from bot.store.database import Database, Transaction, open_database
from tests.doubles.postgres import Postgres
from tests.store.rows import THREAD, a_case
from tests.store.whole import NUMBERS, all_rows, command, fill_all, names_in, rows_at, sqlite_url


@pytest.fixture
async def target(database_url: str, postgres: Postgres, tmp_path: Path) -> str:
    """An empty place on the other kind of database."""
    return await postgres.create() if database_url.startswith("sqlite") else sqlite_url(tmp_path / "moved.db")


TO_SERVE = {
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_SIGNING_SECRET": "secret",
    "AGENT_CHANNEL": "C0AGENTS",
    "OPENAI_API_KEY": "none",
    "PORT": "0",
}
"""Settings with which a process starts as far as its database."""


def _told(url: str) -> str:
    place = url.rpartition("@")[2]
    return f"Postgres at {place}" if url.startswith("postgres") else url.removeprefix("sqlite+aiosqlite:///")


async def move(source: str, target: str) -> copying.Counts:
    return await moving.move(source, target, now=time.time())


async def test_every_row_arrives_as_it_was(
    database: Database, database_url: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "PAGE", 2)
    await fill_all(database)
    rows = await all_rows(database)
    counts = await move(database_url, target)
    assert counts == {name: len(NUMBERS) for name in rows}
    left = await all_rows(database)
    left["alias"] = [row for row in left["alias"] if row["name"] != moving.MOVED]
    assert left == rows
    for row in rows["inbox"]:
        row["handed"] = False
    assert await rows_at(target) == rows


async def test_json_is_copied_to_the_letter(database: Database, database_url: str, target: str) -> None:
    """What is read and written again could lose the last digit of a number, or a key that is there twice."""
    odd = '{"b": 1.10, "a": 12345678901234567890, "half": "\\ud83d"}'
    await fill_all(database, [3])
    async with database.transaction() as tx:
        (table,) = [each for each in copying.TABLES if each.name == "audit"]
        await tx.execute(update(table).values(detail=odd))
    await move(database_url, target)
    async with open_database(target) as moved, moved.transaction() as tx:
        assert [row["detail"] async for page in copying._pages(tx, table) for row in page] == [odd]


async def test_numbers_that_were_given_out_are_not_given_out_again(
    database: Database, database_url: str, target: str
) -> None:
    await database.migrate()
    threads = [replace(THREAD, ts=f"{number}.1") for number in range(4)]
    async with database.transaction() as tx:
        *_, last = [await cases.add(tx, a_case(thread=thread)) for thread in threads[:3]]
        assert last is not None
        await tx.execute(schema.kase.delete().where(schema.kase.c.id == last.id))
    await move(database_url, target)
    async with open_database(target) as moved, moved.transaction() as tx:
        later = await cases.add(tx, a_case(thread=threads[3]))
    assert later is not None
    assert later.id == last.id + 1


async def test_nothing_is_served_from_a_database_that_was_moved_until_that_is_undone(
    database: Database, database_url: str, target: str, tmp_path: Path
) -> None:
    await fill_all(database)
    await moving.move(database_url, target, now=1796029200.0)
    sentence = f"this database was moved to {_told(target)} on 2026-11-30 at 09:00 UTC"
    data = tmp_path / "data"
    status, _, told = await command("serve", data=data, database=database_url, **TO_SERVE)  # type: ignore[arg-type]
    assert (status, sentence in told, "move --undo" in told, len(told.splitlines())) == (2, True, True, 1), told
    with pytest.raises(ConfigurationError, match="was moved to"):
        await move(database_url, target)
    _, found, _ = await command("doctor", data=data, database=database_url)
    assert f"wrong: {sentence}" in found
    undo = ("move", "--undo")
    assert [(await command(*undo, data=data, database=database_url))[0] for _ in range(2)] == [0, 1]
    await moving.refuse_moved(database)


async def test_the_new_database_and_one_whose_move_failed_are_served(
    database: Database, database_url: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill_all(database)

    def fail(_place: str) -> None:
        raise CannotCopy("the disk is full")

    monkeypatch.setattr(copying, "failpoint", fail)
    with pytest.raises(CannotCopy, match="the disk is full"):
        await move(database_url, target)
    await moving.refuse_moved(database)
    monkeypatch.undo()
    await move(database_url, target)
    async with open_database(target) as moved:
        await moving.refuse_moved(moved)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite+aiosqlite:////srv/frontdesk.db", "/srv/frontdesk.db"),
        ("postgresql://frontdesk@db.example.com:5433/desk?sslmode=require", "Postgres at db.example.com:5433/desk"),
        ("postgresql+asyncpg://frontdesk:secret99@db/desk", "Postgres at db/desk"),
        ("postgres://db/desk?password=secret99", "Postgres at db/desk"),
        ("postgres://u:secret99?x@db/desk", "Postgres"),
        ("postgres://u:secret99/x@db/desk", "Postgres"),
        ("postgres://db/desk?password=a@secret99", "Postgres"),
    ],
)
def test_the_place_of_the_new_database_is_told_without_its_password(url: str, told: str) -> None:
    assert moving._place_of(url) == told


@pytest.mark.parametrize("where", ["source", "target"])
async def test_a_served_postgres_is_left_alone(
    where: str, migrated_file: Path, postgres_url: str, tmp_path: Path
) -> None:
    async with open_database(postgres_url) as shared:
        async with shared.transaction() as tx:
            await leases.beat(tx, "one-1", "serve", now=time.time())
        source = tmp_path / "source.db"
        shutil.copy(migrated_file, source)
        moved = sqlite_url(tmp_path / "moved.db")
        ends = (postgres_url, moved) if where == "source" else (sqlite_url(source), postgres_url)
        with pytest.raises(CannotCopy, match=r"stop them first \(one-1\)"):
            await move(*ends)
        async with shared.transaction() as tx:
            await leases.leave(tx, "one-1")
    await move(*ends)


async def test_no_process_begins_on_a_postgres_that_is_being_moved(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_rows = copying.copy_rows
    began: list[object] = []

    async def begin_meanwhile(source: Transaction, target: Transaction, **options: copying.Telling) -> copying.Counts:
        async with open_database(postgres_url) as shared:
            try:
                async with asyncio.timeout(1.0), shared.transaction() as tx:
                    await leases.beat(tx, "late-1", "serve", now=time.time())
                began.append("late-1")
            except (TimeoutError, StoreUnavailable):
                pass
        return await copy_rows(source, target, **options)

    monkeypatch.setattr(copying, "copy_rows", begin_meanwhile)
    await move(postgres_url, sqlite_url(tmp_path / "moved.db"))
    assert began == []


async def test_a_file_that_is_served_is_not_moved(migrated_file: Path, tmp_path: Path, postgres_url: str) -> None:
    url = sqlite_url(migrated_file)
    with locked(Path(f"{migrated_file}.lock"), "DATA_DIR", migrated_file):
        status, _, told = await command("move", "--to", postgres_url, data=tmp_path, database=url)
    assert (status, "another Frontdesk (process" in told) == (2, True)


async def test_what_is_there_is_not_overwritten(database: Database, database_url: str, target: str) -> None:
    await fill_all(database)
    await move(database_url, target)
    rows = await rows_at(target)
    await moving.use_again(database_url)
    with pytest.raises(CannotCopy, match=r"not empty|is there already"):
        await move(database_url, target)
    assert await rows_at(target) == rows


async def test_a_copy_that_differs_is_not_kept(
    database: Database, database_url: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill_all(database)
    read = copying._pages

    async def misread(tx: Transaction, table: Table) -> AsyncIterator[list[dict[str, Any]]]:
        async for page in read(tx, table):
            is_copy = tx.dialect.name != ("sqlite" if database_url.startswith("sqlite") else "postgresql")
            yield [{**row, "until": 1.0} for row in page] if is_copy and table.name == "pace" else page

    monkeypatch.setattr(copying, "_pages", misread)
    with pytest.raises(CannotCopy, match="the copy of pace differs: 3 rows were read and 3 are there"):
        await move(database_url, target)
    monkeypatch.undo()
    await move(database_url, target)


async def test_what_does_not_fit_is_named_and_nothing_is_kept(
    migrated_file: Path, tmp_path: Path, postgres: Postgres
) -> None:
    """SQLite keeps longer texts than a column is made for."""
    url, target = sqlite_url(tmp_path / "odd.db"), await postgres.create()
    shutil.copy(migrated_file, tmp_path / "odd.db")
    async with open_database(url) as database, database.transaction() as tx:
        await tx.execute(schema.pause.insert().values(channel="C" * 99, by="U1", at=1.0))
    with pytest.raises(CannotCopy, match="a row of pause does not fit"):
        await move(url, target)
    async with open_database(url) as database, database.transaction() as tx:
        await tx.execute(schema.pause.update().values(channel="C1"))
    assert (await move(url, target))["pause"] == 1


async def test_a_move_that_is_killed_is_made_anew(
    database: Database, database_url: str, target: str, tmp_path: Path
) -> None:
    await fill_all(database)
    data = tmp_path / "data"
    for place, passing in (("table_copied", 1), ("table_copied", 9), ("rows_copied", 1)):
        await command("move", "--to", target, data=data, database=database_url, at=place, passing=passing)
        assert not (tmp_path / "moved.db").exists()
    status, told, _ = await command("move", "--to", target, data=data, database=database_url)
    assert (status, "rows were copied and compared" in told) == (0, True)
    assert {len(rows) for rows in (await rows_at(target)).values()} == {len(NUMBERS)}
    assert not any("moving" in name for name in names_in(tmp_path))


@pytest.mark.parametrize(
    ("to", "told"),
    [("mysql://u:secret99@h/d", "must start with"), ("postgresql://u:secret99@127.0.0.1:1/d", "does not answer")],
)
async def test_an_address_that_is_of_no_use_is_not_repeated(
    to: str, told: str, migrated_file: Path, tmp_path: Path
) -> None:
    status, out, err = await command("move", "--to", to, data=tmp_path, database=sqlite_url(migrated_file))
    assert (status in (1, 2), told in err, "secret99" in out + err, "Traceback" in err) == (True, True, False, False)
