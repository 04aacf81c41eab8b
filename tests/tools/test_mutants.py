"""The faults that `make mutants` plants: which there are, what they do, and that its lists are true."""

import ast
from pathlib import Path

import pytest

from tools.mutants import judging
from tools.mutants.__main__ import draw
from tools.mutants.equivalent import load_equivalent
from tools.mutants.faults import ROOT, find_faults, plant, walk_files
from tools.mutants.files import TESTS

SOURCE = '''
"""A module."""
LIMIT = 3
ROWS: dict[str, int] = {"a": 1, "b": 2}

class Desk:
    """A desk."""

    async def admits(self, count: int | None, is_open: bool = True) -> bool:
        """Whether one more comes in."""
        if count is None or not is_open:
            logger.info("closed after %d", 5)
            return False
        failpoint("counted")
        await lock(tx, "desk")
        span.add("count", count)
        await self.clock.sleep(WAITS[1])
        self.note(f"{count + 1} of {LIMIT}"[:40])
        for row in ROWS:
            if row == "b":
                continue
        return count + 1 < LIMIT
'''
CHANGES = {
    "row 'a' -> no row",
    "row 'b' -> no row",
    "1 -> 2",
    "2 -> 3",
    "True -> False",
    "condition count is None or not is_open -> True",
    "condition count is None or not is_open -> False",
    "count is None or not is_open -> count is None and (not is_open)",
    "count is None -> count is not None",
    "not is_open -> is_open",
    "False -> True",
    "await self.clock.sleep(WAITS[1]) -> pass",
    "self.note(f'{count + 1} of {LIMIT}'[:40]) -> pass",
    "condition row == 'b' -> True",
    "condition row == 'b' -> False",
    "row == 'b' -> row != 'b'",
    "continue -> break",
    "return count + 1 < LIMIT -> return None",
    "count + 1 < LIMIT -> count + 1 <= LIMIT",
    "count + 1 -> count - 1",
}


def test_each_operator_constant_branch_statement_and_row_is_a_fault() -> None:
    faults = find_faults("desk.py", SOURCE)
    assert {fault.change for fault in faults} == CHANGES
    assert len({fault.name for fault in faults}) == len(faults)


def test_each_fault_changes_the_code_and_leaves_code_that_compiles() -> None:
    for fault in find_faults("desk.py", SOURCE):
        tree = plant(SOURCE, fault)
        compile(tree, "desk.py", "exec")
        assert ast.unparse(tree) != ast.unparse(ast.parse(SOURCE)), fault


def test_a_fault_keeps_its_name_when_the_code_around_it_moves() -> None:
    moved = SOURCE.replace("class Desk", "def first() -> int:\n    return 1\n\nclass Desk")
    names = {fault.name for fault in find_faults("desk.py", SOURCE)}
    assert names < {fault.name for fault in find_faults("desk.py", moved)}


def test_a_seed_draws_the_same_faults_each_time() -> None:
    drawn = draw([*TESTS], 50, seed=3)
    assert drawn == draw([*TESTS], 50, seed=3) != draw([*TESTS], 50, seed=4)
    assert len({fault.path for fault in drawn}) > 5


def test_tests_find_a_fault_that_they_look_at_and_miss_one_that_they_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted_sum.py").write_text("def total(a, b):\n    return a + b\n\ndef unused():\n    return 1\n")
    test = tmp_path / "test_sum.py"
    test.write_text("from planted_sum import total\ndef test_total():\n    assert total(2, 3) == 5\n")
    monkeypatch.setattr(judging, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    verdicts = {}
    for fault in find_faults("planted_sum.py", (tmp_path / "planted_sum.py").read_text()):
        trial = judging.begin(fault, (test.name,), cpu_seconds=60.0)
        [ended] = judging.wait_for_one([trial])
        verdicts[fault.change] = ended.end()
    assert verdicts == {
        "return a + b -> return None": "killed",
        "a + b -> a - b": "killed",
        "return 1 -> return None": "survived",
        "1 -> 2": "survived",
    }


@pytest.mark.parametrize(
    ("waiting", "cpu_seconds", "idle_seconds"),
    [("while True: pass", 1.0, 60.0), ("time.sleep(60)", 60.0, 1.0)],
)
def test_a_trial_ends_when_it_uses_too_much_of_a_processor_or_only_waits(
    waiting: str, cpu_seconds: float, idle_seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_waiting.py").write_text(f"import time\ndef test_waiting():\n    {waiting}\n")
    monkeypatch.setattr(judging, "ROOT", tmp_path)
    monkeypatch.setattr(judging, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(judging, "MAX_IDLE_SECONDS", idle_seconds)
    trial = judging.begin(None, ("test_waiting.py",), cpu_seconds=cpu_seconds)
    [ended] = judging.wait_for_one([trial])
    assert ended.end() == "timed out"


def test_the_files_and_their_tests_are_there() -> None:
    named = {*TESTS, *(test for tests in TESTS.values() for test in tests)}
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_what_is_listed_as_equivalent_is_a_fault_of_a_listed_file() -> None:
    names = {fault.name for fault in walk_files([*TESTS])}
    assert [name for name in load_equivalent() if name not in names] == []
