"""What a shop can change: the kinds of actions, their arguments, and the port behind which a shop carries them out.

`Arguments` is what a customer confirmed. `Quote` is what the shop says it would cost. `ActionRequest` is the request as
it will be sent: it is rendered once, stored, and never made anew. `Outcome` is what came of it.

Money is negative where the customer gets it and positive where the customer pays it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, Self

import orjson
from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass as checked

from bot.conversation import ShopCustomer
from bot.shops.port import (
    Address,
    Money,
    Order,
    OrderBackend,
    PaymentMethod,
    Product,
    ShippingBackend,
    ShopUnavailable,
)

ActionKind = Literal[
    "cancel_order",
    "cancel_lines",
    "change_order_address",
    "change_order_items",
    "change_order_payment",
    "return_items",
    "exchange_items",
    "refund",
    "send_again",
    "change_customer_address",
    "cancel_return",
    "cancel_exchange",
    "cancel_replacement",
]
UNDONE_BY: Mapping[ActionKind, ActionKind] = {
    "return_items": "cancel_return",
    "exchange_items": "cancel_exchange",
    "send_again": "cancel_replacement",
}
"""The kinds that can be undone, each with the kind that undoes it. Only staff prepare these."""
UNDOES: Mapping[ActionKind, ActionKind] = {by: kind for kind, by in UNDONE_BY.items()}
Reason = Literal[
    "changed_mind",
    "mistake",
    "too_slow",
    "found_cheaper",
    "damaged",
    "wrong_item",
    "not_as_described",
    "other",
]
"""Why a customer wants it. A connector maps these words to the shop's own."""

OutcomeState = Literal["done", "partly", "refused", "in_progress", "not_found", "unknown", "unavailable"]
"""What came of a request.

`done` and `partly`: it took effect, wholly or for some of its lines. `refused`: the shop said no and changed nothing.
`in_progress`: the shop still works on it. `not_found`: it never arrived, or what it changes is unchanged. `unknown`:
the answer does not say. `unavailable`: no byte of the request left, or the shop turned it away unread (it is busy, or
refuses our credentials), or the question about an outcome had no answer.
"""
RefusalReason = Literal[
    "wrong_status",
    "changed",
    "too_much",
    "not_allowed",
    "not_available",
    "no_such_line",
    "invalid",
    "not_found",
    "key_reused",
    "other",
]
"""Why a shop refused, in its connector's words. `changed`: the order is not as it was when the customer was asked."""

_NO_LONGER_THAN = 40
LineId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$")]
"""The id of a line or of a variant."""


