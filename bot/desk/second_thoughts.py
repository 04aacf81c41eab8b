"""Rules about what people do to their own words, in any language.

says_stop         the whole message asks for an end
changes_meaning   an edit says something else than before, rather than the same without a slip
Blotter           takes a deleted message's words out of whatever quotes it
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

_STOP = frozenset(
    {
        *("stop", "stop it", "stop that", "stop please", "please stop", "stop now", "stop answering", "cancel that"),
        *("stopp", "bitte stopp", "stopp bitte", "stop bitte", "bitte stop", "halt", "aufhören", "hör auf"),
        *("berhenti", "berhentilah", "tolong berhenti", "stop dulu", "hentikan", "cukup stop"),
        *("alto", "para", "pare", "detente", "deténgase", "detenlo", "basta", "para por favor", "stop por favor"),
        *("arrête", "arrêtez", "arrête ça", "arrête stp", "stop stp", "stop svp", "stoppe", "stoppez"),
    }
)
"""The words that ask for an end in the five languages, without case, accents and punctuation told apart."""
STOP_LIMIT = 40
"""Characters of such a message."""

SHORT_WORD = 3
"""Letters up to which a word is never taken for another misspelt."""
READ_LIMIT = 4_000
"""Characters of a message that are compared; longer ones that differ mean something else."""

RUN = 3
"""Words in a row by which a text quotes another,"""
TELLING = 6
"""and letters of a word that does so by itself, when nothing else that is known holds it;"""
TELLING_NUMBER = 3
"""fewer, when a digit is among them."""
WORDED = frozenset({"text", "content", "arguments"})
"""Fields that hold words."""
GONE = "…"
"""What stands in the place of a word that was taken out."""

_WORD = re.compile(r"\w+")


def says_stop(text: str) -> bool:
    """Whether the message asks for an end and for nothing else."""
    return len(text) <= STOP_LIMIT and " ".join(_plain_words(text)) in _STOP_WORDS


def changes_meaning(before: str, after: str) -> bool:
    """Whether the edit is more than a correction of slips.

    The same letters in the same order are the same message, whatever stands between them. Otherwise each word that
    differs must look like a slip of its counterpart: one letter or two of a longer word, never a number, never a word
    more or less. In scripts that do not part words every sign counts.
    """
    old, new = (_pieces(text) for text in (before, after))
    if "".join(old) == "".join(new):
        return False
    if max(len(before), len(after)) > READ_LIMIT or len(old) != len(new):
        return True
    return any(not _is_slip(was, now) for was, now in zip(old, new, strict=True) if was != now)


class Blotter:
    """Finds a deleted message's words in other texts and puts GONE in their place.

    Those are runs of its words, and its telling words: long ones or numbers that `others`, what else was said in the
    thread, does not hold. It takes out too much rather than too little.
    """

    def __init__(self, deleted: str, others: Iterable[str]) -> None:
        words = _folded(deleted)
        known = {word for other in others for word in _folded(other)}
        self._whole = words
        self._runs = {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}
        self._telling = {word for word in words if word not in known and _is_telling(word)}

    def quotes(self, text: str) -> bool:
        """Whether the text holds words of the message."""
        return bool(self._marked(text))

    def clean(self, text: str) -> str:
        """The text without them."""
        found = list(_WORD.finditer(text))
        parts, position = [], 0
        for at in self._marked(text):
            parts += [text[position : found[at].start()], GONE]
            position = found[at].end()
        return re.sub(rf"{GONE}(?:\s*{GONE})+", GONE, "".join([*parts, text[position:]]))

    def clean_json(self, value: Any) -> Any:
        """The same for every text in a JSON value, save the keys of objects; a text may be JSON again."""
        match value:
            case str() if value.lstrip().startswith(("{", "[")):
                return self._clean_nested(value)
            case str():
                return self.clean(value)
            case list():
                return [self.clean_json(each) for each in value]
            case dict():
                return {name: self.clean_json(each) for name, each in value.items()}
            case _:
                return value

    def clean_fields(self, value: Any) -> Any:
        """Stored messages, or what Slack is told, without them: only fields that hold words are touched.

        What a model's provider left beside a message goes altogether when it holds such words.
        """
        match value:
            case list():
                return [self.clean_fields(each) for each in value]
            case dict():
                return {name: self._clean_field(name, each) for name, each in value.items()}
            case _:
                return value

    def _clean_field(self, name: str, value: Any) -> Any:
        if name == "extra":
            return value if self.clean_json(value) == value else {}
        return self.clean_json(value) if name in WORDED and isinstance(value, str) else self.clean_fields(value)

    def _clean_nested(self, text: str) -> str:
        try:
            inside = json.loads(text)
        except ValueError:
            return self.clean(text)
        return json.dumps(self.clean_json(inside), ensure_ascii=False)

    def _marked(self, text: str) -> list[int]:
        """The places of the words that are the message's."""
        words = _folded(text)
        if 0 < len(self._whole) < RUN and words == self._whole:
            return list(range(len(words)))
        marked = {at for at, word in enumerate(words) if word in self._telling}
        for at in range(len(words) - RUN + 1):
            if tuple(words[at : at + RUN]) in self._runs:
                marked |= {at, at + 1, at + 2}
        return sorted(marked)


def _is_telling(word: str) -> bool:
    return len(word) >= TELLING or (len(word) >= TELLING_NUMBER and any(map(str.isdigit, word)))


def _folded(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _plain_words(text: str) -> list[str]:
    """The words without case and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return _WORD.findall("".join(sign for sign in apart if not unicodedata.combining(sign)))


def _pieces(text: str) -> list[str]:
    """Words without case and accents; signs of scripts that do not part words one by one; a doubled word once."""
    words = [piece for word in _plain_words(text) for piece in (word if _is_unparted(word) else (word,))]
    return [word for at, word in enumerate(words) if at == 0 or word != words[at - 1]]


def _is_unparted(word: str) -> bool:
    return any(unicodedata.name(sign, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO")) for sign in word)


def _is_slip(was: str, now: str) -> bool:
    if any(sign.isdigit() for sign in was + now) or min(len(was), len(now)) <= SHORT_WORD:
        return False
    allowed = 1 if max(len(was), len(now)) <= 2 * SHORT_WORD else 2
    return _distance(was, now) <= allowed


def _distance(was: Sequence[str], now: Sequence[str]) -> int:
    """Letters that were changed, put in, left out; two that changed places count once."""
    changes = [code for code in SequenceMatcher(None, was, now, autojunk=False).get_opcodes() if code[0] != "equal"]
    swapped = len(was) == len(now) and sorted(was) == sorted(now) and len(changes) == 2
    return 1 if swapped else sum(max(i2 - i1, j2 - j1) for _, i1, i2, j1, j2 in changes)


_STOP_WORDS = frozenset(" ".join(_plain_words(phrase)) for phrase in _STOP)
