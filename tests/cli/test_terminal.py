"""The line that shows how far a build is."""

import io

import pytest

from bot.cli.terminal import ProgressLine
from knowledge.build.report import Progress


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Always."""
        return True

    def shown(self) -> str:
        """The line as it is now."""
        return self.getvalue().rpartition("\x1b[K")[2]


class Seconds:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def test_a_terminal_shows_what_is_counted_and_the_time_that_is_left() -> None:
    terminal, clock = Terminal(), Seconds()
    line = ProgressLine(terminal, clock=clock)
    line(Progress("read", 0, 400))
    assert terminal.shown().endswith("reading, 0 of 400 files")
    clock.now = 10.0
    line(Progress("read", 100, 400))
    assert terminal.shown().endswith("reading, 100 of 400 files, 30 s left")
    line(Progress("embed", 0, 2_300))
    clock.now = 10.5
    line(Progress("embed", 1_000, 2_300))
    assert terminal.shown().endswith("embedding, 1,000 of 2,300 passages"), "too early to say"
    line.end()
    assert terminal.shown() == ""
    assert "\n" not in terminal.getvalue()


def test_a_narrow_terminal_gets_a_line_that_does_not_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    ProgressLine(terminal)(Progress("embed", 1_000, 2_300))
    assert len(terminal.shown()) == 29


def test_elsewhere_each_phase_is_a_line() -> None:
    to = io.StringIO()
    line = ProgressLine(to)
    for progress in (Progress("scan"), Progress("read", 0, 3), Progress("read", 2, 3), Progress("cut", 0, 3)):
        line(progress)
    line.end()
    assert to.getvalue() == "looking for changes\nreading 3\ncutting into passages 3\n"
