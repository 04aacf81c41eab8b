"""The line for answers: customers who have waited for a while see their place in the status line of their thread.

Nothing is stored for this. The line is what is open in the inbox, so it is the same after a crash. In a fleet, each
process shows the places of the messages that wait in it, and one process those that none has taken up.
"""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from bot.alerts import Alerts
from bot.clock import Clock
from bot.errors import StoreUnavailable, Unreachable
from bot.ingest.fair_semaphore import FairSemaphore
from bot.language.languages import Language
from bot.store import cases, inbox, threads, waiting
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.leases import Membership
from bot.store.waiting import LineRow
from bot.turns.sessions import TurnSessions

logger = logging.getLogger(__name__)

LOOK_INTERVAL = 3.0
"""Seconds between two looks at the line."""
PLACE_DELAY = 10.0
"""Seconds after its arrival until a message gets its place shown."""
CHANGE_INTERVAL = 5.0
"""Seconds for which a place is shown at least. So that people can read it, and Slack is not called too often."""
REFRESH_INTERVAL = 60.0
"""Seconds after which the same place is shown again. Slack drops a status line after two minutes."""
SHOWN_AT_ONCE = 10
"""The most places that one look shows."""
LINE_LIMIT = 1_000
"""The length of the line that is looked at. Those behind it get no place shown yet."""
CLAIM = "waiting line"
"""The name that the process holds which shows the places of messages that no process has taken up."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the last look did about a row that was due."""

    place: int
    at: float
    is_shown: bool
    """Whether the place is shown. It is not in a thread in which people answer, or if no one asked the app."""


@dataclass(slots=True)
class WaitingLine:
    """Shows the places. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    sessions: TurnSessions
    slots: FairSemaphore
    membership: Membership
    _seen: dict[int, _Seen] = field(default_factory=dict)
    _showing: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    """Row -> the call that shows its place."""
    _left: set[int] = field(default_factory=set)
    """The rows whose answers have begun since the line was read."""
    _alerts: Alerts = field(default_factory=Alerts)

    async def run(self) -> None:
        """Look at the line all the time, until cancelled. Nothing else ends it."""
        while True:
            await self.clock.sleep(LOOK_INTERVAL)
            try:
                await self.look()
            except StoreUnavailable:
                continue
            except Exception as error:  # noqa: BLE001 - a place is a nicety, and the loop must not end
                self._alerts.tell(logger, "no places in the line were shown", about=type(error).__name__)

    async def look(self) -> None:
        """Show the places that are due. Raises StoreUnavailable."""
        self._left.clear()
        async with self.database.reading() as tx:
            rows = await waiting.line(tx, limit=LINE_LIMIT)
        here = self.slots.waiting()
        places = places_of(rows, here)
        self._seen = {row: seen for row, seen in self._seen.items() if row in places}
        due = [row for row in rows if row.id in places and self._is_due(row, places[row.id])]
        if any(row.id not in here for row in due) and not await self.membership.hold(CLAIM):
            due = [row for row in due if row.id in here]
        due.sort(key=lambda row: (self._last_seen(row), places[row.id]))
        now = due[:SHOWN_AT_ONCE]
        waiting_for_us = await self._waiting_for_us([row.id for row in now])
        for row in now:
            if row.id not in self._left:
                self._seen[row.id] = _Seen(places[row.id], self.clock.monotonic(), row.id in waiting_for_us)
        for item, language in waiting_for_us.values():
            if item.id not in self._left:
                self._show(item, language, places[item.id])
        if self._showing:
            await asyncio.wait(self._showing.values())

    def leave(self, row: int) -> bool:
        """The answer to a row begins. Return whether its thread may show a place."""
        self._left.add(row)
        showing = self._showing.pop(row, None)
        if showing is not None:
            showing.cancel()
        seen = self._seen.pop(row, None)
        return seen is not None and seen.is_shown

    def _is_due(self, row: LineRow, place: int) -> bool:
        seen = self._seen.get(row.id)
        if seen is None:
            return self.clock.now() - row.since >= PLACE_DELAY
        age = self.clock.monotonic() - seen.at
        return age >= (CHANGE_INTERVAL if place != seen.place else REFRESH_INTERVAL)

    def _last_seen(self, row: LineRow) -> float:
        seen = self._seen.get(row.id)
        return seen.at if seen else -math.inf

    async def _waiting_for_us(self, rows: Collection[int]) -> dict[int, tuple[InboxItem, Language]]:
        """Those of the rows that wait for an answer of the assistant, as far as is known, with their languages."""
        if not rows:
            return {}
        async with self.database.transaction() as tx:
            return {
                item.id: (item, await self._language(tx, item))
                for item in await inbox.find_open(tx, rows)
                if (item.thread.is_direct or item.message.to_us)
                and item.interrupt not in ("deleted", "stop", "called")
                and await cases.find_open(tx, item.thread) is None
            }

    async def _language(self, tx: Transaction, item: InboxItem) -> Language:
        state = await threads.find_thread(tx, item.thread)
        sentences = self.sessions.sentences
        if state and state.language:
            return sentences.language_for(state.language)
        return sentences.language_of(item.words, "")

    def _show(self, item: InboxItem, language: Language, place: int) -> None:
        task = asyncio.create_task(self._show_place(item, language, place))
        self._showing[item.id] = task
        task.add_done_callback(lambda done: self._forget(item.id, done))

    def _forget(self, row: int, task: asyncio.Task[None]) -> None:
        if self._showing.get(row) is task:
            del self._showing[row]

    async def _show_place(self, item: InboxItem, language: Language, place: int) -> None:
        try:
            await self.sessions.show_place(item, language, place)
        except Unreachable:
            # The turn itself finds out and ends the row.
            logger.debug("no place shown", extra={"turn": item.id})


def places_of(rows: Sequence[LineRow], waiting_here: Collection[int]) -> dict[int, int]:
    """The places of the rows in the line, from 1.

    `rows` are in the order in which they were stored. A thread waits with its oldest row, unless one of its rows is
    being answered. People take turns, and those who have an answer under way come after those who have none.
    """
    begun = {row.id for row in rows if row.is_begun and row.id not in waiting_here}
    threads_at_work = {row.thread for row in rows if row.id in begun}
    turns = Counter(row.whose for row in rows if row.id in begun)
    first = {row.thread: row for row in reversed(rows) if row.thread not in threads_at_work}
    line = []
    for row in sorted(first.values(), key=lambda each: each.id):
        line.append((turns[row.whose], row.id))
        turns[row.whose] += 1
    return {row: place for place, (_, row) in enumerate(sorted(line), start=1)}
