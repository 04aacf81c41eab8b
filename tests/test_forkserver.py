"""A fork is waited for as a process is."""

import asyncio
import gc
import os
import signal
import warnings
from asyncio.subprocess import PIPE

from tests.forkserver import start
from tests.patience import patience

STATEMENT = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"


async def test_a_pipe_that_a_child_of_the_fork_still_holds_is_closed_when_the_fork_has_ended() -> None:
    fork = await start("-m", "timeit", "-n", "1", "-r", "1", STATEMENT, stdout=PIPE)
    async with asyncio.timeout(patience(60)):
        assert await fork.wait() == 0
        assert fork.stdout is not None
        child, *_ = (await fork.stdout.read()).split()
    os.kill(int(child), signal.SIGKILL)


async def test_a_start_that_is_cancelled_leaves_no_pipe_open() -> None:
    with warnings.catch_warnings(record=True) as left_open:
        warnings.simplefilter("always", ResourceWarning)
        for steps in range(12):
            starting = asyncio.create_task(start("-m", "timeit", "-n", "1", stdin=PIPE, stdout=PIPE, stderr=PIPE))
            for _ in range(steps):
                await asyncio.sleep(0)
            starting.cancel()
            await asyncio.wait([starting])
            del starting
            await asyncio.sleep(0)
        gc.collect()
    assert [str(each.message) for each in left_open] == []
