"""Stop words, edits that mean something, and taking a deleted message's words out of other texts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.desk.second_thoughts import Blotter, changes_meaning, says_stop


@pytest.mark.parametrize(
    "text",
    ["stop", "STOP!", " Stop. ", "Stopp", "berhenti", "Alto", "¡Para!", "detente", "Arrête !", "arrete", "stop please"],
)
def test_a_message_that_is_nothing_but_a_stop_asks_for_an_end(text: str) -> None:
    assert says_stop(text)


@pytest.mark.parametrize(
    "text",
    ["", "?", "How do I stop my subscription?", "stop my order", "don't stop", "para mi pedido", "unstoppable", "ok"],
)
def test_a_message_that_says_more_asks_for_none(text: str) -> None:
    assert not says_stop(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Where is my ordre?", "Where is my order?"),
        ("where is my order", "Where is my order?!"),
        ("Where is my my order?", "Where is my order?"),
        ("wo ist meine bestelung", "Wo ist meine Bestellung?"),
        ("donde esta mi envio", "¿Dónde está mi envío?"),
        ("any thing else", "anything else"),
        ("I recieved it", "I received it"),
        ("", ""),
    ],
)
def test_a_slip_put_right_changes_nothing(before: str, after: str) -> None:
    assert not changes_meaning(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Where is ORD-1001?", "Where is ORD-1002?"),
        ("Can I return it?", "Can I exchange it?"),
        ("I want it", "I do not want it"),
        ("It is in", "It is on"),
        ("Return policy", "Return policy for shoes"),
        ("我要退货", "我不要退货"),
        ("我要退货", "我要换货"),
        ("Where is my order?", ""),
        ("a" * 5_000, "b" * 5_000),
    ],
)
def test_other_words_or_numbers_change_the_meaning(before: str, after: str) -> None:
    assert changes_meaning(before, after)


@given(st.text(max_size=200))
def test_the_same_text_never_changes_its_meaning(text: str) -> None:
    assert not changes_meaning(text, text)


def test_a_deleted_messages_telling_words_and_runs_are_taken_out_and_others_stay() -> None:
    blotter = Blotter("My code is canary-7f3a and I live in Elm Street", ["I live here", "Where is my order?"])
    assert blotter.clean("The code is canary-7f3a, sent to Elm Street.") == "The …-…, sent to Elm …."
    assert blotter.clean("they live in Elm Street, they say") == "they …, they say"
    assert blotter.clean("Where is my order?") == "Where is my order?"
    assert not blotter.quotes("I live here")


def test_json_stays_json() -> None:
    blotter = Blotter("canary7f3a please", [])
    arguments = json.dumps({"query": 'é "canary7f3a"\ncanary7f3a'})
    cleaned = blotter.clean_json({"text": "canary7f3a", "calls": [{"arguments": arguments}], "n": 7})
    assert "canary7f3a" not in json.dumps(cleaned)
    assert json.loads(cleaned["calls"][0]["arguments"]) == {"query": 'é "…"\n…'}
    assert cleaned["n"] == 7


def test_a_very_short_message_is_found_where_it_stands_alone() -> None:
    blotter = Blotter("Ana", ["Ana here again"])
    assert blotter.clean("Ana") == "…"
    assert blotter.clean("Banana and Ana") == "Banana and Ana"


def test_small_numbers_tell_nothing_by_themselves_and_long_ones_do() -> None:
    blotter = Blotter("1 of order 4711", [])
    assert blotter.clean("Question 1 is about 4711") == "Question 1 is about …"
