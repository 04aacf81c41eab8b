"""Places at the database: the urgent go first, and nobody's place is lost."""

import asyncio

import pytest

from bot.store.turnstile import Turnstile
from tests.patience import patience

PATIENCE = patience(20.0)


async def test_the_urgent_pass_those_who_wait() -> None:
    turnstile, order = Turnstile(1), list[str]()

    async def go(name: str, *, urgent: bool) -> None:
        async with turnstile.passing(urgent=urgent, seconds=PATIENCE):
            order.append(name)

    async with turnstile.passing(urgent=False, seconds=PATIENCE):
        going = [asyncio.create_task(go(name, urgent=False)) for name in ("first", "second")]
        await asyncio.sleep(0)
        going += [asyncio.create_task(go(name, urgent=True)) for name in ("urgent", "urgent too")]
        await asyncio.sleep(0)
    await asyncio.gather(*going)
    assert order == ["urgent", "urgent too", "first", "second"]


async def test_no_more_pass_than_there_are_places() -> None:
    turnstile, inside, most = Turnstile(3), 0, 0

    async def go() -> None:
        nonlocal inside, most
        async with turnstile.passing(urgent=False, seconds=PATIENCE):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(go() for _ in range(50)))
    assert most == 3


async def test_who_waits_too_long_is_told_and_takes_no_place() -> None:
    turnstile = Turnstile(1)
    async with turnstile.passing(urgent=False, seconds=PATIENCE):
        with pytest.raises(TimeoutError):
            async with turnstile.passing(urgent=True, seconds=0.01):
                raise AssertionError("there was no place")
    async with turnstile.passing(urgent=False, seconds=PATIENCE):
        pass


async def test_a_place_given_to_somebody_who_was_just_cancelled_goes_on_to_the_next() -> None:
    turnstile = Turnstile(1)

    async def go() -> None:
        async with turnstile.passing(urgent=False, seconds=PATIENCE):
            pass

    async with turnstile.passing(urgent=False, seconds=PATIENCE):
        cancelled, following = asyncio.create_task(go()), asyncio.create_task(go())
        await asyncio.sleep(0)
    cancelled.cancel()
    async with asyncio.timeout(PATIENCE):
        await following
