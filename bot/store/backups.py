"""Backups: the database as one SQLite file, whichever database it comes from, and a manifest that describes it.

write_backup   write a backup while the desk serves
read_manifest  the manifest of a backup
restore        put a backup into a database that is empty
Manifest       what a backup says of itself

A backup is a folder. It is written beside its place, checked, and renamed, so a folder of that name is a whole backup.
A restore into SQLite does the same with the file. A restore into Postgres is one transaction.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bot.failpoints import failpoint
from bot.store import copying, moving, revisions, sqlite_file
from bot.store.addresses import SQLITE
from bot.store.copying import CannotCopy, Counts
from bot.store.database import open_database, open_kept

FORMAT = 1
"""The version of the backup's form."""
MANIFEST, DATABASE = "manifest.json", "frontdesk.db"
CHUNK = 1 << 20
"""The bytes that are copied and added to the checksum at a time."""
MANIFEST_LIMIT = 1 << 20
"""The largest manifest in bytes."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself."""

    made_at: str
    """When it was begun, as ISO 8601, in UTC."""
    frontdesk: str
    """The release that wrote it."""
    schema: str
    """The revision of its schema."""
    bytes: int
    sha256: str
    """The checksum of its file."""
    rows: Counts
    """Table -> number of rows."""
    knowledge: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Public or internal -> what the knowledge base that served had read. The index itself is not in a backup."""


async def write_backup(
    url: str, place: Path, *, made_at: str, release: str, knowledge: Mapping[str, Mapping[str, Any]]
) -> Manifest:
    """Write a backup of the database at `url` into the new folder `place`. Nobody waits for it.

    Raises:
        CannotCopy: the folder is there already, the backup cannot be written, or the database is of another version.
        ConfigurationError: there is no database, or its schema is older.
        StoreUnavailable: the database cannot be read.
    """
    with _beside(place) as partial:
        file = partial / DATABASE
        try:
            if url.startswith(SQLITE):
                async with open_kept(url):
                    await _in_thread(sqlite_file.OnlineCopy(Path(url.removeprefix(SQLITE)), file))
            else:
                await moving.copy_into_file(url, file)
            failpoint("backup_copied")
            if await asyncio.to_thread(sqlite_file.Check(file).run):
                raise CannotCopy("the database is damaged, so its backup was not kept: restore an earlier one")
            schema, rows = await _describe(file)
            digest = await asyncio.to_thread(_digest, file)
        except (OSError, sqlite3.Error) as error:
            raise CannotCopy(f"the backup could not be written to {place}: {_reason(error)}") from error
        described = Manifest(made_at, release, schema, file.stat().st_size, digest, rows, knowledge)
        await asyncio.to_thread(_write_manifest, partial / MANIFEST, described)
        failpoint("backup_described")
    return described


def read_manifest(place: Path) -> Manifest:
    """The manifest of the backup at `place`.

    Raises:
        CannotCopy: there is no whole backup, or another release has written it in another form.
    """
    try:
        with (place / MANIFEST).open("rb") as file:
            told = json.loads(file.read(MANIFEST_LIMIT))
        form = told.pop("format")
        if form == FORMAT:
            return Manifest(**told)
    except OSError as error:
        raise CannotCopy(f"there is no backup at {place}: {MANIFEST} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CannotCopy(f"the backup at {place} is damaged: {MANIFEST} cannot be read") from None
    raise CannotCopy(
        f"the backup at {place} was written by another Frontdesk, in form {form}: restore it with that one"
    )


async def restore(place: Path, url: str, *, scratch: Path, now: float) -> Manifest:
    """Put the backup at `place` into the database at `url`, whole or not at all. `scratch` is a folder for a copy of
    the file, which Postgres needs, since the file's schema may be older.

    Raises:
        CannotCopy: it is damaged or of a newer version, or the database is not empty, is served or cannot be written.
        StoreUnavailable: Postgres cannot be used.
    """
    described = read_manifest(place)
    if described.schema != revisions.current() and described.schema not in revisions.older():
        raise CannotCopy(
            f"the backup at {place} was made by a newer Frontdesk ({described.frontdesk}): run that version"
        )
    if url.startswith(SQLITE):
        await _restore_file(place, described, Path(url.removeprefix(SQLITE)))
        return described
    with _scratch(scratch / "restoring") as folder:
        file = folder / DATABASE
        await asyncio.to_thread(_take_out, place, described, file)
        async with open_database(f"{SQLITE}{file}") as backup:
            await backup.migrate()
        failpoint("restore_copied")
        await moving.copy_into_postgres(f"{SQLITE}{file}", url, now=now)
    return described


async def _restore_file(place: Path, described: Manifest, path: Path) -> None:
    moving.refuse_used(path)
    partial = path.with_name(f"{path.name}.restoring")
    try:
        await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
        await asyncio.to_thread(_take_out, place, described, partial)
        failpoint("restore_copied")
        await asyncio.to_thread(moving.put_in_place, partial, path)
    except OSError as error:
        raise CannotCopy(f"the backup could not be restored to {path}: {_reason(error)}") from error
    finally:
        partial.unlink(missing_ok=True)


def _take_out(place: Path, described: Manifest, target: Path) -> None:
    """Copy the file of a backup and check it.

    Raises:
        CannotCopy: it is not the file that the manifest describes.
    """
    digest, size = hashlib.sha256(), 0
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    try:
        file = (place / DATABASE).open("rb")
    except OSError as error:
        raise CannotCopy(f"the backup at {place} is damaged: {DATABASE} cannot be read ({error.strerror})") from None
    with file, target.open("wb") as copy:
        while chunk := file.read(CHUNK):
            copy.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        copy.flush()
        os.fsync(copy.fileno())
    if (size, digest.hexdigest()) != (described.bytes, described.sha256):
        target.unlink()
        raise CannotCopy(
            f"the backup at {place} is damaged: {DATABASE} is not the file that was written. Use another backup"
        )


@contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """A folder that gets the name `place` in the end, and is removed if the block fails."""
    partial = place.with_name(f"{place.name}.partial")
    try:
        if place.exists():
            raise CannotCopy(f"{place} is there already: give the backup a name of its own")
        partial.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise CannotCopy(f"the backup could not be written to {place}: {_reason(error)}") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotCopy(f"another backup is being written to {place}") from None
        try:
            _empty(partial)
            yield partial
            sqlite_file.flush(partial)
            partial.rename(place)
            sqlite_file.flush(place.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    finally:
        os.close(handle)


def _empty(partial: Path) -> None:
    """Remove what a backup has left that was interrupted, and nothing else."""
    left = list(partial.iterdir())
    if odd := [each.name for each in left if not each.name.startswith((DATABASE, MANIFEST))]:
        raise CannotCopy(f"{partial} holds files that are no backup's, such as {odd[0]}: give the backup another name")
    for each in left:
        each.unlink()


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        yield folder
    except OSError as error:
        raise CannotCopy(f"the backup could not be restored by way of {folder}: {_reason(error)}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _describe(file: Path) -> tuple[str, Counts]:
    """The revision of a backup's schema, and its rows."""
    with closing(sqlite3.connect(file)) as connection:
        (schema,) = connection.execute("select version_num from alembic_version").fetchone()
    if schema != revisions.current():
        # Its tables may be others. They are counted by the version that knows them.
        return str(schema), {}
    async with open_database(f"{SQLITE}{file}", read_only=True) as database, database.transaction() as tx:
        return str(schema), await copying.count_rows(tx)


async def _in_thread(copy: sqlite_file.OnlineCopy) -> None:
    """Copy in a thread, which ends soon if this is cancelled."""
    running = asyncio.create_task(asyncio.to_thread(copy.run), name="online copy")
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        copy.end()
        await asyncio.wait({running})
        raise


def _write_manifest(path: Path, described: Manifest) -> None:
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, **asdict(described)}, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(getattr(error, "sqlite_errorname", "")) or type(error).__name__
