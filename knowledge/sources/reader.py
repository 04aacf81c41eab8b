"""One file in, its documents out. The file's suffix decides its kind.

Nothing here is safe from malicious files: the builder runs it in a process of its own (isolation.py).
"""

import importlib
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from knowledge.documents import Document, read_page, sift
from knowledge.sources.asciidoc import read_asciidoc
from knowledge.sources.docx import read_docx
from knowledge.sources.encodings import decode
from knowledge.sources.exports import exported, read_export, unpack
from knowledge.sources.faq import read_faq, read_faq_lines
from knowledge.sources.files import Quarantined, Unfit
from knowledge.sources.html import read_html
from knowledge.sources.notebook import read_notebook
from knowledge.sources.org import read_org

_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{2,40})""", re.IGNORECASE)


def read_documents(
    path: str, suffix: str, content: bytes, *, url: str = "", charset: str = "", component: str = ""
) -> Iterator[Document | Quarantined]:
    """The documents of a file, whose kind is `suffix`, without what no one sees in them.

    `url` and `charset` are where a page was fetched, and the encoding that its server names. `component` is the text of
    the `antora.yml` that it belongs to. What cannot be used comes as Quarantined. Errors of the parsers are not caught.
    """
    for found in _read(path, suffix, content, url=url, charset=charset, component=component):
        if isinstance(found, Quarantined):
            yield found
            continue
        document = sift(found)
        yield document if document.text.strip() else Quarantined(document.id, "no text")


def _read(
    path: str, suffix: str, content: bytes, *, url: str = "", charset: str = "", component: str = ""
) -> Iterator[Document | Quarantined]:
    declared = (charset,) if charset else ()
    try:
        match suffix:
            case ".csv" | ".tsv":
                yield from read_faq(decode(content), path=path)
            case ".jsonl":
                yield from read_faq_lines(decode(content), path=path)
            case ".html" | ".htm":
                yield read_html(decode_html(content, *declared), path=path, url=url)
            case ".docx":
                yield read_docx(content, path=path)
            case ".pdf":
                pdf: Document = importlib.import_module("knowledge.sources.pdf").read_pdf(content, path=path)
                yield pdf
            case ".ipynb":
                yield read_notebook(decode(content), path=path)
            case ".rst":
                # Docutils takes a moment to import, which folders without such pages should not pay.
                module = importlib.import_module("knowledge.sources.rst")
                page: Document = module.read_rst(decode(content), path=path)
                yield page
            case ".adoc" | ".asciidoc":
                yield read_asciidoc(decode(content), path=path, component=component)
            case ".org":
                yield read_org(decode(content), path=path)
            case ".json":
                yield from read_export(decode(content), path=path)
            case ".zip":
                yield from _read_archive(content, path=path)
            case ".txt":
                yield read_page(decode(content, declared=declared), path=path, markup="plain")
            case _:
                text = decode(content, declared=declared)
                yield read_page(text, path=path, markup="markdown", jsx=suffix == ".mdx")
    except Unfit as unfit:
        yield Quarantined(path, str(unfit))


def _read_archive(content: bytes, *, path: str) -> Iterator[Document | Quarantined]:
    """The pages of an exported space: each file of a kind that is read, except further archives."""
    for name, inner in unpack(content):
        suffix = PurePosixPath(name).suffix.lower()
        if isinstance(inner, str):
            yield Quarantined(f"{path}/{name}", inner)
        elif suffix != ".zip":
            for found in _read(f"{path}/{name}", suffix, inner):
                yield exported(found) if isinstance(found, Document) else found


def decode_html(content: bytes, *served: str) -> str:
    """A page's text. What its server names comes before the encoding that is declared near its top. Raises Unfit."""
    declared = _CHARSET.search(content, 0, 2_048)
    return decode(content, declared=(*served, declared[1].decode("ascii", "ignore") if declared else ""))
