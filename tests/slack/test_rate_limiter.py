"""The rate limiter: never faster than Slack allows, whoever asks, and nobody waits behind another's limit."""

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.clock import MINUTE, SystemClock
from bot.errors import StoreUnavailable
from bot.slack.rate_limiter import (
    HOLD_LIMIT_SECONDS,
    PACES,
    PAID_CALL_TIMEOUT,
    POST_PACE,
    SHARED_BUDGET_RETRY_DELAY,
    STREAM_SECONDS,
    STREAM_SLOTS,
    Budget,
    MemoryBudget,
    RateLimiter,
    SharedBudget,
    StreamSlot,
    TooLong,
)
from bot.store.database import Database
from tests.doubles.clock import ManualClock
from tests.patience import patience

PUBLISHED = {
    "chat.appendStream": 100,
    "chat.update": 50,
    "chat.delete": 50,
    "reactions.add": 50,
    "reactions.remove": 20,
}
"""Slack's tiers of what writes, a minute."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(now=1_795_000_000.0)


@pytest.fixture(autouse=True)
def no_fallback(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real database that is slow for a moment does not end in budgets of one's own, which allow as much again."""
    if "database" in request.fixturenames:
        monkeypatch.setattr("bot.slack.rate_limiter.SHARED_BUDGET_TIMEOUT", patience(30))


@pytest.fixture(params=["memory", "shared"])
def budget(request: pytest.FixtureRequest, clock: ManualClock, database: Database) -> Budget:
    """The same rules for one process and for several."""
    return MemoryBudget(clock) if request.param == "memory" else SharedBudget(database, clock)


def busiest_minute(times: Sequence[float]) -> int:
    """The most calls in any sixty seconds."""
    return max((bisect_right(times, time + MINUTE - 1e-6) - at for at, time in enumerate(times)), default=0)


async def entered(rate_limiter: RateLimiter, clock: ManualClock, method: str, *, patience: float = 0.0) -> bool:
    try:
        await rate_limiter.enter("T1", method, patience=patience)
    except TooLong:
        return False
    return True


@pytest.mark.parametrize("method", PUBLISHED)
async def test_no_minute_has_more_calls_than_slack_publishes(budget: Budget, clock: ManualClock, method: str) -> None:
    rate_limiter, times = RateLimiter(budget, clock), list[float]()
    began = clock.monotonic()
    while clock.monotonic() < began + 200:
        if await entered(rate_limiter, clock, method):
            times.append(clock.monotonic())
        clock.advance(0.1)
    assert 0.9 * PUBLISHED[method] <= busiest_minute(times) <= PUBLISHED[method]


async def test_two_processes_share_what_slack_allows(database: Database, clock: ManualClock) -> None:
    rate_limiters = [RateLimiter(SharedBudget(database, clock), clock) for _ in range(2)]
    times: list[float] = []
    began = clock.monotonic()
    while clock.monotonic() < began + 150:
        left = [await entered(rate_limiter, clock, "chat.appendStream") for rate_limiter in rate_limiters]
        times += [clock.monotonic()] * sum(left)
        clock.advance(0.13)
    assert 80 <= busiest_minute(times) <= 100


async def test_calls_that_follow_one_another_quickly_are_paid_for_together(
    database: Database, clock: ManualClock
) -> None:
    class Counting(SharedBudget):
        paid = 0

        async def pay(self, *arguments: object, **named: object) -> float:
            self.paid += 1
            return await super().pay(*arguments, **named)  # type: ignore[arg-type]

    budget = Counting(database, clock)
    rate_limiter = RateLimiter(budget, clock)
    for _ in range(20):
        assert await entered(rate_limiter, clock, "chat.appendStream", patience=30.0)
    assert budget.paid <= 20 // 2
    together = [rate_limiter.enter("T1", "chat.update", patience=30.0) for _ in range(8)]
    before = budget.paid
    await asyncio.gather(*together)
    assert budget.paid - before <= 4


async def test_a_call_that_was_paid_for_and_not_made_in_time_is_lost(database: Database, clock: ManualClock) -> None:
    rate_limiter = RateLimiter(SharedBudget(database, clock), clock)
    times: list[float] = []
    for _ in range(400):
        if await entered(rate_limiter, clock, "chat.appendStream"):
            times.append(clock.monotonic())
        # Tokens pile up during a pause, and must not all be used after it.
        clock.advance(PAID_CALL_TIMEOUT * 2 if len(times) % 7 == 0 else 0.2)
    assert busiest_minute(times) <= 100


async def test_who_came_first_leaves_first(budget: Budget, clock: ManualClock) -> None:
    rate_limiter, left = RateLimiter(budget, clock), list[int]()

    async def call(number: int) -> None:
        await rate_limiter.enter("T1", "chat.update", patience=600.0)
        left.append(number)

    await asyncio.gather(*(call(number) for number in range(40)))
    assert left == list(range(40))


