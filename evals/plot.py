"""What was found on each set, as an SVG: a row for each set, a bar for each figure."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.svg import ROW, TOP, bar, framed, words

FIGURES = {
    "passage_mrr10": ("passage MRR@10", 100.0),
    "doc_mrr10": ("document MRR@10", 100.0),
    "evidence400": ("evidence in 400 words", 100.0),
    "answered_at_95": ("answered at 95 % refused", 100.0),
    "auc": ("AUC", 1.0),
}
"""What has a column: its head, and where its scale ends."""

LEFT, COLUMN, BAR = 170, 200, 120
"""Pixels: where the columns begin, a column, a bar as long as its scale."""
WIDTH = LEFT + COLUMN * len(FIGURES) + 10


def draw(path: Path, results: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the picture."""
    path.write_text(picture(results), encoding="utf-8")


def picture(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The SVG."""
    return framed(
        _rows(results),
        title="Retrieval on each set of questions",
        aside="(longer is better)",
        heads=((LEFT + COLUMN * place, head) for place, (head, _) in enumerate(FIGURES.values())),
        note="Percentages; the AUC is of 1.",
        width=WIDTH,
        rows=len(results),
    )


def _rows(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for row, (name, figures) in enumerate(results.items()):
        y = TOP + ROW * row
        yield words(20, y + 15, name)
        for place, (figure, (_, whole)) in enumerate(FIGURES.items()):
            value, x = figures.get(figure), LEFT + COLUMN * place
            if value is None:
                continue
            yield bar(x, y, BAR, "scale")
            yield bar(x, y, BAR * value / whole, "ours")
            yield words(x + BAR + 6, y + 15, f"{value:.2f}" if whole == 1.0 else f"{value:.1f}")
