"""The house system's own words and shapes: German status words, decimal amounts, names in camel case."""

from decimal import Decimal
from typing import Any

from demo.shop.records import Json

STATUSES = {
    "pending": "NEU",
    "processing": "IN_ARBEIT",
    "partly_shipped": "TEILVERSANDT",
    "shipped": "VERSANDT",
    "delivered": "ZUGESTELLT",
    "cancelled": "STORNIERT",
    "return_requested": "RUECKGABE_ANGEMELDET",
    "exchange_requested": "UMTAUSCH_ANGEMELDET",
    "partly_returned": "TEILRETOURE",
    "returned": "RETOURNIERT",
    "refunded": "ERSTATTET",
}
PAYMENTS = {
    "unpaid": "OFFEN",
    "paid": "BEZAHLT",
    "partly_refunded": "TEILERSTATTET",
    "refunded": "ERSTATTET",
    "failed": "FEHLGESCHLAGEN",
}
PHASES = {
    "label_created": "ANGEKUENDIGT",
    "in_transit": "UNTERWEGS",
    "out_for_delivery": "IN_ZUSTELLUNG",
    "delivery_attempted": "NICHT_ANGETROFFEN",
    "ready_for_pickup": "ABHOLBEREIT",
    "delivered": "ZUGESTELLT",
    "delayed": "VERSPAETET",
    "lost": "VERLOREN",
    "returning": "RUECKWEG",
    "returned": "ZURUECK",
}
INSTRUMENTS = {"card": "KARTE", "gift_card": "GUTSCHEIN", "wallet": "WALLET", "bank": "LASTSCHRIFT"}
REASONS = {
    "GEFAELLT_NICHT": "changed_mind",
    "VERSEHEN": "mistake",
    "ZU_SPAET": "too_slow",
    "BESCHAEDIGT": "damaged",
    "FALSCHER_ARTIKEL": "wrong_item",
    "SONSTIGES": "other",
}
CODES = {
    "not_found": "order_unknown",
    "wrong_status": "status_conflict",
    "changed": "etag_mismatch",
    "too_much": "exceeds_limit",
    "not_allowed": "not_permitted",
    "not_available": "sold_out",
    "no_such_line": "position_unknown",
    "invalid": "invalid_request",
    "key_reused": "reference_reused",
    "in_progress": "still_running",
}
"""The order system's words for a refusal -> the house's."""


def amount(money: Json) -> str:
    """A decimal text, such as `19.90`."""
    digits = 0 if money["currency"] in ("JPY", "KRW") else 2
    return f"{Decimal(money['amount']).scaleb(-digits):.{digits}f}"


def minor(text: object, currency: str) -> int:
    """Minor units from a decimal text. Raises ArithmeticError or ValueError."""
    digits = 0 if currency in ("JPY", "KRW") else 2
    return int(Decimal(str(text)).scaleb(digits).to_integral_exact())


def customer(record: Json) -> Json:
    """A customer as the house tells it."""
    first, _, last = record["name"].partition(" ")
    return {
        "customerNumber": record["id"],
        "firstName": first,
        "lastName": last,
        "contact": {"email": record["email"]},
    }


def order(record: Json) -> Json:
    """An order as the house tells it."""
    return {
        "orderNumber": f"#{record['id']}",
        "customer": {"customerNumber": record["customer_id"]},
        "state": STATUSES[record["status"]],
        "payment": {
            "state": PAYMENTS[record["payment"]],
            "parts": [{**instrument(part), "amount": amount(part["amount"])} for part in record["payments"]],
        },
        "createdAt": record["placed_at"],
        "deliveredAt": record["delivered_at"],
        "etag": f"r{record['revision']}",
        "amounts": {
            "gross": amount(record["total"]),
            "refundable": amount(record["refundable"]),
            "refunded": amount(record["refunded"]),
            "currency": record["total"]["currency"],
        },
        "shipTo": _address(record["address"]),
        "positions": [_position(line) for line in record["lines"]],
        "shipments": [
            {"trackingCode": parcel["tracking_number"], "carrierName": parcel["carrier"]}
            for parcel in record["parcels"]
        ],
    }


def shipment(record: Json) -> Json:
    """A parcel as the house tells it."""
    scans = [{"ts": scan["at"], "text": scan["description"], "place": scan["location"]} for scan in record["events"]]
    return {
        "trackingCode": record["tracking_number"],
        "carrierName": record["carrier"],
        "orderNumber": f"#{record['order_id']}",
        "phase": PHASES[record["status"]],
        "eta": record["expected_at"],
        "scans": scans,
    }


def article(record: Json) -> Json:
    """A product as the house tells it."""
    return {
        "code": record["id"],
        "name": record["title"],
        "variants": [
            {
                "code": variant["id"],
                "name": variant["title"],
                "unitGross": amount(variant["price"]),
                "currency": variant["price"]["currency"],
                "stock": variant["available"],
            }
            for variant in record["variants"]
        ],
    }


def instrument(record: Json) -> Json:
    """A way to pay as the house tells it."""
    told: Json = {
        "instrumentId": record["method_id"],
        "type": INSTRUMENTS.get(record["kind"], "ANDERE"),
        "display": record["label"],
    }
    if record.get("amount"):
        told |= {"balance": amount(record["amount"]), "currency": record["amount"]["currency"]}
    return told


def address_of(told: Any) -> Json:
    """The order system's address from the house's."""
    if not isinstance(told, dict):
        return {}
    names = {
        "name": "recipient",
        "line1": "street",
        "line2": "extra",
        "city": "city",
        "region": "region",
        "postal_code": "postcode",
        "country": "countryCode",
    }
    return {ours: told.get(theirs) or "" for ours, theirs in names.items()}


def _address(record: Json) -> Json:
    return {
        "recipient": record["name"],
        "street": record["line1"],
        "extra": record["line2"],
        "city": record["city"],
        "region": record["region"],
        "postcode": record["postal_code"],
        "countryCode": record["country"],
    }


def _position(line: Json) -> Json:
    return {
        "positionId": int(line["id"]),
        "name": line["title"],
        "variantName": line["options"],
        "sku": {"parent": line["product_id"], "code": line["variant_id"]},
        "qty": line["quantity"],
        "qtyReturnable": line["returnable"],
        "qtyCancellable": line["cancellable"],
        "unitGross": amount(line["unit_price"]),
        "labels": line["tags"],
    }
