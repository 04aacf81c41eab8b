"""Who buys at Fernwick, what they ordered, and where their parcels are. Dates hang on the moment of the start.

Customer A   ORD-12345 on its way with UPS · ORD-67890 (89.50) and ORD-19283 (29.00) being packed · ORD-24680 in two
             parcels · ORD-31415 delivered 12 days ago, so it can be returned · ORD-13579 delivered long ago · one
             refunded
Customer B   ORD-54321 on its way in Indonesia (IDR) · ORD-98760 lost · ORD-55501 to be picked up · one cancelled
Guest C      ORD-33333: an order that a workspace guest must not be able to read through Slack
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from demo.shop.catalog import products
from demo.shop.records import Json, Pieces, Records, refresh

PORTLAND = ("14 Foundry Lane", "", "Portland", "OR", "97205", "US", "United States")
LEEDS = ("3 Weaver Court", "Flat 6", "Leeds", "", "LS1 4AP", "GB", "United Kingdom")
UTRECHT = ("Kanaalkade 21", "", "Utrecht", "", "3511 AB", "NL", "Netherlands")
BANDUNG = ("Jalan Kebun Teh 8", "RT 02 RW 05", "Bandung", "Jawa Barat", "40115", "ID", "Indonesia")
OSAKA = ("2-4-1 Kitahama", "", "Osaka", "Osaka", "541-0041", "JP", "Japan")
SINGAPORE = ("52 Harbour Walk", "#08-11", "Singapore", "", "098632", "SG", "Singapore")
GRAZ = ("Lindengasse 5", "", "Graz", "Steiermark", "8010", "AT", "Austria")
_Place = tuple[str, str, str, str, str, str, str]
"""Two lines, city, region, postal code, country code, country."""


@dataclass(frozen=True, slots=True)
class _Scan:
    days: float
    """Before (negative) or after the start."""
    description: str
    location: str


def seed(now: datetime) -> Records:
    """The shop at `now`."""
    pen = _Pen(now.astimezone(UTC).replace(second=0, microsecond=0), Records())
    _customer_a(pen)
    _customer_b(pen)
    _guest_c(pen)
    return pen.records


def _customer_a(pen: "_Pen") -> None:
    pen.customer("cus_a", "Customer A", "customer.a@example.com", lives=PORTLAND)
    pen.method("pm_a_visa", "card", "Visa 4242")
    pen.method("pm_a_wallet", "wallet", "Wallet")
    pen.method("pm_a_gift", "gift_card", "Gift card 0117", balance=(2_000, "USD"))
    pen.order(
        "ORD-12345",
        status="shipped",
        days=-5.2,
        lines=[("var_ridgeline_w_m_moss", 1), ("var_socks_38", 2)],
        shipping=0,
        address=PORTLAND,
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
        lines=[("var_hollow_slate", 1)],
        shipping=0,
        address=PORTLAND,
    )
    pen.order(
        "ORD-24680",
        status="partly_shipped",
        days=-4.4,
        shipped=(1, 1, 0),
        lines=[("var_larch", 1), ("var_mat_regular", 2), ("var_stove", 1)],
        shipping=0,
        address=PORTLAND,
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
        "ORD-19283",
        status="processing",
        days=-6.5,
        lines=[("var_socks_41", 2)],
        shipping=0,
        address=PORTLAND,
    )
    pen.order(
        "ORD-31415",
        status="delivered",
        days=-15.6,
        delivered=-12.1,
        lines=[("var_talus_39", 1), ("var_socks_38", 2)],
        shipping=0,
        address=PORTLAND,
    )
    pen.parcel(
        "1Z999AA10131415926",
        "UPS",
        status="delivered",
        scans=[
            _Scan(-14.8, "Origin scan", "Reno, NV, United States"),
            _Scan(-12.4, "Out for delivery", "Portland, OR, United States"),
            _Scan(-12.1, "Delivered", "Portland, OR, United States"),
        ],
    )
    pen.order(
        "ORD-13579",
        status="delivered",
        days=-41,
        delivered=-38.2,
        lines=[("var_cairn_pair", 1)],
        shipping=650,
        address=LEEDS,
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
        delivered=-59,
        lines=[("var_fell_39", 1)],
        shipping=0,
        address=UTRECHT,
    )


def _customer_b(pen: "_Pen") -> None:
    pen.customer("cus_b", "Customer B", "customer.b@example.com", lives=BANDUNG)
    pen.method("pm_b_card", "card", "Mastercard 4444")
    pen.method("pm_b_bank", "bank", "Bank transfer")
    pen.order(
        "ORD-54321",
        status="shipped",
        days=-6.3,
        lines=[("var_ridgeline_m_l_ink", 1), ("var_drybag", 1)],
        shipping=12_000_000,
        address=BANDUNG,
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
        lines=[("var_quilt_3", 1)],
        shipping=3_900,
        address=BANDUNG,
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
        lines=[("var_bottle", 3)],
        shipping=2_200,
        address=OSAKA,
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
        lines=[("var_chair", 1)],
        shipping=1_200,
        address=SINGAPORE,
    )


def _guest_c(pen: "_Pen") -> None:
    pen.customer("cus_c", "Guest C", "guest.c@example.net", lives=GRAZ)
    pen.method("pm_c_visa", "card", "Visa 1881")
    pen.order(
        "ORD-33333",
        status="delivered",
        days=-12,
        delivered=-9.4,
        lines=[("var_torch", 1)],
        shipping=490,
        address=GRAZ,
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
        records.products.update(products())
        self._sold = {
            variant["id"]: (product, variant)
            for product in records.products.values()
            for variant in product["variants"]
        }

    def customer(self, id_: str, name: str, email: str, *, lives: _Place) -> None:
        self.records.customers[id_] = {"id": id_, "name": name, "email": email}
        self.records.methods[id_] = []
        self._customer = id_
        self.records.addresses[id_] = self._address(lives)

    def method(self, id_: str, kind: str, label: str, *, balance: tuple[int, str] | None = None) -> None:
        method: Json = {"method_id": id_, "kind": kind, "label": label}
        if balance:
            method["amount"] = {"amount": balance[0], "currency": balance[1]}
        self.records.methods[self._customer].append(method)

    def order(
        self,
        id_: str,
        *,
        status: str,
        days: float,
        lines: Sequence[tuple[str, int]],
        shipping: int,
        address: _Place,
        payment: str = "paid",
        delivered: float | None = None,
        shipped: Sequence[int] | None = None,
    ) -> None:
        """`shipped`: how many pieces of each line have left; without it all or none, as the status says."""
        articles = [self._line(place, *line) for place, line in enumerate(lines, start=1)]
        currency = articles[0]["unit_price"]["currency"]
        total = shipping + sum(line["quantity"] * line["unit_price"]["amount"] for line in articles)
        has_left = status in ("shipped", "delivered", "returned", "refunded")
        for place, line in enumerate(articles):
            left = shipped[place] if shipped else line["quantity"] if has_left else 0
            self.records.pieces[id_, line["id"]] = Pieces(shipped=left)
        paid_with = {name: value for name, value in self.records.methods[self._customer][0].items() if name != "amount"}
        order: Json = {
            "id": id_,
            "customer_id": self._customer,
            "status": status,
            "payment": payment,
            "placed_at": self._at(days),
            "delivered_at": None if delivered is None else self._at(delivered),
            "revision": "1",
            "total": {"amount": total, "currency": currency},
            "refunded": {"amount": total if payment == "refunded" else 0, "currency": currency},
            "lines": articles,
            "payments": [{**paid_with, "amount": {"amount": total, "currency": currency}}],
            "parcels": [],
            "ships_to": f"{address[2]}, {address[6]}",
            "address": self._address(address),
        }
        refresh(self.records, order)
        self.records.orders[id_] = order
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

    def _line(self, place: int, variant_id: str, quantity: int) -> Json:
        product, variant = self._sold[variant_id]
        return {
            "id": str(place),
            "title": variant["title"],
            "quantity": quantity,
            "unit_price": dict(variant["price"]),
            "product_id": product["id"],
            "variant_id": variant_id,
            "options": variant["options"],
            "tags": list(product["tags"]),
        }

    def _address(self, place: _Place) -> Json:
        line1, line2, city, region, postal_code, country, _ = place
        name = self.records.customers[self._customer]["name"]
        return {
            "name": name,
            "line1": line1,
            "line2": line2,
            "city": city,
            "region": region,
            "postal_code": postal_code,
            "country": country,
        }

    def _at(self, days: float) -> str:
        return (self._now + timedelta(days=days)).isoformat().replace("+00:00", "Z")
