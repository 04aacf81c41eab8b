"""Recognises messages in which a customer says that they have been helped, in any of the languages.

affirms        The message only thanks, or says that the answer helped.
asks_nothing   The message affirms, or is another courtesy: a greeting or a goodbye.
is_last_word   The message affirms, or is a goodbye or an "ok". It needs no answer.
"""

from bot.desk.policy import is_small_talk
from bot.language.matching import matcher

TEXT_LIMIT = 160
"""The most characters of such a message. A longer one says more than a courtesy."""


def affirms(text: str) -> bool:
    """Whether the message says that the customer has been helped, and nothing else."""
    return _is_all(text, "thanks", beside=("beside_thanks", "assent", "agreement"))


def asks_nothing(text: str) -> bool:
    """Whether the message is only a courtesy: it affirms, greets or says goodbye."""
    return is_small_talk(text) or _is_all(text, "thanks", "beside_thanks", beside=("assent", "agreement"))


def is_last_word(text: str) -> bool:
    """Whether the message only thanks, agrees or says goodbye after a matter is settled.

    A text with a question mark never does.
    """
    return "?" not in text and _is_all(text, "thanks", "beside_thanks", "assent", beside=("agreement",))


def _is_all(text: str, *sections: str, beside: tuple[str, ...]) -> bool:
    return len(text) <= TEXT_LIMIT and matcher(*sections).is_all(text, beside=matcher(*beside))
