"""Admission control: a new turn starts only while the event loop is on time.

A turn costs some dozen milliseconds of CPU, and acknowledgements to Slack run on the same loop. If a thousand turns
started at once, Slack would wait longer than its three seconds. So this module measures the loop lag, and new turns
wait until the lag is small again. Turns that already run are not affected.

Waiting turns are admitted in the order in which their rows were stored, but people take turns: one customer with many
messages does not delay the others. Presses of buttons go ahead of messages: a press is short, and who pressed looks at
the screen. But after PRESSES_IN_A_ROW of them, one message is admitted.

run         measure the loop lag until cancelled
admitting   wrap a `take` so that it waits for admission first
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from bot.ingest.engine import TakeTurn
from bot.ingest.fair_semaphore import FairLine

LOOP_CHECK_SECONDS = 0.02
"""The time between two measurements of the loop lag."""
MAX_LOOP_LAG_SECONDS = 0.02
"""A loop with more lag than this is late, and no new turn starts."""
MAX_STARTS = 4
"""The number of turns that can start between two measurements."""
MAX_WAIT_SECONDS = 0.25
"""One turn starts after this time even if the loop is late, so that work never stops completely."""
PRESSES_IN_A_ROW = 3
"""How many presses are admitted before a message that waits."""


@dataclass(frozen=True, slots=True)
class Group:
    """Whose rows take turns with those of others, and in which line."""

    whose: str = ""
    """Who wrote or pressed."""
    are_presses: bool = False


GroupOf = Callable[[int], Awaitable[Group]]
"""Finds the group of a row."""


async def _no_group(item_id: int) -> Group:
    return Group()


class AdmissionControl:
    """Measures one event loop and admits turns to it."""

    def __init__(self, group_of: GroupOf = _no_group) -> None:
        self._group_of = group_of
        self._presses, self._messages = FairLine(), FairLine()
        self._presses_in_a_row = 0
        self._free_starts = MAX_STARTS
        self._wanted = asyncio.Event()
        self._started_at = 0.0
        self._is_closed = False
        self.loop_lag = 0.0
        """The lag of the loop at the last measurement, in seconds."""

    async def run(self) -> None:
        """Measure while turns begin, until cancelled. Then each waiting turn is cancelled, and so is each later one."""
        now = asyncio.get_running_loop().time
        try:
            while True:
                if self._free_starts == MAX_STARTS and not self._presses and not self._messages:
                    # Nobody needs to know now. An idle process must not wake up fifty times a second.
                    self._wanted.clear()
                    await self._wanted.wait()
                due = now() + LOOP_CHECK_SECONDS
                await asyncio.sleep(LOOP_CHECK_SECONDS)
                self.loop_lag = now() - due
                is_overdue = now() - self._started_at >= MAX_WAIT_SECONDS
                self._free_starts = MAX_STARTS if self.loop_lag < MAX_LOOP_LAG_SECONDS else int(is_overdue)
                self._admit()
        finally:
            self._is_closed = True
            self._presses.cancel()
            self._messages.cancel()

    def admitting(self, take: TakeTurn) -> Callable[[int], Coroutine[Any, Any, None]]:
        """Return a `take` that waits for admission first. The rows of one group keep their order."""

        async def take_when_admitted(item_id: int) -> None:
            await self._wait(item_id)
            await take(item_id)

        return take_when_admitted

    async def _wait(self, item_id: int) -> None:
        if self._is_closed:
            # No one would ever admit it. The engines read this as a turn that started too late to finish.
            raise asyncio.CancelledError
        self._wanted.set()
        if self._free_starts and not self._presses and not self._messages:
            self._start()
            return
        group = await self._group_of(item_id)
        if self._is_closed:
            raise asyncio.CancelledError
        await (self._presses if group.are_presses else self._messages).add(group.whose, item_id)

    def _admit(self) -> None:
        while self._free_starts and (self._presses or self._messages):
            is_press = bool(self._presses) and (not self._messages or self._presses_in_a_row < PRESSES_IN_A_ROW)
            _, waiting = (self._presses if is_press else self._messages).pop()
            if not waiting.done():
                waiting.set_result(None)
                self._presses_in_a_row = self._presses_in_a_row + 1 if is_press else 0
                self._start()

    def _start(self) -> None:
        self._free_starts -= 1
        self._started_at = asyncio.get_running_loop().time()
