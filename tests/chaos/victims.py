"""The processes that are killed: forked by tests/chaos/victim.py, ended by signals, waited for."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.patience import patience

logger = logging.getLogger(__name__)

ROOT = Path(__file__).parents[2]
START_SECONDS = patience(60.0)


@dataclass(slots=True)
class Victim:
    """One life of the product."""

    pid: int
    ended: asyncio.Future[int]
    """Its exit status, negative for the signal that ended it."""

    @property
    def lives(self) -> bool:
        return not self.ended.done()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; nothing when it is gone."""
        if self.lives:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def stands_still(self, seconds: float) -> bool:
        """Whether it is frozen by a signal within the time."""
        status = Path(f"/proc/{self.pid}/stat")
        with suppress(TimeoutError, FileNotFoundError):
            async with asyncio.timeout(seconds):
                while True:
                    if (await asyncio.to_thread(status.read_text)).rpartition(") ")[2][0] == "T":
                        return True
                    await asyncio.sleep(0.05)
        return False

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.signal(signal.SIGKILL)
        await self.ended


@dataclass(slots=True)
class Victims:
    """Starts them."""

    _mother: asyncio.subprocess.Process
    _starting: asyncio.Queue[Victim | None] = field(default_factory=asyncio.Queue)
    _living: dict[int, Victim] = field(default_factory=dict)

    async def start(self, role: str, environment: Mapping[str, str], log: Path) -> Victim:
        """A new process; it runs, it is not ready yet."""
        order = {"role": role, "environment": dict(environment), "log": str(log)}
        assert self._mother.stdin is not None
        self._mother.stdin.write(json.dumps(order).encode() + b"\n")
        await self._mother.stdin.drain()
        async with asyncio.timeout(START_SECONDS):
            victim = await self._starting.get()
        assert victim is not None, "the product cannot be imported"
        return victim

    async def listen(self) -> None:
        """Hear of starts and ends until the mother is gone."""
        assert self._mother.stdout is not None
        async for line in self._mother.stdout:
            told = json.loads(line)
            logger.info("%s", told)
            if "started" in told:
                victim = Victim(told["started"], asyncio.get_running_loop().create_future())
                self._living[victim.pid] = victim
                self._starting.put_nowait(victim)
            else:
                self._living.pop(told["ended"]).ended.set_result(told["status"])
        self._starting.put_nowait(None)


@asynccontextmanager
async def open_victims() -> AsyncIterator[Victims]:
    """Whoever still lives when the block is left is killed."""
    mother = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.chaos.victim",
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    victims = Victims(mother)
    listening = asyncio.create_task(victims.listen())
    try:
        yield victims
    finally:
        assert mother.stdin is not None
        mother.stdin.close()
        await mother.wait()
        await listening
