"""Removing personal data from a text that all staff see, or that is stored for everyone.

without_personal   the text with names, addresses, numbers, links and secrets replaced by what they are
names_in           the names of people, and the parts of these names that people are known by as well
"""

import re
from collections.abc import Iterable
from functools import cache

from bot.errors import ConfigurationError
from bot.guard.guardrails import mask
from bot.language.languages import read_section
from bot.language.matching import phrases
from knowledge.search.questions import FUNCTION_WORDS, IDENTIFIER, UNSPACED

NAME = "[name]"
PLACEHOLDERS = (NAME, "[address]", "[e-mail address]", "[link]", "[person]", "[number]", "[card number]", "[secret]")
"""What may be put in place of something personal."""
PART_LENGTH = 3
"""Characters that a part of a name needs at least to count as a name by itself."""

_ROLES = """
account admin agent boutique client customer guest help may member order person service shop staff store support
team user
"""
_ORDINARY = FUNCTION_WORDS | frozenset(_ROLES.split())
"""Words that are parts of names and identify no one."""

_CAPITALIZED = r"[^\W\d_a-z][\w'’.-]{0,40}"
_WORD = r"[^\W\d][\w'’.-]{0,40}"
_HOUSE = r"\d{1,5}\s?[a-zA-Z]?"
_GAP = r"\s{1,4}"
_TOWN = rf"(?:,?{_GAP}(?:[A-Z]{{1,2}}-)?\d{{4,5}}{_GAP}[^\W\d_][\w-]{{1,40}})?"
# Words and gaps have a maximum length: without it, a row of dashes would be read to its end from each dash.
_STREETS = {
    # 12 Elm Street; 221B Old Kent Road
    "number_name_word": rf"(?<!\w){_HOUSE}{_GAP}(?:{_CAPITALIZED}{_GAP}){{1,4}}(?i:WORD)\b\.?{_TOWN}",
    # Lindenstraße 5; Am Alten Platz 17b, 10115 Berlin
    "name_word_number": rf"(?<![\w-])(?:{_CAPITALIZED}{_GAP}){{0,3}}[\w-]{{0,60}}(?i:WORD){_GAP}{_HOUSE}\b{_TOWN}",
    # 8 bis, rue de la Paix
    "number_word_name": (
        rf"(?<!\w){_HOUSE}(?:\s?(?:bis|ter))?,?{_GAP}(?i:WORD){_GAP}(?:[\w'’.-]{{1,40}}\s?){{1,5}}{_TOWN}"
    ),
    # Calle de Alcalá 45; Jl. Merdeka No. 3
    "word_name_number": (rf"(?<!\w)(?i:WORD){_GAP}(?:{_WORD}{_GAP}){{1,4}}(?:[Nn][º.o]\.?\s{{0,4}})?{_HOUSE}\b{_TOWN}"),
}
"""Addresses by the order of their parts. WORD is one of the language's words for a street."""
_PERSONAL = [
    (re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "[e-mail address]"),
    (re.compile(r"https?://\S+|www\.\S+"), "[link]"),
    (re.compile(r"<@[A-Z0-9]+(?:\|[^<>]*)?>"), "[person]"),
    # Phone numbers and similar numbers that are written in groups.
    (re.compile(r"(?<!\w)\+?\d[\d ()/.-]{5,}\d(?!\w)"), "[number]"),
    (IDENTIFIER, "[number]"),
]


def without_personal(text: str, *, names: Iterable[str] = ()) -> str:
    """The text with personal data replaced. `names` are of people; case and blanks do not matter."""
    text = _addresses().sub("[address]", mask(text))
    for pattern, instead in _PERSONAL:
        text = pattern.sub(instead, text)
    for name in names_in(names):
        spaced = r"\s+".join(map(re.escape, name.split()))
        edges = ("", "") if UNSPACED.search(name) else (r"(?<!\w)", r"(?!\w)")
        text = re.sub(f"{edges[0]}@?{spaced}{edges[1]}", NAME, text, flags=re.IGNORECASE)
    return text


@cache
def _addresses() -> re.Pattern[str]:
    """Addresses, as any of the languages has them. Raises ConfigurationError for an order that is unknown."""
    found: dict[str, list[str]] = {order: [] for order in _STREETS}
    for language, streets in read_section("streets").items():
        for order, words in streets.items():
            if order not in found:
                raise ConfigurationError([f"{language}.yml: streets.{order} is none of {', '.join(_STREETS)}"])
            found[order] += phrases(words)
    return re.compile(
        "|".join(_STREETS[order].replace("WORD", "|".join(words)) for order, words in found.items() if words)
    )


def names_in(names: Iterable[str]) -> list[str]:
    """Whole names first, then their parts, except for parts that are everyday words."""
    whole = [" ".join(name.split()) for name in names]
    parts = [part for name in whole for part in re.split(r"[\s,]+", name)]
    telling = [part for part in parts if len(part) >= PART_LENGTH and part.casefold() not in _ORDINARY]
    # One letter is no name, even if someone is called that.
    return list(dict.fromkeys(sorted((name for name in (*whole, *telling) if len(name) > 1), key=len, reverse=True)))
