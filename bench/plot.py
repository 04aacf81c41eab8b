"""The figures of the loop bench as an SVG: a row for each client, a column of bars for each scene.

The picture brings its own ground and follows the reader's color scheme, so that it can stand on any page.
"""

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from bench.figures import TITLES, Client, cost

SCENES = {
    "a_ratio": "an answer",
    "b_ratio": "a support turn",
    "paced_ratio": "20 turns at once, paced",
    "c_cpu_ratio": "200 turns at once, paced",
}
"""What has a column, and its head."""

LEFT, TOP, ROW, COLUMN, BAR, WIDTH = 128, 78, 30, 196, 132, 920
"""Pixels: where the columns begin and the rows begin, a row, a column, the longest bar, the whole."""
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px } .head { font-weight: 600 } .note { fill: #57606a; font-size: 12px }
.ground { fill: #ffffff; stroke: #d0d7de } .bar { fill: #8c959f } .ours { fill: #0969da } .strong { font-weight: 600 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9198a1 } .ground { fill: #0d1117; stroke: #30363d }
  .bar { fill: #656c76 } .ours { fill: #4493f8 }
}
""".strip()


def draw(path: Path, clients: Mapping[str, Client]) -> None:
    """Write the picture."""
    path.write_text(picture(clients), encoding="utf-8")


def picture(clients: Mapping[str, Client]) -> str:
    """The SVG."""
    height = TOP + ROW * len(clients) + 40
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
            f' width="{WIDTH}" height="{height}" aria-labelledby="title">',
            f"<style>{STYLE}</style>",
            '<title id="title">CPU of a turn in multiples of a hand-written client</title>',
            f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
            _text(20, 30, "CPU of a turn, in multiples of a hand-written client (shorter is better)", "title"),
            *(_text(LEFT + COLUMN * place, 60, head, "head") for place, head in enumerate(SCENES.values())),
            *_rows(clients),
            _text(20, height - 16, _note(clients), "note"),
            "</svg>",
            "",
        )
    )


def _rows(clients: Mapping[str, Client]) -> Iterator[str]:
    longest = {scene: max(client.figures[scene].median for client in clients.values()) for scene in SCENES}
    for row, (name, client) in enumerate(sorted(clients.items(), key=cost)):
        y = TOP + ROW * row
        own = name == "ours"
        yield _text(20, y + 15, TITLES.get(name, name), "strong" if own else "")
        for place, scene in enumerate(SCENES):
            ratio, x = client.figures[scene].median, LEFT + COLUMN * place
            length = BAR * ratio / longest[scene]
            yield f'<rect class="{"ours" if own else "bar"}" x="{x}" y="{y}" width="{length:.1f}" height="20" rx="2"/>'
            yield _text(x + length + 6, y + 15, f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}", "strong" * own)


def _note(clients: Mapping[str, Client]) -> str:
    dates = sorted({client.date for client in clients.values()})
    return f"Each column has its own scale; the floor is 1. Measured {' to '.join({dates[0]: 0, dates[-1]: 0})}."


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(text)}</text>'
