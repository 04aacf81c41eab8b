"""The title of a case: what the matter is, in a few words, by rules from what the customer wrote.

title_in        the title from a customer's messages
names_matter    whether a title from a model says what the matter is
"""

import re
from collections.abc import Iterable, Iterator

from bot.guard.guardrails import mask
from bot.language.matching import matcher, unquoted, word_set
from bot.language.rhetoric import is_about_something

TITLE_LIMIT = 90
"""The most characters of a title."""
SHORT = 60
"""The most characters of a sentence that is a title as it is, if the matter has a name of its own."""
UNTITLED = "Matter not known yet"
"""The title until the customer has said what the case is about."""
MATTERS = {
    "refund": "Refund",
    "login": "Cannot log in",
    "damaged": "Damaged or faulty item",
    "cancel": "Cancellation",
    "exchange": "Exchange",
    "return": "Return",
    "address": "Change of address",
    "payment": "Payment",
    "delivery": "Delivery",
}
"""A matter that the languages' files have words for -> its title, the most telling first."""
COURTESIES = (
    "small_talk",
    "thanks",
    "beside_thanks",
    "thanks_words",
    "assent",
    "agreement",
    "apologies",
    "stop",
    "help_requests",
)

ORDER_NUMBER = re.compile(r"\b[A-Z]{2,8}-\d{3,}\b|#\d{3,}\b")
_CALLED = re.compile(
    r"\b(?:human|agent|representative|(?:a|real|live) person|(?:speak|talk)(?:ing)? (?:to|with))\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_CLAUSE_END = re.compile(r"[,;:–]\s+|\s(?:and|und|y|et|dan)\s")
_GREETING_END = re.compile(r"[,!.:;–-]\s+")


def title_in(messages: Iterable[str]) -> str:
    """The title from the first message that says what the matter is. Empty if none does.

    With the number of an order: the matter and the number. Else the sentence itself, if it is short, or the matter.
    """
    return next((title for each in messages if (title := _title(mask(unquoted(each))))), "")


def names_matter(words: str) -> bool:
    """Whether a title from a model says what the matter is. That a person is called does not."""
    return not _CALLED.search(words) and bool(next(_telling(words), ""))


def cut(title: str) -> str:
    """The title on one line, cut at a word to TITLE_LIMIT."""
    line = " ".join(title.split())
    return line if len(line) <= TITLE_LIMIT else line[: TITLE_LIMIT - 2].rsplit(" ", 1)[0] + " …"


def _title(message: str) -> str:
    matter = next((name for key, name in MATTERS.items() if matcher(f"matters.{key}").is_in(message)), "")
    order = ORDER_NUMBER.search(message)
    sentence = next(_telling(message), "")
    if order:
        return f"{matter} for {order[0]}" if matter else f"Question about {order[0]}"
    if sentence and (len(sentence) <= SHORT or not matter):
        return cut(sentence)
    return matter


def _telling(message: str) -> Iterator[str]:
    """The sentences that are about something, without a greeting before them."""
    for sentence in _SENTENCE_END.split(message):
        words = _without_greeting(" ".join(sentence.split()))
        for part in _CLAUSE_END.split(words) if _calls_person(words) else (words,):
            told = _what_about(part) if _calls_person(part) else part
            if not _calls_person(told) and not matcher(*COURTESIES).is_all(told) and is_about_something(told):
                yield told


def _what_about(part: str) -> str:
    """What a person is wanted for, as in "talk to a person about my kettle". The same if it does not say."""
    words = part.rstrip(".!?… ").split()
    at = next((at for at, word in enumerate(words) if word.casefold() in word_set("matters.about")), len(words))
    rest = " ".join(words[at + 1 :])
    return rest[:1].upper() + rest[1:] if rest else part


def _without_greeting(sentence: str) -> str:
    begin = _GREETING_END.search(sentence)
    if begin is None or not matcher(*COURTESIES).is_all(sentence[: begin.start()]):
        return sentence
    rest = sentence[begin.end() :]
    return rest[:1].upper() + rest[1:]


def _calls_person(sentence: str) -> bool:
    alone, beside = matcher("handover_requests.alone"), matcher("handover_requests.beside_alone", *COURTESIES)
    return matcher("handover_requests.patterns").is_in(sentence) or alone.is_all(sentence, beside=beside)
