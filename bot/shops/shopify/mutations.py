"""The mutation of each kind of action, and whether an order shows that it was done.

variables_of   what is sent, from what the customer confirmed
shows          whether an order shows that the action was done
"""

from collections.abc import Mapping
from typing import Any

from bot.shops.actions import ActionKind, Arguments, Quote
from bot.shops.declared.mapping import decimal_text
from bot.shops.port import Address, Money
from bot.shops.shopify.documents import (
    CANCEL,
    CANCEL_RETURN,
    CREATE_RETURN,
    REFUND,
    REQUEST_RETURN,
    UPDATE_ADDRESS,
)
from bot.shops.shopify.reading import Node, ShopifyOrder, gid, money, nodes, tail

SCOPES: Mapping[ActionKind, str] = {
    "cancel_order": "write_orders",
    "change_order_address": "write_orders",
    "refund": "write_orders",
    "return_items": "write_returns",
    "cancel_return": "write_returns",
}
"""What the connector can do, and the scope of the token that each kind needs."""
KEYED: frozenset[ActionKind] = frozenset({"refund"})
"""Kinds whose mutation takes an idempotency key. All others are never sent twice."""
_CANCEL_REASONS = {
    "changed_mind": "CUSTOMER",
    "mistake": "CUSTOMER",
    "too_slow": "CUSTOMER",
    "found_cheaper": "CUSTOMER",
}
_RETURN_NOTES = {
    "changed_mind": "Changed their mind",
    "mistake": "Ordered by mistake",
    "too_slow": "Arrived too late",
    "found_cheaper": "Found it cheaper",
    "damaged": "Damaged",
    "wrong_item": "Wrong item",
    "not_as_described": "Not as described",
    "other": "Other reason",
}
"""What the shop reads about a return, in English like its staff's notes."""


def mark_of(key: str) -> str:
    """The mark by which an action is found in the notes of the shop."""
    return f"Frontdesk {key}"


def mutation_of(kind: ActionKind, *, asks_first: bool) -> str:
    """The document. `asks_first`: whether a return waits for the shop's approval."""
    match kind:
        case "cancel_order":
            return CANCEL
        case "refund":
            return REFUND
        case "return_items":
            return REQUEST_RETURN if asks_first else CREATE_RETURN
        case "cancel_return":
            return CANCEL_RETURN
        case _:
            return UPDATE_ADDRESS


def variables_of(
    kind: ActionKind, raw_id: str, arguments: Arguments, quote: Quote, *, key: str, asks_first: bool
) -> Mapping[str, Any]:
    """The variables of the mutation. Pure."""
    ident = gid("Order", raw_id)
    match kind:
        case "cancel_order":
            return {
                "id": ident,
                "reason": _CANCEL_REASONS.get(arguments.reason, "OTHER"),
                "restock": True,
                "note": mark_of(key),
                "refund": {"originalPaymentMethodsRefund": True},
            }
        case "refund":
            return {"input": _refund(ident, arguments, quote, key), "key": key}
        case "return_items":
            return {"input": _return(ident, arguments, quote, asks_first=asks_first)}
        case "cancel_return":
            return {"id": gid("Return", arguments.undoes.reference if arguments.undoes else "")}
        case _:
            return {"input": {"id": ident, "shippingAddress": mailing_address(arguments.address)}}


def shows(kind: ActionKind, order: ShopifyOrder, arguments: Arguments, *, key: str) -> bool:
    """Whether the order is as the action would leave it.

    This says that the action was done only because the connector quotes no action that an order shows beforehand.
    """
    match kind:
        case "cancel_order":
            return bool(order.node.get("cancelledAt"))
        case "refund":
            return refund_with(order.node, key) is not None
        case "return_items":
            return bool(order.active_returns)
        case "cancel_return":
            reference = arguments.undoes.reference if arguments.undoes else ""
            found = {tail(each.get("id"), "Return"): each.get("status") for each in nodes(order.node.get("returns"))}
            return found.get(reference) == "CANCELED"
        case _:
            address = order.answer.address
            return address is not None and arguments.address == address.read()


def refund_with(order: Node, key: str) -> Node | None:
    """The order's refund that was made with this key."""
    mark = mark_of(key)
    return next((each for each in nodes(order.get("refunds")) if each.get("note") == mark), None)


def refunded(refund: Node) -> Money:
    """What a refund gave back. Negative. Raises Unusable."""
    found = money(refund.get("totalRefundedSet"), "totalRefundedSet") or {"amount": 0, "currency": ""}
    return Money(-found["amount"], found["currency"])


def mailing_address(address: Address | None) -> Mapping[str, str]:
    """An address as Shopify takes it: with a first and a last name, and the codes of country and region."""
    if address is None:
        return {}
    first, _, last = address.name.rpartition(" ")
    return {
        "firstName": first,
        "lastName": last,
        "address1": address.line1,
        "address2": address.line2,
        "city": address.city,
        "provinceCode": address.region,
        "zip": address.postal_code,
        "countryCode": address.country,
    }


def _refund(ident: str, arguments: Arguments, quote: Quote, key: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {
        "orderId": ident,
        "note": mark_of(key),
        "notify": True,
        "transactions": [
            {"orderId": ident, "kind": "REFUND", **transaction} for transaction in quote.terms.get("transactions", ())
        ],
    }
    if quote.money is not None:
        found["currency"] = quote.money.currency
    if arguments.amount is None:
        found["refundLineItems"] = refund_lines(arguments)
    return found


def refund_lines(arguments: Arguments) -> list[Mapping[str, Any]]:
    """The lines of a refund. Nothing is put back into stock: the goods are with the customer."""
    return [
        {"lineItemId": gid("LineItem", each.line), "quantity": each.quantity, "restockType": "NO_RESTOCK"}
        for each in arguments.lines
    ]


def _return(ident: str, arguments: Arguments, quote: Quote, *, asks_first: bool) -> Mapping[str, Any]:
    note = _RETURN_NOTES.get(arguments.reason, _RETURN_NOTES["other"])
    name = "customerNote" if asks_first else "returnReasonNote"
    lines = [{**line, name: note} for line in quote.terms.get("lines", ())]
    return {"orderId": ident, "returnLineItems": lines}


def allocate(amount: Money, suggested: list[Node]) -> list[Mapping[str, Any]] | None:
    """The amount over the payments that can be refunded, in Shopify's order. None if they do not have that much."""
    left = amount.minor
    transactions: list[Mapping[str, Any]] = []
    for each in suggested:
        most = money(each.get("amountSet"), "amountSet")
        if not left or most is None or most["amount"] <= 0 or most["currency"] != amount.currency:
            continue
        part = min(left, most["amount"])
        left -= part
        transactions.append(
            {
                "amount": decimal_text(Money(part, amount.currency)),
                "gateway": each.get("gateway"),
                "parentId": (each.get("parentTransaction") or {}).get("id"),
            }
        )
    return None if left else transactions
