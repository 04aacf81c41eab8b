"""Files are read in a process of their own, since some are made to end, hang or exhaust whoever reads them.

`open_isolation` gives the builder's side, `Isolation`: one child at a time, started when the first file is to be read,
and again after one that did not survive its file. What the child may use is limited for it by the system, as far as
the system has such limits; where it has none, the deadline holds alone. reading.py is the child's side.

One line of JSON a message, over a pair of sockets. The builder sends what is to be done and the file's content; the
child answers a line for each find and one that says that this was all.
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
"""What the child runs."""
EXHAUSTED = 3
"""How the child ends when its memory is used up."""
LINE_BYTES = 400_000_000
"""The longest line of an answer: a whole document."""
CHILD_STOP_TIMEOUT = 2.0
"""What a child is given to end once nothing more is asked of it."""

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The variables that reach the child. Keys do not: it reads what strangers wrote."""

Task = Literal["documents", "sitemap"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may cost."""

    cpu_seconds: int = 60
    """Processor time. A PDF of 2,000 pages takes some 40 seconds."""
    wall_seconds: float = 240.0
    """Time by the clock, for whatever waits without using the processor."""
    memory_bytes: int = 1 << 30
    """Address space of the child, its own program of some 40 MB included. A table of 50 MB takes 650 MB."""
    pdf_memory_bytes: int = 256 << 20
    """The same while it reads a PDF, whose pages unpack to many times their size."""

    def memory_for(self, suffix: str) -> int:
        """Address space for a file of this kind."""
        return self.pdf_memory_bytes if suffix == ".pdf" else self.memory_bytes


DEFAULT_LIMITS = Limits()


class _ChildLost(Exception):
    """The child did not survive a file; the message is the reason."""

    def __init__(self, reason: str, *, is_certain: bool) -> None:
        super().__init__(reason)
        self.is_certain = is_certain
        """Whether it was this file, and not what earlier ones had left behind."""


@contextmanager
def open_isolation(limits: Limits = DEFAULT_LIMITS) -> Iterator["Isolation"]:
    """The isolation, ended with its child on leaving."""
    isolation = Isolation(limits)
    try:
        yield isolation
    finally:
        isolation.close()


class Isolation:
    """Made by `open_isolation`. For one thread."""

    def __init__(self, limits: Limits) -> None:
        """No child is started yet."""
        self._limits = limits
        self._child: _Child | None = None

    def read(self, file: SourceFile, content: bytes) -> list[Document | Quarantined]:
        """The documents of a file; what cannot be used, or costs too much to read, comes as Quarantined."""
        try:
            answers = self._ask("documents", content, path=file.path, suffix=file.full.suffix.lower())
        except Unfit as unfit:
            return [Quarantined(file.path, str(unfit))]
        return [Quarantined(**each["left_out"]) if "left_out" in each else Document(**each) for each in answers]

    def read_sitemap(self, content: bytes) -> tuple[bool, list[str]]:
        """Whether the addresses are those of further sitemaps, and the addresses. Raises Unfit."""
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
        """What the child answers. Raises Unfit when a child has been lost to the content."""
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
            # What is left of an answer would be taken for that to the next question.
            self.close()
            raise


class _Child:
    """One process that reads files."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._answered = 0
        ours, theirs = socket.socketpair()
        with theirs:
            given = ("--socket", str(theirs.fileno()))
            environment = {name: value for name, value in os.environ.items() if name in _PASSED_ON}
            # Its heap in one piece: each further arena would take 64 MB of its address space.
            environment |= {"PYTHONUTF8": "1", "MALLOC_ARENA_MAX": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
            try:
                self._process = subprocess.Popen(
                    (sys.executable, "-P", *PROGRAM, *given),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    cwd="/",
                    env=environment,
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
            # It ended while it was written to, or in the middle of a line: how, is seen below.
            pass
        raise self._lost(memory)

    def close(self) -> None:
        """End it: gently, since it has nothing to do, or else at once."""
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
        """Why it ended."""
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
