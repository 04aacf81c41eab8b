"""A Word document: headings, paragraphs, lists and tables as Markdown.

A document is a zip file of XML. Whatever size it claims, it is unpacked only up to a limit; xml.py refuses entities.
python-docx unpacks without a limit, and would add 15 MB to the installation.
"""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from xml.etree import ElementTree as ET

from knowledge.documents import Document, clean, describe, read_page
from knowledge.markdown import table
from knowledge.sources.files import Unfit
from knowledge.sources.xml import children, parse_xml

PART_BYTES = 50_000_000
"""Bytes of one part of the archive, unpacked."""

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_CORE = "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}"
_DUBLIN = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_HEADING = re.compile(r"heading ?([1-6])", re.IGNORECASE)


def read_docx(content: bytes, *, path: str) -> Document:
    """Read headings, paragraphs, lists and tables, without comments and deleted or hidden text. Raises Unfit."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            body = _part(archive, "word/document.xml")
            styles = _heading_styles(_xml(archive, "word/styles.xml"))
            core = _xml(archive, "docProps/core.xml")
        if body is None:
            raise Unfit("not a Word document: it has no word/document.xml")
        blocks = list(_word_blocks(children(body, f"{_WORD}body"), styles))
    except (zipfile.BadZipFile, ET.ParseError, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise Unfit(f"not a readable Word document ({type(error).__name__})") from error
    text = clean("\n\n".join(blocks)).strip()
    if not text:
        raise Unfit("no text")
    return describe(read_page(f"{text}\n", path=path, markup="markdown"), _core_fields(core))


def _part(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """A part of the archive. None if it does not exist. Raises Unfit if it unpacks to more than PART_BYTES."""
    if name not in archive.namelist():
        return None
    with archive.open(name) as part:
        content = part.read(PART_BYTES + 1)
    if len(content) > PART_BYTES:
        raise Unfit(f"unpacks to more than {PART_BYTES // 1_000_000} MB")
    return content


def _xml(archive: zipfile.ZipFile, name: str) -> ET.Element | None:
    content = _part(archive, name)
    return parse_xml(content) if content is not None else None


def _heading_styles(styles: ET.Element | None) -> dict[str, int]:
    """Style id -> level, by the styles' English names, which Word keeps in every language."""
    found: dict[str, int] = {}
    for style in styles.iter(f"{_WORD}style") if styles is not None else ():
        name = style.find(f"{_WORD}name")
        words = name.get(f"{_WORD}val", "") if name is not None else ""
        if match := _HEADING.fullmatch(words):
            found[style.get(f"{_WORD}styleId", "")] = int(match[1])
        elif words.lower() == "title":
            found[style.get(f"{_WORD}styleId", "")] = 1
    return found


def _word_blocks(body: Iterable[ET.Element], styles: Mapping[str, int]) -> Iterator[str]:
    items: list[str] = []
    for element in body:
        block, is_item = _word_block(element, styles)
        if items and not is_item:
            yield "\n".join(items)
            items.clear()
        if is_item and block:
            items.append(block)
        elif block:
            yield block
    if items:
        yield "\n".join(items)


def _word_block(element: ET.Element, styles: Mapping[str, int]) -> tuple[str, bool]:
    """A paragraph, list item or table as Markdown, and whether it is an item of a list."""
    if element.tag == f"{_WORD}tbl":
        return _word_table(element), False
    if element.tag == f"{_WORD}sdt":
        inner = element.find(f"{_WORD}sdtContent")
        return "\n\n".join(_word_blocks(inner, styles) if inner is not None else ()), False
    if element.tag != f"{_WORD}p":
        return "", False
    words = _word_text(element)
    style = element.find(f"{_WORD}pPr/{_WORD}pStyle")
    level = styles.get(style.get(f"{_WORD}val", ""), 0) if style is not None else 0
    if words and level:
        return f"{'#' * level} {' '.join(words.split())}", False
    if words and element.find(f"{_WORD}pPr/{_WORD}numPr") is not None:
        return f"- {words}", True
    return words, False


def _word_text(paragraph: ET.Element) -> str:
    parts: list[str] = []
    for run in paragraph.iter(f"{_WORD}r"):
        hidden = run.find(f"{_WORD}rPr/{_WORD}vanish")
        if hidden is not None and hidden.get(f"{_WORD}val", "true") not in ("0", "false"):
            continue
        for piece in run:
            match piece.tag.removeprefix(_WORD):
                case "t":
                    parts.append(piece.text or "")
                case "tab":
                    parts.append("\t")
                case "br" | "cr":
                    parts.append("\n")
                case "noBreakHyphen":
                    parts.append("-")
    return "".join(parts).strip()


def _word_table(element: ET.Element) -> str:
    rows = [
        [" ".join(" ".join(map(_word_text, cell.iter(f"{_WORD}p"))).split()) for cell in row.findall(f"{_WORD}tc")]
        for row in element.findall(f"{_WORD}tr")
    ]
    return table(rows)


def _core_fields(core: ET.Element | None) -> dict[str, str]:
    if core is None:
        return {}
    named = {"title": f"{_DUBLIN}title", "language": f"{_DUBLIN}language", "date": f"{_TERMS}modified"}
    named["category"] = f"{_CORE}category"
    found = {field: core.findtext(tag) or "" for field, tag in named.items()}
    return {field: clean(value).strip() for field, value in found.items()}
