"""When the desk is open, and time as it counts for whoever waits: only while it is.

Hours     weekly opening hours in one time zone, without holidays
Targets   within what time a case shall be claimed, by its priority

A day that the clocks are changed on has as many hours open as its wall clock says: one that begins in the hour that is
skipped begins after it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import chain
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ENTRY = re.compile(r"(\w+)(?:-(\w+))?[ @]+(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})", re.ASCII)
_DAY = 24 * 60

Span = tuple[int, int]
"""From and until, in minutes of the wall clock since midnight."""
Week = tuple[tuple[Span, ...], ...]
"""Seven days from Monday on, each with its spans in order and apart."""


@dataclass(frozen=True, slots=True)
class Hours:
    """Opening hours; times are seconds since 1970."""

    week: Week = ()
    """Empty: always open."""
    zone: str = "UTC"
    holidays: frozenset[date] = frozenset()
    """Days on which the desk is closed all day."""

    def is_open(self, at: float) -> bool:
        """Whether somebody is there at that time."""
        return self.next_opening(at) == at

    def next_opening(self, at: float) -> float:
        """When somebody is there: at that time, or at the next opening."""
        return at if not self.week else max(at, next(self._spans(at))[0])

    def between(self, start: float, end: float) -> float:
        """The seconds between the two for which the desk is open."""
        if not self.week:
            return max(0.0, end - start)
        total = 0.0
        for opens, closes in self._spans(start):
            if opens >= end:
                break
            total += min(closes, end) - max(opens, start)
        return max(0.0, total)

    def after(self, start: float, seconds: float) -> float:
        """When the desk will have been open for so many seconds from `start` on."""
        if not self.week or seconds <= 0:
            return start + max(0.0, seconds)
        for opens, closes in self._spans(start):
            begun = max(opens, start)
            if begun + seconds <= closes:
                return begun + seconds
            seconds -= closes - begun
        raise OverflowError("the desk is not open for so long")

    def local(self, at: float) -> datetime:
        """The time on the desk's wall clock."""
        return datetime.fromtimestamp(at, _zone(self.zone))

    def _spans(self, at: float) -> Iterator[tuple[float, float]]:
        """The spans of being open that end after `at`, in order and without end."""
        zone = _zone(self.zone)
        day = datetime.fromtimestamp(at, zone).date()
        closed = at
        for ahead in range(-1, (date.max - day).days):
            today = day + timedelta(ahead)
            if today in self.holidays:
                continue
            for opens, closes in self.week[today.weekday()]:
                begin, end = _at(today, opens, zone), _at(today, closes, zone)
                # What ends in the hour that is skipped ends later than the wall clock says.
                begin = max(begin, closed) if closed > at else begin
                if at < end and begin < end:
                    closed = end
                    yield begin, end


ALWAYS = Hours()


@dataclass(frozen=True, slots=True)
class Targets:
    """What is promised within the team."""

    hours: Hours = ALWAYS
    minutes: dict[str, float] = field(default_factory=lambda: {"high": 5.0, "medium": 15.0, "low": 60.0})
    """Priority -> minutes of open desk until somebody has claimed the case."""

    def seconds(self, priority: str) -> float:
        """The target of a priority."""
        return 60 * self.minutes[priority]


def read_week(text: str) -> Week:
    """The week that a text like `Mon-Fri 09:00-17:00, Sat 10:00-14:00` says; a span may go past midnight.

    In the place of each blank a `@` may stand. Raises ValueError with what is wrong.
    """
    week: list[list[Span]] = [[] for _ in DAYS]
    for entry in text.split(","):
        match = _ENTRY.fullmatch(entry.strip())
        if match is None:
            raise ValueError("must be entries such as Mon-Fri 09:00-17:00, separated by commas")
        opens, closes = _minutes(match[3], match[4]), _minutes(match[5], match[6])
        for day in _days(match[1], match[2] or match[1]):
            if closes > opens:
                week[day].append((opens, closes))
            else:
                week[day].append((opens, _DAY))
                week[(day + 1) % 7].append((0, closes))
    return tuple(_apart(spans) for spans in week)


def check_zone(name: str) -> str:
    """The name of a time zone that this machine knows. Raises ValueError when it does not."""
    try:
        _zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if not available_timezones():
            raise ValueError("cannot be looked up: this machine has no time zones; pip install tzdata") from None
        raise ValueError("isn't a time zone (example: Europe/Berlin)") from None
    return name


def read_days(text: str) -> frozenset[date]:
    """The dates that a text like `2026-12-25,2027-01-01` says. Raises ValueError with what is wrong."""
    try:
        return frozenset(date.fromisoformat(day.strip()) for day in text.split(",") if day.strip())
    except ValueError:
        raise ValueError("must be dates such as 2026-12-25, separated by commas") from None


def _zone(name: str) -> tzinfo:
    # UTC needs no table of zones, which not every machine has.
    return UTC if name == "UTC" else ZoneInfo(name)


def _at(day: date, minutes: int, zone: tzinfo) -> float:
    days, rest = divmod(minutes, _DAY)
    wall = datetime.combine(day + timedelta(days), time(rest // 60, rest % 60), zone)
    return wall.timestamp()


def _minutes(hours: str, minutes: str) -> int:
    total = 60 * int(hours) + int(minutes)
    if int(minutes) > 59 or total > _DAY:
        raise ValueError("must have times from 00:00 to 24:00")
    return total


def _days(first: str, last: str) -> Iterator[int]:
    try:
        begin, end = DAYS.index(first.capitalize()), DAYS.index(last.capitalize())
    except ValueError:
        raise ValueError(f"must have days of {', '.join(DAYS)}") from None
    return chain(range(begin, end + 1)) if begin <= end else chain(range(begin, 7), range(end + 1))


def _apart(spans: list[Span]) -> tuple[Span, ...]:
    """The spans in order, those made one that touch."""
    apart: list[Span] = []
    for opens, closes in sorted(spans):
        if opens >= closes:
            continue
        if apart and opens <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(apart[-1][1], closes)
        else:
            apart.append((opens, closes))
    return tuple(apart)
