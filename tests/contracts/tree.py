"""The repository as these tests read it: folders, files, syntax trees."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("bot", "handlers", "knowledge")
"""The packages of the wheel."""
TESTS = ("tests", "local_slack/tests")
"""The folders of tests."""


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file of the product."""

    name: str
    """Its path from the root, with slashes."""
    text: str
    tree: ast.Module

    def at(self, node: ast.AST) -> str:
        """Where a node stands, for a failing test to show."""
        return f"{self.name}:{getattr(node, 'lineno', 1)}"


@cache
def sources() -> tuple[Source, ...]:
    """Every Python file of the product."""
    return tuple(
        Source(file, text, ast.parse(text)) for file in product_files() if file.endswith(".py") for text in [read(file)]
    )


@cache
def product_files() -> tuple[str, ...]:
    """Every file in the product's packages, as paths from the root."""
    found = (file for package in PRODUCT for file in (ROOT / package).rglob("*") if file.is_file())
    return tuple(sorted(file.relative_to(ROOT).as_posix() for file in found if "__pycache__" not in file.parts))


def python_files(*folders: str) -> Iterator[Path]:
    """Every Python file in the folders."""
    for folder in folders:
        yield from (ROOT / folder).rglob("*.py")


def read(name: str) -> str:
    """The text of a file, named from the root."""
    return (ROOT / name).read_text(encoding="utf-8")


def calls(source: Source) -> Iterator[tuple[ast.Call, str]]:
    """Every call with the last part of what is called: `print`, `execute` for `tx.execute`."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
                yield node, name


def imports(source: Source) -> Iterator[tuple[ast.stmt, str]]:
    """Every imported name in full: `sqlalchemy.ext.asyncio.AsyncConnection`, `openai`."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Import(names=names):
                yield from ((node, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names):
                yield from ((node, f"{module}.{alias.name}") for alias in names)
