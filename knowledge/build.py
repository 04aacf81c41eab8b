"""The builder: a process of its own that turns a source into the next generation.

`python -m knowledge.build --root KB --source FOLDER_OR_CSV` prints one JSON object a line: progress, and at the
end `done` with the report, `refused`, or `failed`. In reading order: `main`, `build`, `make_plan`, `_write`.

It never touches what is served. Whatever happens to it, CURRENT names a whole generation (see `generations`).
"""

import argparse
import asyncio
import hashlib
import importlib
import json
import os
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from knowledge import catalog, chunking
from knowledge.calibration import Floors, calibrate
from knowledge.catalog import Catalog, KnownFile, Reader
from knowledge.chunking import Chunk, Count
from knowledge.documents import Document
from knowledge.embedding.embedder import Embedder
from knowledge.embedding.table import TableEmbedder
from knowledge.embedding.windows import windows
from knowledge.errors import BuildRefused, IndexBroken, KnowledgeError
from knowledge.generations import CHROMA, DATABASE, Generation, Generations, Manifest, Source, now
from knowledge.index import fingerprint_of
from knowledge.report import Phase, Progress, Report
from knowledge.sources.files import Quarantined, SourceFile, Unfit, list_files, read_bytes
from knowledge.sources.reader import read_documents
from knowledge.vectors import VectorIndex, copy_index, create

VANISHING = 0.3
"""A source of which more than this share would vanish is taken for one that is not really there."""
SETTLED_NS = 2_000_000_000
"""A file changed this shortly before it was read may change again under the same time stamp: its bytes decide."""
SURE = chunking.LIMIT // 5
"""Up to so many estimated tokens a chunk cannot be above the limit: an estimated token is five letters at most."""
EMBED_BATCH = 256
FOLLOW = 0.3
"""Above this share of changed chunks the vector index is made anew rather than copied and changed."""
RECALIBRATE = 0.1
"""The floors are measured again when the base has grown or shrunk by more than this share ..."""
SMALL_BASE = 2_000
"""... and always in a base of fewer chunks, where that costs half a second."""
SELF_TESTS = 20
NICE = 10
TOLD_EVERY = 0.2
"""Seconds between two lines of progress."""

DONE, FAILED, REFUSED, STOPPED = 0, 1, 2, 143

Tell = Callable[[Progress], None]


@dataclass(slots=True)
class Plan:
    """What has to be done to bring the base up to its source."""

    source: str
    files: list[tuple[str, KnownFile]] = field(default_factory=list)
    """Files that were read."""
    documents: list[tuple[str, Document, list[Chunk]]] = field(default_factory=list)
    """What is to be written: documents, each with its file and its chunks."""
    gone: list[str] = field(default_factory=list)
    """Documents that the base has and the source has not."""
    gone_files: list[str] = field(default_factory=list)
    """Files to be forgotten: no longer there, or not fit to be remembered."""
    quarantined: list[Quarantined] = field(default_factory=list)
    added: int = 0
    changed: int = 0
    unchanged: int = 0

    @property
    def total(self) -> int:
        """Documents in the base afterwards."""
        return self.added + self.changed + self.unchanged

    @property
    def is_idle(self) -> bool:
        """Nothing to do."""
        return not (self.documents or self.gone)


@dataclass(frozen=True, slots=True)
class Known:
    """What the generation to start from holds."""

    documents: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    """File and digest of every document, by its name."""
    files: Mapping[str, KnownFile] = field(default_factory=dict)
    reusable: bool = False
    """Whether its rows and vectors can be taken over. Otherwise it only serves to tell what has changed."""


