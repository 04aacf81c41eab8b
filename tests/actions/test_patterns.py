"""Patterns mean what the same regular expressions mean, and take no longer for a text that does not fit."""

import re

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from bot.actions.patterns import LENGTH_LIMIT, TEXT_LIMIT, Pattern

PATTERNS = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\W", r"\.", "", "ab"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]}|{parts[1]})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{1,2}", "{1,}"])).map(
            lambda parts: f"(?:{parts[0]}){parts[1]}"
        ),
    ),
    max_leaves=8,
)


@given(PATTERNS.filter(lambda written: 0 < len(written) <= 60), st.text("ab1.\n", max_size=8))
def test_a_pattern_matches_what_the_regular_expression_matches(written: str, text: str) -> None:
    try:
        pattern = Pattern(written)
    except ValueError:
        reject()  # repeats too much
    assert pattern.matches(text) == bool(re.fullmatch(written, text, re.DOTALL))


def test_a_pattern_that_would_go_back_and_forth_ends_soon() -> None:
    assert not Pattern("(a|a|aa)*(a*)*b").matches("a" * TEXT_LIMIT)


def test_a_text_that_is_too_long_matches_nothing() -> None:
    assert Pattern("a*").matches("a" * TEXT_LIMIT)
    assert not Pattern("a*").matches("a" * (TEXT_LIMIT + 1))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("", "must have 1 to"),
        ("a" * (LENGTH_LIMIT + 1), "must have 1 to"),
        ("(a", "has a ( without its )"),
        ("a)", "has a ) without its ("),
        ("[a", "has a [ without its ]"),
        ("[[a]", "has a [ without its ]"),
        ("[z-a]", "class that cannot be used"),
        ("[a--b]", "doubled sign"),
        (r"(a)\1", r"has a \1, which is not possible"),
        (r"\b", r"has a \b, which is not possible"),
        ("a\\", "which is not possible here"),
        ("(?=a)", "has a (?, which is not possible"),
        ("^a", "always matches a whole text"),
        ("*a", "nothing to repeat"),
        ("a**", "a repeat behind a repeat"),
        ("a{3,1}", "ends before it begins"),
        ("a{x}", "begins no repeat"),
        ("(" * 11 + ")" * 11, "groups within each other"),
        ("((a{99}){99}){99}", "repeats too much"),
        ("((((){999}){999}){999}){999}", "repeats too much"),
    ],
)
def test_what_is_not_possible_is_refused_with_its_reason(written: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        Pattern(written)
