"""Words: stems, weights, scripts without spaces."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from knowledge.search import keywords
from knowledge.search.keywords import Found, Keywords

CHUNKS = [
    (1, "Returns", "You can return a lamp within thirty days."),
    (2, "Shipping", "Parcels are returned to us when nobody opens."),
    (3, "Warranty", "Three years on every lamp."),
    (4, "返品について", "商品到着後30日以内であれば返品できます。"),
    (5, "Codes", "Error code E1234 means that the driver is too hot."),
    (6, "Payment", "We take cards."),
]


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(keywords.SCHEMA)
        keywords.index(connection, CHUNKS)
        yield connection


@pytest.fixture
def find(database: sqlite3.Connection) -> Keywords:
    return Keywords(database, chunks=len(CHUNKS))


def best(found: Found) -> int:
    return max(found.scores, key=lambda chunk: found.scores[chunk])


def test_a_word_in_the_heading_counts_more_than_one_in_the_text(find: Keywords) -> None:
    assert best(find.find("returning", limit=5)) == 1


def test_words_that_the_base_has_never_seen_lower_the_score(find: Keywords) -> None:
    plain = find.find("lamp warranty", limit=5)
    foreign = find.find("lamp warranty quantum chromodynamics", limit=5)

    assert best(plain) == best(foreign) == 3
    assert foreign.scores[3] < plain.scores[3]
    assert foreign.known < plain.known == 1


def test_greetings_and_order_numbers_lower_nothing(find: Keywords) -> None:
    plain = find.find("lamp warranty", limit=5)

    assert find.find("Hello, lamp warranty for ORD-12345 please", limit=5) == plain


def test_a_code_that_stands_on_a_page_is_found(find: Keywords) -> None:
    assert best(find.find("what is E1234", limit=5)) == 5


def test_scripts_without_spaces_are_found_by_pairs_of_characters(find: Keywords) -> None:
    assert best(find.find("返品したい", limit=5)) == 4
    assert best(find.find("返品", limit=5)) == 4


@pytest.mark.parametrize(
    "query", ["", "the of and", '"', 'lamp" OR text:*', "NEAR(a b)", "(", "-", "\x00", "x" * 5_000]
)
def test_no_query_is_an_error(find: Keywords, query: str) -> None:
    find.find(query, limit=5)


def test_forgotten_chunks_are_found_no_more(database: sqlite3.Connection) -> None:
    keywords.forget(database, CHUNKS[:1])

    assert 1 not in Keywords(database, chunks=len(CHUNKS) - 1).find("return lamp", limit=5).scores


def test_common_words_are_left_out_when_rarer_ones_would_do(find: Keywords, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keywords, "SCAN_LIMIT", 1)

    assert set(find.find("warranty lamp", limit=5).scores) == {3}
