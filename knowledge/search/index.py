"""One opened generation: words and vectors side by side, searched from threads.

`Index` is what the serving process swaps. `rank` is the order in which chunks answer a query. The calibration uses
`rank` too, so that the threshold is measured with the same scores that it is compared with.
"""

import hashlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from knowledge import chunking
from knowledge.embedding.embedder import Embedder, Vectors
from knowledge.errors import IndexBroken, TextsDamaged
from knowledge.generations import ChromaCollection, Generation, Hold
from knowledge.search import catalog, keywords
from knowledge.search.catalog import CatalogReader
from knowledge.search.filters import EVERYTHING, Filter
from knowledge.search.fuse import TABLE_WORDS_WEIGHT, WORDS_WEIGHT, cosines, fuse
from knowledge.search.keywords import Found
from knowledge.search.passages import Hit, collect
from knowledge.search.vectors import ServerVectors, VectorIndex, has_index

CANDIDATES = 50
"""Chunks that each of the two searches returns at most."""
PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_NOMEM", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_INTERRUPT")
"""The names of SQLite errors that may pass."""
DAMAGE = ("SQLITE_IOERR_SHORT_READ",)
"""The names among these that never pass: the file is shorter than its header says."""

Missing = Literal["", "texts", "vectors"]
"""What is missing of an opened generation's files: nothing, texts (build it again), or vectors (rebuild these)."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LookUp:
    """The results of one lookup."""

    found: Found
    vector: Vectors | None
    """The query's vector. None if the query could not be embedded."""
    near: Mapping[int, float] | None
    """Chunks and their cosines. None if the vectors could not be searched."""


class Index:
    """A generation in use. Its methods block: call them in threads.

    Each user calls `enter` before and `leave` after. `retire` takes the index out of service. The last one to leave
    gets True as the answer, and closes it.
    """

    def __init__(self, generation: Generation, *, fingerprint: str, chroma_url: str = "") -> None:
        """Open a generation. Raises IndexBroken without its texts. Without its vectors it answers by words.

        `fingerprint` belongs to the embedder of the queries: vectors of another one are not comparable. `chroma_url` is
        the Chroma server, if there is one. The first search connects to it.
        """
        self.generation = generation
        self.manifest = generation.manifest
        self.is_comparable = fingerprint == self.manifest.fingerprint
        self.fault: str | None = None
        """Why the vectors cannot be searched. None if they can."""
        self.dim = 0
        """The length of the vectors."""
        self.repairable = False
        """Whether rebuilding Chroma from the stored vectors would fix it."""
        self._readers: queue.SimpleQueue[CatalogReader] = queue.SimpleQueue()
        self._vectors: VectorIndex | None = None
        self.server: ServerVectors | None = None
        """The server to search in place of `nearest`, from the event loop. None if the vectors are in the folder."""
        self._chroma_url = chroma_url
        self._lock = threading.Lock()
        self._users = 0
        self._retired = False
        self._hold = Hold(generation.folder)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def words(self, query: str, *, only: Filter = EVERYTHING) -> Found:
        """The best chunks by words. Raises IndexBroken."""
        with self._reading() as reader:
            return reader.keywords.find(query, limit=CANDIDATES, only=only)

    @property
    def candidates(self) -> int:
        """Chunks that either search returns at most."""
        return min(CANDIDATES, self.manifest.chunks)

    def nearest(self, vector: Vectors, *, only: Filter = EVERYTHING) -> dict[int, float]:
        """The best chunks by vectors. Raises IndexBroken."""
        with self._using():
            if self._vectors is None:
                raise IndexBroken(self.fault or "The vector index is closed.")
            return self._vectors.nearest(vector, limit=self.candidates, only=only)

    def evidence(self, lookups: Sequence[LookUp], *, limit: int, words: int) -> tuple[tuple[Hit, ...], float]:
        """The passages to read, and the best chunk's score. Raises IndexBroken."""
        with self._reading() as reader:
            best: dict[int, tuple[float, float]] = {}
            for lookup in lookups:
                for chunk, score in rank(reader, lookup.found, lookup.near or {}, lookup.vector):
                    by_words = words_weight(reader) * lookup.found.scores.get(chunk, 0.0)
                    best[chunk] = max((score, by_words), best.get(chunk, (0.0, 0.0)))
            ranked = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))[: 3 * limit + 10]
            passages = reader.passages([chunk for chunk, _ in ranked])
            hits = collect(((passage, best[passage.id][0]) for passage in passages), limit=limit, words=words)
            brought = {passage.key: best[passage.id][1] for passage in passages}
            told = tuple(replace(hit, words=brought[hit.chunk_id]) for hit in hits)
            return told, ranked[0][1][0] if ranked else 0.0

    def missing(self) -> Missing:
        """What is missing on disk. Open files can still be read, so searches may not notice."""
        if not self.generation.is_whole():
            return "texts"
        return "" if self.manifest.collection or has_index(self.generation.chroma) else "vectors"

    def enter(self) -> None:
        """Begin to use it. Raises IndexBroken if it is already closed."""
        with self._lock:
            if self._retired and not self._users:
                raise IndexBroken("This generation has been replaced.")
            self._users += 1

    def leave(self) -> bool:
        """End using it. If this returns True, the caller has to close it."""
        with self._lock:
            self._users -= 1
            return self._retired and not self._users

    def retire(self) -> bool:
        """Take it out of service. If this returns True, the caller has to close it."""
        with self._lock:
            self._retired = True
            return not self._users

    def close(self) -> None:
        """Release all files."""
        while not self._readers.empty():
            self._readers.get_nowait().close()
        if self._vectors is not None:
            self._vectors.close()
            self._vectors = None
        self._hold.release()

    def _open(self) -> None:
        reader = CatalogReader(self.generation.database)
        self._readers.put(reader)
        self.dim = reader.dim
        if (reader.documents, reader.chunks) != (self.manifest.documents, self.manifest.chunks):
            raise IndexBroken(f"{self.generation.folder.name} does not hold what its manifest says.")
        if not self.is_comparable:
            self.fault = "The index was made with another embedder or chunker; build it again."
            return
        try:
            home = self.generation.home(self._chroma_url)
            if isinstance(home, ChromaCollection):
                self.server = ServerVectors(home)
                return
            self._vectors = VectorIndex(home)
            _try_out(reader, self._vectors)
        except IndexBroken as error:
            self.fault, self.repairable = str(error), True
            logger.warning("the knowledge base is opened without its vectors", extra={"fault": self.fault})

    @contextmanager
    def _reading(self) -> Iterator[CatalogReader]:
        with self._using():
            reader = self._reader()
            try:
                yield reader
            except sqlite3.Error as error:
                raise self._broken(error) from error
            finally:
                self._readers.put(reader)

    def _reader(self) -> CatalogReader:
        try:
            return self._readers.get_nowait()
        except queue.Empty:
            pass
        try:
            return CatalogReader(self.generation.database)
        except IndexBroken as broken:
            if isinstance(broken.__cause__, sqlite3.Error):
                raise self._broken(broken.__cause__) from broken
            raise

    def _broken(self, error: sqlite3.Error) -> IndexBroken:
        told = f"The texts of generation {self.manifest.number} cannot be read: {error}"
        passes = error.sqlite_errorname.startswith(PASSING) and error.sqlite_errorname not in DAMAGE
        if passes and self.generation.database.is_file():
            return IndexBroken(told)
        return TextsDamaged(told)

    @contextmanager
    def _using(self) -> Iterator[None]:
        # A thread counts as a user of its own: its caller may have given up waiting and left.
        self.enter()
        try:
            yield
        finally:
            if self.leave():
                self.close()


