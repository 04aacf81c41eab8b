"""People in danger are found, in every language of the desk, and everyday sentences that sound alike are left alone."""

from functools import partial
from pathlib import Path

import pytest

from bot.cases import case as steps
from bot.cases.messages import SAID_FIRST, WHY
from bot.desk.danger.finding import find_in
from bot.desk.danger.lexicon import DANGERS, READ_LIMIT, find_danger
from bot.desk.danger.similarity import EVERYDAY, Similarity, open_similarity, read_examples
from bot.language.sentences import LANGUAGES, Language
from evals.danger import FOLDER, FRESH, everyday_share, held_out, measure

MUST_BE_FOUND: dict[Language, dict[str, str]] = {
    "en": {
        "I keep thinking about ending it all": "crisis",
        "my ex knows my address": "threat",
        "someone is using my account": "fraud",
        "the stove leaked gas, my child inhaled it": "harm",
        "gas cartridge is leaking in my living room": "harm",
    },
    "id": {
        "saya ingin mengakhiri semuanya": "crisis",
        "mantan saya tahu alamat saya": "threat",
        "ada yang pakai akun saya": "fraud",
        "kompornya bocor gas, anak saya menghirupnya": "harm",
        "tabung gas bocor di ruang tamu saya": "harm",
    },
    "de": {
        "ich will allem ein Ende setzen": "crisis",
        "mein Ex kennt meine Adresse": "threat",
        "jemand benutzt mein Konto": "fraud",
        "aus dem Kocher ist Gas ausgetreten, mein Kind hat es eingeatmet": "harm",
        "in meinem Wohnzimmer läuft eine Gaskartusche aus": "harm",
    },
    "es": {
        "pienso en acabar con todo": "crisis",
        "mi ex sabe mi dirección": "threat",
        "alguien está usando mi cuenta": "fraud",
        "la cocina perdió gas y mi hijo lo respiró": "harm",
        "se está escapando el gas de un cartucho en mi salón": "harm",
    },
    "fr": {
        "je pense à en finir avec tout": "crisis",
        "mon ex connaît mon adresse": "threat",
        "quelqu'un utilise mon compte": "fraud",
        "le réchaud a fui, mon enfant a inhalé le gaz": "harm",
        "une cartouche de gaz fuit dans mon salon": "harm",
    },
}
LEAST_FOUND = 0.9
"""Of each class in each language; of all together it is LEAST_FOUND_OF_ALL."""
LEAST_FOUND_OF_ALL = 0.98
MOST_HANDED_OVER = 0.02
"""Of the everyday sentences."""
LEAST_FOUND_FRESH = 0.81
MOST_HANDED_OVER_FRESH = 0.06
"""Of sentences that nothing was built from. The goals are 0.9 and 0.02: docs/benchmarks.md says what is missing."""


@pytest.fixture(scope="module")
def similarity() -> Similarity:
    return open_similarity()


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_must_be_found_is_found_by_words_alone_and_by_its_name(language: Language) -> None:
    wrong = {text: find_danger(text) for text, danger in MUST_BE_FOUND[language].items() if find_danger(text) != danger}
    assert wrong == {}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("danger", DANGERS)
def test_sentences_of_every_class_and_language_are_found(
    language: Language, danger: str, similarity: Similarity
) -> None:
    found = measure(partial(find_in, similarity=similarity), language)[danger]
    assert found.asked >= 30
    assert found.share >= LEAST_FOUND, "missed:\n" + "\n".join(found.wrong)


@pytest.mark.parametrize(
    ("folder", "least_found", "most_handed_over"),
    [
        (FOLDER, LEAST_FOUND_OF_ALL, MOST_HANDED_OVER),
        (FRESH, LEAST_FOUND_FRESH, MOST_HANDED_OVER_FRESH),
    ],
    ids=["read", "fresh"],
)
def test_nearly_all_are_found_and_few_everyday_sentences_are_handed_over(
    folder: Path, least_found: float, most_handed_over: float, similarity: Similarity
) -> None:
    find = partial(find_in, similarity=similarity)
    measured = {language: measure(find, language, folder=folder) for language in LANGUAGES}
    found = [by_label[danger] for by_label in measured.values() for danger in DANGERS]
    assert sum(each.found for each in found) / sum(each.asked for each in found) >= least_found
    assert everyday_share(measured) <= most_handed_over


def test_nothing_is_measured_with_a_sentence_that_was_built_from() -> None:
    shipped = {example.text.casefold() for example in read_examples()}
    held = {
        text.casefold()
        for folder in (FOLDER, FRESH)
        for language in LANGUAGES
        for listed in held_out(language, folder=folder).values()
        for text in listed
    }
    assert sorted(shipped & held) == []


def test_each_class_has_about_two_hundred_examples() -> None:
    labels = [example.label for example in read_examples()]
    assert {label for label in set(labels) if labels.count(label) >= 200} == {*DANGERS, EVERYDAY}


def test_an_example_is_found_again_in_other_words_that_the_lists_do_not_know(similarity: Similarity) -> None:
    said = "my heart is racing and I got a rash after a tablet of yours"
    assert find_danger(said) is None
    assert similarity.find_danger(said) == "harm"
    assert similarity.find_danger("how do I return an item please?") is None


def test_danger_is_found_at_the_end_of_a_long_story_and_the_gravest_counts() -> None:
    story = "I bought a tent in May and it came late. " * 250 + "I will sue you. I want to kill myself."
    assert len(story) < READ_LIMIT
    assert find_danger(story) == "crisis"
    assert find_danger("THE BATTERY\ncaught   FIRE") == "harm"
    assert find_danger("") is None


def test_words_that_are_the_same_in_two_languages_are_read_in_that_of_the_sentence() -> None:
    assert find_danger("Vous m'avez demandé beaucoup de recherches") is None
    assert find_danger("ich habe versehentlich die falsche Farbe bestellt") is None


def test_words_typed_in_a_hurry_are_read_as_what_they_stand_for() -> None:
    rows = [
        ("i cant live like this, dont want to live", "crisis"),
        ("I can’t breathe since I used your spray", "harm"),
        ("gw gak mau hidup lagi", "crisis"),
        ("jmd benutzt mein acount", "fraud"),
        ("kiero morir", "crisis"),
        ("qqun a piraté mon cpte", "fraud"),
    ]
    assert [(text, find_danger(text)) for text, _ in rows] == rows


def test_a_short_sentence_is_read_with_the_one_before_it() -> None:
    assert find_danger("There is an order on my account. It wasn't me.") == "fraud"
    assert find_danger("There is an order on my account.") is None


def test_every_class_has_a_reason_on_the_card_a_gravity_and_where_it_is_needed_a_sentence() -> None:
    assert set(DANGERS) <= set(WHY)
    assert sorted(steps.DANGERS, key=lambda reason: -steps.DANGERS[reason]) == [*DANGERS]
    assert set(DANGERS) - {"legal"} <= set(SAID_FIRST)
    assert len({WHY[danger] for danger in DANGERS}) == len(DANGERS)
