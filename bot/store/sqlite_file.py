"""Work on SQLite's file itself, before anything is written to it: checking it, and copying it.

look        the revision of its schema; refuses a file whose revision cannot be read
Check       check the whole file
OnlineCopy  copy the whole file as it is at one moment, while it is used
copy_away   make a copy beside it, before its schema is changed
unusable    the message about a file that is sound but cannot be used
"""

import logging
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from bot.errors import ConfigurationError, StoppedEarly, StoreUnavailable

logger = logging.getLogger(__name__)


STEP_PAGES = 256
"""The pages, of 4 kB each, that an online copy reads at a time."""
_SURROUNDINGS = (
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM", "SQLITE_AUTH"),
    *("SQLITE_READONLY", "SQLITE_FULL", "SQLITE_PROTOCOL", "SQLITE_NOMEM"),
)
"""Errors that are not about the file itself."""
_HINTS = {
    "SQLITE_FULL": "its disk may be full",
    # SQLite has many names for a full disk, depending on what it was about to write.
    "SQLITE_IOERR": "its disk may be full",
    "SQLITE_BUSY": "another program has locked it",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_NOTADB": "it is damaged",
}
"""What SQLite's errors mean, by the beginning of their names."""


def look(path: Path) -> str | None:
    """The revision of the schema in the file. None if it has none yet, or does not exist.

    Only a little of the file is read, so that a start does not take longer with more data.

    Raises:
        ConfigurationError: it is damaged where it was read, is no database, or has lost all its data.
    """
    if not path.exists():
        return None
    copies = _copies(path)
    if path.stat().st_size == 0:
        if copies:
            raise ConfigurationError([_sentence(path, "is empty", copies)])
        # A first start that was killed leaves such a file. So can a full disk.
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
    """One check of the whole file, in a thread. It can take minutes, and the file can be used during that time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._is_ended = False

    def run(self) -> str | None:
        """What is wrong with the file, in a sentence that names it and its newest copy. None if it is sound.

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
        """Cancel the check, from another thread."""
        self._is_ended = True
        if (connection := self._connection) is not None:
            with suppress(sqlite3.ProgrammingError):
                connection.interrupt()


class OnlineCopy:
    """A copy of the file as it was when the copy began, made in a thread while others read and write.

    It is read in small steps within one transaction for reading. In WAL mode that keeps nobody from writing, and
    nobody's writing makes it begin again. Until it is done, the write-ahead log grows by what is written meanwhile.
    """

    def __init__(self, path: Path, target: Path) -> None:
        """`target` is made. If it exists, what is in it is replaced."""
        self._path = path
        self._target = target
        self._is_ended = False

    def run(self) -> None:
        """Copy. The target is one file, without a write-ahead log, and on disk when this returns.

        Raises:
            sqlite3.Error: the file cannot be read, or the target cannot be written.
            StoppedEarly: `end` was called.
        """
        self._target.touch(mode=0o600)
        with closing(_open(self._path)) as source, closing(sqlite3.connect(self._target)) as target:
            source.execute("begin")
            source.execute("select count(*) from sqlite_master").fetchone()
            source.backup(target, pages=STEP_PAGES, progress=self._go_on)
            source.rollback()
            target.execute("pragma journal_mode=delete").fetchone()
        flush(self._target)

    def end(self) -> None:
        """Cancel the copy, from another thread. What is in the target then is of no use."""
        self._is_ended = True

    def _go_on(self, _status: int, _remaining: int, _total: int) -> None:
        if self._is_ended:
            raise StoppedEarly


def copy_away(path: Path, *, before: str) -> Path:
    """Copy the database to `<name>.before-<revision>`. It can be used during that time. An older copy is replaced.

    Raises:
        ConfigurationError: there is no room for the copy, or its folder cannot be written.
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
        flush(copy)
        flush(copy.parent)
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
    """The sentence that the file cannot be used, with the name of SQLite's error."""
    hint = next((f": {hint}" for name, hint in _HINTS.items() if why.startswith(name)), "")
    return f"the database {path} cannot be used ({why}){hint}"


def _open(path: Path, *, for_any_thread: bool = False) -> sqlite3.Connection:
    address = f"file:{quote(str(path))}?mode=ro"
    return sqlite3.connect(address, uri=True, timeout=10.0, check_same_thread=not for_any_thread)


def _copies(path: Path) -> list[Path]:
    """The copies that were made before, with the newest last."""
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


def flush(path: Path) -> None:
    """Have the file or folder on disk when this returns."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
