"""Where orders and parcels come from: one port, whatever shop is behind it.

`ShopCustomer` (bot/conversation.py) is the capability: every method here needs one, except the one that makes it from a
verified e-mail address. Money is integer minor units and a currency; times are UTC.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from bot.conversation import ShopCustomer
from bot.errors import FrontdeskError

OrderStatus = Literal[
    "pending",
    "processing",
    "partly_shipped",
    "shipped",
    "delivered",
    "cancelled",
    "return_requested",
    "exchange_requested",
    "partly_returned",
    "returned",
    "refunded",
    "unknown",
]
"""An order's status. `unknown` is any word that is not in this list. It is never guessed at; a person reads it."""

PaymentStatus = Literal["unpaid", "paid", "partly_refunded", "refunded", "failed", "unknown"]

ParcelStatus = Literal[
    "label_created",
    "in_transit",
    "out_for_delivery",
    "delivery_attempted",
    "ready_for_pickup",
    "delivered",
    "delayed",
    "lost",
    "returning",
    "returned",
    "unknown",
]

_MINOR_DIGITS = {"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3} | dict.fromkeys(
    (
        "BIF",
        "CLP",
        "DJF",
        "GNF",
        "ISK",
        "JPY",
        "KMF",
        "KRW",
        "PYG",
        "RWF",
        "UGX",
        "VND",
        "VUV",
        "XAF",
        "XOF",
        "XPF",
    ),
    0,
)
"""ISO 4217's exceptions: currency -> digits of its minor unit. Every other currency has two."""
_WRITTEN_WHOLE = frozenset({"IDR"})
"""Currencies whose hundredths exist on paper only. They are left out if they are zero."""


def minor_digits(currency: str) -> int:
    """How many digits the minor unit of a currency has."""
    return _MINOR_DIGITS.get(currency, 2)


class ShopUnavailable(FrontdeskError):
    """The shop gave no usable answer: no connection, too late, refused, or not what the contract says.

    `status` is that of its answer, if the answer could not be used for it.
    """

    def __init__(self, reason: str, *, status: int = 0) -> None:
        self.status = status
        super().__init__(reason)


class ShopRefuses(ShopUnavailable):
    """The shop does not take our token."""


@dataclass(frozen=True, slots=True)
class Money:
    """An amount of money. It is in minor units, since a float is not exact."""

    minor: int
    """Cents for USD, yen for JPY, hundredths of a rupiah for IDR."""
    currency: str
    """The ISO 4217 code, such as `EUR`."""

    def __str__(self) -> str:
        digits = minor_digits(self.currency)
        whole, part = divmod(abs(self.minor), 10**digits)
        sign = "-" if self.minor < 0 else ""
        if not digits or (not part and self.currency in _WRITTEN_WHOLE):
            return f"{sign}{whole:,} {self.currency}"
        return f"{sign}{whole:,}.{part:0{digits}} {self.currency}"

    @property
    def figure(self) -> str:
        """The amount in digits alone, such as `1234.50`."""
        digits = minor_digits(self.currency)
        whole, part = divmod(abs(self.minor), 10**digits)
        return f"{'-' if self.minor < 0 else ''}{whole}" + (f".{part:0{digits}}" if digits else "")


def read_money(written: str, currency: str) -> Money | None:
    """The amount that a person wrote, such as `80`, `80.5` or `80,50`. None if it is none of this currency."""
    digits = minor_digits(currency)
    whole, _, part = written.strip().replace(",", ".").partition(".")
    if len(whole) > 12 or len(part) > digits or not f"{whole}{part}".isascii() or not f"{whole}{part}".isdigit():
        return None
    return Money(int(whole or "0") * 10**digits + int(part.ljust(digits, "0") or "0"), currency)


@dataclass(frozen=True, slots=True)
class Address:
    """Where something is sent. It is shown whole only to its customer in an offer, and to staff who approve it."""

    name: str
    line1: str
    city: str
    country: str
    """The two letters of ISO 3166-1, or the shop's word."""
    line2: str = ""
    region: str = ""
    postal_code: str = ""


