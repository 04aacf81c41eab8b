"""The words by which a message shows that somebody is in danger, or that its matter is one for people.

find_danger   the gravest class that the words of a message show
terms_of      the terms that a text holds, in the language that knows most of them

signs.yml has the signs: terms that stand together in one sentence. The terms are words of each language, in a file of
its own. All languages are read for every message, since one of few words does not tell which it is. What is read is
linear in the message: words are looked up whole, by their beginnings and by their ends, and never searched for.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from bot.own_files import read_own
from bot.sentences import LANGUAGES, Language

Danger = Literal["crisis", "harm", "threat", "fraud", "legal"]
"""Somebody may take their own life or hurt themselves · is hurt, or near it, by a thing · is threatened or followed by
another person · somebody else uses their account, money or name · law, authorities, disputed payments. The graver one
comes first."""
DANGERS: tuple[Danger, ...] = get_args(Danger)

READ_LIMIT = 12_000
"""Characters of a message that are read."""
WINDOW_WORDS = 40
"""Words of a sentence that are read together; a longer one is read in pieces that overlap by half."""
SENTENCE_LIMIT = 500
"""Sentences of a message that are read."""
WORD_LETTERS = 40
"""Letters of a word that are read."""
KNOWN_WORDS = 20_000
"""Words whose terms are kept."""
PLAUSIBLE_SHARE = 0.6
"""A sentence may be of a language that knows this share of the terms that the best one knows in it."""

_FOLDER = Path(__file__).parent
_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"[.!?…。！？;\n]+")
_STEM_LIMIT = 20
"""Letters of a word's beginning or end by which it is looked up."""


class _Entry(NamedTuple):
    """A word of a term, which further words may have to follow."""

    language: Language
    bit: int
    """Of the term."""
    rest: tuple[str, ...]
    """The words that must follow, each with `*` behind it when any ending will do."""


class _Sign(NamedTuple):
    danger: Danger
    needs: int
    """Bits of the terms that must stand there."""
    unless: int
    """Bits of those that must not."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words and signs of all languages."""

    terms: tuple[str, ...]
    """The names of the terms; a term's bit is its place."""
    signs: tuple[_Sign, ...]
    """The gravest class first."""
    whole: Mapping[str, Sequence[_Entry]]
    beginnings: Mapping[str, Sequence[_Entry]]
    ends: Mapping[str, Sequence[_Entry]]
    known_words: dict[str, tuple[_Entry, ...]] = field(default_factory=dict)
    """What was looked up before."""

    def found_in(self, words: Sequence[str]) -> dict[Language, int]:
        """The bits of the terms that the words hold, by language."""
        there = set(words)
        # Most terms of several words are ruled out by a word that stands nowhere.
        entries = {
            word: [each for each in self._entries_of(word) if not each.rest or _may_follow(each.rest, there)]
            for word in there
        }
        found: dict[Language, int] = {}
        for place, word in enumerate(words):
            for language, bit, rest in entries[word]:
                known = found.get(language, 0)
                if not known & bit and _follow(words, place + 1, rest):
                    found[language] = known | bit
        return found

    def shown_by(self, bits: int) -> Danger | None:
        """The gravest class of which a sign is among these terms."""
        for danger, needs, unless in self.signs:
            if needs & bits == needs and not unless & bits:
                return danger
        return None

    def _entries_of(self, word: str) -> tuple[_Entry, ...]:
        if word not in self.known_words:
            if len(self.known_words) >= KNOWN_WORDS:
                self.known_words.clear()
            self.known_words[word] = tuple(self._entries(word))
        return self.known_words[word]

    def _entries(self, word: str) -> Iterator[_Entry]:
        yield from self.whole.get(word, ())
        for length in range(2, min(len(word), _STEM_LIMIT) + 1):
            yield from self.beginnings.get(word[:length], ())
            yield from self.ends.get(word[-length:], ())


def _may_follow(rest: tuple[str, ...], there: Set[str]) -> bool:
    return all(word in there or word.endswith("*") for word in rest)


