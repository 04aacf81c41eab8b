"""What help centres and wikis export.

Zendesk and Intercom give articles as JSON, Notion and Confluence a space as a ZIP file of pages.

Both JSON forms are those that the two companies' interfaces answer with: a list of articles whose body is HTML.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from knowledge.documents import SOME_READERS, TITLE_LIMIT, Document, page_fields, title_of
from knowledge.sources.files import SUFFIXES, Quarantined, Unfit
from knowledge.sources.html import read_html

MEMBERS = 20_000
"""Files of an archive that are looked at, at most."""
UNPACKED_BYTES = 500_000_000
"""Bytes that all files of an archive unpack to, at most."""

_ID_AT_END = re.compile(r"[ _-][0-9a-f]{32}$")
"""Notion ends the names of pages with their id."""
_NOT_PUBLIC = re.compile(r"draft|archived|unpublished", re.IGNORECASE)


def read_export(text: str, *, path: str) -> Iterator[Document | Quarantined]:
    """The articles of an export in JSON. Drafts are left out. Raises Unfit if it is something else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unfit("not JSON") from error
    articles = _articles(value)
    if not articles:
        raise Unfit("JSON without articles of Zendesk or Intercom")
    for number, article in enumerate(articles, start=1):
        name = f"{path}#{article.get('id') or number}"
        try:
            yield _article(article, name=name)
        except Unfit as unfit:
            yield Quarantined(name, str(unfit))


def unpack(content: bytes) -> Iterator[tuple[str, bytes | str]]:
    """The files of an archive that are of a kind that is read: each with its name, and its content or why it has none.

    Raises Unfit if the archive cannot be read, or unpacks to too much.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if _is_page(entry)]
            if len(entries) > MEMBERS or sum(entry.file_size for entry in entries) > UNPACKED_BYTES:
                raise Unfit(f"an archive of more than {MEMBERS:,} files or {UNPACKED_BYTES // 1_000_000} MB")
            for entry in entries:
                yield entry.filename, _content(archive, entry)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError) as error:
        raise Unfit("not a readable ZIP file") from error


def exported(document: Document) -> Document:
    """A page of an archive, without what the export added to its name."""
    stem = PurePosixPath(document.id).stem
    folder = PurePosixPath(document.id).parent.name
    named = document.title == title_of(document.id)
    return replace(
        document,
        title=title_of(f"{_ID_AT_END.sub('', stem)}.md") if named else document.title,
        category="" if folder.endswith(".zip") else _ID_AT_END.sub("", document.category),
    )


def _articles(value: Any) -> list[Mapping[str, Any]]:
    """The articles of an answer, of a list of answers, or of a list of articles."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("articles", "data") if isinstance(value.get(key), list)), [value])
    if not isinstance(value, list):
        return []
    found: list[Mapping[str, Any]] = []
    for each in value:
        if isinstance(each, dict) and any(isinstance(each.get(key), list) for key in ("articles", "data")):
            found += _articles(each)
        elif isinstance(each, dict) and isinstance(each.get("title"), str) and isinstance(each.get("body"), str):
            found.append(each)
    return found


def _article(article: Mapping[str, Any], *, name: str) -> Document:
    """One article. Raises Unfit if no one may read it, or it has no text."""
    state = str(article.get("state") or "")
    if article.get("draft") is True or article.get("outdated_draft") is True or _NOT_PUBLIC.search(state):
        raise Unfit("a draft")
    page = read_html(f"<body>{article['body']}</body>", path=name)
    updated = article.get("edited_at") or article.get("updated_at") or ""
    if isinstance(updated, int | float) and not isinstance(updated, bool):
        updated = datetime.fromtimestamp(updated, UTC).date().isoformat()
    known = page_fields(
        {
            "url": str(article.get("html_url") or article.get("url") or ""),
            "language": str(article.get("locale") or article.get("default_locale") or ""),
            "last_updated": str(updated),
        }
    )
    about = str(article.get("description") or "").strip()
    return replace(
        page,
        title=" ".join(article["title"].split())[:TITLE_LIMIT] or page.title,
        text=f"{about}\n\n{page.text}" if about and about not in page.text else page.text,
        url=known["url"],
        category="",
        language=known["language"],
        last_updated=known["last_updated"],
        withheld=SOME_READERS if article.get("user_segment_id") or article.get("user_segment_ids") else "",
    )


def _is_page(entry: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(entry.filename)
    is_left_behind = path.name.startswith(".") or "__MACOSX" in path.parts
    return not entry.is_dir() and not is_left_behind and path.suffix.lower() in SUFFIXES


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes | str:
    limit = SUFFIXES[PurePosixPath(entry.filename).suffix.lower()]
    if entry.flag_bits & 0x1:
        return "encrypted"
    with archive.open(entry) as opened:
        content = opened.read(limit + 1)
    return content if len(content) <= limit else f"larger than {limit // 1_000_000} MB"
