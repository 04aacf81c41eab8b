"""What an answer may name: the values that are found in what code kept of an episode.

Grounding  takes in results, passages, words of staff and of the customer; says whether it contains a value
Kept       what is kept of an episode; a grounding is made from it and grows with it

An amount, a percentage, a date, a number, a code or a link that is found nowhere is the model's own and is not shown.
Besides the very same value, these count: totals and differences of one order's lines; and a day that is as many days,
weeks or months after a known day as a page says, if the answer names that day or that many days. The customer's own
words ground numbers, dates and links, which the answer may repeat. They never ground money, percentages or codes.
"""

import calendar
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice
from typing import Any, Literal

from bot.agent.messages import AgentMessage, CustomerMessage, Message, StaffMessage, SystemNote, ToolResult
from bot.agent.patterns import ASK
from bot.guard.tool_results import LOOK_UPS, amounts_of, read_records
from bot.guard.values import Day, Duration, Value, durations, is_day, key_of, numbers_in, plain, read_values

Source = Literal["result", "page", "heard"]
"""Where a text comes from: a tool's result · a page, staff, code or our own earlier answers · the customer."""

TEXT_LIMIT = 400_000
"""Characters of an episode that are read. What goes beyond grounds nothing."""
PHONE_DIGITS = 6
"""Digits that two ways to write a telephone number must share at their ends."""
LAST_YEAR = date.max.year - 100
"""The last year whose dates are counted from: the longest spans that are read do not lead past the calendar's end."""
MAX_COUNTED = 4_000
"""Pairs of a day and a span of days that are tried for one date. An episode has some hundred."""

IMAGE_CHARACTERS = 6
"""The longest number that an answer may take from a customer's image."""

_TOKEN = re.compile(r"[^\W_]{1,60}(?:[-_/.][^\W_]{1,60}){0,8}")
_DIGITS = re.compile(r"\d{3,}")
_CAPITALS = re.compile(r"(?<!\w)[A-Z][A-Z0-9_-]{2,30}(?!\w)")
_TIME = re.compile(r"(?<!\d)(\d{1,2})[:.](\d{2})(?!\d)")
_CELL = re.compile(r"(?:\||[:=]|^)\s{0,3}(\d[\d., ']{0,20})(?=\s{0,3}(?:\||[,;}\n]|$))", re.MULTILINE)
_FIGURE = re.compile(r"(?<![\w.,])\d{1,15}(?:[., ']\d{2,3}){0,4}(?:[.,]\d{1,6})?(?![\d])")
_TO = r"(?: ?- ?| (?:to|and|or|bis|und|oder|a|y|o|à|et|ou|au|sampai|dan|hingga|tot|en|do|i|e|até|до|и|إلى|و|から) )"
_LIST_BEFORE = re.compile(rf"(?<![\d.,])(?:\d[\d.,']{{0,15}}(?:, ?|{_TO})(?:un |el |le )?){{1,8}}$")
_LIST_AFTER = re.compile(rf"(?:(?:, ?|{_TO})\d[\d.,']{{0,15}}(?![\d%])){{1,8}}")
_BARE = re.compile(r"\d[\d.,']{0,15}")
_BARE_KINDS = ("amount", "percentage", "code")
_FRAMED = re.compile(r"<summary>.*?</summary>|in words that are data: \"(?:[^\"\\]|\\.)*\"", re.DOTALL)
"""What a model wrote inside a note that code made."""


