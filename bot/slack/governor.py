"""The governor: when a call may leave, for the whole app, a little below what Slack's published tiers let one count on.

A call stands in the line of its workspace and method, a post in that of its channel as well; lines know nothing of
each other, and within one it is first come first served. What Slack answers with 429 makes its line stand still.

enter            wait for a call's turn, or be told that it would take too long
hold             Slack limited a call: its line stands still for as long as it asked
open_seat        what a streamed message needs, and `close_seat` once it was stopped
append_interval  how often each live stream may grow, so that all of them have the same share

A stream is paid for when it starts. startStream and stopStream have the same tier, so a workspace has that many seats;
a stream holds one from its start until a minute after its stop. Hence neither method is ever called more often in any
minute than there are seats, and no stop has to wait. The first words of a stream travel with its start and the last
with its stop, so neither waits for the budget of appends. The seats of a process that died stay taken for as long as
Slack may keep its streams open; whoever stops these needs no other.

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

from bot.clock import Clock
from bot.errors import FrontdeskError, StoreUnavailable
from bot.store import limits
from bot.store.database import Database, Transaction

logger = logging.getLogger(__name__)

MINUTE_SECONDS = 60.0
SEATS = 19
"""Streams that may be started, and stopped, in any minute: Slack's tier 2 is "20+"."""
STREAM_SECONDS = 320.0
"""Slack ends every stream after this long at the latest; a seat that nobody gives back is free again then."""
TOKEN_SECONDS = 3.0
"""A call that was paid for and is not made within this time is lost, so that calls do not pile up."""
AHEAD = 3
"""Calls that are paid for with the one that is to leave, when calls of its line follow one another quickly;"""
QUICKLY_SECONDS = 1.0
"""that is, when the last payment is not older than this."""
ANSWER_SECONDS = 12.0
"""For how long an answer is written, more or less."""
STORE_SECONDS = 2.0
"""How long the shared budgets may take to answer."""
AWAY_SECONDS = 10.0
"""For how long they are not asked again when they did not."""
STAND_SECONDS = 0.5
"""How long even a call that does not wait stands behind one that is being paid for, which takes milliseconds."""
HOLD_LIMIT_SECONDS = 300.0
"""The longest that a line stands still for one answer; after that Slack is asked again."""
LOCKED_SECONDS = 0.05
"""How soon a seat is asked for again when others were asking for the last ones in the same moment."""
LINES_KEPT = 4_096


@dataclass(frozen=True, slots=True)
class Pace:
    """How often something may be done: `burst` times at once, and then once every `step` seconds."""

    burst: int
    step: float

    def times(self, factor: float) -> "Pace":
        """The same, so many times faster."""
        return Pace(max(1, int(self.burst * factor)), self.step / factor)


def _counted(per_minute: int) -> Pace:
    """Never more in any minute, however it is counted: what comes at once is taken from what comes evenly."""
    burst = per_minute // 5
    return Pace(burst, MINUTE_SECONDS / (0.95 * per_minute - burst))


def _bursting(per_minute: int) -> Pace:
    """For methods that read, at which Slack welcomes sporadic bursts."""
    return Pace(int(0.9 * per_minute), MINUTE_SECONDS / (0.9 * per_minute))


POST_PACE = Pace(10, 1.0)
"""Posts in one channel: about one a second, short bursts are tolerated."""
PACES = {
    # In the whole workspace; "several hundred a minute", as Slack has it.
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
    # Slack does not publish their tier; it is taken for the third. Less than half of it is for beginnings, so that the
    # end of work is shown without a wait.
    "agents.sessions.setStatus": _counted(50),
    "agents.sessions.setStatus/processing": _counted(22),
    "agents.sessions.rename": _counted(50),
    "usergroups.users.list": _bursting(20),
    "users.info": _bursting(100),
    "conversations.info": _bursting(50),
    "conversations.members": _bursting(100),
    "conversations.open": _bursting(50),
    "conversations.replies": _bursting(50),
    "conversations.history": _bursting(50),
    "files.info": _bursting(100),
    "files.getUploadURLExternal": _bursting(100),
    "files.completeUploadExternal": _bursting(100),
    "files.delete": _counted(50),
}
"""Slack's tiers (https://docs.slack.dev/apis/web-api/rate-limits) by method. Whatever is not here leaves at once."""


class TooLong(FrontdeskError):
    """A call's turn would come later than its caller waits; `seconds` from now, as far as can be known."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"{seconds:.1f} s")


@dataclass(frozen=True, slots=True)
class Seat:
    """What pays for one stream's start and stop."""

    name: str
    until: float
    """When it is free by itself, on the budget's clock."""
    live: int
    """Seats of live streams when it was taken, this one included."""


class Budget(Protocol):
    """What may still be done."""

    ahead: int
    """Calls that are worth being paid for in advance; 0 when asking costs nothing."""

    async def pay(self, key: str, pace: Pace, *, times: int, patience: float) -> float:
        """Pay for calls; the seconds until the first of them may leave, each further one a step later.

        Less than nothing when there was room: by so much they all come late. More than `patience`, and nothing is paid.
        """
        ...

    async def pause(self, key: str, pace: Pace, seconds: float) -> None:
        """Let nobody make such a call for so long."""
        ...

    async def sit(self, key: str, *, seats: int) -> Seat | float:
        """A free seat, or seconds until the next one is free."""
        ...

    async def rise(self, seat: Seat) -> None:
        """Give a seat back, to be free after a minute."""
        ...


