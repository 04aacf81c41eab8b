"""Backups: made while the desk serves, whole or not there, and restored whole or not at all."""

import asyncio
import json
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command as alembic
from sqlalchemy import create_engine

from bot.locks import locked
from bot.store import backups, leases, limits, revisions, schema, sqlite_file
from bot.store.backups import DATABASE, MANIFEST, Manifest
from bot.store.copying import CannotCopy
from bot.store.database import Database, open_database
from tests.doubles.postgres import Postgres
from tests.store.whole import all_rows, command, fill_all, names_in, rows_at, sqlite_url


async def written(url: str, place: Path) -> Manifest:
    return await backups.write_backup(
        url,
        place,
        made_at="2026-11-24T00:00:00+00:00",
        release="1",
        knowledge={"public": {"content": "c", "documents": 7}},
    )


async def restored(place: Path, url: str, scratch: Path) -> Manifest:
    return await backups.restore(place, url, scratch=scratch, now=time.time())


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty place."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "restored" / "frontdesk.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


async def test_a_backup_is_restored_to_either_database(
    database: Database, database_url: str, empty_url: str, tmp_path: Path
) -> None:
    await fill_all(database)
    rows = await all_rows(database)
    manifest = await written(database_url, tmp_path / "backup")
    assert sum(manifest.rows.values()) == sum(map(len, rows.values()))
    assert await restored(tmp_path / "backup", empty_url, tmp_path) == manifest
    for row in rows["inbox"]:
        row["handed"] = False
    found = await rows_at(empty_url)
    if database_url.startswith("sqlite") and empty_url.startswith("sqlite"):
        for row in found["inbox"]:  # No fleet has rows of an SQLite desk.
            row["handed"] = False
    assert found == rows
    assert [name for name in names_in(tmp_path) if "restoring" in name] == []


async def test_nobody_else_can_read_a_backup(database: Database, database_url: str, tmp_path: Path) -> None:
    await database.migrate()
    place = tmp_path / "backup"
    await written(database_url, place)
    assert {path.name for path in place.iterdir()} == {DATABASE, MANIFEST}
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (place, place / DATABASE, place / MANIFEST)]
    assert modes == [0o700, 0o600, 0o600]


