"""The four numbers that a lead reads first, each with what it was in the period before."""

from collections.abc import Sequence
from typing import NamedTuple

from bot.reporting.metrics import PeriodMetrics, Report
from bot.reporting.texts import duration, ratio

UP, DOWN, SAME = "▲", "▼", "→"
"""The arrows of a number that rose, fell, or is shown as before."""


class KeyMetric(NamedTuple):
    """One of the four numbers."""

    name: str
    value: str
    of: str
    """What it was computed from."""
    change: str
    """An arrow and the number of the period before. Empty if there was none."""


class Reading(NamedTuple):
    """A number of one period."""

    number: float | None
    """None if there was nothing to compute it from."""
    words: str


def key_metrics(report: Report, *, open_now: int, open_before: int) -> list[KeyMetric]:
    """The four numbers. `open_before` is how many cases were open when the period began."""
    whole, before = report.whole, report.before
    resolution, people = whole.resolution, whole.people
    pending = f", {resolution.pending:,} still open" if resolution.pending else ""
    return [
        KeyMetric(
            "Resolved without people",
            _resolved(whole).words,
            f"{_counted(resolution.settled, 'conversation')}{pending}",
            _change(_resolved(whole), _resolved(before) if before else None),
        ),
        KeyMetric(
            "Time to first reply",
            _first_reply(whole).words,
            f"median of {people.time_to_reply.n:,}",
            _change(_first_reply(whole), _first_reply(before) if before else None),
        ),
        KeyMetric(
            "CSAT",
            _satisfied(whole).words,
            f"4 or 5 of 5, {_counted(people.scored, 'score')}",
            _change(_satisfied(whole), _satisfied(before) if before else None),
        ),
        KeyMetric(
            "Open now",
            f"{open_now:,}",
            "cases" if open_now != 1 else "case",
            _change(_count(open_now), _count(open_before)),
        ),
    ]


def key_lines(numbers: Sequence[KeyMetric]) -> str:
    """The numbers, for a terminal."""
    name, value = max(len(each.name) for each in numbers), max(len(each.value) for each in numbers)
    return "\n".join(
        f"{each.name:{name}}  {each.value:>{value}}  {each.change:14}  {each.of}".rstrip() for each in numbers
    )


def _resolved(figures: PeriodMetrics) -> Reading:
    resolution = figures.resolution
    return Reading(resolution.rate, ratio(resolution.resolved, resolution.settled))


def _first_reply(figures: PeriodMetrics) -> Reading:
    median = figures.people.time_to_reply.p50
    return Reading(median, duration(median))


def _satisfied(figures: PeriodMetrics) -> Reading:
    people = figures.people
    return Reading(people.satisfied, ratio(people.satisfactory, people.scored))


def _count(number: int) -> Reading:
    return Reading(number, f"{number:,}")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _change(now: Reading, before: Reading | None) -> str:
    if before is None or now.number is None or before.number is None:
        return ""
    if now.number == before.number or now.words == before.words:
        return f"{SAME} as before"
    return f"{UP if now.number > before.number else DOWN} from {before.words}"
