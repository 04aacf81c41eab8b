"""Who buys at Fernwick, what they ordered, and where their parcels are. Dates hang on the moment of the start.

Customer A   ORD-12345 on its way with UPS · ORD-67890 being packed · ORD-24680 in two parcels · two old orders
Customer B   ORD-54321 on its way in Indonesia (IDR) · ORD-98760 lost · ORD-55501 to be picked up · one cancelled
Guest C      ORD-33333: an order that a workspace guest must not be able to read through Slack
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Records:
    """The order system's tables, as JSON that can be sent."""

    customers: dict[str, Json] = field(default_factory=dict)
    orders: dict[str, Json] = field(default_factory=dict)
    parcels: dict[str, Json] = field(default_factory=dict)

    def orders_of(self, customer: str) -> list[Json]:
        """Newest first."""
        own = [order for order in self.orders.values() if order["customer_id"] == customer]
        return sorted(own, key=lambda order: str(order["placed_at"]), reverse=True)


@dataclass(frozen=True, slots=True)
class _Scan:
    days: float
    """Before (negative) or after the start."""
    description: str
    location: str


def seed(now: datetime) -> Records:
    """The shop as it stands at `now`."""
    pen = _Pen(now.astimezone(UTC).replace(second=0, microsecond=0), Records())
    _customer_a(pen)
    _customer_b(pen)
    _guest_c(pen)
    return pen.records


def _customer_a(pen: "_Pen") -> None:
    pen.customer("cus_a", "Customer A", "customer.a@example.com")
    pen.order(
        "ORD-12345",
        status="shipped",
        days=-5.2,
        lines=[("Ridgeline rain jacket, women's M, moss", 1, 11_900), ("Merino hiking socks, 38-40", 2, 1_450)],
        shipping=0,
        currency="USD",
        ships_to="Portland, United States",
    )
    pen.parcel(
        "1Z999AA10123456784",
        "UPS",
        status="in_transit",
        expected=1.3,
        scans=[
            _Scan(-3.9, "Shipper created a label, UPS has not received the package yet", "United States"),
            _Scan(-3.1, "Origin scan", "Reno, NV, United States"),
            _Scan(-1.9, "Departed from facility", "Reno, NV, United States"),
            _Scan(-0.4, "Arrived at facility", "Troutdale, OR, United States"),
        ],
    )
    pen.order(
        "ORD-67890",
        status="processing",
        days=-0.8,
        lines=[("Hollow 28 daypack, slate", 1, 8_950)],
        shipping=0,
        currency="USD",
        ships_to="Portland, United States",
    )
    pen.order(
        "ORD-24680",
        status="partly_shipped",
        days=-4.4,
        lines=[("Two-person tent Larch", 1, 32_900), ("Sleeping mat, regular", 2, 6_400), ("Gas stove", 1, 5_200)],
        shipping=0,
        currency="USD",
        ships_to="Portland, United States",
    )
    pen.parcel(
        "1Z999AA10198765432",
        "UPS",
        status="out_for_delivery",
        expected=0.2,
        scans=[
            _Scan(-3.0, "Origin scan", "Reno, NV, United States"),
            _Scan(-1.1, "Arrived at facility", "Portland, OR, United States"),
            _Scan(-0.1, "Out for delivery", "Portland, OR, United States"),
        ],
    )
    pen.parcel(
        "9400110200881234567890",
        "USPS",
        status="label_created",
        expected=3.0,
        scans=[_Scan(-0.6, "Shipping label created, item not yet handed over", "Reno, NV, United States")],
    )
    pen.order(
        "ORD-13579",
        status="delivered",
        days=-41,
        lines=[("Cairn trekking poles, pair", 1, 6_400)],
        shipping=650,
        currency="GBP",
        ships_to="Leeds, United Kingdom",
    )
    pen.parcel(
        "RM100200305GB",
        "Royal Mail",
        status="delivered",
        scans=[
            _Scan(-39.5, "Item received", "Medway, United Kingdom"),
            _Scan(-38.2, "Delivered to your address", "Leeds, United Kingdom"),
        ],
    )
    pen.order(
        "ORD-11223",
        status="refunded",
        payment="refunded",
        days=-63,
        lines=[("Fell running shoes, EU 39", 1, 13_500)],
        shipping=0,
        currency="EUR",
        ships_to="Utrecht, Netherlands",
    )