@dataclass(slots=True)
class Grounding:
    """The values of an episode that an answer may name. It grows with the turn."""

    today: date | None = None
    link_hosts: frozenset[str] = frozenset()
    """Hosts of the shop. An answer may name their front pages."""
    _amounts: dict[int, list[frozenset[str]]] = field(default_factory=dict)
    _percentages: set[int] = field(default_factory=set)
    _days: set[Day] = field(default_factory=set)
    _durations: set[Duration] = field(default_factory=set)
    _keys: set[str] = field(default_factory=set)
    """Numbers, codes and words with digits, normalised by `key_of`."""
    _links: set[str] = field(default_factory=set)
    _texts: list[str] = field(default_factory=list)
    _heard: "Grounding | None" = None
    """What the customer wrote."""
    _has_images: bool = False
    """Whether the customer sent images, whose words only the model reads."""
    _read: int = 0
    """Characters taken in so far."""
    _ends: set[str] = field(default_factory=set)
    _ends_of: int = 0
    """The number of keys when the ends of telephone numbers were last gathered."""

    def __post_init__(self) -> None:
        if self.today is not None:
            self._add_day(_day(self.today))

    def add(self, text: str, source: Source) -> None:
        """Take in a text according to its source."""
        if source == "heard":
            self._heard = self._heard or Grounding(self.today)
            self._heard.add(text, "page")
            return
        self._read += len(text)
        if self._read > TEXT_LIMIT:
            return
        whole = plain(_flat(text) if source == "result" else text)
        self._texts.append(_spaced(whole))
        values = read_values(whole)
        for value in values:
            self._add(value, whole)
        self._durations |= durations(whole)
        self._keys.update(key for token in _TOKEN.findall(whole) for key in _keys_of(token))
        self._keys.update(key_of(token) for token in _CAPITALS.findall(whole))
        bare = _FIGURE if source == "result" else _CELL
        taken = {
            place
            for value in values
            if value.currencies or value.kind not in _BARE_KINDS
            for place in range(value.start, value.end)
        }
        for match in bare.finditer(whole):
            if match.start(match.lastindex or 0) not in taken:
                self._add_amount(numbers_in(match[match.lastindex or 0]), frozenset())
        self._keys.update(f"{int(hour)}.{minute}" for hour, minute in _TIME.findall(whole))

    def add_record(self, result: ToolResult) -> None:
        """Take in what a tool returned: its values, and the sums of an order's lines."""
        self.add(result.content, "result")
        if result.name not in LOOK_UPS:
            return
        values = read_values(plain(_flat(result.content)))
        currencies = frozenset().union(*(value.currencies for value in values))
        for record in (records := read_records([result])):
            self._add_amount((each * 10 for each in amounts_of([record])), currencies)
        self._add_amount((each * 10 for each in amounts_of(records)), currencies)

    def add_message(self, message: Message) -> None:
        """Take in a message of the episode. What a model wrote into it counts as little as what the customer wrote."""
        match message:
            case CustomerMessage(text, passages=passages, images=images):
                self._has_images = self._has_images or bool(images)
                self.add(text, "heard")
                if passages:
                    self.add(passages, "page")
            case StaffMessage(text) | AgentMessage(text):
                # An answer was shown only as far as it was grounded, so what it names was grounded at that time.
                self.add(text, "page")
            case ToolResult(name=name, ok=True) if not name.startswith(ASK):
                self.add_record(message)
            case SystemNote(text):
                self.add(_FRAMED.sub(" ", text), "page")
                for models in _FRAMED.findall(text):
                    self.add(models, "heard")
            case _:
                pass

    def holds(self, value: Value, context: str = "") -> bool:
        """Whether the value is found in what is kept. `context` is the plain text of the answer around it.

        A short number can stand in a customer's image, where code finds nothing. The customer could have written it
        just as well, and what they write grounds numbers. Telephone numbers, accounts and parcels are longer; and
        amounts, percentages, codes and dates of an image are not taken.
        """
        heard = self._heard
        if self._has_images and value.kind == "number" and len(value.key) <= IMAGE_CHARACTERS:
            return True
        if self._stands(value):
            return True
        if heard is not None and value.kind in ("number", "date", "link") and heard._stands(value):
            return True
        return value.kind == "date" and self._is_counted(value, context)

    def is_heard(self, value: Value) -> bool:
        """Whether the customer named the value."""
        return self._heard is not None and self._heard._stands(value)

    def says(self, words: str) -> bool:
        """Whether the plain words are in what is kept, word for word."""
        words = _spaced(words).strip()
        pattern = re.compile(rf"(?<![\d.,]){re.escape(words)}(?![\d]|[.,]\d)")
        return bool(words) and any(words in text and pattern.search(text) for text in self._texts)

    # Taking in

    def _add(self, value: Value, text: str) -> None:
        match value.kind:
            case "amount":
                self._add_amount(value.numbers, value.currencies)
                self._add_amount(_beside(value, text), value.currencies)
            case "percentage":
                self._percentages |= value.numbers | frozenset(_beside(value, text))
            case "date":
                for day in value.days:
                    self._add_day(day)
            case "number" | "code":
                self._keys.add(value.key)
            case "link":
                self._links.add(value.key)
                self._links.add(value.key.partition("/")[0].rpartition("@")[2])

    def _add_amount(self, numbers: Iterable[int], currencies: frozenset[str]) -> None:
        for number in numbers:
            known = self._amounts.setdefault(number, [])
            if currencies not in known:
                known.append(currencies)

    def _add_day(self, day: Day) -> None:
        self._days.add(day)

    # Finding

    def _stands(self, value: Value) -> bool:
        match value.kind:
            case "amount":
                known = [codes for number in value.numbers for codes in self._amounts.get(number, ())]
                if any(not codes or not value.currencies or codes & value.currencies for codes in known):
                    return True
                # Without a currency it may be a time of day, such as 17.30.
                return not value.currencies and any(
                    f"{number // 1000}.{number % 1000 // 10:02}" in self._keys for number in value.numbers
                )
            case "percentage":
                return bool(value.numbers & self._percentages)
            case "date":
                return any(self._shows(other, day) for day in value.days for other in self._days)
            case "link":
                host, slash, _ = value.key.partition("/")
                return value.key in self._links or (not slash and host in self.link_hosts)
            case "code":
                return value.key in self._keys
            case "number":
                return self._has_number(value)

    def _shows(self, known: Day, day: Day) -> bool:
        """Whether a known date covers a named one. A known month covers none of its days, and a day without a year is
        one of about now."""
        if not known[0] and day[0] and self.today is not None and abs(day[0] - self.today.year) > 1:
            return False
        return _agree(known, day) and not (day[1] and not known[1]) and not (day[2] and not known[2])

    def _has_number(self, value: Value) -> bool:
        if value.key in self._keys or any(number in self._amounts for number in value.numbers):
            return True
        tail = value.key.lstrip("0")
        if not value.key.isdigit() or len(tail) < PHONE_DIGITS or tail[-PHONE_DIGITS:] not in self._phone_ends():
            return False
        return any(key.endswith(tail) or tail.endswith(key.lstrip("0")) for key in self._phones())

    def _phones(self) -> Iterator[str]:
        """The numbers that may be a telephone's."""
        return (key for key in self._keys if key.isdigit() and len(key.lstrip("0")) >= PHONE_DIGITS)

    def _phone_ends(self) -> set[str]:
        """Their last digits. With these, most unknown numbers are rejected without a look at each key."""
        if self._ends_of != len(self._keys):
            self._ends_of, self._ends = len(self._keys), {key[-PHONE_DIGITS:] for key in self._phones()}
        return self._ends

    def _is_counted(self, value: Value, context: str) -> bool:
        """Whether the day follows from a known day and a known number of days, if the answer names one of the two."""
        today = self.today
        own = {day for each in read_values(context) if each.kind == "date" for day in each.days}
        counts = durations(context)
        bases = self._days | (self._heard._days if self._heard is not None else set())
        tried = (
            (base, length)
            for base in bases
            for length in (self._durations if any(_agree(base, day) for day in own) else self._durations & counts)
        )
        return any(
            _agree(day, each)
            for base, length in islice(tried, MAX_COUNTED)
            for day in _behind(base, length, today)
            for each in value.days
        )


