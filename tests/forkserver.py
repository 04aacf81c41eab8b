"""A fork server: one process imports the product and the demo once, and each that a story needs is a fork of it.

To start Python and import the product takes four seconds of CPU, and the stories start it a hundred times. A fork is
a process like any other: it has its own id, its own memory, and dies of SIGKILL. How a process starts, tests/faults
asks of those that are started as users start them.

    process = await start("-m", "demo", "--json", env=os.environ, cwd=ROOT, stdout=asyncio.subprocess.PIPE)

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
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import create_async_engine

from bot.desk.danger.classifier import load_classifier
from bot.guard.claim_patterns import load_wordings
from bot.guard.values import load_value_words
from bot.language.matching import load_matchers
from bot.language.sentences import load_sentences
from bot.models.http_stream import load_certificates
from bot.store import database as databases
from demo.program import dying_with_parent
from tests.doubles.engines import sharing_statements
from tests.patience import patience

ROOT = Path(__file__).parents[1]
START_SECONDS = patience(60.0)
IMPORTED = (
    "bot.app",
    "bot.cli.main",
    "bot.ingest.fleet",
    "chromadb.api.rust",
    "chromadb.cli.cli",
    "demo.world",
    "httpcore2",
    "knowledge.build.calibration",
    "knowledge.build.secrets",
    "knowledge.build.withholding",
    "knowledge.embedding.folder",
    "knowledge.embedding.kept",
    "numpy.ma",
    "openai.resources.chat",
    "slack_bolt.listener_matcher.async_builtins",
    "sqlalchemy.dialects.postgresql.asyncpg",
    "sqlalchemy.dialects.sqlite.aiosqlite",
)
"""What a world imports sooner or later, here before it is forked."""
BUILDER = "knowledge.build.process"
CHROMA = "tests.doubles.chroma_run"
FORKED = ("bot", "demo", BUILDER, CHROMA)
"""The modules that are run in a fork."""
OPTIONS = {"stdin", "stdout", "stderr", "cwd", "env", "limit", "start_new_session", "preexec_fn"}
"""What may be asked of a fork. What runs before a program only sees to it that it dies with us, as a fork does."""
END_OF_PIPES_SECONDS = 1.0
"""How long the end of a pipe is waited for when its process has ended: a child of its own may hold it."""
LINE_BYTES = 65_536
PYTHON = sys.executable
REQUEST_BYTES = 1 << 20


@dataclass(slots=True)
class Forked:
    """A process of the fork server, as `asyncio.subprocess.Process` is one of its own."""

    pid: int
    stdin: asyncio.StreamWriter | None
    stdout: asyncio.StreamReader | None
    stderr: asyncio.StreamReader | None
    _ended: asyncio.Future[int] = field(repr=False)
    _pipes: Sequence[asyncio.ReadTransport] = field(default=(), repr=False)

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for the signal that ended it; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    def send_signal(self, number: int) -> None:
        """Send it a signal; nothing when it is gone."""
        if not self._ended.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Its exit status, once it has ended and its pipes are at their end, unless a child of its own holds them."""
        status = await asyncio.shield(self._ended)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_OF_PIPES_SECONDS):
                while not all(pipe.is_closing() for pipe in self._pipes):  # noqa: ASYNC110 - a transport tells nobody
                    await asyncio.sleep(0.001)
        # A pipe that is still open when the loop ends is left to the garbage collector, which warns.
        for pipe in self._pipes:
            pipe.close()
        await asyncio.sleep(0)
        return status

    async def communicate(self, given: bytes = b"") -> tuple[bytes | None, bytes | None]:
        """Give it this to read, and nothing more; what it wrote to those streams that are pipes, once it has ended."""
        if self.stdin is not None:
            self.stdin.write(given)
            self.stdin.close()
        streams = (self.stdout, self.stderr)
        out, err = await asyncio.gather(*(stream.read() if stream else _nothing() for stream in streams))
        await self.wait()
        return out, err


async def start(*arguments: str, **options: Any) -> Forked:
    """Start `python ARGUMENTS`, with `-m MODULE` or `-c PROGRAM` among them; the options are those of
    `create_subprocess_exec`.

    Raises TimeoutError or OSError.
    """
    return await _start(listening_at(), arguments, **options)


def in_place_of(spawn: Callable[..., Awaitable[Any]], *, address: str = "") -> Callable[..., Awaitable[Any]]:
    """`asyncio.create_subprocess_exec` with forks of what is forked here, and the real one for the rest."""

    async def create_subprocess_exec(program: str, *arguments: str, **options: Any) -> Any:
        is_known = program == PYTHON and "-m" in arguments and _module(arguments)[0] in FORKED
        if not is_known or not options.keys() <= OPTIONS:
            return await spawn(program, *arguments, **options)
        options.pop("preexec_fn", None)
        return await _start(address or listening_at(), arguments, **options)

    return create_subprocess_exec


