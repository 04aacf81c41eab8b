"""The shop's answers as docs/reference/shop-api.md describes them, with their form checked and their words made safe.

Fields that the contract does not name are ignored. A missing field or one of a wrong type makes the whole answer
unusable; a status that the contract does not list becomes "unknown".
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from bot.conversation import ShopCustomer
from bot.shops.port import (
    Money,
    Order,
    OrderLine,
    OrderStatus,
    Parcel,
    ParcelEvent,
    ParcelRef,
    ParcelStatus,
    PaymentStatus,
)
from knowledge.text import KEPT, visible

CUSTOMER_ID = r"[A-Za-z0-9_-]{1,64}"
ORDER_ID = r"[A-Z0-9][A-Z0-9_-]{0,39}"
TRACKING_NUMBER = r"[A-Z0-9][A-Z0-9-]{5,39}"
"""Letters and digits are ASCII. With these three patterns, no id can change the path of an address."""

EVENTS_LIMIT = 20
"""Scans of one parcel that are kept, newest first."""


def one_line(limit: int) -> Callable[[str], str]:
    """Return a function that makes another system's words quotable: one line, nothing invisible, `limit` characters."""

    def tame(text: str) -> str:
        shown = (c if c.isprintable() or c in KEPT else " " for c in visible(text[: limit * 4]))
        return " ".join("".join(shown).split())[:limit]

    return tame


def _or_unknown(kind: Any) -> Callable[[object], object]:
    listed = frozenset(get_args(kind))
    return lambda value: "unknown" if isinstance(value, str) and value not in listed else value


def _utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


_CustomerId = Annotated[str, Field(pattern=f"^{CUSTOMER_ID}$")]
_OrderId = Annotated[str, Field(pattern=f"^{ORDER_ID}$")]
_TrackingNumber = Annotated[str, Field(pattern=f"^{TRACKING_NUMBER}$")]
_Line = Annotated[str, AfterValidator(one_line(120))]
_Short = Annotated[str, AfterValidator(one_line(60))]
_Time = Annotated[AwareDatetime, AfterValidator(_utc)]


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Fault(_Wire):
    code: str


class RefusalAnswer(_Wire):
    """The body of every answer whose status is not 200."""

    error: _Fault


class _Customer(_Wire):
    id: _CustomerId
    name: _Line
    email: Annotated[str, Field(max_length=254), AfterValidator(one_line(254))]

    def read(self) -> ShopCustomer:
        return ShopCustomer(self.id, self.name, self.email)


class CustomersAnswer(_Wire):
    """`GET /customers?email=`."""

    customers: list[_Customer]


class _Money(_Wire):
    amount: Annotated[int, Field(strict=True, ge=-(10**15), le=10**15)]
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]

    def read(self) -> Money:
        return Money(self.amount, self.currency)


class _Article(_Wire):
    title: _Line
    quantity: Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
    unit_price: _Money


class _ParcelRef(_Wire):
    tracking_number: _TrackingNumber
    carrier: _Short


class OrderAnswer(_Wire):
    """`GET /orders/{id}`, and each entry of a customer's list."""

    id: _OrderId
    customer_id: _CustomerId
    status: Annotated[OrderStatus, BeforeValidator(_or_unknown(OrderStatus))]
    payment: Annotated[PaymentStatus, BeforeValidator(_or_unknown(PaymentStatus))] = "unknown"
    placed_at: _Time
    total: _Money
    lines: list[_Article]
    parcels: list[_ParcelRef]
    ships_to: _Short = ""

    def read(self) -> Order:
        """The order, without the form of the answer."""
        return Order(
            id=self.id,
            customer_id=self.customer_id,
            status=self.status,
            payment=self.payment,
            placed_at=self.placed_at,
            total=self.total.read(),
            lines=tuple(OrderLine(line.title, line.quantity, line.unit_price.read()) for line in self.lines),
            parcels=tuple(ParcelRef(parcel.tracking_number, parcel.carrier) for parcel in self.parcels),
            ships_to=self.ships_to,
        )


class OrdersAnswer(_Wire):
    """`GET /customers/{id}/orders`."""

    orders: list[OrderAnswer]


class _Event(_Wire):
    at: _Time
    description: _Line
    location: _Short = ""


class ParcelAnswer(_Wire):
    """`GET /parcels/{tracking}`."""

    tracking_number: _TrackingNumber
    carrier: _Short
    order_id: _OrderId
    status: Annotated[ParcelStatus, BeforeValidator(_or_unknown(ParcelStatus))]
    expected_at: _Time | None = None
    events: list[_Event]

    def read(self) -> Parcel:
        """The parcel, its latest scans first."""
        newest = sorted(self.events, key=lambda event: event.at, reverse=True)[:EVENTS_LIMIT]
        return Parcel(
            tracking_number=self.tracking_number,
            carrier=self.carrier,
            order_id=self.order_id,
            status=self.status,
            expected_at=self.expected_at,
            events=tuple(ParcelEvent(event.at, event.description, event.location) for event in newest),
        )
