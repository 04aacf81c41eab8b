"""A busy group does not keep the others waiting, and of all others the one that came first goes on."""

import asyncio

from bot.ingest.fair_semaphore import FairSemaphore
from tests.doubles.clock import settle
from tests.patience import patience


async def test_a_place_goes_to_the_workspace_that_has_fewest_and_within_it_in_order() -> None:
    slots, begun = FairSemaphore(2), list[str]()
    ends: dict[str, asyncio.Event] = {}

    async def work(group: str, name: str) -> None:
        await slots.acquire(group, names.index((group, name)))
        begun.append(name)
        await ends.setdefault(name, asyncio.Event()).wait()
        slots.release(group)

    names = [("busy", f"busy {number}") for number in range(4)] + [("quiet", "quiet 0"), ("other", "other 0")]
    tasks = [asyncio.create_task(work(group, name)) for group, name in names]
    await settle()
    assert begun == ["busy 0", "busy 1"]
    for number in range(6):
        ends.setdefault(begun[number], asyncio.Event()).set()
        await settle()
    assert begun == ["busy 0", "busy 1", "quiet 0", "busy 2", "other 0", "busy 3"]
    await asyncio.gather(*tasks)


async def test_nobody_holds_a_place_who_no_longer_waits_for_it() -> None:
    slots = FairSemaphore(1)
    await slots.acquire("a", 1)
    given_up, given_and_gone = (asyncio.create_task(slots.acquire(group, 2)) for group in ("b", "c"))
    await settle()
    given_up.cancel()
    await settle()
    slots.release("a")
    given_and_gone.cancel()
    await asyncio.gather(given_up, given_and_gone, return_exceptions=True)
    async with asyncio.timeout(patience(20)):
        await slots.acquire("d", 4)


async def test_who_gives_up_in_the_moment_in_which_a_place_is_freed_takes_it_from_nobody() -> None:
    slots = FairSemaphore(1)
    await slots.acquire("a", 1)
    given_up, waiting = (asyncio.create_task(slots.acquire(group, 2)) for group in ("b", "c"))
    await settle()
    given_up.cancel()
    slots.release("a")
    ended = await asyncio.gather(given_up, return_exceptions=True)
    assert isinstance(ended[0], asyncio.CancelledError)
    async with asyncio.timeout(patience(20)):
        await waiting
    slots.release("c")
    async with asyncio.timeout(patience(20)):
        await slots.acquire("d", 4)


async def test_with_one_place_those_who_wait_take_turns() -> None:
    slots, begun = FairSemaphore(1), list[str]()

    async def work(order: int, group: str) -> None:
        await slots.acquire(group, order)
        begun.append(group)
        await asyncio.sleep(0)
        slots.release(group)

    await asyncio.gather(*(work(*each) for each in enumerate(["busy"] * 5 + ["quiet", "other"])))
    assert begun == ["busy", "busy", "quiet", "other", "busy", "busy", "busy"]


async def test_who_came_first_goes_on_first_whoever_asked_first_for_a_place() -> None:
    slots, begun = FairSemaphore(1), list[int]()

    async def work(group: str, order: int) -> None:
        await slots.acquire(group, order)
        begun.append(order)
        await asyncio.sleep(0)
        slots.release(group)

    asked = [("a", 1), ("d", 6), ("b", 3), ("c", 5), ("a", 2), ("c", 4)]
    await asyncio.gather(*(work(*each) for each in asked))
    assert begun == [1, 2, 3, 4, 6, 5], "only c had a turn already when its second one would have been due"
