"""Files that are made to end, hang or exhaust whoever reads them, each small enough to be put into a help folder."""

import io
import json
import zipfile
import zlib

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def nested_docx(depth: int = 20_000) -> bytes:
    """A Word document of some kilobytes with this many elements inside each other."""
    return _word(f"{'<w:sdt><w:sdtContent>' * (depth // 2)}{'</w:sdtContent></w:sdt>' * (depth // 2)}")


def wide_docx(size: int = 49_000_000) -> bytes:
    """A Word document that unpacks to this many bytes of empty elements."""
    return _word("<w:p/>" * (size // 6))


def entities_docx() -> bytes:
    """Entities that grow, in an encoding in which a search for their declaration finds nothing."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "x"}">' for n in range(9))
    return _word("<w:p><w:r><w:t>&e8;</w:t></w:r></w:p>", head=f"<!DOCTYPE x [{entities}]>", encoding="utf-16")


def attributes_html(count: int = 40_000) -> bytes:
    """One tag with this many attributes."""
    return f"<p>Words.</p><p {' '.join(f'a{n}=1' for n in range(count))}>x</p>".encode()


def misnested_html(size: int = 1_900_000) -> bytes:
    """Elements inside each other whose end tags are those of others."""
    return b"<p>Words.</p>" + b"<b></u>" * (size // 7)


def unclosed_html(size: int = 1_900_000) -> bytes:
    """A page of elements that browsers open again in each paragraph."""
    return b"<p>Words.</p>" + b"".join(b"<p><b id=%d>" % n for n in range(size // 14))


def wide_html(width: int = 60_000) -> bytes:
    """A table with one row of many cells and many rows of one."""
    return b"<table><tr>" + b"<td>a" * width + b"<tr><td>b" * width + b"</table>"


def operators_pdf(count: int = 5_000_000) -> bytes:
    """A page whose packed instructions unpack to many times their size."""
    return _pdf(b"BT /F1 12 Tf 72 720 Td (Words.) Tj ET\n" + b"q Q\n" * count)


def aliases_md() -> bytes:
    """Front matter whose merged aliases double with each line."""
    lines = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40))]
    return ("---\n" + "\n".join(lines) + "\n---\n\n# Aliases\n\nWords.\n").encode()


def comments_md(size: int = 4_000_000) -> bytes:
    """One line in which comments never quite begin."""
    return b"# Comments\n\n" + b"`<!--" * (size // 5)


def quotes_md(depth: int = 500_000) -> bytes:
    """Quotations and lists inside each other."""
    return b"# Quotes\n\n" + b"> " * depth + b"words\n" + b"- " * depth + b"words\n"


def nested_ipynb(depth: int = 500_000) -> bytes:
    """JSON that is nothing but brackets."""
    return b'{"cells": ' + b"[" * depth + b"]" * depth + b"}"


def columns_csv(columns: int = 300_000) -> bytes:
    """A table with very many columns and as many rows of one cell."""
    return b"question,answer" + b"".join(b",c%d" % n for n in range(columns)) + b"\nA?,b" * columns


def nested_jsonl(depth: int = 400_000) -> bytes:
    """A line of JSON that is nothing but brackets, between two good ones."""
    good = json.dumps({"question": "How long?", "answer": "Two days."}).encode()
    return good + b"\n" + b"[" * depth + b"]" * depth + b"\n"


def zip_docx() -> bytes:
    """A part that unpacks to a gigabyte."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        for _ in range(1_000):
            part.write(bytes(1_000_000))
    return out.getvalue()


def crowded_docx(files: int = 150_000) -> bytes:
    """An archive of very many empty parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(files):
            archive.writestr(zipfile.ZipInfo(str(number)), b"")
    return out.getvalue()


BOMBS = {
    "nested.docx": nested_docx,
    "wide.docx": wide_docx,
    "entities.docx": entities_docx,
    "zip.docx": zip_docx,
    "crowded.docx": crowded_docx,
    "attributes.html": attributes_html,
    "misnested.html": misnested_html,
    "unclosed.html": unclosed_html,
    "wide.html": wide_html,
    "operators.pdf": operators_pdf,
    "aliases.md": aliases_md,
    "comments.md": comments_md,
    "quotes.md": quotes_md,
    "nested.ipynb": nested_ipynb,
    "columns.csv": columns_csv,
    "nested.jsonl": nested_jsonl,
}
"""Name -> what makes its content."""


def _word(body: str, *, head: str = "", encoding: str = "utf-8") -> bytes:
    text = f'<?xml version="1.0" encoding="{encoding}"?>{head}<w:document {_W}><w:body>{body}</w:body></w:document>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", text.encode(encoding))
    return out.getvalue()


def _pdf(stream: bytes) -> bytes:
    packed = zlib.compress(stream, 9)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
    ]
    out, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count, start = len(objects) + 1, len(out)
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        count,
        table,
        count,
        start,
    )
