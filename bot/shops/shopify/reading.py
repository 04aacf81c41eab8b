"""From Shopify's records to the port's: what its words mean here, and ids without their prefix.

read_order      an order with its raw record
read_customer   a customer
read_parcel     a parcel of an order
read_product    a product with its variants
gid, tail       an id with its prefix, and without

Amounts are those in the currency that the customer paid in (`presentmentMoney`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.shops.declared.mapping import read_amount
from bot.shops.port import Order, OrderStatus, ParcelStatus, PaymentStatus
from bot.shops.wire import (
    ORDER_ID,
    TRACKING_NUMBER,
    CustomerAnswer,
    OrderAnswer,
    ParcelAnswer,
    ProductAnswer,
    RecordId,
)

Node = Mapping[str, Any]

_PREFIX = "gid://shopify/"
_PAYMENTS: Mapping[str, PaymentStatus] = {
    "PENDING": "unpaid",
    "AUTHORIZED": "unpaid",
    "EXPIRED": "failed",
    "VOIDED": "failed",
    "PAID": "paid",
    "PARTIALLY_REFUNDED": "partly_refunded",
    "REFUNDED": "refunded",
}
"""OrderDisplayFinancialStatus. `PARTIALLY_PAID` has no word here."""
_FULFILLMENTS: Mapping[str, OrderStatus] = {
    "FULFILLED": "shipped",
    "PARTIALLY_FULFILLED": "partly_shipped",
    "FULFILLMENT_NOT_REQUIRED": "delivered",
    "UNFULFILLED": "processing",
    "OPEN": "processing",
    "IN_PROGRESS": "processing",
    "PENDING_FULFILLMENT": "processing",
    "RESTOCKED": "processing",
    "SCHEDULED": "pending",
    "ON_HOLD": "pending",
    "REQUEST_DECLINED": "pending",
}
"""OrderDisplayFulfillmentStatus."""
_RETURNS: Mapping[str, OrderStatus] = {
    "RETURN_REQUESTED": "return_requested",
    "IN_PROGRESS": "return_requested",
    "INSPECTION_COMPLETE": "return_requested",
}
"""OrderReturnStatus. `RETURNED` says that some items were, and `NO_RETURN` and `RETURN_FAILED` change nothing."""
_VOID = ("CANCELED", "LABEL_VOIDED")
"""FulfillmentDisplayStatus of what was never sent."""
_PARCELS: Mapping[str, ParcelStatus] = {
    "SUBMITTED": "label_created",
    "CONFIRMED": "label_created",
    "LABEL_PURCHASED": "label_created",
    "LABEL_PRINTED": "label_created",
    "FULFILLED": "in_transit",
    "MARKED_AS_FULFILLED": "in_transit",
    "CARRIER_PICKED_UP": "in_transit",
    "IN_TRANSIT": "in_transit",
    "OUT_FOR_DELIVERY": "out_for_delivery",
    "ATTEMPTED_DELIVERY": "delivery_attempted",
    "READY_FOR_PICKUP": "ready_for_pickup",
    "DELAYED": "delayed",
    "DELIVERED": "delivered",
    "PICKED_UP": "delivered",
}
"""FulfillmentDisplayStatus. What failed (`FAILURE`, `NOT_DELIVERED`, `CANCELED`, `LABEL_VOIDED`) a person reads."""
_EVENTS = {
    "LABEL_PURCHASED": "Label created",
    "LABEL_PRINTED": "Label created",
    "READY_FOR_PICKUP": "Ready for pickup",
    "CONFIRMED": "Confirmed",
    "CARRIER_PICKED_UP": "Picked up by the carrier",
    "IN_TRANSIT": "In transit",
    "OUT_FOR_DELIVERY": "Out for delivery",
    "ATTEMPTED_DELIVERY": "Delivery attempted",
    "DELAYED": "Delayed",
    "DELIVERED": "Delivered",
    "FAILURE": "Delivery failed",
}
"""FulfillmentEventStatus, in words for an event that has no message."""


class ShopifyOrderAnswer(OrderAnswer):
    """An order whose id in the API is another than the number that people see."""

    raw_id: RecordId

    def read(self) -> Order:
        """The order, without the form of the answer."""
        return replace(super().read(), raw_id=self.raw_id)


@dataclass(frozen=True, slots=True)
class ShopifyOrder:
    """An order, and the record that it was read from."""

    answer: ShopifyOrderAnswer
    node: Node

    @property
    def active_returns(self) -> list[Node]:
        """Returns that are requested or on their way."""
        return [each for each in nodes(self.node.get("returns")) if each.get("status") in ("REQUESTED", "OPEN")]


def gid(kind: str, ident: str) -> str:
    """Shopify's id of a record, such as `gid://shopify/Order/4711`."""
    return f"{_PREFIX}{kind}/{ident}"


