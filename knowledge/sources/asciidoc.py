"""AsciiDoc, line by line, as Markdown. What is included from other files is left out."""

import re
from collections.abc import Iterator, Mapping

import yaml

from knowledge.documents import Document, clean, load_yaml, read_page
from knowledge.markdown import table

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+=+)?[ \t]*$")
_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:[ \t]+(.*))?$")
_BLOCK_ATTRIBUTES = re.compile(r"\[(?!\[)[^\[\]]*\]$|\[\[[^\[\]]*\]\]$")
_ID = re.compile(r"\[(?:\[([\w:.-]+)[^\]]*\]|#([\w:.-]+)[^\]]*)\]$")
_FENCE = re.compile(r"(?:-{4,}|\.{4,}|\+{4,}|`{3,}.*|-{2})$")
_BOX = re.compile(r"(?:={4,}|\*{4,}|_{4,})$")
_DIRECTIVE = re.compile(r"[a-z][\w-]*::\S*\[.*\]$")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+")
_ITEM = re.compile(r"[ \t]*(\*{1,5}|-|\.{1,5}|<[.\d]+>|\d+\.)[ \t]+(\S.*)$")
_CALLOUTS = re.compile(r"<(?:!--)?(\d{1,3})(?:--)?>(?=(?:[ \t]*<\d{1,3}>)*[ \t]*$)")
"""Marks in code that a list below explains."""
_TERM = re.compile(r"(\S.*?):{2,4}(?:[ \t]+(.*))?$")
_TITLE = re.compile(r"\.(?=[^\s.])(.+)$")
_CELL = re.compile(r"(?<!\\)(?:\d*(?:\.\d+)?[+*]?[<^>.]*[aehlmdsv]?)\|")
_RULE = re.compile(r"[|!]={3,}$")
_COLUMNS = re.compile(r"""cols=(?:"([^"]*)"|'([^']*)'|([^,\]]*))""")
_WRAPPED = re.compile(
    r"((?:\b(?:xref|link|https?):|<<)[^\s\[\]<>]{0,500}[\[,][^\[\]<>\n]{0,200})\n([^\[\]<>\n]{0,200}(?:\]|>>))"
)
"""A link whose words go on in the next line."""
_VALUE = re.compile(r"(?<!\\)\{([\w-]+)\}")
_STANDARD_VALUES = """
    amp & lt < gt > plus + vbar | startsb [ endsb ] caret ^ asterisk * tilde ~ backslash \\ backtick ` apos ' quot "
    deg ° lsquo ‘ rsquo ’ ldquo “ rdquo ” two-colons :: two-semicolons ;; cpp C++
"""
_PAIRS = _STANDARD_VALUES.split()
_STANDARD = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True)) | {
    "empty": "",
    "zwsp": "",
    "wj": "",
    "nbsp": " ",
    "sp": " ",
}
"""What each page can use without defining it."""
_BARE_LINK = re.compile(r"\b(?:xref|link):(?!https?:)(?:[^\s\[\]]*[/:])?([\w-]+)(?:\.adoc)?(?:#[\w-]*)?\[\]")
"""A link to another page without words: visitors read that page's title, which its file's name comes close to."""
_ICON = re.compile(r"\bicon:([\w-]+)\[[^\]\n]*\]")
_ICONS = {**dict.fromkeys(("check", "check-circle"), "✓"), **dict.fromkeys(("times", "times-circle"), "✗")}
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
    (re.compile(r"\b(?:image|icon|video):[^\s\[\]]*\[[^\]\n]*\]|\[\[[^\[\]\n]*\]\]|\bfootnote:\w*\[[^\]\n]*\]"), ""),
    (re.compile(r"\{[\w-]+\}[^\s\[\]{}]{0,500}\[([^\]\n]+)\]"), r"\1"),
    (re.compile(r"(?<!\w)\[(?:[.#]?[\w-][\w.#-]*|[\w-]+=[\w-]+)\](?=[#*_`]\S)|(?<!\w)#(?=\S)|(?<=\S)#(?!\w)"), ""),
    (re.compile(r"\+\+\+?([^+\n]+)\+\+\+?"), r"\1"),
)


def read_asciidoc(text: str, *, path: str, component: str = "") -> Document:
    """Read a page of AsciiDoc. A title of level 0 becomes the page's title.

    `component` is the text of the `antora.yml` that the page belongs to. Pages use its attributes.
    """
    known = _STANDARD | _attributes(component)
    text = _WRAPPED.sub(r"\1 \2", clean(text))
    return read_page("".join(f"{line}\n" for line in _markdown(text, known)), path=path, markup="markdown")


def _attributes(component: str) -> dict[str, str]:
    try:
        loaded = load_yaml(component)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    asciidoc = loaded.get("asciidoc") if isinstance(loaded, Mapping) else None
    given = asciidoc.get("attributes") if isinstance(asciidoc, Mapping) else None
    plain = (str, int, float)
    return {
        str(name): "" if value is True else clean(str(value)).removesuffix("@")
        for name, value in (given.items() if isinstance(given, Mapping) else ())
        if isinstance(value, plain) and value is not False
    }