@dataclass(slots=True)
class EpisodeEvidence:
    """What code keeps of an episode. It is read at the first value, and what came since then at each further one."""

    results: Callable[[], Iterable[ToolResult]]
    """Returns the results of this turn's tools."""
    pages: Callable[[], Iterable[str]] = tuple
    """Returns the passages that the agents were given, with their headings and addresses."""
    messages: Sequence[Message] = ()
    """The episode, including the message that is being answered."""
    own: Sequence[str] = ()
    """What code itself tells the agents, such as the shop's name."""
    today: date | None = None
    link_hosts: frozenset[str] = frozenset()
    """Hosts of the shop. An answer may name their front pages."""
    _grounding: Grounding | None = None
    _seen: set[str] = field(default_factory=set)

    def grounding(self) -> Grounding:
        """The grounding with everything that is kept by now."""
        if self._grounding is None:
            self._grounding = Grounding(self.today, self.link_hosts)
            for text in self.own:
                self._grounding.add(text, "page")
            for message in self.messages:
                self._grounding.add_message(message)
        for page in self.pages():
            if page not in self._seen:
                self._seen.add(page)
                self._grounding.add(page, "page")
        for result in self.results():
            key = f"{result.name}\n{result.content}"
            if key not in self._seen:
                self._seen.add(key)
                self._grounding.add_message(result)
        return self._grounding


