"""The faults that can be planted in a module: one operator, constant, branch, statement or row of a table at a time."""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MAX_SHOWN = 100
"""The characters of code that are shown on each side of a change."""
MIN_CUT = 10
"""A slice up to so many items or more only bounds a text or a list, which one item more changes for no one."""
_UNMARKED = frozenset({"init", "repr", "strict", "slots", "frozen", "kw_only"})
"""Keywords whose values no test should notice: they help those who read or debug."""

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of one module."""

    path: str
    """The module's file, from the root of the checkout."""
    where: str
    """The function or class, with the classes around it. It is empty for what stands outside of both."""
    change: str
    """The code before and after."""
    number: int
    """Which one it is of the changes that read the same in this place, from 1."""
    line: int = field(compare=False)
    index: int = field(compare=False, repr=False)
    """Which one it is of all changes of the file."""

    @property
    def name(self) -> str:
        """The fault in a line that stays the same when the code around it moves."""
        place = f"{self.path} {self.where}".rstrip()
        return f"{place}: {self.change}" + (f" ({self.number})" if self.number > 1 else "")


@dataclass(frozen=True, slots=True)
class _Site:
    where: str
    line: int
    change: str
    apply: Callable[[], None]


def find_faults(path: str, source: str) -> list[Fault]:
    """Every fault of a file, from its beginning to its end."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for index, site in enumerate(_Sites().of(ast.parse(source))):
        seen[site.where, site.change] += 1
        found.append(Fault(path, site.where, site.change, seen[site.where, site.change], site.line, index))
    return found


def plant(source: str, fault: Fault) -> ast.Module:
    """The module with the fault in it."""
    tree = ast.parse(source)
    _Sites().of(tree)[fault.index].apply()
    return ast.fix_missing_locations(tree)


class _Sites:
    """Walks a module and collects the places where something can be changed, each with the change."""

    def __init__(self) -> None:
        self._found: list[_Site] = []
        self._names: list[str] = []
        self._in_function = False

    def of(self, tree: ast.Module) -> list[_Site]:
        self._statements(tree.body)
        return self._found

    def _statements(self, body: list[ast.stmt]) -> None:
        for index, statement in enumerate(body):
            if not _is_left_alone(statement):
                self._statement(body, index, statement)

    def _statement(self, body: list[ast.stmt], index: int, statement: ast.stmt) -> None:
        def becomes(other: ast.stmt) -> None:
            self._add(statement, _text(statement), _text(other), lambda: body.__setitem__(index, other))

        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(statement)
            case ast.ClassDef():
                self._inside(statement.name, statement.body)
            case ast.Assign(value=value) if not self._in_function and _is_number(value):
                pass
            case ast.AnnAssign(value=value):
                if value is not None and (self._in_function or not _is_number(value)):
                    self._expression(statement, "value", value)
            case ast.Expr(value=ast.Call() | ast.Await()):
                becomes(ast.Pass())
                self._children(statement)
            case ast.Raise():
                becomes(ast.Pass())
            case ast.Return(value=ast.expr() as value) if not _is_nothing(value):
                becomes(ast.Return(ast.Constant(None)))
                self._children(statement)
            case ast.Continue():
                becomes(ast.Break())
            case ast.Break():
                becomes(ast.Continue())
            case ast.AugAssign(op=op) if type(op) in _CALCULATED:
                other = copy.deepcopy(statement)
                other.op = _CALCULATED[type(op)]()
                becomes(other)
                self._children(statement)
            case ast.If() | ast.While():
                self._condition(statement, allow_always=isinstance(statement, ast.If))
                self._children(statement)
            case _:
                self._children(statement)

    def _function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """The defaults and the body. Decorators and annotations decide nothing that a test can see."""
        for defaults in (function.args.defaults, function.args.kw_defaults):
            for index, default in enumerate(defaults):
                if default is not None:
                    self._expression(defaults, index, default)
        outer, self._in_function = self._in_function, True
        self._inside(function.name, function.body)
        self._in_function = outer

    def _inside(self, name: str, body: list[ast.stmt]) -> None:
        self._names.append(name)
        self._statements(body)
        self._names.pop()

    def _children(self, node: ast.AST) -> None:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self._statements(value)
            elif isinstance(value, list):
                for index, child in enumerate(value):
                    self._child(value, index, child)
            else:
                self._child(node, name, value)

    def _child(self, owner: Any, key: Any, child: object) -> None:
        match child:
            case ast.expr():
                self._expression(owner, key, child)
            case ast.keyword(arg=str(name)) if name in _UNMARKED:
                pass
            case ast.comprehension():
                for index, condition in enumerate(child.ifs):
                    self._swap(child.ifs, index, condition, ast.Constant(True))
                self._children(child)
            case ast.match_case():
                if child.guard is not None:
                    self._swap(child, "guard", child.guard, ast.Constant(True))
                    self._expression(child, "guard", child.guard)
                self._statements(child.body)
            case ast.AST():
                self._children(child)

    def _expression(self, owner: Any, key: Any, node: ast.expr) -> None:
        match node:
            case ast.JoinedStr() | ast.Call(func=ast.Attribute(attr="sleep")):
                return
            case ast.Slice(upper=ast.Constant(value=int(most))) if most >= MIN_CUT:
                return
            case ast.Constant(value=bool(value)):
                self._swap(owner, key, node, ast.Constant(not value))
            case ast.Constant(value=int(value)):
                self._swap(owner, key, node, ast.Constant(value + 1))
            case ast.Constant(value=float(value)):
                self._swap(owner, key, node, ast.Constant(value * 2 or 1.0))
            case ast.Compare():
                for index, operator in enumerate(node.ops):
                    others = [*node.ops[:index], _COMPARED[type(operator)](), *node.ops[index + 1 :]]
                    self._with(owner, key, node, "ops", others)
            case ast.BoolOp(op=operator):
                self._with(owner, key, node, "op", ast.Or() if isinstance(operator, ast.And) else ast.And())
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._swap(owner, key, node, operand)
            case ast.BinOp(op=calculated) if type(calculated) in _CALCULATED and not self._joins_types(node):
                self._with(owner, key, node, "op", _CALCULATED[type(calculated)]())
            case ast.IfExp():
                self._condition(node)
            case ast.Call(func=ast.Name(id="cast" | "TypeVar" | "NewType")):
                return
            case ast.Subscript() if not self._in_function:
                return
            case ast.Lambda():
                outer, self._in_function = self._in_function, True
                self._expression(node, "body", node.body)
                self._in_function = outer
                return
            case ast.Dict() | ast.Set() | ast.List() | ast.Tuple() if not self._in_function:
                self._rows(node)
        self._children(node)

    def _rows(self, table: ast.Dict | ast.Set | ast.List | ast.Tuple) -> None:
        """Each row of a table can be missing, unless it is the only one."""
        lists: Sequence[list[ast.expr] | list[ast.expr | None]]
        lists = [table.keys, table.values] if isinstance(table, ast.Dict) else [table.elts]
        rows = lists[0]
        for index, row in enumerate(rows if len(rows) > 1 else ()):
            shown = row if row is not None else lists[-1][index]
            if shown is not None:
                self._add(shown, f"row {_text(shown)}", "no row", _deleting(lists, index))

    def _condition(self, node: ast.If | ast.While | ast.IfExp, *, allow_always: bool = True) -> None:
        if not isinstance(node.test, ast.Constant):
            for value in (True, False) if allow_always else (False,):
                self._swap(node, "test", node.test, ast.Constant(value), kind="condition ")

    def _with(self, owner: Any, key: Any, node: ast.expr, name: str, value: object) -> None:
        other = copy.copy(node)
        setattr(other, name, value)
        self._swap(owner, key, node, other)

    def _swap(self, owner: Any, key: Any, node: ast.expr, other: ast.expr, *, kind: str = "") -> None:
        def apply() -> None:
            if isinstance(owner, list):
                owner[key] = other
            else:
                setattr(owner, key, other)

        self._add(node, kind + _text(node), _text(other), apply)

    def _joins_types(self, node: ast.BinOp) -> bool:
        return isinstance(node.op, ast.BitOr) and not self._in_function

    def _add(self, node: ast.AST, before: str, after: str, apply: Callable[[], None]) -> None:
        line: int = getattr(node, "lineno", 0)
        self._found.append(_Site(".".join(self._names), line, f"{before} -> {after}", apply))


def _deleting(lists: Sequence[list[ast.expr] | list[ast.expr | None]], index: int) -> Callable[[], None]:
    def apply() -> None:
        for each in lists:
            del each[index]

    return apply


def _is_left_alone(statement: ast.stmt) -> bool:
    """Docstrings, log lines, traces, messages of errors, and what only type checkers and imports read. Besides, what
    these tests can't tell apart: failpoints, which do nothing, and locks, which SQLite doesn't need."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="failpoint") | ast.Attribute(value=ast.Name(id="span")))):
            return True
        case ast.Expr(value=ast.Await(value=ast.Call(func=ast.Name(id="lock")))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))), args=args)):
            return bool(args) and all(isinstance(each, ast.JoinedStr | ast.Constant) for each in args)
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="logger")))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            return True
    return False


def _is_number(node: ast.expr) -> bool:
    """Whether it is a number or a row of them, which tune something: a test of it would only repeat it."""
    if isinstance(node, ast.Tuple):
        return all(_is_number(each) for each in node.elts)
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_nothing(node: ast.expr) -> bool:
    """Whether it is None, or False, which is changed as a constant."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _text(node: ast.AST) -> str:
    """The code in one line, cut off where it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def walk_files(paths: Sequence[str]) -> Iterator[Fault]:
    """Every fault of these files of the checkout."""
    for path in paths:
        yield from find_faults(path, (ROOT / path).read_text("utf-8"))
