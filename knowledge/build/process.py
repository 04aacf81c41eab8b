"""The builder: a process of its own that turns a source into the next generation.

`python -m knowledge.build --root KB --source FOLDER_OR_FILE` prints one JSON object a line: progress, and at the
end `done` with the report, `refused`, or `failed`. In reading order: `main`, `build`, `_write`; plan.py finds out
what there is to do.

It never touches what is served. Whatever happens to it, CURRENT names a whole generation (see `generations`).
"""

import argparse
import asyncio
import importlib
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, get_args

import numpy as np

from knowledge.audience import Audience
from knowledge.build.calibration import Calibration, calibrate, read_questions
from knowledge.build.plan import Known, Plan, Tell, make_plan
from knowledge.build.report import BuildReport, LeftOut, Phase, Progress
from knowledge.build.withholding import withhold
from knowledge.chunking import chunk_within
from knowledge.config import BuildOptions, Source, read_config
from knowledge.embedding.embedder import Embedder, Vectors
from knowledge.embedding.folder import FolderEmbedder
from knowledge.embedding.kept import KeptVectors
from knowledge.embedding.table import TableEmbedder
from knowledge.embedding.windows import windows
from knowledge.errors import BuildRefused, IndexBroken, KnowledgeError, VectorsAway
from knowledge.generations import (
    CHROMA,
    DATABASE,
    SPOOL,
    ChromaCollection,
    Generation,
    Generations,
    Home,
    Manifest,
    now,
)
from knowledge.search import catalog
from knowledge.search.catalog import Catalog, CatalogReader
from knowledge.search.index import fingerprint_of
from knowledge.search.vectors import VectorIndex, clear, copy_index, create, rename
from knowledge.site_markup import without_targets

EMBED_BATCH = 256
FOLLOW = 0.3
"""Above this share of changed chunks the vector index is rebuilt rather than copied and changed."""
RECALIBRATE = 0.1
"""The thresholds are measured again if the base has grown or shrunk by more than this share."""
SMALL_BASE = 2_000
"""In a base with at most this many chunks, the thresholds are always measured: that takes half a second."""
SELF_TESTS = 20
"""Chunks that are tested: each should be found by its own vector."""
LOST = 0.2
"""The share of these that may be missed: the search is approximate, and misses some of many similar pages."""
NOTICES = 1_000
"""Notices about documents that a manifest holds at most."""
NICE = 10
TOLD_EVERY = 0.2
"""Seconds between two lines of progress."""

DONE, FAILED, REFUSED, STOPPED = 0, 1, 2, 143
WHATEVER_IS_THERE = BuildOptions()


@dataclass(slots=True)
class _Job:
    """One run of the builder."""

    generations: Generations
    embedder: Embedder
    tell: Tell
    chroma_url: str = ""
    """The Chroma server for the vectors. If empty, each generation has them in its folder."""
    options: BuildOptions = WHATEVER_IS_THERE
    audience: Audience = "public"
    questions: Path | None = None
    """The operator's own questions, by which the thresholds are measured if the file exists."""
    started: float = field(default_factory=time.monotonic)
    tokens: int = 0
    """Tokens given to the embedder so far."""

    def report(self, generation: Generation, plan: Plan, *, embedded: int, reused: int = 0) -> BuildReport:
        return BuildReport(
            added=plan.added,
            changed=plan.changed,
            removed=len(plan.gone),
            unchanged=plan.unchanged,
            quarantined=tuple(plan.quarantined),
            passed_over=dict(plan.passed_over),
            seconds=round(time.monotonic() - self.started, 3),
            generation=generation.number,
            documents=generation.manifest.documents,
            chunks=generation.manifest.chunks,
            embedded=embedded,
            reused=reused,
            embedded_tokens=self.tokens,
            threshold=generation.manifest.thresholds.clearly,
            sources=generation.manifest.sources,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the builder's command line; return the exit code."""
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
    generations: Generations,
    sources: Sequence[Source],
    embedder: Embedder,
    *,
    options: BuildOptions = WHATEVER_IS_THERE,
    questions: Path | None = None,
    chroma_url: str = "",
    tell: Tell,
) -> BuildReport:
    """Make the next generation from `sources`, on top of the current one as far as it is usable.

    Without changes there is no next generation. Raises BuildRefused if it would do harm, and SourceUnreadable,
    EmbedderFailed, IndexBroken or OSError if it cannot be done. What is served is untouched then.
    """
    with generations.building():
        # Sources of two audiences never share a base.
        audience = sources[0].audience if sources else "public"
        job = _Job(generations, embedder, tell, chroma_url, options, audience, questions)
        current = generations.current()
        is_ours = current is not None and current.manifest.fingerprint == fingerprint_of(embedder)
        reusable = is_ours and not options.anew
        try:
            return await _build_on(job, sources, current, reusable=reusable)
        except (IndexBroken, sqlite3.DatabaseError):
            if not reusable:
                raise
            # The generation to start from is damaged, the source is not.
            return await _build_on(job, sources, current, reusable=False)


