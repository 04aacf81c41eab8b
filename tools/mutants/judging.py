"""Runs the tests of a file while one of its modules has a fault, in a fork of a process that imports nothing of ours.

mutmut 3 leaves constants, tables and decorated functions alone, and cosmic-ray changes the checkout and starts Python
for each fault. Here the fault is in the memory of one process, and the checkout stays as it is.
"""

import importlib
import math
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from time import monotonic
from types import CodeType
from typing import Literal

import pytest

from demo.program import dying_with_parent
from tools.mutants.faults import ROOT, Fault, plant

Verdict = Literal["killed", "timed out", "survived"]

MAX_IDLE_SECONDS = 60.0
"""A trial only waits, and ends, if no test has ended while it was idle for so long. Time in which it runs or waits for
a processor does not count, so that a busy machine ends nothing."""
LOOK_SECONDS = 2.0
"""How often a running trial is looked at."""

IMPORTED = (
    *("aiohttp.web", "aiosqlite", "alembic.command", "chromadb", "jmespath", "numpy", "openai", "orjson"),
    *("PIL.Image", "prometheus_client", "pydantic", "slack_bolt.async_app", "sqlalchemy.ext.asyncio", "tokenizers"),
)
"""What the tests import sooner or later, and what no fault is in."""
OPTIONS = (
    *("-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-k", "not postgres"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *("-m", "not twin and not long and not chaos"),
)
"""The first failure is enough, contracts included. A test that runs on SQLite and on Postgres judges on SQLite.
Pytest's plugins among the libraries are imported already."""
_NO_TESTS = {pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR}


@dataclass(slots=True, eq=False)
class Trial:
    """The tests of one fault while they run, or of no fault."""

    fault: Fault | None
    tests: tuple[str, ...]
    process: ForkProcess
    folder: Path
    began: float
    _idle: float = 0.0
    """The seconds in which it was idle since pytest wrote something."""
    _written: int = 0
    _looked: float = 0.0
    _active: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return monotonic() - self.began

    @property
    def cpu_seconds(self) -> float:
        """What the tests and their processes have used of a processor. 0.0 if they have not ended by themselves."""
        written = self.folder / "cpu"
        return float(written.read_text()) if written.is_file() else 0.0

    def only_waits(self) -> bool:
        """Look at it once more, and say whether it only waits. Pytest writes a character for each test."""
        now, active = monotonic(), _active_seconds(self.process.pid or 0)
        written = (self.folder / "output").stat().st_size
        passed = min(now - self._looked, 2 * LOOK_SECONDS) if self._looked else 0.0
        idle = max(0.0, passed - max(0.0, active - self._active))
        self._idle = 0.0 if written > self._written else self._idle + idle
        self._written, self._looked, self._active = written, now, active
        return self._idle > MAX_IDLE_SECONDS

    def output(self) -> str:
        """The last lines that pytest has written so far."""
        return (self.folder / "output").read_text("utf-8", "replace")[-2000:]

    def end(self) -> Verdict:
        """Its verdict, once its process has ended or only waits. Raises RuntimeError when no test ran."""
        is_late = self.process.is_alive() or self.process.exitcode == -signal.SIGXCPU
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.join()
        output = self.output()
        shutil.rmtree(self.folder, ignore_errors=True)
        code = self.process.exitcode
        if not is_late and code in _NO_TESTS:
            raise RuntimeError(f"no test ran for {self.fault}: {' '.join(self.tests)}\n{output}")
        if is_late:
            return "timed out"
        return "killed" if code else "survived"


def import_libraries() -> None:
    """Import what every trial needs, once."""
    for name in IMPORTED:
        importlib.import_module(name)


def begin(fault: Fault | None, tests: tuple[str, ...], *, cpu_seconds: float) -> Trial:
    """Start the tests of a fault in a process of their own. It ends when it has used so much of a processor."""
    folder = Path(tempfile.mkdtemp(prefix="frontdesk-fault-"))
    (folder / "output").touch()
    arguments = (fault, tests, folder, math.ceil(cpu_seconds), dying_with_parent())
    process = multiprocessing.get_context("fork").Process(target=_run, args=arguments)
    process.start()
    return Trial(fault, tests, process, folder, monotonic())


def wait_for_one(running: Sequence[Trial]) -> list[Trial]:
    """The trials that have ended or only wait, as soon as there is one."""
    while True:
        ended = wait([trial.process.sentinel for trial in running], timeout=LOOK_SECONDS)
        for trial in running:
            if trial.process.sentinel in ended:
                trial.process.join()  # Its files close a moment before it has ended.
        if found := [trial for trial in running if trial.process.sentinel in ended or trial.only_waits()]:
            return found


def make_faulty(fault: Fault) -> None:
    """Let whoever imports the fault's module from now on have it with the fault."""
    source = (ROOT / fault.path).read_text("utf-8")
    code = compile(plant(source, fault), str(ROOT / fault.path), "exec")
    name = fault.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if name in sys.modules:
        raise RuntimeError(f"{name} is imported already")
    sys.meta_path.insert(0, _Finder(name, ROOT / fault.path, code))


class _Finder(MetaPathFinder):
    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name = name
        self._path = path
        self._code = code

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return spec_from_file_location(fullname, self._path, loader=_Loader(fullname, str(self._path), self._code))


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


def _run(
    fault: Fault | None,
    tests: tuple[str, ...],
    folder: Path,
    cpu_seconds: int,
    die_with_parent: Callable[[], None] | None,
) -> None:
    os.setpgid(0, 0)
    if die_with_parent is not None:
        die_with_parent()
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    with (folder / "output").open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    # Each process that the tests start has as much: one without an end is enough to be found.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 10))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if fault is not None:
        make_faulty(fault)
    code = pytest.main([*OPTIONS, *(str(ROOT / test) for test in tests)])
    (folder / "cpu").write_text(str(_cpu_seconds()))
    os._exit(code)  # Some tests leave threads behind; nobody waits for them.


def _active_seconds(process: int) -> float:
    """The seconds in which the threads of a process ran or waited for a processor. 0.0 where the system has no such
    figures."""
    nanoseconds = 0
    for figures in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with suppress(OSError):
            nanoseconds += sum(map(int, figures.read_text().split()[:2]))
    return nanoseconds / 1e9


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
