"""The facts that the rules of a policy can ask about: a closed list, computed by code.

A fact that nobody knows is not in the mapping. docs/reference/policy.md is held to the list.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from bot.shops.actions import ActionKind, Arguments, Quote, Reason
from bot.shops.port import (
    Money,
    Order,
    OrderLine,
    OrderStatus,
    Parcel,
    PaymentKind,
    PaymentMethod,
    PaymentStatus,
    Product,
)

FactType = Literal["text", "number", "yes or no", "money", "texts", "day"]
Value = str | int | bool | Money | frozenset[str] | date
Facts = Mapping[str, Value | tuple[Value | None, ...]]
"""Name -> value. A fact of a line or a variant has a tuple with one value for each line that the action names."""
Argument = Literal["reason", "lines", "variant", "method", "amount"]

TYPES: Mapping[FactType, type] = {
    "text": str,
    "number": int,
    "yes or no": bool,
    "money": Money,
    "texts": frozenset,
    "day": date,
}
"""Type of a fact -> the type of its values. A value of any other type counts as missing."""
TEXT_LIMIT = 200
"""The most characters of a text. A longer one counts as missing."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WHOLE_ORDER: frozenset[ActionKind] = frozenset({"cancel_order", "change_order_address", "change_order_payment"})
"""Kinds that concern every line of an order, since none are named."""


