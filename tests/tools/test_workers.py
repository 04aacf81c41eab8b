"""Tests shared among processes: every report arrives, and a process that dies ends the run with a failure."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from tests.patience import patience

ROOT = Path(__file__).parents[2]
PASSES = """
import pytest

@pytest.fixture(scope="session", autouse=True)
def told(tmp_path_factory):
    yield
    print("left", file=open({left!r}, "a"))

@pytest.mark.parametrize("number", range(3))
def test_passes(number, tmp_path, capfd):
    print("printed")
    assert capfd.readouterr().out == "printed\\n"
"""
FAILS = "def test_fails():\n    assert 1 == 2\n"
DIES = "import os\n\ndef test_dies():\n    os._exit(7)\n"


async def run_pytest(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit status of pytest with two workers in this folder, and what it wrote."""
    command = (*("-m", "pytest", "-p", "tests.workers", "--workers", "2"), *arguments, "-c", "/dev/null", str(folder))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *command), cwd=ROOT, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    async with asyncio.timeout(patience(60)):
        out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


async def test_every_report_of_every_worker_arrives_and_each_leaves_its_fixtures(tmp_path: Path) -> None:
    folder, left = tmp_path / "tests", tmp_path / "left"
    folder.mkdir()
    for name in ("test_one.py", "test_two.py", "test_three.py"):
        (folder / name).write_text(PASSES.format(left=str(left)))
    (folder / "test_four.py").write_text(FAILS)
    status, told = await run_pytest(folder)
    assert status == 1
    assert "1 failed, 9 passed" in told
    assert "assert 1 == 2" in told
    assert left.read_text().splitlines() == ["left"] * 3


async def test_a_worker_that_dies_ends_the_run_and_the_test_that_it_ran_has_failed(tmp_path: Path) -> None:
    (tmp_path / "test_dies.py").write_text(DIES)
    (tmp_path / "test_waits.py").write_text("import time\n\ndef test_waits():\n    time.sleep(1000)\n")
    status, told = await run_pytest(tmp_path)
    assert status == 2
    assert "test_dies.py::test_dies" in told
    assert "its process ended with status 7" in told


async def test_as_many_failures_as_are_allowed_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_fails.py").write_text(FAILS)
    (tmp_path / "test_waits.py").write_text("import time\n\ndef test_waits():\n    time.sleep(1000)\n")
    status, told = await run_pytest(tmp_path, "-x")
    assert status == 1
    assert "1 failed" in told