async def repair(generations: Generations, embedder: Embedder, *, chroma_url: str = "", tell: Tell) -> BuildReport:
    """Rebuild the current generation's vector index from the stored vectors. Nothing is embedded."""
    with generations.building():
        current = generations.current()
        if current is None or current.manifest.fingerprint != fingerprint_of(embedder):
            raise BuildRefused("nothing", "There is no generation whose vectors could be used again.")
        plan = Plan(sources=list(current.manifest.sources), unchanged=current.manifest.documents)
        job = _Job(generations, embedder, tell, chroma_url)
        report = await _write(job, plan, current, keep=current.number, anew=True)
        return replace(report, mended=True)


async def _build_on(job: _Job, sources: Sequence[Source], current: Generation | None, *, reusable: bool) -> BuildReport:
    job.tell(Progress("scan"))
    with tempfile.TemporaryDirectory(prefix=SPOOL, dir=job.generations.root) as spool:
        plan = await make_plan(
            sources,
            _known(current, reusable=reusable),
            options=job.options,
            spool=Path(spool),
            tell=job.tell,
        )
    LeftOut(tuple(plan.quarantined), dict(plan.passed_over)).save(job.generations.root)
    if not plan.total:
        places = ", ".join(source.where for source in sources)
        raise BuildRefused("empty", f"{places} holds no document that could be used.{_first_reason(plan)}")
    is_same = plan.is_idle and current is not None and tuple(plan.sources) == current.manifest.sources
    if current and reusable and is_same and current.manifest.content:
        return job.report(current, plan, embedded=0)
    return await _write(job, plan, current if reusable else None, keep=current.number if current else None)


def _known(current: Generation | None, *, reusable: bool) -> Known:
    if current is None:
        return Known()
    sources = {source.name: source for source in current.manifest.sources}
    try:
        with closing(CatalogReader(current.database)) as reader:
            return Known(reader.documents_by_name(), reader.files(), sources, reusable)
    except (IndexBroken, sqlite3.Error):
        if reusable:
            raise
        # Only the comparison would have been used.
        return Known()


def _first_reason(plan: Plan) -> str:
    if not plan.quarantined:
        others = ", ".join(f"{kind} ({count:,})" for kind, count in plan.passed_over.most_common(5))
        return f" Passed over: {others}." if others else ""
    first = plan.quarantined[0]
    return f" {len(plan.quarantined):,} left out, the first being {first.name}: {first.reason}."


