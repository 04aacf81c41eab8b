"""How a running turn hears that its answer is not wanted any more: stopped, or of a message that was edited or deleted.

The wish is in the inbox (`bot.store.interrupts`) and stays there whatever happens to the process. This is only the
short way: told at once when the inbox stored it, and found by looking every half second when a claim or another process
did.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import get_args

from bot.agent.halt import Halt
from bot.alerts import Alerts
from bot.clock import Clock
from bot.errors import FrontdeskError, StoreUnavailable
from bot.store import interrupts as interrupts
from bot.store.database import Database
from bot.store.inbox import InterruptKind

logger = logging.getLogger(__name__)

INTERRUPT_POLL_INTERVAL = 0.5
"""Between two looks at what is wished of the rows that are worked on here."""


class Interrupted(FrontdeskError):
    """The turn has ended early, and what is wished of its row says how it goes on."""


class Interrupt(Halt):
    """One turn's ear for wishes."""

    def __init__(self) -> None:
        super().__init__()
        self.kind: InterruptKind = ""

    def tell(self, kind: InterruptKind) -> None:
        """End the turn; of several wishes the gravest counts."""
        self.kind = max(self.kind, kind, key=get_args(InterruptKind).index)
        self.set()


class Interrupts:
    """The turns that run in this process."""

    def __init__(self) -> None:
        self._running: dict[int, set[Interrupt]] = defaultdict(set)
        self._alerts = Alerts()

    @contextmanager
    def running(self, item: int) -> Iterator[Interrupt]:
        """A row is worked on; what is wished of it meanwhile is told to the interruption."""
        interrupt = Interrupt()
        self._running[item].add(interrupt)
        try:
            yield interrupt
        finally:
            self._running[item].discard(interrupt)
            if not self._running[item]:
                del self._running[item]

    def tell(self, item: int, kind: InterruptKind) -> None:
        """Something is wished of a row, which may be worked on here or not."""
        for interrupt in self._running.get(item, ()):
            interrupt.tell(kind)

    async def watch(self, database: Database, clock: Clock) -> None:
        """Look after wishes of which nobody told, as other processes' and a claim's, until cancelled."""
        while True:
            await clock.sleep(INTERRUPT_POLL_INTERVAL)
            if not self._running:
                continue
            try:
                async with database.transaction() as tx:
                    found = await interrupts.find_requested(tx, list(self._running))
            except StoreUnavailable:
                continue
            except Exception as error:  # noqa: BLE001 - whoever stopped hearing would hear nothing for as long as it runs
                self._alerts.tell(logger, "wishes were not looked for", about=type(error).__name__)
                continue
            for item, kind in found.items():
                self.tell(item, kind)