def tail(ident: object, kind: str) -> str:
    """The id without its prefix. Empty if it is not one of this kind."""
    start = f"{_PREFIX}{kind}/"
    return ident[len(start) :] if isinstance(ident, str) and ident.startswith(start) else ""


def number_of(name: object) -> str:
    """An order's number as customers write it: its name in capitals, without the `#`."""
    return str(name or "").removeprefix("#").upper()


def has_number(node: Node) -> bool:
    """Whether the order has a number that customers can write, and a customer who could."""
    return bool(node.get("customer")) and re.fullmatch(ORDER_ID, number_of(node.get("name"))) is not None


def nodes(connection: object) -> list[Node]:
    """The records of a connection, or of a plain list. Empty for what is neither."""
    found = connection.get("nodes") if isinstance(connection, Mapping) else connection
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def read_customer(node: Node) -> CustomerAnswer:
    """The customer. Raises ValidationError."""
    email = node.get("defaultEmailAddress") or {}
    return CustomerAnswer.model_validate(
        {
            "id": tail(node.get("id"), "Customer"),
            "name": node.get("displayName"),
            "email": email.get("emailAddress") or "",
        }
    )


def read_order(node: Node) -> ShopifyOrder:
    """The order. Raises ValidationError, or Unusable for an amount that is none."""
    parcels = list(_tracked(node))
    address = _address(node.get("shippingAddress"))
    net = money(node.get("netPaymentSet"), "netPaymentSet")
    delivered = [str(each.get("deliveredAt") or "") for each in _sent(node)]
    answer = ShopifyOrderAnswer.model_validate(
        {
            "id": number_of(node.get("name")),
            "raw_id": tail(node.get("id"), "Order"),
            "customer_id": tail((node.get("customer") or {}).get("id"), "Customer"),
            "status": _status(node),
            "state": f"{node.get('displayFinancialStatus')} {node.get('displayFulfillmentStatus')}",
            "payment": _PAYMENTS.get(str(node.get("displayFinancialStatus")), "unknown"),
            "placed_at": node.get("processedAt"),
            "delivered_at": max(delivered) if delivered and all(delivered) else None,
            "revision": node.get("updatedAt"),
            "total": money(node.get("currentTotalPriceSet"), "currentTotalPriceSet"),
            "refunded": money(node.get("totalRefundedSet"), "totalRefundedSet"),
            "refundable": net if node.get("refundable") or net is None else {**net, "amount": 0},
            "lines": [_line(each) for each in nodes(node.get("lineItems"))],
            "parcels": [{"tracking_number": number, "carrier": carrier} for number, carrier, _ in parcels],
            "ships_to": ", ".join(filter(None, (address.get("city"), address.get("country")))) if address else "",
            "address": address,
        }
    )
    return ShopifyOrder(answer, node)


def read_parcel(order: ShopifyOrder, tracking_number: str) -> ParcelAnswer | None:
    """The parcel with this number. None if the order has none. Raises ValidationError."""
    for number, carrier, fulfillment in _tracked(order.node):
        if number != tracking_number:
            continue
        return ParcelAnswer.model_validate(
            {
                "tracking_number": number,
                "carrier": carrier,
                "order_id": order.answer.id,
                "status": _PARCELS.get(str(fulfillment.get("displayStatus")), "unknown"),
                "expected_at": fulfillment.get("estimatedDeliveryAt"),
                "events": [_event(each) for each in nodes(fulfillment.get("events"))],
            }
        )
    return None


