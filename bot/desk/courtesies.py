"""Recognises messages that need no search and no model: thanks, greetings and goodbyes, in any of the languages.

is_small_talk  The message is a greeting or a short thank-you.
affirms        The message only thanks, or says that the answer helped.
asks_nothing   The message affirms, or is another courtesy: a greeting or a goodbye.
is_last_word   The message affirms, or is a goodbye or an "ok". It needs no answer.
"""

import re

from bot.language.matching import matcher

SMALL_TALK_LIMIT = 120
"""The most characters of a greeting or a thank-you."""
TEXT_LIMIT = 160
"""The most characters of such a message. A longer one says more than a courtesy."""

_CLAUSE_END = re.compile(r"[.!,;:\n]")


def affirms(text: str) -> bool:
    """Whether the message says that the customer has been helped, and nothing else.

    It has a phrase of thanks. Its other words are ones that people thank with: none denies, asks or names a matter.
    """
    if "?" in text or not _is_all(text, "thanks", beside=("beside_thanks", "thanks_words", "assent", "agreement")):
        return False
    asks = matcher("questions", "requests")
    return not any(asks.begins(clause) for clause in _CLAUSE_END.split(text))


def is_small_talk(text: str) -> bool:
    """Whether the message is only a greeting or thanks."""
    return len(text) <= SMALL_TALK_LIMIT and matcher("small_talk").is_all(text)


def asks_nothing(text: str) -> bool:
    """Whether the message is only a courtesy: it affirms, greets or says goodbye."""
    return (
        is_small_talk(text) or affirms(text) or _is_all(text, "thanks", "beside_thanks", beside=("assent", "agreement"))
    )


def is_last_word(text: str) -> bool:
    """Whether the message only thanks, agrees or says goodbye after a matter is settled.

    A text with a question mark never does.
    """
    return affirms(text) or (
        "?" not in text and _is_all(text, "thanks", "beside_thanks", "assent", beside=("agreement",))
    )


def _is_all(text: str, *sections: str, beside: tuple[str, ...]) -> bool:
    return len(text) <= TEXT_LIMIT and matcher(*sections).is_all(text, beside=matcher(*beside))
