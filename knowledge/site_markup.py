"""Markdown as site generators and note apps write it, reduced to what a visitor of the rendered page reads.

`plain_markdown` understands or removes the markup of GitBook, Docusaurus and other MDX sites, Jekyll and Liquid, Hugo,
MkDocs, VitePress, MyST, Obsidian and GitHub, and HTML between the lines. Code stays as it is. Titles of tabs, notes and
cards stay as words. Links to the web stay; a link that leads to another file of the source becomes its words.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape

from knowledge.markdown import lines, table

TAG_CHARACTERS = 4_000
"""Characters of the longest tag or template call. A longer one is text."""

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*(.*)$")
_TEMPLATE_FENCE = re.compile(r"[ \t]*(?:\{%-?\s*highlight\b.*%\}|\{\{[<%]\s*highlight\b.*[>%]\}\})[ \t]*$")
_TEMPLATE_FENCE_END = re.compile(r"[ \t]*(?:\{%-?\s*endhighlight\s*-?%\}|\{\{[<%]\s*/\s*highlight\s*[>%]\}\})[ \t]*$")
_DIRECTIVE = re.compile(r"\{([\w-]+)\}[ \t]*(.*)$")
_BOXES_NAMES = """
    admonition attention card caution danger details dropdown error hint important note seealso tab-item tip
    versionadded versionchanged warning
"""
_BOXES = frozenset(_BOXES_NAMES.split())
"""MyST directives whose content is text, not code."""

_BOX = re.compile(r"""([ \t]*)(?:!!!|\?\?\?\+?)[ \t]+[\w-]+(?:[ \t]+[\w-]+)*(?:[ \t]+"([^"]*)")?[ \t]*$""")
_TAB = re.compile(r"""([ \t]*)===[+!]?[ \t]+"([^"]+)"[ \t]*$""")
_COLONS = re.compile(r"[ \t]*:{3,}(?:[ \t]*\{?[\w-]*\}?(?:\[([^\]]*)\])?[ \t]*([^{]*?)[ \t]*(?:\{[^}]*\})?)?[ \t]*$")
_GENERATED = re.compile(
    r"[ \t]*(?:-{1,2}8<-{1,2}.*|\[TOC\]|\[\[_?TOC_?\]\]|[*-]?[ \t]*\{:[ \t]*toc\b[^}]*\})[ \t]*$",
    re.IGNORECASE,
)
_CONTENTS = re.compile(r"[ \t]*\{:[ \t]*toc\b", re.IGNORECASE)
_ALERT = re.compile(r"([ \t]*(?:>[ \t]*)+)\[!\w+\][-+]?[ \t]*(.*)$")
_BLOCK_ID = re.compile(r"[ \t]\^[A-Za-z0-9-]{3,}$")
_DEFINITION = re.compile(r"""[ ]{0,3}\[([^\]^][^\]]*)\]:[ \t]*(?:<([^<>]*)>|(\S+?))(?:[ \t]+["'(].*)?[ \t]*$""")
_FOOTNOTE = re.compile(r"[ ]{0,3}\[\^[^\]\s]+\]:[ \t]*")
_MODULE_CODE = re.compile(r"(?:import|export)\s")
_IMPORT = re.compile(r"""import\s(?:[\w*{}$,\s]{1,300}\sfrom\s+)?(?:"[^"\n]+"|'[^'\n]+')\s*;?\s*$""")
"""Docusaurus reads `.md` files as MDX, too."""