@checked(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class LineQuantity:
    """Some pieces of one line of an order."""

    line: LineId
    """`OrderLine.id`."""
    quantity: Annotated[int, Field(strict=True, ge=1, le=1_000)]


@checked(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Swap:
    """One line of an order that becomes another variant of the same product."""

    line: LineId
    variant: LineId


@checked(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Undone:
    """The action that is to be undone, as the shop knows it."""

    key: Annotated[str, Field(min_length=36, max_length=36)]
    """Its idempotency key."""
    reference: Annotated[str, Field(max_length=120)] = ""
    """The shop's own reference of it."""


@checked(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Arguments:
    """What is to be changed, as the customer confirms it. What a kind does not need stays empty."""

    order: Annotated[str, Field(max_length=_NO_LONGER_THAN)] = ""
    lines: Annotated[tuple[LineQuantity, ...], Field(max_length=100)] = ()
    swaps: Annotated[tuple[Swap, ...], Field(max_length=100)] = ()
    address: Address | None = None
    method: Annotated[str, Field(max_length=64)] = ""
    """The payment method to pay with or to refund to, `PaymentMethod.method_id`."""
    amount: Money | None = None
    """For a refund of an amount. Positive."""
    reason: Reason | Literal[""] = ""
    undoes: Undone | None = None
    """For the kinds of `UNDOES`: what is undone."""

    def canonical(self) -> Mapping[str, Any]:
        """The arguments as plain JSON, without the empty ones. Equal arguments give equal JSON."""
        whole: dict[str, Any] = _ARGUMENTS.dump_python(self, mode="json")
        return {name: value for name, value in whole.items() if value not in ("", [], None)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """The arguments of `canonical`. Raises ValueError if they are none."""
        return _ARGUMENTS.validate_python(stored)  # type: ignore[return-value]


_ARGUMENTS = TypeAdapter(Arguments)


def digest(*values: Any) -> str:
    """The SHA-256 of plain JSON values, in hexadecimal. The order of keys makes no difference."""
    return hashlib.sha256(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, slots=True)
class KindSpec:
    """How a shop carries out one kind of action."""

    kind: ActionKind
    has_quotes: bool = False
    """Whether the shop says itself what the action would cost. Otherwise our code computes it from the order."""
    key_hours: float | None = None
    """How long the shop remembers an idempotency key. None: it knows no keys, so a request is never sent twice."""
    irreversible: bool = False
    needs_reason: bool = False
    takes_money: bool = False
    """Whether the request names the money, so that the shop moves what the customer was shown."""


@dataclass(frozen=True, slots=True)
class QuoteLine:
    """One line of a quote: an article, a fee, a discount."""

    title: str
    quantity: int
    money: Money | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """What an action would cost, and what else it would bring about."""

    money: Money | None
    """None if no money moves."""
    lines: tuple[QuoteLine, ...] = ()
    fees: tuple[QuoteLine, ...] = ()
    to: str = ""
    """The payment method's label, such as `Visa 4242`."""
    when: str = ""
    """When money arrives, in the shop's words, such as `5 to 7 days`."""
    irreversible: bool = False
    computed: bool = False
    """True if our code computed it, since the shop gives no quotes."""
    terms: Mapping[str, Any] = field(default_factory=dict)
    """What the connector needs besides to render the request, such as the payments to refund. It is never shown."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """A request as it will be sent, byte for byte. It holds no secrets: the connector adds these as it sends."""

    method: Literal["POST", "PUT", "PATCH", "DELETE"]
    path: str
    """The path and the query, below the connector's address."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the connector reads the answer by, as plain JSON. It is stored, and never sent."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request, as the shop says or as it was read back."""

    state: OutcomeState
    reason: RefusalReason | Literal[""] = ""
    reference: str = ""
    """What the shop's own staff find the change by."""
    money: Money | None = None
    """What really moved: never more than was confirmed, but it can be less. None if the shop does not say."""
    order: Order | None = None
    """The order after the change, if the shop returned it."""
    lines: tuple[str, ...] = ()
    """For `partly`: the ids of the lines that took effect."""


class Throttled(ShopUnavailable):
    """The shop asks for patience. Nothing was done."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"the shop asks to wait {retry_after:g} s")
        self.retry_after = retry_after
        """In seconds."""


class NotSupported(ShopUnavailable):
    """The shop cannot do this kind of action, or not with these arguments."""

    def __init__(self, message: str, reason: RefusalReason = "other") -> None:
        super().__init__(message)
        self.reason: RefusalReason = reason


class ProductBackend(Protocol):
    """Something that knows articles and how a customer can pay. Every method raises ShopUnavailable."""

    async def get_product(self, customer: ShopCustomer, product_id: str) -> Product | None:
        """The product with its variants. None if there is none with this id."""
        ...

    async def payment_methods(self, customer: ShopCustomer) -> tuple[PaymentMethod, ...]:
        """How this customer can pay. Empty if the shop does not say."""
        ...


class ActionBackend(Protocol):
    """Something that can change orders."""

    async def kinds(self) -> Mapping[ActionKind, KindSpec]:
        """What it can do. Empty for a shop that is only read. Raises ShopUnavailable."""
        ...

    async def quote(self, customer: ShopCustomer, kind: ActionKind, order: Order | None, arguments: Arguments) -> Quote:
        """What it would cost. Raises ShopUnavailable.

        NotSupported: the shop refuses to quote it, or nobody could tell afterwards whether it was done.
        """
        ...

    def render(
        self,
        customer: ShopCustomer,
        kind: ActionKind,
        order: Order | None,
        arguments: Arguments,
        *,
        quote: Quote,
        key: str,
    ) -> ActionRequest:
        """The request. Pure: the same input gives the same bytes. `key` is the idempotency key, a UUID."""
        ...

    async def send(self, request: ActionRequest) -> Outcome:
        """Send the request once.

        It raises nothing of the shop's: `unavailable` says that no byte left, `unknown` that it may have taken effect.
        If it is cancelled, the outcome is as unknown as after `unknown`.
        """
        ...

    async def outcome(self, customer: ShopCustomer, kind: ActionKind, arguments: Arguments, *, key: str) -> Outcome:
        """Ask the shop what became of the request with this key, and change nothing.

        A shop without keys is read back. What it says is then decisive only because `quote` refuses an action whose
        effect cannot be told from how things already are.
        """
        ...


class Shop(OrderBackend, ShippingBackend, ProductBackend, ActionBackend, Protocol):
    """A whole shop, whatever connector leads to it."""
