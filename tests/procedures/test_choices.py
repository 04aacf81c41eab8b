"""Procedures that prepare exchanges and other payments: only what the shop offers this customer is noted."""

from collections.abc import AsyncIterator

import pytest

from bot.actions.preparing import ChangeRequest
from bot.conversation import ShopCustomer, ThreadRef
from bot.procedures.file import parse_procedure
from bot.procedures.running import ProcedureRuns
from bot.procedures.values import Noted, WrongValue, shown
from bot.shops.actions import Swap
from bot.shops.rest import open_rest_shop
from bot.store.database import Database
from demo.shop.server import open_shop
from tests.actions.changing import TEAM, Changing
from tests.doubles.clock import ManualClock

CUSTOMER = ShopCustomer("cus_a", "Customer A", "customer.a@example.com")
RULES = {
    "version": 1,
    "currency_limits": {"USD": {"staff_above": 90_000}},
    "actions": {"exchange_items": {"rules": []}},
}
SOURCE = """\
---
procedure: other-size
version: 1
when: An article has the wrong size.
collect:
  order: {type: own_order}
  swaps: {type: swaps_of, of: order}
  card: {type: payment_method}
steps:
  - {id: find, needs: [order, swaps, card]}
  - id: swap
    prepare: {exchange_items: {swaps: swaps, method: card, reason: wrong_item}}
    when: {done: end, else: people}
---
## find
Which size?
"""
WRONG: list[tuple[str, Noted]] = [
    ("swaps", [Swap("9", "var_talus_40_mid")]),
    ("swaps", [Swap("1", "var_socks_41")]),
    ("swaps", [Swap("1", "var_talus_40_mid"), Swap("1", "var_talus_40_mid")]),
    ("swaps", []),
    ("card", "pm_b_card"),
    ("card", "Visa 4242"),
]


class Desk:
    """A procedure about one order, in one thread."""

    def __init__(self, changing: Changing, database: Database, clock: ManualClock) -> None:
        self.changing = changing
        folder = {"other-size": parse_procedure(SOURCE)}
        self.runs = ProcedureRuns(
            database, clock, lambda: folder, changing.preparing, changing.runner.cases, changing.identify
        )

    async def wanted(self) -> ChangeRequest:
        customer = await self.changing.identify("U1")
        return ChangeRequest(customer, CUSTOMER, ThreadRef(TEAM, "D0U1", "1.1"), "turn/7", "en")


@pytest.fixture
async def desk(database: Database) -> AsyncIterator[Desk]:
    clock = ManualClock()
    async with open_shop() as double, open_rest_shop(double.url, double.token) as shop:
        yield Desk(Changing(database, clock, shop, RULES, {"U1": CUSTOMER}), database, clock)


async def test_an_exchange_is_prepared_with_what_the_shop_offers(desk: Desk) -> None:
    wanted = await desk.wanted()
    running = await desk.runs.begin(wanted, "other-size")
    values: list[tuple[str, Noted]] = [
        ("order", "ORD-31415"),
        ("swaps", [Swap("1", "var_talus_40_mid")]),
        ("card", "pm_a_gift"),
    ]
    for name, value in values:
        running = await desk.runs.note(wanted, running, name, value, images=(), turn=7)
    action = await desk.changing.find(running.run.action)
    assert (action.kind, action.state) == ("exchange_items", "offered")
    assert action.arguments["swaps"] == [{"line": "1", "variant": "var_talus_40_mid"}]
    assert action.arguments["method"] == "pm_a_gift"
    assert "becomes" in shown(running.run.collected["swaps"])


@pytest.mark.parametrize(("name", "value"), WRONG)
async def test_what_the_shop_does_not_offer_this_customer_is_not_noted(desk: Desk, name: str, value: Noted) -> None:
    wanted = await desk.wanted()
    running = await desk.runs.begin(wanted, "other-size")
    running = await desk.runs.note(wanted, running, "order", "ORD-31415", images=(), turn=7)
    with pytest.raises(WrongValue):
        await desk.runs.note(wanted, running, name, value, images=(), turn=7)
