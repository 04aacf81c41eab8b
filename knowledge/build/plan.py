"""What a build has to do: every source compared with what the base holds from it. Only possible changes are read.

Read it in this order: `is_up_to_date`, which checks by names, sizes and times whether there is anything to do;
`make_plan`; `_Reader.plan` (one source, which may be missing); `_read` (one file); `_take` (one document). A source
that cannot be read, or that would lose many documents, keeps the documents it had.
"""

import hashlib
import importlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urljoin, urlsplit

from knowledge.build.report import Progress
from knowledge.config import LEARNED, BuildOptions, Source
from knowledge.documents import Document, folder_of
from knowledge.errors import BuildRefused, SourceUnreadable
from knowledge.generations import IndexedSource
from knowledge.search import catalog
from knowledge.search.catalog import KnownDocument, KnownFile
from knowledge.sources.files import Listing, Quarantined, SourceFile, Unfit, list_files, read_bytes, read_component
from knowledge.sources.generators import page_path
from knowledge.sources.isolation import DEFAULT_LIMITS, Isolation, ReadingLimits, open_isolation

VANISHING = 0.3
"""If a source would lose more than this share of its documents, it counts as missing."""
SETTLED_NS = 2_000_000_000
"""Nanoseconds. A file that changed this shortly before it was read may change again under the same time stamp,
and then its bytes decide."""
_FOLDER_PAGES = frozenset({"index", "readme", "_index"})
"""Names of files whose address is that of their folder."""
Tell = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Known:
    """What the generation to start from holds."""

    documents: Mapping[str, KnownDocument] = field(default_factory=dict)
    """By their names."""
    files: Mapping[str, KnownFile] = field(default_factory=dict)
    sources: Mapping[str, IndexedSource] = field(default_factory=dict)
    """Name -> source."""
    reusable: bool = False
    """Whether its rows and vectors can be reused. Otherwise it only shows what has changed."""

    def of(self, source: Source) -> dict[str, str]:
        """The documents of a source, each with its file."""
        return {
            name: document.file
            for name, document in self.documents.items()
            # A source without a name has all documents, except those that never were a part of it.
            if document.file.startswith(source.prefix) and (document.origin == LEARNED) == (source.name == LEARNED)
        }


@dataclass(slots=True)
class Plan:
    """What has to be done to bring the base up to its sources."""

    sources: list[IndexedSource] = field(default_factory=list)
    files: list[tuple[str, KnownFile]] = field(default_factory=list)
    """Files that were read."""
    documents: list[tuple[str, Document]] = field(default_factory=list)
    """Documents to write, each with its file."""
    gone: list[str] = field(default_factory=list)
    """Documents that the base has and the sources don't."""
    gone_files: list[str] = field(default_factory=list)
    """Files to forget: they no longer exist, or must be read again each time."""
    quarantined: list[Quarantined] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)
    """A kind of file that is not read, or a pattern that excludes files -> how many there are."""
    present: set[str] = field(default_factory=set)
    """Names of all documents that the base should hold."""
    added: int = 0
    changed: int = 0
    unchanged: int = 0

    @property
    def total(self) -> int:
        """The number of documents in the base afterwards."""
        return self.added + self.changed + self.unchanged

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.documents or self.gone)

    def join(self, other: "Plan") -> None:
        """Add what another source needs."""
        self.sources += other.sources
        self.files += other.files
        self.documents += other.documents
        self.gone_files += other.gone_files
        self.quarantined += other.quarantined
        self.passed_over += other.passed_over
        self.present |= other.present
        self.added += other.added
        self.changed += other.changed
        self.unchanged += other.unchanged


def is_up_to_date(sources: Sequence[Source], known: Known) -> bool:
    """Whether the base holds what its sources hold, judged by the names, sizes and times of files.

    False if anything would have to be read, fetched or reported. Raises SourceUnreadable.
    """
    held = [(source.path, source.name, source.stale) for source in known.sources.values()]
    if held != [(source.where, source.name, "") for source in sources]:
        return False
    seen: set[str] = set()
    for source in sources:
        if source.addresses:
            return False
        listing = list_files(source.place, include=source.include, exclude=source.exclude)
        if listing.quarantined:
            return False
        for file in listing.files:
            path = source.prefix + file.path
            if not _is_unchanged(known.files.get(path), file):
                return False
            seen.add(path)
    return seen == known.files.keys()


