"""A document and the reader of pages: front matter, title, clean text.

`read_page` turns a Markdown or text file's content into a `Document`. Its two halves are `split_front_matter` and
`page_fields`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Literal

import yaml

from knowledge.markdown import FENCE, closes, headings, lines
from knowledge.site_markup import plain_markdown
from knowledge.text import HIDDEN_KINDS, count_hidden, visible

FRONT_MATTER_LIMIT = 16_384
"""Characters of front matter that are parsed. A longer block is treated as ordinary text."""
FRONT_MATTER_DEPTH = 20
"""Brackets that may be open at once in parsed front matter: the parser looks at all open brackets at each sign."""
TITLE_LIMIT = 200
"""Characters of a title. A longer one is cut."""
SOME_READERS = "the help centre shows it to some readers only"
"""Why an article of Zendesk with user segments is withheld: it is for signed-in readers or agents alone. Enterprise
plans name several (developer.zendesk.com, "User Segments")."""

Markup = Literal["markdown", "plain"]

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_PLAIN_FIELD = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]")
_PLACE = re.compile(r"/?[\w.-]+(?:/[\w.-]+){0,20}/?")
"""A path on the site, as front matter has it."""
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class Document:
    """One page or one FAQ entry, cleaned and ready to be cut into chunks."""

    id: str
    """Where it came from: the path inside the source, or `faq.csv#<id>` for an FAQ row. It is unique in a base."""
    title: str
    text: str
    """The text: newlines are `\\n`, Unicode is NFC, control characters and Markdown comments are removed."""
    markup: Markup = "markdown"
    url: str = ""
    """The http or https address where a customer can read it, or empty. A reader may leave a path on its site."""
    category: str = ""
    last_updated: str = ""
    """The ISO date, or empty if the document does not have one."""
    language: str = ""
    """The BCP 47 language tag in lower case, or empty."""
    origin: str = ""
    """The name of its source. Empty in a base with one source."""
    hidden: Mapping[str, int] = field(default_factory=dict)
    """Characters that were removed from title and text, as `text.count_hidden` counts them."""
    withheld: str = ""
    """Why it must not be in a public base. Empty if it may be."""
    noindex: bool = False
    """Whether a page on the web asks programs not to index it."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something in a document that its authors should know. It never contains the text itself."""

    document: str
    kind: str
    """A secret's kind, or one of `text.HIDDEN_KINDS`."""
    times: int
    withheld: int = 0
    """Passages that are not served because of it."""
    origin: str = ""
    """The name of the document's source."""

    @property
    def is_hidden(self) -> bool:
        """Whether it is about characters that no one sees, and not about a secret."""
        return self.kind in HIDDEN_KINDS


def read_page(text: str, *, path: str, markup: Markup, jsx: bool = False) -> Document:
    """Read a page. `path` is its place inside the source. It names a page that has neither title nor heading.

    `jsx` says that it is MDX.
    """
    fields, body = split_front_matter(clean(text))
    heading = ""
    if markup == "markdown":
        body = plain_markdown(_without_comments(body), jsx=jsx)
        heading = _first_heading(body)
    known = page_fields(fields)
    return Document(
        id=path,
        title=known["title"] or heading[:TITLE_LIMIT] or title_of(path),
        text=_introduced(body, fields),
        markup=markup,
        url=known["url"],
        category=known["category"] or folder_of(path),
        last_updated=known["last_updated"],
        language=known["language"],
        withheld=_withheld(fields),
    )


def _first_heading(body: str) -> str:
    """The words of the heading at the top of a page, if it is one of the first level."""
    first = next(headings(body.lstrip()[:FRONT_MATTER_LIMIT]), None)
    return first.words if first and first.level == 1 and not first.start else ""


def _introduced(body: str, fields: Mapping[str, str]) -> str:
    """The text with what the front matter adds to it: a description, and other names that people look for."""
    about = next((fields[name] for name in ("description", "summary", "excerpt", "subtitle") if fields.get(name)), "")
    # In Hugo and others, aliases are old addresses of the page.
    names = [name for name in fields.get("aliases", "").split(", ") if name and "/" not in name]
    added = [part for part in (about, " · ".join(names)) if part and part not in body]
    if not added:
        return body
    heading = next(headings(body.lstrip()[:FRONT_MATTER_LIMIT]), None)
    top = len(body) - len(body.lstrip()) + heading.end if heading and not heading.start else 0
    told = "\n\n".join(added)
    return f"{body[:top]}\n{told}\n\n{body[top:]}" if top else f"{told}\n\n{body}"


def _withheld(fields: Mapping[str, str]) -> str:
    """Why customers must not read the page, by its front matter. Empty if they may."""
    visibility = fields.get("visibility", "").lower()
    if visibility in ("internal", "private", "hidden"):
        return "its front matter says that it is internal"
    if visibility not in ("", "public"):
        return f"its front matter has the visibility {visibility[:40]!r}, which is neither public nor internal"
    if any(fields.get(name) for name in ("user_segment_id", "user_segment_ids")):
        return SOME_READERS
    is_draft = fields.get("draft", "").lower() == "true" or fields.get("published", "").lower() == "false"
    return "its front matter says that it is a draft" if is_draft else ""


