"""The four procedures that ship, played by the stand-in model."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from bot.language.sentences import load_sentences
from demo.world import PROCEDURES
from tests.stories.conftest import PACE
from tests.stories.stage import Stage
from tests.stories.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

SENTENCES = load_sentences()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """The demo's world, with its procedures."""
    async with stage.open_world(
        tmp_path_factory.mktemp("world"), pace=PACE, env={"PROCEDURES_PATH": str(PROCEDURES)}
    ) as opened:
        yield opened


async def test_a_damaged_article_leads_from_the_first_words_to_the_money(world: World) -> None:
    asked = await world.customer.says("The shoes in ORD-31415 arrived broken")
    await world.customer.reads(asked, having=lambda seen: "a replacement or the money back" in seen.text)
    await world.customer.says("I want my money back", to=asked)
    preview = await world.customer.reads(asked, having=lambda seen: "act.yes" in seen.buttons)
    assert SENTENCES.say("en", "action_ask_refund", order="ORD-31415") in preview.text
    await world.customer.presses(preview, "act.no")
    later = await world.customer.says("Where is ORD-12345?", to=asked)
    answer = await world.customer.reads(asked, after=later.ts, having=lambda seen: "ORD-12345" in seen.text)
    assert "act.yes" not in answer.buttons


async def test_a_wrong_address_is_asked_for_whole_and_prepared(world: World) -> None:
    asked = await world.customer.says("The address of ORD-19283 is wrong")
    await world.customer.reads(asked, having=lambda seen: "the whole new address" in seen.text)
    await world.customer.says("Customer A, 12 Harbour Road, 04101 Portland, United States", to=asked)
    preview = await world.customer.reads(asked, having=lambda seen: "act.yes" in seen.buttons)
    assert "12 Harbour Road" in preview.text


async def test_a_pending_order_is_cancelled_in_german(world: World) -> None:
    asked = await world.customer.says("Bitte storniere ORD-67890")
    preview = await world.customer.reads(asked, having=lambda seen: "act.yes" in seen.buttons)
    assert SENTENCES.say("de", "action_ask_cancel_order", order="ORD-67890") in preview.text
    await world.customer.presses(preview, "act.no")
    await world.counts('frontdesk_procedures_ended_total{end="done",procedure="cancel-order"} 1.0')


async def test_an_order_that_has_left_is_not_cancelled_and_a_person_is_called(world: World) -> None:
    asked = await world.customer.says("Please cancel ORD-12345")
    await world.customer.reads(asked, having=lambda seen: "can't be cancelled any more" in seen.text)
    card = await world.card_of(asked)
    assert "cancel-order, version 1, step sent" in card.text
    await world.hands_all_back()


async def test_a_late_parcel_can_wait(world: World) -> None:
    asked = await world.customer.says("My parcel of ORD-12345 is late")
    await world.customer.reads(asked, having=lambda seen: "What would you like for" in seen.text)
    later = await world.customer.says("I can wait", to=asked)
    await world.customer.reads(asked, after=later.ts)
    await world.counts('frontdesk_procedures_ended_total{end="done",procedure="late-parcel"} 1.0')
