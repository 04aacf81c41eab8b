"""The order tools as the model meets them: JSON in, JSON out, and one customer only."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.agent.tools import RESULT_LIMIT, Context, InvalidArguments, Tool, ToolOutput, ToolProblem
from bot.conversation import ShopCustomer
from bot.desk.orders import order_tools
from bot.shops.port import Money, Order, OrderLine, ParcelRef
from tests.desk.doubles import CUSTOMER_A, CUSTOMER_B, FewOrders, SilentShop, context_of

ORDER = Order(
    id="ORD-12345",
    customer_id=CUSTOMER_A.id,
    status="shipped",
    payment="paid",
    placed_at=datetime(2026, 11, 14, 9, 24, tzinfo=UTC),
    total=Money(15_290, "USD"),
    lines=(OrderLine("Rain jacket", 1, Money(11_900, "USD")), OrderLine("Socks", 2, Money(1_450, "USD"))),
    parcels=(ParcelRef("1Z999AA10123456784", "UPS"),),
    ships_to="Portland, United States",
)


def lookup(*orders: Order) -> Tool:
    return order_tools(FewOrders(orders))[0]


def my_orders(*orders: Order) -> Tool:
    return order_tools(FewOrders(orders))[1]


async def call(tool: Tool, arguments: dict[str, Any], shop: ShopCustomer | None = CUSTOMER_A) -> ToolOutput:
    return await tool.call(context_of(shop), tool.read(json.dumps(arguments)))


async def test_an_order_is_told_with_amounts_and_dates_that_people_read() -> None:
    output = await call(lookup(ORDER), {"order_id": "ORD-12345"})
    assert output.ok
    assert json.loads(output.text()) == {
        "order": "ORD-12345",
        "status": "shipped",
        "payment": "paid",
        "placed": "14 Nov 2026",
        "total": "152.90 USD",
        "articles": [
            {"title": "Rain jacket", "quantity": 1, "price_each": "119.00 USD"},
            {"title": "Socks", "quantity": 2, "price_each": "14.50 USD"},
        ],
        "parcels": [{"tracking_number": "1Z999AA10123456784", "carrier": "UPS"}],
        "ships_to": "Portland, United States",
    }


@pytest.mark.parametrize("written", ["ord-12345", "#ORD-12345", " Ord-12345 "])
async def test_a_number_is_read_as_customers_write_it(written: str) -> None:
    assert (await call(lookup(ORDER), {"order_id": written})).ok


async def test_a_missing_and_a_foreign_order_give_the_same_bytes() -> None:
    foreign = await call(lookup(ORDER), {"order_id": "ORD-12345"}, CUSTOMER_B)
    missing = await call(lookup(ORDER), {"order_id": "ORD-99999"}, CUSTOMER_B)
    assert foreign.text().encode() == missing.text().encode()
    assert not foreign.ok
    assert not missing.ok


@pytest.mark.parametrize("number", [0, 1])
async def test_somebody_without_a_shop_identity_gets_no_order_data(number: int) -> None:
    tool = order_tools(FewOrders((ORDER,)))[number]
    output = await call(tool, {"order_id": "ORD-12345"} if number == 0 else {}, None)
    assert not output.ok
    assert "ORD-" not in output.text()
    assert "not available" in output.text()
    assert output.private is False, "told where they asked"


def test_what_is_no_order_number_is_refused_in_words() -> None:
    table = [
        "",
        "ORD-१२३४५",
        "ORD-12345\x00",
        "ORD-12345\n",
        "ORD\u200b-1",
        "../orders",
        "ORD 1",
        "A" * 41,
        "9" * 10_240,
        "ſ",
    ]
    misses: list[tuple[str, object]] = []
    for order_id in table:
        try:
            misses.append((order_id, lookup().read(json.dumps({"order_id": order_id}))))
        except InvalidArguments as refused:
            words = refused.output.text()
            if "order_id" not in words or "character" not in words or len(words) >= 1_000:
                misses.append((order_id, words))
    assert misses == []


@pytest.mark.parametrize("arguments", ['{"order_id": 12345}', "{}", '{"order_id": "ORD-1", "customer_id": "cus_b"}'])
def test_no_argument_is_guessed_widened_or_left_out(arguments: str) -> None:
    with pytest.raises(InvalidArguments):
        lookup().read(arguments)


def test_the_tools_take_no_customer_and_are_private() -> None:
    for tool in order_tools(FewOrders(())):
        assert not any("customer" in name or "mail" in name for name in tool.schema.get("properties", {}))
        assert tool.private


async def test_a_shop_in_trouble_is_told_in_words_fit_for_the_customer() -> None:
    for tool, arguments in zip(order_tools(SilentShop()), [{"order_id": "ORD-1"}, {}], strict=True):
        with pytest.raises(ToolProblem, match="offer a person") as problem:
            await call(tool, arguments)
        assert "secret" not in str(problem.value)


async def test_the_latest_orders_are_listed_and_the_others_counted() -> None:
    orders = [_order(number) for number in range(13)]
    listed = json.loads((await call(my_orders(*orders), {})).text())
    assert len(listed["orders"]) == 10
    assert listed["orders"][0]["order"] == "ORD-0"
    assert listed["older_orders_not_listed"] == 3


async def test_no_orders_are_an_empty_list() -> None:
    assert json.loads((await call(my_orders(), {})).text()) == {"orders": []}


async def test_the_longest_orders_fit_into_one_result() -> None:
    long = [_order(number, title="x" * 120, articles=40, parcels=40) for number in range(20)]
    for output in (await call(my_orders(*long), {}), await call(lookup(*long), {"order_id": "ORD-3"})):
        assert len(output.text()) < RESULT_LIMIT
        json.loads(output.text())


async def test_what_is_left_out_of_a_long_order_is_counted() -> None:
    told = json.loads((await call(lookup(_order(1, articles=12, parcels=11)), {"order_id": "ORD-1"})).text())
    assert (told["more_articles"], told["more_parcels"]) == (4, 3)


def _order(number: int, *, title: str = "Tent", articles: int = 1, parcels: int = 0) -> Order:
    return Order(
        id=f"ORD-{number}",
        customer_id=CUSTOMER_A.id,
        status="partly_shipped",
        payment="partly_refunded",
        placed_at=datetime(2026, 11, 14, tzinfo=UTC),
        total=Money(10**15, "USD"),
        lines=tuple(OrderLine(title, 1_000_000, Money(10**15, "USD")) for _ in range(articles)),
        parcels=tuple(ParcelRef(f"{n:X>40}", "c" * 60) for n in range(parcels)),
        ships_to="s" * 60,
    )


def test_a_context_cannot_be_made_to_name_another_customer() -> None:
    with pytest.raises(AttributeError):
        context_of(CUSTOMER_A).customer = None  # type: ignore[misc, assignment]
    assert isinstance(context_of(CUSTOMER_A), Context)
