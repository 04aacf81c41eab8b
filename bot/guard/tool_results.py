"""What the shop's lookups returned, read as orders and parcels; and the sums that an order's lines can make.

Record        one order or parcel
read_records  the orders or parcels in results of lookups
amounts_of    what these orders can cost or have paid back
figures_in    the figures of a text, in hundredths
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.agent.messages import ToolResult
from bot.guard.claim_patterns import MONEY

SEARCH = "search_knowledge"
"""The tool that searches the knowledge base."""
ESCALATE = "escalate_to_human"
"""The tool that calls a person."""
PREPARES = "prepare_"
"""The beginning of the names of the tools that prepare a change. They give the shop's own reason where they refuse."""
LOOK_UPS = frozenset({"lookup_order", "list_my_orders", "check_shipping"})
"""Tools whose results are the shop's own records. What agents tell each other is not one."""

_SUMS = 2000
"""Sums of the lines of one order that are tried, at most."""
_AMOUNT = re.compile(MONEY)
_FIGURE = re.compile(r"\d[\d.,]*")
_FIELD = re.compile(r'"(order|tracking_number|status|payment|total)":"([^"\\]*)"')


@dataclass(frozen=True, slots=True)
class LookupRecord:
    """One order or parcel as a lookup returned it."""

    fields: Mapping[str, Any]
    is_listed: bool
    """True if it is one of a list, and no one asked for this one."""

    @property
    def number(self) -> str:
        """The order's number, folded. A parcel without an order has its own."""
        return self.word("order") or self.word("tracking_number")

    def is_of(self, number: str) -> bool:
        """Whether this is the number of its order or parcel. "12345" is ORD-12345 too."""
        own = (self.word("order"), self.word("tracking_number"))
        return number in own or (number.isdigit() and bool(re.fullmatch(rf"[a-z]{{2,6}}-?{number}", own[0])))

    def total(self) -> set[int]:
        """The order's total, in hundredths. Empty if the result does not give it."""
        return set(figures_in(" ".join(_AMOUNT.findall(self.word("total")))))

    def sums(self) -> set[int]:
        """What some of the order's lines cost together, in hundredths."""
        sums = {0}
        for line in maps_in(self.fields.get("articles")):
            price = next(figures_in(str(line.get("price_each", ""))), 0)
            quantity = line.get("quantity", 1)
            if isinstance(quantity, int) and len(sums) * (quantity + 1) <= _SUMS:
                sums = {one + count * price for one in sums for count in range(quantity + 1)}
            else:
                sums |= {price}
        return sums

    def word(self, name: str) -> str:
        """A plain field, in small letters. Empty if the record does not have it."""
        value = self.fields.get(name)
        return value.casefold().lstrip("#") if isinstance(value, str) else ""


def read_records(results: Iterable[ToolResult]) -> list[LookupRecord]:
    """The records in the results of lookups."""
    return [record for each in results if each.ok and each.name in LOOK_UPS for record in _read(each.content)]


def amounts_of(records: Sequence[LookupRecord]) -> set[int]:
    """What these orders can have paid back, in hundredths: a total, all totals, some lines, a total less some lines."""
    totals = {record.number: total for record in records for total in record.total()}
    sums = {one for record in records for one in record.sums()}
    return {*totals.values(), sum(totals.values()), *sums, *(total - one for total in totals.values() for one in sums)}


def _read(content: str) -> Iterator[LookupRecord]:
    """The orders or the parcel in a result. A note may come before it. A result that was cut is read up to its end."""
    start = content.find("{")
    try:
        whole = json.loads(content[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        whole = {"orders": parts} if len(parts := list(_parts(content))) > 1 else next(iter(parts), None)
    match whole:
        case {"orders": list(listed)}:
            yield from (LookupRecord(each, is_listed=True) for each in maps_in(listed))
        case Mapping():
            yield LookupRecord(whole, is_listed=False)


def _parts(content: str) -> Iterator[Mapping[str, str]]:
    """The plain fields of a result that ends in the middle, order by order."""
    part: dict[str, str] = {}
    for name, value in _FIELD.findall(content):
        if name == "order" and "order" in part:
            yield part
            part = {}
        part.setdefault(name, value)
    if part:
        yield part


def maps_in(value: Any) -> list[Mapping[str, Any]]:
    """The JSON objects in a list. Empty if the value is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def figures_in(text: str) -> Iterator[int]:
    """The figures in a text, in hundredths."""
    return map(_hundredths, _FIGURE.findall(text))


def _hundredths(figure: str) -> int:
    """An amount, however its thousands and decimals are marked: 1,299.00 and 1.299,00 are the same."""
    figure = figure.rstrip(".,")
    has_part = len(figure) > 3 and figure[-3] in ".,"
    digits = int(re.sub(r"\D", "", figure)[:15])
    return digits if has_part else digits * 100
