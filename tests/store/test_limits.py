"""How often something may be done."""

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
