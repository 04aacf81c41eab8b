"""The only module that uses Chroma: the nearest chunks by cosine, one collection for each generation.

VectorIndex     a generation's own folder, or its collection on a Chroma server, for calls that may block
ServerVectors   the same collection on a server, searched from an event loop without a thread

Only the builder's process writes (`create`, `add`, `remove`). Chroma's writes hold the interpreter's lock for seconds,
and a kill in the middle of its index flush ruins a collection. The serving process opens finished generations and
searches them.

Chroma is imported when an index is first opened, since that takes up to a second. It gets every setting from here: on
its own it reads settings from variables without a prefix and from a `.env` in the current folder, and a bot's own
`.env` can make its import fail.
"""

import asyncio
import importlib
import shutil
import sys
import threading
import time
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pydantic
import pydantic_settings

from knowledge.embedding.embedder import Vectors
from knowledge.errors import IndexBroken, VectorsAway
from knowledge.generations import ChromaCollection, Home
from knowledge.search.catalog import IndexedChunk, copy
from knowledge.search.filters import EVERYTHING, Filter, primary

COLLECTION = "kb-chunks"
BATCH = 500
"""Chunks for each call. More gains nothing, and Chroma refuses more than 5,461."""

RECONNECT_SECONDS = 2.0
"""Seconds between two attempts to connect to a server: each attempt leaves connections behind."""

_DATABASE = "chroma.sqlite3"
_CONFIGURATION = {"hnsw": {"space": "cosine", "ef_construction": 100, "max_neighbors": 16, "ef_search": 100}}

_EXPORTER = "opentelemetry.exporter.otlp.proto.grpc.trace_exporter"

T = TypeVar("T")


# Chroma keeps one shared client for each path in a dictionary that it does not lock.
_door = threading.Lock()
_databases: dict[Path, list[tuple[int, int]]] = {}
"""Device and inode of the databases that were opened in each folder, in order. Use it only while holding `_door`."""


class VectorIndex:
    """An opened index. Several threads may search it; every fault is IndexBroken."""

    def __init__(self, home: Home) -> None:
        """Open an existing index. Raises IndexBroken if there is none."""
        if isinstance(home, Path) and not has_index(home):
            raise IndexBroken(f"{home} holds no vector index.")
        self._home = home
        with _told("open", home), _door:
            self._client = _connect(home)
        try:
            with _told("open", home):
                self._collection = self._client.get_collection(_name_in(home), embedding_function=None)
        except IndexBroken:
            self.close()
            raise

    def close(self) -> None:
        """Release the files. No search may be running."""
        with _door:
            _disconnect(self._client, self._home)

    def count(self) -> int:
        """Chunks in the index."""
        with _told("count"):
            return int(self._collection.count())

    def nearest(self, vector: Vectors, *, limit: int, only: Filter = EVERYTHING) -> dict[int, float]:
        """The nearest chunks with their cosines."""
        with _told("query"):
            return _cosines(self._collection.query(**_query(vector, limit, only)))

    def add(self, entries: Iterable[IndexedChunk]) -> int:
        """Add chunks, whose ids must be new. Return how many."""
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


class ServerVectors:
    """A generation's collection, for the serving process. Faults are IndexBroken, or VectorsAway if the server is away.

    It connects at the first search, and again after RECONNECT_SECONDS if that failed. Chroma is imported in a thread.
    Nothing here has a deadline: the caller has one, and leaving early ends the request.
    """

    def __init__(self, shelf: ChromaCollection) -> None:
        """Store the shelf; nothing connects yet."""
        self._shelf = shelf
        self._client: Any = None
        self._collection: Any = None
        self._not_before = 0.0

    async def nearest(self, vector: Vectors, *, limit: int, only: Filter = EVERYTHING) -> dict[int, float]:
        """The nearest chunks with their cosines."""
        with _told("query", self._shelf):
            if self._collection is None:
                self._collection = await self._connected()
            return _cosines(await self._collection.query(**_query(vector, limit, only)))

    async def close(self) -> None:
        """Close the connections, which all shelves of one event loop share."""
        if self._client is not None:
            await self._client._server._cleanup()  # Chroma's client (1.5.9) has no way of its own

    async def _connected(self) -> Any:
        if time.monotonic() < self._not_before:
            raise VectorsAway(f"The vector index in {self._shelf.url} gave no answer just now.")
        self._not_before = time.monotonic() + RECONNECT_SECONDS
        if self._client is None:
            chroma = await asyncio.to_thread(_chroma)
            self._client = await chroma.AsyncHttpClient(**_address(self._shelf))
        return await self._client.get_collection(self._shelf.collection, embedding_function=None)


def has_index(folder: Path) -> bool:
    """Whether a vector index exists, in whatever state."""
    return (folder / _DATABASE).is_file()


def create(home: Home, *, metadata: Mapping[str, str]) -> VectorIndex:
    """Make an empty index. The folder or the collection must not exist yet."""
    if isinstance(home, Path):
        home.mkdir()
    with _told("create", home), _door:
        client = _connect(home)
        client.create_collection(
            _name_in(home), embedding_function=None, configuration=_CONFIGURATION, metadata=dict(metadata)
        )
        _disconnect(client, home)
    return VectorIndex(home)


