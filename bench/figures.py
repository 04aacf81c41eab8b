"""Figures of the loop bench: a median with its spread, kept in a file from run to run, shown as a table."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS = {
    "a_ratio": "A",
    "b_ratio": "B",
    "paced_ratio": "20 at once",
    "c_cpu_ratio": "200 at once",
    "c_wall_over_floor": "its wall time",
    "c_rss_growth_mb": "its memory, MB",
    "tool_to_request_ms": "next request, ms",
    "b_cpu_ms": "CPU of B, ms",
}
"""What is kept of each client, and the head of its column."""

TITLES = {"ours": "Frontdesk", "typed": "openai, typed"}
"""What clients are called, where their own name does not say it."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What several runs gave."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(*(round(value, 2) for value in (statistics.median(values), min(values), max(values))))

    def __str__(self) -> str:
        return f"{_short(self.median)} ({_short(self.low)}-{_short(self.high)})"


@dataclass(frozen=True, slots=True)
class Client:
    """What one client did."""

    date: str
    """Day of the run, ISO."""
    figures: Mapping[str, Spread]
    """By the names of COLUMNS."""


def keep(path: Path, measured: Mapping[str, Client]) -> dict[str, Client]:
    """Put the measured clients into the file, beside those of earlier runs; returns all of them."""
    clients = {**(load(path) if path.exists() else {}), **measured}
    stored = {
        name: {"date": client.date}
        | {figure: [spread.low, spread.median, spread.high] for figure, spread in client.figures.items()}
        for name, client in clients.items()
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(figures)}" for name, figures in stored.items())
    path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    return clients


def load(path: Path) -> dict[str, Client]:
    """The clients that `keep` has written."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Client(figures.pop("date"), {figure: _spread(*values) for figure, values in figures.items()})
        for name, figures in stored.items()
    }


def table(clients: Mapping[str, Client]) -> str:
    """The clients as a Markdown table, the cheapest in C first."""
    head = ["client", *COLUMNS.values(), "measured"]
    rows = [
        [TITLES.get(name, name), *(str(client.figures.get(figure, "")) for figure in COLUMNS), client.date]
        for name, client in sorted(clients.items(), key=cost)
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines)


def cost(item: tuple[str, Client]) -> float:
    """What clients are sorted by: CPU in C as a multiple of the floor's."""
    return item[1].figures["c_cpu_ratio"].median


def _spread(low: float, median: float, high: float) -> Spread:
    return Spread(median, low, high)


def _short(value: float) -> str:
    """About two digits."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 2 else f"{value:.2f}"
