"""Interrupts: how a running turn learns that its answer is no longer wanted.

The customer stops it, edits or deletes the message, or wants a person, or staff claim the case. The interrupt is
stored in the inbox (`bot.store.interrupts`) and survives the process. This module only delivers it quickly: at once
if this process's inbox stored it, and by polling every half second if a claim or another process did.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import get_args

from bot.agent.halt import Halt
from bot.alerts import Alerts
from bot.clock import Clock
from bot.errors import FrontdeskError, StoreUnavailable
from bot.store import interrupts
from bot.store.database import Database
from bot.store.inbox import InterruptKind

logger = logging.getLogger(__name__)

INTERRUPT_POLL_INTERVAL = 0.5
"""Seconds between two queries for interrupts of the rows that run in this process."""


class Interrupted(FrontdeskError):
    """The turn has ended early. The interrupt on its row says how it continues."""


class Interrupt(Halt):
    """Receives the interrupts of one turn."""

    def __init__(self) -> None:
        super().__init__()
        self.kind: InterruptKind = ""

    def tell(self, kind: InterruptKind) -> None:
        """End the turn. Of several interrupts the last one in the order of `InterruptKind` counts."""
        self.kind = max(self.kind, kind, key=get_args(InterruptKind).index)
        self.set()

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[None]:
        """Run the block until an interrupt arrives, and for `seconds` at most.

        Raises:
            Interrupted: an interrupt arrived first, or was there before.
            TimeoutError: the time is up.
        """
        try:
            async with asyncio.timeout(seconds) as clock:
                with self.bounding(clock):
                    yield
        except TimeoutError:
            if self.is_set():
                raise Interrupted from None
            raise


class Interrupts:
    """The running turns of this process, by row."""

    def __init__(self) -> None:
        self._running: dict[int, set[Interrupt]] = defaultdict(set)
        self._alerts = Alerts()

    @contextmanager
    def running(self, item: int) -> Iterator[Interrupt]:
        """Mark a row as running. While the block runs, its interrupts reach the yielded object."""
        interrupt = Interrupt()
        self._running[item].add(interrupt)
        try:
            yield interrupt
        finally:
            self._running[item].discard(interrupt)
            if not self._running[item]:
                del self._running[item]

    def tell(self, item: int, kind: InterruptKind) -> None:
        """Interrupt the turns of a row. Does nothing if the row does not run here."""
        for interrupt in self._running.get(item, ()):
            interrupt.tell(kind)

    async def watch(self, database: Database, clock: Clock) -> None:
        """Poll for interrupts that did not come through `tell`, such as those of other processes and claims.

        Runs until cancelled.
        """
        while True:
            await clock.sleep(INTERRUPT_POLL_INTERVAL)
            if not self._running:
                continue
            try:
                async with database.reading() as tx:
                    found = await interrupts.find_requested(tx, list(self._running))
            except StoreUnavailable:
                continue
            except Exception as error:  # noqa: BLE001 - the poll must not end while the process runs
                self._alerts.tell(logger, "interrupts were not looked for", about=type(error).__name__)
                continue
            for item, kind in found.items():
                self.tell(item, kind)