def _customer_b(pen: "_Pen") -> None:
    pen.customer("cus_b", "Customer B", "customer.b@example.com")
    pen.order(
        "ORD-54321",
        status="shipped",
        days=-6.3,
        lines=[("Ridgeline rain jacket, men's L, ink", 1, 185_000_000), ("Dry bag 10 l", 1, 21_500_000)],
        shipping=12_000_000,
        currency="IDR",
        ships_to="Bandung, Indonesia",
    )
    pen.parcel(
        "JNE0012345678901",
        "JNE",
        status="in_transit",
        expected=1.1,
        scans=[
            _Scan(-4.8, "Paket telah diterima oleh JNE", "Jakarta, Indonesia"),
            _Scan(-2.2, "Paket keluar dari gudang transit", "Jakarta, Indonesia"),
            _Scan(-0.6, "Paket tiba di gudang tujuan", "Bandung, Indonesia"),
        ],
    )
    pen.order(
        "ORD-98760",
        status="shipped",
        days=-34,
        lines=[("Down quilt, 3 season", 1, 24_900)],
        shipping=3_900,
        currency="USD",
        ships_to="Bandung, Indonesia",
    )
    pen.parcel(
        "00340434161094042557",
        "DHL",
        status="lost",
        scans=[
            _Scan(-32.0, "Shipment picked up", "Leipzig, Germany"),
            _Scan(-29.4, "Arrived at DHL sort facility", "Singapore, Singapore"),
            _Scan(-9.0, "Shipment cannot be located, search started", "Singapore, Singapore"),
            _Scan(-2.0, "Search closed, shipment declared lost", "Singapore, Singapore"),
        ],
    )
    pen.order(
        "ORD-55501",
        status="shipped",
        days=-8.5,
        lines=[("Insulated bottle 750 ml", 3, 3_800)],
        shipping=2_200,
        currency="JPY",
        ships_to="Osaka, Japan",
    )
    pen.parcel(
        "493912345670",
        "Yamato",
        status="ready_for_pickup",
        scans=[
            _Scan(-6.0, "Accepted", "Tokyo, Japan"),
            _Scan(-3.8, "Delivery attempted, recipient absent", "Osaka, Japan"),
            _Scan(-3.5, "Held at the service point, please collect within 7 days", "Osaka, Japan"),
        ],
    )
    pen.order(
        "ORD-77777",
        status="cancelled",
        payment="refunded",
        days=-20,
        lines=[("Camp chair", 1, 9_900)],
        shipping=1_200,
        currency="SGD",
        ships_to="Singapore, Singapore",
    )


def _guest_c(pen: "_Pen") -> None:
    pen.customer("cus_c", "Guest C", "guest.c@example.net")
    pen.order(
        "ORD-33333",
        status="delivered",
        days=-12,
        lines=[("Head torch 400 lm", 1, 4_990)],
        shipping=490,
        currency="EUR",
        ships_to="Graz, Austria",
    )
    pen.parcel(
        "RR123456785AT",
        "Post AG",
        status="delivered",
        scans=[
            _Scan(-10.6, "Sendung übernommen", "Wien, Österreich"),
            _Scan(-9.4, "Zugestellt", "Graz, Österreich"),
        ],
    )


class _Pen:
    """Writes records one after the other; a parcel belongs to the order before it."""

    def __init__(self, now: datetime, records: Records) -> None:
        self._now = now
        self._customer = ""
        self._order = ""
        self.records = records

    def customer(self, id_: str, name: str, email: str) -> None:
        self.records.customers[id_] = {"id": id_, "name": name, "email": email}
        self._customer = id_

    def order(
        self,
        id_: str,
        *,
        status: str,
        days: float,
        lines: Sequence[tuple[str, int, int]],
        shipping: int,
        currency: str,
        ships_to: str,
        payment: str = "paid",
    ) -> None:
        total = shipping + sum(quantity * price for _, quantity, price in lines)
        self.records.orders[id_] = {
            "id": id_,
            "customer_id": self._customer,
            "status": status,
            "payment": payment,
            "placed_at": self._at(days),
            "total": {"amount": total, "currency": currency},
            "lines": [
                {"title": title, "quantity": quantity, "unit_price": {"amount": price, "currency": currency}}
                for title, quantity, price in lines
            ],
            "parcels": [],
            "ships_to": ships_to,
        }
        self._order = id_

    def parcel(
        self, number: str, carrier: str, *, status: str, scans: Sequence[_Scan], expected: float | None = None
    ) -> None:
        order = self.records.orders[self._order]
        order["parcels"].append({"tracking_number": number, "carrier": carrier})
        self.records.parcels[number] = {
            "tracking_number": number,
            "carrier": carrier,
            "order_id": self._order,
            "customer_id": order["customer_id"],
            "status": status,
            "expected_at": None if expected is None else self._at(expected),
            "events": [
                {"at": self._at(scan.days), "description": scan.description, "location": scan.location}
                for scan in reversed(scans)
            ],
        }

    def _at(self, days: float) -> str:
        return (self._now + timedelta(days=days)).isoformat().replace("+00:00", "Z")
