"""The product as a child process: started, watched, killed and started again. It knows it only by its command.

On Linux the child dies with this process, however that ends. Elsewhere it outlives a SIGKILL of this process.
"""

import asyncio
import ctypes
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

STOP_SECONDS = 40.0
"""How long the program may take to end in good order: twice what it gives itself."""
READY_SECONDS = 90.0
"""How long it may take to become ready; the first knowledge base is built in this time."""
POLL_SECONDS = 0.1

_PR_SET_PDEATHSIG = 1


class NotReady(Exception):
    """The program ended, or did not become ready; the message says which."""


@dataclass(slots=True)
class Program:
    """One program and its present process, if any."""

    command: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    log: Path
    """Everything it prints, all its lives one after the other."""
    health: str
    """The address that answers 200 once it is ready."""
    on_crash: Callable[[int, int], None] = lambda pid, status: None
    """Told process id and exit status when it ends without having been asked to."""
    on_asked: Callable[[str], None] = lambda what: None
    """Told `start`, `stop`, `kill` or `restart` when it is asked to."""
    _process: asyncio.subprocess.Process | None = field(default=None, init=False)
    _watcher: asyncio.Task[None] | None = field(default=None, init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def pid(self) -> int | None:
        """The process's id; None while there is none."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> None:
        """Start it unless it runs. FileNotFoundError and PermissionError as the operating system says."""
        self.on_asked("start")
        async with self._turn:
            await self._start()

    async def wait_ready(self, *, seconds: float = READY_SECONDS) -> None:
        """Return when it answers that it is ready. Raises NotReady."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), aiohttp.ClientSession() as session:
                while not await _answers(session, self.health):
                    if self._process is None or self._process.returncode is not None:
                        status = self._process.returncode if self._process else "none"
                        raise NotReady(f"it ended at its start (status {status})")
                    await asyncio.sleep(POLL_SECONDS)
                return
        raise NotReady(f"it was not ready within {seconds:g} s")

    async def stop(self) -> None:
        """End it in good order; past STOP_SECONDS, by force. Nothing it started stays behind."""
        self.on_asked("stop")
        async with self._turn:
            await self._stop()

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.on_asked("kill")
        async with self._turn:
            await self._end(signal.SIGKILL)

    async def restart(self) -> None:
        """End it in good order, if it runs, and start it."""
        self.on_asked("restart")
        async with self._turn:
            await self._stop()
            await self._start()

    def last_lines(self, count: int = 15) -> list[str]:
        """The end of its log."""
        if not self.log.exists():
            return []
        with self.log.open(encoding="utf-8", errors="replace") as lines:
            return [line.rstrip("\n") for line in deque(lines, maxlen=count)]

    async def _start(self) -> None:
        if self.pid is not None:
            return
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                cwd=self.directory,
                env=dict(self.environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # A session of its own: Ctrl-C reaches the world, which ends the program in good order.
                start_new_session=True,
                preexec_fn=dying_with_parent(),
            )
        self._watcher = asyncio.create_task(self._watch(self._process))

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        status = await process.wait()
        self.on_crash(process.pid, status)

    async def _stop(self) -> None:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._end(signal.SIGTERM)
        except TimeoutError:
            await self._end(signal.SIGKILL)

    async def _end(self, how: signal.Signals) -> None:
        """Signal it and wait; then sweep what it had started and left."""
        process = self._process
        if process is None:
            return
        if self._watcher:
            self._watcher.cancel()
        if process.returncode is None:
            process.send_signal(how)
            await process.wait()
        self._process = None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url, timeout=aiohttp.ClientTimeout(total=2)) as response:
            return response.status == 200
    except (aiohttp.ClientError, OSError):
        return False


def dying_with_parent() -> Callable[[], None] | None:
    """What the child runs before the program: ask the kernel to be killed when its parent is gone."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before the kernel was asked
            os._exit(1)

    return ask
