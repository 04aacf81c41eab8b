"""A customer has their data erased at the Home tab, while one of their cases is open and an answer runs."""

import pytest

from tests.patience import patience
from tests.stories.test_edits import RETURNS, begins, kept
from tests.stories.world import Json, World, is_app, product_environment, run_product, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

CANARY = "quokkaberrylamp"


async def home_of(world: World, user: str) -> str:
    """The id of somebody's Home tab, once it is shown."""
    await world.act("open_home", {"user": user})
    return str(await world.until(lambda state: state["homes"].get(user, {}).get("id"), what="a Home tab"))


async def test_delete_my_data_leaves_nothing_but_what_the_customer_wrote_in_slack(world: World) -> None:
    customer = world.customer
    asked = await customer.says(f"I want to talk to a person about my {CANARY}")
    card = await world.card_of(asked)
    await world.staff.presses(card, "case.claim")
    joined = await customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    await world.staff.says(f"Your {CANARY} is late", to=card)
    await customer.reads(asked, after=joined.ts, having=lambda seen: "is late" in seen.text)
    running = await begins(world, RETURNS)
    tab = await home_of(world, customer.user)
    await world.act("click_view", {"user": customer.user, "view_id": tab, "action_id": "home.erase", "value": None})

    def is_erased(state: Json) -> bool | None:
        direct = [seen for seen in seen_in(state, asked.channel) if is_app(seen)]
        told = [seen for seen in seen_in(state, "C0AGENTS") if is_app(seen)]
        return (
            [seen.text.startswith("I've deleted your data") for seen in direct] == [True]
            and any("was erased because the customer asked for it" in seen.text for seen in told)
            and not any(CANARY in str(seen.raw) or customer.user in str(seen.raw) for seen in told)
        ) or None

    await world.until(is_erased, what="an erased customer", patience=patience(90))
    assert running.ts
    status, told = await run_product(product_environment(world, world.data), "erase", customer.user)
    assert (status, f"Nothing is kept of {customer.user}." in told) == (0, True), told
    assert CANARY.encode() not in await kept(world)
    after = await customer.says("Thanks!")
    await customer.reads(after)
