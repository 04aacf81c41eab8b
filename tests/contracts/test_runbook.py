"""docs/guides/operations.md against the code: its faults, its log lines and its metrics."""

import ast
import re

import pytest

from bot.telemetry import Metrics
from tests.contracts.tree import PRODUCT, python_files, read

pytestmark = pytest.mark.contract

RUNBOOK = "docs/guides/operations.md"
FAULT = re.compile(r"^### F(\d+): [^\n]+\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
LOG_TABLE = re.compile(r"^\| Log line[^\n]*\n\| ---[^\n]*\n((?:\|[^\n]*\n)+)", re.MULTILINE)


def test_every_fault_has_symptoms_and_what_to_do() -> None:
    faults = {int(number): text for number, text in FAULT.findall(read(RUNBOOK))}
    assert sorted(faults) == list(range(1, 51))
    assert [
        number
        for number, text in faults.items()
        if not re.search(r"^\*\*Symptoms\*\*\n\n- .+^\*\*What to do\*\*\n\n[\w[]", text, re.MULTILINE | re.DOTALL)
    ] == []


@pytest.mark.parametrize("document", [RUNBOOK, "docs/guides/fleet.md"])
def test_log_lines_in_a_table_of_symptoms_are_logged(document: str) -> None:
    (table,) = LOG_TABLE.findall(read(document))
    quoted = {line for row in table.splitlines() for line in re.findall(r"`([^`]+)`", row.split(" | ")[0])}
    logged = {
        node.value
        for path in python_files(*PRODUCT)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert quoted
    assert [line for line in sorted(quoted) if not any(text.startswith(line) for text in logged)] == []


def test_the_table_of_metrics_has_each_metric_once() -> None:
    types = re.findall(r"^# TYPE (\w+) (\w+)$", Metrics().text().decode(), re.MULTILINE)
    served = [name for name, _ in types if name.startswith("frontdesk_") and not name.endswith("_created")]
    assert sorted(re.findall(r"^\| `(frontdesk_\w+)` \|", read(RUNBOOK), re.MULTILINE)) == sorted(served)
