"""Rules about what people do to their own words, in any language.

says_stop         the whole message asks for an end: of the answer that is on its way, else there is none to end
says_settled      the whole message says that nobody is needed any more
changes_meaning   an edit says something else than before, rather than the same without a slip
Redactor           takes the words of deleted messages out of whatever quotes them
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
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
"""The words that say that nobody is needed any more;"""
_COURTESIES = frozenset(
    {
        *("thanks", "thank you", "thx", "ok", "okay", "sorry", "please", "oh", "ah", "terima kasih", "makasih", "maaf"),
        *("danke", "vielen dank", "sorry", "gracias", "muchas gracias", "perdón", "merci", "merci beaucoup", "désolé"),
    }
)
"""what may stand before and behind them."""
SETTLED_LIMIT = 80
"""Characters of such a message."""

LONG_WORD = 7
"""Letters from which a word may be another misspelt,"""
STEM = 2
"""when so many at its beginning are the same: what is put before a word turns it round."""
READ_LIMIT = 4_000
"""Characters of a message that are compared; longer ones that differ mean something else."""

RUN = 3
"""Words in a row by which a text quotes another. An ideograph counts as one, of other signs that nothing parts two;"""
SHORT = 3
"""letters from which a message that is shorter than that is found inside of a text; two ideographs are enough;"""
TELLING = 6
"""letters of a word that quotes by itself, when nothing else that is known holds it;"""
TELLING_NUMBER = 3
"""fewer, when a digit is among them."""
WORDED = frozenset({"text", "content", "arguments"})
"""Fields that hold words."""
GONE = "…"
"""What stands in the place of a word that was taken out."""

_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTERS = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"
"""Thai, Lao, Burmese, Khmer and kana."""

_WORD = re.compile(r"\w+")
_UNPARTED = re.compile(f"[{_IDEOGRAPHS}{_LETTERS}]")
"""A sign of a script that does not part words."""
_IDEOGRAPH = re.compile(f"[{_IDEOGRAPHS}]")
_PIECE = re.compile(rf"{_UNPARTED.pattern}|[^\W{_IDEOGRAPHS}{_LETTERS}]+")
"""Such a sign, or a word of another."""


def says_stop(text: str) -> bool:
    """Whether the message asks for an end and for nothing else."""
    return len(text) <= STOP_LIMIT and " ".join(_plain_words(text)) in _STOP_WORDS


def says_settled(text: str) -> bool:
    """Whether the message says that nobody is needed any more, and nothing else."""
    if len(text) > SETTLED_LIMIT or "?" in text:
        return False
    return bool(_SETTLED_PATTERN.fullmatch(" ".join(_plain_words(text))))


def changes_meaning(before: str, after: str) -> bool:
    """Whether the edit is more than a correction of slips.

    The same letters in the same order are the same message, whatever stands between them. Otherwise each word that
    differs must look like a slip of its counterpart: one letter inside of a long word, never a number, never a word
    more or less. In scripts that do not part words every sign counts. What is taken for a slip is not answered, so a
    slip that is none is the worse mistake.
    """
    old, new = (_pieces(text) for text in (before, after))
    if "".join(old) == "".join(new):
        return False
    if max(len(before), len(after)) > READ_LIMIT or len(old) != len(new):
        return True
    return any(not _is_slip(was, now) for was, now in zip(old, new, strict=True) if was != now)


class Redactor:
    """Finds the words of deleted messages in other texts and puts GONE in their place.

    Those are runs of a message's words, all of it when it is no longer than that, and its telling words: long ones or
    numbers. What `others`, the rest of what was said there, holds as well stays. Apart from that it takes out too
    much rather than too little.
    """

    def __init__(self, deleted: Collection[str], others: Iterable[str]) -> None:
        besides = [_folded(other) for other in others]
        known = {word for other in besides for word in other}
        inside: set[tuple[str, ...]] = set()
        whole: set[tuple[str, ...]] = set()
        telling: set[str] = set()
        for words in map(_folded, deleted):
            runs = _runs(words)
            (inside if runs or _is_long(words) else whole).update(runs or {tuple(words)} - {()})
            telling.update(word for word in words if word not in known and _is_telling(word))
        lengths = {len(quote) for quote in inside | whole}
        said = {quote for other in besides for _, quote in _windows(other, lengths)} if lengths else set()
        self._inside, self._whole, self._telling = inside - said, whole - said, telling
        self._lengths = {len(quote) for quote in self._inside}

    def quotes(self, text: str) -> bool:
        """Whether the text holds words of the messages."""
        return bool(self._marked(text))

    def clean(self, text: str) -> str:
        """The text without them."""
        found = list(_PIECE.finditer(text))
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
        except (ValueError, RecursionError):
            return self.clean(text)
        return json.dumps(self.clean_json(inside), ensure_ascii=False)

    def _marked(self, text: str) -> list[int]:
        """The places of the words that are the messages'."""
        words = _folded(text)
        marked = {at for at, word in enumerate(words) if word in self._telling}
        for at, window in _windows(words, self._lengths):
            if window in self._inside:
                marked |= set(range(at, at + len(window)))
        if tuple(words) in self._whole:
            marked |= set(range(len(words)))
        return sorted(marked)


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """The shortest runs of words by which a text is known, counted from its beginning and from its end."""
    from_end = {run[::-1] for run in _shortest(words[::-1])}
    return from_end | set(_shortest(words))


def _shortest(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    weights = [0.5 if _UNPARTED.match(word) and not _IDEOGRAPH.match(word) else 1.0 for word in words]
    end, weight = 0, 0.0
    for at in range(len(words)):
        while weight < RUN and end < len(words):
            weight, end = weight + weights[end], end + 1
        if weight < RUN:
            return
        yield tuple(words[at:end])
        weight -= weights[at]


def _windows(words: Sequence[str], lengths: Iterable[int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """All parts of the text that have so many words, and where each begins."""
    for length in lengths:
        for at in range(len(words) - length + 1):
            yield at, tuple(words[at : at + length])


def _is_long(words: Sequence[str]) -> bool:
    return sum(map(len, words)) >= SHORT or sum(bool(_IDEOGRAPH.match(word)) for word in words) > 1


def _is_telling(word: str) -> bool:
    return len(word) >= TELLING or (len(word) >= TELLING_NUMBER and any(map(str.isdigit, word)))


def _folded(text: str) -> list[str]:
    """Words without case; signs of scripts that do not part words one by one."""
    return [word.casefold() for word in _PIECE.findall(text)]


def _plain_words(text: str) -> list[str]:
    """The words without case and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return _WORD.findall("".join(sign for sign in apart if not unicodedata.combining(sign)))


def _pieces(text: str) -> list[str]:
    """Words without case and accents; signs of scripts that do not part words one by one; a doubled word once."""
    words = [piece for word in _plain_words(text) for piece in (word if _UNPARTED.search(word) else (word,))]
    return [word for at, word in enumerate(words) if at == 0 or word != words[at - 1]]


def _is_slip(was: str, now: str) -> bool:
    """Whether one letter inside of the word was changed, put in or left out, or two neighbours changed places."""
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
