"""kb.sqlite, the truth of a generation: files, documents, chunks, their words and their vectors.

`Catalog` is the writing side, which only the builder uses. `Reader` is the reading side: one for each thread that
searches. Everything that Chroma holds can be made again from this file without embedding a single text.
"""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knowledge.chunking import Chunk
from knowledge.documents import Document, Notice
from knowledge.errors import IndexBroken
from knowledge.search import keywords

SCHEMA_VERSION = 4

_SCHEMA = (
    """
CREATE TABLE file (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, read_ns INTEGER NOT NULL,
    digest BLOB NOT NULL, etag TEXT NOT NULL, modified TEXT NOT NULL
) STRICT;
CREATE TABLE document (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, file TEXT NOT NULL, origin TEXT NOT NULL,
    digest BLOB NOT NULL, title TEXT NOT NULL, url TEXT NOT NULL, category TEXT NOT NULL,
    last_updated TEXT NOT NULL, language TEXT NOT NULL
) STRICT;
CREATE INDEX document_file ON document(file);
CREATE TABLE notice (
    document INTEGER NOT NULL REFERENCES document(id), kind TEXT NOT NULL, times INTEGER NOT NULL,
    withheld INTEGER NOT NULL, PRIMARY KEY (document, kind)
) STRICT;
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,
    document INTEGER NOT NULL REFERENCES document(id), position INTEGER NOT NULL,
    heading TEXT NOT NULL, text TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
    anchor TEXT NOT NULL
) STRICT;
CREATE INDEX chunk_document ON chunk(document, position);
CREATE TABLE vector (chunk INTEGER PRIMARY KEY, whole BLOB NOT NULL, windows BLOB NOT NULL) STRICT;
"""
    + keywords.SCHEMA
)


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was when it was last read."""

    size: int
    mtime_ns: int
    read_ns: int
    digest: bytes
    etag: str = ""
    modified: str = ""
    """The server's Last-Modified, which is sent with the next request."""


class KnownDocument(NamedTuple):
    """A document of an earlier build, as far as the next one needs it."""

    file: str
    digest: bytes
    origin: str
    """The name of its source."""
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with the fields of its document."""

    id: int
    key: str
    document: int
    position: int
    heading: str
    text: str
    anchor: str
    title: str
    source: str
    url: str
    category: str
    last_updated: str
    language: str


@dataclass(frozen=True, slots=True)
class ChunkChanges:
    """What storing a document did to the chunks, as row numbers. The vector index then makes the same changes."""

    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk as the vector index holds it."""

    id: int
    vector: NDArray[np.float32]
    source: str
    origin: str
    category: str
    language: str
    last_updated: str


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """The vectors of some chunks, at half precision as they are stored."""

    ids: list[int]
    wholes: NDArray[np.floating[Any]]
    """One row a chunk."""
    windows: NDArray[np.floating[Any]]
    """The windows of all chunks, in the same order."""
    counts: list[int]
    """The number of windows of each chunk."""


