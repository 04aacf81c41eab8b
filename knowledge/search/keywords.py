"""Words: an FTS5 index over the chunks, and a query's BM25 in proportion to the highest possible one.

`Keywords.find` gives the best chunks by words. A score alone says little, so it is divided by the query's weight: the
sum of the inverse document frequencies of all its stems, including words that the base has never seen. The quotient is
comparable between queries, and falls if a question has foreign words.

Scripts without spaces between words are indexed as pairs of neighbouring characters, and so is Korean, whose words
carry particles. The pairs are in the same index, so that everything is weighed on one scale.
"""

import math
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from knowledge.search.filters import EVERYTHING, Filter
from knowledge.search.questions import FUNCTION_WORDS, IDENTIFIER, UNSPACED
from knowledge.site_markup import without_targets

VERSION = 2
"""A part of the fingerprint. Raise it whenever the same text would be indexed differently."""

HEADING_WEIGHT = 8.0
"""How many times more a word counts in a heading than in the text."""
TERMS = 24
"""Distinct terms that are searched at most. The rarest are kept."""
SCAN_LIMIT = 4_000
"""Matches that are ranked for one query. Above this sum the most common terms are left out."""

SCHEMA = """
CREATE VIRTUAL TABLE words USING fts5(
    heading, text, pairs, content='', tokenize="porter unicode61 remove_diacritics 2"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
"""

_QUESTION_SCHEMA = """
CREATE VIRTUAL TABLE temp.question USING fts5(word, tokenize="porter unicode61 remove_diacritics 2");
CREATE VIRTUAL TABLE temp.stem USING fts5vocab('temp', 'question', 'instance');
"""

_RANKED = """
SELECT rowid, -bm25(words, :weight, 1.0, 1.0) FROM words WHERE words MATCH :expression ORDER BY 2 DESC LIMIT :limit
"""
_RANKED_WITHIN = """
SELECT rowid, -bm25(words, :weight, 1.0, 1.0) FROM words WHERE words MATCH :expression AND rowid IN (
    SELECT chunk.id FROM chunk JOIN document ON document.id = chunk.document
    WHERE (:origin = '' OR origin = :origin) AND (:category = '' OR category = :category)
    AND (:language = '' OR language || '-' LIKE :language || '-%')
) ORDER BY 2 DESC LIMIT :limit
"""
_NOTHING_ASKED = {"origin": "", "category": "", "language": ""}

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search for one query's words."""

    scores: dict[int, float]
    """Chunk -> BM25 divided by the query's weight: 0 to about 2.2, and seldom above 1."""
    known: float
    """The share of the query's weight that lies on words of the base, 0 to 1."""


NOTHING = Found({}, 0.0)


def index(database: sqlite3.Connection, rows: Iterable[tuple[int, str, str]]) -> None:
    """Add chunks: id, heading, text."""
    database.executemany(
        "INSERT INTO words(rowid, heading, text, pairs) VALUES (?, ?, ?, ?)",
        (_entry(*row) for row in rows),
    )


def forget(database: sqlite3.Connection, rows: Iterable[tuple[int, str, str]]) -> None:
    """Remove chunks. They must be given exactly as they were added, since the index keeps no copy of the text."""
    database.executemany(
        "INSERT INTO words(words, rowid, heading, text, pairs) VALUES ('delete', ?, ?, ?, ?)",
        (_entry(*row) for row in rows),
    )


def _entry(row: int, heading: str, text: str) -> tuple[int, str, str, str | None]:
    """A row of the index. The address of a link is no word of the text."""
    text = without_targets(text)
    return row, heading, text, _pairs(f"{heading}\n{text}")


class Keywords:
    """The word search of one connection. It is not for several threads at once."""

    def __init__(self, database: sqlite3.Connection, *, chunks: int) -> None:
        """Search `database`, which holds this many chunks."""
        database.executescript(_QUESTION_SCHEMA)
        self._database = database
        self._chunks = chunks

    def find(self, query: str, *, limit: int, only: Filter = EVERYTHING) -> Found:
        """The best chunks for a query's words. Nothing if the query has none."""
        terms = self._terms(query)
        weight = sum(term.idf for term in terms)
        known = [term for term in terms if term.frequency]
        if not known or weight <= 0:
            return NOTHING
        expression = " OR ".join(f'"{term.word}"' for term in self._affordable(known))
        asked = {"weight": HEADING_WEIGHT, "expression": expression, "limit": limit}
        if only:
            rows = self._database.execute(_RANKED_WITHIN, {**asked, **_NOTHING_ASKED, **only.wanted})
        else:
            rows = self._database.execute(_RANKED, asked)
        return Found(
            {row: score / weight for row, score in rows},
            sum(term.idf for term in known) / weight,
        )

    def _terms(self, query: str) -> list["_Term"]:
        words = [word for word in _WORD.findall(UNSPACED.sub(" ", query)) if word.lower() not in FUNCTION_WORDS]
        words += (_pairs(query) or "").split()
        numbers = {part for match in IDENTIFIER.findall(query) for part in _WORD.findall(match)}
        stems = self._stems(list(dict.fromkeys(words))[: 4 * TERMS])
        terms = [_Term(word, *self._frequency(stem)) for stem, word in stems.items()]
        terms = [term for term in terms if term.frequency or term.word not in numbers]
        return sorted(terms, key=lambda term: -term.idf)[:TERMS]

    def _stems(self, words: list[str]) -> dict[str, str]:
        """Stem -> word, from the index's own tokenizer, so that frequencies are looked up under the right stem."""
        self._database.execute("DELETE FROM temp.question")
        self._database.executemany("INSERT INTO temp.question(rowid, word) VALUES (?, ?)", enumerate(words))
        stems: dict[str, str] = {}
        for stem, row in self._database.execute("SELECT term, doc FROM temp.stem ORDER BY doc, offset"):
            stems.setdefault(stem, words[row])
        return stems

    def _frequency(self, stem: str) -> tuple[int, float]:
        row = self._database.execute("SELECT doc FROM vocabulary WHERE term = ?", (stem,)).fetchone()
        frequency = row[0] if row else 0
        # The idf of SQLite's own bm25(), so that the quotient has one scale.
        idf = math.log((self._chunks - frequency + 0.5) / (frequency + 0.5))
        return frequency, max(idf, 1e-6)

    def _affordable(self, terms: list["_Term"]) -> list["_Term"]:
        chosen, matches = terms[:1], terms[0].frequency
        for term in terms[1:]:
            matches += term.frequency
            if matches > SCAN_LIMIT:
                break
            chosen.append(term)
        return chosen


@dataclass(frozen=True, slots=True)
class _Term:
    word: str
    frequency: int
    idf: float


def _pairs(text: str) -> str | None:
    runs = UNSPACED.findall(text)
    if not runs:
        return None
    return " ".join(run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1)))