async def _write(
    job: _Job, plan: Plan, base: Generation | None, *, keep: int | None, anew: bool = False
) -> BuildReport:
    """Carry out a plan on a copy of `base`, or from nothing, and publish the result. Generation `keep` stays.

    `anew` rebuilds the whole vector index, even where a few changes would do.
    """
    number = job.generations.next_number()
    folder = job.generations.begin(number)
    try:
        if base:
            # No one ever writes to it: unlike Chroma's, this file can simply be copied.
            shutil.copyfile(base.database, folder / DATABASE)
        with closing(Catalog(folder / DATABASE)) as stored:
            with stored.writing():
                added, removed = _store(stored, plan, job)
                embedded, reused = await _embed(stored, job)
            documents, chunks = stored.counts()
            few = not anew and len(added) + len(removed) <= FOLLOW * chunks
            if not (base and few):
                stored.seal()
            home = _home(job, folder, number)
            changes = (added, removed) if base and few and _follow(base, home) else None
            if base and not anew and isinstance(home, ChromaCollection):
                changes = _take_over(job, stored, base, home)
            metadata = {"fingerprint": fingerprint_of(job.embedder)}
            with closing(create(home, metadata=metadata) if changes is None else VectorIndex(home)) as vectors:
                _index(vectors, stored, changes, chunks=chunks, tell=job.tell)
                with closing(CatalogReader(folder / DATABASE)) as reader:
                    measured, at_chunks = await _calibration(job, reader, vectors, base, is_repair=anew)
                    job.tell(Progress("verify"))
                    _verify(reader, vectors)
                    content = reader.content()
                    notices = tuple(reader.notices()[:NOTICES])
        manifest = Manifest(
            number=number,
            fingerprint=fingerprint_of(job.embedder),
            embedder=job.embedder.name,
            documents=documents,
            chunks=chunks,
            sources=tuple(plan.sources),
            built_at=now(),
            thresholds=measured.fused,
            words_thresholds=measured.words,
            calibrated_chunks=at_chunks,
            content=content,
            forced=job.options.force,
            follows=job.options.follows,
            collection=home.collection if isinstance(home, ChromaCollection) else "",
            notices=notices,
        )
        generation = job.generations.publish(folder, manifest)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    job.generations.tidy(keep=keep)
    with suppress(VectorsAway):
        _clear(job)
    return job.report(generation, plan, embedded=embedded, reused=reused)


def _home(job: _Job, folder: Path, number: int) -> Home:
    """Where the new generation's vectors go. On a server, what earlier builds left unfinished is removed first."""
    if not job.chroma_url:
        return folder / CHROMA
    _clear(job)
    return ChromaCollection(job.chroma_url, f"{job.generations.base()}-{number:06}")


def _clear(job: _Job) -> None:
    if job.chroma_url:
        kept = {generation.manifest.collection for generation in job.generations.whole()}
        clear(job.chroma_url, prefix=f"{job.generations.base()}-", keep=kept)


def _follow(base: Generation, home: Home) -> bool:
    """Begin with a copy of the base's vectors. False if they cannot be copied: a server copies no collection."""
    if isinstance(home, ChromaCollection) or base.manifest.collection:
        return False
    copy_index(base.chroma, home)
    return True


def _take_over(
    job: _Job, stored: Catalog, base: Generation, home: ChromaCollection
) -> tuple[list[int], list[int]] | None:
    """Begin with the collection of the generation that goes when this one comes. A server copies no collection.

    Returns the chunks to add and those to remove; None if there is no such collection, or if too much differs. If the
    build fails then, going back to that generation makes its vectors anew, without embedding.
    """
    others = (each for each in job.generations.whole() if each.number != base.number)
    fingerprint = base.manifest.fingerprint
    leaving = [
        each
        for each in others
        if each.manifest.collection and each.manifest.fingerprint == fingerprint and not job.generations.is_held(each)
    ]
    if not leaving:
        return None
    try:
        with closing(CatalogReader(leaving[0].database)) as reader:
            before = reader.keys()
        keys = stored.keys()
        added = [id_ for id_, key in keys.items() if before.get(id_) != key]
        removed = [id_ for id_, key in before.items() if keys.get(id_) != key]
        if len(added) + len(removed) > FOLLOW * len(keys):
            return None
        rename(home.url, leaving[0].manifest.collection, home.collection)
    except VectorsAway:
        raise
    except (IndexBroken, sqlite3.Error):
        return None
    return added, removed


def _store(stored: Catalog, plan: Plan, job: _Job) -> tuple[list[int], list[int]]:
    """Cut the plan's documents and write them. Returns the new chunks and the removed ones."""
    added: list[int] = []
    removed: list[int] = []
    for path, file in plan.files:
        stored.put_file(path, file)
    total = len(plan.documents)
    plan.documents.reverse()
    for number in range(total):
        job.tell(Progress("cut", number, total))
        # Released one by one: the next step needs the memory.
        path, document = plan.documents.pop()
        chunks = chunk_within(document, count=job.embedder.count_tokens)
        served, notices = withhold(document, chunks, audience=job.audience)
        change = stored.put_document(path, document, served)
        stored.put_notices(document.id, notices)
        added.extend(change.added)
        removed.extend(change.removed)
    for name in plan.gone:
        removed.extend(stored.drop_document(name))
    for path in plan.gone_files:
        stored.drop_file(path)
    return added, removed


