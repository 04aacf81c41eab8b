"""What was asked and not answered."""

from bot.help_center.gaps import Gap, gaps_from, impersonal, the_same
from bot.store.traces import Unanswered


def test_what_is_somebodys_own_is_not_shown() -> None:
    table = [
        ("Where is ORD-1001?", "Where is [number]?"),
        ("Is 1Z999AA10123456784 lost?", "Is [number] lost?"),
        ("Write to me.too@example.co.uk please", "Write to [e-mail address] please"),
        ("My card is 4111 1111 1111 1111", "My card is [card number]"),
        ("Call me: +49 (30) 901820-11", "Call me: [number]"),
        ("See https://example.com/orders/77?k=1 now", "See [link] now"),
        ("Did <@U0CUSTOMERA|anna> ask?", "Did [person] ask?"),
        ("my password is hunter2000", "my password is [secret]"),
        ("Do you\n ship  to Iceland in 2026?", "Do you ship to Iceland in 2026?"),
    ]
    misses = [(question, got) for question, shown in table if (got := impersonal(question)) != shown]
    assert misses == []


def test_a_long_question_is_cut() -> None:
    assert len(impersonal("why " * 500)) <= 160


def test_gaps_are_counted_by_questions_and_by_people() -> None:
    asked = [
        Unanswered("Iceland?", "U1", 3.0, "one"),
        Unanswered("To Iceland?", "U1", 2.0, "two"),
        Unanswered("Crypto?", "U2", 9.0, "three"),
    ]
    assert gaps_from(asked, [[2], [1, 0]]) == [
        Gap("To Iceland?", 2, 1, 3.0, ("two", "one")),
        Gap("Crypto?", 1, 1, 9.0, ("three",)),
    ]


def test_a_gap_counts_why_answers_did_not_help() -> None:
    asked = [
        Unanswered("Iceland?", "U1", 4.0),
        Unanswered("To Iceland?", "U2", 3.0, rating="off_topic"),
        Unanswered("To Iceland?", "U3", 2.0, rating="wrong"),
        Unanswered("Iceland, too?", "U4", 1.0, rating="wrong"),
    ]
    (gap,) = gaps_from(asked, [[0, 1, 2, 3]])
    assert (gap.times, list(gap.ratings.items())) == (4, [("wrong", 2), ("off_topic", 1)])


def test_the_same_words_are_one_thing() -> None:
    assert the_same(["Iceland?", "crypto?", "ICELAND?"]) == [[0, 2], [1]]