def clear(url: str, *, prefix: str, keep: Collection[str]) -> None:
    """Remove a server's collections whose names begin with `prefix`, except those in `keep`."""
    server = ChromaCollection(url, prefix)
    with _told("clear", server), _door:
        client = _connect(server)
        for collection in client.list_collections():
            if collection.name.startswith(prefix) and collection.name not in keep:
                client.delete_collection(collection.name)
        _disconnect(client, server)


def rename(url: str, before: str, after: str) -> None:
    """Give a server's collection another name. Raises IndexBroken if there is none, VectorsAway without the server."""
    server = ChromaCollection(url, before)
    with _told("rename", server), _door:
        client = _connect(server)
        try:
            client.get_collection(before, embedding_function=None).modify(name=after)
        finally:
            _disconnect(client, server)


def copy_index(source: Path, target: Path) -> None:
    """Copy an index that another process may have open: merely opening it would write to Chroma's database."""
    target.mkdir()
    try:
        copy(source / _DATABASE, target / _DATABASE)
        for segment in source.iterdir():
            if segment.is_dir():
                shutil.copytree(segment, target / segment.name)
    except OSError as error:
        raise IndexBroken(f"{source} cannot be copied: {error}") from error


def _metadata(entry: IndexedChunk) -> dict[str, str]:
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


def _connect(home: Home) -> Any:
    chroma = _chroma()
    if isinstance(home, ChromaCollection):
        return chroma.HttpClient(**_address(home))
    return chroma.PersistentClient(path=_spell(home), settings=chroma.config.Settings(anonymized_telemetry=False))


def _spell(home: Path) -> str:
    """The folder's path, in another spelling for each database that is found there.

    Chroma (1.5.9) keeps one client for each path, and would continue with a database that was deleted while open.
    """
    try:
        there = (home / _DATABASE).stat()
    except FileNotFoundError:
        return str(home)
    databases = _databases.setdefault(home, [])
    if (found := (there.st_dev, there.st_ino)) not in databases:
        databases.append(found)
    return str(home) + "/." * databases.index(found)


def _disconnect(client: Any, home: Home) -> None:
    client.close()
    if isinstance(home, ChromaCollection):
        # Chroma's own close (1.5.9) leaves the connections to a server open.
        client._server._session.close()


def _address(shelf: ChromaCollection) -> dict[str, Any]:
    parts = urlsplit(shelf.url)
    secure = parts.scheme == "https"
    settings = _chroma().config.Settings(anonymized_telemetry=False)
    return {
        "host": parts.hostname or "",
        "port": parts.port or (443 if secure else 80),
        "ssl": secure,
        "settings": settings,
    }


def _name_in(home: Home) -> str:
    return home.collection if isinstance(home, ChromaCollection) else COLLECTION


def _query(vector: Vectors, limit: int, only: Filter) -> dict[str, Any]:
    return {"query_embeddings": [vector], "n_results": limit, "where": only.for_chroma(), "include": ["distances"]}


def _cosines(answer: Mapping[str, Any]) -> dict[int, float]:
    # Rounding leaves some distances slightly below zero.
    found = zip(answer["ids"][0], answer["distances"][0], strict=True)
    return {int(id_): 1.0 - max(float(distance), 0.0) for id_, distance in found}


def _chroma() -> Any:
    """Import Chroma so that its settings come only from the code, without what it imports and never uses here."""
    if found := sys.modules.get("chromadb"):
        return found
    heard = pydantic_settings.BaseSettings
    pydantic_settings.BaseSettings = _Deaf  # type: ignore[assignment, misc]
    try:
        with _without_unused():
            return importlib.import_module("chromadb")
    finally:
        pydantic_settings.BaseSettings = heard  # type: ignore[misc]


@contextmanager
def _without_unused() -> Iterator[None]:
    """Keep three imports out that take over half of Chroma's time.

    Chroma (1.5.9) imports an exporter of traces with gRPC, which it uses only if an address for traces is set; none is.
    It has each method that overrides another compared with it, while the class is made. httpx (0.28) imports its
    command line with all of rich, and does without if it is not there.
    """
    exporter = types.ModuleType(_EXPORTER)
    exporter.OTLPSpanExporter = None  # type: ignore[attr-defined]
    comparing = types.ModuleType("overrides")
    comparing.__dict__.update(override=_as_it_is, overrides=_as_it_is, EnforceOverrides=object)
    instead: dict[str, types.ModuleType | None] = {
        _EXPORTER: exporter,
        "httpx._main": None,
        "overrides": comparing,
    }
    put = {name: module for name, module in instead.items() if name not in sys.modules}
    sys.modules |= put  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name, module in put.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def _as_it_is(method: T) -> T:
    """A decorator that only marks a method."""
    return method


class _Deaf(pydantic_settings.BaseSettings):
    """Settings that read neither the environment nor files."""

    def __init__(self, **values: Any) -> None:
        pydantic.BaseModel.__init__(self, **values)


@contextmanager
def _told(what: str, home: Home | None = None) -> Iterator[None]:
    """Turn everything that Chroma raises into IndexBroken. Its Rust side can panic with a BaseException."""
    try:
        yield
    except IndexBroken:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        place = home.url if isinstance(home, ChromaCollection) else home
        told = f"The vector index{f' in {place}' if place else ''} fails ({what}): {type(error).__name__}: {error}"
        is_away = isinstance(home, ChromaCollection) and type(error).__name__ != "NotFoundError"
        raise (VectorsAway if is_away else IndexBroken)(told) from error