async def make_plan(
    sources: Sequence[Source],
    known: Known,
    *,
    options: BuildOptions,
    spool: Path,
    tell: Tell,
    limits: ReadingLimits = DEFAULT_LIMITS,
) -> Plan:
    """Compare all sources with the base. Pages of sites are fetched into the folder `spool`.

    `limits` is what reading a file may cost at most.

    Raises SourceUnreadable, or BuildRefused("vanishing"), for a source whose absence leaves nothing to serve.
    """
    plan = Plan()
    with open_isolation(limits) as isolation:
        for number, source in enumerate(sources):
            reader = _Reader(source, known, isolation, spool / str(number), tell, is_only=len(sources) == 1)
            plan.join(await reader.plan(options))
    plan.gone = [name for name in known.documents if name not in plan.present]
    read = {path for path, _ in plan.files}
    homes = {known.documents[name].file for name in plan.present if name in known.documents}
    plan.gone_files += [path for path in known.files if path not in read and path not in homes]
    return plan


@dataclass(slots=True)
class _Reader:
    """Reads one source."""

    source: Source
    known: Known
    isolation: Isolation
    spool: Path
    tell: Tell
    is_only: bool
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)
    """Address and title of a page of a site -> the document that has them. One page may have several addresses."""

    async def plan(self, options: BuildOptions) -> Plan:
        """What this source needs. Where it cannot or should not be read, its documents are kept."""
        held = self.known.of(self.source)
        may_keep = bool(held) and self.known.reusable
        if options.only and options.only != self.source.name and may_keep:
            before = self.known.sources.get(self.source.name)
            return self._keep(held, stale=before.stale if before else "")
        try:
            plan = self._read_all(await self._list())
        except SourceUnreadable as unreadable:
            if self.is_only or not may_keep:
                raise
            return self._keep(held, stale=str(unreadable))
        if (reason := self._vanishing(plan, held)) and not options.force:
            if self.is_only or not may_keep:
                raise BuildRefused("vanishing", f"{reason} The old ones are kept; use --force if this is meant.")
            return self._keep(held, stale=f"{reason} Use --force if this is meant.")
        return plan

    async def _list(self) -> Listing:
        if not self.source.addresses:
            listing = list_files(self.source.place, include=self.source.include, exclude=self.source.exclude)
            prefix = self.source.prefix
            return Listing(
                tuple(replace(file, path=prefix + file.path) for file in listing.files),
                tuple(Quarantined(prefix + each.name, each.reason) for each in listing.quarantined),
                passed_over=listing.passed_over,
            )
        self.spool.mkdir(parents=True)
        known = self.known.files if self.known.reusable else {}
        # The HTTP client takes longer to import than most refreshes of folders.
        site = importlib.import_module("knowledge.sources.site")
        fetched: Listing = await site.fetch_site(
            self.source, known, self.spool, read_sitemap=self.isolation.read_sitemap
        )
        return fetched

    def _read_all(self, listing: Listing) -> Plan:
        plan = Plan(quarantined=list(listing.quarantined), passed_over=Counter(listing.passed_over))
        by_file: dict[str, list[str]] = {}
        for name, file in self.known.of(self.source).items():
            by_file.setdefault(file, []).append(name)
        unread = list(listing.kept)
        self._note_addresses([*listing.kept, *(file.path for file in listing.files)], by_file)
        for number, entry in enumerate(listing.files):
            self.tell(Progress("read", number, len(listing.files)))
            if not self._read(plan, entry):
                unread.append(entry.path)
        for path in unread:
            names = by_file.get(path, [])
            plan.present.update(names)
            plan.unchanged += len(names)
        plan.sources = [IndexedSource(self.source.where, len(plan.present), self.source.name)]
        return plan

    def _note_addresses(self, paths: Sequence[str], by_file: Mapping[str, Sequence[str]]) -> None:
        """Note the pages of a site that the base has already: their addresses are taken."""
        if not self.source.addresses or not self.known.reusable:
            return
        for name in (name for path in paths for name in by_file.get(path, ())):
            document = self.known.documents[name]
            self.addresses.setdefault((document.url, document.title), name)

    def _read(self, plan: Plan, file: SourceFile) -> bool:
        """Read a file into the plan. False if its content is unchanged."""
        before = self.known.files.get(file.path) if self.known.reusable else None
        if _is_unchanged(before, file):
            return False
        read_ns = time.time_ns()
        try:
            content, component = read_bytes(file), read_component(file)
        except Unfit as unfit:
            plan.quarantined.append(Quarantined(file.path, str(unfit)))
            plan.gone_files.append(file.path)
            return True
        digest = hashlib.blake2b(content + component.encode(), digest_size=16).digest()
        if before and before.digest == digest:
            return False
        left_out = len(plan.quarantined) + plan.passed_over.total()
        for found in self.isolation.read(file, content, component=component):
            if isinstance(found, Quarantined):
                plan.quarantined.append(found)
            else:
                self._take(plan, file, described(found, file, self.source))
        if len(plan.quarantined) + plan.passed_over.total() == left_out:
            known = KnownFile(file.size, file.mtime_ns, read_ns, digest, file.etag, file.modified)
            plan.files.append((file.path, known))
        else:
            # It is not remembered, so that it is read and reported each time until it is fixed.
            plan.gone_files.append(file.path)
        return True

    def _take(self, plan: Plan, file: SourceFile, document: Document) -> None:
        """Put a document into the plan, if it has text and there is anything to do about it."""
        if file.url and self.source.robots and document.noindex:
            plan.quarantined.append(Quarantined(document.id, "the page asks not to be indexed (robots meta tag)"))
            return
        known = self.known.documents.get(document.id)
        digest = known.digest if known else b""
        same = digest == catalog.digest_of(document)
        if same and self.known.reusable:
            plan.present.add(document.id)
            plan.unchanged += 1
            return
        if file.url and self.addresses.setdefault((document.url, document.title), document.id) != document.id:
            plan.passed_over["the same page under another address (canonical link)"] += 1
            return
        if document.withheld and self.source.audience == "public":
            plan.quarantined.append(Quarantined(document.id, document.withheld))
            return
        if not document.text.strip():
            plan.quarantined.append(Quarantined(document.id, "no text"))
            return
        plan.present.add(document.id)
        plan.documents.append((file.path, document))
        if same:
            plan.unchanged += 1
        elif digest:
            plan.changed += 1
        else:
            plan.added += 1

    def _keep(self, held: Mapping[str, str], *, stale: str) -> Plan:
        """A plan that keeps everything the base holds from this source."""
        described = IndexedSource(self.source.where, len(held), self.source.name, stale)
        return Plan(sources=[described], present=set(held), unchanged=len(held))

    def _vanishing(self, plan: Plan, held: Mapping[str, str]) -> str:
        """Why the source counts as missing. Empty if it does not."""
        before = self.known.sources.get(self.source.name)
        if self.source.name == LEARNED:
            # This is no accident of a file system: the program removes what people take back.
            return ""
        gone = held.keys() - plan.present
        # Another path is a decision of the operator, not an accident of a file system.
        if before is None or before.path != self.source.where or len(gone) <= VANISHING * len(held):
            return ""
        first = f" {len(plan.quarantined):,} left out, the first being {_told(plan)}." if plan.quarantined else ""
        return f"{len(gone):,} of {len(held):,} documents would vanish from {self.source.where}.{first}"


