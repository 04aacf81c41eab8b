"""What a customer wants, as far as words tell. The words stand in rules.yml."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

Reason = Literal["security", "legal", "billing", "person", "upset", "change"]

READ_LIMIT = 4_000
"""Characters of a message that the rules look at."""

_FIRM_REASONS: tuple[Reason, ...] = ("security", "legal", "billing", "person", "upset")
"""In the order in which they outweigh each other."""
_ORDER_NUMBER = re.compile(
    r"\bORD[-_][A-Z0-9][A-Z0-9_-]{0,35}\b|\bORD ?\d{2,12}\b|#(?=[A-Z0-9-]*\d{3})[A-Z0-9][A-Z0-9-]{2,30}\b",
    re.IGNORECASE | re.ASCII,
)
_TRACKING_NUMBER = re.compile(r"\b(?=[A-Z]*\d+[A-Z]*\d*[A-Z0-9]*\b)[A-Z0-9]{10,34}\b", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Wants:
    """What one message asks for; several may hold."""

    greets: bool
    """Says hello, and does not say thanks."""
    leaves: bool
    """Says goodbye."""
    only_talk: bool
    """A greeting, thanks or goodbye and nothing else."""
    abilities: bool
    """Asks what the assistant is or can do, and nothing else."""
    agrees: bool
    """A yes and nothing else."""
    person: Reason | None
    """Why a person should take over."""
    orders: tuple[str, ...]
    """Order numbers, as shops write them."""
    parcels: tuple[str, ...]
    """Tracking numbers."""
    where: bool
    """Asks how far something is."""
    own_orders: bool
    """Speaks of the customer's own orders."""
    how: bool
    """Asks how something is done."""
    general: bool
    """The same, or asks what holds for everybody."""
    contents: bool
    """Asks what is in an order, what it cost, or whether it is paid."""
    trouble: bool
    """Something is broken, wrong or missing."""
    asks: bool
    """Asks for something, by a question or a request."""
    leans: bool
    """Speaks of something as "it": a message before says what that is."""
    goes_on: bool
    """Begins with "and"."""

    @property
    def own_listed(self) -> bool:
        """Asks about all of their own orders; how things are done, and what to do in trouble, the pages tell."""
        particular = not self.general or self.where or self.contents
        return self.own_orders and particular and not self.how and not self.trouble


def read_wants(text: str) -> Wants:
    """Read one message."""
    text = " ".join(text[:READ_LIMIT].split())
    numbers = [match.group() for match in _ORDER_NUMBER.finditer(text)]
    orders = _unique(re.sub(r"^ORD ", "ORD-", number.upper().lstrip("#")) for number in numbers)
    own, general, where = _says("own", text), _says("general", text), _says("where", text)
    return Wants(
        greets=_says("hello", text) and not _says("thanks", text),
        leaves=_says("bye", text),
        only_talk=_is_only(("hello", "thanks", "bye", "filler"), text),
        abilities=_says("abilities", text) and _is_only(("hello", "abilities", "filler"), text),
        agrees=_says("agreement", text) and _is_only(("agreement", "thanks"), text),
        person=_person(text, about_order=bool(orders) or own, asks=general or where),
        orders=orders,
        parcels=_tracking_numbers(_ORDER_NUMBER.sub(" ", text)),
        where=where,
        own_orders=own,
        how=_says("how", text),
        general=general,
        contents=_says("contents", text),
        trouble=_says("trouble", text),
        asks=text.endswith("?") or _says("requests", text),
        leans=_says("leans", text),
        goes_on=bool(_patterns()["goes_on"].match(text)),
    )


def offers_person(answer: str) -> bool:
    """Whether one of the last sentences asks if a person shall be called."""
    last = re.split(r"(?<=[.!?])\s+", answer.strip())[-3:]
    return any(sentence.endswith("?") and _says("offers_person", sentence) for sentence in last)


def _person(text: str, *, about_order: bool, asks: bool) -> Reason | None:
    plain = text.strip(" .!?")
    if firm := next((reason for reason in _FIRM_REASONS if _says(reason, plain)), None):
        return firm
    if _shouts(text):
        return "upset"
    return "change" if about_order and not asks and _says("change", text) else None


def _shouts(text: str) -> bool:
    letters = [c for c in _ORDER_NUMBER.sub("", text) if c.isalpha()]
    return len(letters) >= 15 and sum(c.isupper() for c in letters) > 0.8 * len(letters)


def _tracking_numbers(text: str) -> tuple[str, ...]:
    """Long words with many digits in them; digits alone count only where a parcel is spoken of."""
    found = _unique(match.group().upper() for match in _TRACKING_NUMBER.finditer(text))
    about_parcels = _says("parcel_word", text)
    return tuple(word for word in found if _digits(word) >= 6 and (about_parcels or not word.isdigit()))


def _digits(word: str) -> int:
    return sum(c.isdigit() for c in word)


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _says(intent: str, text: str) -> bool:
    return bool(_patterns()[intent].search(text))


def _is_only(intents: Iterable[str], text: str) -> bool:
    rest = text[:200]
    if len(text) > len(rest):
        return False
    for intent in intents:
        rest = _patterns()[intent].sub(" ", rest)
    return bool(re.search(r"\w", text)) and not re.search(r"\w", rest)


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    rules = yaml.safe_load((Path(__file__).parent / "rules.yml").read_text(encoding="utf-8"))
    return {
        intent: re.compile(rf"(?<!\w)(?:{'|'.join(f'(?:{line})' for line in lines)})(?!\w)", re.IGNORECASE)
        for intent, lines in rules.items()
    }
