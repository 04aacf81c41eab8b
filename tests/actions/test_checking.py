"""What exists of an order is completed, and for everything else the customer is asked."""

from dataclasses import replace
from typing import Any

import pytest

from bot.actions.checking import NeedsMore, check
from bot.shops.actions import ActionKind, Arguments, KindSpec, LineQuantity, Swap
from bot.shops.port import Address, Money, Order, Product, Variant
from tests.actions.orders import ORDER

PRICE = Money(549, "EUR")
PRODUCTS = {
    "p2": Product(
        "p2",
        "Socks",
        (
            Variant("v9", "M", PRICE),
            Variant("v10", "L", PRICE, 2),
            Variant("v11", "XL", PRICE, 1),
            Variant("v12", "S", PRICE),
        ),
    )
}
ONE_LINE = replace(ORDER, lines=ORDER.lines[1:])
BOTH = (LineQuantity("1", 1), LineQuantity("2", 2))


def checked(
    kind: ActionKind, order: Order | None = ORDER, *, needs_reason: bool = False, **arguments: object
) -> Arguments | str:
    """The completed arguments, or what the customer is asked."""
    spec = KindSpec(kind, needs_reason=needs_reason)
    try:
        return check(kind, order, Arguments(order="FW-1", **arguments), spec=spec, products=PRODUCTS)  # type: ignore[arg-type]
    except NeedsMore as asked:
        return str(asked)


@pytest.mark.parametrize("kind", ["cancel_lines", "return_items", "send_again"])
def test_the_only_line_is_meant_and_of_several_one_is_asked_for(kind: ActionKind) -> None:
    completed = checked(kind, ONE_LINE)
    assert isinstance(completed, Arguments)
    assert completed.lines == (LineQuantity("2", 2),)
    assert "which ones" in str(checked(kind))


def test_lines_are_named_once_and_with_no_more_pieces_than_were_bought() -> None:
    completed = checked("return_items", lines=BOTH)
    assert isinstance(completed, Arguments)
    assert completed.lines == BOTH
    assert "named twice" in str(checked("return_items", lines=(BOTH[0], BOTH[0])))
    assert "2 pieces only" in str(checked("return_items", lines=(LineQuantity("2", 3),)))
    assert "no line 7" in str(checked("return_items", lines=(LineQuantity("7", 1),)))


def test_a_whole_order_is_refunded_only_if_neither_lines_nor_an_amount_are_named() -> None:
    whole, some, amount = (
        checked("refund"),
        checked("refund", lines=BOTH[:1]),
        checked("refund", amount=Money(500, "EUR")),
    )
    assert isinstance(whole, Arguments)
    assert isinstance(some, Arguments)
    assert isinstance(amount, Arguments)
    assert (whole.lines, some.lines, amount.lines) == (BOTH, BOTH[:1], ())


def test_an_exchange_is_for_another_variant_of_the_same_article_of_which_there_are_enough() -> None:
    table = [
        ("2", "v10", ""),
        ("2", "v12", ""),
        ("2", "v11", "out of stock"),
        ("2", "v9", "no such choice"),
        ("2", "v77", "no such choice"),
        ("1", "v10", "no such choice"),
        ("7", "v10", "no line 7"),
    ]
    for kind in ("exchange_items", "change_order_items"):
        asked = {(line, variant): checked(kind, swaps=(Swap(line, variant),)) for line, variant, _ in table}
        misses = [
            (line, variant, asked[line, variant])
            for line, variant, words in table
            if (words not in str(asked[line, variant]) if words else isinstance(asked[line, variant], str))
        ]
        assert misses == []
        assert "named twice" in str(checked(kind, swaps=(Swap("2", "v10"), Swap("2", "v12"))))
        assert "Which article" in str(checked(kind))


def test_an_amount_is_positive_in_the_orders_currency_and_at_most_what_is_left() -> None:
    left = replace(ORDER, refundable=Money(1_000, "EUR"))
    table = [
        (1_000, "EUR", ""),
        (1, "EUR", ""),
        (0, "EUR", "not one of"),
        (500, "USD", "not one of"),
        (1_001, "EUR", "At most"),
    ]
    asked = [(checked("refund", left, amount=Money(minor, currency)), words) for minor, currency, words in table]
    assert [got for got, words in asked if (words not in str(got) if words else isinstance(got, str))] == []
    unsaid = replace(ORDER, refundable=None)
    assert isinstance(checked("refund", unsaid, amount=ORDER.total), Arguments)
    assert "At most" in str(checked("refund", unsaid, amount=Money(ORDER.total.minor + 1, "EUR")))


def test_what_an_action_cannot_do_without_is_asked_for_with_an_order_and_without_one() -> None:
    elsewhere = Address("Ada", "2 Oak Street", "Bristol", "GB")
    table: list[tuple[ActionKind, dict[str, Any], str]] = [
        ("cancel_order", {"needs_reason": True}, "The reason is missing"),
        ("cancel_order", {"needs_reason": True, "reason": "too_slow"}, ""),
        ("cancel_order", {}, ""),
        ("change_order_address", {}, "The new address is missing"),
        ("change_order_address", {"address": elsewhere}, ""),
        ("change_customer_address", {}, "The new address is missing"),
        ("change_customer_address", {"address": elsewhere}, ""),
        ("change_order_payment", {}, "The payment method is missing"),
        ("change_order_payment", {"method": "pm1"}, ""),
    ]
    for kind, arguments, words in table:
        given = {name: value for name, value in arguments.items() if name != "needs_reason"}
        for order in (ORDER, None):
            asked = checked(kind, order, **arguments)
            assert words in str(asked) if words else asked == Arguments(order="FW-1", **given), (kind, asked)


def test_an_order_is_not_sent_where_it_goes_already() -> None:
    assert "already goes to this address" in str(checked("change_order_address", address=ORDER.address))
    assert isinstance(checked("change_customer_address", address=ORDER.address), Arguments)
    assert isinstance(checked("change_order_address", None, address=ORDER.address), Arguments)
