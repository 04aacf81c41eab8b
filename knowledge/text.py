"""Removing what no one sees in a text: a model would read it all the same.

`Sieve` takes a text in any pieces, `visible` a whole one. `count_hidden` counts the characters that hide something, by
kind.

Characters that show nothing, or that move others, can carry orders to a model that no reader of the text sees, or carry
codes out. What writing needs is kept: joiners and selectors in well-formed emoji and in the scripts that use them, and
the three flags that are made of tag characters.
"""

import re
import unicodedata
from collections import Counter

_INVISIBLE = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"  # soft hyphen, joiner of graphemes, a direction mark, fillers
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # zero width, direction marks and overrides, invisible operators
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"  # more fillers and selectors, anchors, non-characters
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # controls of shorthand and music
    "\U000e0000-\U000e001f\U000e0080-\U000e0fff"  # selectors beyond the tags, and what may once be like them
)
_TAGS = "\U000e0020-\U000e007f"
_SELECTORS_MONGOLIAN = "\u180b-\u180f"
_JOINERS = "\u200c\u200d"
_PRESENTATION = "\ufe0e\ufe0f"

KEPT = frozenset(_JOINERS) | {chr(tag) for tag in range(0xE0020, 0xE0080)}
"""Characters that show nothing themselves, and that stay where writing needs them."""

_REMOVED = re.compile(f"[{_INVISIBLE}]")
_ASCII_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAKS = str.maketrans({"\u0085": "\n", "\u2028": "\n", "\u2029": "\n"})
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PLAIN = re.compile(
    "[\x00-\x0c\x0e-\u02ff\u0370-\u0482\u048a-\u0590\u2010-\u20cf\u2100-\u2bff\u3000-\u3029\u3030-\u3098"
    "\u309b-\u9fff\uac00-\ud7a3\uff01-\uffef\U0001f000-\U0001faff]*"
)
"""Text without marks, joiners, selectors and carriage returns: in it, no character depends on its neighbours."""
_MARKS_KEPT = 5
"""Accents on one character, at most. More are there to cover the neighbouring lines."""

_FLAG = "\U0001f3f4"
_END_OF_FLAG = "\U000e007f"
_FLAGS = frozenset(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + _END_OF_FLAG for region in ("gbeng", "gbsct", "gbwls")
)
"""What follows a black flag to make it England's, Scotland's or Wales's: all that Unicode recommends of this kind."""
_FLAG_LENGTH = 6

_JOINED_SCRIPTS = re.compile(
    "[\u0590-\u1cff\ua800-\uabff\ufb1d-\ufdff\ufe70-\ufefc\U00010a00-\U00010aff\U00011000-\U00011fff\U0001e900-\U0001e95f]"
)
"""From Hebrew and Arabic through the scripts of India to Mongolian. There joiners distinguish words and letters."""
_KEYCAP = frozenset("0123456789#*")
_SYMBOLS = frozenset({"So", "Sk", "Sm", "Po", "Pd"})
"""Categories of characters that may be an emoji."""

HIDDEN_KINDS = ("hidden letter", "direction override", "invisible character")
"""What hides something: a text in letters that no one sees, text that reads in another order, and all else."""
_HIDDEN_LETTER = re.compile(f"[{_TAGS}]")
_OVERRIDE = re.compile("[\u202a-\u202e\u2066-\u2069]")
_HIDING = re.compile(
    f"[{_TAGS}\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\u115f\u1160\u3164\uffa0\U000e0000-\U000e001f\U000e0080-\U000e0fff]"
    f"|[{_INVISIBLE}{_TAGS}{_JOINERS}{_PRESENTATION}{_SELECTORS_MONGOLIAN}]{{3,}}"
)
"""What has no place in an ordinary text. Single soft hyphens, direction marks and so on are removed uncounted."""


def visible(text: str) -> str:
    """The text without what no one sees, with newlines as its line breaks."""
    if text.isascii() and not _ASCII_CONTROL.search(text):
        return text
    return Sieve().feed(text)


def count_hidden(text: str) -> Counter[str]:
    """The number of characters that hide or reorder something and are removed, by the kinds of HIDDEN_KINDS."""
    if text.isascii():
        return Counter()
    hidden = "".join(_HIDING.findall(text))
    if not hidden:
        return Counter()
    letters = len(_HIDDEN_LETTER.findall(hidden)) - _FLAG_LENGTH * sum(text.count(_FLAG + tags) for tags in _FLAGS)
    overrides = len(_OVERRIDE.findall(hidden))
    rest = len(hidden) - len(_HIDDEN_LETTER.findall(hidden)) - overrides
    return +Counter(dict(zip(HIDDEN_KINDS, (letters, overrides, rest), strict=True)))


class Sieve:
    """Removes unwanted characters; the result does not depend on how the text is divided."""

    def __init__(self) -> None:
        self._previous = ""
        self._marks = 0
        self._after_return = False
        self._tags: str | None = None
        """What has followed a black flag so far. None if no flag came before."""

    def feed(self, text: str) -> str:
        """The visible part of the next piece. A flag that is not complete yet is held back, and dropped at the end."""
        text = _SURROGATE.sub("\ufffd", _REMOVED.sub("", text).translate(_LINE_BREAKS))
        # Most lines need no closer look.
        return "".join([self._line(line) for line in _LINE.findall(text)])

    def _line(self, text: str) -> str:
        if not self._after_return and _PLAIN.fullmatch(text):
            if text:
                self._previous, self._marks, self._tags = text[-1], 0, "" if text[-1] == _FLAG else None
            return text
        return "".join([kept for character in text if (kept := self._kept(character))]).replace("\r", "\n")

    def _kept(self, character: str) -> str:
        """The character, or a flag that it completes. Empty if the character is removed or held back."""
        if "\U000e0020" <= character <= _END_OF_FLAG:
            return self._kept_tags(character)
        self._tags = "" if character == _FLAG else None
        return character if self._keeps(character) else ""

    def _kept_tags(self, character: str) -> str:
        if self._tags is None or len(self._tags) >= _FLAG_LENGTH:
            self._tags = None
            return ""
        self._tags += character
        if character != _END_OF_FLAG:
            return ""
        tags, self._tags = self._tags, None
        return tags if tags in _FLAGS else ""

    def _keeps(self, character: str) -> bool:
        if self._after_return:
            self._after_return = False
            if character == "\n":
                return False
        self._after_return = character == "\r"
        if character in _JOINERS:
            keeps = self._may_join(character)
        elif character in _PRESENTATION:
            keeps = self._previous in _KEYCAP or self._is_symbol()
        elif "\u180b" <= character <= "\u180f":
            keeps = "\u1800" <= self._previous <= "\u18af" and not "\u180b" <= self._previous <= "\u180f"
        elif unicodedata.category(character) in ("Mn", "Me"):
            self._marks += 1
            return self._marks <= _MARKS_KEPT
        else:
            self._marks = 0
            keeps = True
        if keeps:
            self._previous = character
        return keeps

    def _may_join(self, joiner: str) -> bool:
        if _JOINED_SCRIPTS.match(self._previous):
            return True
        return joiner == "\u200d" and (self._previous in tuple(_PRESENTATION) or self._is_symbol())

    def _is_symbol(self) -> bool:
        """Whether the previous character may be an emoji, and has no selector yet."""
        before = self._previous
        if not before or before.isascii():
            return False
        return before == "\u2139" or "\U0001f000" <= before <= "\U0001faff" or unicodedata.category(before) in _SYMBOLS
