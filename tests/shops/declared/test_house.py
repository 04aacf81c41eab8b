"""A declared connector keeps the connectors' contract, at a house system that it knows from a file alone."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.shops.actions import Arguments, LineQuantity, NotSupported, Outcome
from bot.shops.declared.shop import DeclaredShop, open_declared_shop
from bot.shops.port import ShopUnavailable
from demo.house.server import House, open_house
from demo.shop.faults import Fault
from tests.shops.contract import CUSTOMER_A, ConnectorContract, ParcelContract, ParcelStand, Stand

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FILE = Path("demo/house/store.http.yml")


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_house(now=NOW) as running:
        yield running


@pytest.fixture
async def shop(house: House) -> AsyncIterator[DeclaredShop]:
    async with open_declared_shop(FILE, environ=house.environment(), deadline=2, action_deadline=2) as opened:
        yield opened


class TestHouse(ConnectorContract):
    @pytest.fixture
    def stand(self, house: House, shop: DeclaredShop) -> Stand:
        return Stand(
            shop=shop,
            break_with=house.add_fault,
            digest=house.records.digest,
            changes=lambda: [entry["key"] for entry in house.records.ledger],
            requests=lambda: len(house.requests),
            secret=house.client_secret,
            kinds=("cancel_order", "change_order_address", "refund", "return_items"),
            keyless=("return_items",),
            reads_back=True,
        )


async def test_a_customer_is_found_by_their_address_alone(shop: DeclaredShop) -> None:
    assert await shop.find_customer("Customer.A@example.com") == CUSTOMER_A
    assert await shop.find_customer("nobody@example.com") is None


async def test_all_pages_of_a_customers_orders_are_read_newest_first(house: House, shop: DeclaredShop) -> None:
    orders = await shop.list_orders(CUSTOMER_A)
    assert [order.id for order in orders] == [order["id"] for order in house.records.orders_of("cus_a")]
    pages = -(-len(orders) // house.page_size)
    assert [path.rpartition("=")[2] for path in house.requests if "/orders?page=" in path] == [
        str(page) for page in range(1, pages + 1)
    ]


async def test_an_order_reads_as_the_other_shop_tells_it(house: House, shop: DeclaredShop) -> None:
    order = await shop.get_order(CUSTOMER_A, "ORD-31415")
    stored = house.records.orders["ORD-31415"]
    assert order is not None
    assert (order.status, order.payment, order.state) == ("delivered", "paid", "ZUGESTELLT")
    assert (order.total.minor, order.total.currency) == (stored["total"]["amount"], "USD")
    assert [line.unit_price.minor for line in order.lines] == [line["unit_price"]["amount"] for line in stored["lines"]]
    assert {line.unit_price.currency for line in order.lines} == {"USD"}


class TestParcels(ParcelContract):
    @pytest.fixture
    def parcels(self, house: House, shop: DeclaredShop) -> ParcelStand:
        return ParcelStand(shop, lambda fault: house.add_fault(replace(fault, path="/shipments")))


async def test_a_token_that_ended_is_renewed_within_the_question(house: House, shop: DeclaredShop) -> None:
    await shop.get_order(CUSTOMER_A, "ORD-31415")
    house.tokens.clear()
    assert await shop.get_order(CUSTOMER_A, "ORD-31415") is not None
    house.tokens.clear()
    action = Arguments(order="ORD-67890", reason="mistake")
    order = await shop.get_order(CUSTOMER_A, "ORD-67890")
    quote = await shop.quote(CUSTOMER_A, "cancel_order", order, action)
    request = shop.render(CUSTOMER_A, "cancel_order", order, action, quote=quote, key="k-1")
    house.tokens.clear()
    assert (await shop.send(request)).state == "done"


async def test_an_action_that_looks_done_already_is_not_offered(shop: DeclaredShop) -> None:
    arguments = Arguments(order="ORD-31415", lines=(LineQuantity("2", 1),), reason="other")
    order = await shop.get_order(CUSTOMER_A, "ORD-31415")
    quote = await shop.quote(CUSTOMER_A, "return_items", order, arguments)
    await shop.send(shop.render(CUSTOMER_A, "return_items", order, arguments, quote=quote, key="k-1"))
    order = await shop.get_order(CUSTOMER_A, "ORD-31415")
    with pytest.raises(NotSupported, match="nobody could tell"):
        await shop.quote(CUSTOMER_A, "return_items", order, arguments)


async def test_a_shop_that_is_busy_is_left_alone_for_as_long_as_it_asks(house: House, shop: DeclaredShop) -> None:
    house.add_fault(Fault("busy", seconds=20))
    with pytest.raises(ShopUnavailable):
        await shop.get_order(CUSTOMER_A, "ORD-31415")
    asked = len(house.requests)
    with pytest.raises(ShopUnavailable):
        await shop.get_order(CUSTOMER_A, "ORD-31415")
    assert len(house.requests) == asked


async def test_after_five_failures_the_shop_is_left_alone(house: House, shop: DeclaredShop) -> None:
    house.add_fault(Fault("error", times=100))
    for _ in range(5):
        with pytest.raises(ShopUnavailable):
            await shop.get_order(CUSTOMER_A, "ORD-31415")
    asked = len(house.requests)
    with pytest.raises(ShopUnavailable):
        await shop.get_order(CUSTOMER_A, "ORD-31415")
    order = house.records.orders["ORD-67890"]
    assert order["status"] == "processing"
    assert len(house.requests) == asked


async def test_a_request_of_another_connector_is_not_sent(house: House, shop: DeclaredShop) -> None:
    order = await shop.get_order(CUSTOMER_A, "ORD-67890")
    arguments = Arguments(order="ORD-67890")
    quote = await shop.quote(CUSTOMER_A, "cancel_order", order, arguments)
    request = shop.render(CUSTOMER_A, "cancel_order", order, arguments, quote=quote, key="k-1")
    asked = len(house.requests)
    assert await shop.send(type(request)(request.method, request.path, request.headers, request.body)) == Outcome(
        "unavailable"
    )
    assert len(house.requests) == asked
