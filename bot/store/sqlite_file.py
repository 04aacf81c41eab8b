"""What is done with SQLite's file itself, before anything is written to it: is it sound, and a copy of it.

look        refuse a damaged file; the revision of its schema
copy_away   a copy beside it, before its schema is changed
unusable    what is said of a file that is sound, and whose disk is not
"""

import logging
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from bot.errors import ConfigurationError

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
    """The revision of the schema in the file; None when it has none yet, or is not there. Reads all of it.

    Raises:
        ConfigurationError: it is damaged, or is no database, or all that was in it is gone.
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
            (found,) = connection.execute("pragma quick_check(1)").fetchone()
            if found != "ok":
                raise ConfigurationError([_sentence(path, "is damaged", copies)])
            tables = connection.execute("select count(*) from sqlite_master where name = 'alembic_version'").fetchone()
            row = connection.execute("select version_num from alembic_version").fetchone() if tables[0] else None
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(_SURROUNDINGS):
            raise ConfigurationError([unusable(path, name)]) from None
        raise ConfigurationError([_sentence(path, f"is damaged ({name})", copies)]) from None
    return str(row[0]) if row else None


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


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=10.0)


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
