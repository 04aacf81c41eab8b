"""The words of claims, as they are read."""

import pytest

from bot.errors import ConfigurationError
from bot.guard import claim_patterns
from bot.guard.claim_patterns import KINDS, Wording, load_wordings
from bot.guard.claimed_actions import words_in
from bot.guard.claims import find_bare_claims, find_claims, folded
from bot.language.languages import read_section

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


def test_the_first_word_of_a_phrase_is_its_verb_and_stems_double_their_last_letter() -> None:
    (wording,) = (each for each in WORDINGS if each.subject == "i")
    ends = {
        (first, *others): {form for _, form, _ in own.verbs}
        for first, found in wording.phrases.items()
        for others, own in found
    }
    said = {("called", "off"): "done", ("calling", "off"): "doing", ("call", "off"): "do", ("paid", "back"): "done"}
    assert {words: form for words, form in said.items() if form not in ends.get(words, ())} == {}
    assert {"cancelled", "shipped", "stopping"} <= wording.roles.keys()


def test_a_prefix_that_has_left_its_verb_makes_it_that_action_and_no_noun() -> None:
    (wording,) = (each for each in WORDINGS if each.subject == "ich")
    claimed = {
        "Ich ziehe eine Kollegin hinzu.": ["transferred"],
        "Ich bestelle es für Sie ab.": ["cancelled"],
        "Weitergeleitet an das Team.": ["transferred"],
        "Ich bestelle es für Sie.": [],
    }
    found = {
        text: list(
            dict.fromkeys(
                claim.kind for find in (find_claims, find_bare_claims) for claim in find(folded(text), [wording])
            )
        )
        for text in claimed
    }
    assert found == claimed


@pytest.mark.parametrize(
    ("key", "words", "fault"),
    [
        ("lists", {"acts": "+nobody"}, "nl.yml: claims has no nobody"),
        ("pins", "today, (now", "nl.yml: claims: (?:now is not a pattern: missing ), unterminated subpattern"),
    ],
)
def test_what_is_wrong_with_the_words_of_a_language_is_named(
    key: str, words: object, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    english = read_section("claims")["en"]
    monkeypatch.setattr(claim_patterns, "read_section", lambda _: {"nl": {**english, key: words}})
    with pytest.raises(ConfigurationError) as raised:
        load_wordings.__wrapped__()
    assert fault in str(raised.value)


def test_phrases_are_found_with_and_without_umlauts_and_with_two_letters_for_them() -> None:
    (wording,) = (each for each in WORDINGS if each.subject == "ich")
    for text in ("unverzüglich", "unverzueglich", "in kürze", "in Kuerze"):
        assert wording.pins.search(folded(text)), text
    for text in ("möchten Sie", "moechten Sie", "die geändert", "die geaendert", "heißt", "heisst"):
        assert wording.conditions.search(folded(text)), text


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