@dataclass(frozen=True, slots=True)
class FactSpec:
    """What a fact is."""

    type: FactType
    about: str
    """One sentence for the people who write rules."""
    choices: tuple[str, ...] = ()
    """The only values that a text can have. Every other value counts as missing."""
    argument: Argument | Literal[""] = ""
    """The argument without which the fact is missing. A rule can ask the customer for it."""
    per_line: bool = False
    """Whether every line that the action names has a value of its own."""
    shown: bool = True
    """Whether a sentence for customers can have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerFacts:
    """What is known about a customer. None if it is not known."""

    orders_count: int | None = None
    refunds_90d: int | None = None
    actions_today: int | None = None
    first_order_at: datetime | None = None
    tags: Sequence[str] | None = None


def _known(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word != "unknown")


_ORDER: dict[str, FactSpec] = {
    "order.status": FactSpec("text", "The order's status.", choices=_known(get_args(OrderStatus))),
    "order.state": FactSpec("text", "The shop's own word for the status.", shown=False),
    "order.payment": FactSpec("text", "How far the order is paid.", choices=_known(get_args(PaymentStatus))),
    "order.placed_on": FactSpec("day", "The day on which the order was placed."),
    "order.delivered_on": FactSpec("day", "The day of the delivery."),
    "order.days_since_order": FactSpec("number", "Days since the order was placed."),
    "order.days_since_delivery": FactSpec("number", "Days since the delivery."),
    "order.total": FactSpec("money", "What the customer pays for the order, shipping included."),
    "order.refundable": FactSpec("money", "What can still be refunded."),
    "order.refunded": FactSpec("money", "What was refunded already."),
    "order.parcels": FactSpec("number", "How many parcels were handed to a carrier."),
    "order.country": FactSpec("text", "The country that the order goes to, as the shop writes it, such as DE."),
    "order.currency": FactSpec("text", "The order's currency, such as EUR. Missing if it has several."),
    "order.lines": FactSpec("number", "How many lines the order has."),
    "order.actions_done": FactSpec("number", "How many actions on this order were done already.", shown=False),
}
_LINE: dict[str, FactSpec] = {
    "line.title": FactSpec("text", "The article's title.", per_line=True),
    "line.quantity": FactSpec("number", "How many pieces the action concerns.", argument="lines", per_line=True),
    "line.bought": FactSpec("number", "How many pieces were bought.", per_line=True),
    "line.returnable": FactSpec("number", "How many pieces can still be returned.", per_line=True),
    "line.cancellable": FactSpec("number", "How many pieces can still be cancelled.", per_line=True),
    "line.unit_price": FactSpec("money", "The price of one piece.", per_line=True),
    "line.product": FactSpec("text", "The shop's id of the product.", per_line=True, shown=False),
    "line.variant": FactSpec("text", "The shop's id of the variant that was bought.", per_line=True, shown=False),
    "line.product_tags": FactSpec("texts", "The shop's tags of the product.", per_line=True, shown=False),
    "line.reason": FactSpec(
        "text", "Why the customer wants it.", choices=get_args(Reason), argument="reason", per_line=True, shown=False
    ),
    "line.days_since_delivery": FactSpec("number", "Days since the delivery.", per_line=True),
}
_VARIANT: dict[str, FactSpec] = {
    "variant.available": FactSpec("number", "How many of the other variant there are.", per_line=True),
    "variant.price": FactSpec("money", "The price of the other variant.", per_line=True),
    "variant.same_product": FactSpec(
        "yes or no", "Whether it is a variant of the same product.", argument="variant", per_line=True, shown=False
    ),
    "variant.is_other": FactSpec(
        "yes or no", "Whether it is not the variant that was bought.", argument="variant", per_line=True, shown=False
    ),
}
_OTHERS: dict[str, FactSpec] = {
    "method.kind": FactSpec(
        "text", "The kind of the payment method.", choices=get_args(PaymentKind), argument="method", shown=False
    ),
    "method.balance": FactSpec("money", "What the gift card still holds.", argument="method"),
    "method.is_original": FactSpec(
        "yes or no", "Whether the order was paid with this method.", argument="method", shown=False
    ),
    "amount": FactSpec("money", "What the customer gets: zero if they get nothing.", argument="amount"),
    "difference": FactSpec("money", "What the customer pays: negative if they get money."),
    "reason": FactSpec("text", "Why the customer wants it.", choices=get_args(Reason), argument="reason", shown=False),
    "customer.orders_count": FactSpec("number", "How many orders the customer has placed.", shown=False),
    "customer.refunds_90d": FactSpec("number", "How many refunds they got in the last 90 days.", shown=False),
    "customer.actions_today": FactSpec("number", "How many actions they confirmed in the last 24 hours.", shown=False),
    "customer.days_since_first_order": FactSpec("number", "Days since their first order.", shown=False),
    "customer.tags": FactSpec("texts", "The shop's tags of the customer.", shown=False),
    "case.count_30d": FactSpec("number", "How many cases they had in the last 30 days.", shown=False),
    "now.date": FactSpec("day", "Today, in the desk's time zone."),
    "now.hour": FactSpec("number", "The hour of the day, 0 to 23, in the desk's time zone.", shown=False),
    "now.weekday": FactSpec("text", "The day of the week, in the desk's time zone.", choices=WEEKDAYS, shown=False),
}
FACTS: Mapping[str, FactSpec] = {**_ORDER, **_LINE, **_VARIANT, **_OTHERS}
"""Name -> fact: everything that a rule can ask about."""


def build_facts(
    *,
    kind: ActionKind,
    order: Order | None,
    arguments: Arguments,
    quote: Quote | None,
    customer: CustomerFacts,
    cases_30d: int | None,
    now: datetime,
    zone: ZoneInfo,
    actions_done: int | None = None,
    products: Sequence[Product] = (),
    methods: Sequence[PaymentMethod] = (),
    parcels: Sequence[Parcel] = (),
) -> Facts:
    """The facts of one action.

    Args:
        quote: None if the shop was not asked yet. The amount is then the one that the arguments name.
        zone: the desk's time zone, in which days are counted.
        actions_done: how many actions on this order were done already.
        products: those of the order's lines that are known, for the variants.
        methods: the customer's payment methods, beside those with which the order was paid.
        parcels: those of the order that are known. Their scans stand in for a missing time of delivery.
    """
    calendar = _Calendar(now, zone)
    found: dict[str, Value | tuple[Value | None, ...] | None] = {}
    delivered_at = _delivered_at(order, parcels) if order else None
    if order:
        found |= _order_facts(order, calendar, delivered_at) | {"order.actions_done": actions_done}
    found |= _line_facts(kind, order, arguments, products, calendar.days_since(delivered_at))
    found |= _method_facts(order, arguments, methods) | _money_facts(order, arguments, quote)
    found |= {
        "reason": arguments.reason or None,
        "customer.orders_count": customer.orders_count,
        "customer.refunds_90d": customer.refunds_90d,
        "customer.actions_today": customer.actions_today,
        "customer.days_since_first_order": calendar.days_since(customer.first_order_at),
        "customer.tags": None if customer.tags is None else frozenset(customer.tags),
        "case.count_30d": cases_30d,
        "now.date": calendar.today,
        "now.hour": calendar.now.hour,
        "now.weekday": WEEKDAYS[calendar.today.weekday()],
    }
    if len(_currencies(order, arguments, quote)) > 1:
        found = {name: value for name, value in found.items() if FACTS[name].type != "money"}
        found.pop("order.currency", None)
    return {name: value for name, value in found.items() if value is not None}


class _Calendar:
    """Days in the desk's time zone."""

    def __init__(self, now: datetime, zone: ZoneInfo) -> None:
        self._zone = zone
        self.now = now.astimezone(zone)
        self.today = self.now.date()

    def day(self, at: datetime | None) -> date | None:
        """The day of a time. None for a time without a zone, and for one that is yet to come."""
        if at is None or at.tzinfo is None:
            return None
        day = at.astimezone(self._zone).date()
        return day if day <= self.today else None

    def days_since(self, at: datetime | None) -> int | None:
        day = self.day(at)
        return None if day is None else (self.today - day).days


