"""The words by which a message shows that somebody is in danger, or that its matter is one for people.

find_danger   the gravest class that the words of a message show
terms_of      the terms that the words of a sentence hold, in the language that knows most of them

signs.yml has the signs: terms that stand together in one sentence. The terms are words of each language, in a file of
its own; spellings.yml has what those who type fast make of a word. All languages are read for every message, since one
of few words does not tell which it is. What is read is linear in the message: words are looked up whole, by their
beginnings and by their ends, and never searched for.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from bot.language.sentences import LANGUAGES, Language, common_words
from bot.own_files import read_own

Danger = Literal["crisis", "harm", "threat", "fraud", "legal"]
"""Somebody may take their own life or hurt themselves · is hurt, or near it, by a thing · is threatened or followed by
another person · somebody else uses their account, money or name · law, authorities, disputed payments. The graver one
comes first."""
DANGERS: tuple[Danger, ...] = get_args(Danger)

READ_LIMIT = 12_000
"""Characters of a message that are read."""
WINDOW_WORDS = 40
"""Words of a sentence that are read together; a longer one is read in pieces that overlap by half."""
SHORT_WORDS = 4
"""A sentence of so few words is also read together with the one before it ("It wasn't me.")."""
SENTENCE_LIMIT = 500
"""Sentences of a message that are read."""
WORD_LETTERS = 40
"""Letters of a word that are read."""
KNOWN_WORDS = 20_000
"""Words whose terms are kept."""
PLAUSIBLE_SHARE = 0.6
"""A sentence may be of a language that knows this share of the words that the best one knows in it."""

_FOLDER = Path(__file__).parent
_WORD = re.compile(r"[^\W_]+")
_CONTRACTION = re.compile(r"n['’´`]t\b|\bi['’´`]m\b|\b(?:i|we|you|they)['’´`]ve\b")
"""English words that many write without their apostrophe."""
_APOSTROPHE = re.compile(r"['’´`]")
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


class _Word(NamedTuple):
    """What is known of a word."""

    bits: tuple[tuple[Language, int], ...]
    """Of the terms that it is, in each language."""
    begins: tuple[_Entry, ...]
    """Terms of several words that it begins."""
    common_in: tuple[Language, ...]


class _Reading(NamedTuple):
    """A sentence as one of a language."""

    bits: int
    """Of the terms that the words hold."""
    words: int
    """Those of them that the language knows: as terms, or as common words."""


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
    spellings: Mapping[Language, Mapping[str, str]]
    """Each language's other spellings of words, with the one of the lists."""
    common_words: Mapping[Language, Set[str]]
    known_words: dict[str, _Word] = field(default_factory=dict)
    """What was looked up before."""

    def read(self, words: Sequence[str]) -> dict[Language, _Reading]:
        """The words as a sentence of each language that knows a term in them."""
        distinct = set(words)
        spelt = {
            language: words if distinct.isdisjoint(spellings) else [spellings.get(word, word) for word in words]
            for language, spellings in self.spellings.items()
        }
        found: dict[Language, int] = {}
        places: dict[Language, set[int]] = {language: set() for language in LANGUAGES}
        for place, word in enumerate(words):
            known = self._word(word)
            for language in known.common_in:
                places[language].add(place)
            for language, bits in known.bits:
                found[language] = found.get(language, 0) | bits
                places[language].add(place)
            for language, bit, rest in known.begins:
                if not found.get(language, 0) & bit and _follow(spelt[language], place + 1, rest):
                    found[language] = found.get(language, 0) | bit
                    places[language].update(range(place, place + 1 + len(rest)))
        return {language: _Reading(bits, len(places[language])) for language, bits in found.items()}

    def shown_by(self, bits: int) -> Danger | None:
        """The gravest class of which a sign is among these terms."""
        for danger, needs, unless in self.signs:
            if needs & bits == needs and not unless & bits:
                return danger
        return None

    def _word(self, word: str) -> _Word:
        if word not in self.known_words:
            if len(self.known_words) >= KNOWN_WORDS:
                self.known_words.clear()
            self.known_words[word] = self._look_up(word)
        return self.known_words[word]

    def _look_up(self, word: str) -> _Word:
        bits: dict[Language, int] = {}
        begins: list[_Entry] = []
        for entry in self._entries(word):
            if entry.rest:
                begins.append(entry)
            else:
                bits[entry.language] = bits.get(entry.language, 0) | entry.bit
        common_in = tuple(language for language, common in self.common_words.items() if word in common)
        return _Word(tuple(bits.items()), tuple(begins), common_in)

    def _entries(self, word: str) -> Iterator[_Entry]:
        spelt = {language: spellings.get(word, word) for language, spellings in self.spellings.items()}
        for form in {word, *spelt.values()}:
            yield from (entry for entry in self._entries_of_form(form) if spelt[entry.language] == form)

    def _entries_of_form(self, word: str) -> Iterator[_Entry]:
        yield from self.whole.get(word, ())
        for length in range(2, min(len(word), _STEM_LIMIT) + 1):
            yield from self.beginnings.get(word[:length], ())
            yield from self.ends.get(word[-length:], ())