@dataclass(frozen=True, slots=True)
class OrderLine:
    """One article of an order."""

    title: str
    quantity: int
    unit_price: Money
    id: str = ""
    """The shop's id, else "1" to "n" in the order's own order. Two equal articles stay two lines."""
    product_id: str = ""
    variant_id: str = ""
    options: str = ""
    """The variant in words, such as `M, moss`."""
    returnable: int | None = None
    """How many pieces can still be returned. None if the shop does not say."""
    cancellable: int | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """One form of a product that can be bought."""

    id: str
    title: str
    price: Money
    available: int | None = None
    """How many there are. None if the shop does not say."""


@dataclass(frozen=True, slots=True)
class Product:
    """An article with its variants."""

    id: str
    title: str
    variants: tuple[Variant, ...]


PaymentKind = Literal["card", "wallet", "gift_card", "bank", "store_credit", "other"]


@dataclass(frozen=True, slots=True)
class PaymentMethod:
    """A way in which a customer pays or paid."""

    method_id: str
    kind: PaymentKind
    label: str
    """Never more than the brand and the last four digits."""
    amount: Money | None = None
    """What an order was paid with it, or what a gift card still holds."""


@dataclass(frozen=True, slots=True)
class ParcelRef:
    """A parcel as its order lists it."""

    tracking_number: str
    carrier: str


@dataclass(frozen=True, slots=True)
class Order:
    """One order, as its owner may see it."""

    id: str
    customer_id: str
    """The owner, `ShopCustomer.id`."""
    status: OrderStatus
    payment: PaymentStatus
    placed_at: datetime
    total: Money
    """What the customer pays, shipping included."""
    lines: tuple[OrderLine, ...]
    parcels: tuple[ParcelRef, ...] = ()
    """Empty until something has been handed to a carrier."""
    ships_to: str = ""
    """City and country, for the customer to recognize; never the street."""
    state: str = ""
    """The shop's own word for the status, for rules only."""
    delivered_at: datetime | None = None
    revision: str = ""
    """Whatever changes when the order changes. Empty if the shop does not say."""
    refundable: Money | None = None
    refunded: Money | None = None
    payments: tuple[PaymentMethod, ...] = ()
    address: Address | None = None
    raw_id: str = ""
    """The shop's internal id, if it is another than the number that people see. Only its connector reads it."""


@dataclass(frozen=True, slots=True)
class ParcelEvent:
    """One scan. Its words are the carrier's: they are data, and no statement of the shop."""

    at: datetime
    description: str
    location: str = ""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Where a parcel is."""

    tracking_number: str
    carrier: str
    order_id: str
    status: ParcelStatus
    expected_at: datetime | None
    """The carrier's estimate, if there is one."""
    events: tuple[ParcelEvent, ...]
    """Newest first."""


class OrderBackend(Protocol):
    """Something that knows customers and their orders. Every method raises ShopUnavailable."""

    async def find_customer(self, email: str) -> ShopCustomer | None:
        """The one customer with this verified address. None if there is no such customer, or several."""
        ...

    async def list_orders(self, customer: ShopCustomer) -> tuple[Order, ...]:
        """Their orders, newest first: as many as the shop returns at once."""
        ...

    async def get_order(self, customer: ShopCustomer, order_id: str) -> Order | None:
        """Their order. None if there is none with this number, or if it belongs to another customer."""
        ...


class ParcelBackend(Protocol):
    """Something that knows parcels, also if another system has the orders."""

    async def parcel_of(self, customer: ShopCustomer, orders: Sequence[Order], tracking_number: str) -> Parcel | None:
        """The parcel that these orders of the customer name. None if it is not known. Raises ShopUnavailable."""
        ...


class ShippingBackend(Protocol):
    """Something that knows where a customer's parcels are."""

    async def track(self, customer: ShopCustomer, tracking_number: str) -> Parcel | None:
        """A parcel of one of their orders; None for every other number. Raises ShopUnavailable."""
        ...