_ATTRIBUTES = r"""(?:[^<>{}"'`]++|"[^"]*+"|'[^']*+'|`[^`]*+`|\{(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\})*+"""
_HTML_LEFT_OUT = "script|style|svg|iframe|video|audio|object|select|noscript|template|head"
_SCAN = re.compile(
    rf"""
    (?=[\\`%{{<!\[&]|[ \t]\{{)(?:
      (?P<escape>\\[!-/:-@\[-`{{-~])
    | (?P<code>(?P<ticks>`++)(?!`).{{1,1000}}?(?<!`)(?P=ticks)(?!`))
    | (?P<note>%%.{{0,4000}}?%%)
    | (?P<shortcode>\{{\{{[<%].{{0,{TAG_CHARACTERS}}}?[>%]\}}\}})
    | (?P<liquid>\{{%.{{0,{TAG_CHARACTERS}}}?%\}})
    | (?P<value>\{{\{{.{{0,200}}?\}}\}})
    | (?P<table><table\b.{{0,200000}}?</table\s*>)
    | (?P<never><(?P<name>{_HTML_LEFT_OUT})\b.{{0,200000}}?</(?P=name)\s*>)
    | (?P<anchor><a\s(?P<where>{_ATTRIBUTES})>(?P<words>.{{0,2000}}?)</a\s*>)
    | (?P<tag><(?P<end>/?)(?P<element>[A-Za-z][\w.:-]*+)(?P<given>{_ATTRIBUTES})/?>)
    | (?P<fragment></?>)
    | (?P<image>!\[(?P<alt>[^\[\]]*+)\](?:\((?:[^()\n]++|\([^()\n]*+\))*+\)|\[[^\[\]]*+\]))
    | (?P<embed>!\[\[[^\[\]\n]*+\]\])
    | (?P<wiki>\[\[(?P<page>[^\[\]|\n]++)(?:\\?\|(?P<called>[^\[\]\n]*+))?\]\])
    | (?P<footnote>\[\^[^\]\s]++\])
    | (?P<link>\[(?P<text>(?:[^\[\]`\\]++|\\.|`[^`\n]*+`|!?\[[^\[\]]*+\](?:\([^()\n]*+\))?)*+)\]
        (?:\([ \t\n]*+(?P<target><[^<>\n]*+>|\{{\{{.*?\}}\}}[^\s)]*+|(?:[^()\s]++|\([^()\s]*+\))*+)
            (?:[ \t\n]++(?:"[^"]*+"|'[^']*+'))?+[ \t]*+\)
         |\[(?P<label>[^\[\]]*+)\]|(?![\[(])))
    | (?P<braces>[ \t]?\{{:[^{{}}\n]*+\}}|[ \t]?\{{(?=[ \t]*[.\w-])[^{{}}\n]*+\}})
    | (?P<expression>\{{(?:[^{{}}]++|\{{[^{{}}]*+\}})*+\}})
    | (?P<entity>&(?:\#\d{{1,7}}|\#[xX][0-9A-Fa-f]{{1,6}}|[A-Za-z][A-Za-z0-9]{{1,30}});))
    """,
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:\{?\s*["'`]([^"'`]*)["'`]\s*\}?|([^\s"'`{}<>]+))""")
_LISTED_ITEM = r"""(?:[.#][\w-]+|[\w-]+=(?:"[^"]*"|'[^']*'|[^\s"'{}]+))"""
_LISTED = re.compile(rf"[ \t]*{_LISTED_ITEM}(?:[ \t]+(?:{_LISTED_ITEM}|[\w-]+))*[ \t]*")
_TITLES = ("title", "header", "heading", "label", "summary", "question", "caption", "text", "name", "term", "alt")
_SITE_VALUE = re.compile(
    r"\{\{-?\s*(?:\$|(?:site|page|layout|config|params|book|include|theme|content|frontmatter)\b|['\".])"
)
_STRING = re.compile(r"""\{\s*(["'`])(.*)\1\s*\}""", re.DOTALL)
_HIDDEN = re.compile(
    r"""<(\w+)\b(?=[^<>]*?(?:\shidden(?=[\s>=/])|display\s*:\s*none|visibility\s*:\s*hidden|aria-hidden\s*=\s*["']?true))[^<>]*>""",
    re.IGNORECASE,
)
_WEB = re.compile(r"(?:https?|mailto|tel):", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?|mailto|tel):[^\s<>]+|[^\s<>@=]+@[\w.-]+")
_FILE_NAME = re.compile(r"[\w.@()-]+\.(?:png|jpe?g|gif|svg|webp|avif|mp4)|image|img|screenshot|untitled", re.IGNORECASE)

_BREAKS_NAMES = """
    address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form
    header hgroup html main nav ol p picture pre section table tbody td tfoot th thead tr ul
"""
_BREAKS = frozenset(_BREAKS_NAMES.split())
_WORDS_NAMES = """
    a abbr acronym b bdi bdo big br cite code data del dfn em font hr i img input ins kbd label mark q rp rt
    ruby s samp small span strike strong sub sup time tt u var wbr source track link meta base button param
    embed
"""
_WORDS = frozenset(_WORDS_NAMES.split())
_HEADINGS = {"h1": "#", "h2": "##", "h3": "###", "h4": "####", "h5": "#####", "h6": "######", "summary": "####"}
_FOLDED = re.compile(r"(?:Accordion|Expandable|Collaps|Details|Disclosure|FAQ)", re.IGNORECASE)
"""Components whose title is that of a section: a question, as a rule."""

_CLOSING = re.compile(r"</([A-Za-z][\w.:-]*+)>")
_KEYS = re.compile(r"(?:Key|Kbd|Shortcut|Hotkey)", re.IGNORECASE)
"""Components that show keys, each key in an attribute."""


def plain_markdown(text: str, *, jsx: bool = False) -> str:
    """Return the text as plain Markdown. `jsx` also removes what only MDX has: imports, exports and expressions."""
    runs = list(_runs(text, jsx=jsx))
    links = {label: target for _, _, found in runs for label, target in found.items()}
    parts = [run if is_code else _Scanner(links, jsx=jsx).plain(run) for run, is_code, _ in runs]
    plain = re.sub(r"\n[ \t]*\n(?:[ \t]*\n)+", "\n\n", "".join(parts))
    return plain if text.endswith("\n") else plain.removesuffix("\n")


def without_targets(text: str) -> str:
    """Markdown without the addresses of its links and the ids of its headings: what is embedded and looked up."""
    text = without_heading_ids(text)
    return _TARGET.sub(r"\1", text) if "](" in text else text


def without_heading_ids(text: str) -> str:
    """Markdown without the ids of its headings: what people and models read."""
    return _HEADING_ID.sub(r"\1", text) if "{#" in text else text


_HEADING_ID = re.compile(r"^(#{1,6}[ \t].{0,300}?)[ \t]*\{#[^\s{}]{1,200}\}[ \t]*$", re.MULTILINE)
_TARGET = re.compile(r"\[([^\[\]]*+)\]\((?:[^()\s]++|\([^()\s]*+\))*+\)")


def _runs(text: str, *, jsx: bool) -> Iterator[tuple[str, bool, Mapping[str, str]]]:
    """Stretches of text and of code, in order: each with whether it is code, and the links that it defines."""
    kept: list[str] = []
    links: dict[str, str] = {}
    indents: list[int] = []
    fence, is_code, in_module = "", False, False
    for whole in lines(text, 0, len(text)):
        line = _dedented(whole.rstrip("\n"), indents)
        if fence:
            mark = _FENCE.match(line)
            closes = mark is not None and mark[2].startswith(fence) and not mark[3]
            if closes or (fence == "%" and _TEMPLATE_FENCE_END.match(line)):
                kept.append("```\n" if fence == "%" else f"{line}\n" if is_code else "\n")
                if is_code:
                    yield "".join(kept), True, {}
                    kept = []
                fence, is_code = "", False
                continue
            if is_code:
                kept.append(f"{line}\n")
                continue
        elif (mark := _FENCE.match(line)) and "`" not in mark[3]:
            box = _DIRECTIVE.match(mark[3])
            fence = mark[2]
            if box and box[1] in _BOXES:
                kept.append(f"\n{_strong(box[2])}\n")
                continue
            yield "".join(kept), False, links
            # The words behind a fence are options of the site, except the language.
            kept, links, is_code = [f"{mark[1]}{mark[2]}{mark[3].split(' ', 1)[0]}\n"], {}, True
            continue
        elif _TEMPLATE_FENCE.match(line):
            yield "".join(kept), False, links
            kept, links, fence, is_code = ["```\n"], {}, "%", True
            continue
        if jsx and (in_module or (_MODULE_CODE.match(line) and not (kept and kept[-1].strip()))):
            in_module = bool(line.strip())
            continue
        if _IMPORT.match(line):
            continue
        if kept and _CONTENTS.match(line) and kept[-1].lstrip()[:2] in ("* ", "- "):
            # The mark says that the list above it is replaced by a table of contents.
            kept.pop()
        kept.append(_line(line, indents, links) + "\n")
    if kept:
        yield "".join(kept), is_code, links


def _dedented(line: str, indents: list[int]) -> str:
    """The line without the indentation of the boxes that it is in. Boxes that it ends are taken off the list."""
    bare = line.lstrip(" \t")
    if not bare or not indents:
        return line
    depth = len(line) - len(bare) + 3 * line[: len(line) - len(bare)].count("\t")
    while indents and depth < indents[-1] + 4:
        indents.pop()
    taken = min(4 * len(indents), depth)
    return " " * (depth - taken) + bare


def _line(line: str, indents: list[int], links: dict[str, str]) -> str:
    """The line without what only a generator understands. Definitions of links are put into `links`."""
    first = line.lstrip(" \t")[:1]
    if first in "!?=" and (box := _BOX.match(line) or _TAB.match(line)):
        indents.append(len(box[1]) + 4 * len(indents))
        return f"\n{box[1]}{_strong(box[2] or '')}\n"
    if first == ":" and (box := _COLONS.match(line)):
        return f"\n{_strong(box[1] or box[2] or '')}\n"
    if first == ">" and (box := _ALERT.match(line)):
        return f"{box[1]}{_strong(box[2])}"
    if first in "-[{*<" and _GENERATED.match(line):
        return ""
    if first == "[":
        if found := _DEFINITION.match(line):
            links[found[1].casefold()] = found[2] or found[3] or ""
            return ""
        line = _FOOTNOTE.sub("", line, count=1)
    return _BLOCK_ID.sub("", line) if "^" in line else line


def _strong(words: str) -> str:
    words = words.strip().strip("*")
    return f"**{words}**" if words else ""


class _Scanner:
    """Rewrites one stretch of text without code."""

    def __init__(self, links: Mapping[str, str], *, jsx: bool) -> None:
        self._links = links
        self._jsx = jsx

    def plain(self, text: str) -> str:
        if _HIDDEN.search(text):
            text = _without_hidden(text)
        parts: list[str] = []
        at = 0
        closed = frozenset(_CLOSING.findall(text))
        for match in _SCAN.finditer(text):
            parts.append(text[at : match.start()])
            parts.append(self._told(match, text, closed))
            at = match.end()
        parts.append(text[at:])
        return "".join(parts)

    def _told(self, match: re.Match[str], text: str, closed: frozenset[str]) -> str:
        """What is left of one piece of markup. `closed` has the elements that the text closes."""
        kind = match.lastgroup or ""
        # The last named group that took part is an inner one where a piece has parts.
        kind = next(name for name in _KINDS if match[name] is not None) if kind not in _KINDS else kind
        whole = match[0]
        match kind:
            case "escape":
                return whole if whole[1] in "|#-+`~\\" else whole[1]
            case "code" | "expression" if kind == "code" or not self._jsx:
                return whole
            case "expression":
                string = _STRING.fullmatch(whole)
                return string[2] if string else ""
            case "liquid" | "shortcode":
                return self._template(whole, is_alone=_is_alone(match, text))
            case "value":
                return "" if _SITE_VALUE.match(whole) or "|" in whole else whole
            case "table":
                return self._table(whole)
            case "anchor":
                return self._link(match["words"], _attributes(match["where"]).get("href", ""))
            case "tag":
                return self._tag(match, text, closed)
            case "image":
                return "" if _FILE_NAME.fullmatch(match["alt"].strip()) else match["alt"]
            case "wiki":
                return (match["called"] or match["page"].replace("#", " ")).strip("^ \\")
            case "link":
                target = match["target"] if match["target"] is not None else None
                if target is None:
                    label = (match["label"] or match["text"]).casefold()
                    if label not in self._links and not match["label"]:
                        return f"[{self.plain(match['text'])}]{'' if match['label'] is None else '[]'}"
                    target = self._links.get(label, "")
                return self._link(match["text"], target.strip("<>"))
            case "braces":
                inner = whole.strip()[1:-1].strip()
                if inner.startswith("#") and " " not in inner:
                    return f" {{{inner}}}"
                inner = inner.removeprefix(":")
                named = re.search(r"(?:^|\s)#([\w-]+)", inner)
                if not _LISTED.fullmatch(inner):
                    return ("" if self._jsx else whole) if not whole.strip().startswith("{:") else ""
                return f" {{#{named[1]}}}" if named and _is_heading(match, text) else ""
            case "entity":
                return unescape(whole).replace("\xa0", " ")
            case _:
                return ""

    def _template(self, call: str, *, is_alone: bool) -> str:
        given = _attributes(call)
        if re.match(r"\{%-?\s*embed\b", call):
            return given.get("url", "") if _WEB.match(given.get("url", "")) else ""
        words = next((given[name] for name in _TITLES if given.get(name)), "")
        return f"\n{_strong(words)}\n" if words and is_alone else words

    def _link(self, words: str, target: str) -> str:
        words = " ".join(self.plain(words).split())
        if not _WEB.match(target) or not words:
            return words
        return words if words == target else f"[{words}]({target})"

    def _table(self, html: str) -> str:
        rows = [
            [" ".join(self.plain(cell).split()) for cell in re.split(r"<t[dh]\b[^<>]*>", row, flags=re.IGNORECASE)[1:]]
            for row in re.split(r"<tr\b[^<>]*>", html, flags=re.IGNORECASE)[1:]
        ]
        return f"\n\n{table(rows)}\n\n"

    def _tag(self, match: re.Match[str], text: str, closed: frozenset[str]) -> str:
        name, is_end = match["element"], bool(match["end"])
        if _ADDRESS.fullmatch(match[0][1:-1]):
            return match[0][1:-1]
        if name[0].isupper() or "." in name:
            return self._component(name, match["given"]) if not is_end else "\n" if _is_alone(match, text) else ""
        name = name.lower()
        if name in ("br", "hr", "li"):
            in_table = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].lstrip(" ").startswith("|")
            return " " if in_table else "\n- " if name == "li" and not is_end else "\n" if name == "br" else ""
        if name in _HEADINGS:
            return "\n\n" if is_end else f"\n\n{_HEADINGS[name]} "
        if name == "img":
            return _attributes(match["given"]).get("alt", "")
        if name in _BREAKS:
            in_table = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].lstrip(" ").startswith("|")
            return " " if in_table else "\n"
        if name in _WORDS:
            return ""
        # What is no element and is not closed is a placeholder, as in `<your-domain>`.
        is_placeholder = not match["given"].strip() and not is_end and match["element"] not in closed
        return match[0] if is_placeholder else ""

    def _component(self, name: str, given: str) -> str:
        attributes = _attributes(given)
        words = next((attributes[title] for title in _TITLES if attributes.get(title)), "")
        about = attributes.get("description", "")
        if _KEYS.match(name):
            return "+".join(filter(None, attributes.values()))
        if not words:
            return about
        title = f"#### {words}" if _FOLDED.match(name) else _strong(words)
        return f"\n\n{title}\n\n{about}"