def described(document: Document, file: SourceFile, source: Source) -> Document:
    """The document, with the source's fields where it has none itself."""
    named = document.category if document.category != folder_of(file.path) else ""
    return replace(
        document,
        url=_address(source, file, document.url),
        category=named or source.category or document.category,
        language=document.language or source.language,
        origin=source.name,
    )


def _told(plan: Plan) -> str:
    return f"{plan.quarantined[0].name}: {plan.quarantined[0].reason}"


def _is_unchanged(before: KnownFile | None, file: SourceFile) -> bool:
    """Whether a file is the one that was read before, judged without reading it."""
    if before is None or (before.size, before.mtime_ns) != (file.size, file.mtime_ns):
        return False
    return before.mtime_ns < before.read_ns - SETTLED_NS


def _address(source: Source, file: SourceFile, own: str) -> str:
    """Where a page can be read: its own address, where it was fetched, or by the address of its source.

    `own` may be a path on the site, as in `permalink: /fees/`, or a last part, as in `slug: fees`.
    """
    if urlsplit(own).scheme or file.url or not source.url:
        return own if urlsplit(own).scheme else file.url
    path = page_path(PurePosixPath(file.path.removeprefix(source.prefix)).with_suffix(""), file.generator)
    if path is None:
        return ""
    if path.stem.lower() in _FOLDER_PAGES:
        path = path.parent
    named = PurePosixPath(own.strip("/")) if own else path
    if "{" in source.url:
        return source.url.replace("{path}", quote(str(path))).replace("{slug}", quote(named.name))
    site = source.url if source.url.endswith("/") else f"{source.url}/"
    if own.startswith("/"):
        return urljoin(site, quote(own))
    return urljoin(site, quote(str(path.parent / own if own else path)))
