"""The facts of an action."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from bot.actions.facts import FACTS, TYPES, CustomerFacts
from bot.shops.actions import Arguments, LineQuantity, Quote, Swap
from bot.shops.port import Money, Order, Parcel, ParcelEvent, PaymentMethod, Product, Variant
from tests.actions.orders import KNOWN, NOW, ORDER, facts_of, order_with

JACKET = Product(
    "p1",
    "Rain jacket",
    (Variant("v1", "M", Money(11900, "EUR"), 3), Variant("v2", "L", Money(12900, "EUR"), None)),
)
CARD = PaymentMethod("gc", "gift_card", "Gift card", Money(2000, "EUR"))
PAID = Money(12998, "EUR")


def test_the_facts_of_a_return() -> None:
    facts = facts_of(quote=Quote(Money(-11900, "EUR")), actions_done=1)
    assert facts == {
        "order.status": "delivered",
        "order.state": "dispatched-7",
        "order.payment": "paid",
        "order.placed_on": date(2026, 11, 7),
        "order.delivered_on": date(2026, 11, 11),
        "order.days_since_order": 16,
        "order.days_since_delivery": 12,
        "order.total": PAID,
        "order.refundable": PAID,
        "order.refunded": Money(0, "EUR"),
        "order.parcels": 1,
        "order.country": "GB",
        "order.currency": "EUR",
        "order.lines": 2,
        "order.actions_done": 1,
        "line.title": ("Rain jacket",),
        "line.quantity": (1,),
        "line.bought": (1,),
        "line.returnable": (1,),
        "line.cancellable": (None,),
        "line.unit_price": (Money(11900, "EUR"),),
        "line.product": ("p1",),
        "line.variant": ("v1",),
        "line.product_tags": (frozenset({"jackets"}),),
        "line.reason": ("damaged",),
        "line.days_since_delivery": (12,),
        "variant.available": (None,),
        "variant.price": (None,),
        "variant.same_product": (None,),
        "variant.is_other": (None,),
        "method.kind": "card",
        "method.is_original": True,
        "amount": Money(11900, "EUR"),
        "difference": Money(-11900, "EUR"),
        "reason": "damaged",
        "customer.orders_count": 3,
        "customer.refunds_90d": 1,
        "customer.actions_today": 0,
        "customer.days_since_first_order": 400,
        "customer.tags": frozenset({"vip"}),
        "case.count_30d": 2,
        "now.date": date(2026, 11, 23),
        "now.hour": 13,
        "now.weekday": "monday",
    }


def test_every_fact_has_the_type_and_the_choices_that_the_list_names() -> None:
    facts = facts_of(
        quote=Quote(Money(-1, "EUR")),
        actions_done=1,
        arguments=Arguments(order="FW-1", swaps=(Swap("1", "v1"),), method="gc", reason="other"),
        methods=[CARD],
        products=[JACKET],
        order=order_with(lines=tuple(replace(line, cancellable=1) for line in ORDER.lines)),
    )
    assert set(facts) == set(FACTS)
    for name, value in facts.items():
        spec = FACTS[name]
        values = value if spec.per_line and isinstance(value, tuple) else (value,)
        assert {type(each) for each in values} == {TYPES[spec.type]}, name
        assert not spec.choices or set(values) <= set(spec.choices), name
        assert spec.about.endswith("."), name


def test_what_nobody_knows_is_missing() -> None:
    facts = facts_of(
        order=order_with(
            delivered_at=None, refundable=None, refunded=None, payments=(), address=None, state="", placed_at=NOW
        ),
        arguments=Arguments(order="FW-1"),
        customer=CustomerFacts(),
    )
    known = {name for name in facts if not name.startswith(("line.", "variant.", "now."))}
    assert known == {
        *("order.status", "order.payment", "order.placed_on", "order.days_since_order", "order.total"),
        *("order.parcels", "order.currency", "order.lines", "case.count_30d"),
    }
    assert facts["line.title"] == ()


@pytest.mark.parametrize(
    ("delivered_at", "now", "days"),
    [
        (datetime(2026, 3, 28, 22, 59, tzinfo=UTC), datetime(2026, 3, 29, 22, 1, tzinfo=UTC), 2),
        (datetime(2026, 3, 28, 23, 1, tzinfo=UTC), datetime(2026, 3, 29, 21, 59, tzinfo=UTC), 0),
        (datetime(2026, 11, 23, 1, 0, tzinfo=UTC), datetime(2026, 11, 23, 0, 30, tzinfo=UTC), 0),
        (NOW + timedelta(days=1), NOW, None),
        (NOW.replace(tzinfo=None), NOW, None),
    ],
)
def test_days_count_in_the_zone_of_the_desk(delivered_at: datetime, now: datetime, days: int | None) -> None:
    order = order_with(delivered_at=delivered_at, placed_at=datetime(2026, 1, 1, tzinfo=UTC))
    facts = facts_of(order=order, now=now)
    assert facts.get("order.days_since_delivery") == days
    assert facts["line.days_since_delivery"] == (days,)


def parcel(*, order: str = "FW-1", status: Any = "delivered", days: int = 3) -> Parcel:
    scans = (ParcelEvent(NOW - timedelta(days=days), "left at the door"), ParcelEvent(NOW - timedelta(days=9), "sent"))
    return Parcel("T1", "DHL", order, status, None, scans)


@pytest.mark.parametrize(
    ("parcels", "days"),
    [
        ([parcel()], 3),
        ([parcel(days=5), parcel(days=4)], 4),
        ([parcel(status="in_transit")], None),
        ([parcel(order="FW-2")], None),
        ([replace(parcel(), events=())], None),
    ],
)
def test_the_last_scan_of_a_parcel_stands_in_for_a_missing_delivery(parcels: list[Parcel], days: int | None) -> None:
    assert facts_of(order=order_with(delivered_at=None), parcels=parcels).get("order.days_since_delivery") == days
    assert facts_of(parcels=parcels)["order.days_since_delivery"] == 12


def test_pieces_of_a_line_that_is_named_twice_are_counted_together() -> None:
    twice = Arguments(order="FW-1", lines=(LineQuantity("2", 1), LineQuantity("1", 1), LineQuantity("2", 2)))
    facts = facts_of(arguments=twice)
    assert (facts["line.quantity"], facts["line.title"]) == ((3, 1), ("Socks", "Rain jacket"))


def test_an_action_on_a_whole_order_concerns_each_line() -> None:
    facts = facts_of("cancel_order", arguments=Arguments(order="FW-1"))
    assert (facts["line.title"], facts["line.quantity"]) == (("Rain jacket", "Socks"), (1, 2))


@pytest.mark.parametrize(
    ("variant", "products", "same", "other", "price", "available"),
    [
        ("v2", [JACKET], True, True, Money(12900, "EUR"), None),
        ("v1", [JACKET], True, False, Money(11900, "EUR"), 3),
        ("v9", [JACKET], False, True, None, None),
        ("v2", [], None, True, None, None),
        ("v2", [replace(JACKET, id="p2")], None, True, None, None),
    ],
)
def test_a_variant_belongs_to_the_product_of_its_line(
    variant: str, products: list[Product], same: Any, other: Any, price: Any, available: Any
) -> None:
    facts = facts_of(arguments=Arguments(order="FW-1", swaps=(Swap("1", variant),)), products=products)
    assert facts["variant.same_product"] == (same,)
    assert facts["variant.is_other"] == (other,)
    assert (facts["variant.price"], facts["variant.available"]) == ((price,), (available,))
    assert facts["line.quantity"] == (1,)


@pytest.mark.parametrize(
    ("method", "kind", "original", "balance"),
    [
        ("pm1", "card", True, None),
        ("gc", "gift_card", False, Money(2000, "EUR")),
        ("no-such", None, False, None),
        ("", None, None, None),
    ],
)
def test_the_payment_method_is_the_one_that_was_chosen(method: str, kind: Any, original: Any, balance: Any) -> None:
    facts = facts_of(arguments=Arguments(order="FW-1", method=method), methods=[CARD])
    told = (facts.get("method.kind"), facts.get("method.is_original"), facts.get("method.balance"))
    assert told == (kind, original, balance)


def test_what_an_order_was_paid_with_a_gift_card_is_not_its_balance() -> None:
    order = order_with(payments=(CARD,))
    facts = facts_of(order=order, arguments=Arguments(order="FW-1", method="gc"))
    assert (facts["method.is_original"], facts.get("method.balance")) == (True, None)


@pytest.mark.parametrize(
    ("quote", "asked", "amount", "difference"),
    [
        (None, None, None, None),
        (None, 500, 500, None),
        (Quote(Money(-700, "EUR")), 500, 700, -700),
        (Quote(Money(-300, "EUR")), 500, 500, -300),
        (Quote(Money(900, "EUR")), None, 0, 900),
        (Quote(None), None, 0, 0),
    ],
)
def test_the_amount_is_what_the_customer_gets_at_most(
    quote: Quote | None, asked: int | None, amount: int | None, difference: int | None
) -> None:
    given = Arguments(order="FW-1", amount=None if asked is None else Money(asked, "EUR"))
    facts = facts_of("refund", arguments=given, quote=quote)
    assert facts.get("amount") == (None if amount is None else Money(amount, "EUR"))
    assert facts.get("difference") == (None if difference is None else Money(difference, "EUR"))


def two_currencies() -> list[tuple[Order, Quote | None]]:
    dollars = Money(1, "USD")
    return [
        (order_with(refundable=dollars), None),
        (order_with(lines=(replace(ORDER.lines[0], unit_price=dollars),)), None),
        (order_with(payments=(replace(ORDER.payments[0], amount=dollars),)), None),
        (ORDER, Quote(dollars)),
    ]


@pytest.mark.parametrize(("order", "quote"), two_currencies())
def test_with_two_currencies_no_sum_is_a_fact(order: Order, quote: Quote | None) -> None:
    facts = facts_of(order=order, quote=quote)
    assert {name for name in facts if FACTS[name].type == "money"} == set()
    assert "order.currency" not in facts
    assert facts["order.status"] == "delivered"


def test_without_an_order_the_customer_and_the_time_are_known() -> None:
    facts = facts_of("change_customer_address", order=None, arguments=Arguments(), customer=KNOWN)
    assert {name.partition(".")[0] for name in facts} == {"line", "variant", "customer", "case", "now"}
    assert facts["line.title"] == ()
