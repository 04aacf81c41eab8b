"""The shop's records in Shopify's shapes: ids with a prefix, decimal amounts, connections with nodes."""

import re
from datetime import datetime, timedelta
from decimal import Decimal

from demo.shop.records import Json, Records

FINANCIAL = {"unpaid": "PENDING", "paid": "PAID", "partly_refunded": "PARTIALLY_REFUNDED", "refunded": "REFUNDED"}
UNFULFILLED = ("pending", "processing", "cancelled")
PARCELS = {
    "label_created": "LABEL_PURCHASED",
    "in_transit": "IN_TRANSIT",
    "out_for_delivery": "OUT_FOR_DELIVERY",
    "delivery_attempted": "ATTEMPTED_DELIVERY",
    "ready_for_pickup": "READY_FOR_PICKUP",
    "delivered": "DELIVERED",
    "delayed": "DELAYED",
    "lost": "FAILURE",
    "returning": "NOT_DELIVERED",
}
_EVENTS = {"LABEL_PURCHASED", "IN_TRANSIT", "OUT_FOR_DELIVERY", "ATTEMPTED_DELIVERY", "DELIVERED", "FAILURE"}


def gid(kind: str, ident: str) -> str:
    """Shopify's id of a record."""
    return f"gid://shopify/{kind}/{ident}"


def tail(ident: str) -> str:
    """The id without its prefix."""
    return ident.rpartition("/")[2]


def number(order_id: str) -> str:
    """The digits of an order's number: Shopify's internal ids are numbers."""
    return re.sub(r"\D", "", order_id)


def bag(amount: int, currency: str) -> Json:
    """An amount, in the shop's currency and in the customer's, which are one here."""
    money = {"amount": decimal(amount, currency), "currencyCode": currency}
    return {"presentmentMoney": money, "shopMoney": money}


def decimal(amount: int, currency: str) -> str:
    """A decimal text, such as `19.90`."""
    digits = 0 if currency in ("JPY", "KRW") else 2
    return f"{Decimal(amount).scaleb(-digits):.{digits}f}"


def minor(text: object, currency: str) -> int:
    """Minor units from a decimal text. Raises ArithmeticError or ValueError."""
    digits = 0 if currency in ("JPY", "KRW") else 2
    return int(Decimal(str(text)).scaleb(digits).to_integral_exact())


def customer(record: Json) -> Json:
    """A customer."""
    return {
        "id": gid("Customer", record["id"]),
        "displayName": record["name"],
        "defaultEmailAddress": {"emailAddress": record["email"]},
    }


def product(record: Json) -> Json:
    """A product."""
    return {
        "id": gid("Product", record["id"]),
        "title": record["title"],
        "variants": {
            "nodes": [
                {
                    "id": gid("ProductVariant", variant["id"]),
                    "title": variant["title"],
                    "price": decimal(variant["price"]["amount"], variant["price"]["currency"]),
                    "availableForSale": variant["available"] > 0,
                }
                for variant in record["variants"]
            ]
        },
    }


def order(records: Records, record: Json, *, refunds: list[Json], returns: list[Json]) -> Json:
    """An order."""
    status, currency = record["status"], record["total"]["currency"]
    placed = datetime.fromisoformat(record["placed_at"])
    is_returning = status in ("return_requested", "exchange_requested")
    return {
        "id": gid("Order", number(record["id"])),
        "name": record["id"],
        "updatedAt": _moment(placed + timedelta(seconds=int(record["revision"]))),
        "processedAt": record["placed_at"],
        "cancelledAt": record["placed_at"] if status == "cancelled" else None,
        "displayFinancialStatus": FINANCIAL[record["payment"]],
        "displayFulfillmentStatus": _fulfillment_status(status),
        "returnStatus": "RETURN_REQUESTED" if is_returning else "NO_RETURN",
        "refundable": record["refundable"]["amount"] > 0,
        "customer": {"id": gid("Customer", record["customer_id"])},
        "currentTotalPriceSet": bag(record["total"]["amount"], currency),
        "totalRefundedSet": bag(record["refunded"]["amount"], currency),
        "netPaymentSet": bag(record["refundable"]["amount"], currency),
        "shippingAddress": _address(record["address"]),
        "lineItems": {"nodes": [_line(records, record, line) for line in record["lines"]]},
        "fulfillments": _fulfillments(records, record),
        "refunds": refunds,
        "returns": {"nodes": returns},
    }


def name_of(address: Json) -> str:
    """The name in an address that comes with a first and a last name."""
    return " ".join(filter(None, (address.get("firstName"), address.get("lastName"))))


def _fulfillment_status(status: str) -> str:
    if status in UNFULFILLED:
        return "UNFULFILLED"
    return "PARTIALLY_FULFILLED" if status == "partly_shipped" else "FULFILLED"


def _line(records: Records, record: Json, line: Json) -> Json:
    pieces = records.pieces[record["id"], line["id"]]
    is_open = record["status"] in ("pending", "processing", "partly_shipped")
    return {
        "id": gid("LineItem", line["id"]),
        "title": line["title"],
        "variantTitle": line["options"],
        "quantity": line["quantity"],
        "currentQuantity": line["quantity"],
        "refundableQuantity": line["quantity"] - pieces.returned,
        "unfulfilledQuantity": line["quantity"] - pieces.shipped if is_open else 0,
        "variant": {
            "id": gid("ProductVariant", line["variant_id"]),
            "product": {"id": gid("Product", line["product_id"])},
        },
        "discountedUnitPriceAfterAllDiscountsSet": bag(line["unit_price"]["amount"], line["unit_price"]["currency"]),
    }


def _fulfillments(records: Records, record: Json) -> list[Json]:
    if record["status"] in UNFULFILLED:
        return []
    found = [
        _fulfillment(record, records.parcels[each["tracking_number"]], place)
        for place, each in enumerate(record["parcels"])
    ]
    if found:
        return found
    ident = gid("Fulfillment", f"{number(record['id'])}00")
    bare = {"id": ident, "displayStatus": "DELIVERED", "deliveredAt": record["delivered_at"]}
    return [{**bare, "estimatedDeliveryAt": None, "trackingInfo": [], "events": {"nodes": []}}]


def _fulfillment(record: Json, parcel: Json, place: int) -> Json:
    status = PARCELS[parcel["status"]]
    return {
        "id": gid("Fulfillment", f"{number(record['id'])}{place:02}"),
        "displayStatus": status,
        "deliveredAt": record["delivered_at"] if status == "DELIVERED" else None,
        "estimatedDeliveryAt": parcel["expected_at"],
        "trackingInfo": [{"company": parcel["carrier"], "number": parcel["tracking_number"]}],
        "events": {
            "nodes": [
                {
                    "status": status if status in _EVENTS else "IN_TRANSIT",
                    "happenedAt": event["at"],
                    "city": event["location"],
                    "province": None,
                    "country": None,
                    "message": event["description"],
                }
                for event in parcel["events"]
            ]
        },
    }


def _address(record: Json) -> Json:
    return {
        "name": record["name"],
        "address1": record["line1"],
        "address2": record["line2"],
        "city": record["city"],
        "provinceCode": record["region"],
        "zip": record["postal_code"],
        "countryCodeV2": record["country"],
    }


def _moment(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
