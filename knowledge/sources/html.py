"""A page of a help centre: what a visitor can read, as Markdown, with the fields from its head.

`read_html` finds the main part, leaves out navigation and everything hidden, and writes headings, lists, tables and
code in the same form as any other page for the chunker. Headings keep their ids, so that links can lead to them.

selectolax parses; the walk is ours. Of 14 ways to hide text from visitors (tests/knowledge/test_formats.py), html2text
2025.4 and selectolax's own text let 13 into the text, trafilatura 2.3 lets in 7, and this lets in none.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urldefrag, urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from knowledge.documents import TITLE_LIMIT, Document, clean, page_fields, title_of
from knowledge.markdown import table
from knowledge.sources.files import Unfit
from knowledge.sources.robots import AGENT, forbids_indexing

DEPTH = 150
"""Elements nested in each other, at most: the parser's time grows with the square of the depth."""
ATTRIBUTES = 500
"""Attributes of one tag, at most: the parser compares each with those before it."""
CELL_LIMIT = 2_000
"""Characters of a table's cell."""

_MAIN = ("main", "[role=main]", "article", "#main-content", "#content")
_NEVER_TEXT = """
    script style template noscript svg canvas iframe object embed video audio map nav aside footer
    button select input textarea dialog head
"""
_LEFT_OUT = frozenset(_NEVER_TEXT.split())
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0*)?\s*(?:;|!|$)"
    r"|font-size\s*:\s*0(?:px|em|rem|pt|%)?\s*(?:;|!|$)|(?:text-indent|left|top)\s*:\s*-\d{3,}"
    r"|(?:max-)?(?:height|width)\s*:\s*0(?:px)?\s*(?:;|!|$)",
    re.IGNORECASE,
)
_HIDDEN_CLASSES = frozenset({"hidden", "d-none", "sr-only", "visually-hidden", "is-hidden", "invisible"})
_BLOCK_LEVEL = """
    address article blockquote body center dd details div dl dt fieldset figcaption figure h1 h2 h3 h4 h5 h6 header
    hgroup hr li main ol p pre search section summary table td th tr ul
"""
_BLOCKS = frozenset(_BLOCK_LEVEL.split())
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_OPENING = re.compile(r"""<[a-zA-Z](?:[^>"']++|"[^"]*+"|'[^']*+')*+""")
"""A tag from its name to its end. No match is tried twice at one place, so it is linear for every text."""
_BARE = re.compile(r"""(?<==)(?:"[^"]*"|'[^']*')""")
_NEVER_OPEN = """
    area base br col embed hr img input link meta param source track wbr
    p li dt dd tr td th thead tbody tfoot option optgroup colgroup rb rt rp
"""
_SELF_CLOSING = frozenset(_NEVER_OPEN.split())
"""Elements without an end tag, or whose end tag may be left out."""
_WEB = re.compile(r"(?:https?|mailto|tel):", re.IGNORECASE)
_DATES = ("article:modified_time", "last-modified", "last_updated", "dcterms.modified", "og:updated_time", "date")


def read_html(text: str, *, path: str, url: str = "") -> Document:
    """Read the page. `url` is where it was fetched; its canonical link is its address. Raises Unfit."""
    _refuse_bombs(text)
    tree = LexborHTMLParser(text)
    described = _described(tree)
    if tree.body is None:
        raise Unfit("no text")
    _prune(tree.body)
    body = clean(_Writer(url=url).write(_main_part(tree.body))).strip()
    if not body:
        raise Unfit("no text that a visitor can see")
    known = page_fields(described)
    heading = tree.body.css_first("h1")
    words = _line(heading.text(deep=True)) if heading is not None else ""
    return Document(
        id=path,
        title=(words or known["title"] or title_of(path))[:TITLE_LIMIT],
        text=f"{body}\n",
        url=_canonical(url, known["url"]),
        category=known["category"],
        last_updated=known["last_updated"],
        language=known["language"],
        noindex=forbids_indexing(_robots(tree)),
    )


