"""What was found on each set, as an SVG that brings its own ground and follows the reader's color scheme."""

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

FIGURES = {
    "passage_mrr10": ("passage MRR@10", 100.0),
    "doc_mrr10": ("document MRR@10", 100.0),
    "evidence400": ("evidence in 400 words", 100.0),
    "answered_at_95": ("answered at 95 % refused", 100.0),
    "auc": ("AUC", 1.0),
}
"""What has a column: its head, and where its scale ends."""

LEFT, TOP, ROW, COLUMN, BAR = 170, 78, 30, 200, 120
"""Pixels: where the columns begin and the rows begin, a row, a column, a bar as long as its scale."""
WIDTH = LEFT + COLUMN * len(FIGURES) + 10
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px } .head { font-weight: 600 } .note { fill: #57606a; font-size: 12px }
.ground { fill: #ffffff; stroke: #d0d7de } .scale { fill: #eaeef2 } .bar { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9198a1 } .ground { fill: #0d1117; stroke: #30363d }
  .scale { fill: #21262d } .bar { fill: #4493f8 }
}
""".strip()


def draw(path: Path, results: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the picture."""
    path.write_text(picture(results), encoding="utf-8")


def picture(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The SVG: a row for each set, a bar for each figure."""
    height = TOP + ROW * len(results) + 40
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
            f' width="{WIDTH}" height="{height}" aria-labelledby="title">',
            f"<style>{STYLE}</style>",
            '<title id="title">Retrieval on each set of questions</title>',
            f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
            _text(20, 30, "Retrieval on each set of questions (longer is better)", "title"),
            *(_text(LEFT + COLUMN * place, 60, head, "head") for place, (head, _) in enumerate(FIGURES.values())),
            *_rows(results),
            _text(20, height - 16, "Percentages; the AUC is of 1.", "note"),
            "</svg>",
            "",
        )
    )


def _rows(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for row, (name, figures) in enumerate(results.items()):
        y = TOP + ROW * row
        yield _text(20, y + 15, name, "")
        for place, (figure, (_, whole)) in enumerate(FIGURES.items()):
            value, x = figures.get(figure), LEFT + COLUMN * place
            if value is None:
                continue
            yield f'<rect class="scale" x="{x}" y="{y}" width="{BAR}" height="20" rx="2"/>'
            yield f'<rect class="bar" x="{x}" y="{y}" width="{BAR * value / whole:.1f}" height="20" rx="2"/>'
            yield _text(x + BAR + 6, y + 15, f"{value:.2f}" if whole == 1.0 else f"{value:.1f}", "")


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x}" y="{y}" class="{style}">{escape(text)}</text>'
