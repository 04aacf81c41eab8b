"""Site generators, recognised by files of their own in a tree of pages, and how each names its pages' addresses."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Literal

Generator = Literal["", "antora", "docusaurus", "hugo"]

COMPONENT = "antora.yml"
"""Antora's description of a component: the folder that it is in, with all its pages."""
_MARKS: dict[str, Generator] = {
    COMPONENT: "antora",
    "_category_.json": "docusaurus",
    "_category_.yml": "docusaurus",
    "_index.md": "hugo",
}
_ANTORA = re.compile(r"(?:.*/)?modules/([^/]+)/pages/(.+)")
_NUMBER = re.compile(r"(?!\d+[-_.]\d)\d+\s*[-_.]+\s*(?=[^-_.\s])")
"""The number that orders files. `2021-11-foo` and `7.0-foo` begin with a date and a version."""


def generator_of(names: Iterable[str]) -> Generator:
    """The generator of a tree with files of these names. Empty if none is known by its files."""
    found = {_MARKS[name] for name in names if name in _MARKS}
    return next(iter(found)) if len(found) == 1 else ""


def is_mark(name: str) -> bool:
    """Whether a file of this name shows which generator builds the site."""
    return name in _MARKS


def page_path(path: PurePosixPath, generator: Generator) -> PurePosixPath | None:
    """The path of a page on the site, from its path in the tree without a suffix. None if the file is no page.

    Antora publishes the pages of modules, and the module ROOT at the top (docs.antora.org, "Module Segment in Page
    URLs"). Hugo writes paths in lower case, with hyphens for spaces. Docusaurus leaves out numbers that order files.
    With the last two, names that begin with an underscore are parts of other pages.
    """
    if generator in ("hugo", "docusaurus") and any(part.startswith("_") and part != "_index" for part in path.parts):
        return None
    match generator:
        case "antora":
            found = _ANTORA.fullmatch(str(path))
            return PurePosixPath("" if found[1] == "ROOT" else found[1], found[2]) if found else None
        case "hugo":
            return PurePosixPath(re.sub(r"\s+", "-", str(path).lower()))
        case "docusaurus":
            return PurePosixPath(
                *(part[found.end() :] if (found := _NUMBER.match(part)) else part for part in path.parts)
            )
        case _:
            return path