async def _start(
    address: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    stdin: Any = DEVNULL,
    stdout: Any = None,
    stderr: Any = None,
    limit: int = LINE_BYTES,
    start_new_session: bool = False,
) -> Forked:
    request = {
        "arguments": arguments,
        "environment": dict(os.environ if env is None else env),
        "cwd": str(cwd or Path.cwd()),
        "is_leader": start_new_session,
        "address": address,
    }
    ours: list[Any] = []
    pipes: list[asyncio.ReadTransport] = []
    with ExitStack() as unused, ExitStack() as given, socket.socket(socket.AF_UNIX) as asking:
        asking.connect(address)
        theirs: list[int] = []
        for number, wanted in enumerate((stdin, stdout, stderr)):
            if wanted == STDOUT:
                pipe, stream = None, theirs[1]
            else:
                pipe, stream = await _stream(number, wanted, given, unused, limit, pipes)
            ours.append(pipe)
            theirs.append(stream)
        socket.send_fds(asking, [json.dumps(request).encode() + b"\n"], theirs)
        given.close()
        told = _Told()
        await asyncio.get_running_loop().create_unix_connection(lambda: told, sock=asking.dup())
        async with asyncio.timeout(START_SECONDS):
            pid = await told.started
        unused.pop_all()
    stdin_pipe, stdout_pipe, stderr_pipe = ours
    if stdin_pipe is not None:
        told.ended.add_done_callback(lambda _: stdin_pipe.close())
    return Forked(pid, stdin_pipe, stdout_pipe, stderr_pipe, told.ended, pipes)


class _Told(asyncio.Protocol):
    """What the server tells of one process."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[int] = loop.create_future()
        self.ended: asyncio.Future[int] = loop.create_future()
        self._text = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            told = json.loads(line)
            if "pid" in told:
                self.started.set_result(told["pid"])
            else:
                # Before anybody hears of the end: the loop may end with it.
                self._transport.close()
                self.ended.set_result(told["status"])

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.started.done():
            self.started.set_exception(exc or EOFError("the fork server has ended"))
        elif not self.ended.done():
            self.ended.set_result(-signal.SIGKILL)


async def _stream(
    number: int, wanted: Any, given: ExitStack, unused: ExitStack, limit: int, pipes: list[asyncio.ReadTransport]
) -> tuple[Any, int]:
    """Our end of a standard stream, None unless it is a pipe; and the process's, which is closed with `given`.

    Our end is closed with `unused`. What is read from is put into `pipes` as well.
    """
    if wanted is None:
        return None, number
    if wanted == DEVNULL:
        nothing = os.open(os.devnull, os.O_RDWR)
        given.callback(os.close, nothing)
        return None, nothing
    if wanted != PIPE:
        return None, wanted if isinstance(wanted, int) else wanted.fileno()
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    reader = asyncio.StreamReader(limit=limit)
    if number == 0:
        given.callback(os.close, reading)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(writing, "wb"))
        unused.callback(transport.close)
        return asyncio.StreamWriter(transport, protocol, None, loop), reading
    given.callback(os.close, writing)
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb"))
    unused.callback(pipe.close)
    pipes.append(pipe)
    return reader, writing


async def _nothing() -> None:
    return None


def _module(arguments: Sequence[str]) -> list[str]:
    """The module that is run, and what is told to it."""
    return list(arguments[list(arguments).index("-m") + 1 :])


def _program(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The text that is run instead of a module, empty when it is a module; and what is told to either."""
    kind = next(each for each in arguments if each in ("-m", "-c"))
    named, *told = arguments[list(arguments).index(kind) + 1 :]
    return (named, [kind, *told]) if kind == "-c" else ("", [named, *told])


@functools.cache
def listening_at() -> str:
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
            # At its end the server ends as well; a signal at our death would come when the thread ends that is here.
            stdin=subprocess.PIPE,
            pass_fds=[listening.fileno()],
        )
    atexit.register(_end, server, folder)
    return address


def _end(server: subprocess.Popen[bytes], folder: str) -> None:
    with server:
        server.kill()
    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Be the server, or, after a fork, what was asked for."""
    for name in IMPORTED:
        importlib.import_module(name)
    # What is read here need not be read in each that is forked.
    load_wordings()
    load_matchers()
    load_value_words()
    load_sentences()
    load_classifier()
    load_certificates()
    databases.create_async_engine = sharing_statements(create_async_engine)  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_migrate(f"sqlite+aiosqlite:///{folder}/frontdesk.db"))
    gc.freeze()
    _become(_Server(int(sys.argv[1])).run())


async def _migrate(url: str) -> None:
    """Make a database, so that what a migration imports and compiles is here."""
    async with databases.open_database(url) as database:
        await database.migrate()


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
        self._selector.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    sys.exit()
                if key.fileobj is self._listening:
                    caller, _ = self._listening.accept()
                    request, streams = _read(caller)
                    pid = os.fork() if request else None
                    if request and not pid:
                        caller.close()
                        self._leave()
                        if die_with_us is not None:
                            die_with_us()
                        _use(streams)
                        return request
                    for stream in streams:
                        os.close(stream)
                    if pid:
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


def _read(caller: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """What is asked for, and the descriptors of its standard streams; None when whoever called has hung up."""
    text, streams = b"", list[int]()
    with suppress(ConnectionError):
        text, streams, _, _ = socket.recv_fds(caller, REQUEST_BYTES, 3)
        while not text.endswith(b"\n") and (more := caller.recv(REQUEST_BYTES)):
            text += more
    return json.loads(text) if text.endswith(b"\n") else None, streams


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
    program, sys.argv = _program(request["arguments"])
    if program:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
        return
    if sys.argv[0] == "demo":
        # The product that the world starts is a fork as well.
        forking = in_place_of(asyncio.create_subprocess_exec, address=request["address"])
        asyncio.create_subprocess_exec = forking  # type: ignore[assignment]
    if sys.argv[0] == BUILDER:
        # On a busy machine whoever yields to everybody does not come to its end while a test waits for it.
        os.nice = lambda increment, /: 0
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
