"""`frontdesk kb try`: the passages of one file, before anything is built."""

import argparse
import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from bot.errors import ConfigurationError
from bot.integrations import open_embedder
from bot.settings import Settings
from knowledge.build.preview import Preview, PreviewedDocument, preview
from knowledge.chunking import Chunk, Count
from knowledge.config import read_config
from knowledge.errors import KnowledgeError, SourceUnreadable
from knowledge.site_markup import without_heading_ids
from knowledge.text import visible


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print what a build would make of the file. The exit status is 1 if nothing of it would be served."""
    async with AsyncExitStack() as stack:
        embedder = await open_embedder(settings, stack)
        try:
            path = given.sources or settings.kb_path
            found = await asyncio.to_thread(_preview, given.file, path, count=embedder.count_tokens)
        except KnowledgeError as error:
            raise ConfigurationError([f"kb try: {error}"]) from None
    for line in _lines(found):
        print(line)
    return 0 if any(each.chunks for each in found.documents) else 1


def _preview(file: Path, path: Path | None, *, count: Count) -> Preview:
    """The preview of a file, whose source is described at `path`. Raises KnowledgeError."""
    if file.is_dir():
        raise SourceUnreadable(f"{file} is a folder; give one of its files")
    return preview(file, read_config(path).sources if path else (), count=count)


def _lines(found: Preview) -> Iterator[str]:
    chunks = sum(len(each.chunks) for each in found.documents)
    words = sum(_words(chunk) for each in found.documents for chunk in each.chunks)
    counts = (_counted(len(found.documents), "document"), _counted(chunks, "passage"), _counted(words, "word"))
    yield f"{visible(found.path)}: {', '.join(counts)}, from {found.size:,} bytes"
    readers = "staff alone" if found.audience == "internal" else "customers"
    yield f"in the source {found.source}, for {readers}" if found.source else "in no source, read by itself"
    for left_out in found.left_out:
        yield f"! left out {visible(left_out.name)}: {visible(left_out.reason)}"
    for each in found.documents:
        yield from _document(each)


def _document(previewed: PreviewedDocument) -> Iterator[str]:
    document = previewed.document
    yield ""
    yield f"# {document.title}"
    yield f"  name      {document.id}"
    yield f"  address   {document.url or 'none: an answer names the page without a link'}"
    fields = {"category": document.category, "language": document.language, "updated": document.last_updated}
    for name, value in fields.items():
        if value:
            yield f"  {name:<9} {value}"
    for notice in previewed.notices:
        if notice.is_hidden:
            yield f"  removed   {_counted(notice.times, notice.kind)}"
            continue
        told = f"; {_counted(notice.withheld, 'passage')} not served" if notice.withheld else ""
        yield f"  ! secret  {notice.kind} ({notice.times:,}){told}"
    for number, chunk in enumerate(previewed.chunks, start=1):
        where = f" · {document.url}#{chunk.anchor}" if chunk.anchor and document.url else ""
        yield ""
        yield f"-- passage {number} of {len(previewed.chunks)} · {_counted(_words(chunk), 'word')}{where}"
        yield chunk.heading
        yield without_heading_ids(chunk.text).strip("\n")


def _words(chunk: Chunk) -> int:
    return len(chunk.text.split())


def _counted(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"
