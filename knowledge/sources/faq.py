"""An FAQ as a table, or as one JSON object a line. Each row is a question with its answer."""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping

from knowledge.documents import Document, clean, page_fields
from knowledge.sources.files import Quarantined, Unfit

FIELD_LIMIT = 1_000_000
"""Characters of one cell."""

COLUMNS_LIMIT = 1_000

QUESTION_COLUMNS = ("question", "title", "q")
ANSWER_COLUMNS = ("answer", "text", "a")
ID_COLUMNS = ("id", "key", "qid")


def read_faq(text: str, *, path: str) -> Iterator[Document | Quarantined]:
    """Make one document from each row: the question is its title, the answer its text.

    Columns are found by name in the first line; url, category, last_updated and language are optional. A row without an
    id is identified by its question, so that moving it changes nothing. Raises Unfit if the question or answer column
    is missing or the table cannot be parsed.
    """
    csv.field_size_limit(FIELD_LIMIT)
    rows = csv.DictReader(io.StringIO(text, newline=""), dialect=_dialect(text))
    columns = {(name or "").strip().lower(): name for name in rows.fieldnames or ()}
    if len(columns) > COLUMNS_LIMIT:
        raise Unfit(f"more than {COLUMNS_LIMIT:,} columns")
    if not _pick(columns, QUESTION_COLUMNS) or not _pick(columns, ANSWER_COLUMNS):
        raise Unfit("no columns named question and answer")
    found = ({column: row[name] or "" for column, name in columns.items()} for row in _rows(rows))
    yield from _entries(path, enumerate(found, start=2), unit="row")


def read_faq_lines(text: str, *, path: str) -> Iterator[Document | Quarantined]:
    """Do the same for one JSON object a line, with the columns' names as keys. Other lines come as Quarantined."""
    yield from _entries(path, _objects(text), unit="line")


def _objects(text: str) -> Iterator[tuple[int, dict[str, str] | None]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line) if len(line) <= FIELD_LIMIT else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            yield number, None
            continue
        plain = {name: str(each) for name, each in value.items() if isinstance(each, str | int | float)}
        yield number, {name.strip().lower(): each for name, each in plain.items()}


def _entries(
    path: str, rows: Iterable[tuple[int, Mapping[str, str] | None]], *, unit: str
) -> Iterator[Document | Quarantined]:
    known: set[str] = set()
    for number, fields in rows:
        entry = "not a JSON object" if fields is None else _entry(path, fields)
        if isinstance(entry, str):
            yield Quarantined(f"{path} {unit} {number}", entry)
        elif entry.id in known:
            yield Quarantined(f"{path} {unit} {number}", f"the same id or question as an earlier {unit}")
        else:
            known.add(entry.id)
            yield entry


def _pick(fields: Mapping[str, str], names: Iterable[str]) -> str:
    """The first of these fields that exists: its name in a heading, its value in a row."""
    return next((fields[name] for name in names if fields.get(name, "").strip()), "")


def _rows(rows: "csv.DictReader[str]") -> Iterator[dict[str, str]]:
    try:
        yield from rows
    except csv.Error as error:
        raise Unfit(f"not a readable table (line {rows.line_num}: {error})") from error


def _entry(path: str, fields: Mapping[str, str]) -> Document | str:
    title = " ".join(clean(_pick(fields, QUESTION_COLUMNS)).split())
    text = clean(_pick(fields, ANSWER_COLUMNS)).strip()
    if not title or not text:
        return "no question" if not title else "no answer"
    known = page_fields({name: clean(value).strip() for name, value in fields.items()})
    key = _pick(fields, ID_COLUMNS).strip()
    return Document(
        id=f"{path}#{key or hashlib.blake2b(title.encode(), digest_size=6).hexdigest()}",
        title=title,
        text=text,
        markup="plain",
        url=known["url"],
        category=known["category"],
        last_updated=known["last_updated"],
        language=known["language"],
    )


def _dialect(text: str) -> type[csv.Dialect]:
    head = text.partition("\n")[0]

    class Table(csv.excel):
        delimiter = max(",;\t", key=head.count)
        strict = False

    return Table
