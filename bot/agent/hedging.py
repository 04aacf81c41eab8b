"""A second request to another model, if the first one says nothing for longer than it usually takes.

The one that speaks first is read, and the other is closed before anything of it is shown: there are never two answers.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from bot.agent.endpoints import Endpoint
from bot.agent.model import ModelEvent, ModelRequest

MIN_HEDGE_DELAY = 0.5
"""Seconds. A second request is never made earlier, however fast the first model usually is."""
_READ_AHEAD = 64
"""How many events of a stream wait to be read."""


def hedge_delay(endpoint: Endpoint, *, first_sign: float) -> float | None:
    """Return the seconds after which another model is asked as well. None if this one's pace is not known yet.

    While a server may still load its model, that is the usual deadline of the first sign.
    """
    if not endpoint.first_tokens.is_loaded and endpoint.deadlines.loading:
        return first_sign
    usual = endpoint.first_tokens.p95
    return None if usual is None else max(MIN_HEDGE_DELAY, usual)


class Contender:
    """One of two requests. It reads its stream in a task of its own."""

    def __init__(self, endpoint: Endpoint, request: ModelRequest, begun: float) -> None:
        self.endpoint = endpoint
        self.request = request
        self.begun = begun
        """The time of the request on the breaker's clock."""
        loop = asyncio.get_running_loop()
        self.started = loop.time()
        self.spoke: asyncio.Future[bool] = loop.create_future()
        """True once there was an event. False if there was none until the end."""
        self.failure: Exception | None = None
        """What ended the stream early: a ModelFailure, or a fault of ours."""
        self._events: asyncio.Queue[ModelEvent | None] = asyncio.Queue(_READ_AHEAD)
        self._task = asyncio.create_task(self._read())

    async def events(self) -> AsyncGenerator[ModelEvent, None]:
        """Yield the events of the stream. Raises what ended it early."""
        while (event := await self._events.get()) is not None:
            yield event
        if self.failure is not None:
            raise self.failure

    def cancel(self) -> None:
        """Begin to end the request, wherever it is."""
        self._task.cancel()

    async def close(self) -> None:
        """End the request, and wait until it has ended."""
        self.cancel()
        await asyncio.wait((self._task,))

    async def _read(self) -> None:
        try:
            async with aclosing(self.endpoint.model.stream(self.request)) as events:
                async for event in events:
                    if not self.spoke.done():
                        self.spoke.set_result(True)
                    await self._events.put(event)
        except Exception as failure:  # noqa: BLE001 - whoever reads the events gets it
            self.failure = failure
        finally:
            if not self.spoke.done():
                self.spoke.set_result(False)
        await self._events.put(None)


async def first_to_speak(first: Contender, second: Contender) -> Contender:
    """Return the request whose model says something first. If neither does, return the first."""
    both = (first, second)
    while waiting := [each.spoke for each in both if not each.spoke.done()]:
        if any(each.spoke.done() and each.spoke.result() for each in both):
            break
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    return next((each for each in both if each.spoke.done() and each.spoke.result()), first)