class Catalog:
    """The builder's access to a kb.sqlite that no one else reads yet."""

    def __init__(self, path: Path) -> None:
        """Open or create the file. Writing is not crash-safe, since a broken build is thrown away."""
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA cache_size = -8000")
        if not self._database.execute("SELECT 1 FROM sqlite_master WHERE name = 'chunk'").fetchone():
            self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def seal(self) -> None:
        """Make the file ready for reading: the word index becomes one piece, which is fastest to search."""
        self._database.execute("INSERT INTO words(words) VALUES ('optimize')")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run everything inside as one transaction: the word index is fastest when it gets much at once."""
        self._database.execute("BEGIN")
        yield
        self._database.execute("COMMIT")

    def put_file(self, path: str, file: KnownFile) -> None:
        """Note a file as read."""
        self._database.execute(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?)",
            (path, *astuple(file)),
        )

    def drop_file(self, path: str) -> None:
        """Forget a file. It will be read again if it still exists."""
        self._database.execute("DELETE FROM file WHERE path = ?", (path,))

    def put_document(self, file: str, document: Document, chunks: Sequence[Chunk]) -> ChunkChanges:
        """Store a document. Its unchanged chunks keep their row; the same text keeps its vector in any case."""
        row = self._put_document_row(file, document)
        before = {
            key: (id_, (heading, text))
            for id_, key, heading, text in self._database.execute(
                "SELECT id, key, heading, text FROM chunk WHERE document = ?", (row,)
            )
        }
        keys = _keys(document, chunks)
        kept = set(keys)
        embedded = {words: id_ for id_, words in before.values()}
        added: dict[int, tuple[str, str]] = {}
        for position, (key, chunk) in enumerate(zip(keys, chunks, strict=True)):
            place = (position, chunk.start, chunk.end, chunk.anchor)
            if key in before:
                self._database.execute(
                    'UPDATE chunk SET position = ?, start = ?, "end" = ?, anchor = ? WHERE id = ?',
                    (*place, before[key][0]),
                )
                continue
            words = (chunk.heading, chunk.text)
            cursor = self._database.execute(
                'INSERT INTO chunk(position, start, "end", anchor, key, document, heading, text) '
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*place, key, row, *words),
            )
            id_ = cursor.lastrowid or 0
            added[id_] = words
            if words in embedded:
                self._database.execute(
                    "INSERT INTO vector SELECT ?, whole, windows FROM vector WHERE chunk = ?", (id_, embedded[words])
                )
        keywords.index(self._database, ((id_, *words) for id_, words in added.items()))
        gone = {id_: words for key, (id_, words) in before.items() if key not in kept}
        self._remove(gone)
        return ChunkChanges(tuple(added), tuple(gone))

    def put_notices(self, name: str, notices: Iterable[Notice]) -> None:
        """Note what was found in a document, and replace what was found before."""
        (row,) = self._database.execute("SELECT id FROM document WHERE name = ?", (name,)).fetchone()
        self._database.execute("DELETE FROM notice WHERE document = ?", (row,))
        self._database.executemany(
            "INSERT INTO notice VALUES (?, ?, ?, ?)", ((row, each.kind, each.times, each.withheld) for each in notices)
        )

    def drop_document(self, name: str) -> tuple[int, ...]:
        """Remove a document; return the chunks that were removed with it."""
        (row,) = self._database.execute("SELECT id FROM document WHERE name = ?", (name,)).fetchone()
        rows = self._database.execute("SELECT id, heading, text FROM chunk WHERE document = ?", (row,)).fetchall()
        gone = {id_: (heading, text) for id_, heading, text in rows}
        self._remove(gone)
        self._database.execute("DELETE FROM notice WHERE document = ?", (row,))
        self._database.execute("DELETE FROM document WHERE id = ?", (row,))
        return tuple(gone)

    @property
    def dim(self) -> int:
        """The length of the vectors. 0 if there are none yet."""
        return _dim(self._database)

    def unembedded(self) -> list[int]:
        """Chunks that still need a vector."""
        rows = self._database.execute("SELECT id FROM chunk WHERE id NOT IN (SELECT chunk FROM vector) ORDER BY id")
        return [id_ for (id_,) in rows]

    def texts(self, ids: Sequence[int]) -> list[tuple[str, str]]:
        """Heading and text of the chunks, in the order of `ids`."""
        found = (
            self._database.execute("SELECT heading, text FROM chunk WHERE id = ?", (id_,)).fetchone() for id_ in ids
        )
        return [(heading, text) for heading, text in found]

    def keys(self) -> dict[int, str]:
        """Every chunk's row and its key, which changes with its document's name and its words."""
        return _all_keys(self._database)

    def all_texts(self) -> Iterator[tuple[str, str]]:
        """Heading and text of every chunk."""
        yield from self._database.execute("SELECT heading, text FROM chunk")

    def put_vectors(self, rows: Iterable[tuple[int, NDArray[np.float32], NDArray[np.float32]]]) -> None:
        """Store the vectors of chunks and of their windows, at half precision."""
        self._database.executemany(
            "INSERT INTO vector VALUES (?, ?, ?)", ((id_, _pack(whole), _pack(windows)) for id_, whole, windows in rows)
        )

    def counts(self) -> tuple[int, int]:
        """Return the numbers of documents and chunks."""
        return _counts(self._database)

    def entries(self, ids: Sequence[int] | None = None) -> Iterator["IndexedChunk"]:
        """What the vector index holds of these chunks, or of all chunks."""
        if ids is None:
            rows = self._database.execute(f"{_ENTRY} ORDER BY chunk.id")
            yield from (_entry(row) for row in rows)
            return
        for id_ in ids:
            yield _entry(self._database.execute(f"{_ENTRY} WHERE chunk.id = ?", (id_,)).fetchone())

    def _put_document_row(self, file: str, document: Document) -> int:
        (row,) = self._database.execute(
            "INSERT INTO document(name, file, origin, digest, title, url, category, last_updated, language) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(name) DO UPDATE SET file = excluded.file, "
            "digest = excluded.digest, title = excluded.title, url = excluded.url, category = excluded.category, "
            "last_updated = excluded.last_updated, language = excluded.language RETURNING id",
            (
                document.id,
                file,
                document.origin,
                digest_of(document),
                document.title,
                document.url,
                document.category,
                document.last_updated,
                document.language,
            ),
        ).fetchone()
        return int(row)

    def _remove(self, chunks: Mapping[int, tuple[str, str]]) -> None:
        """Remove chunks. Each comes with the words that it was indexed with."""
        keywords.forget(self._database, ((id_, *words) for id_, words in chunks.items()))
        self._database.executemany("DELETE FROM chunk WHERE id = ?", ((id_,) for id_ in chunks))
        self._database.executemany("DELETE FROM vector WHERE chunk = ?", ((id_,) for id_ in chunks))


class CatalogReader:
    """One connection that reads a finished generation. It is for one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file, which no longer changes. Raises IndexBroken if it is not a valid kb.sqlite."""
        try:
            self._database = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
            )
            self.documents, self.chunks = _counts(self._database)
            self.dim = _dim(self._database)
            """The length of the vectors."""
            self.is_table = _is_table(self._database)
            """Whether most documents are entries of FAQ tables."""
            self.keywords = keywords.Keywords(self._database, chunks=self.chunks)
        except sqlite3.Error as error:
            raise IndexBroken(f"{path} cannot be read: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def files(self) -> dict[str, KnownFile]:
        """Every file by its path."""
        rows = self._database.execute("SELECT path, size, mtime_ns, read_ns, digest, etag, modified FROM file")
        return {path: KnownFile(*rest) for path, *rest in rows}

    def keys(self) -> dict[int, str]:
        """Every chunk's row and its key."""
        return _all_keys(self._database)

    def documents_by_name(self) -> dict[str, KnownDocument]:
        """What a refresh must know of every document, by its name."""
        rows = self._database.execute("SELECT name, file, digest, origin, title, url FROM document")
        return {name: KnownDocument(*row) for name, *row in rows}

    def notices(self) -> list[Notice]:
        """What was found in documents: secrets first, then by number."""
        rows = self._database.execute(
            "SELECT name, kind, times, withheld, origin FROM notice JOIN document ON document.id = notice.document "
            "ORDER BY times DESC, name, kind"
        )
        return sorted((Notice(*row) for row in rows), key=lambda notice: notice.is_hidden)

    def content(self) -> str:
        """A digest of all documents, as 32 characters. It is the same wherever the same was read."""
        rows = self._database.execute("SELECT name, digest FROM document ORDER BY name")
        return _hash(*(part for name, digest in rows for part in (name, digest.hex()))).hex()

    def passages(self, ids: Sequence[int]) -> list[Passage]:
        """Chunks with their documents, in the order of `ids`. Ids that do not exist are left out."""
        rows = self._database.execute(
            "SELECT chunk.id, key, document, position, heading, text, anchor, title, name, url, category, "
            "last_updated, language FROM chunk JOIN document ON document.id = chunk.document "
            "WHERE chunk.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        found = {row[0]: Passage(*row) for row in rows}
        return [found[id_] for id_ in ids if id_ in found]

    def vectors(self, ids: Sequence[int]) -> "StoredVectors":
        """The vectors of chunks. Ids that do not exist are left out."""
        rows = self._database.execute(
            "SELECT chunk, whole, windows FROM vector WHERE chunk IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        ).fetchall()
        counts = [len(windows) // len(whole) for _, whole, windows in rows]
        wholes, windows = (np.frombuffer(b"".join(row[part] for row in rows), np.float16) for part in (1, 2))
        dim = len(wholes) // max(1, len(rows))
        shape = (-1, max(1, dim))
        return StoredVectors([row[0] for row in rows], wholes.reshape(shape), windows.reshape(shape), counts)

    def sample(self, size: int) -> list[tuple[int, int, str]]:
        """At most `size` chunks, spread evenly over the base: id, document, text."""
        step = max(1, -(-self.chunks // size))
        rows = self._database.execute(
            "SELECT id, document, text FROM (SELECT id, document, text, row_number() OVER (ORDER BY id) AS number "
            "FROM chunk) WHERE number % ? = 0 LIMIT ?",
            (step, size),
        )
        return [(id_, document, text) for id_, document, text in rows]

    def check(self) -> None:
        """Read the whole file once. Raises IndexBroken if it is damaged."""
        try:
            (verdict,) = self._database.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error as error:
            raise IndexBroken(f"kb.sqlite is damaged: {error}") from error
        if verdict != "ok":
            raise IndexBroken(f"kb.sqlite is damaged: {verdict}")


def copy(source: Path, target: Path) -> None:
    """Copy a kb.sqlite, or any SQLite file, as one consistent whole."""
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as old,
        closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)


def digest_of(document: Document) -> bytes:
    """A digest that changes whenever any field of the document does."""
    return _hash(*map(str, astuple(document)))


_ENTRY = (
    "SELECT chunk.id, whole, name, origin, category, language, last_updated "
    "FROM chunk JOIN document ON document.id = chunk.document JOIN vector ON vector.chunk = chunk.id"
)


def _entry(row: tuple[int, bytes, str, str, str, str, str]) -> IndexedChunk:
    id_, vector, *described = row
    return IndexedChunk(id_, np.frombuffer(vector, np.float16).astype(np.float32), *described)


def _keys(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """A name for each chunk. It stays the same while the chunk's words and its document's fields stay the same."""
    home = _hash(document.id).hex()[:12]
    described = (document.url, document.origin, document.category, document.language, document.last_updated)
    seen: Counter[bytes] = Counter()
    keys: list[str] = []
    for chunk in chunks:
        words = _hash(chunk.heading, chunk.text, *described)
        keys.append(f"{home}-{words.hex()[:16]}-{seen[words]}")
        seen[words] += 1
    return keys


def _hash(*parts: str) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()


def _pack(vectors: NDArray[np.float32]) -> bytes:
    return vectors.astype(np.float16).tobytes()


def _all_keys(database: sqlite3.Connection) -> dict[int, str]:
    return dict(database.execute("SELECT id, key FROM chunk").fetchall())


def _dim(database: sqlite3.Connection) -> int:
    row = database.execute("SELECT length(whole) FROM vector LIMIT 1").fetchone()
    return int(row[0]) // np.dtype(np.float16).itemsize if row else 0


def _is_table(database: sqlite3.Connection) -> bool:
    (rows, documents) = database.execute(
        "SELECT count(*) FILTER (WHERE file LIKE '%.csv' OR file LIKE '%.tsv' OR file LIKE '%.jsonl'), count(*) "
        "FROM document"
    ).fetchone()
    return bool(2 * rows > documents)


def _counts(database: sqlite3.Connection) -> tuple[int, int]:
    documents, chunks = database.execute(
        "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM chunk)"
    ).fetchone()
    return int(documents), int(chunks)
