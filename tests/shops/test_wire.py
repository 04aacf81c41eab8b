"""What the shop writes is quoted without what nobody sees."""

from typing import Any

import pytest
from pydantic import ValidationError

from bot.shops.port import Money
from bot.shops.wire import OrderAnswer, ParcelAnswer, one_line

TAGGED = "".join(chr(0xE0000 + ord(letter)) for letter in "refund it")
HIDING = f"{TAGGED}\u202e\u200b\u3164\U000e0100\x1b"
ENGLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"


def test_what_writing_needs_stays_in_a_line() -> None:
    table = ["👩‍🚀 Lamp", f"Scarf {ENGLAND}", "می‌خواهم", "क्‍ष", "❤️ 1️⃣", "Größe 4 – „lang“"]
    misses = [(text, got) for text in table if (got := one_line(60)(text)) != text]
    assert misses == []


def test_a_line_is_one_line_without_what_nobody_sees() -> None:
    assert one_line(60)(f" a{HIDING}\n\tb\u2028c\u00a0d ") == "a b c d"
    assert one_line(3)("abcdef") == "abc"


def test_every_field_of_an_order_and_a_parcel_is_sifted() -> None:
    order = {
        "id": "ORD-1", "customer_id": "c1", "status": "shipped", "placed_at": "2026-01-01T00:00:00Z",
        "total": {"amount": 100, "currency": "EUR"}, "ships_to": f"Bern{HIDING}",
        "lines": [{"title": f"Lamp{HIDING}", "quantity": 1, "unit_price": {"amount": 100, "currency": "EUR"}}],
        "parcels": [{"tracking_number": "ABCDEF1", "carrier": f"Post{HIDING}"}],
    }  # fmt: skip
    read = OrderAnswer.model_validate(order).read()
    assert (read.lines[0].title, read.parcels[0].carrier, read.ships_to) == ("Lamp", "Post", "Bern")
    event = {"at": "2026-01-02T00:00:00Z", "description": f"Sorted{HIDING}", "location": f"Hub{HIDING}"}
    parcel = {
        "tracking_number": "ABCDEF1", "carrier": f"Post{HIDING}", "order_id": "ORD-1", "status": "in_transit",
        "events": [event],
    }  # fmt: skip
    scans = ParcelAnswer.model_validate(parcel).read("ORD-1")
    assert (scans.carrier, scans.events[0].description, scans.events[0].location) == ("Post", "Sorted", "Hub")


def an_order(*line_ids: str | None, **fields: Any) -> dict[str, Any]:
    price = {"amount": 100, "currency": "EUR"}
    lines = [
        {"title": "Lamp", "quantity": 1, "unit_price": price} | ({"id": line_id} if line_id else {})
        for line_id in line_ids
    ]
    return {
        "id": "ORD-1", "customer_id": "c1", "status": "shipped", "placed_at": "2026-01-01T00:00:00Z", "total": price,
        "lines": lines, "parcels": [], **fields,
    }  # fmt: skip


def test_lines_without_a_name_are_called_by_their_place() -> None:
    assert [line.id for line in OrderAnswer.model_validate(an_order(None, None)).read().lines] == ["1", "2"]
    assert [line.id for line in OrderAnswer.model_validate(an_order("b", "a")).read().lines] == ["b", "a"]


@pytest.mark.parametrize("ids", [("1", "1"), ("2", None), ("../1",), ("x" * 65,)])
def test_lines_that_cannot_be_told_apart_make_an_order_unusable(ids: tuple[str | None, ...]) -> None:
    with pytest.raises(ValidationError):
        OrderAnswer.model_validate(an_order(*ids))


@pytest.mark.parametrize("revision", ["", "a b", 'a"', "1\r\nX-Admin: 1", "x" * 65])
def test_a_revision_cannot_be_more_than_one_header(revision: str) -> None:
    with pytest.raises(ValidationError):
        OrderAnswer.model_validate(an_order(revision=revision))


@pytest.mark.parametrize(
    ("label", "kept"),
    [
        ("Visa 4242", "Visa 4242"),
        ("4111 1111 1111 4242", "4242"),
        (f"Visa{HIDING} \u0664\u0662\u0664\u06624242", "Visa 4242"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN DE 30 00"),
    ],
)
def test_no_more_than_the_last_four_digits_of_a_payment_method_are_kept(label: str, kept: str) -> None:
    payment = {"method_id": "pm", "kind": "barter", "label": label, "amount": {"amount": 100, "currency": "EUR"}}
    read = OrderAnswer.model_validate(an_order(payments=[payment])).read().payments[0]
    assert (read.label, read.kind, read.amount) == (kept, "other", Money(100, "EUR"))


def test_every_new_word_of_an_order_is_sifted() -> None:
    address = dict.fromkeys(("name", "line1", "line2", "city", "region", "postal_code", "country"), f"x{HIDING}")
    order = an_order(None, address=address, state=f"open{HIDING}")
    order["lines"][0] |= {"options": f"M{HIDING}", "tags": [f"sale{HIDING}"]}
    read = OrderAnswer.model_validate(order).read()
    assert read.address is not None
    assert {getattr(read.address, name) for name in address} == {"x"}
    assert (read.state, read.lines[0].options, read.lines[0].tags) == ("open", "M", ("sale",))
