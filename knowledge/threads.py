"""Threads for calls that block, few enough to count.

A call that never returns keeps its thread, and with it its place: the next caller waits for a place no longer than
it may wait for an answer, so a stuck index costs a few threads and never the caller.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """A named set of threads and a place for each."""

    def __init__(self, name: str, *, size: int) -> None:
        """Threads start when they are first needed."""
        self._executor = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._places = asyncio.Semaphore(size)

    @property
    def are_all_taken(self) -> bool:
        """Whether the next caller has to wait."""
        return self._places.locked()

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in a thread. Leaving early (a timeout, a cancellation) does not stop it."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        try:
            future = self._executor.submit(call, *args, **kwargs)
        except RuntimeError:
            self._places.release()
            raise
        future.add_done_callback(lambda done: self._free(loop, done))
        return await asyncio.wrap_future(future)

    def start(self, call: Callable[[], None]) -> None:
        """Run a call whose end nobody waits for. After `close` it is run here and now."""
        try:
            self._executor.submit(call)
        except RuntimeError:
            call()

    def close(self) -> None:
        """Take no more calls. Those under way end by themselves."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _free(self, loop: asyncio.AbstractEventLoop, done: Future[T]) -> None:
        # Read here, so that a result nobody waits for any more is not reported as lost.
        if not done.cancelled():
            done.exception()
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._places.release)
