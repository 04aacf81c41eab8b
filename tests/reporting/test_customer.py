"""What staff see about the customer of a case, and what they don't."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.conversation import Customer, ShopCustomer
from bot.reporting.customer import CustomerCards
from bot.shops.port import Money, Order
from bot.store import audit, cases
from bot.store.case_lists import Desks
from bot.store.cases import Case
from bot.store.database import Database
from local_slack.blocks import message_faults
from tests.desk.doubles import FewOrders, SilentShop
from tests.doubles.clock import ManualClock
from tests.store.rows import THREAD, a_case
from tests.turns.arrivals import TEAM

SHOP = ShopCustomer("C1", "Customer <!channel>", "customer.a@example.com")
HERE = Desks(frozenset({""}), frozenset({"C0BILLING"}))


class Known:
    """Knows who the customer is."""

    def __init__(self, shop: ShopCustomer | None = SHOP, *, shop_silent: bool = False) -> None:
        self.customer = Customer(TEAM, "U0CUSTOMERA", "Customer A", "en-US", "member", shop, shop_silent=shop_silent)

    async def identify(self, user: str, *, with_shop: bool = True) -> Customer:
        return replace(self.customer, zone="Asia/Jakarta")


def an_order(number: int) -> Order:
    placed = datetime(2026, 11, number, tzinfo=UTC)
    return Order(f"ORD-{number}", "C1", "shipped", "paid", placed, Money(1_250, "EUR"), ())


async def the_card(database: Database, case: Case, *, who: Any = None, shop: Any = None) -> str:
    identities: Any = who or Known()
    customers = CustomerCards(database, ManualClock(1_795_200_000.0), identities, shop)
    card = await customers.card(case, at=HERE)
    assert message_faults(list(card.blocks)) == []
    return str(card.blocks)


async def past(database: Database, number: int, **fields: Any) -> Case:
    """A case that has ended."""
    thread = replace(THREAD, ts=f"{number}.1")
    async with database.transaction() as tx:
        added = await cases.add(tx, a_case(thread=thread, state="closed", ended_at=9.0, outcome="solved", **fields))
        assert added is not None
        await audit.rate(tx, f"case/{added.ref}", "U0CUSTOMERA", "2", now=9.0)
    return added


async def test_staff_see_account_orders_cases_scores_language_and_local_time(database: Database) -> None:
    lamp = await past(database, 1, title="A lamp that broke")
    async with database.transaction() as tx:
        case = await cases.add(tx, a_case(thread=replace(THREAD, ts="7.1"), language="id"))
    assert case is not None
    shown = await the_card(database, case, shop=FewOrders(an_order(number) for number in (4, 3, 2, 1)))
    for words in ("verified: Customer &lt;!channel&gt;", "ORD-4", "shipped", "12.50 EUR", "Indonesia", "Asia/Jakarta"):
        assert words in shown
    assert "ORD-1 " not in shown, "the last three"
    assert f"{lamp.ref} · A lamp that broke · Solved" in shown
    assert f"{lamp.ref}: 2 of 5" in shown
    assert "customer.a@example.com" not in shown


async def test_cases_of_other_desks_and_of_other_people_are_not_shown(database: Database) -> None:
    await past(database, 1, title="An invoice", desk="C0BILLING")
    await past(database, 2, title="Boots", customer="U0CUSTOMERB")
    shown = await the_card(database, a_case(id=99))
    assert "An invoice" not in shown
    assert "Boots" not in shown
    assert "Last scores" not in shown


@pytest.mark.parametrize(
    ("who", "shop", "words"),
    [
        (Known(None), FewOrders([an_order(1)]), "not verified"),
        (Known(shop_silent=True), SilentShop(), "doesn't answer"),
        (Known(), SilentShop(), "verified. The shop doesn't answer"),
    ],
    ids=["no account", "the shop does not say who it is", "the shop does not list orders"],
)
async def test_without_an_account_or_a_shop_no_order_is_shown(
    database: Database, who: Any, shop: Any, words: str
) -> None:
    shown = await the_card(database, a_case(id=99), who=who, shop=shop)
    assert words in shown
    assert "ORD-" not in shown
    assert "secret address" not in shown


async def test_of_an_erased_customer_nothing_is_shown(database: Database) -> None:
    await past(database, 1, title="A lamp that broke")
    shown = await the_card(database, a_case(id=99, state="closed", outcome=cases.ERASED), shop=FewOrders([an_order(1)]))
    assert "was erased" in shown
    assert "lamp" not in shown
    assert "ORD-" not in shown