def _canonical(url: str, named: str) -> str:
    """A page's address: the one that it names, which may be relative to the one where it was fetched.

    A canonical link to the site's first page is a mistake that templates make on all pages.
    """
    if not url:
        return named
    try:
        address = urldefrag(urljoin(url, named)).url
        is_first_page = not urlsplit(address).path.strip("/") and urlsplit(url).path.strip("/")
    except ValueError:
        return url
    return url if is_first_page else address


def _robots(tree: LexborHTMLParser) -> list[str]:
    """What the page's robots meta tags say."""
    tags = (node.attributes for node in tree.css("meta[name][content]"))
    return [tag["content"] or "" for tag in tags if (tag["name"] or "").lower() in ("robots", AGENT)]


def _refuse_bombs(text: str) -> None:
    """Refuse what takes the parser hours: deep nesting, and tags with very many attributes. Raises Unfit."""
    depth = 0
    opened: Counter[str] = Counter()
    for match in _TAG.finditer(text):
        name = match[2].lower()
        if name in _SELF_CLOSING:
            continue
        if not match[1]:
            opened[name] += 1
            depth += 1
        elif opened[name]:
            # An end tag of an element that is not open ends nothing.
            opened[name] -= 1
            depth -= 1
        if depth > DEPTH:
            raise Unfit(f"elements nested deeper than {DEPTH}")
    for match in _OPENING.finditer(text):
        if len(match[0]) > 2 * ATTRIBUTES and len(_BARE.sub("", match[0]).replace("/", " ").split()) > ATTRIBUTES:
            raise Unfit(f"a tag with more than {ATTRIBUTES} attributes")


def _described(tree: LexborHTMLParser) -> Mapping[str, str]:
    """The fields of the head: title, canonical address, language, date, section."""
    named: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        name = node.attributes.get("property") or node.attributes.get("name") or node.attributes.get("http-equiv")
        if name:
            named.setdefault(name.lower(), clean(node.attributes.get("content") or "").strip())
    canonical = tree.css_first("link[rel=canonical]")
    title = tree.css_first("title")
    root = tree.css_first("html")
    return {
        "title": _line(title.text(deep=True)) if title is not None else named.get("og:title", ""),
        "url": (canonical.attributes.get("href") or "" if canonical is not None else "") or named.get("og:url", ""),
        "language": (root.attributes.get("lang") or "" if root is not None else "") or named.get("language", ""),
        "last_updated": next((named[name] for name in _DATES if named.get(name)), ""),
        "category": named.get("article:section", "") or named.get("category", ""),
    }


def _prune(node: LexborNode) -> None:
    """Remove from the tree what no visitor reads."""
    for child in list(node.iter()):
        if child.tag in _LEFT_OUT or _is_hidden(child):
            child.decompose()
        else:
            _prune(child)


def _main_part(body: LexborNode) -> LexborNode:
    found = (body.css_first(selector) for selector in _MAIN)
    return next((node for node in found if node is not None and node.text(deep=True).strip()), body)


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    if not attributes:
        return False
    if "hidden" in attributes or (attributes.get("aria-hidden") or "").lower() == "true":
        return True
    classes = (attributes.get("class") or "").split()
    return not _HIDDEN_CLASSES.isdisjoint(classes) or bool(_HIDDEN.search(attributes.get("style") or ""))


def _line(text: str) -> str:
    return " ".join(clean(text).split())


