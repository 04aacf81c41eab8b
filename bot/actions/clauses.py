"""The operators of a policy's rules: what a rule compares with what.

A check returns True or False, or None if a fact is missing, so that nobody takes a missing fact for an answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from typing import Any, Literal

from bot.actions.facts import FACTS, TEXT_LIMIT, TYPES, Facts, FactSpec, FactType, Value
from bot.actions.patterns import Pattern
from bot.shops.port import Money

Operator = Literal["is", "is_not", "one_of", "none_of", "at_least", "at_most", "before", "after", "exists", "matches"]
OPERATORS: Mapping[FactType, tuple[Operator, ...]] = {
    "text": ("is", "is_not", "one_of", "none_of", "matches", "exists"),
    "number": ("is", "is_not", "one_of", "none_of", "at_least", "at_most", "exists"),
    "yes or no": ("is", "is_not", "exists"),
    "money": ("at_least", "at_most", "exists"),
    "texts": ("one_of", "none_of", "exists"),
    "day": ("is", "is_not", "before", "after", "exists"),
}
"""Type of a fact -> the operators that are possible with it."""
LIST_LIMIT = 200
"""The most entries of a list."""

Check = Callable[[Facts, int], bool | None]
"""Whether a clause is fulfilled for the line with a number. None if a fact is missing."""

_NUMBER = re.compile(r"-?[0-9]{1,12}")
_YES_NO = {"yes": True, "true": True, "no": False, "false": False}
_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class FactRef:
    """Another fact, in place of a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Sums:
    """Minor units of money by currency. In any other currency the comparison has no answer."""

    minor: Mapping[str, int]


Operand = Value | tuple[Value, ...] | FactRef | Sums | Pattern


def find_fact(name: object) -> FactSpec:
    """The fact with a name. Raises ValueError if there is none."""
    if not isinstance(name, str) or name not in FACTS:
        near = get_close_matches(str(name), FACTS, n=1)
        raise ValueError(f"{name} is no fact{f': do you mean {near[0]}?' if near else ''}")
    return FACTS[name]


def read_operand(fact: str, operator: Operator, written: object) -> Operand:
    """What a fact is compared with, from a file's texts, lists and mappings. Raises ValueError."""
    spec = find_fact(fact)
    if operator not in OPERATORS[spec.type]:
        possible = ", ".join(OPERATORS[spec.type])
        raise ValueError(f"is not possible with {fact}, which is of the type {spec.type}: possible are {possible}")
    match operator:
        case "exists":
            if _read_yes_no(written) is False:
                raise ValueError("must be yes: a fact that is missing never fulfils a rule")
            return True
        case "matches":
            return Pattern(_read_text(written))
        case "one_of" | "none_of":
            if not isinstance(written, list) or not 1 <= len(written) <= LIST_LIMIT:
                raise ValueError(f"must be a list with 1 to {LIST_LIMIT} entries")
            return tuple(_read_value(spec, each) for each in written)
    if isinstance(written, dict) and set(written) == {"fact"}:
        other = find_fact(written["fact"])
        if other.type != spec.type:
            raise ValueError(f"compares {fact} ({spec.type}) with {written['fact']} ({other.type})")
        return FactRef(written["fact"])
    return read_sums(written) if spec.type == "money" else _read_value(spec, written)


def read_sums(written: object) -> Sums:
    """Sums of money by currency. Raises ValueError."""
    if not isinstance(written, dict) or not written:
        raise ValueError("must be sums in minor units by currency, such as {EUR: 4000}")
    for currency in written:
        if not _CURRENCY.fullmatch(currency):
            raise ValueError(f"has {currency}, which is no currency such as EUR")
    return Sums({currency: _read_number(sum_) for currency, sum_ in written.items()})


