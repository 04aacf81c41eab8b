"""A fork server: one process imports the product and the demo once, and each that a story needs is a fork of it.

To start Python and import the product takes four seconds of CPU, and the stories start it a hundred times. A fork is
a process like any other: it has its own id, its own memory, and dies of SIGKILL. How a process starts, tests/faults
asks of those that are started as users start them.

    process = await start("-m", "demo", "--json", environment=os.environ, cwd=ROOT, output=asyncio.subprocess.PIPE)

`python -m tests.forkserver FD` is the server. It listens at the socket of that number, one connection for each
process: a line of JSON with the descriptors of the standard streams, answered by {"pid": n} and at the process's end
by {"status": n}.
"""

import asyncio
import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.desk.claim_patterns import load_wordings
from bot.desk.danger.finding import DangerFinder
from bot.desk.values import load_value_words
from bot.sentences import load_sentences
from demo.program import dying_with_parent
from tests.patience import patience

ROOT = Path(__file__).parents[1]
START_SECONDS = patience(60.0)
IMPORTED = (
    "bot.app",
    "bot.cli",
    "bot.turns.fleet",
    "chromadb",
    "demo.world",
    "sqlalchemy.dialects.postgresql.asyncpg",
    "sqlalchemy.dialects.sqlite.aiosqlite",
)
"""What a world imports sooner or later, here before it is forked."""
FORKED = ("bot", "demo")
"""The modules that are run in a fork; a child of a fork that runs one of them is a fork as well."""
REQUEST_BYTES = 1 << 20


@dataclass(slots=True)
class Forked:
    """A process of the fork server, as `asyncio.subprocess.Process` is one of its own."""

    pid: int
    stdout: asyncio.StreamReader | None
    _ended: asyncio.Task[int] = field(repr=False)

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for the signal that ended it; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    def send_signal(self, number: int) -> None:
        """Send it a signal; nothing when it is gone."""
        if not self._ended.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def wait(self) -> int:
        """Its exit status, once it has ended."""
        return await asyncio.shield(self._ended)


async def start(
    *arguments: str,
    environment: Mapping[str, str],
    cwd: Path,
    output: int | Any = DEVNULL,
    is_leader: bool = False,
) -> Forked:
    """Start `python ARGUMENTS`, of which `-m MODULE` is one; `output` is a file, PIPE, or DEVNULL for both streams.

    A pipe is for what is printed, and what is reported goes where the caller's goes. `is_leader`: in a session of its
    own. Raises TimeoutError.
    """
    return await _start(_address(), arguments, environment, cwd, output, is_leader)


async def _start(
    address: str, arguments: tuple[str, ...], environment: Mapping[str, str], cwd: Path, output: Any, is_leader: bool
) -> Forked:
    request = {
        "arguments": arguments,
        "environment": dict(environment),
        "cwd": str(cwd),
        "is_leader": is_leader,
        "address": address,
    }
    stdout: asyncio.StreamReader | None = None
    with socket.socket(socket.AF_UNIX) as asking, open(os.devnull, "r+b") as nothing:  # noqa: ASYNC230, PTH123
        asking.connect(address)
        if output == PIPE:
            stdout, streams = await _pipe()
            streams = [nothing.fileno(), streams[0], 2]
        else:
            both = nothing.fileno() if output == DEVNULL else output.fileno()
            streams = [nothing.fileno(), both, both]
        socket.send_fds(asking, [json.dumps(request).encode() + b"\n"], streams)
        if stdout is not None:
            os.close(streams[1])
        told, connection = await asyncio.open_unix_connection(sock=asking.dup())
    async with asyncio.timeout(START_SECONDS):
        line = await told.readline()
    assert line, "the fork server has ended: what it said is above"
    return Forked(json.loads(line)["pid"], stdout, asyncio.create_task(_status(told, connection)))


async def _pipe() -> tuple[asyncio.StreamReader, list[int]]:
    reading, writing = os.pipe()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
    )
    return reader, [writing]


async def _status(told: asyncio.StreamReader, connection: asyncio.StreamWriter) -> int:
    with closing(connection):
        line = await told.readline()
    return int(json.loads(line)["status"]) if line else -signal.SIGKILL


@functools.cache
def _address() -> str:
    """Where this process's fork server listens, which is started at the first question and ends with us."""
    folder = tempfile.mkdtemp(prefix="fork-")
    address = f"{folder}/socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.forkserver", str(listening.fileno())],
            cwd=ROOT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            pass_fds=[listening.fileno()],
            preexec_fn=dying_with_parent(),
        )
    atexit.register(_end, server, folder)
    return address


def _end(server: subprocess.Popen[bytes], folder: str) -> None:
    server.kill()
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Be the server, or, after a fork, what was asked for."""
    for name in IMPORTED:
        importlib.import_module(name)
    # What is read here need not be read in each that is forked.
    load_wordings()
    load_value_words()
    load_sentences()
    DangerFinder()
    gc.freeze()
    _become(_Server(int(sys.argv[1])).run())


class _Server:
    """Forks for every connection, and tells of every end."""

    def __init__(self, number: int) -> None:
        self._listening = socket.socket(fileno=number)
        self._woken, self._waking = socket.socketpair()
        for each in (self._woken, self._waking):
            each.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._callers: dict[int, socket.socket] = {}

    def run(self) -> Mapping[str, Any]:
        """Serve until killed; a fork returns with what it was asked to be, and nothing else of the server's."""
        die_with_us = dying_with_parent()
        signal.set_wakeup_fd(self._waking.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listening:
                    caller, _ = self._listening.accept()
                    request, streams = _read(caller)
                    pid = os.fork()
                    if not pid:
                        caller.close()
                        self._leave()
                        if die_with_us is not None:
                            die_with_us()
                        _use(streams)
                        return request
                    for stream in streams:
                        os.close(stream)
                    self._callers[pid] = caller
                    _tell(caller, {"pid": pid})
            with suppress(BlockingIOError):
                self._woken.recv(4_096)
            self._reap()

    def _reap(self) -> None:
        while self._callers and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with closing(self._callers.pop(ended[0])) as caller:
                _tell(caller, {"status": os.waitstatus_to_exitcode(ended[1])})

    def _leave(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for each in (self._listening, self._woken, self._waking, *self._callers.values()):
            each.close()


def _read(caller: socket.socket) -> tuple[dict[str, Any], list[int]]:
    text, streams, _, _ = socket.recv_fds(caller, REQUEST_BYTES, 3)
    while not text.endswith(b"\n"):
        text += caller.recv(REQUEST_BYTES)
    return json.loads(text), streams


def _tell(caller: socket.socket, what: Mapping[str, int]) -> None:
    with suppress(OSError):  # Whoever asked may be gone.
        caller.sendall(json.dumps(what).encode() + b"\n")


def _use(streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


def _become(request: Mapping[str, Any]) -> None:
    if request["is_leader"]:
        os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    arguments: list[str] = request["arguments"]
    at = arguments.index("-m")
    sys.argv = arguments[at + 1 :]
    if sys.argv[0] == "demo":
        _hand_on(request["address"])
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _hand_on(address: str) -> None:
    """Let the product that the world starts be a fork as well."""
    spawn = asyncio.create_subprocess_exec

    async def start_forked(program: str, *arguments: str, **options: Any) -> Any:
        if program != sys.executable or not {*arguments} & {*FORKED}:
            return await spawn(program, *arguments, **options)
        return await _start(
            address,
            arguments,
            options["env"],
            options["cwd"],
            options["stdout"],
            bool(options.get("start_new_session")),
        )

    asyncio.create_subprocess_exec = start_forked


if __name__ == "__main__":
    main()