def read_product(node: Node, currency: str) -> ProductAnswer:
    """The product. Shopify gives prices of variants in the shop's own currency. Raises ValidationError or Unusable."""
    return ProductAnswer.model_validate(
        {
            "id": tail(node.get("id"), "Product"),
            "title": node.get("title"),
            "variants": [
                {
                    "id": tail(each.get("id"), "ProductVariant"),
                    "title": each.get("title"),
                    "price": read_amount(each.get("price"), unit="decimal", currency=currency, field="price"),
                    "available": None if each.get("availableForSale") else 0,
                }
                for each in nodes(node.get("variants"))
            ],
        }
    )


def money(bag: object, field: str) -> dict[str, Any] | None:
    """An amount in the customer's currency, in minor units. None if it is not there. Raises Unusable."""
    found = bag.get("presentmentMoney") if isinstance(bag, Mapping) else None
    if not isinstance(found, Mapping):
        return None
    return read_amount(found.get("amount"), unit="decimal", currency=found.get("currencyCode"), field=field)


def _status(node: Node) -> OrderStatus:
    if node.get("cancelledAt"):
        return "cancelled"
    if (returned := _RETURNS.get(str(node.get("returnStatus")))) is not None:
        return returned
    if node.get("returnStatus") == "RETURNED":
        is_whole = not any(each.get("refundableQuantity") for each in nodes(node.get("lineItems")))
        return "returned" if is_whole else "partly_returned"
    if node.get("displayFinancialStatus") == "REFUNDED":
        return "refunded"
    status = _FULFILLMENTS.get(str(node.get("displayFulfillmentStatus")), "unknown")
    parcels = [each.get("displayStatus") for each in _sent(node)]
    has_arrived = bool(parcels) and all(_PARCELS.get(str(each)) == "delivered" for each in parcels)
    return "delivered" if status == "shipped" and has_arrived else status


def _line(node: Node) -> dict[str, Any]:
    variant = node.get("variant") or {}
    unfulfilled = int(node.get("unfulfilledQuantity") or 0)
    refundable = int(node.get("refundableQuantity") or 0)
    return {
        "id": tail(node.get("id"), "LineItem"),
        "title": node.get("title"),
        "quantity": node.get("currentQuantity"),
        "unit_price": money(
            node.get("discountedUnitPriceAfterAllDiscountsSet"), "discountedUnitPriceAfterAllDiscountsSet"
        ),
        "product_id": tail((variant.get("product") or {}).get("id"), "Product") or None,
        "variant_id": tail(variant.get("id"), "ProductVariant") or None,
        "options": node.get("variantTitle") or "",
        "cancellable": unfulfilled,
        "returnable": max(refundable - unfulfilled, 0),
    }


def _address(found: object) -> dict[str, Any] | None:
    if not isinstance(found, Mapping) or not found.get("address1"):
        return None
    return {
        "name": found.get("name") or "",
        "line1": found.get("address1"),
        "line2": found.get("address2") or "",
        "city": found.get("city") or "",
        "region": found.get("provinceCode") or "",
        "postal_code": found.get("zip") or "",
        "country": found.get("countryCodeV2") or "",
    }


def _tracked(node: Node) -> Iterable[tuple[str, str, Node]]:
    """Tracking number, carrier and fulfillment of each parcel. A number is written without spaces, in capitals."""
    for fulfillment in _sent(node):
        for each in nodes(fulfillment.get("trackingInfo")):
            number = re.sub(r"\s", "", str(each.get("number") or "")).upper()
            if re.fullmatch(TRACKING_NUMBER, number):
                yield number, str(each.get("company") or ""), fulfillment


def _sent(node: Node) -> list[Node]:
    """The fulfillments that were not voided."""
    return [each for each in nodes(node.get("fulfillments")) if each.get("displayStatus") not in _VOID]


def _event(node: Node) -> dict[str, Any]:
    places = (node.get("city"), node.get("province"), node.get("country"))
    return {
        "at": node.get("happenedAt"),
        "description": node.get("message") or _EVENTS.get(str(node.get("status")), str(node.get("status"))),
        "location": ", ".join(filter(None, places)),
    }
