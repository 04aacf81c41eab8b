"""The order system's tables, as JSON that can be sent, and what it knows besides."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(slots=True)
class Pieces:
    """How many pieces of one line of an order have gone which way."""

    shipped: int = 0
    returned: int = 0
    """On their way back, or to be exchanged."""
    sent_again: int = 0


@dataclass(frozen=True, slots=True)
class Records:
    """The tables."""

    customers: dict[str, Json] = field(default_factory=dict)
    orders: dict[str, Json] = field(default_factory=dict)
    parcels: dict[str, Json] = field(default_factory=dict)
    products: dict[str, Json] = field(default_factory=dict)
    methods: dict[str, list[Json]] = field(default_factory=dict)
    """Customer -> how they can pay."""
    addresses: dict[str, Json] = field(default_factory=dict)
    """Customer -> where they live."""
    pieces: dict[tuple[str, str], Pieces] = field(default_factory=dict)
    """Order and line -> where its pieces are."""
    before: dict[str, Json] = field(default_factory=dict)
    """Order -> the order as it was before its last change."""
    ledger: list[Json] = field(default_factory=list)
    """Every change that took effect, in order."""
    on_change: Callable[[str], None] = lambda order: None
    """Is told of each order that changes."""

    def orders_of(self, customer: str) -> list[Json]:
        """Newest first."""
        own = [order for order in self.orders.values() if order["customer_id"] == customer]
        return sorted(own, key=lambda order: str(order["placed_at"]), reverse=True)

    def variants_of(self, product: str) -> Iterator[Json]:
        """The forms in which a product is sold."""
        yield from self.products.get(product, {"variants": []})["variants"]

    def digest(self) -> str:
        """A hash over everything. Two equal ones say that nothing at all has changed."""
        pieces = {f"{order}/{line}": [p.shipped, p.returned, p.sent_again] for (order, line), p in self.pieces.items()}
        tables = [self.customers, self.orders, self.parcels, self.products, self.methods, self.addresses, pieces]
        return hashlib.sha256(json.dumps([*tables, self.ledger], sort_keys=True).encode()).hexdigest()


def refresh(records: Records, order: Json) -> None:
    """Work out again what follows from the order's payments and pieces."""
    is_open = order["status"] in ("pending", "processing", "partly_shipped")
    has_arrived = order["status"] in ("delivered", "return_requested", "exchange_requested", "partly_returned")
    for line in order["lines"]:
        pieces = records.pieces[order["id"], line["id"]]
        line["cancellable"] = line["quantity"] - pieces.shipped if is_open else 0
        line["returnable"] = line["quantity"] - pieces.returned if has_arrived else 0
        if "final_sale" in line["tags"]:
            line["returnable"] = 0
    paid = 0 if order["payment"] == "unpaid" else sum(part["amount"]["amount"] for part in order["payments"])
    refunded = order["refunded"]["amount"]
    order["refundable"] = {"amount": paid - refunded, "currency": order["total"]["currency"]}
    if refunded:
        order["payment"] = "refunded" if refunded >= paid else "partly_refunded"
