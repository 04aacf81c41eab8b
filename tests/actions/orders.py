"""An order, its policy and its facts, for the tests of the rules."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from bot.actions.facts import CustomerFacts, Facts, build_facts
from bot.actions.policy_file import Policy, PolicyFile, build_policy
from bot.shops.actions import ActionKind, Arguments, LineQuantity, Quote
from bot.shops.port import Address, Money, Order, OrderLine, ParcelRef, PaymentMethod

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
ORDER = Order(
    id="FW-1",
    customer_id="c1",
    status="delivered",
    payment="paid",
    placed_at=NOW - timedelta(days=16),
    total=Money(12998, "EUR"),
    lines=(
        OrderLine(
            title="Rain jacket",
            quantity=1,
            unit_price=Money(11900, "EUR"),
            id="1",
            product_id="p1",
            variant_id="v1",
            returnable=1,
            tags=("jackets",),
        ),
        OrderLine(
            title="Socks",
            quantity=2,
            unit_price=Money(549, "EUR"),
            id="2",
            product_id="p2",
            variant_id="v9",
            returnable=0,
            tags=("socks",),
        ),
    ),
    parcels=(ParcelRef("T1", "DHL"),),
    state="dispatched-7",
    delivered_at=NOW - timedelta(days=12),
    refundable=Money(12998, "EUR"),
    refunded=Money(0, "EUR"),
    payments=(PaymentMethod("pm1", "card", "Visa 4242", Money(12998, "EUR")),),
    address=Address("Ada", "1 Elm Street", "Bristol", "GB"),
)
KNOWN = CustomerFacts(
    orders_count=3, refunds_90d=1, actions_today=0, first_order_at=NOW - timedelta(days=400), tags=("vip",)
)


def facts_of(
    kind: ActionKind = "return_items",
    order: Order | None = ORDER,
    *,
    arguments: Arguments | None = None,
    customer: CustomerFacts = KNOWN,
    now: datetime = NOW,
    quote: Quote | None = None,
    **more: Any,
) -> Facts:
    """The facts of the return of the jacket, or of another action."""
    given = arguments or Arguments(
        order="FW-1", lines=(LineQuantity("1", 1),), reason="damaged", method="pm1", amount=None
    )
    return build_facts(
        kind=kind,
        order=order,
        arguments=given,
        quote=quote,
        customer=customer,
        cases_30d=2,
        now=now,
        zone=BERLIN,
        **more,
    )


def order_with(**changes: Any) -> Order:
    """The order with other values."""
    return replace(ORDER, **changes)


def policy_of(*rules: Mapping[str, Any], kind: ActionKind = "return_items", **more: Any) -> Policy:
    """A policy with one kind. The values of its rules are texts, as they are in a file."""
    own = {name: more.pop(key) for key, name in (("staff_for_kind", "staff"), ("fee", "fee")) if key in more}
    file = {"version": 1, "actions": {kind: {"rules": list(rules), **own}}, **more}
    return build_policy(PolicyFile.model_validate(file), digest="")
