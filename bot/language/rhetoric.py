"""Questions that ask nothing: they show what a customer thinks of the shop, and want no answer of their own.

is_rhetorical        the question asks what the other side is like
is_about_something   the question has a word of its own
tells_nothing        a word does not say what a question is about
names_a_number       the text may mean an order, a parcel or an amount
only_asks            the text is nothing but questions
"""

import re

from bot.language.matching import matcher, word_set

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}|[^\W_]+(?:['’-][^\W_]+)*")
"""A word. In scripts without blanks between words, two characters."""
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")
SUBJECT_LENGTH = 3
"""Letters that a word needs at least to be what a question is about."""


def is_rhetorical(question: str) -> bool:
    """True if it asks what the other side is like. A question with a number in it is about the number."""
    return not names_a_number(question) and matcher("rhetorical").is_in(question)


def only_asks(text: str) -> bool:
    """True if every sentence is a question. A claim that is followed by a question is still a claim."""
    return all(sentence.endswith(("?", "？")) for sentence in _SENTENCE_END.split(text.strip()))


def is_about_something(question: str) -> bool:
    """True if it has a number, or a word besides those that every question is made of."""
    words = (word.casefold() for word in WORD.findall(question))
    return names_a_number(question) or any(
        (len(word) >= SUBJECT_LENGTH or not word.isascii()) and not tells_nothing(word) for word in words
    )


def tells_nothing(word: str) -> bool:
    """True for a word, in lower case, of which every question is made."""
    return word in word_set("question_words")


def names_a_number(text: str) -> bool:
    """True if the text has a digit."""
    return any(character.isdigit() for character in text)
