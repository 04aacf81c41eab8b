"""Cutting a document into chunks that can be understood on their own.

`chunk` does it all; `chunk_within` does the same by a tokenizer's count. A document is cut into sections by heading. A
section that is too big is split between blocks (paragraphs, tables, code), and a block that is too big between rows,
lines, sentences, words. Sections that are too small are joined with a neighbour. The heading path comes before every
chunk, which helps retrieval more than anything else. Sizes are in tokens, estimated unless a tokenizer is given.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from knowledge.documents import Document
from knowledge.markdown import Block, Heading, blocks, headings
from knowledge.site_markup import without_targets

VERSION = 3
"""A part of the fingerprint. Raise it whenever the same document would be cut differently."""

LEAST_WORDS = 12
"""Words below which a chunk says nothing by itself: it joins a neighbour, whatever that is about."""
LIMIT = 500
"""Tokens of the largest chunk, heading path included."""
FULL = 400
"""Tokens at which packing stops. Only what should stay whole may go on to LIMIT."""
SMALL = 60
"""Tokens below which a section is joined with a neighbour."""
JOINED = 300
"""Tokens that two joined sections may have together."""
PATH_LIMIT = 60
"""Tokens of a heading path. The headings between title and last are dropped first."""
GAP = 2
"""Tokens of the white space between two blocks, at most."""

PATH_SEPARATOR = " > "

_TOKEN = re.compile(r"[A-Za-z]+|\n\s*|[^\sA-Za-z]")
_SPLITS = (
    re.compile(r"\n(?=(?:[-*+]|\d{1,9}[.)])[ \t])"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?;:…])\s+|(?<=[。！？；])"),
    re.compile(r"\s+"),
)

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage: it is what is embedded, indexed, found and quoted."""

    heading: str
    """Title and headings, outermost first, joined by " > "."""
    text: str
    """`lead`, and the document's text from start to end."""
    start: int
    end: int
    anchor: str
    """The nearest heading as a link fragment. Empty above the first heading."""
    lead: str = ""
    """A table's head or a code fence's opening line. It is repeated when the block had to be split."""

    @property
    def full_text(self) -> str:
        """What is embedded: the heading path above the text, without the addresses of links."""
        return f"{self.heading}\n{without_targets(self.text)}"


def count_tokens(text: str) -> int:
    """Estimate the tokens: a short word is one, a longer word more, a sign or digit one, anything but ASCII two.

    Two texts joined never have more than the sum of both and a GAP.
    """
    return sum(map(_cost, _TOKEN.findall(text)))


@lru_cache(maxsize=65_536)
def _cost(token: str) -> int:
    if token[0] == "\n":
        return min(token.count("\n"), GAP)
    return 1 + (len(token) - 1) // 5 if token.isascii() else 2


def chunk(document: Document, *, count: Count = count_tokens) -> list[Chunk]:
    """Cut a document. Everything except headings and white space is in exactly one chunk."""
    cutter = _Cutter(document, count)
    drafts = [draft for section in _sections(document) for draft in cutter.cut(section)]
    return [cutter.finish(draft) for draft in cutter.join_small(drafts)]


def chunk_within(document: Document, *, count: Count) -> list[Chunk]:
    """Cut by estimate, which is fast, and again by a model's own count if the estimate was not enough."""
    chunks = chunk(document)
    # A token is at least one byte.
    large = (text for chunk in chunks if len((text := chunk.full_text).encode()) > LIMIT)
    if any(count(text) > LIMIT for text in large):
        return chunk(document, count=count)
    return chunks


