"""Opening hours, and SLA time, which passes only while the desk is open.

Hours     The weekly opening hours in one time zone, without holidays.
Targets   The time within which a case should be claimed, and answered, by priority.

On a day when the clocks change, the desk opens and closes by the wall clock. A span that begins in the skipped hour
begins after that hour.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import chain
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ENTRY = re.compile(r"(\w+)(?:-(\w+))?[ @]+(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})", re.ASCII)
_DAY = 24 * 60

Span = tuple[int, int]
"""The opening and the closing time, in minutes since midnight on the wall clock."""
Week = tuple[tuple[Span, ...], ...]
"""Seven days from Monday on, each with its spans in order. The spans of a day do not touch."""


@dataclass(frozen=True, slots=True)
class Hours:
    """Opening hours. All times are seconds since 1970."""

    week: Week = ()
    """The spans of each day. If it is empty, the desk is always open."""
    zone: str = "UTC"
    holidays: frozenset[date] = frozenset()
    """Days on which the desk is closed all day."""

    def is_open(self, at: float) -> bool:
        """Whether the desk is open at that time."""
        return self.next_opening(at) == at

    def next_opening(self, at: float) -> float:
        """The earliest time from `at` on when the desk is open: `at` itself, or the next opening."""
        return at if not self.week else max(at, next(self._spans(at))[0])

    def between(self, start: float, end: float) -> float:
        """The seconds of open desk between the two times."""
        if not self.week:
            return max(0.0, end - start)
        total = 0.0
        for opens, closes in self._spans(start):
            if opens >= end:
                break
            total += min(closes, end) - max(opens, start)
        return max(0.0, total)

    def after(self, start: float, seconds: float) -> float:
        """The time when the desk has been open for the given seconds since `start`.

        Raises OverflowError if the desk is never open for that long.
        """
        if not self.week or seconds <= 0:
            return start + max(0.0, seconds)
        for opens, closes in self._spans(start):
            begun = max(opens, start)
            if begun + seconds <= closes:
                return begun + seconds
            seconds -= closes - begun
        raise OverflowError("the desk is not open for so long")

    def midnight(self, at: float) -> float:
        """When the desk's present day began."""
        return self.local(at).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()

    def start_of(self, day: date) -> float:
        """When a day begins on the desk's wall clock."""
        return datetime.combine(day, time(), tzinfo=_zone(self.zone)).timestamp()

    def morning(self, at: float, *, weekday: int | None = None) -> float:
        """09:00 of the next day on the desk's wall clock, or of the next such weekday (0 is Monday).

        If the desk is closed then, it is the next opening.
        """
        today = self.local(at)
        ahead = 1 if weekday is None else (weekday - today.weekday() - 1) % 7 + 1
        day = (today + timedelta(days=ahead)).date()
        return self.next_opening(datetime.combine(day, time(9), tzinfo=_zone(self.zone)).timestamp())

    def local(self, at: float) -> datetime:
        """The time on the desk's wall clock."""
        return datetime.fromtimestamp(at, _zone(self.zone))

    def _spans(self, at: float) -> Iterator[tuple[float, float]]:
        """The open spans that end after `at`, in order, as an endless iterator."""
        zone = _zone(self.zone)
        day = datetime.fromtimestamp(at, zone).date()
        closed = at
        for ahead in range(-1, (date.max - day).days):
            today = day + timedelta(ahead)
            if today in self.holidays:
                continue
            for opens, closes in self.week[today.weekday()]:
                begin, end = _at(today, opens, zone), _at(today, closes, zone)
                # A span that ends in the skipped hour ends later than the wall clock says.
                begin = max(begin, closed) if closed > at else begin
                if at < end and begin < end:
                    closed = end
                    yield begin, end


ALWAYS = Hours()


@dataclass(frozen=True, slots=True)
class Targets:
    """The team's SLA targets for claims and replies, and the opening hours."""

    hours: Hours = ALWAYS
    minutes: dict[str, float] = field(default_factory=lambda: {"high": 5.0, "medium": 15.0, "low": 60.0})
    """Priority -> the minutes of open desk within which a case should be claimed."""

    first_reply: Mapping[str, float] = field(default_factory=dict)
    """Priority -> the minutes of open desk within which a person replies after a claim. Without it, as for a claim."""
    next_reply: Mapping[str, float] = field(default_factory=dict)
    """Priority -> the minutes of open desk within which they reply to a later message. Without it, as for a claim."""

    def reply_seconds(self, priority: str, *, is_first: bool) -> float:
        """The target for a person's first reply, or for a further one, in seconds."""
        return 60 * (self.first_reply if is_first else self.next_reply).get(priority, self.minutes[priority])

    def seconds(self, priority: str) -> float:
        """The target of a priority, in seconds."""
        return 60 * self.minutes[priority]


def read_week(text: str) -> Week:
    """Parse a week such as `Mon-Fri 09:00-17:00, Sat 10:00-14:00`. A span can go past midnight.

    A `@` can take the place of the space between days and times. Raises ValueError with a message that says what is
    wrong.
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
    """Return the name if this machine knows the time zone. Raises ValueError otherwise."""
    try:
        _zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if not available_timezones():
            raise ValueError("cannot be looked up: this machine has no time zones; pip install tzdata") from None
        raise ValueError("isn't a time zone (example: Europe/Berlin)") from None
    return name


def read_days(text: str) -> frozenset[date]:
    """Parse dates such as `2026-12-25,2027-01-01`. Raises ValueError with a message that says what is wrong."""
    try:
        return frozenset(date.fromisoformat(day.strip()) for day in text.split(",") if day.strip())
    except ValueError:
        raise ValueError("must be dates such as 2026-12-25, separated by commas") from None


def _zone(name: str) -> tzinfo:
    # UTC works without the time zone database, which not every machine has.
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
    """The spans in order. Spans that touch or overlap are joined, and empty ones are dropped."""
    apart: list[Span] = []
    for opens, closes in sorted(spans):
        if opens >= closes:
            continue
        if apart and opens <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(apart[-1][1], closes)
        else:
            apart.append((opens, closes))
    return tuple(apart)
