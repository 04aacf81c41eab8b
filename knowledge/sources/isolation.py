"""Files are read in a process of their own, since some are made to end, hang or exhaust the process that reads them.

`open_isolation` gives the builder's side, `Isolation`. It has one child at a time, which starts with the first file,
and again after a file that the child did not survive. The system limits what the child may use, as far as it has these
limits; without them, only the deadline holds. reading.py is the child's side.

Messages are lines of JSON over a pair of sockets. The builder sends the request and then the file's content. The child
answers one line for each find, and one that says that this was all.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from knowledge.documents import Document
from knowledge.errors import KnowledgeError
from knowledge.sources.files import Quarantined, SourceFile, Unfit

PROGRAM = ("-m", "knowledge.sources.reading")
"""The arguments for Python that run the child."""
EXHAUSTED = 3
"""The child's exit code when its memory is used up."""
LINE_BYTES = 400_000_000
"""Bytes of the longest line of an answer: a whole document."""
CHILD_STOP_TIMEOUT = 2.0
"""Seconds that a child has to end once no more requests come."""

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The variables that reach the child."""

Task = Literal["documents", "sitemap"]


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one file may cost."""

    cpu_seconds: int = 60
    """Seconds of processor time. A PDF of 2,000 pages takes some 3."""
    wall_seconds: float = 240.0
    """Seconds by the clock, for files that wait without using the processor."""
    memory_bytes: int = 1 << 30
    """Bytes of the child's address space, including some 40 MB for its own program. A table of 50 MB takes 650 MB."""
    pdf_memory_bytes: int = 256 << 20
    """Bytes of its address space while it reads a PDF, whose pages unpack to many times their size."""

    def memory_for(self, suffix: str) -> int:
        """Bytes of address space for a file of this kind."""
        return self.pdf_memory_bytes if suffix == ".pdf" else self.memory_bytes


DEFAULT_LIMITS = ReadingLimits()


class _ChildLost(Exception):
    """The child did not survive a file. The message is the reason."""

    def __init__(self, reason: str, *, is_certain: bool) -> None:
        super().__init__(reason)
        self.is_certain = is_certain
        """Whether this file is the cause, and not what earlier files had left behind."""


@contextmanager
def open_isolation(limits: ReadingLimits = DEFAULT_LIMITS) -> Iterator["Isolation"]:
    """Open the isolation. Leaving the context ends its child."""
    isolation = Isolation(limits)
    try:
        yield isolation
    finally:
        isolation.close()


class Isolation:
    """Reads files in a child. `open_isolation` makes it, for one thread."""

    def __init__(self, limits: ReadingLimits) -> None:
        """Store the limits; no child is started yet."""
        self._limits = limits
        self._child: _Child | None = None

    def read(self, file: SourceFile, content: bytes, *, component: str = "") -> list[Document | Quarantined]:
        """The documents of a file. What cannot be used, or costs too much to read, comes as Quarantined.

        `component` is the text of the `antora.yml` that the file belongs to.
        """
        try:
            asked = {"path": file.path, "suffix": file.full.suffix.lower(), "url": file.url, "charset": file.charset}
            asked |= {"component": component} if component else {}
            answers = self._ask("documents", content, **asked)
        except Unfit as unfit:
            return [Quarantined(file.path, str(unfit))]
        return [Quarantined(**each["left_out"]) if "left_out" in each else Document(**each) for each in answers]

    def read_sitemap(self, content: bytes) -> tuple[bool, list[str]]:
        """Return whether the addresses are those of further sitemaps, and the addresses. Raises Unfit."""
        (answer,) = self._ask("sitemap", content)
        if "left_out" in answer:
            raise Unfit(answer["left_out"]["reason"])
        return answer["is_index"], answer["addresses"]

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _ask(self, task: Task, content: bytes, **more: str) -> list[dict[str, Any]]:
        """The child's answers. Raises Unfit if a child did not survive the content."""
        try:
            return self._ask_once(task, content, more)
        except _ChildLost as lost:
            if lost.is_certain:
                raise Unfit(str(lost)) from None
        try:
            return self._ask_once(task, content, more)
        except _ChildLost as lost:
            raise Unfit(str(lost)) from None

    def _ask_once(self, task: Task, content: bytes, more: Mapping[str, str]) -> list[dict[str, Any]]:
        if self._child is None:
            self._child = _Child(self._limits)
        child = self._child
        try:
            return child.ask({"task": task, "size": len(content), **more}, content)
        except BaseException:
            # The rest of an answer would be taken for the answer to the next request.
            self.close()
            raise


def reader_environment() -> dict[str, str]:
    """The variables of a process that reads what strangers wrote: none of ours that could hold a key."""
    passed_on = {name: value for name, value in os.environ.items() if name in _PASSED_ON}
    # One heap: each further arena would take 64 MB of the child's address space.
    return passed_on | {"PYTHONUTF8": "1", "MALLOC_ARENA_MAX": "1", "PYTHONPATH": str(Path(__file__).parents[2])}


class _Child:
    """One process that reads files."""

    def __init__(self, limits: ReadingLimits) -> None:
        self._limits = limits
        self._answered = 0
        ours, theirs = socket.socketpair()
        with theirs:
            given = ("--socket", str(theirs.fileno()))
            try:
                self._process = subprocess.Popen(
                    (sys.executable, "-P", *PROGRAM, *given),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    cwd="/",
                    env=reader_environment(),
                )
            except BaseException:
                ours.close()
                raise
        self._socket = ours
        self._lines: BinaryIO = ours.makefile("rb")

    def ask(self, request: Mapping[str, Any], content: bytes) -> list[dict[str, Any]]:
        """The answers to one request. Raises _ChildLost."""
        self._socket.settimeout(self._limits.wall_seconds)
        memory = self._limits.memory_for(request.get("suffix", ""))
        request = {**request, "cpu_seconds": self._limits.cpu_seconds, "memory_bytes": memory}
        answers: list[dict[str, Any]] = []
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            self._socket.sendall(content)
            while line := self._lines.readline(LINE_BYTES):
                answer = json.loads(line)
                if answer is None:
                    self._answered += 1
                    return answers
                answers.append(answer)
        except TimeoutError:
            raise _ChildLost(_too_long(self._limits.wall_seconds), is_certain=True) from None
        except (ConnectionError, ValueError):
            # The child ended while the request was being written, or in the middle of a line. `_lost` finds out how.
            pass
        raise self._lost(memory)

    def close(self) -> None:
        """End the child: gently if it has answered everything, otherwise at once."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._socket.close()
        if self._answered:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(CHILD_STOP_TIMEOUT)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _lost(self, memory_bytes: int) -> Exception:
        """The error that says why the child ended."""
        try:
            code = self._process.wait(CHILD_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            return KnowledgeError("The process that reads files answered something else.")
        if code == -signal.SIGXCPU:
            return _ChildLost(_too_long(self._limits.cpu_seconds), is_certain=True)
        if code == EXHAUSTED:
            reason = f"takes more than {memory_bytes >> 20} MB of memory to read"
        elif code < 0:
            reason = f"ended the process that read it ({signal.Signals(-code).name})"
        else:
            reason = f"ended the process that read it (status {code})"
        return _ChildLost(reason, is_certain=not self._answered)


def _too_long(seconds: float) -> str:
    return f"took longer than {seconds:g} s to read"
