"""Charts as HTML: a drawing in SVG, its legend, and the numbers as a table for those who cannot see or want them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from local_slack.page.html import Html, element, join
from local_slack.page.look import Look
from local_slack.page.loose import Json, mapping, sequence, string
from local_slack.page.tables import scrolled

MOST = 20
"""Series, segments and categories that are drawn, of each."""
LARGEST = 1e15
WIDTH, HEIGHT = 400.0, 190.0
LEFT, TOP, RIGHT, BOTTOM = 46.0, 8.0, 394.0, 166.0
"""The edges of the plot, outside which its labels stand."""
LETTER = 6.2
"""The width of a letter of a label."""


@dataclass(frozen=True, slots=True)
class _Series:
    name: str
    values: tuple[float, ...]


def chart(data: Json, look: Look) -> Html:
    """A pie, or series as bars, areas or lines; nothing but the title for what is none of them."""
    given = mapping(data.get("chart"))
    kind, title = string(given.get("type")), string(data.get("title"))
    if kind == "pie":
        drawn = _pie([mapping(each) for each in sequence(given.get("segments"))[:MOST]], title)
    elif kind in _MARKS:
        drawn = _plot(kind, given, title)
    else:
        drawn = element("div", {"class": "unknown"}, "Unsupported chart ", element("code", None, kind[:80] or "?"))
    return element("figure", {"class": "chart"}, element("figcaption", None, title), drawn)


# --- pies -----------------------------------------------------------------------------------------------


def _pie(segments: Sequence[Json], title: str) -> Html:
    values = [max(_number(each.get("value")), 0.0) for each in segments]
    labels = [string(each.get("label")) for each in segments]
    total = sum(values) or 1.0
    shares = [f"{value / total:.0%}" for value in values]
    centre, radius = HEIGHT / 2, HEIGHT / 2 - 6
    slices, begun = [], 0.0
    for at, value in enumerate(values):
        slices.append(_slice(at, begun / total, (begun + value) / total, centre, radius))
        begun += value
    legend = _legend([f"{label} {share}" for label, share in zip(labels, shares, strict=True)])
    numbers = _numbers("", labels, {"Value": [_written(value) for value in values], "Share": shares})
    return join([_svg(f"Pie chart: {title}", HEIGHT, slices, shape="pie"), legend, numbers])


def _slice(at: int, begin: float, end: float, centre: float, radius: float) -> Html:
    if end - begin > 0.9999:
        return element("circle", {"class": f"series-{at % 12}", "cx": centre, "cy": centre, "r": radius})

    def point(share: float) -> str:
        angle = 2 * math.pi * share - math.pi / 2
        return f"{centre + radius * math.cos(angle):.1f} {centre + radius * math.sin(angle):.1f}"

    far = 1 if end - begin > 0.5 else 0
    path = f"M{centre} {centre}L{point(begin)}A{radius} {radius} 0 {far} 1 {point(end)}Z"
    return element("path", {"class": f"series-{at % 12}", "d": path})


# --- series ---------------------------------------------------------------------------------------------


def _plot(kind: str, given: Json, title: str) -> Html:
    axes = mapping(given.get("axis_config"))
    categories = [string(each) for each in sequence(axes.get("categories"))[:MOST]]
    series = [_read(mapping(each), categories) for each in sequence(given.get("series"))[:MOST]]
    values = [value for each in series for value in each.values]
    ticks = _ticks(min([0.0, *values]), max([0.0, *values]))
    scale = _Scale(ticks[0], ticks[-1], len(categories))
    drawn = [*_grid(ticks, scale), *_labels(categories, scale)]
    for at, each in enumerate(series):
        drawn += _MARKS[kind](at, len(series), each, scale)
    above, below = string(axes.get("y_label")), string(axes.get("x_label"))
    return join(
        [
            element("div", {"class": "axis"}, above) if above else None,
            _svg(f"{kind.title()} chart: {title}", WIDTH, drawn),
            element("div", {"class": "axis axis-below"}, below) if below else None,
            _legend([each.name for each in series]),
            _numbers(below, categories, {each.name: [_written(value) for value in each.values] for each in series}),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    count: int

    def y(self, value: float) -> float:
        return round(BOTTOM - (value - self.low) / (self.high - self.low) * (BOTTOM - TOP), 1)

    @property
    def step(self) -> float:
        """The width of a category."""
        return (RIGHT - LEFT) / max(self.count, 1)

    def x(self, at: int) -> float:
        """The middle of a category."""
        return round(LEFT + self.step * (at + 0.5), 1)


def _read(data: Json, categories: Sequence[str]) -> _Series:
    """The values in the order of the categories; one that is missing counts as nothing."""
    points = {string(each.get("label")): each.get("value") for each in map(mapping, sequence(data.get("data")))}
    return _Series(string(data.get("name")), tuple(_number(points.get(each)) for each in categories))


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from below the lowest value to above the highest, some four of them."""
    span = (high - low) or 1.0
    unit = 10 ** math.floor(math.log10(span / 3))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * 4 >= span)
    first, last = math.floor(low / step), math.ceil(high / step) or 1
    return [step * at for at in range(first, last + 1)]


