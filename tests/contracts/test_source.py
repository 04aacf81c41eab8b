"""House rules that neither ruff nor mypy nor import-linter can see."""

import ast
import configparser
import re

import pytest

from tests.contracts.tree import ROOT, TESTS, Source, calls, imports, product_files, python_files, read, sources

pytestmark = pytest.mark.contract

TALKS_ON_STANDARD_OUTPUT = {
    "bot/cli/main.py",
    "bot/cli/knowledge.py",
    "bot/cli/preview.py",
    "bot/cli/build.py",
    "bot/cli/links.py",
    "bot/cli/status.py",
    "bot/cli/report.py",
    "bot/cli/actions.py",
    "bot/cli/backup.py",
    "bot/cli/doctor.py",
    "bot/cli/restore.py",
    "bot/cli/move.py",
    "bot/cli/cases.py",
    "bot/cli/desk.py",
    "bot/cli/policy.py",
    "bot/cli/procedures.py",
    "bot/cli/rehearsal.py",
    "bot/cli/shop.py",
    "bot/cli/shop_live.py",
    "bot/cli/shop_pins.py",
    "bot/cli/shop_try.py",
    "bot/cli/trying.py",
    "bot/cli/erase.py",
    "bot/cli/retention.py",
    "knowledge/build/process.py",
}
"""The two programs, one in several files; the builder reports in JSON lines."""
RUNS_SQL = {"execute", "executemany", "executescript", "exec_driver_sql"}
DANGEROUS_MODULES = {"dill", "marshal", "pickle", "shelve"}
DANGEROUS_CALLS = {"eval", "exec", "full_load", "unsafe_load"}


def test_the_product_does_not_know_the_demo() -> None:
    word = re.compile(r"\bdemos?\b", re.IGNORECASE)
    texts = {name: (ROOT / name).read_bytes().decode("utf-8", "replace") for name in product_files()}
    assert [name for name, text in texts.items() if word.search(text) or word.search(name)] == []


def test_sql_is_never_put_together_from_values() -> None:
    built = [
        source.at(node)
        for source in sources()
        for node, name in calls(source)
        if (name in RUNS_SQL or _is_sql_text(source, name)) and node.args and not _is_fixed(node.args[0])
    ]
    assert built == []


def _is_sql_text(source: Source, name: str) -> bool:
    """SQLAlchemy's `text`; elsewhere the word means other things."""
    return name == "text" and source.name.startswith("bot/store/")


def _is_fixed(argument: ast.expr) -> bool:
    """A constant or a name, and no string put together here but of constants and of one `?` for each value."""
    match argument:
        case ast.BinOp() | ast.Call(func=ast.Attribute(attr="format" | "format_map" | "replace" | "join")):
            return False
        case ast.JoinedStr(values=parts):
            return all(_is_harmless(part.value) for part in parts if isinstance(part, ast.FormattedValue))
        case _:
            return True


def _is_harmless(value: ast.expr) -> bool:
    match value:
        case ast.Name(id=name):
            return name.isupper()
        case ast.Call(func=ast.Name(id="_marks")):
            return True
        case _:
            return False


def test_nothing_is_unpickled_evaluated_or_loaded_as_arbitrary_yaml() -> None:
    found = [
        source.at(node) for source in sources() for node, name in imports(source) if _root(name) in DANGEROUS_MODULES
    ]
    for source in sources():
        found += [source.at(node) for node, name in calls(source) if name in DANGEROUS_CALLS or _is_unsafe(node)]
    # One of PyYAML's two safe loaders, of which only the one in Python has a function of its own.
    assert [place for place in found if not place.startswith("bot/own_files.py:")] == []


def _is_unsafe(call: ast.Call) -> bool:
    """yaml.load, a shell, numpy's pickles."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="yaml"), attr="load" | "load_all"):
            return True
    return any(keyword.arg in ("shell", "allow_pickle") and not _is_false(keyword.value) for keyword in call.keywords)


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def test_only_programs_print() -> None:
    printing = {source.name for source in sources() for _, name in calls(source) if name == "print"}
    assert printing <= TALKS_ON_STANDARD_OUTPUT


def test_imports_stand_at_the_top_but_for_the_command_line() -> None:
    """Starting `frontdesk kb status` must not load Slack, nor `serve` what only Postgres or traces need; everywhere
    else a local import hides a wrong layer."""
    hidden = {
        source.name
        for source in sources()
        for function in ast.walk(source.tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert hidden <= {"bot/cli/main.py", "bot/app.py", "bot/integrations.py"}
    assert [source.name for source in sources() if "TYPE_CHECKING" in source.text] == []


def test_chromadb_has_one_door() -> None:
    """Its import takes a second, so the door loads it by name when it is needed; import-linter cannot see that."""

    def loads(source: Source) -> bool:
        by_statement = any(_root(name) == "chromadb" for _, name in imports(source))
        return by_statement or bool(re.search(r"import_module\(\s*[\"']chromadb", source.text))

    assert [source.name for source in sources() if loads(source)] == ["knowledge/search/vectors.py"]


def test_nobody_but_the_store_imports_what_runs_sql() -> None:
    lent = [
        source.at(node)
        for source in sources()
        for node, name in imports(source)
        if _root(name) in ("sqlalchemy", "alembic") and not source.name.startswith("bot/store/")
    ]
    assert lent == []


def test_every_part_of_the_product_has_its_place_in_the_layers() -> None:
    contracts = configparser.ConfigParser()
    contracts.read_string(read(".importlinter"))
    placed = set(re.split(r"[\s|]+", contracts["importlinter:contract:layers"]["layers"].strip()))
    parts = {path.stem for path in (ROOT / "bot").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert {f"bot.{part}" for part in parts - {"__init__", "__main__"}} | {"handlers", "knowledge"} == placed


def test_every_module_says_what_it_holds() -> None:
    assert [source.name for source in sources() if source.text.strip() and not ast.get_docstring(source.tree)] == []


GENEROUS_SECONDS = 20.0
"""A fixed deadline in a test is at least this long. A shorter one is scaled by `tests.patience.patience`."""


def test_no_test_asserts_a_short_time_that_a_busy_machine_exceeds() -> None:
    short = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files(*TESTS)
        if "contracts" not in path.parts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Compare) and _is_short_deadline(node)
    ]
    assert short == []


def _is_short_deadline(node: ast.Compare) -> bool:
    """Whether a measured time must be less than a few fixed seconds: `time.monotonic() - began < 2.0`."""
    sides = [node.left, *node.comparators]
    return any(
        isinstance(operator, ast.Lt | ast.LtE) and _is_elapsed(less) and _fixed_seconds(more) < GENEROUS_SECONDS
        for less, operator, more in zip(sides, node.ops, node.comparators, strict=False)
    )


def _is_elapsed(measured: ast.expr) -> bool:
    match measured:
        case ast.BinOp(left=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)), op=ast.Sub()):
            return name in ("time", "now", "monotonic", "perf_counter", "process_time")
        case ast.Attribute(attr="seconds") | ast.Name(id="took" | "elapsed"):
            return True
        case _:
            return False


def _fixed_seconds(limit: ast.expr) -> float:
    """The sum of a limit's literals; infinite if any part of it is measured or scaled."""
    match limit:
        case ast.Constant(value=float() | int() as seconds):
            return seconds
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _fixed_seconds(left) + _fixed_seconds(right)
        case _:
            return float("inf")


def _root(name: str) -> str:
    return name.partition(".")[0]