@dataclass(slots=True)
class _Writer:
    """Unfinished Markdown: the finished blocks, and the line that is being written."""

    blocks: list[str] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    prefix: str = ""
    """What the next block begins with: the mark of a list or a quotation."""
    level: int = 0
    """How deep the current list is nested."""
    url: str = ""
    """Where the page is, for links that do not say the host. Empty if that is not known."""

    def write(self, node: LexborNode) -> str:
        self._children(node)
        self._end()
        return "\n\n".join(self.blocks)

    def _children(self, node: LexborNode) -> None:
        for child in node.iter(include_text=True):
            self._node(child)

    def _node(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self.line.append(re.sub(r"\s+", " ", node.text_content or ""))
        elif tag.startswith(("-", "!")):
            return
        elif tag in _BLOCKS:
            self._end()
            self._block(node, tag)
            self._end()
        else:
            self._inline(node, tag)

    def _inline(self, node: LexborNode, tag: str) -> None:
        match tag:
            case "br":
                self.line.append("\n")
            case "img":
                self.line.append(node.attributes.get("alt") or "")
            case "a" if target := self._target(node):
                before = len(self.line)
                self._children(node)
                words = _line("".join(self.line[before:]))
                self.line[before:] = [f"[{words}]({target})" if words and words != target else words]
            case "code" | "kbd" | "samp":
                words = _line(node.text(deep=True))
                self.line.append(f"`{words}`" if words and "`" not in words else words)
            case _:
                self._children(node)

    def _target(self, node: LexborNode) -> str:
        """Where a link leads on the web. Empty for a link within the page, or to a place that is not known."""
        target = urljoin(self.url, (node.attributes.get("href") or "").strip())
        is_here = bool(self.url) and urldefrag(target).url == urldefrag(self.url).url
        return "" if is_here or not _WEB.match(target) or re.search(r"[\s()<>]", target) else target

    def _block(self, node: LexborNode, tag: str) -> None:
        match tag:
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._heading(node, int(tag[1]))
            case "summary":
                self._heading(node, 3)
            case "ul" | "ol":
                self._list(node, numbered=tag == "ol")
            case "table" if len(node.css("table")) == 1:
                self._table(node)
            case "pre":
                self._code(node)
            case "dt":
                self._children(node)
                self.line.append(":")
            case "hr":
                pass
            case _:
                self._children(node)

    def _heading(self, node: LexborNode, level: int) -> None:
        words = _line(node.text(deep=True)).strip("#¶§ ")
        if not words:
            return
        anchor = node.attributes.get("id") or ""
        mark = f" {{#{anchor}}}" if re.fullmatch(r"[\w.:-]{1,200}", anchor) else ""
        self.blocks.append(f"{'#' * level} {words}{mark}")

    def _list(self, node: LexborNode, *, numbered: bool) -> None:
        outer = len(self.blocks)
        self.level += 1
        number = 0
        for item in node.iter():
            if item.tag != "li":
                continue
            number += 1
            self.prefix = "  " * (self.level - 1) + (f"{number}. " if numbered else "- ")
            self._children(item)
            self._end()
            self.prefix = ""
        self.level -= 1
        if self.level == 0 and len(self.blocks) > outer:
            # One list is one block, so that its items stay together as long as possible.
            self.blocks[outer:] = ["\n".join(self.blocks[outer:])]

    def _table(self, node: LexborNode) -> None:
        rows = [
            [_line(cell.text(deep=True, separator=" "))[:CELL_LIMIT] for cell in row.css("th, td")]
            for row in node.css("tr")
        ]
        if written := table(rows):
            self.blocks.append(written)

    def _code(self, node: LexborNode) -> None:
        words = clean(node.text(deep=True)).strip("\n")
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", words)), default=0))
        if words.strip():
            self.blocks.append(f"{fence}\n{words}\n{fence}")

    def _end(self) -> None:
        """End the line. If it has text, it becomes a block."""
        words = "\n".join(" ".join(part.split()) for part in "".join(self.line).split("\n")).strip()
        self.line.clear()
        if words:
            # A line of text that looks like a heading, a fence or front matter is escaped.
            self.blocks.append(self.prefix + re.sub(r"^(#{1,6} |```|~~~|---$)", r"\\\1", words, flags=re.MULTILINE))
            self.prefix = "  " * self.level if self.level else ""