def _grid(ticks: Sequence[float], scale: _Scale) -> Iterator[Html]:
    for value in ticks:
        y = scale.y(value)
        yield element("path", {"class": "grid", "d": f"M{LEFT} {y}H{RIGHT}"})
        yield element("text", {"x": LEFT - 6, "y": y + 4, "text-anchor": "end"}, _short(value))


def _labels(categories: Sequence[str], scale: _Scale) -> Iterator[Html]:
    """As many as there is room for."""
    longest = max(map(len, categories), default=1)
    every = max(1, math.ceil(min(longest, 8) * LETTER / scale.step))
    room = max(1, int(scale.step * every / LETTER))
    for at, each in enumerate(categories):
        if at % every == 0:
            shown = each if len(each) <= room else f"{each[: room - 1]}…"
            yield element("text", {"x": scale.x(at), "y": BOTTOM + 17, "text-anchor": "middle"}, shown)


def _bars(at: int, count: int, series: _Series, scale: _Scale) -> Iterator[Html]:
    width = scale.step * 0.8 / count
    for index, value in enumerate(series.values):
        top, bottom = sorted((scale.y(value), scale.y(0)))
        x = LEFT + scale.step * (index + 0.1) + width * at
        size = {"width": round(width * 0.92, 1), "height": round(bottom - top, 1)}
        yield element("rect", {"class": f"series-{at % 12}", "x": round(x, 1), "y": top, **size})


def _line(at: int, count: int, series: _Series, scale: _Scale) -> Iterator[Html]:
    if points := _points(series, scale):
        yield element("path", {"class": f"line series-{at % 12}", "d": f"M{points}"})
    for index, value in enumerate(series.values):
        yield element("circle", {"class": f"series-{at % 12}", "cx": scale.x(index), "cy": scale.y(value), "r": 3})


def _area(at: int, count: int, series: _Series, scale: _Scale) -> Iterator[Html]:
    if points := _points(series, scale):
        ends = f"L{scale.x(len(series.values) - 1)} {scale.y(0)}L{scale.x(0)} {scale.y(0)}Z"
        yield element("path", {"class": f"area series-{at % 12}", "d": f"M{points}{ends}"})
    yield from _line(at, count, series, scale)


_MARKS = {"bar": _bars, "area": _area, "line": _line}


def _points(series: _Series, scale: _Scale) -> str:
    return "L".join(f"{scale.x(index)} {scale.y(value)}" for index, value in enumerate(series.values))


# --- around the drawing ---------------------------------------------------------------------------------


def _svg(label: str, width: float, drawn: Sequence[Html], *, shape: str = "plot") -> Html:
    box = f"0 0 {width:.0f} {HEIGHT:.0f}"
    return element("svg", {"class": f"drawing {shape}", "viewBox": box, "role": "img", "aria-label": label}, drawn)


def _legend(names: Sequence[str]) -> Html:
    return element(
        "ul",
        {"class": "legend", "aria-hidden": "true"},
        (
            element("li", None, element("span", {"class": f"swatch series-{at % 12}"}), name)
            for at, name in enumerate(names)
        ),
    )


def _numbers(corner: str, rows: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Html:
    top = [element("th", None, corner), *(element("th", {"scope": "col"}, name) for name in columns)]
    body = [
        element(
            "tr",
            None,
            element("th", {"scope": "row"}, row),
            (element("td", {"class": "align-right"}, cells[at]) for cells in columns.values()),
        )
        for at, row in enumerate(rows)
    ]
    drawn = element("table", None, element("thead", None, element("tr", None, top)), element("tbody", None, body))
    return element("details", {"class": "numbers"}, element("summary", None, "The numbers"), scrolled("Numbers", drawn))


def _number(value: object) -> float:
    """A number that can be drawn; nothing for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    try:
        given = float(value)
    except OverflowError:
        return LARGEST
    return max(-LARGEST, min(LARGEST, given)) if math.isfinite(given) else 0.0


def _written(value: float) -> str:
    return f"{value:,.10g}"


def _short(value: float) -> str:
    """As it fits beside an axis: 1500 is 1.5k."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
