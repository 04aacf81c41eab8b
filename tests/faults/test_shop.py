"""The shop fails, once and for good: what the customer reads, what the model is told, and what is never shown."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.faults.quiet import check_log, read_log
from tests.faults.talk import at_once, open_bare_world
from tests.stories.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

OUT_OF_REACH = "can't reach our order system"
ALWAYS = 1_000
"""More requests than are ever made."""
MEMORY_MB = 60
"""What may be added by answers of 50 MB, of which 256 KB are read."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def waiting(world: World) -> AsyncIterator[dict[str, asyncio.Task[str]]]:
    """Questions about three orders that the shop takes its time for, all at once."""
    await world.shop_breaks(kind="slow", seconds=6, path="/orders/ORD-67890")
    await world.shop_breaks(kind="slow", seconds=11, path="/orders/ORD-24680")
    await world.shop_breaks(kind="hang", path="/orders/ORD-13579")
    orders = ("ORD-67890", "ORD-24680", "ORD-13579")
    async with at_once({order: answer_about(world, order) for order in orders}) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def quiet(world: World) -> AsyncIterator[None]:
    """Whatever happened, the log is in order."""
    yield
    await check_log(world)


async def test_a_slow_shop_holds_up_nobody_else(world: World, waiting: dict[str, asyncio.Task[str]]) -> None:
    asked = await world.other_customer.says("How many days do I have to return an item?")
    assert "30 days" in (await world.other_customer.reads(asked)).text
    assert not all(task.done() for task in waiting.values())


async def test_a_connection_that_ends_once_is_noticed_by_nobody(world: World) -> None:
    await answer_about(world, "ORD-11223")
    await world.shop_breaks(kind="reset", path="/orders/ORD-12345")
    assert OUT_OF_REACH not in await answer_about(world, "ORD-12345")


@pytest.mark.parametrize("kind", ["error", "garbage", "huge", "bomb", "redirect"])
async def test_a_bad_answer_of_the_shop_is_said_and_the_next_one_counts(world: World, kind: str) -> None:
    await world.shop_breaks(kind=kind, path="/orders/ORD-12345")
    assert OUT_OF_REACH in await answer_about(world, "ORD-12345")
    assert "ORD-12345" in (again := await answer_about(world, "ORD-12345"))
    assert OUT_OF_REACH not in again


@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: another process's memory is read from /proc")
@pytest.mark.parametrize("kind", ["error", "garbage", "reset", "huge", "bomb", "redirect"])
async def test_bad_answers_without_end_are_said_each_time_and_never_used(world: World, kind: str) -> None:
    before = memory_mb(world)
    await world.shop_breaks(kind=kind, path="/orders/ORD-12345", times=ALWAYS)
    for _ in range(2):
        assert OUT_OF_REACH in await answer_about(world, "ORD-12345")
    told = [each["body"]["messages"][-1] for each in await world.model_requests()]
    results = [str(each["content"]) for each in told if each["role"] == "tool"]
    assert any("no answer at the moment" in result for result in results), "the model is told in words"
    assert memory_mb(world) - before < MEMORY_MB
    await world.shop_breaks(kind="none")
    assert OUT_OF_REACH not in await answer_about(world, "ORD-12345")


async def test_of_two_questions_the_one_about_the_order_is_said_to_be_open(world: World) -> None:
    await world.shop_breaks(kind="error", path="/orders/ORD-12345", times=ALWAYS)
    asked = await world.customer.says("Where is ORD-12345? And how many days do I have to return an item?")
    told = await world.customer.reads(asked, having=lambda seen: bool(seen.text.strip()))
    assert OUT_OF_REACH in told.text
    assert "30 days" in told.text
    await world.shop_breaks(kind="none")


@pytest.mark.parametrize("times", [1, ALWAYS])
async def test_records_of_somebody_else_are_not_shown(world: World, times: int) -> None:
    await world.shop_breaks(kind="foreign", path="/orders/ORD-12345", times=times)
    shown = await answer_about(world, "ORD-12345")
    assert not any(words in shown for words in private_words())
    asked_with = json.dumps((await world.model_requests())[-1]["body"]["messages"])
    assert not any(words in asked_with for words in private_words()), "the model has not seen them either"
    await world.shop_breaks(kind="none")
    assert any("somebody else" in line["message"] for line in read_log(world))


async def test_a_shop_that_does_not_say_who_asks_is_said_and_work_is_seen_meanwhile(world: World) -> None:
    await world.shop_breaks(kind="hang", path="/customers")
    asked = await world.customer.says("Where is ORD-12345?")
    await world.shows_work(asked)
    assert not any("does not say who" in line["message"] for line in read_log(world)), "it still might"
    told = await world.customer.reads(asked, having=lambda seen: bool(seen.text.strip()))
    assert OUT_OF_REACH in told.text
    await world.shop_breaks(kind="none")


async def test_six_seconds_are_waited_for(waiting: dict[str, asyncio.Task[str]]) -> None:
    answer = await waiting["ORD-67890"]
    assert "ORD-67890" in answer
    assert OUT_OF_REACH not in answer


@pytest.mark.parametrize("order", ["ORD-24680", "ORD-13579"])
async def test_more_than_ten_seconds_are_not(waiting: dict[str, asyncio.Task[str]], order: str) -> None:
    assert OUT_OF_REACH in await waiting[order]


async def test_a_shop_that_nobody_serves_is_said_to_be_out_of_reach(tmp_path: Path) -> None:
    async with open_bare_world(tmp_path, SHOP_URL="http://127.0.0.1:9") as world:
        assert OUT_OF_REACH in await answer_about(world, "ORD-12345")
        await check_log(world)


async def answer_about(world: World, order: str) -> str:
    """The first words that customer A reads when they ask where an order is."""
    asked = await world.customer.says(f"Where is {order}?")
    return (await world.customer.reads(asked, having=lambda seen: bool(seen.text.strip()))).text


def private_words() -> list[str]:
    """What the order that is asked for holds, and nobody else may read."""
    return ["1Z999", "Ridgeline"]


def memory_mb(world: World) -> float:
    """What the product holds in memory now."""
    status: Any = Path(f"/proc/{world.ready['bot']['pid']}/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
