"""Turns begin while the event loop is on time, a few at once."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import pytest

from bot.ingest.admission import MAX_LOOP_LAG_SECONDS, MAX_STARTS, PRESSES_IN_A_ROW, AdmissionControl, Group
from tests.doubles.clock import settle
from tests.patience import patience

PATIENCE = patience(20.0)


@pytest.fixture
async def admission() -> AsyncIterator[AdmissionControl]:
    watch = AdmissionControl()
    async with watching(watch):
        yield watch


@contextlib.asynccontextmanager
async def watching(admission: AdmissionControl) -> AsyncIterator[None]:
    """It looks at the loop meanwhile."""
    running = asyncio.create_task(admission.run())
    yield
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


class Turns:
    """Notes which rows were begun."""

    def __init__(self) -> None:
        self.begun: list[int] = []

    async def take(self, item_id: int) -> None:
        self.begun.append(item_id)


async def test_one_turn_begins_at_once(admission: AdmissionControl) -> None:
    turns = Turns()
    await admission.admitting(turns.take)(1)
    assert turns.begun == [1]


async def test_of_many_a_few_begin_and_the_rest_follow_in_order() -> None:
    admission, turns = AdmissionControl(), Turns()
    take = admission.admitting(turns.take)
    waiting = [asyncio.create_task(take(number)) for number in range(3 * MAX_STARTS)]
    await settle()
    assert turns.begun == [*range(MAX_STARTS)]
    async with asyncio.timeout(PATIENCE), watching(admission):
        await asyncio.gather(*waiting)
    assert turns.begun == [*range(3 * MAX_STARTS)]


async def test_while_the_loop_is_late_no_turn_begins_and_later_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.ingest.admission.MAX_WAIT_SECONDS", PATIENCE)
    admission, turns = AdmissionControl(), Turns()
    take = admission.admitting(turns.take)
    waiting = [asyncio.create_task(take(number)) for number in range(MAX_STARTS + 1)]
    await settle()
    async with asyncio.timeout(PATIENCE), watching(admission):
        await asyncio.sleep(0)
        while admission.loop_lag < MAX_LOOP_LAG_SECONDS:
            time.sleep(4 * MAX_LOOP_LAG_SECONDS)  # what a busy loop does  # noqa: ASYNC251
            await asyncio.sleep(0)
        begun_while_late = MAX_STARTS in turns.begun
        await asyncio.gather(*waiting)
    assert not begun_while_late
    assert turns.begun[-1] == MAX_STARTS


async def test_a_loop_that_stays_late_stops_nobody_for_ever(admission: AdmissionControl) -> None:
    turns = Turns()
    take = admission.admitting(turns.take)
    waiting = [asyncio.create_task(take(number)) for number in range(MAX_STARTS + 2)]
    async with asyncio.timeout(PATIENCE):
        while len(turns.begun) < MAX_STARTS + 2:
            time.sleep(2 * MAX_LOOP_LAG_SECONDS)  # noqa: ASYNC251
            await asyncio.sleep(0)
    await asyncio.gather(*waiting)


async def test_what_waits_when_the_watch_ends_does_not_begin() -> None:
    admission, turns = AdmissionControl(), Turns()
    running = asyncio.create_task(admission.run())
    take = admission.admitting(turns.take)
    waiting = [asyncio.create_task(take(number)) for number in range(MAX_STARTS + 3)]
    await settle()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    late = asyncio.create_task(take(99))
    async with asyncio.timeout(PATIENCE):
        ended = await asyncio.gather(*waiting, late, return_exceptions=True)
    assert turns.begun == [*range(MAX_STARTS)]
    assert sum(isinstance(each, asyncio.CancelledError) for each in ended) == 4


async def test_who_writes_much_keeps_nobody_else_waiting() -> None:
    async def whose(number: int) -> Group:
        return Group("somebody else" if number == 100 else "who writes much")

    admission, turns = AdmissionControl(whose), Turns()
    take = admission.admitting(turns.take)
    waiting = [asyncio.create_task(take(number)) for number in range(50)]
    await settle()
    waiting.append(asyncio.create_task(take(100)))
    await settle()
    async with asyncio.timeout(PATIENCE), watching(admission):
        await asyncio.gather(*waiting)
    assert turns.begun.index(100) <= MAX_STARTS + 2
    assert [number for number in turns.begun if number != 100] == [*range(50)]


async def _by_number(number: int) -> Group:
    """Rows from 100 on are presses. Everybody writes or presses once."""
    return Group(str(number), are_presses=number >= 100)


async def test_a_press_goes_ahead_of_the_messages_that_wait() -> None:
    admission, turns = AdmissionControl(_by_number), Turns()
    take = admission.admitting(turns.take)
    waiting = [asyncio.create_task(take(number)) for number in [*range(50), 100, 101]]
    await settle()
    async with asyncio.timeout(PATIENCE), watching(admission):
        await asyncio.gather(*waiting)
    assert turns.begun[MAX_STARTS : MAX_STARTS + 2] == [100, 101]
    assert [number for number in turns.begun if number < 100] == [*range(50)]


async def test_however_many_presses_wait_messages_begin_too() -> None:
    admission, turns = AdmissionControl(_by_number), Turns()
    take = admission.admitting(turns.take)
    waiting = [asyncio.create_task(take(number)) for number in [*range(MAX_STARTS), *range(100, 200), 50, 51, 52]]
    await settle()
    async with asyncio.timeout(PATIENCE), watching(admission):
        await asyncio.gather(*waiting)
    of_messages = [turns.begun.index(number) - MAX_STARTS for number in (50, 51, 52)]
    assert of_messages == [PRESSES_IN_A_ROW, 2 * PRESSES_IN_A_ROW + 1, 3 * PRESSES_IN_A_ROW + 2]
    assert [number for number in turns.begun if number >= 100] == [*range(100, 200)]