def build_check(fact: str, operator: Operator, operand: Operand) -> Check:
    """The check of one clause."""
    read = _reader(fact)
    match operator, operand:
        case "exists", _:
            return lambda facts, line: read(facts, line) is not None
        case "matches", Pattern() as pattern:
            return _against(read, lambda value: pattern.matches(value))
        case (("one_of" | "none_of"), tuple() as listed):
            return _listed(read, frozenset(listed), holds=operator == "one_of")
        case _, FactRef(name):
            other = _reader(name)
            return lambda facts, line: _compare(operator, read(facts, line), other(facts, line))
        case _, Sums(minor):
            return _against(
                read,
                lambda value: _compare(
                    operator, value, Money(minor[value.currency], value.currency) if value.currency in minor else None
                ),
            )
    return _against(read, lambda value: _compare(operator, value, operand))


def all_fulfilled(checks: Sequence[Check]) -> Check:
    """Whether every check is fulfilled. Without an answer to one of them, there is none."""

    def check(facts: Facts, line: int) -> bool | None:
        found = {each(facts, line) for each in checks}
        return None if None in found else False not in found

    return check


def any_fulfilled(checks: Sequence[Check]) -> Check:
    """Whether some check is fulfilled. If none is, and one has no answer, there is no answer."""

    def check(facts: Facts, line: int) -> bool | None:
        found = {each(facts, line) for each in checks}
        return True if True in found else None if None in found else False

    return check


def _reader(fact: str) -> Callable[[Facts, int], Any]:
    """How the value of a fact is found. A value of another type, or that is not one of its choices, is none."""
    spec = FACTS[fact]
    wanted: Any = TYPES[spec.type]
    choices = frozenset(spec.choices)

    def read(facts: Facts, line: int) -> Any:
        value: Any = facts.get(fact)
        if spec.per_line:
            value = value[line] if type(value) is tuple and line < len(value) else None
        if type(value) is not wanted or (choices and value not in choices):
            return None
        return None if type(value) is str and len(value) > TEXT_LIMIT else value

    return read


def _against(read: Callable[[Facts, int], Any], compare: Callable[[Any], bool | None]) -> Check:
    def check(facts: Facts, line: int) -> bool | None:
        value = read(facts, line)
        return None if value is None else compare(value)

    return check


def _listed(read: Callable[[Facts, int], Any], listed: frozenset[Any], *, holds: bool) -> Check:
    """Whether a value, or one of several, is in a list."""

    def is_listed(value: Any) -> bool:
        found = not listed.isdisjoint(value) if type(value) is frozenset else value in listed
        return found is holds

    return _against(read, is_listed)


def _compare(operator: Operator, value: Any, other: Any) -> bool | None:
    if value is None or other is None:
        return None
    if type(value) is Money:
        if value.currency != other.currency:
            return None
        value, other = value.minor, other.minor
    match operator:
        case "is":
            return bool(value == other)
        case "is_not":
            return bool(value != other)
        case "at_least":
            return bool(value >= other)
        case "at_most":
            return bool(value <= other)
        case "before":
            return bool(value < other)
        case "after":
            return bool(value > other)
    raise AssertionError(operator)


def _read_value(spec: FactSpec, written: object) -> Value:
    match spec.type:
        case "number":
            return _read_number(written)
        case "yes or no":
            return _read_yes_no(written)
        case "day":
            try:
                return date.fromisoformat(_read_text(written))
            except ValueError:
                raise ValueError("must be a day such as 2027-01-31") from None
    text = _read_text(written)
    if spec.choices and text not in spec.choices:
        near = get_close_matches(text, spec.choices, n=1)
        known = f"do you mean {near[0]}?" if near else f"known here are {', '.join(spec.choices)}"
        raise ValueError(f"has {text}, which is unknown: {known}")
    return text


def _read_text(written: object) -> str:
    if not isinstance(written, str) or not 1 <= len(written) <= TEXT_LIMIT:
        raise ValueError(f"must be a text of 1 to {TEXT_LIMIT} characters")
    return written


def _read_number(written: object) -> int:
    if not isinstance(written, str) or not _NUMBER.fullmatch(written):
        raise ValueError("must be a whole number")
    return int(written)


def _read_yes_no(written: object) -> bool:
    if not isinstance(written, str) or written.lower() not in _YES_NO:
        raise ValueError("must be yes or no")
    return _YES_NO[written.lower()]
