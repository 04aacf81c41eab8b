"""Share the tests of one run among several processes: `pytest --workers 4`.

This process collects once and forks. Each worker takes one file of tests after the other and tells of every report; a
collection of its own, as each worker of pytest-xdist makes, would cost it ten seconds of CPU. A worker that dies ends
the run: what it had begun would be waited for without end.

Some files mostly wait, for other processes and for deadlines, and the others compute. Half of the workers begin with
the former and half with the latter, so that both are always under way.
"""

import gc
import multiprocessing
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby, pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest

from demo.program import dying_with_parent

WAITING = frozenset(("actions", "cases", "cli", "faults", "ingest", "store", "stories", "turns"))
"""The folders of tests that mostly wait."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, metavar="N", help="share the files of tests among N processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run everything that was collected; None when it is for pytest itself to run it."""
    options = session.config.option
    if not options.workers or options.collectonly or session.testsfailed:
        return None
    files = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
    with _workers(session, files, count=min(options.workers, len(files))) as workers:
        _share(session, files, workers)
    return True


def _share(session: pytest.Session, files: Sequence[Sequence[pytest.Item]], workers: "Sequence[_Worker]") -> None:
    """Hand out the files and pass the reports on.

    Raises Interrupted when a worker dies, and Failed when enough has failed.
    """
    hook, config = session.config.hook, session.config
    numbers = range(len(files))
    waits = [not WAITING.isdisjoint(items[0].nodeid.split("/")) for items in files]
    waiting = deque(number for number in numbers if waits[number])
    computing = deque(number for number in numbers if not waits[number])
    running = {worker.connection: worker for worker in workers}
    computers = {worker.connection for worker in workers[1::2]}
    while running:
        for worker in [running[ready] for ready in wait([*running]) if ready in running]:
            try:
                kind, told = worker.connection.recv()
            except EOFError:
                worker.process.join()
                del running[worker.connection]
                if worker.process.exitcode:
                    hook.pytest_runtest_logreport(report=worker.last_report())
                    raise session.Interrupted(f"a worker has ended with status {worker.process.exitcode}") from None
                continue
            match kind:
                case "begins":
                    worker.runs = told
                case "reports":
                    hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=config, data=told))
                case "asks":
                    left = computing or waiting if worker.connection in computers else waiting or computing
                    worker.connection.send(left.popleft() if left else None)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


class _Worker:
    """A process that runs tests, as the one that forked it sees it."""

    def __init__(self, process: ForkProcess, connection: Connection) -> None:
        self.process = process
        self.connection = connection
        self.runs: tuple[str, tuple[str, int | None, str]] = ("", ("", None, ""))
        """The id and the place of the test that it began last."""

    def last_report(self) -> pytest.TestReport:
        """What is said of a test that ended its process."""
        nodeid, location = self.runs
        words = f"its process ended with status {self.process.exitcode}"
        return pytest.TestReport(nodeid, location, {}, "failed", words, "call")


@contextmanager
def _workers(
    session: pytest.Session, files: Sequence[Sequence[pytest.Item]], *, count: int
) -> Iterator[Sequence[_Worker]]:
    """Processes that run tests; when the block is left there is none any more."""
    folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    context = multiprocessing.get_context("fork")
    workers: list[_Worker] = []
    gc.collect()
    gc.freeze()  # A collector that looks at everything in each worker would copy all of it.
    try:
        for number in range(count):
            ours, theirs = context.Pipe()
            others = [ours, *(worker.connection for worker in workers)]
            process = context.Process(
                target=_run,
                args=(session, files, theirs, others, folder / f"worker-{number}", dying_with_parent()),
            )
            with theirs, warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # A library may have threads, which do nothing yet.
                process.start()
            workers.append(_Worker(process, ours))
        yield workers
    finally:
        for worker in workers:
            worker.connection.close()
            worker.process.terminate()
            worker.process.join()
        gc.unfreeze()


def _run(
    session: pytest.Session,
    files: Sequence[Sequence[pytest.Item]],
    connection: Connection,
    others: Sequence[Connection],
    folder: Path,
    die_with_parent: Callable[[], None] | None,
) -> None:
    """Be a worker: run file after file until there is none left."""
    for other in others:
        other.close()
    if die_with_parent is not None:
        die_with_parent()
    _become_worker(session.config, connection, folder)

    def ask() -> Sequence[pytest.Item]:
        connection.send(("asks", None))
        number = connection.recv()
        return () if number is None else files[number]

    with connection, suppress(KeyboardInterrupt):
        items = ask()
        while items:
            for item, following in pairwise(items):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            # What comes next says which fixtures stay.
            last, items = items[-1], ask()
            session.config.hook.pytest_runtest_protocol(item=last, nextitem=items[0] if items else None)


def _become_worker(config: pytest.Config, connection: Connection, folder: Path) -> None:
    """Tell `connection` of each test instead of the terminal; what tests write and print is this process's own."""
    plugins = config.pluginmanager
    terminal = config.get_terminal_writer()
    for name in ("terminalreporter", "failure-reporter"):
        plugins.unregister(name=name)
    plugins.register(_Terminal(terminal), "terminalreporter")
    plugins.register(_Teller(config, connection))
    config.option.basetemp = folder
    config._tmp_path_factory = pytest.TempPathFactory.from_config(config, _ispytest=True)  # type: ignore[attr-defined]
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()


class _Terminal:
    """The terminal, for the stacks of a test that takes too long."""

    def __init__(self, writer: Any) -> None:
        self._tw = writer


class _Teller:
    """Tells of each test: that it begins, and every report."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config = config
        self._connection = connection

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._connection.send(("begins", (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("reports", data))