def _delivered_at(order: Order, parcels: Sequence[Parcel]) -> datetime | None:
    """When the order arrived: the shop's own time, or else the last scan of a parcel that was delivered."""
    if order.delivered_at:
        return order.delivered_at
    scans = (
        parcel.events[0].at
        for parcel in parcels
        if parcel.order_id == order.id and parcel.status == "delivered" and parcel.events
    )
    return max(scans, default=None)


def _order_facts(order: Order, calendar: _Calendar, delivered_at: datetime | None) -> dict[str, Value | None]:
    return {
        "order.status": order.status,
        "order.state": order.state or None,
        "order.payment": order.payment,
        "order.placed_on": calendar.day(order.placed_at),
        "order.delivered_on": calendar.day(delivered_at),
        "order.days_since_order": calendar.days_since(order.placed_at),
        "order.days_since_delivery": calendar.days_since(delivered_at),
        "order.total": order.total,
        "order.refundable": order.refundable,
        "order.refunded": order.refunded,
        "order.parcels": len(order.parcels),
        "order.country": order.address.country or None if order.address else None,
        "order.currency": order.total.currency,
        "order.lines": len(order.lines),
    }


def _line_facts(
    kind: ActionKind,
    order: Order | None,
    arguments: Arguments,
    products: Sequence[Product],
    days: int | None,
) -> dict[str, tuple[Value | None, ...]]:
    """The facts of each line that the action names. They are empty tuples if it names none."""
    known = {line.id: line for line in order.lines} if order else {}
    quantities: dict[str, int] = {}
    for named in arguments.lines:
        quantities[named.line] = quantities.get(named.line, 0) + named.quantity
    variants = {swap.line: swap.variant for swap in arguments.swaps}
    if kind in WHOLE_ORDER:
        quantities |= {line.id: line.quantity for line in known.values()}
    rows = [
        _one_line(known.get(line), quantities.get(line), variants.get(line), products)
        | {"line.reason": arguments.reason or None, "line.days_since_delivery": days if line in known else None}
        for line in dict.fromkeys((*quantities, *variants))
    ]
    return {name: tuple(row.get(name) for row in rows) for name in (*_LINE, *_VARIANT)}


def _one_line(
    line: OrderLine | None, quantity: int | None, variant_id: str | None, products: Sequence[Product]
) -> dict[str, Value | None]:
    if line is None:
        return {}
    facts: dict[str, Value | None] = {
        "line.title": line.title,
        "line.quantity": quantity if variant_id is None else quantity or line.quantity,
        "line.bought": line.quantity,
        "line.returnable": line.returnable,
        "line.cancellable": line.cancellable,
        "line.unit_price": line.unit_price,
        "line.product": line.product_id or None,
        "line.variant": line.variant_id or None,
        "line.product_tags": frozenset(line.tags),
    }
    if variant_id is None:
        return facts
    facts["variant.is_other"] = variant_id != line.variant_id if line.variant_id else None
    product = next((each for each in products if line.product_id and each.id == line.product_id), None)
    if product is None:
        return facts
    variant = next((each for each in product.variants if each.id == variant_id), None)
    facts["variant.same_product"] = variant is not None
    if variant is not None:
        facts |= {"variant.available": variant.available, "variant.price": variant.price}
    return facts


def _method_facts(
    order: Order | None, arguments: Arguments, methods: Sequence[PaymentMethod]
) -> dict[str, Value | None]:
    """The facts of the payment method that was chosen."""
    if not arguments.method:
        return {}
    paid_with = order.payments if order else ()
    chosen = next((each for each in (*methods, *paid_with) if each.method_id == arguments.method), None)
    # What an order was paid with a gift card is not what the card still holds.
    held = next((each.amount for each in methods if each.method_id == arguments.method), None)
    return {
        "method.kind": chosen.kind if chosen else None,
        "method.balance": held if chosen and chosen.kind == "gift_card" else None,
        "method.is_original": any(each.method_id == arguments.method for each in paid_with) if paid_with else None,
    }


def _money_facts(order: Order | None, arguments: Arguments, quote: Quote | None) -> dict[str, Value | None]:
    """What moves: as the shop quotes it, and never less than what was asked for."""
    if quote is None:
        return {"amount": arguments.amount}
    if (moved := quote.money) is None:
        moved = Money(0, order.total.currency) if order else None
    if moved is None:
        return {"amount": arguments.amount}
    asked = arguments.amount.minor if arguments.amount else 0
    return {"amount": Money(max(-moved.minor, asked, 0), moved.currency), "difference": moved}


def _currencies(order: Order | None, arguments: Arguments, quote: Quote | None) -> set[str]:
    """The currencies of an action. With more than one, no sum can be compared."""
    sums: list[Money | None] = [arguments.amount]
    if order:
        sums += [order.total, order.refundable, order.refunded, *(line.unit_price for line in order.lines)]
        sums += [each.amount for each in order.payments]
    if quote:
        sums += [quote.money, *(line.money for line in (*quote.lines, *quote.fees))]
    return {each.currency for each in sums if each}
