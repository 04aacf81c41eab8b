"""A PDF's text, page by page."""

import io
import re

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from knowledge.documents import Document, clean, describe, read_page
from knowledge.sources.files import Unfit

PAGES = 2_000

_HYPHENATED = re.compile(r"(?<=[a-zß-öø-ÿ])[-\u00ad\u2010]\n(?=[a-zß-öø-ÿ])")


def read_pdf(content: bytes, *, path: str) -> Document:
    """Read a PDF with a text layer. Raises Unfit for scans and for files with a password."""
    try:
        reader = PdfReader(io.BytesIO(content))
        _refuse(reader)
        pages = [_text(page.extract_text()) for page in reader.pages]
        about = {name: str(value) for name, value in (reader.metadata or {}).items()}
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OSError) as error:
        raise Unfit(f"not a readable PDF ({type(error).__name__})") from error
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise Unfit("no text layer: a scan?")
    described = {"title": clean(about.get("/Title", "")), "date": _date(about.get("/ModDate", ""))}
    return describe(read_page(text, path=path, markup="plain"), described)


def _refuse(reader: PdfReader) -> None:
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unfit("protected by a password")
    if len(reader.pages) > PAGES:
        raise Unfit(f"more than {PAGES:,} pages")


def _text(text: str) -> str:
    """A page's text. Words that were divided at the end of a line are joined again."""
    return _HYPHENATED.sub("", clean(text)).strip()


def _date(value: str) -> str:
    """D:20260102… as an ISO date. Empty for anything else."""
    match = re.match(r"D:(\d{4})(\d{2})(\d{2})", value)
    return "-".join(match.groups()) if match else ""
