"""Reading JSON that may have any shape: what does not fit counts as absent."""

from typing import Any

Json = dict[str, Any]


def mapping(value: object) -> Json:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """The array, or an empty one."""
    return list(value) if isinstance(value, (list, tuple)) else []


def string(value: object) -> str:
    """The string, a number as a string, or ""."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