def _markdown(text: str, known: dict[str, str]) -> Iterator[str]:
    fence, comment, anchor, block = "", False, "", ""
    rows: _Table | None = None
    for line in text.split("\n"):
        bare = line.rstrip()
        if fence:
            if bare == fence or (fence.startswith("```") and bare == "```"):
                fence, bare, block = "", "```", ""
            elif bare.startswith("include::"):
                continue
            yield _CALLOUTS.sub(r"(\1)", _valued(bare, known) if "attributes" in block else bare)
        elif comment or bare == "////":
            comment = comment != (bare == "////")
        elif rows is not None:
            if bare != rows.rule:
                rows.add(_inline(bare, known))
                continue
            yield from ("", rows.markdown(), "")
            rows = None
        elif _RULE.match(bare):
            rows, block = _Table(bare, block), ""
        elif bare.startswith("//") or _DIRECTIVE.match(bare) or _BOX.match(bare) or bare == "'''":
            yield ""
        elif found := _ATTRIBUTE.match(bare):
            known[found[1]] = _valued(found[2] or "", known)
        elif found := _ID.match(bare):
            anchor = found[1] or found[2]
        elif _BLOCK_ATTRIBUTES.match(bare):
            block = bare
            yield ""
        elif bare in ("+", "--"):
            yield ""
        elif _FENCE.match(bare):
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
            block = block if not bare or _TITLE.match(bare) else ""
            yield _line(bare, known)
    if fence:
        yield "```"
    if rows is not None:
        yield rows.markdown()


def _line(bare: str, known: dict[str, str]) -> str:
    if found := _ITEM.match(bare):
        mark = found[1]
        depth = 0 if mark[0] in "-<" or mark[0].isdigit() else len(mark) - 1
        return f"{'  ' * depth}{'-' if mark[0] in '*-' else '1.'} {_inline(found[2], known)}"
    if (found := _TITLE.match(bare)) and not found[1].startswith("."):
        return f"\n**{_inline(found[1], known)}**\n"
    if (found := _TERM.match(bare)) and len(found[1]) < 200:
        return f"\n{_inline(found[1], known)}: {_inline(found[2] or '', known)}"
    return _inline(_ADMONITION.sub("", bare, count=1), known)


def _inline(words: str, known: dict[str, str]) -> str:
    words = _valued(words, known)
    if any(sign in words for sign in "[<#+"):
        words = _ICON.sub(lambda found: _ICONS.get(found[1], ""), words)
        words = _BARE_LINK.sub(lambda found: re.sub("[-_]", " ", found[1]), words)
        for pattern, told in _INLINE:
            words = pattern.sub(told, words)
    return words.replace("\\{", "{")


def _valued(words: str, known: Mapping[str, str]) -> str:
    return _VALUE.sub(lambda found: known.get(found[1], found[0]), words) if "{" in words else words


class _Table:
    """The cells of a table. The attributes above it or its first row say how many columns there are."""

    def __init__(self, rule: str, attributes: str) -> None:
        self.rule = rule
        """The line that begins and ends the table."""
        self._cells: list[str] = []
        self._columns = _columns(attributes)

    def add(self, line: str) -> None:
        """Add a line: cells, the rest of the cell above, or an empty line, which ends a first row of several lines."""
        first, *cells = (_cell(cell.strip()) for cell in _CELL.split(line))
        if self._cells and first:
            item = _ITEM.match(first)
            between = "; " if item and self._cells[-1] else " "
            self._cells[-1] = f"{self._cells[-1]}{between}{item[2] if item else first}".strip()
        self._cells += cells
        if not self._columns and (len(cells) > 1 or not line.strip()):
            self._columns = len(self._cells)

    def markdown(self) -> str:
        """The table. Its first row is the head."""
        width = self._columns or 1
        return table([self._cells[at : at + width] for at in range(0, len(self._cells), width)])


def _columns(attributes: str) -> int:
    """The number of columns that a table's attributes name, such as `cols="1,2a"` or `cols=3*`. 0 if they don't."""
    found = _COLUMNS.search(attributes)
    specs = re.split("[,;]", (found[1] or found[2] or found[3] or "").strip()) if found else []
    counts = (re.match(r"[ \t]*(\d{1,2})\*", spec) for spec in specs if spec.strip())
    return sum(int(count[1]) if count else 1 for count in counts)


def _cell(words: str) -> str:
    """The words of a cell, or of one of its lines, without the marks of blocks in it."""
    is_mark = _BLOCK_ATTRIBUTES.match(words) or _DIRECTIVE.match(words) or _BOX.match(words) or _FENCE.match(words)
    return "" if is_mark or _RULE.match(words) or words == "+" else words
