"""Many presses at the same moment: one execution, one decision, and the limits of the day hold."""

import asyncio
import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select

from bot.clock import SystemClock
from bot.conversation import ShopCustomer
from bot.shops.actions import Arguments, LineQuantity
from bot.shops.rest import open_rest_shop
from bot.store import schema
from bot.store.actions import Action
from bot.store.database import Database
from demo.shop.records import Pieces
from demo.shop.server import Shop, open_shop
from tests.actions.changing import Changing

CUSTOMER = ShopCustomer("cus_a", "Customer A", "customer.a@example.com")
DELIVERED = "ORD-31415"
LIMITS = {"USD": {"staff_above": 10_000_000, "never_above": 20_000_000}}
RULES: dict[str, Any] = {"version": 1, "currency_limits": LIMITS, "actions": {"refund": {"rules": []}}}


@pytest.fixture
async def demo() -> AsyncIterator[Shop]:
    """A shop of its own."""
    async with open_shop() as shop:
        yield shop


def copies(shop: Shop, count: int) -> list[str]:
    """So many orders like the delivered one."""
    records, known = shop.records, shop.records.orders[DELIVERED]
    names = [f"ORD-8{number:04}" for number in range(count)]
    for name in names:
        records.orders[name] = {**copy.deepcopy(known), "id": name}
        for line in known["lines"]:
            kept = records.pieces[DELIVERED, line["id"]]
            records.pieces[name, line["id"]] = Pieces(kept.shipped, kept.returned, kept.sent_again)
    return names


async def offered(changing: Changing, order: str) -> Action:
    """The refund of one piece of the order, as it is shown."""
    arguments = Arguments(order=order, lines=(LineQuantity("2", 1),), reason="damaged")
    prepared = await changing.offer("U1", "refund", arguments, origin=f"test/{order}")
    assert prepared.action is not None, prepared
    return await changing.find(prepared.action.ref)


async def queued(database: Database, ending: str) -> list[str]:
    async with database.transaction() as tx:
        keys = (await tx.execute(select(schema.outbox.c.key))).scalars()
        return [key for key in keys if key.startswith("act/") and key.endswith(ending)]


async def test_fifty_approvals_at_once_are_one_execution_and_one_decided_card(database: Database, demo: Shop) -> None:
    rules = {**RULES, "staff": "always"}
    async with open_rest_shop(demo.url, demo.token) as shop:
        changing = Changing(database, SystemClock(), shop, rules, {"U1": CUSTOMER})
        (order,) = copies(demo, 1)
        action = await offered(changing, order)
        assert await changing.press(action, "U1", "yes") == "confirmed"
        asked = await changing.find(action.ref)
        assert asked.state == "approving"
        came_to = await asyncio.gather(*(changing.press(asked, f"USTAFF{number}", "approve") for number in range(50)))
        assert sorted(set(came_to)) == ["approved", "moved_on"]
        assert came_to.count("approved") == 1
        await asyncio.gather(*(changing.look() for _ in range(3)))
    assert (await changing.find(action.ref)).state == "done"
    assert [entry["arguments"]["order"] for entry in demo.records.ledger] == [order]
    assert len(await queued(database, "/decided")) == 1
    assert len(await queued(database, "/end")) == 1


async def test_twenty_yeses_at_once_stay_within_the_limit_of_a_day(database: Database, demo: Shop) -> None:
    names = copies(demo, 20)
    price = next(line for line in demo.records.orders[DELIVERED]["lines"] if line["id"] == "2")["unit_price"]["amount"]
    limit = price * 10
    rules = {**RULES, "daily": {"customer_actions": 100, "customer_money": {"USD": limit}}}
    async with open_rest_shop(demo.url, demo.token) as shop:
        changing = Changing(database, SystemClock(), shop, rules, {"U1": CUSTOMER})
        shown = [await offered(changing, name) for name in names]
        assert -sum(each.money for each in shown) == 2 * limit
        assert set(await asyncio.gather(*(changing.press(each, "U1", "yes") for each in shown))) == {"confirmed"}
        await changing.look()
    states = [(await changing.find(each.ref)).state for each in shown]
    moved = sum(entry["money"]["amount"] for entry in demo.records.ledger)
    assert 0 < -moved <= limit
    assert states.count("done") + states.count("approving") == len(shown)
    assert len(demo.records.ledger) == states.count("done")
