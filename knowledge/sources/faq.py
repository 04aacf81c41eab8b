"""A FAQ as a table: one row a question with its answer."""

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping

from knowledge.documents import Document, clean, page_fields
from knowledge.sources.files import Quarantined, Unfit

FIELD_LIMIT = 1_000_000
"""Characters of one cell."""

QUESTION_COLUMNS = ("question", "title", "q")
ANSWER_COLUMNS = ("answer", "text", "a")
ID_COLUMNS = ("id", "key", "qid")


def read_faq(text: str, *, path: str) -> Iterator[Document | Quarantined]:
    """One document a row: the question is its title, the answer its text.

    Columns are found by name in the first line; url, category, last_updated and language are read when present.
    A row without an id is known by its question, so that moving it changes nothing. Raises Unfit when the two
    columns are missing or the table cannot be parsed.
    """
    csv.field_size_limit(FIELD_LIMIT)
    rows = csv.DictReader(io.StringIO(text, newline=""), dialect=_dialect(text))
    columns = {(name or "").strip().lower(): name for name in rows.fieldnames or ()}
    question = next((columns[name] for name in QUESTION_COLUMNS if name in columns), None)
    answer = next((columns[name] for name in ANSWER_COLUMNS if name in columns), None)
    if question is None or answer is None:
        raise Unfit("no columns named question and answer")
    known: set[str] = set()
    for number, row in enumerate(_rows(rows), start=2):
        fields = {column: row[name] or "" for column, name in columns.items()}
        entry = _entry(path, fields, row.get(question), row.get(answer))
        if isinstance(entry, str):
            yield Quarantined(f"{path} row {number}", entry)
        elif entry.id in known:
            yield Quarantined(f"{path} row {number}", "the same id or question as an earlier row")
        else:
            known.add(entry.id)
            yield entry


def _rows(rows: "csv.DictReader[str]") -> Iterator[dict[str, str]]:
    try:
        yield from rows
    except csv.Error as error:
        raise Unfit(f"not a readable table (line {rows.line_num}: {error})") from error


def _entry(path: str, fields: Mapping[str, str], question: str | None, answer: str | None) -> Document | str:
    title = " ".join(clean(question or "").split())
    text = clean(answer or "").strip()
    if not title or not text:
        return "no question" if not title else "no answer"
    known = page_fields({name: clean(value).strip() for name, value in fields.items()})
    key = next((fields[name].strip() for name in ID_COLUMNS if fields.get(name, "").strip()), "")
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
