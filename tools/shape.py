"""Count signs of code that has grown too large, to look at and not to enforce: `make shape`.

Each line is a sign with its count, its limit, and the places beyond the limit, the largest first.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("bot", "handlers", "knowledge")
SHOWN = 6
"""The places that are named for each sign."""

MAX_PARTS = 8
MAX_METHODS = 20
MAX_MODULES = 12
MAX_LINES = 60
MAX_COMPLEXITY = 15

_BRANCHES = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.IfExp, ast.ExceptHandler, ast.Assert, ast.comprehension),
    *(ast.BoolOp, ast.match_case),
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    """Print the signs."""
    trees = {path: ast.parse(path.read_text("utf-8")) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in trees)
    names = [node.name for _, node in _nodes(trees) if isinstance(node, ast.ClassDef | Function)]
    public = sum(not name.startswith("_") for name in names)
    constants = sum(_is_constant(node) for tree in trees.values() for node in tree.body)
    print(f"{lines:,} lines, {len(trees)} modules, {public:,} public names, {constants} constants")
    _show("parts of a constructor", MAX_PARTS, dict(_parts(trees)))
    _show("methods of a class", MAX_METHODS, dict(_methods(trees)))
    _show("modules in a folder", MAX_MODULES, Counter(str(path.parent.relative_to(ROOT)) for path in trees))
    _show("lines of a function", MAX_LINES, dict(_function_lines(trees)))
    _show("complexity of a function", MAX_COMPLEXITY, dict(_complexities(trees)))
    _show("modules with a class of one name", 1, _class_names(trees))


def _show(sign: str, limit: int, measured: Mapping[str, int]) -> None:
    beyond = sorted(((count, place) for place, count in measured.items() if count > limit), reverse=True)
    named = ", ".join(f"{place} {count}" for count, place in beyond[:SHOWN])
    print(f"{len(beyond):4} times more than {limit} {sign}" + (f": {named}" if named else ""))


def _nodes(trees: Mapping[Path, ast.Module]) -> Iterator[tuple[Path, ast.AST]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            yield path, node


def _named(path: Path, node: ast.ClassDef | Function) -> str:
    return f"{path.relative_to(ROOT)}:{node.name}"


def _parts(trees: Mapping[Path, ast.Module]) -> Iterator[tuple[str, int]]:
    for path, node in _nodes(trees):
        if not isinstance(node, ast.ClassDef):
            continue
        for each in node.body:
            if isinstance(each, Function) and each.name == "__init__":
                yield _named(path, node), len(each.args.args) + len(each.args.kwonlyargs) - 1
        if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
            fields = (each for each in node.body if isinstance(each, ast.AnnAssign))
            yield _named(path, node), sum("init=False" not in ast.unparse(each) for each in fields)


def _methods(trees: Mapping[Path, ast.Module]) -> Iterator[tuple[str, int]]:
    for path, node in _nodes(trees):
        if isinstance(node, ast.ClassDef):
            yield _named(path, node), sum(isinstance(each, Function) for each in node.body)


def _function_lines(trees: Mapping[Path, ast.Module]) -> Iterator[tuple[str, int]]:
    for path, node in _nodes(trees):
        if isinstance(node, Function):
            yield _named(path, node), (node.end_lineno or node.lineno) - node.lineno + 1


def _complexities(trees: Mapping[Path, ast.Module]) -> Iterator[tuple[str, int]]:
    for path, node in _nodes(trees):
        if isinstance(node, Function):
            yield _named(path, node), 1 + sum(isinstance(each, _BRANCHES) for each in ast.walk(node))


def _class_names(trees: Mapping[Path, ast.Module]) -> dict[str, int]:
    places: dict[str, set[Path]] = defaultdict(set)
    for path, node in _nodes(trees):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            places[node.name].add(path)
    return {name: len(paths) for name, paths in places.items()}


def _is_constant(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name.isupper()
    return False


if __name__ == "__main__":
    main()
