"""The Shopify connector keeps the connectors' contract, at a stand-in that checks each document against its types."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import orjson
import pytest

from bot.shops.actions import Arguments, LineQuantity, NotSupported, Outcome, Quote, Undone
from bot.shops.declared.credentials import FixedHeaders
from bot.shops.declared.file import Limits
from bot.shops.port import Address, Money, ShopRefuses, ShopUnavailable
from bot.shops.shopify.client import Client, MutationFailed
from bot.shops.shopify.cost import CostBucket
from bot.shops.shopify.reading import read_order
from bot.shops.shopify.shop import App, ShopifyShop, open_shopify
from bot.shops.transport import Reply, open_transport
from demo.shop.faults import Fault
from demo.shop.records import Json
from demo.shopify import server as double
from demo.shopify.resolvers import Shopify
from tests.patience import patience
from tests.shops.contract import CUSTOMER_A, CUSTOMER_B, ELSEWHERE, EVERY_KIND, ConnectorContract, Stand

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
REFUND = EVERY_KIND["refund"]


@pytest.fixture
async def shopify() -> AsyncIterator[double.ShopifyShop]:
    async with double.open_shopify(now=NOW) as running:
        yield running


@pytest.fixture
async def shop(shopify: double.ShopifyShop) -> AsyncIterator[ShopifyShop]:
    app = App(shopify.client_id, shopify.client_secret)
    async with open_shopify(
        shopify.url, app, limits=Limits(seconds=min(patience(2.0), 9.5)), action_deadline=patience(2.0)
    ) as opened:
        yield opened


class TestShopify(ConnectorContract):
    @pytest.fixture
    def stand(self, shopify: double.ShopifyShop, shop: ShopifyShop) -> Stand:
        return Stand(
            shop=shop,
            break_with=shopify.add_fault,
            break_action_with=shopify.break_mutation,
            digest=shopify.records.digest,
            changes=lambda: [entry["key"] if entry["kind"] == "refund" else "" for entry in shopify.records.ledger],
            requests=lambda: len(shopify.requests),
            secret=shopify.client_secret,
            kinds=("cancel_order", "change_order_address", "refund", "return_items", "cancel_return"),
            keyless=("cancel_order", "change_order_address", "return_items", "cancel_return"),
            reads_back=True,
            shows_methods=False,
            quote_refuses=True,
        )

    async def test_what_was_done_is_undone_once_and_only_by_whose_it_is(self, stand: Stand) -> None:  # type: ignore[override]
        first = await stand.prepare("return_items", EVERY_KIND["return_items"])
        done = await first.send()
        order = await stand.shop.get_order(CUSTOMER_A, first.arguments.order)
        assert order is not None
        unknown = Arguments(order=order.id, undoes=Undone(first.key, "0"))
        request = stand.shop.render(CUSTOMER_A, "cancel_return", order, unknown, quote=Quote(None), key=str(uuid4()))
        assert await stand.shop.send(request) == Outcome("refused", reason="not_found")
        arguments = Arguments(order=order.id, undoes=Undone(first.key, done.reference))
        foreign = replace(order, customer_id=CUSTOMER_B.id)
        request = stand.shop.render(
            CUSTOMER_B, "cancel_return", foreign, arguments, quote=Quote(None), key=str(uuid4())
        )
        assert await stand.shop.send(request) == Outcome("refused", reason="not_found")
        undoing = await stand.prepare("cancel_return", arguments)
        assert (await undoing.send()).state == "done"
        assert (await undoing.outcome()).state == "done"
        again = await stand.shop.get_order(CUSTOMER_A, order.id)
        request = stand.shop.render(CUSTOMER_A, "cancel_return", again, arguments, quote=Quote(None), key=str(uuid4()))
        assert await stand.shop.send(request) == Outcome("refused", reason="wrong_status")

    async def test_a_key_with_other_content_is_refused(self, stand: Stand) -> None:
        """Shopify shows no key's content: a refund of another amount may be a part of ours."""
        first = await stand.prepare("refund", REFUND)
        await first.send()
        other = await stand.prepare("refund", replace(REFUND, amount=Money(9_900, "USD")), key=first.key)
        assert await other.send() == Outcome("unknown")
        assert stand.changes() == [first.key]


async def test_a_customer_is_found_by_the_whole_address_alone(shop: ShopifyShop) -> None:
    assert await shop.find_customer("Customer.A@example.com") == CUSTOMER_A
    assert await shop.find_customer("customer.a@example.org") is None


async def test_all_pages_of_a_customers_orders_are_read_newest_first(
    shopify: double.ShopifyShop, shop: ShopifyShop
) -> None:
    orders = await shop.list_orders(CUSTOMER_A)
    assert [order.id for order in orders] == [order["id"] for order in shopify.records.orders_of("cus_a")]
    assert list(shopify.requests).count("Orders") == 2


