"""How often something may be done."""

import pytest

from bot.store import limits
from bot.store.database import Database

MINUTE = 60.0


async def takes(database: Database, times: int, *, now: float, key: str = "tools/U1", bound: int = 5) -> int:
    """How many of so many tries went through."""
    async with database.transaction() as tx:
        return sum([await limits.take(tx, key, times=bound, seconds=MINUTE, now=now) for _ in range(times)])


async def test_as_many_at_once_as_are_allowed_in_the_time(database: Database) -> None:
    assert await takes(database, 7, now=1_000.0) == 5
    assert await takes(database, 1, now=1_000.0) == 0


async def test_each_of_them_comes_back_with_its_share_of_the_time(database: Database) -> None:
    await takes(database, 5, now=1_000.0)
    assert await takes(database, 3, now=1_011.0) == 0
    assert await takes(database, 3, now=1_012.0) == 1
    assert await takes(database, 9, now=1_036.0) == 2


async def test_after_the_whole_time_all_are_there_again_and_none_was_saved_up(database: Database) -> None:
    await takes(database, 5, now=1_000.0)
    assert await takes(database, 9, now=9_000.0) == 5


async def test_a_refused_try_costs_nothing(database: Database) -> None:
    await takes(database, 50, now=1_000.0)
    assert await takes(database, 1, now=1_012.0) == 1


async def test_everybody_has_a_pace_of_their_own(database: Database) -> None:
    await takes(database, 5, now=1_000.0)
    assert await takes(database, 5, now=1_000.0, key="tools/U2") == 5


async def test_fractions_of_time_lose_nobody_a_turn(database: Database) -> None:
    assert await takes(database, 80, now=1_795_000_000.123, bound=60) == 60
    assert await takes(database, 9, now=1_795_000_001.123, bound=60) == 1


async def test_a_clock_that_is_put_back_gives_at_most_one_more_and_keeps_nobody_waiting_for_it(
    database: Database,
) -> None:
    assert await takes(database, 9, now=9_000.0) == 5
    assert await takes(database, 9, now=5_400.0) == 1
    assert await takes(database, 9, now=5_400.0 + MINUTE / 5) == 1
    assert await takes(database, 9, now=5_400.0 + 3 * MINUTE) == 5


async def test_a_clock_that_is_put_forward_gives_what_a_minute_gives(database: Database) -> None:
    assert await takes(database, 9, now=9_000.0) == 5
    assert await takes(database, 9, now=12_600.0) == 5


async def test_calls_are_reserved_in_a_row_and_refused_where_they_would_wait_too_long(database: Database) -> None:
    async def reserve(now: float, times: int = 1, *, patience: float = 10.0) -> float:
        return await limits.reserve(tx, "post/C1", burst=2, step=4.0, times=times, patience=patience, now=now)

    async with database.transaction() as tx:
        waits = [await reserve(1_000.0) for _ in range(6)]
        assert waits == pytest.approx([-4.0, 0.0, 4.0, 8.0, 12.0, 12.0], abs=0.01)
        assert await reserve(1_004.0) == pytest.approx(8.0, abs=0.01)
        assert await reserve(1_100.0, times=3) == pytest.approx(-4.0, abs=0.01)
        assert await reserve(1_100.0, patience=4.0) == pytest.approx(8.0, abs=0.01)
        assert await reserve(1_100.0, patience=8.0) == pytest.approx(8.0, abs=0.01)


async def test_a_pause_only_lengthens_and_what_expired_a_day_ago_is_deleted(database: Database) -> None:
    async def first_wait() -> float:
        found = await limits.reserve(tx, "post", burst=1, step=1.0, times=1, patience=0.0, now=1_000.0)
        return round(found)

    async with database.transaction() as tx:
        for until in (1_050.0, 1_030.0):
            await limits.pause(tx, "post", until=until)
        assert await first_wait() == 50
        await limits.pause(tx, "post", until=1_060.0)
        await limits.prune(tx, now=1_060.0 + 24 * 60 * MINUTE)
        assert await first_wait() == 60
        await limits.prune(tx, now=1_060.1 + 24 * 60 * MINUTE)
        assert await first_wait() == 0


async def test_slots_are_taken_until_they_are_free_again_or_given_back(database: Database) -> None:
    async def take(now: float, until: float, *, slots: int = 2) -> limits.SlotFound:
        return await limits.take_slot(tx, "stream", slots=slots, until=until, live=now + 5.0, now=now)

    async with database.transaction() as tx:
        first, second, third = [await take(100.0, until) for until in (104.0, 120.0, 130.0)]
        assert (first.slot, second.slot, third.slot) == ("stream/0", "stream/1", None)
        assert (third.free_at, first.live, second.live, third.live) == (104.0, 0, 1, 1)
        assert (await take(103.9, 130.0)).slot is None
        assert (await take(104.0, 130.0)).slot == "stream/0"
        await limits.free_slot(tx, "stream/1", was=99.0, until=104.0)
        assert (await take(104.0, 130.0)).slot is None
        await limits.free_slot(tx, "stream/1", was=120.0, until=105.0)
        assert (await take(105.0, 140.0)).slot == "stream/1"
        assert (await take(105.0, 140.0, slots=3)).slot == "stream/2"
