"""The knowledge base that a program uses: search, status, refresh, rollback.

`open_knowledge_base` opens it, and `KnowledgeBase.search` is the main path. The query is embedded and compared with the
vectors, while threads search for its words. The finds are fused, joined and cut to what a model should read. Nothing
here writes to an index. A refresh runs the builder as a child process and then swaps one reference. Running searches
end on the generation that they began with.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from knowledge.audience import Audience
from knowledge.build.builder import Builder, Listen
from knowledge.build.plan import Known, is_up_to_date
from knowledge.build.report import BuildReport, LeftOut, Progress
from knowledge.config import BuildOptions, read_config
from knowledge.documents import clean
from knowledge.embedding.embedder import Embedder, Vectors
from knowledge.errors import (
    BuildRefused,
    BuildStopped,
    EmbedderFailed,
    IndexBroken,
    KnowledgeError,
    TextsDamaged,
    VectorsAway,
)
from knowledge.generations import Generation, Generations, Manifest
from knowledge.search.alike import groups
from knowledge.search.catalog import CatalogReader
from knowledge.search.filters import EVERYTHING, Filter
from knowledge.search.index import Index, LookUp, Missing, fingerprint_of
from knowledge.search.passages import Hit
from knowledge.search.questions import facets, without_identifiers
from knowledge.search.vectors import clear
from knowledge.status import Status, status_of
from knowledge.threads import Threads
from knowledge.thresholds import Certainty

SEARCH_SECONDS = 3.0
"""Seconds for a whole search. After that nothing is found, and the result is degraded."""
VECTOR_SECONDS = 1.5
"""Seconds for embedding the query and asking Chroma. After that the search continues with words alone."""
SEARCHES = 4
"""Searches of each kind at the same time; more wait for a slot."""
QUERY_CHARACTERS = 2_000
INDEX_OPEN_TIMEOUT = 60.0
"""Seconds for opening a generation. Chroma waits up to 14 seconds for a lock."""
WARM_TIMEOUT = 5.0
"""Seconds for a first search in a generation that will be served."""
WARM_QUERY = "How does it work?"
INDEX_CLOSE_TIMEOUT = 5.0
"""Seconds for closing the index at the end."""
REPAIRS = 3
"""Rebuilds of a broken vector index, in the life of a process, that start as soon as it breaks."""
REPAIR_PAUSES = (30.0, 60.0, 120.0, 300.0, 600.0)
"""Seconds between failed rebuilds, for example on a full disk. The last one also applies after REPAIRS that helped."""
EMBED_BATCH = 64
"""Texts that are embedded before the event loop gets a turn."""
FOLLOW_SECONDS = 5.0
"""Seconds between two looks at CURRENT, for generations that another process has built."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search found, best first."""

    hits: tuple[Hit, ...] = ()
    confidence: float = 0.0
    """The best chunk's score, for comparison with `Status.threshold`."""
    certainty: Certainty = "not"
    """Whether the base has an answer."""
    is_close: bool = False
    """Whether the confidence is in the upper half of "perhaps", or above. Below that, few of the best pages answer."""
    degraded: bool = False
    """Whether a part of the index could not be searched. Then there may be more than was found,
    and without hits there may be anything."""

    @property
    def answerable(self) -> bool:
        """Whether the confidence reaches the answer threshold, so that the base clearly has an answer."""
        return self.certainty == "clearly"

    @property
    def is_uncertain(self) -> bool:
        """Whether the base has an answer only perhaps: the passages have to be read to know."""
        return self.certainty == "perhaps"


Watch = Callable[[Audience, str], AbstractContextManager[Callable[[Findings], None]]]
"""(the base's audience, the query) -> a context around the search, which is given what it found."""


def surer(one: Findings, other: Findings) -> Findings:
    """The surer of two searches for the same. The other one if they are equally sure."""
    order = ("not", "perhaps", "clearly")
    return one if order.index(one.certainty) > order.index(other.certainty) else other


