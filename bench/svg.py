"""Pictures of bars as SVG: each brings its own ground and follows the reader's color scheme, to stand on any page."""

from collections.abc import Iterable
from html import escape

TOP, ROW = 78, 30
"""Pixels: where the rows begin, and a row."""
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px } .head { font-weight: 600 } .note { fill: #57606a; font-size: 12px }
.ground { fill: #ffffff; stroke: #d0d7de } .scale { fill: #eaeef2 } .bar { fill: #8c959f } .ours { fill: #0969da }
.strong { font-weight: 600 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9198a1 } .ground { fill: #0d1117; stroke: #30363d }
  .scale { fill: #21262d } .bar { fill: #656c76 } .ours { fill: #4493f8 }
}
""".strip()


def framed(
    shapes: Iterable[str],
    *,
    title: str,
    aside: str,
    heads: Iterable[tuple[float, str]],
    note: str,
    width: int,
    rows: int,
) -> str:
    """The whole picture around the shapes of its rows. `heads` are the columns' words, each with where it begins."""
    height = TOP + ROW * rows + 40
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
            f' width="{width}" height="{height}" aria-labelledby="title">',
            f"<style>{STYLE}</style>",
            f'<title id="title">{escape(title)}</title>',
            f'<rect class="ground" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            words(20, 30, f"{title} {aside}", "title"),
            *(words(x, 60, head, "head") for x, head in heads),
            *shapes,
            words(20, height - 16, note, "note"),
            "</svg>",
            "",
        )
    )


def bar(x: float, y: float, length: float, style: str) -> str:
    """A bar that begins there."""
    return f'<rect class="{style}" x="{x}" y="{y}" width="{length:.1f}" height="20" rx="2"/>'


def words(x: float, y: float, text: str, style: str = "") -> str:
    """Words on a line."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(text)}</text>'
