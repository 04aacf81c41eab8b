"""Org mode, line by line, as Markdown."""

import re
from collections.abc import Iterator

from knowledge.documents import Document, clean, read_page

_HEADING = re.compile(
    r"(\*{1,6})[ \t]+(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+)?(?:\[#[A-Z]\][ \t]+)?(.*?)[ \t]*(:[\w@:]+:)?[ \t]*$"
)
_KEYWORD = re.compile(r"[ \t]*#\+([\w-]+):[ \t]*(.*)$")
_BEGIN = re.compile(r"[ \t]*#\+begin_(\w+)", re.IGNORECASE)
_END = re.compile(r"[ \t]*#\+end_(\w+)", re.IGNORECASE)
_DRAWER = re.compile(r"[ \t]*:[\w-]+:[ \t]*$")
_PLANNED = re.compile(r"[ \t]*(?:SCHEDULED|DEADLINE|CLOSED):")
_LINK = re.compile(r"\[\[([^\[\]]+)\](?:\[([^\[\]]+)\])?\]")
_MARKED = re.compile(r"(?<![\w/])([=~])(\S(?:[^\n]{0,200}?\S)?)\1(?!\w)")
_RULE = re.compile(r"[ \t]*\|[-+]+\|?[ \t]*$")
_CODE = frozenset({"src", "example", "export"})
_FIELDS = {"title": "title", "language": "language", "date": "date", "description": "description"}


def read_org(text: str, *, path: str) -> Document:
    """Read a page of Org mode."""
    fields: dict[str, str] = {}
    body = "".join(f"{line}\n" for line in _markdown(clean(text), fields))
    told = "".join(f"{name}: {value!r}\n" for name, value in fields.items())
    return read_page(f"---\n{told}---\n{body}" if told else body, path=path, markup="markdown")


def _markdown(text: str, fields: dict[str, str]) -> Iterator[str]:
    within, in_drawer, last_was_row = "", False, False
    for line in text.split("\n"):
        if within in _CODE:
            if (found := _END.match(line)) and found[1].lower() == within:
                within, line = "", "```"
            yield line if within != "export" else ""
            continue
        if in_drawer:
            in_drawer = line.strip().upper() != ":END:"
            continue
        if _DRAWER.match(line):
            in_drawer = True
        elif found := _BEGIN.match(line):
            within = found[1].lower()
            yield "```" if within in ("src", "example") else ""
            within = within if within in _CODE else ""
        elif _END.match(line) or line.startswith("# ") or line.strip() == "#":
            yield ""
        elif found := _KEYWORD.match(line):
            name = _FIELDS.get(found[1].lower())
            if name and found[2]:
                fields.setdefault(name, found[2].strip())
        elif found := _HEADING.match(line):
            yield from ("", f"{'#' * min(len(found[1]) + 1, 6)} {_inline(found[2])}", "")
        elif _RULE.match(line):
            if last_was_row:
                yield re.sub(r"-+", " --- ", line.strip().replace("+", "|"))
            continue
        elif not _PLANNED.match(line):
            yield _inline(line)
        last_was_row = line.lstrip().startswith("|")


def _inline(words: str) -> str:
    words = _LINK.sub(_told, words) if "[[" in words else words
    return _MARKED.sub(r"`\2`", words)


def _told(link: re.Match[str]) -> str:
    target, words = link[1], link[2]
    if re.match(r"(?:https?|mailto):", target):
        return f"[{words}]({target})" if words and words != target else target
    return words or re.sub(r"^(?:file|id|\*|#)[:]?", "", target)
