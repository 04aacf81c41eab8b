"""Opening hours, and time that counts only while the desk is open."""

import zoneinfo
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cases import hours as module
from bot.cases.hours import ALWAYS, Hours, Week, check_zone, read_days, read_week

MINUTE, HOUR = 60.0, 3_600.0
OFFICE = read_week("Mon-Fri 09:00-17:00, Sat 10:00-14:00")


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def test_the_next_opening_knows_evenings_sundays_and_holidays() -> None:
    table = [
        ("2026-11-20T10:00", "2026-11-20T10:00"),
        ("2026-11-20T17:00", "2026-11-21T10:00"),
        ("2026-11-21T14:00", "2026-11-23T09:00"),
        ("2026-11-23T03:00", "2026-11-23T09:00"),
        ("2026-12-24T18:00", "2026-12-26T10:00"),
    ]
    misses = []
    for text, opening in table:
        hours = Hours(OFFICE, "Europe/Berlin", frozenset({date(2026, 12, 25)}))
        moment = at(text, "Europe/Berlin")
        if hours.next_opening(moment) != at(opening, "Europe/Berlin") or hours.is_open(moment) != (text == opening):
            misses.append((text, hours.next_opening(moment)))
    assert misses == []


def test_seconds_count_while_the_desk_is_open() -> None:
    hours = Hours(OFFICE)
    friday, monday = at("2026-11-20T16:50"), at("2026-11-23T09:05")
    assert hours.between(friday, monday) == 10 * MINUTE + 4 * HOUR + 5 * MINUTE
    assert hours.after(friday, 15 * MINUTE) == at("2026-11-21T10:05")
    assert hours.between(monday, friday) == 0.0


@pytest.mark.parametrize(("day", "open_for"), [("2026-03-29", 3 * HOUR), ("2026-10-25", 5 * HOUR)])
def test_a_day_on_which_the_clocks_change_is_as_long_as_it_is(day: str, open_for: float) -> None:
    hours = Hours(read_week("Sun 00:00-04:00"), "Europe/Berlin")
    midnight = at(f"{day}T00:00", "Europe/Berlin")
    assert hours.between(midnight, midnight + 24 * HOUR) == open_for


def test_a_desk_that_opens_in_the_hour_that_is_skipped_opens_after_it() -> None:
    hours = Hours(read_week("Sun 02:30-05:00"), "Europe/Berlin")
    midnight = at("2026-03-29T00:00", "Europe/Berlin")
    assert hours.next_opening(midnight) == at("2026-03-29T03:30", "Europe/Berlin")
    gone = Hours(read_week("Sun 02:15-03:00"), "Europe/Berlin")
    assert gone.next_opening(midnight) == at("2026-04-05T02:15", "Europe/Berlin"), "that day it does not open at all"


def test_an_hour_that_is_skipped_is_counted_for_nobody_twice() -> None:
    hours = Hours(read_week("Sun 01:00-02:30, Sun 03:10-05:00"), "Europe/Berlin")
    midnight = at("2026-03-29T00:00", "Europe/Berlin")
    assert hours.between(midnight, midnight + 24 * HOUR) == 3 * HOUR


def test_a_night_goes_past_midnight_also_from_sunday_to_monday() -> None:
    hours = Hours(read_week("Sun 22:00-02:00"))
    assert hours.between(at("2026-11-22T00:00"), at("2026-11-24T00:00")) == 4 * HOUR
    assert hours.is_open(at("2026-11-23T01:59"))
    assert not hours.is_open(at("2026-11-23T02:00"))


def test_without_hours_the_desk_is_always_open() -> None:
    assert ALWAYS.is_open(1.0)
    assert ALWAYS.next_opening(1.0) == 1.0
    assert ALWAYS.between(1.0, 3.0) == 2.0
    assert ALWAYS.after(1.0, 2.0) == 3.0


def test_spans_that_touch_are_one_and_a_range_of_days_may_go_past_sunday() -> None:
    week = read_week("sat-Mon 09:00-12:00,Mon@11:00-13:00, Mon 13:00-24:00")
    assert week == (((540, 1440),), (), (), (), (), ((540, 720),), ((540, 720),))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must be entries"),
        ("Mon-Fri", "must be entries"),
        ("Mon 9-17", "must be entries"),
        ("Mo-Fr 09:00-17:00", "must have days"),
        ("Mon 09:60-17:00", "must have times"),
        ("Mon 09:00-25:00", "must have times"),
    ],
)
def test_hours_that_cannot_be_read_are_told(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        read_week(text)


def test_holidays_are_dates() -> None:
    assert read_days("2026-12-25, 2027-01-01,") == {date(2026, 12, 25), date(2027, 1, 1)}
    with pytest.raises(ValueError, match="must be dates"):
        read_days("25.12.2026")


@pytest.mark.parametrize("name", ["Europe/Nowhere", "", "../etc/passwd", "Europe"])
def test_a_zone_that_there_is_not_is_told(name: str) -> None:
    assert check_zone("Europe/Berlin") == "Europe/Berlin"
    with pytest.raises(ValueError, match="isn't a time zone"):
        check_zone(name)


def test_a_machine_without_zones_has_utc_and_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> ZoneInfo:
        raise zoneinfo.ZoneInfoNotFoundError(name)

    monkeypatch.setattr(module, "ZoneInfo", unknown)
    monkeypatch.setattr(module, "available_timezones", set[str])
    assert check_zone("UTC") == "UTC"
    with pytest.raises(ValueError, match="pip install tzdata"):
        check_zone("Europe/Berlin")


spans = st.tuples(st.integers(0, 1_439), st.integers(1, 1_440)).filter(lambda span: span[0] < span[1])
weeks = st.lists(st.lists(spans, max_size=2), min_size=7, max_size=7).map(
    lambda days: tuple(module._apart(day) for day in days)
)
open_weeks = weeks.filter(any)
zones = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Santiago"]
)
moments = st.floats(at("2025-01-01T00:00"), at("2027-12-31T00:00"))
holidays = st.frozensets(st.dates(date(2025, 1, 1), date(2027, 12, 31)), max_size=5)


@given(open_weeks, zones, holidays, moments, st.integers(1, 200_000))
def test_what_has_passed_and_when_it_will_have_agree(
    week: Week, zone: str, closed: frozenset[date], start: float, seconds: int
) -> None:
    hours = Hours(week, zone, closed)
    end = hours.after(start, seconds)
    assert hours.between(start, end) == pytest.approx(seconds, abs=0.001)
    assert hours.between(start, end - 1) == pytest.approx(seconds - 1, abs=0.001), "and not a second earlier"


@given(open_weeks, zones, holidays, moments, st.lists(st.integers(0, 20 * 86_400), min_size=2, max_size=2).map(sorted))
def test_time_that_passed_is_the_sum_of_its_parts_and_never_more_than_there_was(
    week: Week, zone: str, closed: frozenset[date], start: float, later: list[int]
) -> None:
    hours = Hours(week, zone, closed)
    middle, end = (start + seconds for seconds in later)
    whole = hours.between(start, end)
    assert whole == pytest.approx(hours.between(start, middle) + hours.between(middle, end), abs=0.001)
    assert 0.0 <= whole <= end - start + 0.001


@given(open_weeks, zones, holidays, moments)
def test_nobody_is_there_before_the_next_opening_and_somebody_at_it(
    week: Week, zone: str, closed: frozenset[date], start: float
) -> None:
    hours = Hours(week, zone, closed)
    opening = hours.next_opening(start)
    assert opening >= start
    assert hours.is_open(opening)
    assert hours.between(start, opening) == 0.0
    assert hours.local(opening).date() not in closed
