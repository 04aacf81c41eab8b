"""What a build would make of one file: its documents and their passages, without a base and without an embedder's cost.

`preview` reads the file as the builder does: in a process of its own, with the fields and patterns of its source.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from knowledge.audience import Audience
from knowledge.build.plan import described
from knowledge.build.withholding import withhold
from knowledge.chunking import Chunk, Count, chunk_within
from knowledge.config import Source
from knowledge.documents import Document, Notice
from knowledge.errors import SourceUnreadable
from knowledge.sources.files import (
    Quarantined,
    SourceFile,
    Unfit,
    list_files,
    read_bytes,
    read_component,
    why_passed_over,
)
from knowledge.sources.isolation import open_isolation


@dataclass(frozen=True, slots=True)
class PreviewedDocument:
    """One document as the base would hold it."""

    document: Document
    chunks: tuple[Chunk, ...]
    """Its passages that are served."""
    notices: tuple[Notice, ...]
    """What was removed from it or withheld."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a build would make of one file."""

    path: str
    """Its name in the base."""
    source: str
    """The name of its source, or its place. Empty if no source holds the file."""
    audience: Audience
    size: int
    """Bytes of the file."""
    documents: tuple[PreviewedDocument, ...]
    left_out: tuple[Quarantined, ...]


def preview(file: Path, sources: Sequence[Source], *, count: Count) -> Preview:
    """Read a file as a part of the source that holds it, or alone. `count` counts tokens as the embedder does.

    Raises SourceUnreadable if the file can't be found.
    """
    holding = next((each for each in sources if _holds(each, file)), None)
    source = holding or Source(file=file.resolve())
    name = (holding.name or holding.where) if holding else ""
    found = _find(file, source)
    if isinstance(found, Quarantined):
        return Preview(found.name, name, source.audience, 0, (), (found,))
    try:
        content, component = read_bytes(found), read_component(found)
    except Unfit as unfit:
        return Preview(found.path, name, source.audience, 0, (), (Quarantined(found.path, str(unfit)),))
    documents: list[PreviewedDocument] = []
    refused: list[Quarantined] = []
    with open_isolation() as isolation:
        for each in isolation.read(found, content, component=component):
            if isinstance(each, Quarantined):
                refused.append(each)
            elif each.withheld and source.audience == "public":
                refused.append(Quarantined(each.id, each.withheld))
            else:
                documents.append(_previewed(described(each, found, source), source.audience, count=count))
    return Preview(found.path, name, source.audience, len(content), tuple(documents), tuple(refused))


def _previewed(document: Document, audience: Audience, *, count: Count) -> PreviewedDocument:
    served, notices = withhold(document, chunk_within(document, count=count), audience=audience)
    return PreviewedDocument(document, tuple(served), tuple(notices))


def _holds(source: Source, file: Path) -> bool:
    """Whether the file belongs to a source on disk, by its place alone."""
    if source.addresses:
        return False
    place = source.place.resolve()
    real = file.resolve()
    return real == place or place in real.parents


def _find(file: Path, source: Source) -> SourceFile | Quarantined:
    """The file as its source lists it, or why it does not. Raises SourceUnreadable."""
    place = source.place.resolve()
    real = file.parent.resolve() / file.name
    inside = real.relative_to(place).as_posix() if place in real.parents else real.name
    listing = list_files(source.place, include=source.include, exclude=source.exclude)
    for entry in listing.files:
        if entry.path == inside:
            return replace(entry, path=source.prefix + inside)
    reason = next((each.reason for each in listing.quarantined if each.name == inside), "")
    if reason:
        return Quarantined(source.prefix + inside, reason)
    if not real.is_file():
        raise SourceUnreadable(f"There is no file {file}.")
    passed = why_passed_over(inside, include=source.include, exclude=source.exclude)
    return Quarantined(source.prefix + inside, f"passed over ({passed or 'in a hidden folder'})")