async def test_an_order_reads_as_the_other_shops_tell_it(shopify: double.ShopifyShop, shop: ShopifyShop) -> None:
    statuses = {}
    for stored in shopify.records.orders.values():
        customer = replace(CUSTOMER_A, id=stored["customer_id"])
        order = await shop.get_order(customer, stored["id"])
        assert order is not None
        assert (order.payment, order.total.minor) == (stored["payment"], stored["total"]["amount"])
        assert order.address is not None
        assert order.address.line1 == stored["address"]["line1"]
        assert [line.cancellable for line in order.lines] == [line["cancellable"] for line in stored["lines"]]
        statuses[stored["id"]] = (order.status, stored["status"])
    assert [got for got, stored in statuses.values() if got != stored] == []


async def test_a_parcel_is_tracked_by_its_owner_alone(shop: ShopifyShop) -> None:
    parcel = await shop.track(CUSTOMER_A, "1Z999AA10123456784")
    assert parcel is not None
    assert (parcel.status, parcel.order_id, len(parcel.events)) == ("in_transit", "ORD-12345", 4)
    assert await shop.track(CUSTOMER_B, "1Z999AA10123456784") is None


async def test_a_token_that_ended_is_renewed_and_one_that_does_not_end_serves_too(
    shopify: double.ShopifyShop, shop: ShopifyShop
) -> None:
    assert await shop.get_order(CUSTOMER_A, "ORD-31415") is not None
    shopify.tokens.clear()
    assert await shop.get_order(CUSTOMER_A, "ORD-31415") is not None
    action = await _prepared(shop, "refund", REFUND)
    shopify.tokens.clear()
    assert (await shop.send(action)).state == "done"
    async with open_shopify(shopify.url, shopify.token) as by_token:
        assert await by_token.get_order(CUSTOMER_A, "ORD-31415") is not None


async def test_a_refused_token_is_told_apart_from_a_shop_that_is_away(shopify: double.ShopifyShop) -> None:
    async with open_shopify(shopify.url, "shpat_of_nobody") as refused:
        with pytest.raises(ShopRefuses):
            await refused.get_order(CUSTOMER_A, "ORD-31415")
    async with open_shopify(shopify.url, App(shopify.client_id, "wrong")) as refused:
        with pytest.raises(ShopRefuses):
            await refused.get_order(CUSTOMER_A, "ORD-31415")


async def test_only_what_the_tokens_scopes_allow_is_offered_and_what_is_missing_is_named(
    shopify: double.ShopifyShop, shop: ShopifyShop
) -> None:
    shopify.shopify.scopes = {"read_orders", "read_products", "read_fulfillments", "write_returns"}
    assert set(await shop.kinds()) == {"return_items", "cancel_return"}
    assert await shop.check() == ["the token of Shopify lacks read_customers, write_orders"]
    with pytest.raises(ShopRefuses, match="read_customers"):
        await shop.find_customer("customer.a@example.com")


async def test_a_page_that_costs_too_much_is_asked_for_in_smaller_ones_from_then_on(
    shopify: double.ShopifyShop, shop: ShopifyShop
) -> None:
    shopify.most_of_one = 450
    first = len(await shop.list_orders(CUSTOMER_A))
    asked = list(shopify.requests).count("Orders")
    second = len(await shop.list_orders(CUSTOMER_A))
    assert (first, second) == (7, 7)
    assert list(shopify.requests).count("Orders") - asked == 4


async def test_a_bucket_that_is_empty_is_waited_for_shortly_and_not_for_long(
    shopify: double.ShopifyShop, shop: ShopifyShop
) -> None:
    await shop.get_order(CUSTOMER_A, "ORD-31415")
    shopify.available = -5_000.0
    with pytest.raises(ShopUnavailable):
        await shop.get_order(CUSTOMER_A, "ORD-31415")
    asked = len(shopify.requests)
    with pytest.raises(ShopUnavailable):
        await shop.get_order(CUSTOMER_A, "ORD-31415")
    assert len(shopify.requests) == asked


async def test_another_version_than_the_one_that_was_asked_is_an_alert(
    shopify: double.ShopifyShop, shop: ShopifyShop, caplog: pytest.LogCaptureFixture
) -> None:
    shopify.version = "2027-10"
    assert await shop.get_order(CUSTOMER_A, "ORD-31415") is not None
    assert [record.served for record in caplog.records if "another version" in record.message] == ["2027-10"]  # type: ignore[attr-defined]


async def test_a_refund_of_lines_is_what_shopify_suggests_and_goes_to_the_payment_it_names(
    shopify: double.ShopifyShop, shop: ShopifyShop
) -> None:
    lines = Arguments(order="ORD-31415", lines=(LineQuantity("2", 1),), reason="damaged")
    order = await shop.get_order(CUSTOMER_A, "ORD-31415")
    quote = await shop.quote(CUSTOMER_A, "refund", order, lines)
    price = shopify.records.orders["ORD-31415"]["lines"][1]["unit_price"]["amount"]
    assert (quote.money, quote.to, quote.computed) == (Money(-price, "USD"), "Visa 4242", False)
    outcome = await shop.send(await _prepared(shop, "refund", lines))
    assert (outcome.state, outcome.money) == ("done", quote.money)


