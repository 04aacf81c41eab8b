"""AsciiDoc, line by line, as Markdown. What is included from other files is left out."""

import re
from collections.abc import Iterator

from knowledge.documents import Document, clean, read_page
from knowledge.markdown import table

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+=+)?[ \t]*$")
_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:[ \t]+(.*))?$")
_BLOCK_ATTRIBUTES = re.compile(r"\[(?!\[)[^\[\]]*\]$|\[\[[^\[\]]*\]\]$")
_ID = re.compile(r"\[(?:\[([\w:.-]+)[^\]]*\]|#([\w:.-]+)[^\]]*)\]$")
_FENCE = re.compile(r"(?:-{4,}|\.{4,}|\+{4,}|`{3,}.*|-{2})$")
_BOX = re.compile(r"(?:={4,}|\*{4,}|_{4,})$")
_DIRECTIVE = re.compile(r"(?:include|ifdef|ifndef|ifeval|endif|toc|image|video|audio)::\S*\[.*\]$")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+")
_ITEM = re.compile(r"[ \t]*(\*{1,5}|-|\.{1,5}|<\.>|\d+\.)[ \t]+(\S.*)$")
_TERM = re.compile(r"(\S.*?):{2,4}(?:[ \t]+(.*))?$")
_TITLE = re.compile(r"\.(?=[^\s.])(.+)$")
_CELL = re.compile(r"(?<!\\)(?:\d*(?:\.\d+)?[+*]?[<^>.]*[aehlmdsv]?)\|")
_VALUE = re.compile(r"\{([\w-]+)\}")
_WEB = r"(?:https?|mailto|ftp)"
_INLINE = (
    (re.compile(rf"(?:link:)?\b({_WEB}:[^\s\[\]<>]+)\[(?!\])\"?([^\]\n]*?)\"?(?:,[^\]\n]*)?\^?\]"), r"[\2](\1)"),
    (re.compile(rf"\b({_WEB}:[^\s\[\]<>]+)\[\]"), r"\1"),
    (re.compile(r"\b(?:xref|link):([^\s\[\]]+)\[\"?([^\]\n]*?)\"?(?:,[^\]\n]*)?\]"), r"\2"),
    (re.compile(r"<<[^<>,\n]+,[ \t]*([^<>\n]+)>>"), r"\1"),
    (re.compile(r"<<([^<>\n]+)>>"), r"\1"),
    (re.compile(r"\b(?:btn|kbd|pass):[\w,]*\[([^\]\n]*)\]"), r"\1"),
    (re.compile(r"\bmenu:([^\[\]\n:]+)\[([^\]\n]*)\]"), r"\1 > \2"),
    (re.compile(r"[ \t]\+$"), ""),
    (re.compile(r"\b(?:image|icon|video):[^\s\[\]]+\[[^\]\n]*\]|\[\[[^\[\]\n]*\]\]|\bfootnote:\w*\[[^\]\n]*\]"), ""),
    (re.compile(r"\[[.#][\w.#-]+\](?=[#*_`])|(?<!\w)#(?=\S)|(?<=\S)#(?!\w)"), ""),
    (re.compile(r"\+\+\+?([^+\n]+)\+\+\+?"), r"\1"),
)


def read_asciidoc(text: str, *, path: str) -> Document:
    """Read a page of AsciiDoc. A title of level 0 becomes the page's title."""
    return read_page("".join(f"{line}\n" for line in _markdown(clean(text))), path=path, markup="markdown")


def _markdown(text: str) -> Iterator[str]:
    known: dict[str, str] = {}
    fence, comment, anchor = "", False, ""
    rows: _Table | None = None
    for line in text.split("\n"):
        bare = line.rstrip()
        if fence:
            if bare == fence or (fence.startswith("```") and bare == "```"):
                fence, bare = "", "```"
            yield bare
        elif comment or bare == "////":
            comment = comment != (bare == "////")
        elif rows is not None and bare not in ("|===", "!==="):
            rows.add(_inline(bare, known))
        elif bare in ("|===", "!==="):
            if rows is not None:
                yield from ("", rows.markdown(), "")
            rows = _Table() if rows is None else None
        elif bare.startswith("//") or _DIRECTIVE.match(bare) or _BOX.match(bare) or bare == "'''":
            yield ""
        elif found := _ATTRIBUTE.match(bare):
            known[found[1]] = found[2] or ""
        elif found := _ID.match(bare):
            anchor = found[1] or found[2]
        elif _BLOCK_ATTRIBUTES.match(bare) or bare == "+":
            yield ""
        elif _FENCE.match(bare) and bare != "--":
            fence = bare if not bare.startswith("```") else "```"
            yield "```"
        elif found := _HEADING.match(bare):
            yield from (
                "",
                f"{'#' * len(found[1])} {_inline(found[2], known)}{f' {{#{anchor}}}' if anchor else ''}",
                "",
            )
            anchor = ""
        else:
            yield _line(bare, known)
    if fence:
        yield "```"
    if rows is not None:
        yield rows.markdown()


def _line(bare: str, known: dict[str, str]) -> str:
    if found := _ITEM.match(bare):
        mark = found[1]
        depth = 0 if mark in ("-", "<.>") or mark[0].isdigit() else len(mark) - 1
        return f"{'  ' * depth}{'-' if mark[0] in '*-' else '1.'} {_inline(found[2], known)}"
    if (found := _TITLE.match(bare)) and not found[1].startswith("."):
        return f"\n**{_inline(found[1], known)}**\n"
    if (found := _TERM.match(bare)) and len(found[1]) < 200:
        return f"\n{_inline(found[1], known)}: {_inline(found[2] or '', known)}"
    return _inline(_ADMONITION.sub("", bare, count=1), known)


def _inline(words: str, known: dict[str, str]) -> str:
    if "{" in words:
        words = _VALUE.sub(lambda found: known.get(found[1], found[0]), words)
    if any(sign in words for sign in "[<#+"):
        for pattern, told in _INLINE:
            words = pattern.sub(told, words)
    return words


class _Table:
    """The cells of a table, whose first line says how many columns there are."""

    def __init__(self) -> None:
        self._cells: list[str] = []
        self._columns = 0

    def add(self, line: str) -> None:
        """Add a line: cells, the rest of the cell above, or an empty line, which ends a first row of several lines."""
        first, *cells = (cell.strip() for cell in _CELL.split(line))
        if self._cells and first:
            self._cells[-1] = f"{self._cells[-1]} {first}".strip()
        self._cells += cells
        if not self._columns and (len(cells) > 1 or not line.strip()):
            self._columns = len(self._cells)

    def markdown(self) -> str:
        """The table. Its first row is the head."""
        width = self._columns or 1
        return table([self._cells[at : at + width] for at in range(0, len(self._cells), width)])