async def test_a_backup_of_a_serving_desk_is_of_one_moment(
    database: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows are always changed together, and go on being changed while the backup is made."""
    monkeypatch.setattr(sqlite_file, "STEP_PAGES", 1)
    await fill_all(database)
    changes = 0
    begun, over = asyncio.Event(), asyncio.Event()

    async def change() -> None:
        nonlocal changes
        while not over.is_set():
            async with database.transaction() as tx:
                for key in ("left", "right"):
                    await tx.execute(schema.pace.delete().where(schema.pace.c.key == key))
                    await tx.execute(schema.pace.insert().values(key=key, until=float(changes)))
            changes += 1
            begun.set()

    changing = asyncio.create_task(change())
    try:
        await begun.wait()
        for number in range(3):
            before = changes
            await written(database_url, tmp_path / f"backup{number}")
            with closing(sqlite3.connect(tmp_path / f"backup{number}" / DATABASE)) as connection:
                found = connection.execute("select until from pace where key in ('left', 'right')").fetchall()
            assert (len(found), len(set(found))) == (2, 1)
            assert changes >= found[0][0] >= before - 1
    finally:
        over.set()
        await changing
    assert changes > before


async def test_a_backup_has_a_name_of_its_own(database: Database, database_url: str, tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    with pytest.raises(CannotCopy, match="is there already"):
        await written(database_url, tmp_path / "backup")
    others = tmp_path / "other.partial"
    others.mkdir()
    (others / "diary.txt").touch()
    with pytest.raises(CannotCopy, match=r"diary\.txt"):
        await written(database_url, tmp_path / "other")


def _cut(place: Path) -> None:
    with (place / DATABASE).open("r+b") as file:
        file.truncate(8_192)


def _flip(place: Path) -> None:
    with (place / DATABASE).open("r+b") as file:
        file.seek(5_000)
        file.write(b"\xff\x00\xff")


def _edit(**fields: object) -> Callable[[Path], None]:
    def edit(place: Path) -> None:
        told = json.loads((place / MANIFEST).read_text())
        (place / MANIFEST).write_text(json.dumps({**told, **fields}))

    return edit


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_cut, "is not the file that was written"),
        (_flip, "is not the file that was written"),
        (lambda place: (place / DATABASE).unlink(), "frontdesk.db cannot be read"),
        (lambda place: (place / MANIFEST).unlink(), "there is no backup"),
        (lambda place: (place / MANIFEST).write_text("{"), "manifest.json cannot be read"),
        (_edit(format=2), "in form 2"),
        (_edit(schema="9999"), "made by a newer Frontdesk"),
    ],
)
async def test_what_is_no_whole_backup_is_refused_and_nothing_is_restored(
    damage: Callable[[Path], None], told: str, migrated_file: Path, empty_url: str, tmp_path: Path
) -> None:
    await written(sqlite_url(migrated_file), tmp_path / "backup")
    damage(tmp_path / "backup")
    before = names_in(tmp_path)
    with pytest.raises(CannotCopy, match=told):
        await restored(tmp_path / "backup", empty_url, tmp_path)
    assert names_in(tmp_path) <= before | {"restored"}


async def test_a_database_with_rows_is_not_restored_into(
    database: Database, database_url: str, migrated_file: Path, tmp_path: Path
) -> None:
    await written(sqlite_url(migrated_file), tmp_path / "backup")
    await database.migrate()
    async with database.transaction() as tx:
        await limits.prune(tx, now=0.0)
        await tx.execute(schema.pause.insert().values(channel="C1", by="U1", at=1.0))
    with pytest.raises(CannotCopy, match=r"is not empty|is there already"):
        await restored(tmp_path / "backup", database_url, tmp_path)
    assert len((await all_rows(database))["pause"]) == 1


async def test_what_another_file_has_left_is_not_played_into_a_restored_one(
    migrated_file: Path, tmp_path: Path
) -> None:
    await written(sqlite_url(migrated_file), tmp_path / "backup")
    (tmp_path / "frontdesk.db-wal").write_bytes(b"old")
    with pytest.raises(CannotCopy, match=r"frontdesk\.db-wal is left of another database"):
        await restored(tmp_path / "backup", sqlite_url(tmp_path / "frontdesk.db"), tmp_path)


async def test_a_running_desk_is_not_restored_into(
    migrated_file: Path, postgres_url: str, tmp_path: Path, postgres: Postgres
) -> None:
    await written(sqlite_url(migrated_file), tmp_path / "backup")
    data = tmp_path / "data"
    url = sqlite_url(data / "frontdesk.db")
    with locked(data / "frontdesk.db.lock", "DATA_DIR", data):
        status, _, told = await command("restore", str(tmp_path / "backup"), data=data, database=url)
    assert (status, "another Frontdesk (process" in told) == (2, True)
    async with open_database(postgres_url) as shared:
        async with shared.transaction() as tx:
            await leases.beat(tx, "one", "work", now=time.time())
        with pytest.raises(CannotCopy, match="processes of Frontdesk run on this database"):
            await restored(tmp_path / "backup", postgres_url, tmp_path)
        async with shared.transaction() as tx:
            await leases.leave(tx, "one")
    await restored(tmp_path / "backup", postgres_url, tmp_path)


async def test_turns_that_an_earlier_fleet_has_finished_are_in_the_way(
    migrated_file: Path, postgres_url: str, tmp_path: Path, postgres: Postgres
) -> None:
    await written(sqlite_url(migrated_file), tmp_path / "backup")
    await postgres.execute(
        "create schema dbos; create table dbos.workflow_status as select 'an id' as workflow_uuid",
        at=postgres_url,
    )
    with pytest.raises(CannotCopy, match="schema dbos"):
        await restored(tmp_path / "backup", postgres_url, tmp_path)


def older_file(path: Path) -> None:
    """A file with a row, as the release before this one would have left it."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = revisions._scripts()
        config.attributes["connection"] = connection
        alembic.upgrade(config, revisions.older()[0])
        connection.execute(schema.pause.insert().values(channel="C1", by="U1", at=1.0))
    engine.dispose()


async def test_an_older_backup_is_brought_up_to_date_on_its_way_to_postgres(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older_file(tmp_path / "old.db")
    with monkeypatch.context() as before:
        before.setattr(revisions, "older", list)
        manifest = await written(sqlite_url(tmp_path / "old.db"), tmp_path / "backup")
    assert manifest.schema in revisions.older()
    await restored(tmp_path / "backup", postgres_url, tmp_path)
    assert len((await rows_at(postgres_url))["pause"]) == 1


@pytest.mark.parametrize("place", ["backup_copied", "backup_described"])
async def test_a_backup_that_is_killed_is_not_there_and_the_next_one_is(
    place: str, migrated_file: Path, tmp_path: Path
) -> None:
    url, backup = sqlite_url(migrated_file), tmp_path / "backup"
    await command("backup", str(backup), data=tmp_path, database=url, at=place)
    assert not backup.exists()
    status, told, _ = await command("backup", str(backup), data=tmp_path, database=url)
    assert (status, "It holds what customers wrote" in told) == (0, True)
    assert [name for name in names_in(tmp_path) if "partial" in name] == []


async def test_a_restore_that_is_killed_has_changed_nothing_and_the_next_one_is_whole(
    migrated_file: Path, empty_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "desk.db"
    shutil.copy(migrated_file, file)
    async with open_database(sqlite_url(file)) as database:
        await fill_all(database)
    await written(sqlite_url(file), tmp_path / "backup")
    data = tmp_path / "data"
    is_file = empty_url.startswith("sqlite")
    for place in ("restore_copied",) if is_file else ("restore_copied", "table_copied", "rows_copied"):
        await command("restore", str(tmp_path / "backup"), data=data, database=empty_url, at=place)
        if is_file:
            assert "frontdesk.db" not in names_in(tmp_path / "restored")
        else:
            assert not any((await rows_at(empty_url)).values())
    status, told, fault = await command("restore", str(tmp_path / "backup"), data=data, database=empty_url)
    assert (status, fault) == (0, "")
    assert "(7 documents) is not here" in told
    assert len((await rows_at(empty_url))["inbox"]) == 3
