"""Says whether a text repeats deleted messages, in any language. A later answer that does is erased with them."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from bot.language.scripts import IDEOGRAPHS, SYLLABLES, UNSEPARATED

RUN = 3
"""The number of words in a row that count as a quotation. An ideograph counts as one word. In other scripts without
spaces, two characters count as one."""
SHORT = 3
"""The least number of letters with which a message of fewer than RUN words can be recognised. Two ideographs are
enough."""
TELLING = 6
"""The least number of letters of a word that counts as a quotation by itself."""
TELLING_NUMBER = 3
"""The same number for a word that contains a digit."""
WORDED = frozenset({"text", "content", "arguments", "extra"})
"""The names of fields that contain words."""

_IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")
_PIECE = re.compile(rf"{UNSEPARATED.pattern}|[^\W{IDEOGRAPHS}{SYLLABLES}]+")
"""Matches one character of a script without spaces, or one word of another script."""


class Quotations:
    """Recognises the words of deleted messages: runs of them, and words that are long or contain a digit.

    What `others`, the rest of the conversation, contains too is no quotation.
    """

    def __init__(self, deleted: Iterable[str], others: Iterable[str]) -> None:
        self._quoted = {run for text in deleted for run in _telling(_words(text))}
        self._lengths = {len(run) for run in self._quoted}
        for text in others:
            self._quoted -= _runs(_words(text), self._lengths)

    def are_in(self, text: str) -> bool:
        """Whether the text repeats the messages."""
        return not self._quoted.isdisjoint(_runs(_words(text), self._lengths))

    def are_in_any(self, stored: Any) -> bool:
        """Whether a text in stored JSON repeats them. A text can itself be JSON."""
        return any(map(self.are_in, _texts(stored)))


def _telling(words: Sequence[str]) -> set[tuple[str, ...]]:
    """The runs of words that identify a text. Of a short text, all of it is one."""
    alone = {(word,) for word in words if _is_telling(word)}
    runs = set(_shortest(words))
    is_short = sum(map(len, words)) < SHORT and sum(bool(_IDEOGRAPH.match(word)) for word in words) < 2
    return alone | (runs or (set() if is_short else {tuple(words)}))


def _shortest(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    weights = [0.5 if UNSEPARATED.match(word) and not _IDEOGRAPH.match(word) else 1.0 for word in words]
    end, weight = 0, 0.0
    for at in range(len(words)):
        while weight < RUN and end < len(words):
            weight, end = weight + weights[end], end + 1
        if weight < RUN:
            return
        yield tuple(words[at:end])
        weight -= weights[at]


def _runs(words: Sequence[str], lengths: Collection[int]) -> set[tuple[str, ...]]:
    """All runs of so many words."""
    return {tuple(words[at : at + length]) for length in lengths for at in range(len(words) - length + 1)}


def _is_telling(word: str) -> bool:
    return len(word) >= TELLING or (len(word) >= TELLING_NUMBER and any(map(str.isdigit, word)))


def _words(text: str) -> list[str]:
    """The words in lower case. Scripts that do not separate words are split into characters."""
    return [word.casefold() for word in _PIECE.findall(text)]


def _texts(value: Any, *, is_worded: bool = False) -> Iterator[str]:
    match value:
        case str() if is_worded:
            yield value
            yield from _texts(_inside(value), is_worded=True)
        case list():
            for each in value:
                yield from _texts(each, is_worded=is_worded)
        case dict():
            for name, each in value.items():
                yield from _texts(each, is_worded=is_worded or name in WORDED)


def _inside(text: str) -> Any:
    """The JSON object or list in a text. None if there is none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
