"""A change of an order, from the wish to what the shop did: previewed by code, confirmed by a press, done once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from bot.language.languages import DEFAULT
from bot.language.sentences import load_sentences
from tests.stories.conftest import PACE
from tests.stories.stage import Stage
from tests.stories.world import Json, Post, Seen, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

ORDER = "ORD-67890"
RULES = """
version: 1
currency_limits:
  USD: {staff_above: 20000, second_person_above: 50000, never_above: 200000}
actions:
  cancel_order:
    rules:
      - {id: not_packed, fact: order.status, one_of: [pending, processing], else: refuse, because: shipped_already}
"""
SENTENCES = load_sentences()


@pytest_asyncio.fixture(loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A world of its own for each story, since a story changes the shop."""
    folder = tmp_path_factory.mktemp("world")
    rules = folder.parent / f"{folder.name}.yml"
    rules.write_text(RULES, "utf-8")
    async with stage.open_world(folder, pace=PACE, env={"POLICY_PATH": str(rules)}) as opened:
        yield opened


def said(key: str, **values: str) -> str:
    """The sentence, without what is filled in at its end."""
    return SENTENCES.say(DEFAULT, key, **values)


def prepares(kind: str, **arguments: Any) -> Json:
    """A round in which the model prepares a change."""
    return {"calls": [{"name": f"prepare_{kind}", "arguments": arguments}]}


CANCEL = prepares("cancel_order", order_id=ORDER, reason="changed_mind")
DETAILS = {"text": "Please check the details below and press a button."}


async def offered(world: World, *rounds: Json, asks: str = f"Please cancel {ORDER}") -> tuple[Post, Seen]:
    """Ask for a change. Returns the question and the preview."""
    await world.model_says(*(rounds or (CANCEL, DETAILS)))
    asked = await world.customer.says(asks)
    preview = await world.customer.reads(asked, having=lambda seen: "act.yes" in seen.buttons)
    return asked, preview


async def order(world: World, number: str = ORDER) -> Json:
    """The order as the shop has it."""
    shop = world.ready["shop"]
    headers = {"Authorization": f"Bearer {shop['token']}"}
    async with world.http.get(f"{shop['url']}/orders/{number}", headers=headers) as response:
        read: Json = await response.json()
        return read


async def test_an_order_is_cancelled_by_the_customers_press_and_by_nothing_else(world: World) -> None:
    asked, preview = await offered(world)
    assert said("action_ask_cancel_order", order=ORDER) in preview.text
    typed = await world.customer.says("yes", to=asked)
    await world.customer.reads(asked, after=typed.ts, having=lambda seen: said("action_press_button") in seen.text)
    assert (await order(world))["status"] == "processing"
    requests = len(await world.model_requests())
    await world.customer.presses(preview, "act.yes")
    done = said("action_done_cancel_order", order=ORDER)
    end = await world.customer.reads(asked, after=typed.ts, having=lambda seen: done in seen.text)
    assert ":white_check_mark:" in end.text
    assert (await order(world))["status"] == "cancelled"
    assert len(await world.model_requests()) == requests


async def test_a_press_repeated_fifty_times_cancels_once_and_is_told_once(world: World) -> None:
    asked, preview = await offered(world)
    await asyncio.gather(*(world.customer.presses(preview, "act.yes") for _ in range(50)))
    done = said("action_done_cancel_order", order=ORDER)
    await world.customer.reads(asked, having=lambda seen: seen.ts > preview.ts and done in seen.text)
    told = [seen for seen in await world.replies(asked) if seen.ts > preview.ts and done in seen.text]
    assert len(told) == 1


async def test_no_leaves_everything_as_it_is(world: World) -> None:
    asked, preview = await offered(world)
    await world.customer.presses(preview, "act.no")
    left = said("action_declined")
    await world.customer.reads(asked, having=lambda seen: seen.ts == preview.ts and left in seen.text)
    assert (await order(world))["status"] == "processing"
