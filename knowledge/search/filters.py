"""Narrowing a search to a part of the base."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Filter:
    """What a passage's document must match. An empty field matches everything."""

    source: str = ""
    """The name of a source."""
    category: str = ""
    """The category, exactly as the documents write it."""
    language: str = ""
    """The language without its region: `pt` finds pages in `pt-br` too."""

    @property
    def wanted(self) -> dict[str, str]:
        """The fields that must match, under the names that chunks have in both indexes."""
        asked = {"origin": self.source, "category": self.category, "language": primary(self.language)}
        return {name: value for name, value in asked.items() if value}

    def for_chroma(self) -> dict[str, Any] | None:
        """The filter as Chroma's `where`. None if everything matches."""
        conditions: list[dict[str, Any]] = [{name: value} for name, value in self.wanted.items()]
        return {"$and": conditions} if len(conditions) > 1 else next(iter(conditions), None)

    def __bool__(self) -> bool:
        """Whether any field must match."""
        return bool(self.wanted)


EVERYTHING = Filter()


def primary(language: str) -> str:
    """The language without its region: `pt` for `pt-br`."""
    return language.lower().partition("-")[0]