@asynccontextmanager
async def open_knowledge_base(
    root: Path,
    embedder: Embedder,
    *,
    audience: Audience = "public",
    chroma_url: str = "",
    learned: Path | None = None,
    mends: bool = True,
    follow_seconds: float = FOLLOW_SECONDS,
    watch: Watch | None = None,
) -> AsyncIterator["KnowledgeBase"]:
    """Open the base in `root`, which may be empty or not exist yet. `chroma_url` is a Chroma server for the vectors.
    Every refresh reads the folder `learned` along with the sources, as soon as it exists.

    A damaged base is opened too: from an older generation, or by words alone while the vector index is rebuilt.
    `status` shows which. A short-lived program would stop that rebuild by its end, so it passes `mends=False`.
    Generations that another process builds are picked up every `follow_seconds`. `watch` is called for each search.
    Leaving the context stops a running refresh.
    """
    base = KnowledgeBase(
        Generations(root), embedder, audience=audience, chroma_url=chroma_url, learned=learned, mends=mends, watch=watch
    )
    await base.reload()
    follower = asyncio.create_task(base.follow(follow_seconds), name="kb-follow")
    try:
        yield base
    finally:
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)
        await base.close()


class KnowledgeBase:
    """The knowledge base. `open_knowledge_base` makes it, and any number of tasks of one event loop may use it."""

    def __init__(
        self,
        generations: Generations,
        embedder: Embedder,
        *,
        audience: Audience = "public",
        chroma_url: str = "",
        learned: Path | None = None,
        mends: bool = True,
        watch: Watch | None = None,
    ) -> None:
        """Store the parts; nothing is opened yet."""
        self._audience = audience
        self._watch = watch
        self._chroma_url = chroma_url
        self._generations = generations
        self._embedder = embedder
        self._fingerprint = fingerprint_of(embedder)
        self._index: Index | None = None
        self._looked_at: int | None = None
        self._error: str | None = None
        self._vector_fault: str | None = None
        self._vectors_broken = False
        """Whether the last search of the vector index showed that rebuilding would fix it."""
        self._search_fault: str | None = None
        self._damaged: Manifest | None = None
        """The generation that turned out to be damaged while it was served."""
        self._missing: Missing = ""
        """What the served generation has lost of its files. Files that are open still serve."""
        self._swap = asyncio.Lock()
        self._word_threads = Threads("kb-words", size=SEARCHES)
        # Separate threads, so that a vector index that hangs cannot block those of the words.
        self._vector_threads = Threads("kb-vectors", size=SEARCHES)
        self._disk_threads = Threads("kb-disk", size=2)
        self._learned = learned
        self._builder = Builder(generations.root, embedder.recipe, chroma_url=chroma_url, learned=learned)
        self._repairs: set[asyncio.Task[None]] = set()
        self._mends = mends
        self._mended = self._failed = 0
        self._repair_not_before = 0.0

    @property
    def is_damaged(self) -> bool:
        """Whether the served generation turned out to be damaged or gone, and only a refresh restores it."""
        return self._damaged is not None or self._missing == "texts"

    @property
    def is_settled(self) -> bool:
        """Whether it serves the last build or rollback, even if there is none yet, and is not building."""
        served = self._index.manifest.number if self._index else None
        return served == self._looked_at and not self.is_damaged and not self.is_building

    async def search(self, query: str, *, limit: int = 6, words: int = 400, only: Filter = EVERYTHING) -> Findings:
        """The passages that answer a query: at most `limit`, with at most `words` words together.

        This never raises. What cannot be searched is left out, and `degraded` says so.
        """
        if self._watch is None:
            return await self._find(query, limit=limit, words=words, only=only)
        with self._watch(self._audience, query) as note:
            findings = await self._find(query, limit=limit, words=words, only=only)
            note(findings)
        return findings

    async def _find(self, query: str, *, limit: int, words: int, only: Filter) -> Findings:
        index = self._index
        query = clean(query).strip()[:QUERY_CHARACTERS]
        if index is None or not query:
            return Findings(degraded=index is None and (self._error is not None or self.is_building))
        try:
            with self._in_use(index):
                async with asyncio.timeout(SEARCH_SECONDS):
                    findings = await self._search(index, query, limit=limit, words=words, only=only)
        except TimeoutError:
            logger.warning("search took too long", extra={"generation": index.manifest.number})
            self._search_fault = f"The last search took more than {SEARCH_SECONDS:.0f} seconds and was given up."
        except Exception as error:
            fault, told = _first(error), {"generation": index.manifest.number}
            if isinstance(fault, KnowledgeError):
                logger.error("search failed", extra=told | {"fault": str(fault)})
            else:
                logger.exception("search failed", extra=told)
            self._search_fault = f"The last search failed. {fault if isinstance(fault, KnowledgeError) else ''}".strip()
            if isinstance(fault, TextsDamaged):
                self._give_up(index, fault)
        else:
            self._search_fault = None
            return findings
        return Findings(degraded=True)

    async def alike(self, texts: Sequence[str]) -> list[list[int]]:
        """The positions of texts that mean much the same, in groups: the largest first, in each the most typical first.

        This is for some hundreds of short texts. Raises EmbedderFailed.
        """
        found = [
            await self._embedder.embed_documents([without_identifiers(text) for text in texts[at : at + EMBED_BATCH]])
            for at in range(0, len(texts), EMBED_BATCH)
        ]
        return await self._disk_threads.run(groups, np.concatenate(found)) if found else []

    @property
    def is_building(self) -> bool:
        """Whether this process is building. A refresh that is requested now shares the build after this one."""
        return self._builder.is_busy

    async def status(self) -> Status:
        """The present state of the base."""
        index = self._index
        if index is None:
            return Status(
                embedder=self._embedder.name,
                fingerprint=self._fingerprint,
                degraded=self._error is not None,
                error=self._error or "No knowledge base has been built yet.",
                building=self.is_building,
            )
        manifest = index.manifest
        before = await self._disk_threads.run(self._generations.before, manifest.number)
        left_out = await self._disk_threads.run(LeftOut.load, self._generations.root)
        fault = self._gone(manifest) or self._error or self._search_fault or index.fault or self._vector_fault
        return status_of(
            manifest,
            error=fault,
            previous=before.number if before else None,
            left_out=left_out,
            building=self.is_building,
            chroma_url=self._chroma_url,
        )

    async def refresh(
        self,
        source: Path,
        *,
        only: str = "",
        force: bool = False,
        follows: bool = False,
        on_progress: Listen | None = None,
    ) -> BuildReport:
        """Bring the base up to its sources in a child process, then serve the result.

        `source` is a folder, a file, or a YAML file of sources. Of these, the sources of the base's audience are read,
        or only the one named `only`. While one build runs, all further requests share a single one after it. `force`
        allows a build that removes much of the base. `follows` is written into the manifest. Without a changed file no
        child process is started. Raises BuildRefused or BuildFailed; what is served is untouched then.
        """
        try:
            report = None
            if self._index and not (only or force or self.is_damaged or self.is_building):
                report = await self._disk_threads.run(self._report_without_changes, self._index, source)
            report = report or await self._builder.build(
                source,
                audience=self._audience,
                # A damaged base must not be built upon, and a source without changes would leave it as it is.
                options=BuildOptions(force, only, anew=self.is_damaged, follows=follows),
                on_progress=on_progress or _ignore,
            )
        except KnowledgeError as error:
            if self._index is None:
                self._error = str(error)
            raise
        if not report.is_new and self._index and self._wants_repair(self._index):
            # A refresh should make the base whole, however many times it was repaired before.
            report = await self._builder.repair()
        await self.reload()
        return report

    def _report_without_changes(self, index: Index, source: Path) -> BuildReport | None:
        """What a build would report if it found nothing to do. None if only a build can tell."""
        started = time.monotonic()
        try:
            current = self._generations.current()
            if current is None or current.manifest != index.manifest or not current.manifest.content:
                return None
            if current.manifest.fingerprint != self._fingerprint:
                return None
            sources = read_config(source, learned=self._learned).of(self._audience)
            with closing(CatalogReader(current.database)) as reader:
                known = Known(files=reader.files(), sources={held.name: held for held in current.manifest.sources})
            if not is_up_to_date(sources, known):
                return None
        except (KnowledgeError, OSError, sqlite3.Error):
            return None  # The build meets it again and says what it is.
        return BuildReport.without_changes(current, seconds=time.monotonic() - started)

    async def reload(self) -> None:
        """Serve the generation that CURRENT names, unless it already is. This never raises: see `Status.error`."""
        async with self._swap:
            try:
                await self._reload()
            except Exception as error:
                logger.exception("the knowledge base could not be opened")
                self._error = f"The knowledge base could not be opened: {error}"

    async def rollback(self) -> Status:
        """Return to the previous generation and serve it. Raises BuildRefused if there is none."""
        async with self._swap:
            served = self._index.manifest.number if self._index else 0
            before = await self._disk_threads.run(self._generations.before, served)
            if before is None:
                raise BuildRefused("nothing", "There is no older generation to go back to.")
            await self._disk_threads.run(self._generations.roll_back, before)
            await self._reload()
        return await self.status()

    async def identity(self) -> str:
        """A name that no other base has, on any machine. Raises OSError if it cannot be stored."""
        return await self._disk_threads.run(self._generations.base)

    async def serve(self, content: str) -> bool:
        """Serve the newest generation whose digest is `content`. False if no kept generation has it.

        Raises BuildRefused("busy") while a build runs.
        """
        async with self._swap:
            kept = await self._disk_threads.run(self._generations.whole)
            same = next((generation for generation in kept if generation.manifest.content == content), None)
            if same is None:
                return False
            await self._disk_threads.run(self._generations.roll_back, same)
            await self._reload()
        return True

    async def forget(self, identity: str) -> None:
        """Remove what a base that no longer exists has left on the Chroma server. Raises VectorsAway."""
        if self._chroma_url:
            removing = partial(clear, self._chroma_url, prefix=f"{identity}-", keep=())
            await self._disk_threads.run(removing)

    async def follow(self, seconds: float) -> None:
        """Reload whenever another process has changed CURRENT, and repair what broke. It runs until it is cancelled."""
        while True:
            await asyncio.sleep(seconds)
            if await self._disk_threads.run(self._generations.named) != self._looked_at:
                await self.reload()
            # A file that is removed at this moment is looked at again the next time.
            with suppress(OSError):
                await self._look_after()

    async def close(self) -> None:
        """Stop building and release the index. A running search ends on what it holds.

        What does not end within INDEX_CLOSE_TIMEOUT is left behind, and ends with the process.
        """
        for repair in self._repairs:
            repair.cancel()
        await asyncio.gather(*self._repairs, return_exceptions=True)
        await self._builder.close()
        index, self._index = self._index, None
        try:
            async with asyncio.timeout(INDEX_CLOSE_TIMEOUT):
                if index and index.server:
                    await index.server.close()
                if index and index.retire():
                    await self._disk_threads.run(index.close)
        except TimeoutError:
            logger.warning("the index does not close; it is left behind")
        for threads in (self._word_threads, self._vector_threads, self._disk_threads):
            threads.close()

    async def _search(self, index: Index, query: str, *, limit: int, words: int, only: Filter) -> Findings:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(self._look_up(index, facet, only)) for facet in facets(query)]
        lookups = [task.result() for task in asked]
        hits, confidence = await self._word_threads.run(index.evidence, lookups, limit=limit, words=words)
        by_words = any(lookup.vector is None for lookup in lookups)
        thresholds = index.manifest.words_thresholds if by_words else index.manifest.thresholds
        degraded = any(lookup.near is None for lookup in lookups)
        if not hits:
            return Findings(confidence=confidence, degraded=degraded)
        return Findings(hits, confidence, thresholds.certainty(confidence), thresholds.is_close(confidence), degraded)

    async def _look_up(self, index: Index, question: str, only: Filter) -> LookUp:
        async with asyncio.TaskGroup() as tasks:
            found = tasks.create_task(self._word_threads.run(index.words, question, only=only))
            vector, near = await self._near(index, question, only)
        return LookUp(found.result(), vector, near)

    async def _near(self, index: Index, query: str, only: Filter) -> tuple[Vectors | None, dict[int, float] | None]:
        """The query's vector and the chunks near it. Each is None if it could not be obtained."""
        if not index.is_comparable:
            return None, None
        vector: Vectors | None = None
        try:
            async with asyncio.timeout(VECTOR_SECONDS):
                vector = await self._embedded(index, query)
                if index.fault or (self._vector_fault and self._vector_threads.are_all_taken):
                    return vector, None
                cosines = await self._cosines(index, vector, only)
        except TimeoutError:
            self._vector_fault = "The vectors took too long to answer."
        except (EmbedderFailed, VectorsAway) as error:
            self._vector_fault = str(error)
        except IndexBroken as error:
            self._vector_fault, self._vectors_broken = str(error), True
            self._mend(index)
        else:
            self._vector_fault, self._vectors_broken = None, False
            return vector, cosines
        logger.warning("searched by words alone", extra={"fault": self._vector_fault})
        return vector, None

    async def _embedded(self, index: Index, query: str) -> Vectors:
        """The query's vector. Raises EmbedderFailed, also if its length differs from that of the base's vectors."""
        vector = await self._embedder.embed_query(without_identifiers(query))
        if len(vector) == index.dim:
            return vector
        self._damaged = index.manifest
        lengths = f"{len(vector)} numbers a text, the base has {index.dim}"
        raise EmbedderFailed(f"{self._embedder.name} gives {lengths}. The next refresh makes it anew.")

    async def _cosines(self, index: Index, vector: Vectors, only: Filter) -> dict[int, float]:
        if index.server is not None:
            return await index.server.nearest(vector, limit=index.candidates, only=only)
        return await self._vector_threads.run(index.nearest, vector, only=only)

    async def _reload(self) -> None:
        self._looked_at = await self._disk_threads.run(self._generations.named)
        current = await self._disk_threads.run(self._generations.current)
        if current is None:
            if self._looked_at is not None:
                self._error = f"The knowledge base in {self._generations.root} is damaged. Build it again."
            return
        if self._index and current.manifest == self._damaged:
            return
        if self._index and self._index.manifest == current.manifest:
            self._error = None
            return
        async with asyncio.timeout(INDEX_OPEN_TIMEOUT):
            fresh = await self._disk_threads.run(self._open, current)
        await self._warm(fresh)
        number = fresh.manifest.number
        self._error = self._damaged = None
        if number != self._looked_at:
            self._error = _instead(self._looked_at, number)
        self._serve(fresh)

    async def _warm(self, index: Index) -> None:
        """Search once, so that no customer waits for what a first search reads, imports or connects to.

        Vectors on disk were searched when they were opened. What fails here, the next search meets again.
        """
        try:
            async with asyncio.timeout(WARM_TIMEOUT):
                await self._word_threads.run(index.words, WARM_QUERY)
                if index.server and index.dim:
                    direction = np.full(index.dim, 1 / np.sqrt(index.dim), np.float32)
                    await index.server.nearest(direction, limit=1)
        except (KnowledgeError, TimeoutError) as error:
            logger.warning("the knowledge base is served without a first search", extra={"fault": str(error)})

    def _serve(self, fresh: Index) -> None:
        old, self._index = self._index, fresh
        self._vector_fault = self._search_fault = None
        self._vectors_broken, self._missing = False, ""
        if old and old.retire():
            self._disk_threads.start(old.close)
        if fresh.repairable:
            self._mend(fresh)

    def _give_up(self, index: Index, fault: TextsDamaged) -> None:
        """Switch to another generation, once. The damaged one stays until the next refresh rebuilds it."""
        if self._damaged != index.manifest:
            self._damaged = index.manifest
            self._start(self._serve_another(index, fault), name="kb-another")

    async def _serve_another(self, damaged: Index, fault: TextsDamaged) -> None:
        number = damaged.manifest.number
        async with self._swap:
            if self._index is not damaged:
                return
            try:
                async with asyncio.timeout(INDEX_OPEN_TIMEOUT):
                    other = await self._disk_threads.run(self._open, but=number)
            except (IndexBroken, TimeoutError):
                self._error = f"{fault} There is no other generation: refresh the knowledge base."
                return
            self._serve(other)
            self._error = _instead(number, other.manifest.number)

    def _open(self, current: Generation | None = None, *, but: int | None = None) -> Index:
        """The current generation, or the newest other one that opens, except number `but`."""
        others = [other for other in self._generations.whole() if other != current and other.number != but]
        for generation in (current, *others) if current else others:
            try:
                return Index(generation, fingerprint=self._fingerprint, chroma_url=self._chroma_url)
            except IndexBroken as error:
                logger.error("a generation cannot be used", extra={"fault": str(error)})
        raise IndexBroken("No generation can be used. Build the knowledge base again.")

    async def _look_after(self) -> None:
        """Check that the served generation is still on disk, and rebuild vectors that could not be rebuilt before."""
        index = self._index
        if index is None:
            return
        missing = await self._disk_threads.run(index.missing)
        if missing == "texts":
            current = await self._disk_threads.run(self._generations.current)
            if current and current.manifest != self._damaged and current.number >= index.manifest.number:
                # It was removed and built again under the same number.
                await self.reload()
                return
        if index is not self._index:
            return
        self._missing, before = missing, self._missing
        if missing and missing != before:
            logger.warning("files of the knowledge base are gone", extra={"fault": self._gone(index.manifest)})
        if self._wants_repair(index):
            self._mend(index)

    def _gone(self, served: Manifest) -> str | None:
        """The sentence about files that are gone. None if none are."""
        if not self._missing:
            return None
        what = "Generation" if self._missing == "texts" else "The vector index of generation"
        root = self._generations.root
        return f"{what} {served.number} is gone from {root}. It serves from memory until it is built again."

    def _wants_repair(self, index: Index) -> bool:
        """Whether rebuilding the vector index would fix what is broken."""
        return index.repairable or self._vectors_broken or self._missing == "vectors"

    def _mend(self, index: Index) -> None:
        """Let the builder rebuild a broken vector index: at once if that has helped so far, otherwise after a pause."""
        if self._repairs or not self._mends or time.monotonic() < self._repair_not_before:
            return
        self._start(self._repair(index.manifest.number), name="kb-repair")

    def _start(self, repair: Coroutine[Any, Any, None], *, name: str) -> None:
        task = asyncio.create_task(repair, name=name)
        self._repairs.add(task)
        task.add_done_callback(self._repairs.discard)

    async def _repair(self, number: int) -> None:
        logger.warning("the vector index is made anew", extra={"generation": number})
        try:
            await self._builder.repair()
        except BuildStopped:
            return
        except KnowledgeError:
            pause = REPAIR_PAUSES[min(self._failed, len(REPAIR_PAUSES) - 1)]
            self._failed += 1
            self._repair_not_before = time.monotonic() + pause
            told = {"generation": number, "again_in_seconds": pause}
            logger.exception("the vector index could not be made anew", extra=told)
            return
        self._failed = 0
        self._mended += 1
        if self._mended >= REPAIRS:
            self._repair_not_before = time.monotonic() + REPAIR_PAUSES[-1]
        await self.reload()

    @contextmanager
    def _in_use(self, index: Index) -> Iterator[None]:
        index.enter()
        try:
            yield
        finally:
            if index.leave():
                self._disk_threads.start(index.close)


def _first(error: BaseException) -> BaseException:
    """The first failure inside a group of groups."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _instead(damaged: int | None, served: int) -> str:
    return f"Generation {damaged} is damaged; generation {served} is served instead."


def _ignore(_progress: Progress) -> None:
    """Ignore the progress: no one listens."""