async def test_an_address_in_another_country_or_region_is_a_persons_to_change(shop: ShopifyShop) -> None:
    order = await shop.get_order(CUSTOMER_A, "ORD-67890")
    for address in (
        Address("Customer A", "1 High Street", "Leeds", "GB", postal_code="LS1 4AP"),
        replace(ELSEWHERE, region="WA"),
    ):
        arguments = Arguments(order="ORD-67890", address=address)
        with pytest.raises(NotSupported) as refused:
            await shop.quote(CUSTOMER_A, "change_order_address", order, arguments)
        assert refused.value.reason == "not_allowed"


async def test_a_second_return_is_a_persons_since_nobody_could_tell_it_from_the_first(shop: ShopifyShop) -> None:
    assert (await shop.send(await _prepared(shop, "return_items", EVERY_KIND["return_items"]))).state == "done"
    with pytest.raises(NotSupported) as refused:
        await _prepared(shop, "return_items", EVERY_KIND["return_items"])
    assert refused.value.reason == "not_allowed"


def test_an_order_is_read_whatever_its_parcels_and_returns_are_like(shopify: double.ShopifyShop) -> None:
    node = shopify.shopify.order_node(shopify.records.orders["ORD-31415"])
    (sent,) = node["fulfillments"]
    odd = {**sent, "trackingInfo": [{"company": "X", "number": "A_1"}]}
    void = {**sent, "displayStatus": "CANCELED", "deliveredAt": None}
    order = read_order({**node, "fulfillments": [sent, odd, void]}).answer
    assert (order.status, len(order.parcels), order.delivered_at is None) == ("delivered", 1, False)
    assert read_order({**node, "returnStatus": "RETURNED"}).answer.status == "partly_returned"


async def test_an_order_without_a_customer_or_a_number_is_left_out(
    shopify: double.ShopifyShop, shop: ShopifyShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = shopify.shopify.order_node
    odd: dict[str, Json] = {"ORD-12345": {"customer": None}, "ORD-67890": {"name": "EN#1"}}
    monkeypatch.setattr(Shopify, "order_node", lambda _, order: seen(order) | odd.get(order["id"], {}))
    assert await shop.get_order(CUSTOMER_A, "ORD-12345") is None
    listed = {order.id for order in await shop.list_orders(CUSTOMER_A)}
    assert "ORD-31415" in listed
    assert not listed & {"ORD-12345", "ORD-67890"}


async def test_an_error_below_a_mutation_that_ran_leaves_open_what_came_of_it(shopify: double.ShopifyShop) -> None:
    limits = Limits()
    async with open_transport({}) as transport:
        client = Client(shopify.url, transport, FixedHeaders({}), limits)
        error = {"message": "no", "extensions": {"code": "ACCESS_DENIED"}}
        for data, code in (({"refundCreate": {"refund": None}}, ""), ({"refundCreate": None}, "ACCESS_DENIED")):
            reply = Reply(200, orjson.dumps({"data": data, "errors": [error]}))
            with pytest.raises(MutationFailed) as failed:
                client.payload(reply)
            assert failed.value.code == code


def test_questions_that_are_refused_take_no_points() -> None:
    bucket = CostBucket(now=lambda: 0.0)
    status = {"currentlyAvailable": 0, "maximumAvailable": 1_000, "restoreRate": 100}
    bucket.note("a", {"cost": {"requestedQueryCost": 600, "throttleStatus": status}})
    assert [bucket.wait_for("a") for _ in range(20)] == [6.0] * 20
    bucket.take("a")
    assert bucket.wait_for("a") == 12.0


async def test_a_mutation_that_was_throttled_was_not_done(shopify: double.ShopifyShop, shop: ShopifyShop) -> None:
    request = await _prepared(shop, "refund", REFUND)
    shopify.break_mutation(Fault("busy"))
    assert await shop.send(request) == Outcome("unavailable")
    assert shopify.records.ledger == []


async def test_a_request_of_another_connector_is_not_sent(shopify: double.ShopifyShop, shop: ShopifyShop) -> None:
    request = await _prepared(shop, "refund", REFUND)
    asked = len(shopify.requests)
    assert await shop.send(replace(request, about={"kind": "refund"})) == Outcome("unavailable")
    assert len(shopify.requests) == asked


async def _prepared(shop: ShopifyShop, kind, arguments: Arguments):  # type: ignore[no-untyped-def]
    order = await shop.get_order(CUSTOMER_A, arguments.order)
    quote = await shop.quote(CUSTOMER_A, kind, order, arguments)
    return shop.render(CUSTOMER_A, kind, order, arguments, quote=quote, key=str(uuid4()))
