"""What an action costs, computed from the order alone."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.shops.actions import ActionKind, Arguments, LineQuantity, NotSupported, Swap
from bot.shops.port import Money, Order, OrderLine, PaymentMethod, Variant
from bot.shops.quoting import compute_quote

VISA = PaymentMethod("pm_visa", "card", "Visa 4242", Money(14_000, "EUR"))
ORDER = Order(
    id="ORD-1",
    customer_id="cus_a",
    status="delivered",
    payment="paid",
    placed_at=datetime(2026, 11, 14, tzinfo=UTC),
    total=Money(14_000, "EUR"),  # 15,000 less a discount
    lines=(
        OrderLine("Jacket", 1, Money(10_000, "EUR"), id="1", variant_id="var_m"),
        OrderLine("Socks", 5, Money(1_000, "EUR"), id="2", returnable=3, cancellable=2),
    ),
    payments=(VISA,),
)
DEARER = Variant("var_l", "Jacket, L", Money(11_500, "EUR"), available=1)
CHEAPER = Variant("var_s", "Jacket, S", Money(9_500, "EUR"))
VARIANTS = {variant.id: variant for variant in (DEARER, CHEAPER)}


def lines(*pairs: tuple[str, int]) -> tuple[LineQuantity, ...]:
    return tuple(LineQuantity(line, quantity) for line, quantity in pairs)


@pytest.mark.parametrize(
    ("kind", "arguments", "order", "minor"),
    [
        ("cancel_order", Arguments(order="ORD-1"), ORDER, -14_000),
        ("cancel_order", Arguments(order="ORD-1"), replace(ORDER, payment="unpaid"), None),
        ("cancel_order", Arguments(order="ORD-1"), replace(ORDER, payment="refunded"), None),
        ("cancel_order", Arguments(order="ORD-1"), replace(ORDER, refunded=Money(4_000, "EUR")), -10_000),
        ("cancel_order", Arguments(order="ORD-1"), replace(ORDER, refundable=Money(1_234, "EUR")), -1_234),
        ("cancel_lines", Arguments(order="ORD-1", lines=lines(("2", 2))), ORDER, -2_000),
        ("return_items", Arguments(order="ORD-1", lines=lines(("1", 1), ("2", 3))), ORDER, -13_000),
        ("return_items", Arguments(order="ORD-1", lines=lines(("1", 1))), replace(ORDER, payment="unpaid"), None),
        ("refund", Arguments(order="ORD-1", lines=lines(("1", 1), ("2", 5))), ORDER, -14_000),
        ("refund", Arguments(order="ORD-1", amount=Money(14_000, "EUR")), ORDER, -14_000),
        ("refund", Arguments(order="ORD-1", amount=Money(1, "EUR")), ORDER, -1),
        ("exchange_items", Arguments(order="ORD-1", swaps=(Swap("1", "var_l"),)), ORDER, 1_500),
        ("exchange_items", Arguments(order="ORD-1", swaps=(Swap("1", "var_s"),)), ORDER, -500),
        ("change_order_items", Arguments(order="ORD-1", swaps=(Swap("1", "var_l"),)), ORDER, 1_500),
        ("change_order_payment", Arguments(order="ORD-1", method="pm_visa"), ORDER, None),
        ("send_again", Arguments(order="ORD-1", lines=lines(("2", 5))), ORDER, None),
        ("change_customer_address", Arguments(), None, None),
    ],
)
def test_the_money_follows_from_the_order(
    kind: ActionKind, arguments: Arguments, order: Order | None, minor: int | None
) -> None:
    quote = compute_quote(kind, order, arguments, variants=VARIANTS)
    assert quote.money == (None if minor is None else Money(minor, "EUR"))
    assert quote.computed
    assert quote == compute_quote(kind, order, arguments, variants=VARIANTS)


@pytest.mark.parametrize(
    ("kind", "arguments", "order", "reason"),
    [
        ("return_items", Arguments(order="ORD-1", lines=lines(("2", 4))), ORDER, "too_much"),
        ("cancel_lines", Arguments(order="ORD-1", lines=lines(("2", 3))), ORDER, "too_much"),
        ("send_again", Arguments(order="ORD-1", lines=lines(("2", 6))), ORDER, "too_much"),
        ("exchange_items", Arguments(order="ORD-1", swaps=(Swap("2", "var_l"),)), ORDER, "too_much"),
        ("refund", Arguments(order="ORD-1", amount=Money(14_001, "EUR")), ORDER, "too_much"),
        ("refund", Arguments(order="ORD-1", lines=lines(("1", 1))), replace(ORDER, payment="refunded"), "too_much"),
        ("refund", Arguments(order="ORD-1", amount=Money(100, "USD")), ORDER, "invalid"),
        ("refund", Arguments(order="ORD-1", amount=Money(-100, "EUR")), ORDER, "invalid"),
        ("refund", Arguments(order="ORD-1"), ORDER, "invalid"),
        ("cancel_lines", Arguments(order="ORD-1", lines=lines(("2", 1), ("2", 1))), ORDER, "invalid"),
        ("change_order_payment", Arguments(order="ORD-1", method="pm_of_others"), ORDER, "invalid"),
        ("return_items", Arguments(order="ORD-1", lines=lines(("3", 1))), ORDER, "no_such_line"),
        ("exchange_items", Arguments(order="ORD-1", swaps=(Swap("1", "var_xl"),)), ORDER, "not_available"),
        ("cancel_order", Arguments(order="ORD-1"), replace(ORDER, payment="partly_refunded"), "other"),
        ("cancel_order", Arguments(order="ORD-1"), replace(ORDER, payment="unknown"), "other"),
        ("cancel_order", Arguments(order="ORD-1"), replace(ORDER, refundable=Money(1, "USD")), "other"),
        ("refund", Arguments(order="ORD-1", lines=lines(("1", 1))), replace(ORDER, total=Money(9, "USD")), "other"),
        ("cancel_order", Arguments(order="ORD-1"), None, "not_found"),
    ],
)
def test_what_is_impossible_or_not_said_is_not_guessed(
    kind: ActionKind, arguments: Arguments, order: Order | None, reason: str
) -> None:
    with pytest.raises(NotSupported) as refused:
        compute_quote(kind, order, arguments, variants=VARIANTS)
    assert refused.value.reason == reason


def test_more_pieces_than_there_are_of_a_variant_are_not_exchanged() -> None:
    two = replace(ORDER, lines=(replace(ORDER.lines[0], quantity=2),))
    with pytest.raises(NotSupported):
        compute_quote("exchange_items", two, Arguments(order="ORD-1", swaps=(Swap("1", "var_l"),)), variants=VARIANTS)


def test_money_goes_back_the_only_way_that_it_came_or_the_way_that_was_chosen() -> None:
    gift = PaymentMethod("pm_gift", "gift_card", "Gift card 0117")
    mixed = replace(ORDER, payments=(VISA, gift))
    back = Arguments(order="ORD-1", lines=lines(("1", 1)))
    assert compute_quote("return_items", ORDER, back).to == "Visa 4242"
    assert not compute_quote("return_items", mixed, back).to
    assert compute_quote("return_items", ORDER, replace(back, method="pm_gift"), methods=[gift]).to == gift.label


def test_what_cannot_be_undone_says_so() -> None:
    assert compute_quote("cancel_order", ORDER, Arguments(order="ORD-1")).irreversible
    assert not compute_quote("return_items", ORDER, Arguments(order="ORD-1", lines=lines(("1", 1)))).irreversible
