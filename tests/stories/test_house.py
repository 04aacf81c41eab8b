"""The desk of a shop behind another connector: orders are found, and one is cancelled."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.conftest import PACE
from tests.stories.test_actions import CANCEL, DETAILS, ORDER, RULES, ends, prepares, said
from tests.stories.world import World, open_world

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=["house", pytest.param("shopify", marks=pytest.mark.long)]
)
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp(request.param)
    rules = folder.parent / f"{folder.name}.yml"
    rules.write_text(RULES, "utf-8")
    async with open_world(folder, pace=PACE, env={"POLICY_PATH": str(rules)}, shop=request.param) as opened:
        yield opened


async def test_a_customer_reads_how_their_order_is_doing(world: World) -> None:
    asked = await world.customer.says("Where is ORD-12345?")
    answer = await world.customer.reads(asked, having=lambda seen: "ORD-12345" in seen.text)
    assert "1Z999AA10123456784" in answer.text


async def test_an_order_is_cancelled_by_a_press(world: World) -> None:
    await world.model_says(CANCEL, DETAILS)
    asked = await world.customer.says("Please cancel ORD-67890")
    preview = await world.customer.reads(asked, having=lambda seen: "act.yes" in seen.buttons)
    await world.customer.presses(preview, "act.yes")
    await ends(world, asked, preview, said("action_done_cancel_order", order=ORDER))


async def test_what_the_connectors_file_lacks_is_not_offered(world: World) -> None:
    await world.model_says(prepares("send_again", order_id="ORD-12345", reason="other"), {"text": "I can't do that."})
    asked = await world.customer.says("Please send ORD-12345 again")
    answer = await world.customer.reads(asked, having=lambda seen: bool(seen.text))
    assert "act.yes" not in answer.buttons
