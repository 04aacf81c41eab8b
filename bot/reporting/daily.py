"""Figures of single days as JSON, and added up again.

A percentile cannot be added up. It is computed from what can be: how often each duration was measured.

combined   the figures of several days as those of one period
to_json    figures for the database; durations are kept to DIGITS digits
from_json  the same figures
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

DIGITS = 3
"""To how many digits a duration is kept."""
BOUNDS = {"since": min, "until": max}
"""The fields of a period that are not added up."""

Part = TypeVar("Part")


def combined(parts: Sequence[Part]) -> Part:
    """The figures of all parts together. There is at least one part."""
    return _sum(parts) if len(parts) > 1 else parts[0]


def _sum(parts: Sequence[Any]) -> Any:
    first = parts[0]
    if is_dataclass(first):
        of_each = {each.name: [getattr(part, each.name) for part in parts] for each in fields(first)}
        summed = {name: BOUNDS.get(name, _sum)(values) for name, values in of_each.items()}
        return replace(first, **summed)  # type: ignore[type-var]
    if isinstance(first, Mapping):
        values: dict[Any, list[Any]] = {}
        for part in parts:
            for key, value in part.items():
                values.setdefault(key, []).append(value)
        return _ordered({key: _sum(some) for key, some in values.items()})
    if isinstance(first, bool):
        return any(parts)
    return math.fsum(parts) if isinstance(first, float) else sum(parts)


def _ordered(counted: dict[Any, Any]) -> dict[Any, Any]:
    """Numbers by size, and names with the most frequent first."""
    if all(isinstance(key, int | float) or isinstance(counted[key], Mapping) for key in counted):
        return dict(sorted(counted.items()))
    return dict(sorted(counted.items(), key=lambda each: (-each[1], each[0])))


def to_json(figures: Any) -> Any:
    """The figures without zeros, because most figures of a day are zero."""
    if is_dataclass(figures):
        stored = {each.name: to_json(getattr(figures, each.name)) for each in fields(figures)}
        return {name: value for name, value in stored.items() if value}
    if isinstance(figures, Mapping):
        counted: dict[Any, Any] = {}
        for key, value in figures.items():
            if isinstance(key, float):
                near = float(f"{key:.{DIGITS}g}")
                counted[near] = counted.get(near, 0) + value
            else:
                counted[key] = to_json(value)
        return [[key, value] for key, value in counted.items()]
    return figures


def from_json(kind: Any, stored: Any) -> Any:
    """The figures of this class. What the JSON lacks is zero, and what the class lacks is left out."""
    if is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{each.name: from_json(types[each.name], (stored or {}).get(each.name)) for each in fields(kind)})  # type: ignore[operator]
    if get_origin(kind) is not None:
        of, value_of = get_args(kind)
        return {of(key): from_json(value_of, value) for key, value in stored or ()}
    return kind(stored or 0)
