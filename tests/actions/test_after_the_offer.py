"""What becomes of a change between its offer and its request: taken back, asked for again, decided too late."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.clock import SystemClock
from bot.conversation import ShopCustomer
from bot.shops.actions import Arguments, LineQuantity
from bot.shops.rest import open_rest_shop
from bot.store.database import Database
from demo.shop.server import Shop, open_shop
from tests.actions.changing import Changing
from tests.actions.test_together import copies, queued
from tests.doubles.clock import ManualClock

CUSTOMER = ShopCustomer("cus_a", "Customer A", "customer.a@example.com")
LIMITS = {"USD": {"staff_above": 10_000_000, "never_above": 20_000_000}}
RULES: dict[str, Any] = {"version": 1, "currency_limits": LIMITS, "actions": {"refund": {"rules": []}}}
ONCE_A_DAY = {
    "id": "once_a_day",
    "fact": "customer.actions_today",
    "at_most": "0",
    "else": "refuse",
    "because": "nothing_paid",
}
HOUR = 3600.0


@pytest.fixture
async def demo() -> AsyncIterator[Shop]:
    """A shop of its own."""
    async with open_shop() as shop:
        yield shop


def refund(order: str) -> Arguments:
    return Arguments(order=order, lines=(LineQuantity("2", 1),), reason="damaged")


async def test_what_was_taken_back_and_is_wanted_again_in_the_same_turn_is_shown(
    database: Database, demo: Shop
) -> None:
    """As after an edit before the answer ends."""
    async with open_rest_shop(demo.url, demo.token) as shop:
        changing = Changing(database, SystemClock(), shop, RULES, {"U1": CUSTOMER})
        (order,) = copies(demo, 1)
        first = await changing.prepare("U1", "refund", refund(order), origin="turn/7")
        async with database.transaction() as tx:
            await changing.preparing.take_back(tx, [7])
        again = await changing.offer("U1", "refund", refund(order), origin="turn/7")
        assert first.action is not None
        assert again.action is not None
        assert again.action.ref != first.action.ref
        shown = await changing.find(again.action.ref)
        assert shown.state == "offered"
        assert await queued(database, "/offer") == [f"act/{shown.ref}/offer"]
        assert await changing.press(shown, "U1", "yes") == "confirmed"


async def test_a_rule_that_holds_no_more_stops_what_was_confirmed(database: Database, demo: Shop) -> None:
    """Two offers that the rule allows one by one, and two presses."""
    rules = {**RULES, "actions": {"refund": {"rules": [ONCE_A_DAY]}}}
    async with open_rest_shop(demo.url, demo.token) as shop:
        changing = Changing(database, SystemClock(), shop, rules, {"U1": CUSTOMER})
        orders = copies(demo, 2)
        offers = [await changing.offer("U1", "refund", refund(order), origin=f"turn/{order}") for order in orders]
        shown = [await changing.find(offer.action.ref) for offer in offers if offer.action]
        assert [await changing.press(each, "U1", "yes") for each in shown] == ["confirmed", "confirmed"]
        await changing.look()
        ended = [(await changing.find(each.ref)).state for each in shown]
    assert len(demo.records.ledger) <= 1
    assert set(ended) <= {"done", "withdrawn"}
    assert "withdrawn" in ended


async def test_whoever_said_yes_is_told_that_nobody_decided_in_time(database: Database, demo: Shop) -> None:
    clock = ManualClock()
    async with open_rest_shop(demo.url, demo.token) as shop:
        changing = Changing(database, clock, shop, {**RULES, "staff": "always"}, {"U1": CUSTOMER})
        (order,) = copies(demo, 1)
        offer = await changing.offer("U1", "refund", refund(order), origin="turn/7")
        assert offer.action is not None
        shown = await changing.find(offer.action.ref)
        assert await changing.press(shown, "U1", "yes") == "confirmed"
        clock.advance(HOUR)
        await changing.look()
    assert (await changing.find(shown.ref)).state == "expired"
    assert await queued(database, "/end") == [f"act/{shown.ref}/end"]
    assert demo.records.ledger == []
