"""Decides whether a reply in a channel's thread is for the assistant if it does not mention the app.

Other people may talk to each other in the thread.

concerns_us       The reply of the person who was answered last continues their matter.
calls_for_people  It asks for a person, or needs one.
asks              It is a question.
names_matter      It names what the conversation is about.
shares_matter     It is about the same as other texts.
says_unsettled    It says that something still does not work.

A reply that these rules exclude is neither answered nor shown to anyone.
"""

import re
from collections.abc import Iterable

from bot.desk.policy import asks_for_person, needs_person
from bot.language.matching import READ_LIMIT, matcher, unquoted
from bot.language.rhetoric import tells_nothing

STEM = 5
"""Two words count as the same if this many of their first letters are equal."""
SHORTEST = 4
"""The least number of letters of a word that can name a matter."""

_ASKS = re.compile(r"[?？]")
_SENTENCE_END = re.compile(r"[.;\n]")
_NUMBER = re.compile(r"\b[A-Za-z]{2,8}[-#]?\d{3,}\b|#\d{3,}\b|\b\d{5,}\b")
_WORD = re.compile(r"[^\W\d_]+")


def concerns_us(text: str, *, matter: Iterable[str], is_asked_back: bool = False) -> bool:
    """Whether a reply without a mention, by the person who was answered last, is for the assistant.

    `matter` are the texts of the conversation so far, whoever wrote them. With `is_asked_back` the assistant has asked
    the person something, so any reply is an answer to it.
    """
    return is_asked_back or asks(text) or calls_for_people(text) or names_matter(text, matter)


def calls_for_people(text: str) -> bool:
    """Whether the text asks for a person, or needs one."""
    return asks_for_person(text) or needs_person(text)


def asks(text: str) -> bool:
    """Whether the text contains a question, with or without a question mark."""
    said = unquoted(text)
    return bool(_ASKS.search(said)) or any(map(matcher("questions").begins, _SENTENCE_END.split(said)))


def names_matter(text: str, matter: Iterable[str]) -> bool:
    """Whether the text names an order or another number, or shares a significant word with the matter."""
    said = unquoted(text)
    if _NUMBER.search(said):
        return True
    words = _telling(said)
    return bool(words) and any(words & _telling(each[:READ_LIMIT]) for each in matter)


def shares_matter(text: str, matter: Iterable[str]) -> bool:
    """Whether the text shares a number or a significant word with the matter."""
    said, others = unquoted(text), [each[:READ_LIMIT] for each in matter]
    numbers = {number.casefold() for number in _NUMBER.findall(said)}
    words = _telling(said)
    return any(words & _telling(each) or numbers & {n.casefold() for n in _NUMBER.findall(each)} for each in others)


def says_unsettled(text: str) -> bool:
    """Whether the text says that something still does not work, or happens again."""
    return matcher("unsettled").is_in(text)


def _telling(text: str) -> set[str]:
    """The first letters of the words that say what a text is about."""
    words = (word.casefold() for word in _WORD.findall(text))
    return {word[:STEM] for word in words if len(word) >= SHORTEST and not tells_nothing(word)}