def _follow(words: Sequence[str], place: int, rest: tuple[str, ...]) -> bool:
    """Whether the words from there on are the rest of a term."""
    if place + len(rest) > len(words) or not _fits(words[place], rest[0]):
        return False
    return all(map(_fits, words[place + 1 : place + len(rest)], rest[1:]))


def _fits(word: str, wanted: str) -> bool:
    return word == wanted or (wanted[-1] == "*" and word.startswith(wanted[:-1]))


def find_danger(text: str) -> Danger | None:
    """The gravest class that the message's words show; None for an ordinary one."""
    lexicon = load_lexicon()
    shown = {lexicon.shown_by(bits) for words in set(_windows(text)) for bits in _plausible(lexicon.read(words))}
    return min((danger for danger in shown if danger), key=DANGERS.index, default=None)


def _plausible(readings: Mapping[Language, _Reading]) -> list[int]:
    """The terms in those languages that the words may be of: some words are the same in two, with two meanings."""
    most = max((reading.words for reading in readings.values()), default=0)
    return [reading.bits for reading in readings.values() if reading.words >= PLAUSIBLE_SHARE * most]


def terms_of(words: Sequence[str]) -> list[int]:
    """The places of the terms that a sentence's words hold, in the language that knows most of the words."""
    readings = load_lexicon().read(words).values()
    bits, _ = max(readings, key=lambda each: (each.words, each.bits.bit_count()), default=_Reading(0, 0))
    return [place for place in range(bits.bit_length()) if bits >> place & 1]


def sentences_of(text: str) -> list[str]:
    """The sentences of a message, as far as they are read."""
    return [each for each in _SENTENCE_END.split(text[:READ_LIMIT]) if each.strip()][:SENTENCE_LIMIT]


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, without accents."""
    plain = _CONTRACTION.sub(lambda found: _APOSTROPHE.sub("", found[0]), _folded(text))
    return [word[:WORD_LETTERS] for word in _WORD.findall(plain)]


def _windows(text: str) -> Iterator[tuple[str, ...]]:
    before: list[str] = []
    for sentence in sentences_of(text):
        words = words_of(sentence)
        if len(words) <= SHORT_WORDS and before:
            yield tuple(before[-WINDOW_WORDS // 2 :] + words)
        for start in range(0, max(1, len(words) - WINDOW_WORDS // 2), WINDOW_WORDS // 2):
            yield tuple(words[start : start + WINDOW_WORDS])
        before = words


@cache
def load_lexicon() -> Lexicon:
    """Read signs.yml, the words and the spellings of each language. ValueError where they do not fit together."""
    signs: Mapping[str, Sequence[str]] = read_own(_FOLDER / "signs.yml")
    needed = {term.lstrip("!") for each in signs.values() for sign in each for term in sign.split()}
    terms = tuple(sorted(needed))
    bits = {term: 1 << place for place, term in enumerate(terms)}
    whole: dict[str, list[_Entry]] = {}
    beginnings: dict[str, list[_Entry]] = {}
    ends: dict[str, list[_Entry]] = {}
    spellings = _read_spellings()
    for language in LANGUAGES:
        spelt = spellings[language]
        words: Mapping[str, str] = read_own(_FOLDER / "words" / f"{language}.yml")
        if set(words) != needed:
            raise ValueError(f"the terms of {language}.yml are not those of signs.yml: {sorted(set(words) ^ needed)}")
        for term, listed in words.items():
            bit = bits[term]
            for phrase in _folded(listed).split():
                first, *rest = phrase.split("_")
                entry = _Entry(language, bit, tuple([spelt.get(each, each) for each in rest]))
                if first[0] == "*":
                    ends.setdefault(first[1:], []).append(entry)
                elif first[-1] == "*":
                    beginnings.setdefault(first[:-1], []).append(entry)
                else:
                    whole.setdefault(spelt.get(first, first), []).append(entry)
    common = {language: {_folded(word) for word in common_words(language)} for language in LANGUAGES}
    return Lexicon(terms, tuple(_read_signs(signs, bits)), whole, beginnings, ends, spellings, common)


def _read_spellings() -> dict[Language, dict[str, str]]:
    listed: Mapping[str, Mapping[str, str]] = read_own(_FOLDER / "spellings.yml")
    return {
        language: {
            _folded(variant): _folded(word)
            for word, variants in listed[language].items()
            for variant in variants.split()
        }
        for language in LANGUAGES
    }


def _read_signs(signs: Mapping[str, Sequence[str]], bits: Mapping[str, int]) -> Iterator[_Sign]:
    for danger in DANGERS:
        for sign in signs[danger]:
            terms = sign.split()
            needs = sum(bits[term] for term in terms if not term.startswith("!"))
            yield _Sign(danger, needs, sum(bits[term[1:]] for term in terms if term.startswith("!")))


def _folded(phrase: str) -> str:
    plain = phrase.casefold()
    if plain.isascii():
        return plain
    split = unicodedata.normalize("NFKD", plain)
    return "".join(sign for sign in split if not unicodedata.combining(sign))
