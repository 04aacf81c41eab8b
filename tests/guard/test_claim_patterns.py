"""The words of claims, as they are read."""

import pytest

from bot.guard.claim_patterns import KINDS, Wording, load_wordings
from bot.guard.claimed_actions import words_in
from bot.guard.claims import folded

WORDINGS = load_wordings()


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda wording: wording.subject)
def test_each_word_of_a_list_is_read_as_it_stands_there(wording: Wording) -> None:
    listed: list[tuple[str, ...]] = [(word,) for word in wording.roles]
    listed += [(first, *others) for first, phrases in wording.phrases.items() for others, _ in phrases]
    misses = [words for words in listed if [word.text for word in words_in(folded(_written(words)))] != list(words)]
    assert misses == []


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda wording: wording.subject)
def test_each_language_has_actions_of_every_kind_and_things_for_what_needs_one(wording: Wording) -> None:
    roles = [*wording.roles.values(), *(own for phrases in wording.phrases.values() for _, own in phrases)]
    verbs = [verb for own in roles for verb in own.verbs]
    assert {kind for kind, _, _ in verbs} == set(KINDS)
    assert {group for _, _, group in verbs if group} == {group for own in roles for group in own.things}


def test_words_with_an_apostrophe_and_with_hyphens_are_read_as_their_language_has_them() -> None:
    table = {
        "i'll re-send it": ["i", "'ll", "resend", "it"],
        "it hasn't": ["it", "hasn't"],
        "j'ai annulé l'envoi": ["j'", "ai", "annulé", "l'", "envoi"],
        "am 3. november": ["am", "3", "november"],
        "ord-12345, 1.299,00 - so": ["ord-12345", ",", "1.299,00", "-", "so"],
    }
    assert {text: [word.text for word in words_in(text)] for text in table} == table


def test_verbs_with_a_prefix_that_leaves_them_and_with_a_letter_that_falls_away_are_known() -> None:
    formed = {
        "ich": "weitergeleitet eingeleitet zurückgezahlt gutgeschrieben angewandt zurücküberwiesen hinzugezogen",
        "saya": "mengirim mengembalikan menukar menyimpan memasang mengubah meneruskan",
    }
    wordings = {wording.subject: wording for wording in WORDINGS}
    misses = [
        word for own, words in formed.items() for word in folded(words).split() if word not in wordings[own].verbs
    ]
    assert misses == []
    assert not {"menirim", "menyubah", "menytukar"} & wordings["saya"].roles.keys()


def _written(words: tuple[str, ...]) -> str:
    """The words as a sentence has them."""
    text = ""
    for word in words:
        text += word if not text or word[0] == "'" or text[-1] == "'" else f" {word}"
    return text
