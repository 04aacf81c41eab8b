"""The rate limiter: when a call to Slack can leave, a little below the limits that Slack publishes.

Calls wait in one line per workspace and method; a post also waits in the line of its channel. Lines do not affect each
other, and each is first come, first served. A 429 from Slack blocks its line.

enter            wait for a call's turn, or raise TooLong
block            Slack limited a call: block its line for the time Slack asked for
open_slot        get a slot for a streamed message; `close_slot` after it was stopped
append_interval  how often each live stream can grow, so that all of them have the same share

A stream is paid for when it starts. startStream and stopStream have the same tier, so a workspace has that many slots.
A stream holds its slot from the start until a minute after the stop. So neither method is called more often in any
minute than there are slots, and no stop has to wait. The first words of a stream travel with its start and the last
with its stop, so neither waits for the budget of appends. The slots of a process that died stay taken for as long as
Slack can keep its streams open. Another process that stops those streams needs no slot of its own.

MemoryBudget     the budgets of one process
SharedBudget     the budgets of all processes on one database
"""

import asyncio
import logging
import math
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from bot.clock import MINUTE, Clock
from bot.errors import FrontdeskError, StoreUnavailable
from bot.store import limits
from bot.store.database import Database, Transaction

logger = logging.getLogger(__name__)

STREAM_SLOTS = 19
"""The number of streams that can start, and stop, in any minute. Slack's tier 2 is "20+"."""
STREAM_SECONDS = 320.0
"""Slack ends every stream after this time at the latest. A slot that was not closed is free again then."""
PAID_CALL_TIMEOUT = 3.0
"""A paid call that does not leave within this time is lost, so that calls do not pile up."""
AHEAD = 3
"""The number of calls that are paid for in advance when the calls of a line follow one another quickly."""
SHORT_WAIT = 1.0
"""Calls follow one another quickly if the last payment is not older than this."""
ANSWER_SECONDS = 12.0
"""The typical time for which an answer is streamed."""
SHARED_BUDGET_TIMEOUT = 2.0
"""The timeout for a question to the shared budgets."""
SHARED_BUDGET_RETRY_DELAY = 10.0
"""After such a timeout, the shared budgets are not asked again for this time."""
MIN_QUEUE_WAIT = 0.5
"""Even a call with no patience waits this long for the call before it to be paid, which takes milliseconds."""
HOLD_LIMIT_SECONDS = 300.0
"""The longest time that one 429 blocks a line. After that Slack is asked again."""
LOCKED_SECONDS = 0.05
"""The delay before a slot is asked for again if other processes asked for the last ones at the same moment."""
LINES_KEPT = 4_096


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a call is allowed: `burst` times at once, and then once every `step` seconds."""

    burst: int
    step: float

    def times(self, factor: float) -> "Pace":
        """The same pace, `factor` times faster."""
        return Pace(max(1, int(self.burst * factor)), self.step / factor)


def _counted(per_minute: int) -> Pace:
    """At most `per_minute` in any minute, however it is counted: the burst is taken from the steady rate."""
    burst = per_minute // 5
    return Pace(burst, MINUTE / (0.95 * per_minute - burst))


def _bursting(per_minute: int) -> Pace:
    """For methods that read. Slack allows sporadic bursts there."""
    return Pace(int(0.9 * per_minute), MINUTE / (0.9 * per_minute))


POST_PACE = Pace(10, 1.0)
"""Posts in one channel: about one a second, with short bursts."""
PACES = {
    # In the whole workspace. Slack says "several hundred a minute".
    "chat.postMessage": Pace(50, 0.2),
    "chat.appendStream": _counted(100),
    "chat.update": _counted(50),
    "chat.delete": _counted(50),
    "chat.postEphemeral": _bursting(100),
    "reactions.add": _counted(50),
    "reactions.remove": _counted(20),
    "views.open": _bursting(100),
    "views.publish": _bursting(100),
    "assistant.threads.setSuggestedPrompts": _bursting(100),
    # Slack does not publish the tier of these methods; tier 3 is assumed. Less than half of it is for beginnings, so
    # that the end of work is shown without a wait.
    "agents.sessions.setStatus": _counted(50),
    "agents.sessions.setStatus/processing": _counted(22),
    "agents.sessions.rename": _counted(50),
    "usergroups.users.list": _bursting(20),
    "users.info": _bursting(100),
    "users.getPresence": _bursting(50),
    "dnd.info": _bursting(50),
    "conversations.info": _bursting(50),
    "conversations.members": _bursting(100),
    "conversations.open": _bursting(50),
    "conversations.replies": _bursting(50),
    "users.conversations": _bursting(50),
    "conversations.history": _bursting(50),
    "files.info": _bursting(100),
    "files.getUploadURLExternal": _bursting(100),
    "files.completeUploadExternal": _bursting(100),
    "files.delete": _counted(50),
}
"""Slack's tiers (https://docs.slack.dev/apis/web-api/rate-limits) by method. Other methods leave at once."""


