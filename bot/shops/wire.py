"""The shop's answers as docs/reference/shop-api.md describes them, with their form checked and their words made safe.

Fields that the contract does not name are ignored. A missing field or one of a wrong type makes the whole answer
unusable; a status that the contract does not list becomes "unknown".
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Self, get_args

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bot.conversation import ShopCustomer
from bot.shops.port import (
    Address,
    Money,
    Order,
    OrderLine,
    OrderStatus,
    Parcel,
    ParcelEvent,
    ParcelRef,
    ParcelStatus,
    PaymentKind,
    PaymentMethod,
    PaymentStatus,
    Product,
    Variant,
)
from knowledge.text import KEPT, visible

CUSTOMER_ID = r"[A-Za-z0-9_-]{1,64}"
ORDER_ID = r"[A-Z0-9][A-Z0-9_-]{0,39}"
TRACKING_NUMBER = r"[A-Z0-9][A-Z0-9-]{5,39}"
RECORD_ID = r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}"
"""The id of a line, a product, a variant or a payment method."""
REVISION = r"[A-Za-z0-9_.:-]{1,64}"
"""Letters and digits are ASCII. With these patterns, no id can change the path of an address, or end a header."""

EVENTS_LIMIT = 20
"""Scans of one parcel that are kept, newest first."""


def one_line(limit: int) -> Callable[[str], str]:
    """Return a function that makes another system's words quotable: one line, nothing invisible, `limit` characters."""

    def tame(text: str) -> str:
        text = text[: limit * 4]
        if text.isascii() and text.isprintable():  # most words are, and a hundred orders have thousands
            return " ".join(text.split())[:limit]
        shown = (c if c.isprintable() or c in KEPT else " " for c in visible(text))
        return " ".join("".join(shown).split())[:limit]

    return tame


def _or(other: str, kind: Any) -> Callable[[object], object]:
    listed = frozenset(get_args(kind))
    return lambda value: other if isinstance(value, str) and value not in listed else value


def _last_four(label: str) -> str:
    """The label with no more than its last four digits: a whole card number is never kept."""
    digits = sum(c.isdigit() for c in label)
    kept = []
    for c in label:
        if c.isdigit():
            digits -= 1
            if digits >= 4:
                continue
        kept.append(c)
    return " ".join("".join(kept).split())


def _utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


_CustomerId = Annotated[str, Field(pattern=f"^{CUSTOMER_ID}$")]
_OrderId = Annotated[str, Field(pattern=f"^{ORDER_ID}$")]
_TrackingNumber = Annotated[str, Field(pattern=f"^{TRACKING_NUMBER}$")]
_Line = Annotated[str, AfterValidator(one_line(120))]
Short = Annotated[str, AfterValidator(one_line(60))]
PaymentLabel = Annotated[Short, AfterValidator(_last_four)]
RecordId = Annotated[str, Field(pattern=f"^{RECORD_ID}$")]
Time = Annotated[AwareDatetime, AfterValidator(_utc)]