async def test_after_slack_limits_a_call_its_line_stands_still_and_keeps_its_order(
    budget: Budget, clock: ManualClock
) -> None:
    rate_limiter, left = RateLimiter(budget, clock), list[tuple[int, float]]()
    began = clock.monotonic()
    await rate_limiter.block("T1", "chat.update", "", 7.5)

    async def call(number: int) -> None:
        await rate_limiter.enter("T1", "chat.update", patience=600.0)
        left.append((number, clock.monotonic() - began))

    await asyncio.gather(*(call(number) for number in range(5)))
    assert [number for number, _ in left] == list(range(5))
    assert left[0][1] == pytest.approx(7.5, abs=0.1)
    steps = [later[1] - earlier[1] for earlier, later in pairwise(left)]
    assert all(step >= PACES["chat.update"].step - 0.01 for step in steps)  # no burst right after a refusal


async def test_an_absurd_wait_is_not_obeyed_to_the_end(budget: Budget, clock: ManualClock) -> None:
    rate_limiter = RateLimiter(budget, clock)
    began = clock.monotonic()
    await rate_limiter.block("T1", "chat.update", "", 1e9)
    await rate_limiter.enter("T1", "chat.update", patience=1e9)
    assert clock.monotonic() - began == pytest.approx(HOLD_LIMIT_SECONDS, abs=1.0)


async def test_nobody_waits_behind_another_channel_method_or_workspace(clock: ManualClock) -> None:
    class Waiting(ManualClock):
        """Whoever has to wait, waits."""

        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    waiting = Waiting()
    rate_limiter = RateLimiter(MemoryBudget(waiting), waiting)
    await rate_limiter.block("T1", "chat.postMessage", "C1", 30.0)
    stuck = asyncio.create_task(rate_limiter.enter("T1", "chat.postMessage", "C1", patience=60.0))
    await asyncio.sleep(0)
    await rate_limiter.enter("T1", "chat.postMessage", "C2", patience=0.0)
    await rate_limiter.enter("T2", "chat.postMessage", "C1", patience=0.0)
    await rate_limiter.enter("T1", "chat.update", patience=0.0)
    assert not stuck.done()
    stuck.cancel()
    await asyncio.gather(stuck, return_exceptions=True)


async def test_who_cannot_wait_is_told_at_once_how_long_it_would_be(budget: Budget, clock: ManualClock) -> None:
    rate_limiter = RateLimiter(budget, clock)
    for _ in range(POST_PACE.burst):
        await rate_limiter.enter("T1", "chat.postMessage", "C1", patience=0.0)
    began = clock.monotonic()
    with pytest.raises(TooLong) as late:
        await rate_limiter.enter("T1", "chat.postMessage", "C1", patience=0.5)
    assert late.value.seconds == pytest.approx(1.0, abs=0.1)
    assert clock.monotonic() == began


async def test_a_method_without_a_pace_leaves_at_once_unless_slack_limited_it(
    budget: Budget, clock: ManualClock
) -> None:
    rate_limiter = RateLimiter(budget, clock)
    for _ in range(1_000):
        await rate_limiter.enter("T1", "assistant.threads.setStatus", patience=0.0)
    await rate_limiter.block("T1", "assistant.threads.setStatus", "", 3.0)
    with pytest.raises(TooLong):
        await rate_limiter.enter("T1", "assistant.threads.setStatus", patience=0.0)


async def test_every_stream_that_starts_can_be_stopped_at_any_time(budget: Budget, clock: ManualClock) -> None:
    rate_limiter = RateLimiter(budget, clock)
    live = [await rate_limiter.open_slot("T1", patience=0.0) for _ in range(STREAM_SLOTS)]
    clock.advance(200.0)  # the minute of their starts is long over, and still nobody else may start
    with pytest.raises(TooLong):
        await rate_limiter.open_slot("T1", patience=3.0)
    for slot in live:
        await rate_limiter.close_slot(slot)
    with pytest.raises(TooLong) as late:
        await rate_limiter.open_slot("T1", patience=3.0)
    assert late.value.seconds == pytest.approx(MINUTE, abs=0.1)
    clock.advance(MINUTE)
    await rate_limiter.open_slot("T1", patience=0.0)


async def test_the_seat_of_a_process_that_died_is_free_when_slack_has_ended_its_stream(
    budget: Budget, clock: ManualClock
) -> None:
    for _ in range(STREAM_SLOTS):
        await RateLimiter(budget, clock).open_slot("T1", patience=0.0)
    clock.advance(STREAM_SECONDS + MINUTE + 0.01)
    await RateLimiter(budget, clock).open_slot("T1", patience=0.0)