class TooLong(FrontdeskError):
    """The call would have to wait longer than its caller does. `seconds` is the estimated wait."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"{seconds:.1f} s")


@dataclass(frozen=True, slots=True)
class StreamSlot:
    """What pays for one stream's start and stop."""

    name: str
    until: float
    """When it is free again without a close, on the budget's clock."""
    live: int
    """The number of live streams when it was taken, including this one."""


class Budget(Protocol):
    """How many calls are left."""

    ahead: int
    """The number of calls worth paying for in advance; 0 if asking costs nothing."""

    async def pay(self, key: str, pace: Pace, *, times: int, patience: float) -> float:
        """Pay for calls. Returns the seconds until the first of them can leave. Each further call leaves one step
        later.

        A negative result means that there was room: all of the calls could have left that much earlier. If the result
        is more than `patience`, nothing is paid.
        """
        ...

    async def pause(self, key: str, pace: Pace, seconds: float) -> None:
        """Allow no such call for `seconds`."""
        ...

    async def take_slot(self, key: str, *, slots: int) -> StreamSlot | float:
        """Take a free slot, or return the seconds until the next one is free."""
        ...

    async def free_slot(self, slot: StreamSlot) -> None:
        """Return a slot. It is free again after a minute."""
        ...


@dataclass(slots=True)
class _Line:
    """One line of calls. The first call holds the lock while it waits for its turn."""

    key: str
    pace: Pace | None
    """None: only a 429 blocks it."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    tokens: deque[float] = field(default_factory=deque)
    """When each paid call can leave."""
    waiting: int = 0
    due: float = -math.inf
    """When the first call can leave."""
    blocked_until: float = -math.inf
    """Slack asked for no call before this time."""
    spare: float = 0.0
    paid_at: float = -math.inf

    def wait(self, now: float) -> float:
        """The least wait of a new call, in seconds."""
        ahead = self.waiting * self.pace.step if self.pace and self.due > now else 0.0
        return max(self.blocked_until - now, self.due - now + ahead, 0.0)


class RateLimiter:
    """The app's one rate limiter. `factor` raises every limit, for a workspace with higher limits at Slack."""

    def __init__(self, budget: Budget, clock: Clock, *, factor: float = 1.0) -> None:
        self._budget = budget
        self._clock = clock
        self._factor = factor
        self._slots = max(1, int(STREAM_SLOTS * factor))
        self._lines: OrderedDict[tuple[str, ...], _Line] = OrderedDict()
        self._slot_of: dict[Hashable, StreamSlot] = {}
        self._taken: set[str] = set()
        """The slots of this process, including streams that are about to start."""
        self._others = 0
        """The number of slots that other processes held when the last one was taken."""

    async def enter(self, team: str, method: str, channel: str = "", *, patience: float) -> None:
        """Wait until the call can leave. Raises TooLong."""
        deadline = self._clock.monotonic() + patience
        for line in self._lines_of(team, method, channel):
            await self._pass(line, deadline)

    async def block(self, team: str, method: str, channel: str, seconds: float) -> None:
        """Block the line of a call that Slack answered with 429, for the `seconds` it asked for."""
        line = self._lines_of(team, method, channel)[0]
        seconds = min(seconds, HOLD_LIMIT_SECONDS)
        line.blocked_until = max(line.blocked_until, self._clock.monotonic() + seconds)
        line.tokens.clear()
        if line.pace is not None:
            await self._budget.pause(line.key, line.pace, seconds)

    async def open_slot(self, team: str, *, patience: float) -> StreamSlot:
        """Get a slot for one more stream, or for a stop without a slot. Raises TooLong."""
        deadline = self._clock.monotonic() + patience
        line = self._line(team, "streams", pace=None)
        async with self._first_of(line, deadline):
            while True:
                found = await self._budget.take_slot(line.key, slots=self._slots)
                if isinstance(found, StreamSlot):
                    self._taken.add(found.name)
                    self._others = max(0, found.live - len(self._taken))
                    return found
                now = self._clock.monotonic()
                if now + found > deadline:
                    raise TooLong(found)
                line.due = now + found
                await self._clock.sleep(found)

    def assign_slot(self, slot: StreamSlot, stream: Hashable) -> None:
        """Assign the slot to a stream."""
        self._slot_of[stream] = slot

    def pop_slot(self, stream: Hashable) -> StreamSlot | None:
        """Take the slot from a stream. None if it has none."""
        return self._slot_of.pop(stream, None)

    async def close_slot(self, slot: StreamSlot) -> None:
        """Close the slot of a stream that was stopped or never began."""
        self._taken.discard(slot.name)
        await self._budget.free_slot(slot)

    def append_interval(self, team: str) -> float:
        """Seconds between two appends of one stream which give every live stream the same share.

        The rest of the burst is spread over the length of an answer. A few streams grow as quickly as their writer
        likes; many streams grow less often and by more at a time.
        """
        line = self._lines_of(team, "chat.appendStream", "")[0]
        if line.pace is None:
            return 0.0
        since = self._clock.monotonic() - line.paid_at
        spare = min(line.spare + since / line.pace.step, line.pace.burst)
        live = max(1, len(self._taken) + self._others)
        return live * ANSWER_SECONDS / (max(0.0, spare) + ANSWER_SECONDS / line.pace.step)

    async def _pass(self, line: _Line, deadline: float) -> None:
        """Wait in the line for the call's turn."""
        async with self._first_of(line, deadline):
            while (wait := await self._wait(line, deadline)) > 0:
                now = self._clock.monotonic()
                if now + wait > deadline:
                    raise TooLong(wait)
                line.due = now + wait
                await self._clock.sleep(wait)

    @asynccontextmanager
    async def _first_of(self, line: _Line, deadline: float) -> AsyncIterator[None]:
        """Wait to be the first of the line. Raises TooLong, whatever the first call waits for."""
        self._refuse_if_late(line, deadline)
        line.waiting += 1
        try:
            async with asyncio.timeout(max(MIN_QUEUE_WAIT, deadline - self._clock.monotonic())):
                await line.lock.acquire()
        except TimeoutError:
            raise TooLong(max(MIN_QUEUE_WAIT, line.wait(self._clock.monotonic()))) from None
        finally:
            line.waiting -= 1
        try:
            yield
        finally:
            line.lock.release()

    async def _wait(self, line: _Line, deadline: float) -> float:
        """Seconds until the first call checks again; 0 if it can leave. Raises TooLong."""
        now = self._clock.monotonic()
        if line.blocked_until > now or line.pace is None:
            return max(0.0, line.blocked_until - now)
        while line.tokens and line.tokens[0] + PAID_CALL_TIMEOUT < now:
            line.tokens.popleft()
        if not line.tokens:
            await self._pay(line, line.pace, deadline)
            now = self._clock.monotonic()
        if line.tokens[0] > now:
            return line.tokens[0] - now
        line.tokens.popleft()
        return 0.0

    async def _pay(self, line: _Line, pace: Pace, deadline: float) -> None:
        """Pay for the first call, and in advance for others if each payment costs something."""
        now, times = self._clock.monotonic(), 1
        if self._budget.ahead:
            is_quick = now - line.paid_at < SHORT_WAIT
            times = min(1 + max(line.waiting, self._budget.ahead if is_quick else 0), pace.burst)
        patience = max(0.0, deadline - now)
        first = await self._budget.pay(line.key, pace, times=times, patience=patience)
        now = self._clock.monotonic()
        line.paid_at = now
        if first > patience:
            line.spare, line.due = -first / pace.step, now + first
            raise TooLong(first)
        line.spare = 1 - times - first / pace.step
        line.tokens.extend(now + max(0.0, first + number * pace.step) for number in range(times))

    def _refuse_if_late(self, line: _Line, deadline: float) -> None:
        now = self._clock.monotonic()
        wait = line.wait(now)
        if wait > 0 and now + wait > deadline:
            raise TooLong(wait)

    def _lines_of(self, team: str, method: str, channel: str) -> list[_Line]:
        line = self._line(team, method, pace=PACES.get(method))
        if method == "chat.postMessage" and channel:
            return [self._line(team, method, channel, pace=POST_PACE), line]
        return [line]

    def _line(self, *key: str, pace: Pace | None) -> _Line:
        line = self._lines.get(key)
        if line is None:
            line = _Line("/".join(("slack", *key)), pace and pace.times(self._factor))
            self._lines[key] = line
            self._prune()
        self._lines.move_to_end(key)
        return line

    def _prune(self) -> None:
        """Forget the lines that were idle longest."""
        if len(self._lines) <= LINES_KEPT:
            return
        now = self._clock.monotonic()
        for key, line in list(self._lines.items())[: LINES_KEPT // 8]:
            if not line.lock.locked() and line.blocked_until <= now:
                del self._lines[key]


class MemoryBudget:
    """The budgets of the only process, kept in memory. After a restart, Slack's 429s show what is left."""

    ahead = 0

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._marks: dict[str, float] = {}
        self._slots: dict[str, list[float]] = {}

    async def pay(self, key: str, pace: Pace, *, times: int, patience: float) -> float:
        now = self._clock.monotonic()
        mark = max(now, self._marks.get(key, now))
        first = mark - (pace.burst - 1) * pace.step - now
        if first > patience + pace.step / 1_000:  # rounding errors of the sums don't count as late
            return first
        self._mark(key, mark + times * pace.step)
        return min(first, patience)

    async def pause(self, key: str, pace: Pace, seconds: float) -> None:
        until = self._clock.monotonic() + seconds + (pace.burst - 1) * pace.step
        self._mark(key, max(until, self._marks.get(key, until)))

    async def take_slot(self, key: str, *, slots: int) -> StreamSlot | float:
        now = self._clock.monotonic()
        taken = self._slots.setdefault(key, [-math.inf] * slots)
        place = min(range(len(taken)), key=taken.__getitem__)
        if taken[place] > now:
            return taken[place] - now
        taken[place] = now + STREAM_SECONDS + MINUTE
        live = sum(until > now + MINUTE for until in taken)
        return StreamSlot(f"{key}/{place}", taken[place], live)

    async def free_slot(self, slot: StreamSlot) -> None:
        key, _, place = slot.name.rpartition("/")
        taken = self._slots.get(key, ())
        if taken and taken[int(place)] == slot.until:
            self._slots[key][int(place)] = self._clock.monotonic() + MINUTE

    def _mark(self, key: str, until: float) -> None:
        """Set a mark. If there are very many, the expired ones are forgotten."""
        if len(self._marks) >= LINES_KEPT:
            now = self._clock.monotonic()
            self._marks = {kept: mark for kept, mark in self._marks.items() if mark > now}
        self._marks[key] = until


class SharedBudget:
    """The budgets of all processes on one database.

    If the database does not answer, each process uses its own budgets for a while, and then asks again.
    """

    ahead = AHEAD

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._own = MemoryBudget(clock)
        self._away_until = -math.inf

    async def pay(self, key: str, pace: Pace, *, times: int, patience: float) -> float:
        try:
            async with self._asking() as tx:
                return await limits.reserve(
                    tx, key, burst=pace.burst, step=pace.step, times=times, patience=patience, now=self._clock.now()
                )
        except StoreUnavailable:
            return await self._own.pay(key, pace, times=times, patience=patience)

    async def pause(self, key: str, pace: Pace, seconds: float) -> None:
        try:
            async with self._asking() as tx:
                until = self._clock.now() + seconds + (pace.burst - 1) * pace.step
                await limits.pause(tx, key, until=until)
        except StoreUnavailable:
            await self._own.pause(key, pace, seconds)

    async def take_slot(self, key: str, *, slots: int) -> StreamSlot | float:
        try:
            async with self._asking() as tx:
                now = self._clock.now()
                until = now + STREAM_SECONDS + MINUTE
                found = await limits.take_slot(tx, key, slots=slots, until=until, live=now + MINUTE, now=now)
        except StoreUnavailable:
            return await self._own.take_slot(key, slots=slots)
        if found.slot is None:
            return max(LOCKED_SECONDS, found.free_at - now)
        return StreamSlot(found.slot, until, found.live)

    async def free_slot(self, slot: StreamSlot) -> None:
        await self._own.free_slot(slot)  # perhaps it was taken while the database was unavailable
        try:
            async with self._asking(is_urgent=True) as tx:
                await limits.free_slot(tx, slot.name, was=slot.until, until=self._clock.now() + MINUTE)
        except StoreUnavailable:
            logger.warning("a slot was not given back; it is free by itself later", extra={"slot": slot.name})

    @asynccontextmanager
    async def _asking(self, *, is_urgent: bool = False) -> AsyncIterator[Transaction]:
        """A transaction, unless one has failed a moment ago. Urgent questions are asked in any case.

        Raises:
            StoreUnavailable: there is no answer, or none is expected.
        """
        if self._clock.monotonic() < self._away_until and not is_urgent:
            raise StoreUnavailable("it did not answer a moment ago")
        try:
            async with asyncio.timeout(SHARED_BUDGET_TIMEOUT), self._database.transaction() as tx:
                yield tx
        except (StoreUnavailable, TimeoutError) as error:
            self._away_until = self._clock.monotonic() + SHARED_BUDGET_RETRY_DELAY
            raise StoreUnavailable(str(error) or "timeout") from None