_KINDS_NAMES = """
    escape code note shortcode liquid value table never anchor tag fragment image embed wiki footnote link
    braces expression entity
"""
_KINDS = tuple(_KINDS_NAMES.split())


def _attributes(given: str) -> dict[str, str]:
    """The attributes of a tag or call that are plain text."""
    return {name.lower(): unescape(quoted or bare).strip() for name, quoted, bare in _ATTRIBUTE.findall(given)}


def _is_alone(match: re.Match[str], text: str) -> bool:
    """Whether nothing else is in the line."""
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return not text[start : match.start()].strip() and not text[match.end() : end if end >= 0 else None].strip()


def _is_heading(match: re.Match[str], text: str) -> bool:
    return text[text.rfind("\n", 0, match.start()) + 1 :].startswith("#")


def _without_hidden(text: str) -> str:
    """The text without HTML elements that a browser does not show."""
    parts: list[str] = []
    at = 0
    while found := _HIDDEN.search(text, at):
        parts.append(text[at : found.start()])
        at, depth = found.end(), 1
        if found[0].endswith("/>") or found[1].lower() in ("br", "hr", "img", "input", "meta", "link"):
            continue
        same = re.compile(rf"<(/?){found[1]}\b[^<>]*>", re.IGNORECASE)
        while depth and (tag := same.search(text, at)):
            depth += -1 if tag[1] else 0 if tag[0].endswith("/>") else 1
            at = tag.end()
        if depth:
            # It is never closed: a browser would hide the rest.
            at = len(text)
    parts.append(text[at:])
    return "".join(parts)
