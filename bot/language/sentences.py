"""Every sentence that a customer sees and no model wrote, and which language to use.

The sentences are a section of each language's file in `bot/language/locales`, with the same keys and the same
placeholders. Operators can replace any sentence with a file of their own.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from bot.errors import ConfigurationError
from bot.language.languages import DEFAULT, Language, languages, read_section
from bot.operator_files import read_entries

PROMPTS = "prompts"
"""The only key whose value is a list: what a customer may want to ask first."""
PROMPT_LIMIT = 4
"""Prompts that Slack shows at most."""
SENTENCE_LIMIT = 600
"""Characters of a sentence that an operator writes, at most."""
LABEL_LIMIT = 75
"""Characters of a button's label; Slack refuses longer ones."""
LABELS = frozenset(
    {
        "helpful",
        "not_helpful",
        "talk_to_person",
        "accept_person",
        "decline_person",
        "keep_assistant",
        "its_urgent",
        "i_can_wait",
        "keep_helping",
        "not_solved",
        "rating_label",
        "score_chosen",
        "score_slow",
        "score_unsolved",
        "score_unclear",
        "score_unfriendly",
        "score_words",
        "score_title",
        "score_send",
        "score_cancel",
        "home_open",
        "home_past",
        "home_language_slack",
        "erase_button",
        "erase_title",
        "erase_yes",
        "erase_no",
        "action_yes_cancel_order",
        "action_yes_cancel_lines",
        "action_yes_change_order_address",
        "action_yes_change_order_items",
        "action_yes_change_order_payment",
        "action_yes_return_items",
        "action_yes_exchange_items",
        "action_yes_refund",
        "action_yes_send_again",
        "action_yes_change_customer_address",
        "action_yes_cancel_return",
        "action_yes_cancel_exchange",
        "action_yes_cancel_replacement",
        "action_no",
        "action_withdraw",
        "action_again",
    }
)

_READ_LIMIT = 2_000
"""Characters of a message that are read to find its language."""
_CLEAR = 1.5
"""A message is clear if it has this many times as many words of one language as of any other."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Sentences:
    """The catalogue. Placeholders are filled with the text as it is: escape values first for a sentence in mrkdwn."""

    def __init__(self, catalogues: Mapping[Language, Mapping[str, Any]]) -> None:
        self._catalogues = catalogues

    def say(self, language: Language, key: str, **values: str) -> str:
        """A sentence. Raises KeyError for an unknown key or a missing value."""
        template: str = self._catalogues[language][key]
        return template.format_map(values)

    def prompts(self, language: Language) -> list[dict[str, str]]:
        """Questions that a customer may want to ask first, each as `{"title", "message"}`."""
        return [dict(prompt) for prompt in self._catalogues[language][PROMPTS]]

    def task_titles(self, language: Language) -> dict[str, str]:
        """Tool -> the title of its progress card."""
        prefix = "task_"
        catalogue = self._catalogues[language]
        return {key.removeprefix(prefix): catalogue[key] for key in catalogue if key.startswith(prefix)}

    def language_for(self, locale: str) -> Language:
        """Call the function of the same name, for code that holds only the catalogue."""
        return language_for(locale)

    def language_of(self, text: str, locale: str) -> Language:
        """Call the function of the same name, for code that holds only the catalogue."""
        return language_of(text, locale)


def load_sentences(path: Path | None = None) -> Sentences:
    """The sentences of all languages, with the sentences of the YAML file at `path` in place of its own.

    Raises:
        ConfigurationError: the file cannot be read, or its sentences do not fit. It has one sentence for each fault.
    """
    catalogues: dict[Language, Mapping[str, Any]] = read_section("sentences")
    if path is not None:
        own = read_entries(path, setting="SENTENCES_PATH", needed="languages, each with sentences by their keys")
        if faults := [*_faults(own, catalogues)]:
            raise ConfigurationError([f"SENTENCES_PATH: {fault}" for fault in faults])
        catalogues = {language: {**held, **own.get(language, {})} for language, held in catalogues.items()}
    return Sentences(catalogues)


def placeholders(template: str) -> set[str]:
    """The text in each pair of braces, formats included. Raises ValueError if braces do not match."""
    return {
        f"{name}{f'!{conversion}' if conversion else ''}{f':{spec}' if spec else ''}"
        for _, name, spec, conversion in Formatter().parse(template)
        if name is not None
    }


def language_for(locale: str) -> Language:
    """The language of a profile's locale (`id-ID`). English if we do not have that language."""
    code = locale.replace("_", "-").partition("-")[0].lower()
    return next((language for language in languages() if language == code), DEFAULT)


@cache
def common_words() -> Mapping[Language, frozenset[str]]:
    """Words that many sentences of a language have, and few of the others. A word of two languages counts for both."""
    return {language: frozenset(words.split()) for language, words in read_section("common").items()}


@cache
def own_letters() -> Mapping[Language, frozenset[str]]:
    """Letters and marks that a language has, and none of the others."""
    return {language: frozenset(letters.replace(" ", "")) for language, letters in read_section("letters").items()}


def language_of(text: str, locale: str) -> Language:
    """The language of a message, by its common words and its letters. The locale's language if these are not clear."""
    text = text[:_READ_LIMIT].lower()
    words, letters = [word.replace("’", "'") for word in _WORD.findall(text)], frozenset(text)
    counts = {
        language: sum(word in known for word in words) + bool(own_letters()[language] & letters)
        for language, known in common_words().items()
    }
    first, second = sorted(counts.values(), reverse=True)[:2]
    if not first or first < second * _CLEAR:
        return language_for(locale)
    return max(counts, key=lambda language: counts[language])


def _faults(own: Mapping[Any, Any], built_in: Mapping[Language, Mapping[str, Any]]) -> Iterator[str]:
    for language, sentences in own.items():
        if language not in built_in:
            yield f"{language} is none of {', '.join(built_in)}"
        elif not isinstance(sentences, dict):
            yield f"{language}: it needs sentences by their keys"
        else:
            for key, text in sentences.items():
                if key not in built_in[language]:
                    yield f"{language}: there is no sentence {key}"
                elif fault := _misfit(key, text, built_in[language][key]):
                    yield f"{language}: {key} {fault}"


def _misfit(key: str, text: object, built_in: Any) -> str:
    """What is wrong with an operator's text in place of the built-in one. Empty if it fits."""
    if key == PROMPTS:
        return "" if _are_prompts(text) else f"must be 1 to {PROMPT_LIMIT} entries, each with a title and a message"
    if not isinstance(text, str) or not text.strip():
        return "must be a text"
    limit = LABEL_LIMIT if key in LABELS else SENTENCE_LIMIT
    if len(text) > limit:
        return f"has more than {limit} characters"
    if re.search(r"[<>]", text):
        return "holds < or >, but markup is not possible"
    names = placeholders(built_in)
    try:
        if placeholders(text) == names:
            return ""
    except ValueError:
        return "has a brace without its other half"
    return f"must have the placeholders {', '.join(f'{{{name}}}' for name in sorted(names)) or '(none)'} and no others"


def _are_prompts(value: object) -> bool:
    return (
        isinstance(value, list)
        and 1 <= len(value) <= PROMPT_LIMIT
        and all(isinstance(prompt, dict) and prompt.keys() == {"title", "message"} for prompt in value)
        and all(isinstance(text, str) and text.strip() for prompt in value for text in prompt.values())
    )
