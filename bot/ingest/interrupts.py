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
from bot.store import interrupts as wishes
from bot.store.database import Database
from bot.store.inbox import Wish

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""Between two looks at what is wished of the rows that are worked on here."""


class Interrupted(FrontdeskError):
    """The turn has ended early, and what is wished of its row says how it goes on."""


class Interruption(Halt):
    """One turn's ear for wishes."""

    def __init__(self) -> None:
        super().__init__()
        self.wish: Wish = ""

    def tell(self, wish: Wish) -> None:
        """End the turn; of several wishes the gravest counts."""
        self.wish = max(self.wish, wish, key=get_args(Wish).index)
        self.set()


class Interruptions:
    """The turns that run in this process."""

    def __init__(self) -> None:
        self._running: dict[int, set[Interruption]] = defaultdict(set)
        self._alerts = Alerts()

    @contextmanager
    def running(self, item: int) -> Iterator[Interruption]:
        """A row is worked on; what is wished of it meanwhile is told to the interruption."""
        interruption = Interruption()
        self._running[item].add(interruption)
        try:
            yield interruption
        finally:
            self._running[item].discard(interruption)
            if not self._running[item]:
                del self._running[item]

    def tell(self, item: int, wish: Wish) -> None:
        """Something is wished of a row, which may be worked on here or not."""
        for interruption in self._running.get(item, ()):
            interruption.tell(wish)

    async def watch(self, database: Database, clock: Clock) -> None:
        """Look after wishes of which nobody told, as other processes' and a claim's, until cancelled."""
        while True:
            await clock.sleep(LOOK_SECONDS)
            if not self._running:
                continue
            try:
                async with database.transaction() as tx:
                    found = await wishes.wished(tx, list(self._running))
            except StoreUnavailable:
                continue
            except Exception as error:  # noqa: BLE001 - whoever stopped hearing would hear nothing for as long as it runs
                self._alerts.tell(logger, "wishes were not looked for", about=type(error).__name__)
                continue
            for item, wish in found.items():
                self.tell(item, wish)
