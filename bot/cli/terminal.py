"""Words on a terminal: how far a build is, and Slack's markup as plain text."""

import html
import re
import shutil
import time
from collections.abc import Callable
from typing import TextIO

from bot.help_center import status_texts
from knowledge.build.report import Phase, Progress

MIN_SHARE = 0.05
"""Share of a phase that must be done before the rest of its time is estimated."""
MIN_SECONDS = 1.0
"""Seconds of a phase before the rest of its time is estimated."""


class ProgressLine:
    """Shows the progress of a build. `clock` counts seconds."""

    def __init__(self, to: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Write to `to`. Nothing is written before the first progress."""
        self._to = to
        self._clock = clock
        self._phase: Phase | None = None
        self._since = 0.0
        self._is_terminal = to.isatty()

    def __call__(self, progress: Progress) -> None:
        """Show the progress."""
        is_new = progress.phase != self._phase
        if is_new:
            self._phase, self._since = progress.phase, self._clock()
        if self._is_terminal:
            # A line that wraps could not be replaced.
            width = shutil.get_terminal_size().columns - 1
            line = f"{status_texts.progress(progress).replace('`', '')}{self._left(progress)}"
            self._write(f"\r\x1b[K{line[:width]}")
        elif is_new:
            self._write(f"{status_texts.phase(progress)}\n")

    def end(self) -> None:
        """Clear the line."""
        if self._is_terminal and self._phase:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self._to.write(text)
        self._to.flush()

    def _left(self, progress: Progress) -> str:
        """The time that the rest of the phase takes at its present pace. Empty while that says little."""
        past = self._clock() - self._since
        if not progress.of or progress.done < MIN_SHARE * progress.of or past < MIN_SECONDS:
            return ""
        seconds = past * (progress.of - progress.done) / progress.done
        return f", {seconds:.0f} s left" if seconds < 100 else f", {seconds / 60:.0f} min left"


def as_plain(mrkdwn: str) -> str:
    """Slack's markup as a terminal shows it: dates by their fallback, no stars, no entities."""
    text = re.sub(r"<!date\^[^|>]*\|([^>]*)>", r"\1", mrkdwn)
    return html.unescape(text.replace("*", "").replace("`", "").replace(":warning:", "!"))
