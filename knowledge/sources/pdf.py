"""A PDF's text, page by page.

PDFium reads it. It is not written in Python, so a file can end the process that reads it (isolation.py).
"""

import re
from contextlib import closing

from pypdfium2 import PdfDocument, PdfiumError
from pypdfium2.raw import FPDF_ERR_PASSWORD

from knowledge.documents import Document, clean, describe, read_page
from knowledge.sources.files import Unfit

PAGES = 2_000

_DIVIDED = "\ufffe"
"""What PDFium puts in place of the hyphen and the end of a line that divide a word."""
_HYPHENATED = re.compile(r"(?<=[a-zß-öø-ÿ])[-\u00ad\u2010]\n(?=[a-zß-öø-ÿ])")


def read_pdf(content: bytes, *, path: str) -> Document:
    """Read a PDF with a text layer. Raises Unfit for scans and for files with a password."""
    try:
        with closing(PdfDocument(content)) as found:
            if len(found) > PAGES:
                raise Unfit(f"more than {PAGES:,} pages")
            pages = [_text(found, number) for number in range(len(found))]
            about = found.get_metadata_dict()
    except PdfiumError as error:
        is_locked = error.err_code == FPDF_ERR_PASSWORD
        raise Unfit("protected by a password" if is_locked else "not a readable PDF") from error
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise Unfit("no text layer: a scan?")
    described = {"title": clean(about.get("Title", "")), "date": _date(about.get("ModDate", ""))}
    return describe(read_page(text, path=path, markup="plain"), described)


def _text(found: PdfDocument, number: int) -> str:
    """A page's text. Words that were divided at the end of a line are joined again."""
    with closing(found[number]) as page, closing(page.get_textpage()) as text:
        read = text.get_text_range().replace("\r\n", "\n").replace(_DIVIDED, "-\n")
    return _HYPHENATED.sub("", clean(read)).strip()


def _date(value: str) -> str:
    """D:20260102… as an ISO date. Empty for anything else."""
    match = re.match(r"D:(\d{4})(\d{2})(\d{2})", value)
    return "-".join(match.groups()) if match else ""
