"""The geometry of the report's charts, in percent of their width and height. `templates/charts.html` draws them.

columns   Places a column for each part of a period.
bars      Places a bar for each of a few values.
spark     Places the points of a small line without a scale.
even, even_count, even_time   Choose where a scale ends.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bot.clock import DAY, HOUR

FULL = 100.0
"""The width and the height of a chart."""
GAP = 0.14
"""The part of a column's place that stays free on either side."""
SPARK_MARGIN = 6.0
"""The part of a spark's height that stays free above and below, so that its line is not cut."""
MAX_LABELS = 6
"""The most labels below a chart."""
STEPS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
TIMES = (10.0, 30.0, 60.0, *(minutes * 60.0 for minutes in (2, 4, 10, 20, 30)))
HOURS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 96)
"""Where scales of time end, before they end at days."""


class Series(NamedTuple):
    """One value per column."""

    name: str
    style: str
    """A class of report.css: the color."""
    values: Sequence[float | None]


class Rect(NamedTuple):
    """A colored part of a column."""

    style: str
    x: float
    y: float
    width: float
    height: float


class Column(NamedTuple):
    """Everything that is drawn for one part of the period."""

    title: str
    """The tooltip. Empty if there is no value."""
    x: float
    rects: Sequence[Rect]
    label: str
    """The text below the column. Most columns have none."""


class Columns(NamedTuple):
    """A chart with a column for each part of a period."""

    series: Sequence[Series]
    ticks: Sequence[str]
    """The values at the top, in the middle and at the bottom of the scale."""
    columns: Sequence[Column]
    width: float
    """The width of a column's place."""


class Bar(NamedTuple):
    """A number and its bar."""

    name: str
    value: int
    width: float


def columns(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    shown: Callable[[float], str],
    top: Callable[[float], float],
    stacked: bool = True,
) -> Columns:
    """Place a column for each label, with the series on top of each other, or each in front of the one before it.

    `shown` formats a value. `top` says where a scale ends that holds a value.
    """
    places = range(len(labels))
    end = top(max((_height(place, series, stacked=stacked) for place in places), default=0.0))
    width = FULL / len(labels)
    # Labels are an odd number of columns apart, so report.css can hide every other label where there is little room.
    apart = math.ceil(len(labels) / MAX_LABELS) | 1
    drawn: list[Column] = []
    for place, label in enumerate(labels):
        values = [f"{each.name} {shown(value)}" for each in series if (value := each.values[place])]
        title = f"{label}: {', '.join(values)}" if values else ""
        rects = _rects(place, series, width=width, end=end, stacked=stacked)
        drawn.append(Column(title, place * width, rects, label if place % apart == 0 else ""))
    return Columns(series, [shown(value) for value in (end, end / 2, 0.0)], drawn, width)


def bars(values: Sequence[tuple[str, int]]) -> list[Bar]:
    """Return a bar for each name. The longest bar has the full width."""
    end = max((number for _, number in values), default=0) or 1
    return [Bar(name, number, FULL * number / end) for name, number in values]


def spark(values: Sequence[float | None]) -> str:
    """Return the points of a line through the values, as SVG wants them. Empty if there are fewer than two values."""
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return ""
    lowest, highest = min(value for _, value in known), max(value for _, value in known)
    room = FULL - 2 * SPARK_MARGIN
    height = room / (highest - lowest) if highest > lowest else 0.0
    base = FULL - SPARK_MARGIN if height else FULL / 2
    return " ".join(
        f"{FULL * place / (len(values) - 1):.1f},{base - (value - lowest) * height:.1f}" for place, value in known
    )


def even(highest: float) -> float:
    """Where a scale ends that is as round as its half."""
    if highest <= 0:
        return 2.0
    size = 10.0 ** math.floor(math.log10(highest))
    return next(step * size for step in STEPS if step * size >= highest * (1 - 1e-9))


def even_count(highest: float) -> float:
    """Where a scale of whole numbers ends. Its half is a whole number too."""
    return even(highest) if highest > 10 else max(2.0, math.ceil(highest / 2) * 2.0)


def even_time(highest: float) -> float:
    """Where a scale of seconds ends: at a round number of seconds, minutes, hours or days."""
    steps = (*TIMES, *(hours * HOUR for hours in HOURS))
    return next((step for step in steps if step >= highest), even(highest / DAY) * DAY)


def _height(place: int, series: Sequence[Series], *, stacked: bool) -> float:
    values = [each.values[place] or 0.0 for each in series]
    return sum(values) if stacked else max(values, default=0.0)


def _rects(place: int, series: Sequence[Series], *, width: float, end: float, stacked: bool) -> list[Rect]:
    rects: list[Rect] = []
    base = 0.0
    for number, each in enumerate(series):
        value = each.values[place]
        if not value:
            continue
        gap = GAP if stacked else GAP * (number + 1)
        height = FULL * value / end
        rects.append(Rect(each.style, (place + gap) * width, FULL - base - height, (1 - 2 * gap) * width, height))
        base += height if stacked else 0.0
    return rects