@dataclass(slots=True)
class _Line:
    """One line of calls. Whoever stands first holds the lock while it waits for its turn."""

    key: str
    pace: Pace | None
    """None: only Slack's answers make it stand still."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    tokens: deque[float] = field(default_factory=deque)
    """From when on the calls that are paid for may leave."""
    waiting: int = 0
    due: float = -math.inf
    """When whoever stands first may leave."""
    held: float = -math.inf
    """Until when it stands still."""
    spare: float = 0.0
    paid_at: float = -math.inf

    def wait(self, now: float) -> float:
        """Seconds that a newcomer would wait at least."""
        ahead = self.waiting * self.pace.step if self.pace and self.due > now else 0.0
        return max(self.held - now, self.due - now + ahead, 0.0)


class Governor:
    """One for the app. `factor` raises all bounds, for a workspace with which Slack has agreed on more."""

    def __init__(self, budget: Budget, clock: Clock, *, factor: float = 1.0) -> None:
        self._budget = budget
        self._clock = clock
        self._factor = factor
        self._seats = max(1, int(SEATS * factor))
        self._lines: OrderedDict[tuple[str, ...], _Line] = OrderedDict()
        self._sitting: dict[Hashable, Seat] = {}
        self._taken: set[str] = set()
        """Our seats, those of streams that are about to start included,"""
        self._others = 0
        """and how many other processes had when the last one was taken."""

    async def enter(self, team: str, method: str, channel: str = "", *, patience: float) -> None:
        """Return when the call may be made. Raises TooLong."""
        deadline = self._clock.monotonic() + patience
        for line in self._lines_of(team, method, channel):
            await self._pass(line, deadline)

    async def hold(self, team: str, method: str, channel: str, seconds: float) -> None:
        """Slack answered 429 and asks for so many seconds."""
        line = self._lines_of(team, method, channel)[0]
        seconds = min(seconds, HOLD_LIMIT_SECONDS)
        line.held = max(line.held, self._clock.monotonic() + seconds)
        line.tokens.clear()
        if line.pace is not None:
            await self._budget.pause(line.key, line.pace, seconds)

    async def open_seat(self, team: str, *, patience: float) -> Seat:
        """A seat for one more stream, or for a stop that none was taken for. Raises TooLong."""
        deadline = self._clock.monotonic() + patience
        line = self._line(team, "streams", pace=None)
        async with self._first_of(line, deadline):
            while True:
                found = await self._budget.sit(line.key, seats=self._seats)
                if isinstance(found, Seat):
                    self._taken.add(found.name)
                    self._others = max(0, found.live - len(self._taken))
                    return found
                now = self._clock.monotonic()
                if now + found > deadline:
                    raise TooLong(found)
                line.due = now + found
                await self._clock.sleep(found)

    def take_seat(self, seat: Seat, stream: Hashable) -> None:
        """The seat is this stream's."""
        self._sitting[stream] = seat

    def pop_seat(self, stream: Hashable) -> Seat | None:
        """The stream's seat, which it holds no longer; None when it has none."""
        return self._sitting.pop(stream, None)

    async def close_seat(self, seat: Seat) -> None:
        """The stream was stopped, or never began."""
        self._taken.discard(seat.name)
        await self._budget.rise(seat)

    def append_interval(self, team: str) -> float:
        """Seconds between two appends of one stream which give every live stream the same share.

        What is left of the burst is used up over the length of an answer: a few streams grow as quickly as their
        writer likes, many less often and by more at a time.
        """
        line = self._lines_of(team, "chat.appendStream", "")[0]
        if line.pace is None:
            return 0.0
        since = self._clock.monotonic() - line.paid_at
        spare = min(line.spare + since / line.pace.step, line.pace.burst)
        live = max(1, len(self._taken) + self._others)
        return live * ANSWER_SECONDS / (max(0.0, spare) + ANSWER_SECONDS / line.pace.step)

    async def _pass(self, line: _Line, deadline: float) -> None:
        """Stand in the line until it is one's turn."""
        async with self._first_of(line, deadline):
            while (wait := await self._wait(line, deadline)) > 0:
                now = self._clock.monotonic()
                if now + wait > deadline:
                    raise TooLong(wait)
                line.due = now + wait
                await self._clock.sleep(wait)

    @asynccontextmanager
    async def _first_of(self, line: _Line, deadline: float) -> AsyncIterator[None]:
        """Be the first of the line. Raises TooLong, whatever the first of it waits for."""
        self._refuse_if_late(line, deadline)
        line.waiting += 1
        try:
            async with asyncio.timeout(max(STAND_SECONDS, deadline - self._clock.monotonic())):
                await line.lock.acquire()
        except TimeoutError:
            raise TooLong(max(STAND_SECONDS, line.wait(self._clock.monotonic()))) from None
        finally:
            line.waiting -= 1
        try:
            yield
        finally:
            line.lock.release()

    async def _wait(self, line: _Line, deadline: float) -> float:
        """Seconds until the first of the line may look again; 0 when it may leave. Raises TooLong."""
        now = self._clock.monotonic()
        if line.held > now or line.pace is None:
            return max(0.0, line.held - now)
        while line.tokens and line.tokens[0] + TOKEN_SECONDS < now:
            line.tokens.popleft()
        if not line.tokens:
            await self._pay(line, line.pace, deadline)
            now = self._clock.monotonic()
        if line.tokens[0] > now:
            return line.tokens[0] - now
        line.tokens.popleft()
        return 0.0

    async def _pay(self, line: _Line, pace: Pace, deadline: float) -> None:
        """Pay for the first of the line, and with it for others when each payment costs something."""
        now, times = self._clock.monotonic(), 1
        if self._budget.ahead:
            is_quick = now - line.paid_at < QUICKLY_SECONDS
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
        """Forget the lines that were idle for longest."""
        if len(self._lines) <= LINES_KEPT:
            return
        now = self._clock.monotonic()
        for key, line in list(self._lines.items())[: LINES_KEPT // 8]:
            if not line.lock.locked() and line.held <= now:
                del self._lines[key]


class MemoryBudget:
    """The budgets of the only process, kept while it runs: after a restart Slack says what is left."""

    ahead = 0

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._marks: dict[str, float] = {}
        self._seats: dict[str, list[float]] = {}

    async def pay(self, key: str, pace: Pace, *, times: int, patience: float) -> float:
        now = self._clock.monotonic()
        mark = max(now, self._marks.get(key, now))
        first = mark - (pace.burst - 1) * pace.step - now
        if first > patience + pace.step / 1_000:  # what adding fractions up leaves over is no lateness
            return first
        self._mark(key, mark + times * pace.step)
        return min(first, patience)

    async def pause(self, key: str, pace: Pace, seconds: float) -> None:
        until = self._clock.monotonic() + seconds + (pace.burst - 1) * pace.step
        self._mark(key, max(until, self._marks.get(key, until)))

    async def sit(self, key: str, *, seats: int) -> Seat | float:
        now = self._clock.monotonic()
        taken = self._seats.setdefault(key, [-math.inf] * seats)
        place = min(range(len(taken)), key=taken.__getitem__)
        if taken[place] > now:
            return taken[place] - now
        taken[place] = now + STREAM_SECONDS + MINUTE_SECONDS
        live = sum(until > now + MINUTE_SECONDS for until in taken)
        return Seat(f"{key}/{place}", taken[place], live)

    async def rise(self, seat: Seat) -> None:
        key, _, place = seat.name.rpartition("/")
        taken = self._seats.get(key, ())
        if taken and taken[int(place)] == seat.until:
            self._seats[key][int(place)] = self._clock.monotonic() + MINUTE_SECONDS

    def _mark(self, key: str, until: float) -> None:
        """Set a mark; when there are very many, those that say nothing any more are forgotten."""
        if len(self._marks) >= LINES_KEPT:
            now = self._clock.monotonic()
            self._marks = {kept: mark for kept, mark in self._marks.items() if mark > now}
        self._marks[key] = until


class SharedBudget:
    """The budgets of all processes on one database.

    When it does not answer, each process goes by its own for a while, and asks again after that.
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

    async def sit(self, key: str, *, seats: int) -> Seat | float:
        try:
            async with self._asking() as tx:
                now = self._clock.now()
                until = now + STREAM_SECONDS + MINUTE_SECONDS
                found = await limits.sit(tx, key, seats=seats, until=until, live=now + MINUTE_SECONDS, now=now)
        except StoreUnavailable:
            return await self._own.sit(key, seats=seats)
        if found.seat is None:
            return max(LOCKED_SECONDS, found.free_at - now)
        return Seat(found.seat, until, found.live)

    async def rise(self, seat: Seat) -> None:
        await self._own.rise(seat)  # taken while the database was away, perhaps
        try:
            async with self._asking(is_urgent=True) as tx:
                await limits.rise(tx, seat.name, was=seat.until, until=self._clock.now() + MINUTE_SECONDS)
        except StoreUnavailable:
            logger.warning("a seat was not given back; it is free by itself later", extra={"seat": seat.name})

    @asynccontextmanager
    async def _asking(self, *, is_urgent: bool = False) -> AsyncIterator[Transaction]:
        """A transaction, unless one has failed a moment ago. What is urgent is asked all the same.

        Raises:
            StoreUnavailable: there is no answer, or none is expected.
        """
        if self._clock.monotonic() < self._away_until and not is_urgent:
            raise StoreUnavailable("it did not answer a moment ago")
        try:
            async with asyncio.timeout(STORE_SECONDS), self._database.transaction() as tx:
                yield tx
        except (StoreUnavailable, TimeoutError) as error:
            self._away_until = self._clock.monotonic() + AWAY_SECONDS
            raise StoreUnavailable(str(error) or "timeout") from None
