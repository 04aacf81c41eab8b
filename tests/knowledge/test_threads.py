"""Threads: a few, each with a place, none of which can hold up the end."""

import asyncio
import subprocess
import sys
import threading

import pytest

from knowledge.threads import Threads


async def test_no_more_calls_run_at_once_than_there_are_places() -> None:
    threads = Threads("test", size=2)
    together = threading.Barrier(2)
    names = await asyncio.gather(
        *(threads.run(lambda: (together.wait(10), threading.current_thread().name)) for _ in "abcd")
    )
    threads.close()

    assert {name for _, name in names} == {"test-1", "test-2"}


async def test_what_a_call_raises_reaches_its_caller() -> None:
    threads = Threads("test", size=1)

    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)
    assert await threads.run(lambda: 2) == 2
    threads.close()


async def test_a_caller_that_leaves_keeps_the_place_until_the_call_ends() -> None:
    threads = Threads("test", size=1)
    release = threading.Event()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await threads.run(release.wait, 30)
    assert threads.are_all_taken
    release.set()
    assert await threads.run(lambda: "next") == "next"
    threads.close()


async def test_after_the_end_calls_are_refused_and_loose_ends_are_tied_up_at_once() -> None:
    threads = Threads("test", size=1)
    threads.close()
    done = threading.Event()

    with pytest.raises(RuntimeError):
        await threads.run(lambda: None)
    threads.start(done.set)
    assert done.is_set()


def test_a_call_that_never_ends_does_not_keep_the_program_from_ending() -> None:
    program = (
        "import asyncio, threading\n"
        "from knowledge.threads import Threads\n"
        "async def main():\n"
        "    threads = Threads('stuck', size=1)\n"
        "    started = threading.Event()\n"
        "    threads.start(lambda: (started.set(), threading.Event().wait()))\n"
        "    started.wait(10)\n"
        "    threads.close()\n"
        "asyncio.run(main())\n"
    )

    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode == 0
