"""Redaction: removes the words of deleted messages from texts that quote them, in any language."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from bot.language.scripts import IDEOGRAPHS, SYLLABLES, UNSEPARATED

RUN = 3
"""The number of words in a row that count as a quotation. An ideograph counts as one word. In other scripts without
spaces, two characters count as one."""
SHORT = 3
"""The least number of letters with which a message of fewer than RUN words is found inside a text. Two ideographs are
enough."""
TELLING = 6
"""The least number of letters of a word that counts as a quotation by itself, if no other known text contains it."""
TELLING_NUMBER = 3
"""The same number for a word that contains a digit."""
WORDED = frozenset({"text", "content", "arguments"})
"""The names of fields that contain words."""
GONE = "…"
"""What replaces a removed word."""

_IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")
_PIECE = re.compile(rf"{UNSEPARATED.pattern}|[^\W{IDEOGRAPHS}{SYLLABLES}]+")
"""Matches one character of a script without spaces, or one word of another script."""


class Redactor:
    """Finds the words of deleted messages in other texts and replaces them with GONE.

    It looks for runs of a message's words (for a shorter message, all of it) and for its significant words: long ones
    or numbers. Words that `others`, the rest of the conversation, contain too are left. Apart from that, it removes too
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
        """Whether the text contains words of the messages."""
        return bool(self._marked(text))

    def clean(self, text: str) -> str:
        """The text without words of the messages."""
        found = list(_PIECE.finditer(text))
        parts, position = [], 0
        for at in self._marked(text):
            parts += [text[position : found[at].start()], GONE]
            position = found[at].end()
        return re.sub(rf"{GONE}(?:\s*{GONE})+", GONE, "".join([*parts, text[position:]]))

    def clean_json(self, value: Any) -> Any:
        """Clean every text in a JSON value, except the keys of objects. A text can itself be JSON."""
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
        """Clean stored messages, or payloads for Slack. Only the fields in WORDED are changed.

        A provider's own data next to a message is removed completely if it contains such words.
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
        """The positions of the words that belong to the messages."""
        words = _folded(text)
        marked = {at for at, word in enumerate(words) if word in self._telling}
        for at, window in _windows(words, self._lengths):
            if window in self._inside:
                marked |= set(range(at, at + len(window)))
        if tuple(words) in self._whole:
            marked |= set(range(len(words)))
        return sorted(marked)


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """The shortest runs of words that identify a text, counted from its beginning and from its end."""
    from_end = {run[::-1] for run in _shortest(words[::-1])}
    return from_end | set(_shortest(words))


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


def _windows(words: Sequence[str], lengths: Iterable[int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """All runs of the given number of words in the text, and where each begins."""
    for length in lengths:
        for at in range(len(words) - length + 1):
            yield at, tuple(words[at : at + length])


def _is_long(words: Sequence[str]) -> bool:
    return sum(map(len, words)) >= SHORT or sum(bool(_IDEOGRAPH.match(word)) for word in words) > 1


def _is_telling(word: str) -> bool:
    return len(word) >= TELLING or (len(word) >= TELLING_NUMBER and any(map(str.isdigit, word)))


def _folded(text: str) -> list[str]:
    """The words in lower case. Scripts that do not separate words are split into characters."""
    return [word.casefold() for word in _PIECE.findall(text)]
