"""The figures of the loop bench as an SVG: a row for each client, a column of bars for each scene."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.figures import TITLES, Client, cost
from bench.svg import ROW, TOP, bar, framed, words

SCENES = {
    "a_ratio": "an answer",
    "b_ratio": "a support turn",
    "paced_ratio": "20 turns at once, paced",
    "c_cpu_ratio": "200 turns at once, paced",
}
"""What has a column, and its head."""

LEFT, COLUMN, BAR, WIDTH = 128, 196, 132, 920
"""Pixels: where the columns begin, a column, the longest bar, the whole."""


def draw(path: Path, clients: Mapping[str, Client]) -> None:
    """Write the picture."""
    path.write_text(picture(clients), encoding="utf-8")


def picture(clients: Mapping[str, Client]) -> str:
    """The SVG."""
    return framed(
        _rows(clients),
        title="CPU of a turn, in multiples of a hand-written client",
        aside="(shorter is better)",
        heads=((LEFT + COLUMN * place, head) for place, head in enumerate(SCENES.values())),
        note=_note(clients),
        width=WIDTH,
        rows=len(clients),
    )


def _rows(clients: Mapping[str, Client]) -> Iterator[str]:
    longest = {scene: max(client.figures[scene].median for client in clients.values()) for scene in SCENES}
    for row, (name, client) in enumerate(sorted(clients.items(), key=cost)):
        y = TOP + ROW * row
        own = name == "ours"
        yield words(20, y + 15, TITLES.get(name, name), "strong" if own else "")
        for place, scene in enumerate(SCENES):
            ratio, x = client.figures[scene].median, LEFT + COLUMN * place
            length = BAR * ratio / longest[scene]
            yield bar(x, y, length, "ours" if own else "bar")
            yield words(x + length + 6, y + 15, f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}", "strong" * own)


def _note(clients: Mapping[str, Client]) -> str:
    dates = sorted({client.date for client in clients.values()})
    return f"Each column has its own scale; the floor is 1. Measured {' to '.join({dates[0]: 0, dates[-1]: 0})}."
