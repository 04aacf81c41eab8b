"""Running the builder as a child process: one at a time. Requests that come while it runs share the next one."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from knowledge.audience import Audience
from knowledge.build.report import BuildReport, Phase, Progress
from knowledge.config import BuildOptions
from knowledge.embedding.recipe import Recipe
from knowledge.errors import BuildFailed, BuildRefused, BuildStopped

BUILD_SECONDS = 3_600.0
"""Seconds that a build may take. After that it is stopped."""
BUILDER_STOP_TIMEOUT = 5.0
"""Seconds that a builder has to stop by itself."""
LINE_BYTES = 8_000_000
"""Bytes of the longest line: a report may name many files that were left out."""
ERROR_BYTES = 4_000
"""Bytes from the end of the builder's standard error that are kept for the log."""

STOPPED = frozenset([143, -signal.SIGTERM, -signal.SIGINT])
"""The exit codes of a builder that was told to stop, before and after it has begun to listen. A signal may go to all
processes of a service at once, and then the builder's end is seen first."""

PASSED_ON = frozenset(
    [
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "LC_ALL",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "https_proxy",
        "http_proxy",
        "no_proxy",
    ]
)
"""The variables that reach the builder. Tokens do not, and neither does what Chroma would read as its settings."""

_PHASES = frozenset(get_args(Phase))

logger = logging.getLogger(__name__)

Listen = Callable[[Progress], None]


@dataclass(slots=True)
class _Request:
    """A build that has not begun, and all callers that wait for it."""

    arguments: tuple[str, ...]
    options: BuildOptions
    listeners: list[Listen] = field(default_factory=list)
    waiting: list[asyncio.Future[BuildReport]] = field(default_factory=list)


class Builder:
    """Starts builders and waits for them."""

    def __init__(self, root: Path, recipe: Recipe, *, chroma_url: str = "", learned: Path | None = None) -> None:
        """Generations go to `root`, and their vectors to the Chroma server if any. `recipe` makes the embedder.

        The folder `learned` is read beside the sources.
        """
        self._root = root.absolute()
        self._recipe = recipe
        self._server = ("--chroma-url", chroma_url) if chroma_url else ()
        self._learned = ("--learned", str(learned.absolute())) if learned else ()
        self._next: dict[str, _Request] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a build is running."""
        return self._task is not None and not self._task.done()

    async def build(
        self,
        source: Path,
        *,
        audience: Audience,
        options: BuildOptions,
        on_progress: Listen,
    ) -> BuildReport:
        """Build from the sources of one audience at `source`, or from only one of these.

        Requests that come while a build runs share a single one after it, which reads everything that any request
        needs. The build continues if its caller is cancelled. Raises BuildRefused or BuildFailed.
        """
        return await self._ask("build", _from(source, audience), options, listen=on_progress)

    async def repair(self) -> BuildReport:
        """Rebuild the vector index from the stored vectors. Raises BuildRefused or BuildFailed."""
        return await self._ask("repair", ("--repair",), BuildOptions(), listen=lambda progress: None)

    async def close(self) -> None:
        """Stop the running build and fail the waiting ones."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for request in self._next.values():
            _give_up(request, BuildStopped("The program ends."))
        self._next.clear()

    async def _ask(
        self, kind: str, arguments: tuple[str, ...], options: BuildOptions, *, listen: Listen
    ) -> BuildReport:
        request = self._next.setdefault(kind, _Request(arguments, options))
        request.arguments = arguments
        request.options = request.options.with_those_of(options)
        request.listeners.append(listen)
        done: asyncio.Future[BuildReport] = asyncio.get_running_loop().create_future()
        request.waiting.append(done)
        if not self.is_busy:
            self._task = asyncio.create_task(self._work(), name="kb-builder")
        return await done

    async def _work(self) -> None:
        while self._next:
            request = self._next.pop(next(iter(self._next)))
            try:
                report = await self._run(request)
            except asyncio.CancelledError:
                _give_up(request, BuildStopped("The build was stopped."))
                raise
            except (BuildRefused, BuildFailed) as error:
                _give_up(request, error)
            except Exception as error:
                logger.exception("the builder could not be run")
                _give_up(request, BuildFailed(f"The builder could not be run: {error}"))
            else:
                for waiting in request.waiting:
                    if not waiting.done():
                        waiting.set_result(report)

    async def _run(self, request: _Request) -> BuildReport:
        options = request.options
        force = ("--force",) if options.force else ()
        anew = ("--anew",) if options.anew else ()
        only = ("--only", options.only) if options.only else ()
        follows = ("--follows",) if options.follows else ()
        process = await self._start((*request.arguments, *only, *force, *follows, *anew))
        try:
            async with asyncio.timeout(BUILD_SECONDS):
                last, complaint = await _listen(process, request.listeners)
        except TimeoutError:
            raise BuildFailed(f"The build took more than {BUILD_SECONDS / 60:.0f} minutes and was stopped.") from None
        finally:
            await _end(process)
        return _outcome(last, process.returncode, complaint)

    async def _start(self, arguments: Sequence[str]) -> asyncio.subprocess.Process:
        where = ("--root", str(self._root), *self._server, *self._learned)
        command = ("-P", "-m", "knowledge.build.process", *where, *arguments, *self._recipe.arguments)
        environment = {name: value for name, value in os.environ.items() if name in PASSED_ON}
        # The folder above this package, for programs that run from a checkout.
        environment |= {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONUTF8": "1", **self._recipe.environment}
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            "--stop-on-eof",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LINE_BYTES,
            cwd="/",
            env=environment,
        )


