"""What the shop writes is quoted without what nobody sees."""

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
    scans = ParcelAnswer.model_validate(parcel).read()
    assert (scans.carrier, scans.events[0].description, scans.events[0].location) == ("Post", "Sorted", "Hub")
