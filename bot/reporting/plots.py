"""Charts of metrics over time and the tables next to them, as HTML with inline SVG, without scripts and requests.

A chart is stretched to the available width, so its texts are next to it and not in it: the scale, the first and the
last day, the names of the series. A tooltip and the table show the value of a column.

columns   Draws a column for each part of a period.
bars      Draws a bar for each of a few values.
table     Shows the numbers.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

from bot.clock import DAY, HOUR

HEIGHT = 100.0
GAP = 0.16
"""Of a column's place, what is left free on either side."""
STEPS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
TIMES = (10.0, 30.0, 60.0, *(minutes * 60.0 for minutes in (2, 4, 10, 20, 30)))
HOURS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 96)
"""Where scales of time end, before they end at days."""


class Series(NamedTuple):
    """One value a column."""

    name: str
    style: str
    """A class of report.css: the color."""
    values: Sequence[float | None]


def columns(
    name: str,
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    shown: Callable[[float], str],
    top: Callable[[float], float],
    stacked: bool = True,
) -> str:
    """A figure with a column for each label: the series on top of each other, or each before the one before it.

    `shown` writes a value, `top` says where the scale ends that holds one.
    """
    highest = max((_height(place, series, stacked=stacked) for place in range(len(labels))), default=0.0)
    end = top(highest)
    drawn = "".join(
        _column(place, label, series, end=end, shown=shown, stacked=stacked) for place, label in enumerate(labels)
    )
    ticks = "".join(f"<span>{escape(shown(value))}</span>" for value in (end, end / 2, 0.0))
    edges = "".join(f"<span>{escape(label)}</span>" for label in dict.fromkeys((labels[0], labels[-1])))
    return (
        f'<figure><figcaption><b>{escape(name)}</b><ul class="legend">{_legend(series)}</ul></figcaption>'
        f'<div class="frame"><div class="ticks" aria-hidden="true">{ticks}</div>'
        f'<svg viewBox="0 0 {len(labels)} {HEIGHT:.0f}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(f"{name}: the table beside this holds its numbers.")}">'
        f'<path class="grid" d="M0 0H{len(labels)}M0 {HEIGHT / 2:.0f}H{len(labels)}M0 {HEIGHT:.0f}H{len(labels)}"/>'
        f'{drawn}</svg><div class="edges" aria-hidden="true">{edges}</div></div></figure>'
    )


def bars(name: str, values: Sequence[tuple[str, int]], *, style: str) -> str:
    """A figure with a bar for each name, as long as its number."""
    end = max((number for _, number in values), default=0) or 1
    rows = "".join(
        f'<li><span>{escape(label)}</span><svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{style}" width="{100 * number / end:.2f}" height="1"/></svg><span>{number:,}</span></li>'
        for label, number in values
    )
    return f'<figure><figcaption><b>{escape(name)}</b></figcaption><ul class="bars">{rows}</ul></figure>'


def table(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls if it is too wide or too long. The first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(each)}</td>" for each in rest)}</tr>'
        for first, *rest in rows
    )
    body = body or f'<tr><td colspan="{len(heads)}">Nothing in this time.</td></tr>'
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{escape(name)}"><table>'
        f"<caption>{escape(name)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def even(highest: float) -> float:
    """Where a scale ends that is as round as its half."""
    if highest <= 0:
        return 2.0
    size = 10.0 ** math.floor(math.log10(highest))
    return next(step * size for step in STEPS if step * size >= highest * (1 - 1e-9))


def even_count(highest: float) -> float:
    """The same of whole numbers, whose half is one too."""
    return even(highest) if highest > 10 else max(2.0, math.ceil(highest / 2) * 2.0)


def even_time(highest: float) -> float:
    """The same of seconds."""
    steps = (*TIMES, *(hours * HOUR for hours in HOURS))
    return next((step for step in steps if step >= highest), even(highest / DAY) * DAY)


def _height(place: int, series: Sequence[Series], *, stacked: bool) -> float:
    values = [each.values[place] or 0.0 for each in series]
    return sum(values) if stacked else max(values, default=0.0)


def _column(
    place: int,
    label: str,
    series: Sequence[Series],
    *,
    end: float,
    shown: Callable[[float], str],
    stacked: bool,
) -> str:
    told = [f"{each.name} {shown(value)}" for each in series if (value := each.values[place])]
    if not told:
        return ""
    parts: list[str] = []
    base = 0.0
    for number, each in enumerate(series):
        value = each.values[place]
        if not value:
            continue
        gap = GAP if stacked else GAP * (number + 1)
        height = HEIGHT * value / end
        parts.append(
            f'<rect class="{each.style}" x="{place + gap:.3f}" y="{HEIGHT - base - height:.2f}" '
            f'width="{1 - 2 * gap:.3f}" height="{height:.2f}"/>'
        )
        base += height if stacked else 0.0
    name = escape(f"{label}: {', '.join(told)}")
    return f"<g><title>{name}</title>{''.join(parts)}</g>"


def _legend(series: Sequence[Series]) -> str:
    return "".join(f'<li><i class="{each.style}"></i>{escape(each.name)}</li>' for each in series)
