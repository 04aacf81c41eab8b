"""The one door to Chroma: the nearest chunks by cosine, one collection a generation.

Only the builder's process writes (`create`, `add`, `remove`): Chroma's writes hold the interpreter's lock for
seconds, and a kill in the middle of its index flush ruins a collection. The serving process opens finished
generations and asks.

Chroma is imported by whoever opens an index first, since that costs up to a second, and is told everything it
needs: left alone it takes settings from variables without a prefix and from a `.env` in the current folder,
and a bot's own `.env` can make its import fail.
"""

import importlib
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import pydantic_settings

from knowledge.catalog import Entry, copy
from knowledge.embedding.embedder import Vectors
from knowledge.errors import IndexBroken
from knowledge.filters import EVERYTHING, Filter, primary

COLLECTION = "kb-chunks"
BATCH = 500
"""Chunks a call: more gains nothing, and Chroma refuses more than 5,461."""

_DATABASE = "chroma.sqlite3"
_CONFIGURATION = {"hnsw": {"space": "cosine", "ef_construction": 100, "max_neighbors": 16, "ef_search": 100}}

T = TypeVar("T")

# Chroma keeps one shared client a path in a dictionary that it does not lock.
_door = threading.Lock()


class VectorIndex:
    """An opened index. Questions may come from several threads; every fault is IndexBroken."""

    def __init__(self, folder: Path) -> None:
        """Open the index in `folder`."""
        if not (folder / _DATABASE).is_file():
            raise IndexBroken(f"{folder} holds no vector index.")
        with _told("open", folder), _door:
            self._client = _connect(folder)
        try:
            with _told("open", folder):
                self._collection = self._client.get_collection(COLLECTION, embedding_function=None)
        except IndexBroken:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the files. No question may be under way."""
        with _door:
            self._client.close()

    def count(self) -> int:
        """Chunks in the index."""
        with _told("count"):
            return int(self._collection.count())

    def nearest(self, vector: Vectors, *, limit: int, only: Filter = EVERYTHING) -> dict[int, float]:
        """The nearest chunks with their cosines."""
        with _told("query"):
            answer = self._collection.query(
                query_embeddings=[vector], n_results=limit, where=only.for_chroma(), include=["distances"]
            )
            # Rounding leaves distances a little below zero.
            return {
                int(id_): 1.0 - max(float(distance), 0.0)
                for id_, distance in zip(answer["ids"][0], answer["distances"][0], strict=True)
            }

    def add(self, entries: Iterable[Entry]) -> int:
        """Add chunks, whose ids must be new. Returns how many."""
        total = 0
        for batch in _batches(entries):
            with _told("add"):
                self._collection.add(
                    ids=[str(entry.id) for entry in batch],
                    embeddings=[entry.vector for entry in batch],
                    metadatas=[_metadata(entry) for entry in batch],
                )
            total += len(batch)
        return total

    def remove(self, ids: Iterable[int]) -> None:
        """Remove chunks."""
        for batch in _batches(ids):
            with _told("delete"):
                self._collection.delete(ids=[str(id_) for id_ in batch])


def create(folder: Path, *, metadata: Mapping[str, str]) -> VectorIndex:
    """Make an empty index in a folder that does not exist yet."""
    folder.mkdir()
    with _told("create", folder), _door:
        client = _connect(folder)
        client.create_collection(
            COLLECTION, embedding_function=None, configuration=_CONFIGURATION, metadata=dict(metadata)
        )
        client.close()
    return VectorIndex(folder)


def copy_index(source: Path, target: Path) -> None:
    """Copy an index that another process may have open: opening alone already writes to Chroma's database."""
    target.mkdir()
    try:
        copy(source / _DATABASE, target / _DATABASE)
        for segment in source.iterdir():
            if segment.is_dir():
                shutil.copytree(segment, target / segment.name)
    except OSError as error:
        raise IndexBroken(f"{source} cannot be copied: {error}") from error


def _metadata(entry: Entry) -> dict[str, str]:
    described = {
        "source": entry.source,
        "origin": entry.origin,
        "category": entry.category,
        "language": primary(entry.language),
        "last_updated": entry.last_updated,
    }
    return {name: value for name, value in described.items() if value}


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def _connect(folder: Path) -> Any:
    chroma = _chroma()
    settings = chroma.config.Settings(anonymized_telemetry=False)
    return chroma.PersistentClient(path=str(folder), settings=settings)


def _chroma() -> Any:
    """Chroma, imported so that its settings come from nowhere but the code."""
    heard = pydantic_settings.BaseSettings
    pydantic_settings.BaseSettings = _Deaf  # type: ignore[assignment, misc]
    try:
        return importlib.import_module("chromadb")
    finally:
        pydantic_settings.BaseSettings = heard  # type: ignore[misc]


class _Deaf(pydantic_settings.BaseSettings):
    """Settings that look neither at the environment nor at files."""

    def __init__(self, **values: Any) -> None:
        pydantic.BaseModel.__init__(self, **values)


@contextmanager
def _told(what: str, folder: Path | None = None) -> Iterator[None]:
    """Turn whatever Chroma raises into IndexBroken; its Rust side even panics past Exception."""
    try:
        yield
    except IndexBroken:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        place = f" in {folder}" if folder else ""
        raise IndexBroken(f"The vector index{place} fails ({what}): {type(error).__name__}: {error}") from error
