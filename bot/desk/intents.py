"""What a message or an edit is meant to do, decided by rules from its words.

says_stop         The whole message asks the assistant to stop. If no answer is running, there is nothing to stop.
says_settled      The whole message says that a person is no longer needed.
changes_meaning   An edit changes what the message says, and does not only correct a typo.
"""

import re
import unicodedata
from collections.abc import Iterable

from bot.language.scripts import UNSEPARATED

_STOP = frozenset(
    {
        *("stop", "stop it", "stop that", "stop please", "please stop", "stop now", "stop answering", "cancel that"),
        *("stopp", "bitte stopp", "stopp bitte", "stop bitte", "bitte stop", "halt", "aufhören", "hör auf"),
        *("berhenti", "berhentilah", "tolong berhenti", "stop dulu", "hentikan", "cukup stop"),
        *("alto", "para", "pare", "detente", "deténgase", "detenlo", "basta", "para por favor", "stop por favor"),
        *("arrête", "arrêtez", "arrête ça", "arrête stp", "stop stp", "stop svp", "stoppe", "stoppez"),
    }
)
"""The phrases that ask to stop, in the five languages. Case, accents and punctuation are ignored."""
STOP_LIMIT = 40
"""The most characters of such a message."""

_SETTLED = frozenset(
    {
        *(
            "never mind",
            "nevermind",
            "nvm",
            "forget it",
            "solved",
            "solved it",
            "its solved",
            "it is solved",
            "all good",
        ),
        *("i solved it", "i fixed it", "i figured it out", "figured it out", "resolved", "its resolved", "all sorted"),
        *(
            "no longer needed",
            "not needed anymore",
            "not needed any more",
            "it works now",
            "works now",
            "problem solved",
        ),
        *(
            "gak jadi",
            "ga jadi",
            "nggak jadi",
            "tidak jadi",
            "sudah selesai",
            "udah selesai",
            "sudah beres",
            "udah beres",
        ),
        *("lupakan saja", "lupakan", "sudah teratasi", "tidak perlu lagi", "sudah bisa", "udah bisa"),
        *("hat sich erledigt", "erledigt", "schon erledigt", "schon gut", "vergiss es", "vergessen sie es", "gelöst"),
        *("ist gelöst", "problem gelöst", "habs gelöst", "nicht mehr nötig", "brauche ich nicht mehr", "egal"),
        *(
            "da igual",
            "déjalo",
            "déjelo",
            "olvídalo",
            "olvídelo",
            "no importa",
            "resuelto",
            "ya está resuelto",
            "ya está",
        ),
        *("ya lo resolví", "solucionado", "ya está solucionado", "ya no hace falta", "ya no es necesario"),
        *("laisse tomber", "laissez tomber", "tant pis", "oubliez", "oublie", "résolu", "c'est résolu", "c'est réglé"),
        *("problème résolu", "plus besoin", "je n'en ai plus besoin", "c'est bon"),
    }
)
"""The phrases that say that a person is no longer needed."""
_COURTESIES = frozenset(
    {
        *("thanks", "thank you", "thx", "ok", "okay", "sorry", "please", "oh", "ah", "terima kasih", "makasih", "maaf"),
        *("danke", "vielen dank", "sorry", "gracias", "muchas gracias", "perdón", "merci", "merci beaucoup", "désolé"),
    }
)
"""The courtesies that can come before and after these phrases."""
SETTLED_LIMIT = 80
"""The most characters of such a message."""

LONG_WORD = 7
"""The least number of letters with which two different words can count as a typo of each other."""
STEM = 2
"""The number of first letters that must be equal in a typo. A changed prefix can reverse the meaning of a word."""
READ_LIMIT = 4_000
"""The most characters of messages that are compared. Longer ones that differ count as a change of meaning."""

_WORD = re.compile(r"\w+")


def says_stop(text: str) -> bool:
    """Whether the message asks the assistant to stop, and nothing else."""
    return len(text) <= STOP_LIMIT and " ".join(_plain_words(text)) in _STOP_WORDS


def says_settled(text: str) -> bool:
    """Whether the message says that a person is no longer needed, and nothing else."""
    if len(text) > SETTLED_LIMIT or "?" in text:
        return False
    return bool(_SETTLED_PATTERN.fullmatch(" ".join(_plain_words(text))))


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


_STOP_WORDS = frozenset(" ".join(_plain_words(phrase)) for phrase in _STOP)


def _any_of(phrases: Iterable[str]) -> str:
    return "|".join(sorted((" ".join(_plain_words(phrase)) for phrase in phrases), key=len, reverse=True))


_SETTLED_PATTERN = re.compile(
    rf"(?:(?:{_any_of(_COURTESIES)}) )*(?:{_any_of(_SETTLED)})(?: (?:{_any_of(_SETTLED | _COURTESIES)}))*"
)
