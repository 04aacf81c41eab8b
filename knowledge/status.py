"""The state of a knowledge base, for people; and what its files alone say about it.

`read_status` opens neither the embedder nor the vector index, which takes a second. It finds files that are missing,
damaged or of another embedder. Whether the vectors can be searched, only a search shows.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from knowledge.build.report import LeftOut
from knowledge.documents import Notice
from knowledge.generations import Generation, Generations, IndexedSource, Manifest

NOTHING_LEFT_OUT = LeftOut()
NOT_BUILT = "No knowledge base has been built yet."


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the base, for people."""

    embedder: str
    fingerprint: str
    """A digest of embedder, chunker and schema. A base with another one has to be built again."""
    degraded: bool
    """Whether searches find less than they should."""
    error: str | None
    """What is wrong, in a sentence. None if nothing is."""
    building: bool
    """Whether a refresh that this process started is running."""
    generation: int | None = None
    """The number of the generation. None before the first build; the fields after it then have their defaults."""
    documents: int = 0
    chunks: int = 0
    built_at: str = ""
    """The build time as ISO 8601, in UTC."""
    sources: tuple[IndexedSource, ...] = ()
    threshold: float = 0.0
    """The answer threshold: the confidence from which the base clearly has an answer, measured on this base."""
    perhaps_threshold: float = 0.0
    """The confidence from which it has one perhaps."""
    content: str = ""
    """A digest of all its documents. It is the same in every base that has read the same."""
    forced: bool = False
    """Whether the build was allowed to remove much of the base."""
    follows: bool = False
    """Whether it was built because another base had read something else."""
    previous: int | None = None
    """The generation that `rollback` would return to."""
    notices: tuple[Notice, ...] = ()
    """What was found in documents and their authors should know, secrets first."""
    left_out: LeftOut = NOTHING_LEFT_OUT
    """What the last build did not take from the sources."""
    server: str = ""
    """The address of the Chroma server that holds the vectors. Empty if they are on disk."""


def read_status(root: Path, *, embedder: str, chroma_url: str = "") -> Status:
    """The state of the base in `root`, as its files say. `embedder` is the name of the one that questions get."""
    generations = Generations(root)
    current = generations.current()
    if current is None:
        return Status(embedder, "", degraded=False, error=NOT_BUILT, building=False)
    fault = _fault(current, embedder=embedder, chroma_url=chroma_url)
    before = generations.before(current.number)
    return status_of(
        current.manifest,
        error=fault,
        previous=before.number if before else None,
        left_out=LeftOut.load(root),
        chroma_url=chroma_url,
    )


def status_of(
    manifest: Manifest,
    *,
    error: str | None,
    previous: int | None,
    left_out: LeftOut,
    building: bool = False,
    chroma_url: str = "",
) -> Status:
    """The state of a base that serves the generation with this manifest."""
    return Status(
        embedder=manifest.embedder,
        fingerprint=manifest.fingerprint,
        degraded=error is not None,
        error=error,
        building=building,
        generation=manifest.number,
        documents=manifest.documents,
        chunks=manifest.chunks,
        built_at=manifest.built_at,
        sources=manifest.sources,
        threshold=manifest.thresholds.clearly,
        perhaps_threshold=manifest.thresholds.perhaps,
        content=manifest.content,
        forced=manifest.forced,
        follows=manifest.follows,
        previous=previous,
        notices=manifest.notices,
        left_out=left_out,
        server=(chroma_url or "(CHROMA_URL is not set)") if manifest.collection else "",
    )


def vectors_fault(generation: Generation) -> str | None:
    """What is wrong with the files of the vector index. None if nothing is, or if a server has it."""
    if generation.manifest.collection:
        return None
    stored = _count(generation.chroma / "chroma.sqlite3", "SELECT count(*) FROM embeddings")
    if stored is None:
        return "The vector index cannot be read."
    if stored < generation.manifest.chunks:
        return f"The vector index holds {stored:,} of {generation.manifest.chunks:,} passages."
    return None


def _fault(generation: Generation, *, embedder: str, chroma_url: str) -> str | None:
    manifest = generation.manifest
    if _count(generation.database, "SELECT count(*) FROM chunk") != manifest.chunks:
        return f"The texts of generation {manifest.number} cannot be read."
    if manifest.embedder != embedder:
        return "The index was made with another embedder or chunker; build it again."
    if manifest.collection and not chroma_url:
        return "The vectors are on a Chroma server, and none is set (CHROMA_URL). Build again."
    return vectors_fault(generation)


def _count(path: Path, query: str) -> int | None:
    """A count from a database that is only read. None if that is impossible."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return int(database.execute(query).fetchone()[0])
    except sqlite3.Error:
        return None