def _keys_of(token: str) -> Iterator[str]:
    """The names that a word with digits may have: itself, and its parts of three digits or more."""
    if any(each.isdigit() for each in token):
        yield key_of(token)
        yield from _DIGITS.findall(token)
        yield from (key_of(part) for part in re.split(r"[/.]", token))


def _beside(value: Value, text: str) -> Iterator[int]:
    """Further numbers of a list or a range: the 5 in "5 to 10 EUR", 25 and 50 in "25, 50 and 100 EUR"."""
    before = _LIST_BEFORE.search(text, max(0, value.start - 60), value.start)
    after = _LIST_AFTER.match(text, value.end, value.end + 60)
    for found in filter(None, (before, after)):
        for figure in _BARE.findall(found[0]):
            yield from numbers_in(figure)


def _agree(one: Day, other: Day) -> bool:
    """Whether two dates may be the same day. A part that one of them lacks agrees with anything."""
    return all(here == there or not here or not there for here, there in zip(one, other, strict=True))


def _behind(base: Day, length: Duration, today: date | None) -> Iterator[Day]:
    year = base[0] or (today.year if today else 0)
    if not base[2] or not 0 < year <= LAST_YEAR or not is_day((year, base[1], base[2])):
        return  # a month without a day, such as "January 2026", is no day to count from
    start = date(year, base[1], base[2])
    match length.unit:
        case "days":
            yield _day(start + timedelta(days=length.count))
            yield _day(_working_days_after(start, length.count))
        case "weeks":
            yield _day(start + timedelta(weeks=length.count))
        case "months" | "years":
            months = length.count * (12 if length.unit == "years" else 1) + start.month - 1
            year, month = start.year + months // 12, months % 12 + 1
            if year < date.max.year:
                yield year, month, min(start.day, calendar.monthrange(year, month)[1])


def _working_days_after(start: date, count: int) -> date:
    day = start
    for _ in range(min(count, 60)):
        day += timedelta(days=3 if day.weekday() == 4 else 2 if day.weekday() == 5 else 1)
    return day


def _day(day: date) -> Day:
    return day.year, day.month, day.day


def _spaced(text: str) -> str:
    return " ".join(text.split()).casefold()


def _flat(content: str) -> str:
    """A result as lines of "name: value". If it is no JSON, it stays as it is."""
    start = content.find("{")
    try:
        read = json.loads(content[start:]) if start >= 0 else content
    except (ValueError, RecursionError):
        return content
    return content if isinstance(read, str) else "\n".join(_lines(read, ""))


def _lines(read: Any, name: str) -> Iterator[str]:
    match read:
        case Mapping():
            for key, value in read.items():
                yield from _lines(value, str(key))
        case list():
            for value in read:
                yield from _lines(value, name)
        case _:
            yield f"{name}: {read}"