def sift(document: Document) -> Document:
    """The document with only what its readers see. The documents of every reader go through this function."""
    id_, title, text, category = fields = (document.id, document.title, document.text, document.category)
    return replace(
        document,
        id=_visible(id_),
        title=_visible(title),
        text=_visible(text),
        category=_visible(category),
        url=document.url if visible(document.url) == document.url else "",
        hidden=dict(sum(map(count_hidden, fields), Counter[str]())),
    )


def _visible(text: str) -> str:
    return unicodedata.normalize("NFC", visible(text))


def describe(page: Document, fields: Mapping[str, str]) -> Document:
    """The page with its file's fields, where the page itself has none."""
    known = page_fields(fields)
    return replace(
        page,
        title=known["title"] or page.title,
        category=known["category"] or page.category,
        last_updated=page.last_updated or known["last_updated"],
        language=page.language or known["language"],
    )


def clean(text: str) -> str:
    """Text as all later code expects it: `\\n` only, NFC, no control characters, no lone surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.encode("utf-8", "ignore").decode("utf-8")
    return unicodedata.normalize("NFC", _CONTROL.sub("", text))


class _FrontMatter(yaml.SafeLoader):
    """YAML without aliases: a few lines of merged aliases can exceed any memory."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """The front matter's plain values, and the text after it.

    Scalars are kept as text, and lists of them joined by ", ". YAML that does not parse is read line by line instead,
    since a title such as `Refunds: how long?` is no reason to lose a page.
    """
    match = _FRONT_MATTER.match(text)
    if match is None or len(match[1]) > FRONT_MATTER_LIMIT:
        return {}, text
    try:
        loaded = load_yaml(match[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        loaded = {name: value.strip(" \t\"'") for name, value in _PLAIN_FIELD.findall(match[1])}
    if loaded is not None and not isinstance(loaded, dict):
        return {}, text
    fields = {str(name).strip().lower(): _plain(value) for name, value in (loaded or {}).items()}
    return {name: value for name, value in fields.items() if value}, text[match.end() :]


def load_yaml(text: str) -> object:
    """Parse YAML that others wrote, without aliases. Raises yaml.YAMLError, ValueError or RecursionError."""
    depth = 0
    for sign in text:
        depth += (sign in "[{") - (sign in "]}")
        if depth > FRONT_MATTER_DEPTH:
            raise yaml.YAMLError("nested too deep")
    return _FrontMatter(text).get_single_data()


def page_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """The five fields that a document keeps, each checked. A value of the wrong shape becomes empty."""
    links = (fields.get(name, "") for name in ("url", "link", "source", "permalink"))
    places = (fields.get(name, "") for name in ("permalink", "url", "slug"))
    first = next(filter(_is_link, links), "") or next(filter(_PLACE.fullmatch, places), "")
    category = fields.get("category") or fields.get("categories", "").partition(", ")[0]
    updated = next((fields[name] for name in ("last_updated", "updated", "date") if fields.get(name)), "")
    language = (fields.get("language") or fields.get("lang") or "").lower().replace("_", "-")
    return {
        "title": " ".join(fields.get("title", "").split())[:TITLE_LIMIT],
        "url": first,
        "category": " ".join(category.split())[:100],
        "last_updated": _iso_date(updated),
        "language": language if _LANGUAGE.fullmatch(language) else "",
    }


def _without_comments(text: str) -> str:
    """Markdown without its HTML comments: no reader of the page sees them, so no customer should."""
    if "<!--" not in text:
        return text
    kept: list[str] = []
    fence, commented = "", False
    for line in lines(text, 0, len(text)):
        mark = None if commented else FENCE.match(line)
        if fence:
            fence = "" if closes(line, fence) else fence
        elif mark:
            fence = mark[1]
        else:
            line, commented = _strip_comments(line, commented=commented)
        kept.append(line)
    return "".join(kept)


def _strip_comments(line: str, *, commented: bool) -> tuple[str, bool]:
    parts: list[str] = []
    at = 0
    while at < len(line):
        mark = "-->" if commented else "<!--"
        found = line.find(mark, at)
        end = found if found >= 0 else len(line)
        before = "" if commented else line[at:end]
        at = end + len(mark)
        if before.count("`") % 2 and found >= 0:
            parts.append(before + mark)
            continue
        parts.append(before)
        commented = commented != (found >= 0)
    kept = "".join(parts)
    return (kept or "\n") if not kept.strip() else kept, commented


def _plain(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return clean(str(value)).strip()
        case datetime() | date():
            return value.isoformat()
        case list():
            return ", ".join(filter(None, (_plain(each) for each in value if not isinstance(each, list))))
        case _:
            return ""


def _is_link(value: str) -> bool:
    return value.startswith(("https://", "http://")) and len(value) <= 2_000 and not re.search(r"[\s<>|]", value)


def _iso_date(value: str) -> str:
    try:
        return date.fromisoformat(value[:10]).isoformat()
    except ValueError:
        return ""


def title_of(path: str) -> str:
    """A title for a page that has none: its file's name in words."""
    words = re.sub(r"[-_\s]+", " ", PurePosixPath(path).stem).strip()
    return (words[:1].upper() + words[1:])[:TITLE_LIMIT] or path


def folder_of(path: str) -> str:
    """A category for a page that names none: its folder in words."""
    parent = PurePosixPath(path).parent.name
    return re.sub(r"[-_]+", " ", parent)[:100]
