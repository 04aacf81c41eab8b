"""Every sentence exists in every language with the same placeholders, and the language is told by common words."""

import re
from pathlib import Path
from typing import Any

import pytest

from bot.errors import ConfigurationError
from bot.language.languages import Language, languages, read_section
from bot.language.sentences import LABELS, language_for, language_of, load_sentences, placeholders


def sentences_of(language: Language) -> dict[str, str]:
    return {key: text for key, text in read_section("sentences")[language].items() if key != "prompts"}


@pytest.mark.parametrize("language", languages())
def test_a_language_has_every_sentence_with_the_same_placeholders(language: Language) -> None:
    english, here = sentences_of("en"), sentences_of(language)
    assert list(here) == list(english)
    assert {key: placeholders(text) for key, text in here.items()} == {
        key: placeholders(text) for key, text in english.items()
    }


@pytest.mark.parametrize("language", languages())
def test_sentences_are_plain_text(language: Language) -> None:
    for key, text in sentences_of(language).items():
        assert text == text.strip(), key
        assert not re.search(r"[<>&*_`]|\s{2}", text), key


@pytest.mark.parametrize("language", languages())
def test_texts_fit_where_slack_shows_them(language: Language) -> None:
    here = sentences_of(language)
    for key in LABELS:
        assert len(here[key]) <= 50, key
    assert max(len(text) for text in here.values()) <= 300


@pytest.mark.parametrize("language", languages())
def test_other_languages_are_not_english(language: Language) -> None:
    if language == "en":
        return
    english = sentences_of("en")
    same = [key for key, text in sentences_of(language).items() if text == english[key]]
    assert set(same) <= {"support_suffix"}


@pytest.mark.parametrize("language", languages())
def test_prompts_are_things_to_ask_in_that_language(language: Language) -> None:
    prompts = load_sentences().prompts(language)
    assert 1 <= len(prompts) <= 4
    for prompt in prompts:
        assert set(prompt) == {"title", "message"}
        assert language_of(prompt["message"], "xx") == language


def test_a_sentence_is_filled_in() -> None:
    said = load_sentences().say("de", "reopened", case="FD-1042")
    assert "FD-1042" in said


def test_an_unknown_sentence_or_a_missing_value_is_an_error() -> None:
    sentences = load_sentences()
    with pytest.raises(KeyError, match="no_such_sentence"):
        sentences.say("en", "no_such_sentence")
    with pytest.raises(KeyError, match="case"):
        sentences.say("en", "reopened")


def test_a_locale_has_a_language() -> None:
    table = [
        ("id-ID", "id"),
        ("de_AT", "de"),
        ("es-419", "es"),
        ("fr", "fr"),
        ("en-GB", "en"),
        ("pt-BR", "en"),
        ("", "en"),
    ]
    misses = [(locale, got) for locale, language in table if (got := language_for(locale)) != language]
    assert misses == []


def test_the_words_tell_the_language_whatever_the_profile_says() -> None:
    table = [
        ("Where is my order?", "en"),
        ("hi, i'd like to return this mug", "en"),
        ("My parcel hasn't arrived", "en"),
        ("Status pesanan saya nomor ORD-12345 udah sampe mana?", "id"),
        ("kapan barangnya dikirim ya kak", "id"),
        ("saya mau refund dong", "id"),
        ("Wo bleibt meine Bestellung ORD-12345?", "de"),
        ("Hallo, ich möchte den Artikel zurückgeben", "de"),
        ("Können Sie mir bitte helfen", "de"),
        ("¿Dónde está mi pedido?", "es"),
        ("hola, no me ha llegado el paquete", "es"),
        ("quiero hablar con una persona", "es"),
        ("Où est ma commande ?", "fr"),
        ("bonjour, je n'ai pas reçu mon colis", "fr"),
        ("Je voudrais un remboursement s’il vous plaît", "fr"),
    ]
    misses = [
        (text, locale, got)
        for locale in ("en-US", "id-ID", "fr-FR")
        for text, language in table
        if (got := language_of(text, locale)) != language
    ]
    assert misses == []


def test_words_that_tell_nothing_leave_it_to_the_profile() -> None:
    misses = [
        (text, locale, got)
        for locale, language in (("de-DE", "de"), ("ja-JP", "en"))
        for text in ("ORD-12345", "ok", "👍", "注文はどこですか", "", "la", "1234 5678")
        if (got := language_of(text, locale)) != language
    ]
    assert misses == []


def test_a_long_message_is_read_only_in_part() -> None:
    text: Any = "where is my order " * 100_000
    assert language_of(text, "de-DE") == "en"


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sentences.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_operators_sentences_take_the_place_of_ours_and_the_others_stay(tmp_path: Path) -> None:
    text = """
    en:
      greeting: "Welcome to Fernwick & Sons!"
      claimed: "{staff} is here. Yes, {staff}."
      prompts: [{title: "Repairs", message: "Can you mend my chair?"}]
    de: {case_label: "Vorgang"}
    """
    sentences = load_sentences(own(tmp_path, text))
    assert sentences.say("en", "greeting") == "Welcome to Fernwick & Sons!"
    assert sentences.say("en", "claimed", staff="Ines") == "Ines is here. Yes, Ines."
    assert sentences.prompts("en") == [{"title": "Repairs", "message": "Can you mend my chair?"}]
    assert sentences.say("de", "case_label") == "Vorgang"
    assert sentences.say("de", "greeting") == load_sentences().say("de", "greeting")


def test_every_fault_of_an_operators_sentences_is_told_at_once(tmp_path: Path) -> None:
    text = f"""
    pt: {{greeting: "Oi"}}
    fr: "Bonjour"
    en:
      greetings: "Hi"
      greeting: ["Hi"]
      escalated: ""
      helpful: "{"x" * 76}"
      no_answer: "<https://evil.example|click>"
      claimed: "Somebody has joined."
      resolved: "{{staff.__class__}} {{case}}"
      reopened: "{{case"
      updated: "{{date:d}}"
      rephrase: "Say it again, {{name}}."
      prompts: []
    """
    with pytest.raises(ConfigurationError) as told:
        load_sentences(own(tmp_path, text))
    assert [fault.removeprefix("SENTENCES_PATH: ") for fault in told.value.faults] == [
        f"pt is none of {', '.join(languages())}",
        "fr: it needs sentences by their keys",
        "en: there is no sentence greetings",
        "en: greeting must be a text",
        "en: escalated must be a text",
        "en: helpful has more than 75 characters",
        "en: no_answer holds < or >, but markup is not possible",
        "en: claimed must have the placeholders {staff} and no others",
        "en: resolved must have the placeholders {case}, {staff} and no others",
        "en: reopened has a brace without its other half",
        "en: updated must have the placeholders {date} and no others",
        "en: rephrase must have the placeholders (none) and no others",
        "en: prompts must be 1 to 4 entries, each with a title and a message",
    ]


@pytest.mark.parametrize("text", ["", "- a list", "{", "\x00"])
def test_a_file_that_holds_no_sentences_is_told_by_its_path(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"SENTENCES_PATH: .*sentences\.yml"):
        load_sentences(own(tmp_path, text))


def test_a_file_of_sentences_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be read \(No such file"):
        load_sentences(tmp_path / "none.yml")
