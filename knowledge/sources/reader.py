"""One file in, its documents out: the kind is told by the name."""

from collections.abc import Iterator

from knowledge.documents import Document, read_page
from knowledge.sources.faq import read_faq
from knowledge.sources.files import Quarantined, SourceFile, Unfit, decode


def read_documents(file: SourceFile, content: bytes) -> Iterator[Document | Quarantined]:
    """The documents of a file; what cannot be used comes as Quarantined, and nothing is raised."""
    try:
        text = decode(content)
        match file.full.suffix.lower():
            case ".csv":
                yield from read_faq(text, path=file.path)
            case ".txt":
                yield read_page(text, path=file.path, markup="plain")
            case _:
                yield read_page(text, path=file.path, markup="markdown")
    except Unfit as unfit:
        yield Quarantined(file.path, str(unfit))