@dataclass(frozen=True, slots=True)
class _Section:
    path: tuple[str, ...]
    """The headings above this section, and its own."""
    blocks: tuple[Block, ...]
    anchor: str = ""
    """The anchor of its own heading."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A block or a piece of one that is small enough for a chunk."""

    start: int
    end: int
    tokens: int
    lead: str = ""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A chunk that is not finished yet."""

    paths: tuple[tuple[str, ...], ...]
    """One path, or several if neighbouring sections were joined."""
    start: int
    end: int
    tokens: int
    lead: str = ""
    anchor: str = ""
    whole: bool = False
    """Whether it has whole sections only. Then it may be joined with its neighbours."""


def _sections(document: Document) -> list[_Section]:
    text = document.text
    if document.markup == "plain":
        found = tuple(blocks(text, 0, len(text), markdown=False))
        return [_Section((), found)] if found else []
    sections: list[_Section] = []
    path: list[Heading] = []
    opened = body = 0
    for heading in (*headings(text), Heading(len(text), len(text), 0, "", "")):
        found = tuple(blocks(text, body, heading.start, markdown=True))
        # A heading with nothing below it, not even a deeper heading, is text by itself.
        if not found and path and heading.level <= path[-1].level:
            found = (Block("text", opened, body),)
        if found:
            steps = tuple(step.words for step in path)
            sections.append(_Section(steps, found, path[-1].anchor if path else ""))
        path = [*(step for step in path if step.level < heading.level), heading]
        opened, body = heading.start, heading.end
    return sections


class _Cutter:
    """Cuts one document, within the sizes above."""

    def __init__(self, document: Document, count: Count) -> None:
        self._text = document.text
        self._title = document.title
        self._count = count

    def cut(self, section: _Section) -> list[_Draft]:
        """A section as one draft, or as several of about the same size."""
        room = FULL - self._count(self._path((section.path,))) - GAP
        parts = [part for block in section.blocks for part in self._fit(block, room)]
        total = sum(part.tokens + GAP for part in parts)
        # Parts do not divide evenly, so half of the largest part is left free in each draft.
        largest = max(part.tokens for part in parts)
        aim = total / math.ceil(total / max(room - largest / 2, room / 2))
        drafts: list[_Draft] = []
        for part in parts:
            if drafts and self._takes(drafts[-1], part, aim=aim, room=room):
                drafts[-1] = replace(drafts[-1], end=part.end, tokens=drafts[-1].tokens + GAP + part.tokens)
            else:
                drafts.append(_Draft((section.path,), part.start, part.end, part.tokens, part.lead, section.anchor))
        if len(drafts) == 1:
            return [replace(drafts[0], whole=True)]
        return drafts

    def join_small(self, drafts: Sequence[_Draft]) -> list[_Draft]:
        """Join sections that are too small with a neighbour that they belong to."""
        joined: list[_Draft] = []
        for draft in drafts:
            both = self._joined(joined[-1], draft) if joined else None
            if both:
                joined[-1] = both
            else:
                joined.append(draft)
        return joined

    def finish(self, draft: _Draft) -> Chunk:
        """The chunk of a finished draft."""
        return Chunk(
            heading=self._path(draft.paths),
            text=draft.lead + self._text[draft.start : draft.end],
            start=draft.start,
            end=draft.end,
            anchor=draft.anchor,
            lead=draft.lead,
        )

    def _takes(self, draft: _Draft, part: _Part, *, aim: float, room: int) -> bool:
        """Whether a part still belongs to the draft before it. A line that ends in a colon is not left alone."""
        size = draft.tokens + GAP + part.tokens
        if part.lead or size > room + LIMIT - FULL:
            return False
        return self._text[draft.end - 1] == ":" or (size <= room and size - part.tokens / 2 <= aim)

    def _fit(self, block: Block, room: int) -> list[_Part]:
        """A block in parts that fit: whole if possible, otherwise split by its kind."""
        whole = self._count(self._text[block.start : block.end])
        if whole <= (room if block.kind == "text" else room + LIMIT - FULL):
            return [_Part(block.start, block.end, whole)]
        lead = self._lead(block)
        if self._count(lead) > room // 3:
            lead = ""
        extra = self._count(lead)
        spans = self._pack(self._split(block.start, block.end, room - extra, _SPLITS), room - extra)
        parts = [_Part(start, end, self._count(self._text[start:end]) + extra, lead) for start, end in spans]
        return [replace(parts[0], lead=""), *parts[1:]]

    def _lead(self, block: Block) -> str:
        first = self._text[block.start : block.end].split("\n", 2)
        match block.kind:
            case "table":
                return "\n".join(first[:2]) + "\n"
            case "code":
                return first[0] + "\n"
            case "text":
                return ""

    def _split(self, start: int, end: int, room: int, splits: Sequence[re.Pattern[str]]) -> Iterator[tuple[int, int]]:
        """Spans no larger than `room`, cut at the coarsest boundary that is fine enough."""
        if self._count(self._text[start:end]) <= room:
            yield start, end
            return
        if not splits:
            # One endless word, or a script without spaces. Tokenizers make up to four tokens of one character.
            step = max(1, room // 4)
            yield from ((at, min(at + step, end)) for at in range(start, end, step))
            return
        at = start
        for boundary in splits[0].finditer(self._text, start, end):
            if boundary.start() > at:
                yield from self._split(at, boundary.start(), room, splits[1:])
                at = boundary.end()
        if at < end:
            yield from self._split(at, end, room, splits[1:])

    def _pack(self, spans: Iterator[tuple[int, int]], room: int) -> list[tuple[int, int]]:
        packed: list[tuple[int, int]] = []
        size = 0
        for start, end in spans:
            tokens = self._count(self._text[start:end]) + GAP
            if packed and size + tokens <= room:
                packed[-1] = (packed[-1][0], end)
                size += tokens
            else:
                packed.append((start, end))
                size = tokens
        return packed

    def _joined(self, before: _Draft, after: _Draft) -> _Draft | None:
        is_tiny = self._is_tiny(before, after) or self._is_tiny(after, before)
        if not is_tiny:
            if not (before.whole and after.whole) or min(before.tokens, after.tokens) >= SMALL:
                return None
            if not _related(before.paths[-1], after.paths[0]):
                return None
        most = LIMIT if is_tiny else JOINED
        if before.tokens + after.tokens > most:
            return None
        paths = before.paths + after.paths
        # The headings between them count too, since they are part of the text now.
        tokens = self._count(self._text[before.start : after.end])
        if tokens + self._count(self._path(paths)) + GAP > most:
            return None
        return replace(before, paths=paths, end=after.end, tokens=tokens)

    def _is_tiny(self, draft: _Draft, other: _Draft) -> bool:
        """Whether a draft has too few words to be alone. The rest of a section only joins a part of that section."""
        belongs = draft.whole or draft.paths[-1:] == other.paths[:1]
        return (
            belongs
            and not (draft.lead or other.lead)
            and len(self._text[draft.start : draft.end].split()) < LEAST_WORDS
        )

    def _path(self, paths: tuple[tuple[str, ...], ...]) -> str:
        """`Title > Section > Part`. Joined sections share one path, with their own names side by side at its end."""
        first = paths[0]
        steps = list(first)
        if len(paths) > 1:
            most = min(len(path) - 1 for path in paths)
            shared = next((at for at in range(max(most, 0)) if len({path[at] for path in paths}) > 1), most)
            leaves = dict.fromkeys(path[-1] for path in paths if path and not self._is_title(path[-1]))
            steps = [*first[: max(shared, 0)], " · ".join(leaves)]
        steps = [self._title, *(step for step in steps if step and not self._is_title(step))]
        while len(steps) > 2 and self._count(PATH_SEPARATOR.join(steps)) > PATH_LIMIT:
            del steps[1]
        path = PATH_SEPARATOR.join(steps)
        while self._count(path) > PATH_LIMIT:
            path = path[: len(path) * 3 // 4].rstrip()
        return path

    def _is_title(self, heading: str) -> bool:
        return heading.casefold() == self._title.casefold()


def _related(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Siblings under one heading, or a section and its first child."""
    return before[:-1] == after[:-1] or before == after[:-1]