@given(lengths=st.lists(st.tuples(st.floats(0.0, 4.0), st.floats(0.1, 90.0)), min_size=1, max_size=120))
async def test_neither_starts_nor_stops_pass_the_limit_however_long_answers_take(
    lengths: list[tuple[float, float]],
) -> None:
    clock = ManualClock()
    rate_limiter = RateLimiter(MemoryBudget(clock), clock)
    starts: list[float] = []
    ends: list[float] = []
    live: list[tuple[float, object]] = []
    for gap, length in lengths:
        clock.advance(gap)
        for end, slot in sorted((one for one in live if one[0] <= clock.monotonic()), key=lambda one: one[0]):
            ends.append(clock.monotonic())
            await rate_limiter.close_slot(slot)  # type: ignore[arg-type]
            live.remove((end, slot))
        try:
            slot = await rate_limiter.open_slot("T1", patience=0.0)
        except TooLong:
            continue
        starts.append(clock.monotonic())
        live.append((clock.monotonic() + length, slot))
    assert busiest_minute(starts) <= STREAM_SLOTS
    assert busiest_minute(ends) <= STREAM_SLOTS


async def test_seats_are_shared_by_processes(database: Database, clock: ManualClock) -> None:
    rate_limiters = [RateLimiter(SharedBudget(database, clock), clock) for _ in range(3)]
    taken = 0
    for number in range(30):
        try:
            await rate_limiters[number % 3].open_slot("T1", patience=0.0)
        except TooLong:
            continue
        taken += 1
    assert taken == STREAM_SLOTS


async def test_a_stream_grows_more_seldom_the_more_of_them_live(budget: Budget, clock: ManualClock) -> None:
    rate_limiter = RateLimiter(budget, clock)
    await rate_limiter.open_slot("T1", patience=0.0)
    alone = rate_limiter.append_interval("T1")
    for _ in range(9):
        await rate_limiter.open_slot("T1", patience=0.0)
    among_ten = rate_limiter.append_interval("T1")
    while await entered(rate_limiter, clock, "chat.appendStream"):
        pass
    when_dry = rate_limiter.append_interval("T1")
    assert alone < 0.5 < 5 * alone < among_ten < when_dry
    assert when_dry == pytest.approx(10 * PACES["chat.appendStream"].step, rel=0.2)


async def test_what_was_agreed_with_slack_raises_every_bound(clock: ManualClock) -> None:
    rate_limiter = RateLimiter(MemoryBudget(clock), clock, factor=10.0)
    for _ in range(10 * STREAM_SLOTS):
        await rate_limiter.open_slot("T1", patience=0.0)
    for _ in range(10 * PACES["chat.update"].burst):
        await rate_limiter.enter("T1", "chat.update", patience=0.0)


async def test_without_the_database_each_process_keeps_to_the_limits_by_itself(clock: ManualClock) -> None:
    rate_limiter, times = RateLimiter(SharedBudget(Hanging(), clock), clock), list[float]()  # type: ignore[arg-type]
    for _ in range(1_000):
        if await entered(rate_limiter, clock, "chat.update"):
            times.append(clock.monotonic())
        clock.advance(0.1)
    assert busiest_minute(times) <= 50
    for _ in range(STREAM_SLOTS):
        await rate_limiter.close_slot(await rate_limiter.open_slot("T1", patience=0.0))
    with pytest.raises(TooLong):
        await rate_limiter.open_slot("T1", patience=0.0)


class Hanging:
    """A database that has not answered until somebody gives up; counts who asked."""

    def __init__(self) -> None:
        self.asked = 0

    def transaction(self) -> "Hanging":
        return self

    async def __aenter__(self) -> None:
        self.asked += 1
        raise StoreUnavailable("every connection was busy for too long")

    async def __aexit__(self, *error: object) -> None: ...


async def test_a_database_that_did_not_answer_is_left_alone_for_a_while(clock: ManualClock) -> None:
    database = Hanging()
    rate_limiter = RateLimiter(SharedBudget(database, clock), clock)  # type: ignore[arg-type]
    for _ in range(5):
        await rate_limiter.enter("T1", "chat.update", patience=0.0)
        await rate_limiter.open_slot("T1", patience=0.0)
    assert database.asked == 1
    clock.advance(SHARED_BUDGET_RETRY_DELAY)
    await rate_limiter.open_slot("T1", patience=0.0)
    assert database.asked == 2


async def test_nobody_stands_longer_behind_a_payment_than_he_said() -> None:
    class Stuck(MemoryBudget):
        async def pay(self, *arguments: object, **named: object) -> float:
            return await asyncio.Event().wait()

        async def take_slot(self, *arguments: object, **named: object) -> StreamSlot | float:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    clock = SystemClock()
    rate_limiter = RateLimiter(Stuck(clock), clock)
    first = [
        asyncio.create_task(rate_limiter.enter("T1", "chat.update", patience=600.0)),
        asyncio.create_task(rate_limiter.open_slot("T1", patience=600.0)),
    ]
    await asyncio.sleep(0)
    async with asyncio.timeout(patience(30)):
        with pytest.raises(TooLong) as late:
            await rate_limiter.enter("T1", "chat.update", patience=0.0)
        with pytest.raises(TooLong):
            await rate_limiter.open_slot("T1", patience=0.0)
    assert late.value.seconds > 0
    assert not any(one.done() for one in first)
    for one in first:
        one.cancel()
    await asyncio.gather(*first, return_exceptions=True)