def _follow(words: Sequence[str], place: int, rest: tuple[str, ...]) -> bool:
    """Whether the words from there on are the rest of a term."""
    if not rest:
        return True
    there = words[place : place + len(rest)]
    return len(there) == len(rest) and all(map(_fits, there, rest))


def _fits(word: str, wanted: str) -> bool:
    return word.startswith(wanted[:-1]) if wanted.endswith("*") else word == wanted


def find_danger(text: str) -> Danger | None:
    """The gravest class that the message's words show; None for an ordinary one."""
    lexicon = load_lexicon()
    shown = {lexicon.shown_by(bits) for words in set(_windows(text)) for bits in _plausible(lexicon.found_in(words))}
    return min((danger for danger in shown if danger), key=DANGERS.index, default=None)


def _plausible(found: Mapping[Language, int]) -> list[int]:
    """The terms in those languages that the words may be of: some words are the same in two, with two meanings."""
    most = max((bits.bit_count() for bits in found.values()), default=0)
    return [bits for bits in found.values() if bits.bit_count() >= PLAUSIBLE_SHARE * most]


def terms_of(text: str) -> tuple[Language, frozenset[int]] | None:
    """The places of the terms that a sentence holds, in the language that knows most of them; None for no term."""
    found = load_lexicon().found_in(words_of(text))
    if not found:
        return None
    language, bits = max(found.items(), key=lambda each: each[1].bit_count())
    return language, frozenset(place for place in range(bits.bit_length()) if bits >> place & 1)


def sentences_of(text: str) -> list[str]:
    """The sentences of a message, as far as they are read."""
    return [each for each in _SENTENCE_END.split(text[:READ_LIMIT]) if each.strip()][:SENTENCE_LIMIT]


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, without accents."""
    split = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(sign for sign in split if not unicodedata.combining(sign))
    return [word[:WORD_LETTERS] for word in _WORD.findall(plain)]


def _windows(text: str) -> Iterator[tuple[str, ...]]:
    for sentence in sentences_of(text):
        words = words_of(sentence)
        for start in range(0, max(1, len(words) - WINDOW_WORDS // 2), WINDOW_WORDS // 2):
            yield tuple(words[start : start + WINDOW_WORDS])


@cache
def load_lexicon() -> Lexicon:
    """Read signs.yml and the words of each language. ValueError where they do not fit together."""
    signs: Mapping[str, Sequence[str]] = read_own(_FOLDER / "signs.yml")
    needed = {term.lstrip("!") for each in signs.values() for sign in each for term in sign.split()}
    terms = tuple(sorted(needed))
    bits = {term: 1 << place for place, term in enumerate(terms)}
    whole: dict[str, list[_Entry]] = {}
    beginnings: dict[str, list[_Entry]] = {}
    ends: dict[str, list[_Entry]] = {}
    for language in LANGUAGES:
        words: Mapping[str, str] = read_own(_FOLDER / "words" / f"{language}.yml")
        if set(words) != needed:
            raise ValueError(f"the terms of {language}.yml are not those of signs.yml: {sorted(set(words) ^ needed)}")
        for term, listed in words.items():
            for phrase in listed.split():
                first, *rest = (part for part in _folded(phrase).split("_") if part)
                entry = _Entry(language, bits[term], tuple(rest))
                if first.startswith("*"):
                    ends.setdefault(first[1:], []).append(entry)
                elif first.endswith("*"):
                    beginnings.setdefault(first[:-1], []).append(entry)
                else:
                    whole.setdefault(first, []).append(entry)
    return Lexicon(terms, tuple(_read_signs(signs, bits)), whole, beginnings, ends)


def _read_signs(signs: Mapping[str, Sequence[str]], bits: Mapping[str, int]) -> Iterator[_Sign]:
    for danger in DANGERS:
        for sign in signs[danger]:
            terms = sign.split()
            needs = sum(bits[term] for term in terms if not term.startswith("!"))
            yield _Sign(danger, needs, sum(bits[term[1:]] for term in terms if term.startswith("!")))


def _folded(phrase: str) -> str:
    split = unicodedata.normalize("NFKD", phrase.casefold())
    return "".join(sign for sign in split if not unicodedata.combining(sign))
