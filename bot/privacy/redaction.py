"""Redaction: the words of deleted messages are taken out of whatever quotes them, in any language."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from bot.language.scripts import IDEOGRAPHS, SYLLABLES, UNSEPARATED

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

_IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")
_PIECE = re.compile(rf"{UNSEPARATED.pattern}|[^\W{IDEOGRAPHS}{SYLLABLES}]+")
"""Such a sign, or a word of another."""


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