async def _listen(process: asyncio.subprocess.Process, listeners: Sequence[Listen]) -> tuple[dict[str, Any], str]:
    """Wait for the builder's end. Returns its last line and the end of its standard error."""
    complaint = asyncio.create_task(_tail(_pipe(process.stderr)))
    try:
        last = await _follow(_pipe(process.stdout), listeners)
        await process.wait()
        return last, await complaint
    finally:
        complaint.cancel()


def _from(source: Path, audience: Audience) -> tuple[str, ...]:
    """The arguments that name the source. Its path is absolute, since the child runs in another folder."""
    return ("--source", str(source.absolute()), "--audience", audience)


def _pipe(stream: asyncio.StreamReader | None) -> asyncio.StreamReader:
    if stream is None:
        raise BuildFailed("The builder could not be listened to.")
    return stream


async def _follow(output: asyncio.StreamReader, listeners: Sequence[Listen]) -> dict[str, Any]:
    """Pass progress on to the listeners; return the last line, which says how the build ended."""
    last: dict[str, Any] = {}
    async for line in output:
        last = json.loads(line)
        if last["phase"] in _PHASES:
            progress = Progress(**last)
            for listen in list(listeners):
                _tell(listen, progress)
    return last


def _tell(listen: Listen, progress: Progress) -> None:
    try:
        listen(progress)
    except Exception:
        logger.exception("a listener to the build's progress failed")


async def _tail(errors: asyncio.StreamReader) -> str:
    """The end of the standard error. It is read all the time: a full pipe would block the builder."""
    kept = b""
    while block := await errors.read(ERROR_BYTES):
        kept = (kept + block)[-ERROR_BYTES:]
    return kept.decode(errors="replace").strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(BUILDER_STOP_TIMEOUT):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _outcome(last: dict[str, Any], code: int | None, complaint: str) -> BuildReport:
    match last.get("phase"):
        case "done":
            return BuildReport.from_json(last["report"])
        case "refused":
            raise BuildRefused(last["reason"], last["message"])
        case "failed":
            raise BuildFailed(last["message"])
        case _ if code in STOPPED:
            raise BuildStopped("The build was stopped.")
        case _:
            logger.error("the builder died", extra={"code": code, "complaint": complaint})
            why = complaint.rpartition("\n")[2][:200] or f"exit code {code}"
            raise BuildFailed(f"The builder ended unexpectedly: {why}")


def _give_up(request: _Request, error: BuildRefused | BuildFailed) -> None:
    for waiting in request.waiting:
        if not waiting.done():
            waiting.set_exception(error)
