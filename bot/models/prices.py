"""What models cost: the table in prices.yml, and the operator's own table on top of it."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from bot.agent.endpoints import Price
from bot.errors import ConfigurationError
from bot.operator_files import read_entries
from bot.own_files import read_own

_VERSION = r"(?:[-@](?:latest|preview|exp|\d{3,8}(?:-\d\d){0,2}|\d\d-\d\d(?:\d\d)?))*"
"""What can follow a model's name without making it another model: dates, build numbers, "latest"."""
_FIELDS = ("input", "cached", "output", "write", "reasoning")


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model. Names are in lower case."""

    table: Mapping[str, Price]

    def of(self, name: str) -> Price | None:
        """A model's price, under its name or that of the model of which it is a dated variant. None if it is unknown.

        A path before the name (`openai/gpt-4.1`, `models/gemini-2.5-pro`) is first included in the search, then left
        out.
        """
        whole = name.strip().lower()
        return self._listed(whole) or self._listed(whole.rpartition("/")[2])

    def _listed(self, name: str) -> Price | None:
        fitting = [known for known in self.table if name.startswith(known)]
        for known in sorted(fitting, key=len, reverse=True):
            if re.fullmatch(_VERSION, name[len(known) :]):
                return self.table[known]
        return None


def load_prices(path: Path | None = None) -> Prices:
    """The built-in table. Entries of the YAML file at `path` are added or replace built-in ones.

    Raises:
        ConfigurationError: the file cannot be read or is no table of prices; one sentence for each fault.
    """
    built_in = read_own(resources.files("bot") / "models" / "prices.yml")
    table = {name: _price(entry) for name, entry in built_in.items()}
    if path is not None:
        entries = read_entries(path, setting="MODEL_PRICES", needed="models, each with input and output")
        if faults := [*_faults(entries)]:
            raise ConfigurationError([f"MODEL_PRICES: {fault}" for fault in faults])
        table |= {name.strip().lower(): _price(entry) for name, entry in entries.items()}
    return Prices(table)


def _price(entry: Mapping[str, float]) -> Price:
    fresh = float(entry["input"])
    write, reasoning = (float(entry[field]) if field in entry else None for field in ("write", "reasoning"))
    cached, output = float(entry.get("cached", fresh)), float(entry["output"])
    return Price(input=fresh, cached=cached, output=output, write=write, reasoning=reasoning)


def _faults(entries: Mapping[Any, Any]) -> Iterator[str]:
    for name, entry in entries.items():
        if not isinstance(name, str) or not name.strip():
            yield f"{name!r} is no model's name; put it in quotes"
        elif not isinstance(entry, dict):
            yield f"{name}: it needs input and output, in dollars for a million tokens"
        else:
            yield from (f"{name}: {fault}" for fault in _faults_of_entry(entry))


def _faults_of_entry(entry: Mapping[Any, Any]) -> Iterator[str]:
    for field in ("input", "output"):
        if field not in entry:
            yield f"{field} is missing"
    for field, value in entry.items():
        if field not in _FIELDS:
            yield f"{field} is none of {', '.join(_FIELDS)}"
        elif isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            yield f"{field} must be a number of dollars, 0 or more"
