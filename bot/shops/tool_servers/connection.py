"""One connection to a server: a task that owns it, and a bounded queue through which calls reach it.

Whatever ends the connection ends that task's attempt and no other: a group of exceptions, a cancellation that nobody
here asked for, a program that died. Callers read `ShopUnavailable`, and the connection is made anew.

Connection  `run` owns it. `call` makes one call within its deadline. `first_look` waits for it.
Session     What is open while a connection lasts.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from bot.alerts import Alerts
from bot.shops.port import ShopUnavailable
from bot.shops.tool_servers.pins import Definition

logger = logging.getLogger(__name__)

PAUSES = (1.0, 5.0, 30.0)
"""Seconds before a connection is made again. The last one repeats for a server at an address."""
STEADY_SECONDS = 60.0
"""A connection that lasted so long counts as sound: what ends it next is the first failure again."""
CONNECT_TIMEOUT = 30.0
"""Seconds for a connection and the first look at its tools. A program's start takes several on a busy machine."""
CLOSE_TIMEOUT = 6.0
"""Seconds for a connection to end: a program is asked first, then told, then killed."""
LOOK_INTERVAL = 300.0
"""Seconds after which the tools are looked at again before a call."""
QUEUE_LIMIT = 16
"""Calls that wait. The next one fails at once."""
AT_ONCE = 4
"""Calls that run at the same time."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a server answered to a call."""

    is_error: bool
    structured: Any
    """The structured content. None if there is none."""
    text: str


class Lost(ShopUnavailable):
    """The connection has ended."""


class Session(Protocol):
    """An open connection."""

    changed: asyncio.Event
    """Set when the server says that its tools have changed."""
    ended: asyncio.Event
    """Set when the server is gone."""

    async def list_tools(self) -> Mapping[str, Definition]:
        """Every tool by its name. Raises ShopUnavailable."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any], *, seconds: float) -> ToolAnswer:
        """Call a tool once. Raises ShopUnavailable; Lost if the connection is of no use any more."""
        ...


OpenSession = Callable[[], Awaitable[AbstractAsyncContextManager[Session]]]


@dataclass(slots=True)
class _Call:
    name: str
    arguments: Mapping[str, Any]
    end: float
    """On the loop's clock."""
    answer: "asyncio.Future[ToolAnswer]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Connection:
    """A connection that is made again when it ends."""

    def __init__(
        self,
        name: str,
        opening: OpenSession,
        look: Callable[[Mapping[str, Definition]], None],
        *,
        seconds: float,
        gives_up: bool,
        alerts: Alerts,
    ) -> None:
        """`look` gets the tools each time that they are read. `gives_up` switches it off after the last pause."""
        self.name = name
        self.fault = "it is not connected yet"
        """Why it is away, in words. Empty while it is connected."""
        self.is_off = False
        """Whether it ended too often, and is not made again."""
        self._opening = opening
        self._look = look
        self._seconds = seconds
        self._gives_up = gives_up
        self._alerts = alerts
        self._queue: asyncio.Queue[_Call] = asyncio.Queue(QUEUE_LIMIT)
        self._looked = 0.0
        self._settled = asyncio.Event()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Make one call. Raises ShopUnavailable."""
        if self.is_off:
            raise ShopUnavailable(f"{self.name} is off: {self.fault}")
        call = _Call(name, arguments, asyncio.get_running_loop().time() + self._seconds)
        try:
            self._queue.put_nowait(call)
            async with asyncio.timeout_at(call.end):
                return await call.answer
        except asyncio.QueueFull:
            raise ShopUnavailable(f"{self.name} has too many calls") from None
        except TimeoutError:
            raise ShopUnavailable(f"{self.name} did not answer within {self._seconds:g} s") from None

    async def first_look(self, seconds: float) -> None:
        """Wait until the first attempt to connect has ended well or badly, or until `seconds` are over."""
        try:
            async with asyncio.timeout(seconds):
                await self._settled.wait()
        except TimeoutError:
            return

    async def run(self) -> None:
        """Keep the connection until this is cancelled, or until it failed too often."""
        failures = 0
        while True:
            began = time.monotonic()
            await self._attempt_once()
            failures = 1 if time.monotonic() - began >= STEADY_SECONDS else failures + 1
            self._settled.set()
            if self._gives_up and failures > len(PAUSES):
                self._switch_off()
                return
            self._tell("the connection to a tool server ended")
            await asyncio.sleep(PAUSES[min(failures, len(PAUSES)) - 1])

    async def _attempt_once(self) -> None:
        """Connect in a task of its own, so that what cancels it cancels nothing else."""
        attempt = asyncio.create_task(self._attempt())
        try:
            await asyncio.wait({attempt})
        except asyncio.CancelledError:
            attempt.cancel()
            await asyncio.wait({attempt}, timeout=CLOSE_TIMEOUT)
            raise
        self.fault = _why(attempt)

    async def _attempt(self) -> None:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                session = await stack.enter_async_context(await self._opening())
                await self._look_at(session)
            self.fault = ""
            self._settled.set()
            logger.info("connected to a tool server", extra={"connector": self.name})
            works = [self._serve(session) for _ in range(AT_ONCE)]
            tasks = [asyncio.create_task(work) for work in (*works, self._watch(session), session.ended.wait())]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, session: Session) -> None:
        """Make calls until one finds the connection lost."""
        while True:
            call = await self._queue.get()
            try:
                await self._make(call, session)
            except Lost as error:
                _fail(call, error)
                return
            except ShopUnavailable as error:
                _fail(call, error)
            except BaseException:
                _fail(call, Lost(f"the connection to {self.name} ended during a call"))
                raise

    async def _make(self, call: _Call, session: Session) -> None:
        left = call.end - asyncio.get_running_loop().time()
        if call.answer.done() or left <= 0:
            return
        if time.monotonic() - self._looked > LOOK_INTERVAL:
            await self._look_at(session)
        answer = await session.call(call.name, call.arguments, seconds=left)
        if not call.answer.done():
            call.answer.set_result(answer)

    async def _watch(self, session: Session) -> None:
        """Look at the tools whenever the server says that they have changed."""
        while True:
            await session.changed.wait()
            session.changed.clear()
            await self._look_at(session)

    async def _look_at(self, session: Session) -> None:
        self._look(await session.list_tools())
        self._looked = time.monotonic()

    def _switch_off(self) -> None:
        self.is_off = True
        self._tell("a tool server is off: it ended too often")
        while not self._queue.empty():
            _fail(self._queue.get_nowait(), ShopUnavailable(f"{self.name} is off"))

    def _tell(self, message: str) -> None:
        self._alerts.tell(logger, message, about=self.name, connector=self.name, why=self.fault)


def _fail(call: _Call, error: ShopUnavailable) -> None:
    if not call.answer.done():
        call.answer.set_exception(error)


def _why(attempt: "asyncio.Task[None]") -> str:
    """Why an attempt ended, in words without anything that the server wrote."""
    if attempt.cancelled():
        return "the connection was cut"
    error = attempt.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it was not ready within {CONNECT_TIMEOUT:g} s"
    if isinstance(error, ShopUnavailable):
        return str(error)
    return f"it cannot be reached ({type(error).__name__})" if error else "it ended"
