"""What is done with SQLite's file itself, before anything is written to it: is it sound, and a copy of it.

look        the revision of its schema; refuse a file of which that cannot be read
Check       look through all of it
copy_away   a copy beside it, before its schema is changed
unusable    what is said of a file that is sound, and whose disk is not
"""

import logging
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from bot.errors import ConfigurationError, StoreUnavailable

logger = logging.getLogger(__name__)


_SURROUNDINGS = (
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM", "SQLITE_AUTH"),
    *("SQLITE_READONLY", "SQLITE_FULL", "SQLITE_PROTOCOL", "SQLITE_NOMEM"),
)
"""Errors that say nothing against the file itself."""
_HINTS = {
    "SQLITE_FULL": "its disk may be full",
    # SQLite has many names for a disk without room, by what it was about to write.
    "SQLITE_IOERR": "its disk may be full",
    "SQLITE_BUSY": "another program has locked it",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_NOTADB": "it is damaged",
}
"""What the names of SQLite's errors mean, by how they begin."""


def look(path: Path) -> str | None:
    """The revision of the schema in the file; None when it has none yet, or is not there.

    Reads little of it, so that a start does not take longer the more there is.

    Raises:
        ConfigurationError: it is damaged where it was read, or is no database, or all that was in it is gone.
    """
    if not path.exists():
        return None
    copies = _copies(path)
    if path.stat().st_size == 0:
        if copies:
            raise ConfigurationError([_sentence(path, "is empty", copies)])
        # A first start that was killed leaves such a file; so may a full disk.
        logger.warning("the database's file is empty: Frontdesk begins without any memory", extra={"file": str(path)})
        return None
    try:
        with closing(_open(path)) as connection:
            tables = connection.execute("select count(*) from sqlite_master where name = 'alembic_version'").fetchone()
            row = connection.execute("select version_num from alembic_version").fetchone() if tables[0] else None
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(_SURROUNDINGS):
            raise ConfigurationError([unusable(path, name)]) from None
        raise ConfigurationError([_sentence(path, f"is damaged ({name})", copies)]) from None
    return str(row[0]) if row else None


class Check:
    """One look through all of the file, in a thread: it may take minutes, and others use the file meanwhile."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._is_ended = False

    def run(self) -> str | None:
        """What is wrong with the file, in a sentence that names it and its newest copy; None when it is sound.

        Raises:
            StoreUnavailable: it could not be read to its end, or `end` was called.
        """
        try:
            with closing(_open(self._path, for_any_thread=True)) as connection:
                self._connection = connection
                if self._is_ended:
                    raise StoreUnavailable("SQLITE_INTERRUPT")
                (found,) = connection.execute("pragma quick_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "")
            if not name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                raise StoreUnavailable(name or type(error).__name__) from None
            found = name
        finally:
            self._connection = None
        return None if found == "ok" else _sentence(self._path, "is damaged", _copies(self._path))

    def end(self) -> None:
        """Break it off, from another thread."""
        self._is_ended = True
        if (connection := self._connection) is not None:
            with suppress(sqlite3.ProgrammingError):
                connection.interrupt()


def copy_away(path: Path, *, before: str) -> Path:
    """Copy the database, which others may use meanwhile, to `<name>.before-<revision>`; an older copy is replaced.

    Raises:
        ConfigurationError: there is no room for it, or its folder cannot be written.
    """
    copy = path.with_name(f"{path.name}.before-{before}")
    partial = copy.with_name(f"{copy.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600)
        with closing(_open(path)) as source, closing(sqlite3.connect(partial)) as target:
            source.backup(target)
        shutil.copymode(path, partial)
        partial.replace(copy)
        _flush(copy)
        _flush(copy.parent)
    except (sqlite3.Error, OSError) as error:
        partial.unlink(missing_ok=True)
        megabytes = path.stat().st_size / 1_000_000
        why = getattr(error, "sqlite_errorname", "") or type(error).__name__
        raise ConfigurationError(
            [
                f"DATABASE_URL: the schema was not changed, since {copy} could not be written first ({why}): "
                f"make room for {megabytes:.0f} MB there"
            ]
        ) from None
    logger.info("the database was copied before its schema is changed", extra={"copy": str(copy)})
    return copy


def unusable(path: Path, why: str) -> str:
    """That the file cannot be used, by the name of SQLite's error."""
    hint = next((f": {hint}" for name, hint in _HINTS.items() if why.startswith(name)), "")
    return f"the database {path} cannot be used ({why}){hint}"


def _open(path: Path, *, for_any_thread: bool = False) -> sqlite3.Connection:
    address = f"file:{quote(str(path))}?mode=ro"
    return sqlite3.connect(address, uri=True, timeout=10.0, check_same_thread=not for_any_thread)


def _copies(path: Path) -> list[Path]:
    """Copies that were made before, the newest last."""
    found = [copy for copy in path.parent.glob(f"{path.name}.before-*") if copy.suffix != ".partial"]
    return sorted(found, key=lambda copy: copy.stat().st_mtime)


def _sentence(path: Path, what: str, copies: list[Path]) -> str:
    newest = (
        f"the newest copy that Frontdesk has made is {copies[-1]}" if copies else "Frontdesk has made no copy of it"
    )
    return (
        f"DATABASE_URL: {path} {what}; nothing was changed. Move it away with its -wal and -shm, "
        f"and put a backup in its place ({newest}) or begin anew"
    )


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