def _try_out(reader: CatalogReader, vectors: VectorIndex) -> None:
    """Search once. A broken Chroma often opens and even counts, and fails at the first query. Raises IndexBroken."""
    if vectors.count() != reader.chunks:
        raise IndexBroken("The vector index and the texts differ in number.")
    for chunk, _, _ in reader.sample(1):
        (vector,) = reader.vectors([chunk]).wholes.astype(np.float32)
        if not vectors.nearest(vector, limit=1):
            raise IndexBroken("The vector index finds nothing.")


def rank(
    reader: CatalogReader, found: Found, near: Mapping[int, float], vector: Vectors | None
) -> list[tuple[int, float]]:
    """Chunks with their fused scores, best first.

    Cosines come from the stored vectors, also for chunks that only the words have found. So even without Chroma, the
    chunks that the words find are ranked by both. Without a query vector the words rank alone.
    """
    weight = words_weight(reader)
    if vector is None:
        return fuse({}, found.scores, weight=weight)
    candidates = list(near.keys() | found.scores.keys())
    return fuse(cosines(vector, reader.vectors(candidates)), found.scores, weight=weight)


def words_weight(reader: CatalogReader) -> float:
    """How much the words count in a base's scores."""
    return TABLE_WORDS_WEIGHT if reader.is_table else WORDS_WEIGHT


def fingerprint_of(embedder: Embedder) -> str:
    """A digest of what a generation depends on besides its source. If any of that changes, it is unusable."""
    parts = (
        catalog.SCHEMA_VERSION,
        keywords.VERSION,
        chunking.VERSION,
        chunking.LIMIT,
        chunking.FULL,
        embedder.name,
        embedder.fingerprint,
        embedder.window_words,
    )
    return hashlib.blake2b("\n".join(map(str, parts)).encode(), digest_size=16).hexdigest()
