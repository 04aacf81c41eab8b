"""What a message or an edit is meant to do, decided by rules from its words.

says_stop         The whole message asks the assistant to stop. If no answer is running, there is nothing to stop.
may_say_settled   The message says "stop" or "cancel that", which may mean the call for a person, or begins as if no
                  person were needed any more.
says_settled      The whole message says that a person is no longer needed.
accepts           The whole message says yes to the offer of a person.
refuses           The whole message says no to it.
needs_no_more     The whole message says that nothing more is needed, whatever was asked.
asks_how_long     The message asks how long the wait for a person is, or whether anybody is there.
changes_meaning   An edit changes what the message says, and does not only correct a typo.
"""

import re
import unicodedata

from bot.language.matching import matcher
from bot.language.scripts import UNSEPARATED

STOP_LIMIT = 40
"""The most characters of such a message."""

SETTLED_LIMIT = 80
"""The most characters of such a message."""

WAITING_LIMIT = 160
"""The most characters of such a message. A longer one tells more, which people have to read."""

LONG_WORD = 7
"""The least number of letters with which two different words can count as a typo of each other."""
STEM = 2
"""The number of first letters that must be equal in a typo. A changed prefix can reverse the meaning of a word."""
READ_LIMIT = 4_000
"""The most characters of messages that are compared. Longer ones that differ count as a change of meaning."""

_COURTESIES = ("thanks", "beside_thanks", "thanks_words", "assent", "agreement", "apologies")
_WORD = re.compile(r"\w+")


def says_stop(text: str) -> bool:
    """Whether the message asks the assistant to stop, and nothing else."""
    return len(text) <= STOP_LIMIT and matcher("stop").is_all(text)


def may_say_settled(text: str) -> bool:
    """Whether the message may say that a person is no longer needed. It may as well mean an order, or say more."""
    if matcher("stop").is_all(text[: SETTLED_LIMIT + 1], beside=matcher(*_COURTESIES)):
        return len(text) <= SETTLED_LIMIT
    is_short = len(text) <= WAITING_LIMIT and "?" not in text
    return is_short and matcher("settled").opens(text, beside=matcher(*_COURTESIES))


def says_settled(text: str) -> bool:
    """Whether the message says that a person is no longer needed, and nothing else."""
    if len(text) > SETTLED_LIMIT or "?" in text:
        return False
    return matcher("settled").is_all(text, beside=matcher(*_COURTESIES)) and not matcher("unsettled").is_in(text)


def accepts(text: str) -> bool:
    """Whether the message says yes to an offer, and nothing else. "Ok, thanks" may as well be a goodbye."""
    if len(text) > SETTLED_LIMIT or "?" in text:
        return False
    yes = matcher("accepts")
    return yes.is_all(text, beside=matcher(*_COURTESIES)) or matcher("assent").is_all(text, beside=yes)


def refuses(text: str) -> bool:
    """Whether the message says no to an offer, and nothing else."""
    no = matcher("refuses", "declines", "settled")
    return len(text) <= SETTLED_LIMIT and "?" not in text and no.is_all(text, beside=matcher(*_COURTESIES))


def needs_no_more(text: str) -> bool:
    """Whether the message says that nothing more is needed, and nothing else. A bare "no" does not say so."""
    if len(text) > SETTLED_LIMIT or "?" in text:
        return False
    said = matcher("declines", "settled").is_all(text, beside=matcher("refuses", *_COURTESIES))
    return said and not matcher("unsettled").is_in(text)


def asks_how_long(text: str) -> bool:
    """Whether the customer of a case asks how long the wait is, or whether anybody is there."""
    return len(text) <= WAITING_LIMIT and matcher("still_waiting").is_in(text)


def changes_meaning(before: str, after: str) -> bool:
    """Whether the edit is more than a correction of typos.

    The same letters in the same order are the same message, whatever is between them. Otherwise each word that differs
    must look like a typo of its counterpart: one letter inside a long word, never a number, never a word more or
    less. In scripts that do not separate words, every character counts. An edit that counts as a typo gets no new
    answer, so in doubt the edit changes the meaning.
    """
    old, new = (_pieces(text) for text in (before, after))
    if "".join(old) == "".join(new):
        return False
    if max(len(before), len(after)) > READ_LIMIT or len(old) != len(new):
        return True
    return any(not _is_slip(was, now) for was, now in zip(old, new, strict=True) if was != now)


def _plain_words(text: str) -> list[str]:
    """The words without case and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return _WORD.findall("".join(sign for sign in apart if not unicodedata.combining(sign)))


def _pieces(text: str) -> list[str]:
    """Words in lower case and without accents, a doubled word once.

    Scripts that do not separate words are split into characters.
    """
    words = [piece for word in _plain_words(text) for piece in (word if UNSEPARATED.search(word) else (word,))]
    return [word for at, word in enumerate(words) if at == 0 or word != words[at - 1]]


def _is_slip(was: str, now: str) -> bool:
    """Whether one letter inside the word was changed, added or removed, or two neighbours were swapped."""
    if any(sign.isdigit() for sign in was + now) or min(len(was), len(now)) < LONG_WORD:
        return False
    if was[:STEM] != now[:STEM] or was[-1] != now[-1]:
        return False
    begin = next((at for at, (one, other) in enumerate(zip(was, now, strict=False)) if one != other), len(was))
    old, new = was[begin:], now[begin:]
    swapped = old[:2] == new[1::-1] and old[2:] == new[2:]
    return swapped or old[1:] == new[1:] or old[1:] == new or old == new[1:]