async def _embed(stored: Catalog, job: _Job) -> tuple[int, int]:
    """Give vectors to every chunk without one. Returns how many were embedded, and how many vectors were kept."""
    missing = stored.unembedded()
    reused = 0
    # Vectors that cost nothing are made anew faster than they are looked up.
    kept = KeptVectors(job.generations.root, job.embedder) if not job.embedder.window_words else None
    with closing(kept) if kept else nullcontext():
        for at in range(0, len(missing), EMBED_BATCH):
            job.tell(Progress("embed", at, len(missing)))
            ids = missing[at : at + EMBED_BATCH]
            texts = [(heading, without_targets(text)) for heading, text in stored.texts(ids)]
            if kept:
                reused += await _embed_kept(stored, job, kept, dict(zip(ids, texts, strict=True)))
            else:
                await _embed_windows(stored, job, ids, texts)
        if kept and missing:
            kept.keep_only(_full(heading, without_targets(text)) for heading, text in stored.all_texts())
    return len(missing) - reused, reused


async def _embed_kept(stored: Catalog, job: _Job, kept: KeptVectors, chunks: Mapping[int, tuple[str, str]]) -> int:
    """Store vectors that were kept, and embed the rest. Returns how many were kept."""
    texts = {id_: _full(*chunk) for id_, chunk in chunks.items()}
    known = kept.find(list(texts.values()))
    if known and not job.embedder.dim:
        # A service may give longer vectors than before under the same name. Its first answer shows it.
        await job.embedder.embed_documents([next(iter(known))])
    known = {text: vector for text, vector in known.items() if len(vector) == job.embedder.dim}
    new = list(dict.fromkeys(text for text in texts.values() if text not in known))
    if new:
        job.tokens += sum(job.embedder.count_tokens(text) for text in new)
        made = dict(zip(new, await job.embedder.embed_documents(new), strict=True))
        kept.put(made)
        known |= made
    _check_dim(stored, job, next(iter(known.values())))
    none = np.zeros((0, len(next(iter(known.values())))), np.float32)
    stored.put_vectors((id_, known[text], none) for id_, text in texts.items())
    return sum(1 for text in texts.values() if text not in new)


async def _embed_windows(stored: Catalog, job: _Job, ids: Sequence[int], texts: Sequence[tuple[str, str]]) -> None:
    """Embed chunks and their windows."""
    whole = await job.embedder.embed_documents([_full(*text) for text in texts])
    _check_dim(stored, job, whole[0])
    parts = [windows(heading, text, words=job.embedder.window_words) for heading, text in texts]
    sizes = np.cumsum([len(part) for part in parts])
    sharp = await job.embedder.embed_documents([window for part in parts for window in part])
    stored.put_vectors(zip(ids, whole, np.split(sharp, sizes[:-1]), strict=True))


def _full(heading: str, text: str) -> str:
    return f"{heading}\n{text}"


def _check_dim(stored: Catalog, job: _Job, vector: Vectors) -> None:
    if stored.dim not in (0, len(vector)):
        raise IndexBroken(f"{job.embedder.name} gives vectors of another length than those of the base.")


def _index(
    vectors: VectorIndex,
    stored: Catalog,
    changes: tuple[list[int], list[int]] | None,
    *,
    chunks: int,
    tell: Tell,
) -> None:
    """Bring the vector index up to the database: with the changes, or from nothing if they are None."""
    if changes is not None:
        added, removed = changes
        tell(Progress("index", 0, len(added)))
        vectors.remove(removed)
        vectors.add(stored.entries(added))
        return
    vectors.add(_counted(stored.entries(), chunks, tell))


def _counted(entries: Iterable[catalog.IndexedChunk], total: int, tell: Tell) -> Iterable[catalog.IndexedChunk]:
    for number, entry in enumerate(entries):
        tell(Progress("index", number, total))
        yield entry


