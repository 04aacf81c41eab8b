"""The words by which messages are understood without a model: one matcher for every section of the languages' files.

matcher        the matcher of a section, with the entries of all languages
load_matchers  compiles them all, which takes some tenths of a second: once, before the first message
word_set       a section that is a list of words
phrase_matcher a matcher of phrases that are not in these files
unquoted       a text without what its author quotes

A section has phrases with a comma between them, or a list of patterns. Both are regular expressions, with these
differences:
- A blank is any white space. At both ends of an entry a word must begin or end.
- A parenthesis only groups. A name in braces stands for one of the section's `parts`.
- A letter with an accent is also found without it. In brackets, as in `o[ù]`, the accent is needed.
- An apostrophe is any apostrophe. Small letters are also found as capitals.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from bot.errors import ConfigurationError
from bot.language.languages import Language, read_section

READ_LIMIT = 2_000
"""Characters of a text that are read."""
PATTERNS = (
    *(
        "small_talk",
        "pleasantries",
        "thanks",
        "beside_thanks",
        "thanks_words",
        "assent",
        "agreement",
        "apologies",
        "stop",
        "help_requests",
        "settled",
        "accepts",
        "refuses",
        "declines",
    ),
    *("unsettled", "questions", "requests", "order_requests", "refers_back", "rhetorical"),
    *("handover_requests.patterns", "handover_requests.alone", "handover_requests.beside_alone"),
    *("matters.refund", "matters.login", "matters.damaged", "matters.cancel", "matters.exchange", "matters.return"),
    *("matters.address", "matters.payment", "matters.delivery"),
)
"""The sections that a matcher reads."""

_QUOTED = re.compile(r"`[^`\n]*`|https?://\S+|^[ \t]*(?:>|&gt;)[^\n]*", re.MULTILINE)
_APOSTROPHES = str.maketrans("’‘´ʼ", "''''")
_SKIN = re.compile(r":skin-tone-\d:")
_GROUP = re.compile(r"(?<!\\)\((?!\?)")
_PART = re.compile(r"\{([a-z]+)\}")
_ACCENTED = re.compile(r"\[[^\]]*\]|[^\x00-\x7f]")
_EDGE = r"(?:(?<!\w)|(?!\w))"
"""Beside a word, or beside a sign that is no word."""
_NOTHING = "(?!)"
"""Matches nowhere."""


class Matcher:
    """Finds the entries of one or more sections. It takes time in proportion to a text's length."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Compile the patterns. Raises re.error for one that is none."""
        longest_first = "|".join(sorted(patterns, key=len, reverse=True))
        self._pattern = re.compile(f"{_EDGE}(?:{longest_first or _NOTHING}){_EDGE}")

    def is_in(self, text: str) -> bool:
        """Whether one of the entries is anywhere in the text."""
        return bool(self._pattern.search(_plain(text)))

    def begins(self, text: str) -> bool:
        """Whether the text begins with one of them."""
        return bool(self._pattern.match(_plain(text)))

    def opens(self, text: str, *, beside: "Matcher") -> bool:
        """Whether the text begins with a clause that is one of them. Entries of `beside` can be next to it."""
        text, at, is_found = _plain(text), 0, False
        while at < len(text):
            own, other = self._end(text, at), beside._end(text, at)
            is_found |= own > at and own >= other
            if at == own == other:
                if text[at].isalnum():
                    return False
                if is_found and text[at] != " ":
                    return True
            at = max(own, other, at + 1)
        return is_found

    def is_all(self, text: str, *, beside: "Matcher | None" = None) -> bool:
        """Whether the text has at least one of them, and nothing else but those of `beside`. Marks do not matter."""
        text, at, is_found = _SKIN.sub("", _plain(text)), 0, False
        while at < len(text):
            own, other = self._end(text, at), beside._end(text, at) if beside else at
            if at == own == other:
                if text[at].isalnum():
                    return False
                at += 1
            else:
                is_found |= own >= other
                at = max(own, other)
        return is_found

    def _end(self, text: str, at: int) -> int:
        """Where an entry ends that begins there. The same place if there is none."""
        found = self._pattern.match(text, at)
        return found.end() if found else at


@cache
def matcher(*sections: str) -> Matcher:
    """The matcher of these sections together. Raises ConfigurationError, which names what is no pattern."""
    found = [each for section in sections for each in _patterns(section)]
    try:
        return Matcher(pattern for _, _, pattern in found)
    except re.error:
        raise ConfigurationError([*_misfits(found)]) from None


def load_matchers() -> None:
    """Compile every section that is read as patterns. Raises ConfigurationError."""
    for section in PATTERNS:
        matcher(section)


@cache
def word_set(section: str) -> frozenset[str]:
    """The words of a section that has words with blanks between them, in all languages."""
    return frozenset(word for words in read_section(section).values() for word in words.split())


def phrase_matcher(phrases: Iterable[str]) -> Matcher:
    """A matcher of phrases that are no patterns. A `*` at the end of a word stands for any ending."""
    return Matcher(
        _ACCENTED.sub(_with_and_without, re.escape(_plain(phrase)).replace(r"\ ", " ").replace(r"\*", r"\w*"))
        for phrase in phrases
    )


def unquoted(text: str) -> str:
    """The text without code, addresses and quoted lines, as far as it is read."""
    return _QUOTED.sub(" ", text[:READ_LIMIT])


def phrases(written: str | list[str]) -> list[str]:
    """The entries of a section that is a list, or a text with commas."""
    return written if isinstance(written, list) else [entry for entry in written.split(", ") if entry]


def _patterns(section: str) -> Iterator[tuple[Language, str, str]]:
    """Each entry of a section: its language, as it is written, and as a regular expression."""
    outer = section.rpartition(".")[0]
    inside = read_section(outer) if outer else {}
    parts: dict[Language, Any] = {language: held.get("parts", {}) for language, held in inside.items()}
    for language, written in read_section(section).items():
        for entry in phrases(written):
            yield language, f"{section}: {entry}", compiled(entry, parts.get(language, {}))


def compiled(entry: str, parts: Mapping[str, str | list[str]]) -> str:
    """A regular expression for text that `_plain` has read. What is no part of the section stays."""

    def part(found: re.Match[str]) -> str:
        return f"({'|'.join(phrases(parts[found[1]]))})" if found[1] in parts else found[0]

    return _ACCENTED.sub(_with_and_without, _GROUP.sub("(?:", _PART.sub(part, entry)))


def _with_and_without(accented: re.Match[str]) -> str:
    bare = unicodedata.normalize("NFD", accented[0])[0]
    return accented[0] if bare in accented[0] or not bare.isascii() else f"[{accented[0]}{bare}]"


def _misfits(found: list[tuple[Language, str, str]]) -> Iterator[str]:
    for language, entry, pattern in found:
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"{language}.yml: {entry} is not a pattern: {error.msg}"


def _plain(text: str) -> str:
    """The beginning of a text in small letters, with one blank between words and one kind of apostrophes."""
    text = " ".join(text[:READ_LIMIT].lower().split())
    return text if text.isascii() else unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