class Wire(BaseModel):
    """Something that a shop sends. Fields that the contract does not name are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Fault(Wire):
    code: str


class RefusalAnswer(Wire):
    """The body of every answer whose status is not 200."""

    error: _Fault


class CustomerAnswer(Wire):
    """Each entry of `GET /customers?email=`."""

    id: _CustomerId
    name: _Line
    email: Annotated[str, Field(max_length=254), AfterValidator(one_line(254))]

    def read(self) -> ShopCustomer:
        """The customer, without the form of the answer."""
        return ShopCustomer(self.id, self.name, self.email)


class CustomersAnswer(Wire):
    """`GET /customers?email=`."""

    customers: list[CustomerAnswer]


class MoneyAnswer(Wire):
    """An amount, in minor units."""

    amount: Annotated[int, Field(strict=True, ge=-(10**15), le=10**15)]
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]

    def read(self) -> Money:
        """The amount, without the form of the answer."""
        return Money(self.amount, self.currency)


_Pieces = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]


def read_or_none(money: MoneyAnswer | None) -> Money | None:
    """The amount, if there is one."""
    return money.read() if money else None


class _Article(Wire):
    title: _Line
    quantity: _Pieces
    unit_price: MoneyAnswer
    id: RecordId | None = None
    product_id: RecordId | None = None
    variant_id: RecordId | None = None
    options: Short = ""
    returnable: _Pieces | None = None
    cancellable: _Pieces | None = None
    tags: Annotated[tuple[Short, ...], Field(max_length=20)] = ()

    def read(self, place: int) -> OrderLine:
        return OrderLine(
            title=self.title,
            quantity=self.quantity,
            unit_price=self.unit_price.read(),
            id=self.id or str(place),
            product_id=self.product_id or "",
            variant_id=self.variant_id or "",
            options=self.options,
            returnable=self.returnable,
            cancellable=self.cancellable,
            tags=self.tags,
        )


class AddressAnswer(Wire):
    """Where an order goes."""

    name: _Line
    line1: _Line
    city: Short
    country: Short
    line2: _Line = ""
    region: Short = ""
    postal_code: Short = ""

    def read(self) -> Address:
        """The address, without the form of the answer."""
        return Address(self.name, self.line1, self.city, self.country, self.line2, self.region, self.postal_code)


class PaymentMethodAnswer(Wire):
    """Each way to pay."""

    method_id: RecordId
    kind: Annotated[PaymentKind, BeforeValidator(_or("other", PaymentKind))] = "other"
    label: PaymentLabel
    amount: MoneyAnswer | None = None

    def read(self) -> PaymentMethod:
        """The method, without the form of the answer."""
        return PaymentMethod(self.method_id, self.kind, self.label, read_or_none(self.amount))


class _ParcelRef(Wire):
    tracking_number: _TrackingNumber
    carrier: Short


class OrderAnswer(Wire):
    """`GET /orders/{id}`, and each entry of a customer's list."""

    id: _OrderId
    customer_id: _CustomerId
    status: Annotated[OrderStatus, BeforeValidator(_or("unknown", OrderStatus))]
    payment: Annotated[PaymentStatus, BeforeValidator(_or("unknown", PaymentStatus))] = "unknown"
    placed_at: Time
    total: MoneyAnswer
    lines: list[_Article]
    parcels: list[_ParcelRef]
    ships_to: Short = ""
    state: Short = ""
    delivered_at: Time | None = None
    revision: Annotated[str, Field(pattern=f"^{REVISION}$")] | None = None
    refundable: MoneyAnswer | None = None
    refunded: MoneyAnswer | None = None
    payments: Annotated[tuple[PaymentMethodAnswer, ...], Field(max_length=20)] = ()
    address: AddressAnswer | None = None

    @model_validator(mode="after")
    def _names_each_line_or_none(self) -> Self:
        ids = [line.id for line in self.lines if line.id]
        if ids and len(set(ids)) != len(self.lines):
            raise ValueError("either every line has an id of its own, or none has one")
        return self

    def read(self) -> Order:
        """The order, without the form of the answer."""
        return Order(
            id=self.id,
            customer_id=self.customer_id,
            status=self.status,
            payment=self.payment,
            placed_at=self.placed_at,
            total=self.total.read(),
            lines=tuple(line.read(place) for place, line in enumerate(self.lines, start=1)),
            parcels=tuple(ParcelRef(parcel.tracking_number, parcel.carrier) for parcel in self.parcels),
            ships_to=self.ships_to,
            state=self.state,
            delivered_at=self.delivered_at,
            revision=self.revision or "",
            refundable=read_or_none(self.refundable),
            refunded=read_or_none(self.refunded),
            payments=tuple(payment.read() for payment in self.payments),
            address=self.address.read() if self.address else None,
        )


class OrdersAnswer(Wire):
    """`GET /customers/{id}/orders`."""

    orders: list[OrderAnswer]


class _Event(Wire):
    at: Time
    description: _Line
    location: Short = ""


class ParcelAnswer(Wire):
    """`GET /parcels/{tracking}`."""

    tracking_number: _TrackingNumber
    carrier: Short
    order_id: _OrderId | None = None
    """None if who knows the parcel does not know its order."""
    status: Annotated[ParcelStatus, BeforeValidator(_or("unknown", ParcelStatus))]
    expected_at: Time | None = None
    events: list[_Event]

    def read(self, order_id: str) -> Parcel:
        """The parcel of this order, its latest scans first."""
        newest = sorted(self.events, key=lambda event: event.at, reverse=True)[:EVENTS_LIMIT]
        return Parcel(
            tracking_number=self.tracking_number,
            carrier=self.carrier,
            order_id=order_id,
            status=self.status,
            expected_at=self.expected_at,
            events=tuple(ParcelEvent(event.at, event.description, event.location) for event in newest),
        )


class _Variant(Wire):
    id: RecordId
    title: _Line
    price: MoneyAnswer
    available: _Pieces | None = None

    def read(self) -> Variant:
        return Variant(self.id, self.title, self.price.read(), self.available)


class ProductAnswer(Wire):
    """`GET /products/{id}`."""

    id: RecordId
    title: _Line
    variants: Annotated[list[_Variant], Field(max_length=200)]

    def read(self) -> Product:
        """The product, without the form of the answer."""
        return Product(self.id, self.title, tuple(variant.read() for variant in self.variants))


class PaymentMethodsAnswer(Wire):
    """`GET /customers/{id}/payment-methods`."""

    customer_id: _CustomerId
    methods: Annotated[list[PaymentMethodAnswer], Field(max_length=50)]

    def read(self) -> tuple[PaymentMethod, ...]:
        """The methods, without the form of the answer."""
        return tuple(method.read() for method in self.methods)
