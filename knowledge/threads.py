"""Threads for calls that block, few enough to count.

A call that never returns keeps its thread and its slot. The next caller waits for a slot no longer than it would for an
answer. So a stuck index costs a few threads, and holds up no caller. It does not block the program's end either,
which waits for none of these threads. It would wait without end for those of `concurrent.futures`.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """A named set of threads, with a slot for each."""

    def __init__(self, name: str, *, size: int) -> None:
        """Prepare the slots. A thread starts when it is first needed."""
        self._name = name
        self._size = size
        self._places = asyncio.Semaphore(size)
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._started = 0
        self._under_way = 0
        """Calls that were accepted and have not ended."""
        self._closed = False

    @property
    def are_all_taken(self) -> bool:
        """Whether the next caller has to wait."""
        return self._places.locked()

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in a thread. Leaving early (a timeout, a cancellation) does not stop it."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        done: Future[T] = Future()
        if not self._take(partial(_fulfil, done, partial(call, *args, **kwargs))):
            self._places.release()
            raise RuntimeError(f"{self._name} takes no more calls.")
        done.add_done_callback(lambda done: self._free(loop, done))
        return await asyncio.wrap_future(done)

    def start(self, call: Callable[[], None]) -> None:
        """Run a call that no one waits for. After `close` it runs here and now."""
        if not self._take(partial(_fulfil, Future[None](), call)):
            call()

    def close(self) -> None:
        """Take no more calls, and wait for none: running calls end by themselves, or with the program."""
        with self._lock:
            self._closed = True
            for _ in range(self._started):
                self._calls.put(None)

    def _take(self, call: Callable[[], None]) -> bool:
        """Hand a call to a thread: a new one if all are busy and there is room. False after `close`."""
        with self._lock:
            if self._closed:
                return False
            self._under_way += 1
            self._calls.put(call)
            if self._started < min(self._size, self._under_way):
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            return True

    def _work(self) -> None:
        while call := self._calls.get():
            call()
            with self._lock:
                self._under_way -= 1

    def _free(self, loop: asyncio.AbstractEventLoop, done: Future[T]) -> None:
        # Read here, so that a result that no one waits for is not reported as lost.
        if not done.cancelled():
            done.exception()
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._places.release)


def _fulfil(done: Future[T], call: Callable[[], T]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits, a panic of Chroma's included
        done.set_exception(error)
    else:
        done.set_result(result)
