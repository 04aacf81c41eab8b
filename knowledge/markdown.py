"""The part of Markdown that cutting needs: where headings are, the paragraphs, tables and fenced code between them, and
how a table is written.

Everything works on offsets into one string, and in time proportional to its length, for any string.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

LINE_LIMIT = 300
"""Characters of a line that may be a heading or a table's rule. A longer line is text."""

CELLS_LIMIT = 100_000
"""Cells that a table is filled up to. In a larger table, rows stay as they are."""

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

_MARKS = ("#", "=", "-")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ID = re.compile(r"\{#([^\s{}]{1,200})\}\s*$")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_NOT_A_PARAGRAPH = re.compile(r"[ \t]*([-*+>|]|\d+[.)])")

Kind = Literal["text", "table", "code"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's line, or its two lines if it is underlined."""

    start: int
    end: int
    level: int
    words: str
    """The heading's text without emphasis, links and other marks."""
    anchor: str
    """The link fragment that leads there: its own `{#id}`, or its words in the form that most sites use."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph or list, a table, or fenced code."""

    kind: Kind
    start: int
    end: int


def headings(text: str) -> Iterator[Heading]:
    """Every heading outside code, in order."""
    position, fence = 0, ""
    paragraph: list[tuple[int, str]] = []
    for line in lines(text, 0, len(text)):
        bare = line.rstrip("\n")
        mark = FENCE.match(bare)
        heading: Heading | None = None
        if fence:
            fence = "" if closes(bare, fence) else fence
        elif mark:
            fence = mark[1]
        elif len(bare) <= LINE_LIMIT:
            heading = _heading(line, position, paragraph)
        if heading:
            yield heading
        ends_paragraph = heading or fence or mark or not bare.strip()
        # Two lines are enough to know that a paragraph has more than one.
        paragraph = [] if ends_paragraph else [*paragraph[-1:], (position, bare)]
        position += len(line)


def blocks(text: str, start: int, end: int, *, markdown: bool) -> Iterator[Block]:
    """The blocks between two offsets, without the white space between. Plain text has paragraphs only."""
    kind: Kind | None = None
    fence = ""
    begin = position = start
    ended = 0
    for line in lines(text, start, end):
        mark = FENCE.match(line) if markdown else None
        if ended and line.strip():
            # A list goes on below an empty line, as long as items or indented lines follow.
            if not (mark is None and (_ITEM.match(line) or line.startswith(("  ", "\t")))):
                yield _trimmed(text, "text", begin, ended)
                kind = None
            ended = 0
        if fence:
            if closes(line, fence):
                yield _trimmed(text, "code", begin, position + len(line))
                kind, fence = None, ""
        elif mark:
            if kind:
                yield _trimmed(text, kind, begin, position)
            begin, kind, fence = position, "code", mark[1]
        elif not line.strip():
            if markdown and kind == "text" and _ITEM.match(text, begin, position):
                ended = ended or position
            elif kind:
                yield _trimmed(text, kind, begin, position)
                kind = None
        elif kind is None:
            begin, kind = position, "text"
        elif markdown and kind == "text" and _is_table_rule(line):
            head = text.rfind("\n", begin, position - 1) + 1
            if head > begin:
                yield _trimmed(text, "text", begin, head)
            begin, kind = max(head, begin), "table"
        position += len(line)
    if kind:
        yield _trimmed(text, kind, begin, end)


def lines(text: str, start: int, end: int) -> Iterator[str]:
    """Lines with their ends. Unlike with str.splitlines, only a newline ends a line."""
    while start < end:
        stop = text.find("\n", start, end) + 1 or end
        yield text[start:stop]
        start = stop


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells as a table with the first row as its head. Empty if all cells are."""
    told = [[cell.replace("|", "/") for cell in row] for row in rows if any(row)]
    if not told:
        return ""
    width = max(map(len, told))
    if width * len(told) > CELLS_LIMIT:
        # One row with many cells would make every other row as long.
        width = 0
    written = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in told]
    return "\n".join([written[0], f"|{' --- |' * width}", *written[1:]])


def closes(line: str, fence: str) -> bool:
    """Whether a line ends the code that `fence` began: the same mark, at least as long, and nothing after it."""
    mark = FENCE.match(line)
    return mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0])


def _heading(line: str, position: int, paragraph: list[tuple[int, str]]) -> Heading | None:
    """The heading that this line is, or that it makes from a one-line paragraph above."""
    if not line.lstrip(" ").startswith(_MARKS):
        return None
    bare = line.rstrip("\n")
    if (atx := _ATX.match(bare)) and (words := _words(atx[2] or "")):
        return Heading(position, position + len(line), len(atx[1]), words, _anchor(atx[2], words))
    if len(paragraph) != 1 or not (rule := _SETEXT.match(bare)):
        return None
    start, above = paragraph[0]
    if len(above) > LINE_LIMIT or _NOT_A_PARAGRAPH.match(above) or not (words := _words(above)):
        return None
    return Heading(start, position + len(line), 1 if rule[1][0] == "=" else 2, words, _anchor(above, words))


def _anchor(heading: str, words: str) -> str:
    given = _ID.search(heading)
    return given[1] if given else re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", words.lower()).strip())


def _words(heading: str) -> str:
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return " ".join(re.sub(r"[*`]|(?<!\w)_|_(?!\w)|\{#[^}]*\}", "", heading).split())


def _is_table_rule(line: str) -> bool:
    return "|" in line and len(line) <= LINE_LIMIT and _TABLE_RULE.match(line.rstrip("\n")) is not None


def _trimmed(text: str, kind: Kind, start: int, end: int) -> Block:
    while end > start and text[end - 1].isspace():
        end -= 1
    # In a table or in code, leading spaces have a meaning.
    while kind == "text" and start < end and text[start].isspace():
        start += 1
    return Block(kind, start, end)
