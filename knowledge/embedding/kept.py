"""Vectors that were paid for, kept by a hash of their text: a text is embedded once.

`KeptVectors` is a file beside the generations. It survives builds that fail, and pages that are renamed or come back.
It holds hashes and vectors, never a text. What no build has needed for a while is dropped. A damaged file is begun
again, since it only saves money.
"""

import hashlib
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from knowledge.embedding.embedder import Embedder, Vectors

FILE = "vectors.sqlite"
KEEP_SECONDS = 7 * 86_400.0
"""Seconds for which a vector is kept that the base does not need any more."""

_SCHEMA = "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, vector BLOB NOT NULL, used REAL NOT NULL) STRICT"

logger = logging.getLogger(__name__)


class KeptVectors:
    """The vectors of one embedder beside one base. Only the builder uses it, while it holds the builders' lock."""

    def __init__(self, root: Path, embedder: Embedder, *, clock: Callable[[], float] = time.time) -> None:
        """Open or create the file in the folder `root`. `clock` gives seconds since the epoch."""
        self._path = root / FILE
        self._salt = f"{embedder.name}\n{embedder.fingerprint}\n".encode()
        self._clock = clock
        self._database: sqlite3.Connection | None = None
        try:
            self._open()
        except sqlite3.Error as error:
            self._give_up(error)
            if _is_damage(error):
                with suppress(sqlite3.Error):
                    self._open()

    def find(self, texts: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of those texts that were embedded before, whatever their length."""
        if self._database is None:
            return {}
        found: dict[str, Vectors] = {}
        try:
            for text in texts:
                row = self._database.execute("SELECT vector FROM kept WHERE key = ?", (self._key(text),)).fetchone()
                if row:
                    found[text] = np.frombuffer(row[0], np.float16).astype(np.float32)
        except sqlite3.Error as error:
            self._give_up(error)
            return {}
        return found

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep the vectors of texts, at once: a build that fails later does not lose them."""
        now = self._clock()
        self._write(
            "INSERT OR REPLACE INTO kept VALUES (?, ?, ?)",
            [(self._key(text), vector.astype(np.float16).tobytes(), now) for text, vector in vectors.items()],
        )

    def keep_only(self, texts: Iterable[str]) -> None:
        """Drop what no build has needed for KEEP_SECONDS. `texts` are those that the base needs now."""
        now = self._clock()
        self._write("UPDATE kept SET used = ? WHERE key = ?", [(now, self._key(text)) for text in texts])
        self._write("DELETE FROM kept WHERE used < ?", [(now - KEEP_SECONDS,)])

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _open(self) -> None:
        self._database = sqlite3.connect(self._path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute(_SCHEMA)

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(self._salt + text.encode(), digest_size=16).digest()

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if self._database is None:
            return
        try:
            self._database.execute("BEGIN")
            self._database.executemany(statement, rows)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: sqlite3.Error) -> None:
        """Go on without the file. If it is damaged it is removed, and the next build begins it again."""
        logger.warning("kept vectors cannot be used", extra={"fault": str(error)})
        self.close()
        if _is_damage(error):
            self._remove()

    def _remove(self) -> None:
        with suppress(OSError):
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(FILE + suffix).unlink(missing_ok=True)


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is damaged. One that is locked, or on a full disk, raises OperationalError and is whole."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