async def _calibration(
    job: _Job, reader: CatalogReader, vectors: VectorIndex, base: Generation | None, *, is_repair: bool
) -> tuple[Calibration, int]:
    """The thresholds, and the number of chunks when they were measured. Those of `base` serve as long as they fit."""
    if base:
        known = base.manifest
        moved = abs(reader.chunks - known.calibrated_chunks) > RECALIBRATE * known.calibrated_chunks
        if is_repair or (not moved and reader.chunks > SMALL_BASE):
            return Calibration(known.thresholds, known.words_thresholds), known.calibrated_chunks
    job.tell(Progress("calibrate"))
    written = read_questions(job.questions) if job.questions else ()
    return await calibrate(reader, vectors, job.embedder, written), reader.chunks


def _verify(reader: CatalogReader, vectors: VectorIndex) -> None:
    """Check the database and the vector index. Raises IndexBroken unless both are whole and agree."""
    reader.check()
    if vectors.count() != reader.chunks:
        raise IndexBroken(f"The vector index holds {vectors.count()} chunks, the database {reader.chunks}.")
    sample = [chunk for chunk, _, _ in reader.sample(SELF_TESTS)]
    lost = [chunk for chunk in sample if not _finds(vectors, *reader.vectors([chunk]).wholes.astype(np.float32))]
    if len(lost) > LOST * len(sample):
        raise IndexBroken(f"The vector index does not find chunk {lost[0]} by its own vector.")


def _finds(vectors: VectorIndex, vector: Vectors) -> bool:
    return max(vectors.nearest(vector, limit=1).values(), default=0.0) > 0.999


async def _run(options: argparse.Namespace) -> BuildReport:
    generations = Generations(options.root)
    embedder = _embedder(options)
    tell = _Teller()
    if options.repair:
        return await repair(generations, embedder, chroma_url=options.chroma_url, tell=tell)
    config = read_config(options.source, learned=options.learned)
    return await build(
        generations,
        config.of(options.audience),
        embedder,
        options=BuildOptions(options.force, options.only, options.anew, options.follows),
        questions=config.questions if options.audience == "public" else None,
        chroma_url=options.chroma_url,
        tell=tell,
    )


def _embedder(options: argparse.Namespace) -> Embedder:
    if options.embedder == "table":
        return TableEmbedder()
    if options.embedder == "folder":
        return FolderEmbedder(options.model_folder)
    # Importing OpenAI's library takes longer than most refreshes.
    module = importlib.import_module("knowledge.embedding.openai")
    made: Embedder = module.OpenAIEmbedder(
        api_key=os.environ.get("OPENAI_API_KEY", ""), base_url=options.base_url, model=options.model
    )
    return made


def _parser() -> argparse.ArgumentParser:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m knowledge.build.process", description=about)
    parser.add_argument("--root", type=Path, required=True, help="the folder of the generations")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--source", type=Path, help="a folder or file of documents, or a YAML file of sources")
    what.add_argument("--repair", action="store_true", help="make the vector index anew from the stored vectors")
    parser.add_argument("--learned", type=Path, help="a folder of further pages for the public, if it is there")
    parser.add_argument("--audience", choices=get_args(Audience), default="public", help="whose sources to read")
    parser.add_argument(
        "--only", default="", metavar="NAME", help="read this source alone; the others stay as they are"
    )
    parser.add_argument("--force", action="store_true", help="even if much of the source would vanish")
    parser.add_argument("--follows", action="store_true", help="because another base has read something else")
    parser.add_argument("--anew", action="store_true", help="take nothing over from the present generation")
    parser.add_argument("--chroma-url", default="", help="keep the vectors on this Chroma server")
    parser.add_argument("--embedder", choices=("table", "folder", "openai"), default="table")
    parser.add_argument("--model-folder", type=Path, help="for --embedder folder")
    parser.add_argument("--model", default="text-embedding-3-small", help="for --embedder openai")
    parser.add_argument("--base-url", help="for --embedder openai; the key is taken from OPENAI_API_KEY")
    parser.add_argument("--stop-on-eof", action="store_true", help="stop when standard input ends")
    return parser


class _Teller:
    """Prints progress: a new phase at once, the rest at intervals."""

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
    # The parent holds the other end and writes nothing. When that end closes, for whatever reason, this process ends.
    # Read below sys.stdin, whose lock would still be held by this thread when the interpreter ends.
    while os.read(0, 1_024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
