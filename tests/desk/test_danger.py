"""People in danger are found in every language of the desk, and everyday messages that share their words are not."""

from dataclasses import replace

import numpy as np
import pytest

from bot.cases import case
from bot.desk.danger.classifier import (
    CLASSES,
    DANGERS,
    EVERYDAY,
    MODEL,
    READ_LIMIT,
    WINDOW_WORDS,
    find_danger,
    load_classifier,
    sentences,
    windows,
)
from bot.language.languages import Language
from bot.views.announcements import SAID_FIRST
from bot.views.staff_cards import WHY
from evals.danger import found_share, long_shares, measure, measure_all
from evals.danger_sentences import (
    COMPLAINTS,
    DEVELOPMENT,
    HELD_OUT,
    MUST,
    compose_long,
    fingerprint,
    read_all,
    read_long,
    read_training,
    taught_languages,
)

FOUND, FOUND_OF_A_CLASS, HANDED_OVER = 0.88, 0.85, 0.02
"""The least of the sentences in danger, all together and of each class, and the most of the everyday ones. The goals
are 0.9 and 0.02; docs/benchmarks.md has the present figures."""
FOUND_IN_LONG, HANDED_OVER_LONG = 0.55, 0.03
"""The least of the long messages with one sentence of danger, and the most of those without. Read without line ends,
0.33 of the composed ones would be found. With the threshold of short messages, 0.07 of the written ones would be handed
over."""
HANDED_OVER_COMPLAINTS = 0.01
"""The most of the complaints that carry codes, numbers and notes."""


@pytest.mark.parametrize("language", taught_languages())
def test_what_must_be_right_is_right(language: Language) -> None:
    wrong = {label: each.wrong for label, each in measure(MUST, language).items() if each.wrong}
    assert wrong == {}


def test_sentences_that_nothing_was_learned_from_are_found_and_few_everyday_ones_go_to_a_person() -> None:
    measured = measure_all(HELD_OUT)
    assert found_share(measured, *DANGERS) >= FOUND
    assert [danger for danger in DANGERS if found_share(measured, danger) < FOUND_OF_A_CLASS] == []
    assert found_share(measured, EVERYDAY) <= HANDED_OVER


def test_one_sentence_of_danger_is_found_in_a_long_everyday_message() -> None:
    composed = [each for language in taught_languages() for each in compose_long(HELD_OUT, language)]
    for messages in (read_long("held_out"), composed):
        found, handed_over = long_shares(messages)
        assert found >= FOUND_IN_LONG
        assert handed_over <= HANDED_OVER_LONG


def test_long_messages_are_unseen_and_enough_to_measure() -> None:
    by_part = {part: dict(read_long(part)) for part in ("development", "held_out")}
    assert by_part["development"].keys() & by_part["held_out"].keys() == set()
    assert [*by_part["held_out"].values()].count(EVERYDAY) >= 80
    assert set(by_part["held_out"].values()) == set(CLASSES)


def test_a_line_without_a_full_stop_is_read_alone_and_a_sentence_over_two_lines_too() -> None:
    read = sentences("the box came late\ni want to die\nwhere is\nmy order? Thanks a lot.")
    assert "i want to die" in read
    assert "the box came late i want to die where is my order?" in read


def test_complaints_with_order_numbers_notes_and_codes_go_to_no_person_as_danger() -> None:
    measured = measure_all(COMPLAINTS)
    assert min(by_label[EVERYDAY].asked for by_label in measured.values()) >= 50
    assert found_share(measured, EVERYDAY) <= HANDED_OVER_COMPLAINTS


@pytest.mark.parametrize("language", taught_languages())
def test_each_language_has_sentences_enough_to_measure(language: Language) -> None:
    asked = {label: each.asked for label, each in measure(HELD_OUT, language).items()}
    assert set(asked) == set(CLASSES)
    assert min(asked[danger] for danger in DANGERS) >= 30
    assert asked[EVERYDAY] >= 150


def test_nothing_is_measured_with_a_sentence_that_was_learned() -> None:
    learned = {text.casefold() for text, _ in read_training()}
    measured = {text.casefold() for folder in (DEVELOPMENT, HELD_OUT, COMPLAINTS) for text, _ in read_all(folder)}
    assert sorted(learned & measured) == []


def test_the_weights_were_learned_from_the_sentences_that_are_there() -> None:
    with np.load(MODEL) as held:
        assert str(held["learned_from"]) == fingerprint(read_training()), "run make train-danger"


def test_without_the_embedder_most_are_still_found() -> None:
    classifier = replace(load_classifier(), embed=None)
    texts = [text for text, label in read_all(MUST) if label != EVERYDAY]
    found = [classifier.find(text) is not None for text in texts]
    assert sum(found) / len(found) >= 0.8


def test_danger_is_found_at_the_end_of_a_long_story_and_the_gravest_counts() -> None:
    story = "I bought a tent in May and it came late. " * 250 + "I will sue you. I want to kill myself."
    assert len(story) < READ_LIMIT
    assert find_danger(story) == "crisis"


def test_a_message_without_words_shows_nothing() -> None:
    assert [find_danger(text) for text in ("", "   ", "👍", "?!", "…" * 100)] == [None] * 5


def test_a_long_message_is_read_whole_in_windows_that_overlap() -> None:
    words = [f"w{number}" for number in range(3 * WINDOW_WORDS)]
    read = [window.split() for window in windows(" ".join(words))]
    assert all(len(window) <= WINDOW_WORDS for window in read)
    assert [word for word in words if not any(word in window for window in read)] == []
    assert read[1][0] in read[0]


def test_every_class_has_a_reason_on_the_card_a_gravity_and_where_it_is_needed_a_sentence() -> None:
    assert set(DANGERS) <= set(WHY)
    assert sorted(case.DANGERS, key=lambda reason: -case.DANGERS[reason]) == [*DANGERS]
    assert set(DANGERS) - {"legal"} <= set(SAID_FIRST)
    assert len({WHY[danger] for danger in DANGERS}) == len(DANGERS)