@dataclass(frozen=True, slots=True)
class _Job:
    """One run of the builder."""

    generations: Generations
    embedder: Embedder
    tell: Tell
    started: float = field(default_factory=time.monotonic)

    def report(self, generation: Generation, plan: Plan, *, embedded: int) -> Report:
        return Report(
            added=plan.added,
            changed=plan.changed,
            removed=len(plan.gone),
            unchanged=plan.unchanged,
            quarantined=tuple(plan.quarantined),
            seconds=round(time.monotonic() - self.started, 3),
            generation=generation.number,
            documents=generation.manifest.documents,
            chunks=generation.manifest.chunks,
            embedded=embedded,
            floor=generation.manifest.floor,
            source=plan.source,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the builder's command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    os.nice(NICE)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    if options.stop_on_eof:
        threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        report = asyncio.run(_run(options))
    except BuildRefused as refused:
        _say({"phase": "refused", "reason": refused.reason, "message": str(refused)})
        return REFUSED
    except (KnowledgeError, OSError, sqlite3.Error) as error:
        _say({"phase": "failed", "message": str(error)})
        return FAILED
    _say({"phase": "done", "report": report.to_json()})
    return DONE


async def build(
    generations: Generations, source: Path, embedder: Embedder, *, force: bool = False, tell: Tell
) -> Report:
    """Make the next generation from `source`, on top of the current one as far as that is of use.

    Without changes there is no next generation. Raises BuildRefused when it would do harm, SourceUnreadable,
    EmbedderFailed, IndexBroken or OSError when it cannot be done; what is served is untouched then.
    """
    with generations.building():
        job = _Job(generations, embedder, tell)
        current = generations.current()
        reusable = current is not None and current.manifest.fingerprint == fingerprint_of(embedder)
        try:
            return await _build_on(job, source, current, reusable=reusable, force=force)
        except (IndexBroken, sqlite3.DatabaseError):
            if not reusable:
                raise
            # The generation to start from is damaged; the source is not.
            return await _build_on(job, source, current, reusable=False, force=force)


async def repair(generations: Generations, embedder: Embedder, *, tell: Tell) -> Report:
    """Make the current generation's vector index anew from the stored vectors. Nothing is embedded."""
    with generations.building():
        current = generations.current()
        if current is None or current.manifest.fingerprint != fingerprint_of(embedder):
            raise BuildRefused("nothing", "There is no generation whose vectors could be used again.")
        plan = Plan(current.manifest.sources[0].path, unchanged=current.manifest.documents)
        return await _write(_Job(generations, embedder, tell), plan, current, keep=current.number, anew=True)


def make_plan(source: Path, known: Known, *, count: Count, tell: Tell) -> Plan:
    """Compare a source with what is known of it, reading only files that may have changed. Raises SourceUnreadable."""
    listing = list_files(source)
    plan = Plan(str(source.resolve()), quarantined=list(listing.quarantined))
    by_file: dict[str, list[str]] = {}
    for name, (path, _) in known.documents.items():
        by_file.setdefault(path, []).append(name)
    present: set[str] = set()
    for number, file in enumerate(listing.files):
        tell(Progress("read", number, len(listing.files)))
        names = _read(plan, file, known, count)
        if names is None:
            names = by_file.get(file.path, [])
            plan.unchanged += len(names)
        present.update(names)
    plan.gone = [name for name in known.documents if name not in present]
    plan.gone_files += known.files.keys() - {file.path for file in listing.files}
    return plan


def _read(plan: Plan, file: SourceFile, known: Known, count: Count) -> list[str] | None:
    """Read a file into the plan and name its documents; None when it holds what it held before."""
    before = known.files.get(file.path) if known.reusable else None
    if before and (before.size, before.mtime_ns) == (file.size, file.mtime_ns) and _settled(before):
        return None
    read_ns = time.time_ns()
    try:
        content = read_bytes(file)
    except Unfit as unfit:
        plan.quarantined.append(Quarantined(file.path, str(unfit)))
        plan.gone_files.append(file.path)
        return []
    digest = hashlib.blake2b(content, digest_size=16).digest()
    if before and before.digest == digest:
        return None
    names: list[str] = []
    left_out = len(plan.quarantined)
    for found in read_documents(file, content):
        if isinstance(found, Quarantined):
            plan.quarantined.append(found)
        elif _take(plan, file.path, found, known, count):
            names.append(found.id)
    if len(plan.quarantined) == left_out:
        plan.files.append((file.path, KnownFile(file.size, file.mtime_ns, read_ns, digest)))
    else:
        # Not remembered, so that it is read and complained of each time until it is mended.
        plan.gone_files.append(file.path)
    return names


def _settled(file: KnownFile) -> bool:
    return file.mtime_ns < file.read_ns - SETTLED_NS


def _take(plan: Plan, path: str, document: Document, known: Known, count: Count) -> bool:
    """Put a document into the plan, if there is anything to do about it. False when it says nothing."""
    _, digest = known.documents.get(document.id, ("", b""))
    same = digest == catalog.digest_of(document)
    if same and known.reusable:
        plan.unchanged += 1
        return True
    chunks = _cut(document, count)
    if not chunks:
        plan.quarantined.append(Quarantined(document.id, "no text"))
        return False
    plan.documents.append((path, document, chunks))
    if same:
        plan.unchanged += 1
    elif digest:
        plan.changed += 1
    else:
        plan.added += 1
    return True


def _cut(document: Document, count: Count) -> list[Chunk]:
    """Cut by estimate, which is quick, and again by the real tokenizer where the estimate was not enough."""
    chunks = chunking.chunk(document)
    large = (chunk.full_text for chunk in chunks if chunking.count_tokens(chunk.full_text) > SURE)
    if any(count(text) > chunking.LIMIT for text in large):
        return chunking.chunk(document, count=count)
    return chunks


async def _build_on(job: _Job, source: Path, current: Generation | None, *, reusable: bool, force: bool) -> Report:
    job.tell(Progress("scan"))
    plan = make_plan(source, _known(current, reusable=reusable), count=job.embedder.count_tokens, tell=job.tell)
    if not plan.total:
        raise BuildRefused("empty", f"{source} holds no document that could be used.{_first_reason(plan)}")
    if current and not force:
        _refuse_vanishing(plan, current)
    if current and reusable and plan.is_idle:
        return job.report(current, plan, embedded=0)
    return await _write(job, plan, current if reusable else None, keep=current.number if current else None)


def _known(current: Generation | None, *, reusable: bool) -> Known:
    if current is None:
        return Known()
    try:
        with closing(Reader(current.database)) as reader:
            return Known(reader.documents_by_name(), reader.files(), reusable)
    except (IndexBroken, sqlite3.Error):
        if reusable:
            raise
        # Nothing of it was going to be used but the comparison.
        return Known()


def _refuse_vanishing(plan: Plan, current: Generation) -> None:
    before = current.manifest.documents
    # Another source is a decision of the operator, not an accident of a file system.
    if plan.source != current.manifest.sources[0].path or len(plan.gone) <= VANISHING * before:
        return
    raise BuildRefused(
        "vanishing",
        f"{len(plan.gone):,} of {before:,} documents would vanish from {plan.source}. The old ones are kept; "
        f"use --force if this is meant.{_first_reason(plan)}",
    )


def _first_reason(plan: Plan) -> str:
    if not plan.quarantined:
        return ""
    first = plan.quarantined[0]
    return f" {len(plan.quarantined):,} left out, the first being {first.name}: {first.reason}."


async def _write(job: _Job, plan: Plan, base: Generation | None, *, keep: int | None, anew: bool = False) -> Report:
    """Carry out a plan on a copy of `base`, or from nothing, and publish the result beside the generation to keep.

    `anew` makes the whole vector index again, also where a few changes would do.
    """
    number = job.generations.next_number()
    folder = job.generations.begin(number)
    try:
        if base:
            catalog.copy(base.database, folder / DATABASE)
        with closing(Catalog(folder / DATABASE)) as stored:
            added, removed = _store(stored, plan)
            embedded = await _embed(stored, job)
            stored.seal()
            documents, chunks = stored.counts()
            follows = base is not None and not anew and len(added) + len(removed) <= FOLLOW * chunks
            if base and follows:
                copy_index(base.chroma, folder / CHROMA)
            vectors = (
                VectorIndex(folder / CHROMA)
                if follows
                else create(folder / CHROMA, metadata={"fingerprint": fingerprint_of(job.embedder)})
            )
            with closing(vectors):
                _index(vectors, stored, (added, removed) if follows else None, chunks=chunks, tell=job.tell)
                with closing(Reader(folder / DATABASE)) as reader:
                    floors = await _floors(job, reader, vectors, base)
                    job.tell(Progress("verify"))
                    _verify(reader, vectors)
        manifest = Manifest(
            number=number,
            fingerprint=fingerprint_of(job.embedder),
            embedder=job.embedder.name,
            documents=documents,
            chunks=chunks,
            sources=(Source(plan.source, documents),),
            built_at=now(),
            floor=floors.fused,
            words_floor=floors.words,
            calibrated_chunks=floors.chunks,
        )
        generation = job.generations.publish(folder, manifest)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    job.generations.tidy(keep=keep)
    return job.report(generation, plan, embedded=embedded)


def _store(stored: Catalog, plan: Plan) -> tuple[list[int], list[int]]:
    """Write the plan's documents; returns the chunks that are new and those that are gone."""
    added: list[int] = []
    removed: list[int] = []
    for path, file in plan.files:
        stored.put_file(path, file)
    for path, document, chunks in plan.documents:
        change = stored.put_document(path, document, chunks)
        added.extend(change.added)
        removed.extend(change.removed)
    for name in plan.gone:
        removed.extend(stored.drop_document(name))
    for path in plan.gone_files:
        stored.drop_file(path)
    return added, removed


async def _embed(stored: Catalog, job: _Job) -> int:
    """Give every chunk without vectors its own, and count them."""
    missing = stored.unembedded()
    for at in range(0, len(missing), EMBED_BATCH):
        job.tell(Progress("embed", at, len(missing)))
        ids = missing[at : at + EMBED_BATCH]
        texts = stored.texts(ids)
        whole = await job.embedder.embed_documents([f"{heading}\n{text}" for heading, text in texts])
        parts = [windows(heading, text, words=job.embedder.window_words) for heading, text in texts]
        sizes = np.cumsum([len(part) for part in parts])
        sharp = await job.embedder.embed_documents([window for part in parts for window in part])
        stored.put_vectors(zip(ids, whole, np.split(sharp, sizes[:-1]), strict=True))
    return len(missing)


def _index(
    vectors: VectorIndex,
    stored: Catalog,
    changes: tuple[list[int], list[int]] | None,
    *,
    chunks: int,
    tell: Tell,
) -> None:
    """Bring the vector index up to the database: by the changes, or with None from nothing."""
    if changes is not None:
        added, removed = changes
        tell(Progress("index", 0, len(added)))
        vectors.remove(removed)
        vectors.add(stored.entries(added))
        return
    vectors.add(_counted(stored.entries(), chunks, tell))


def _counted(entries: Iterable[catalog.Entry], total: int, tell: Tell) -> Iterable[catalog.Entry]:
    for number, entry in enumerate(entries):
        tell(Progress("index", number, total))
        yield entry


async def _floors(job: _Job, reader: Reader, vectors: VectorIndex, base: Generation | None) -> "_Floors":
    if base:
        known = base.manifest
        moved = abs(reader.chunks - known.calibrated_chunks) > RECALIBRATE * known.calibrated_chunks
        if not moved and reader.chunks > SMALL_BASE:
            return _Floors(known.floor, known.words_floor, known.calibrated_chunks)
    job.tell(Progress("calibrate"))
    measured = await calibrate(reader, vectors, job.embedder)
    return _Floors(measured.fused, measured.words, reader.chunks)


@dataclass(frozen=True, slots=True)
class _Floors(Floors):
    chunks: int


def _verify(reader: Reader, vectors: VectorIndex) -> None:
    """Raises IndexBroken unless database and vector index are whole and agree."""
    reader.check()
    if vectors.count() != reader.chunks:
        raise IndexBroken(f"The vector index holds {vectors.count()} chunks, the database {reader.chunks}.")
    for chunk, _, _ in reader.sample(SELF_TESTS):
        ((_, vector, _),) = reader.vectors([chunk])
        near = vectors.nearest(vector.astype(np.float32), limit=1)
        if not near or max(near.values()) < 0.999:
            raise IndexBroken(f"The vector index does not find chunk {chunk} by its own vector.")


async def _run(options: argparse.Namespace) -> Report:
    generations = Generations(options.root)
    embedder = _embedder(options)
    tell = _Teller()
    if options.repair:
        return await repair(generations, embedder, tell=tell)
    return await build(generations, options.source, embedder, force=options.force, tell=tell)


def _embedder(options: argparse.Namespace) -> Embedder:
    if options.embedder == "table":
        return TableEmbedder()
    # Importing OpenAI's library costs more than most refreshes.
    module = importlib.import_module("knowledge.embedding.openai")
    made: Embedder = module.OpenAIEmbedder(
        api_key=os.environ.get("OPENAI_API_KEY", ""), base_url=options.base_url, model=options.model
    )
    return made


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m knowledge.build", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--root", type=Path, required=True, help="the folder of the generations")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--source", type=Path, help="a folder of Markdown, text and CSV, or one such file")
    what.add_argument("--repair", action="store_true", help="make the vector index anew from the stored vectors")
    parser.add_argument("--force", action="store_true", help="even if much of the source would vanish")
    parser.add_argument("--embedder", choices=("table", "openai"), default="table")
    parser.add_argument("--model", default="text-embedding-3-small", help="for --embedder openai")
    parser.add_argument("--base-url", help="for --embedder openai; the key is taken from OPENAI_API_KEY")
    parser.add_argument("--stop-on-eof", action="store_true", help="stop when standard input ends")
    return parser


class _Teller:
    """Prints progress, a new phase at once and the rest now and then."""

    def __init__(self) -> None:
        self._phase: Phase | None = None
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.phase == self._phase and time.monotonic() < self._next:
            return
        self._phase, self._next = progress.phase, time.monotonic() + TOLD_EVERY
        _say({"phase": progress.phase, "done": progress.done, "of": progress.of})


def _say(line: Mapping[str, Any]) -> None:
    with suppress(BrokenPipeError):
        print(json.dumps(line, ensure_ascii=False), flush=True)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(STOPPED)


def _stop_with_parent() -> None:
    # The parent holds the other end and writes nothing: its end, however it came about, is ours.
    # Read below sys.stdin, whose lock would still be held by this thread when the interpreter ends.
    while os.read(0, 1_024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
