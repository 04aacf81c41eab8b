"""A shop in memory that keeps its keys, and does with a change what a test tells it to."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bot.conversation import ShopCustomer
from bot.shops.actions import ActionKind, ActionRequest, Arguments, KindSpec, Outcome, Quote
from bot.shops.port import Money, Order, Parcel, PaymentMethod, Product
from tests.actions.orders import ORDER

Manner = Literal["ok", "no", "silence", "lost", "late", "unreachable"]
"""It acts · refuses · acts and does not say so · never gets the request · acts after a while · cannot be connected."""


@dataclass(slots=True)
class ScriptedShop:
    """Implements Shop. Every order is cancelled or refunded once, for what it cost or for the amount that is named."""

    key_hours: float = 24.0
    manners: list[Manner] = field(default_factory=list)
    """What happens to the next requests; when there are no more, it acts."""
    orders: dict[str, Order] = field(default_factory=dict)
    effects: list[tuple[str, str, int]] = field(default_factory=list)
    """Key, order and money of what was done, in order."""
    sent: Counter[str] = field(default_factory=Counter)
    """Key -> how often a request left with it."""
    _answers: dict[str, Outcome] = field(default_factory=dict)
    _late: dict[str, ActionRequest] = field(default_factory=dict)

    def add(self, name: str, owner: ShopCustomer) -> None:
        """One more order."""
        self.orders[name] = replace(ORDER, id=name, customer_id=owner.id, status="processing", revision="1", parcels=())

    def change(self, name: str) -> None:
        """The order changes by another's doing."""
        order = self.orders[name]
        self.orders[name] = replace(order, revision=str(int(order.revision) + 1))

    def catch_up(self) -> None:
        """What was late takes effect."""
        while self._late:
            key, request = self._late.popitem()
            self._act(key, request)

    def forget(self) -> None:
        """Its keys are too old."""
        self._answers.clear()

    async def find_customer(self, email: str) -> ShopCustomer | None:
        raise NotImplementedError(email)

    async def list_orders(self, customer: ShopCustomer) -> tuple[Order, ...]:
        return tuple(order for order in self.orders.values() if order.customer_id == customer.id)

    async def get_order(self, customer: ShopCustomer, order_id: str) -> Order | None:
        order = self.orders.get(order_id)
        return order if order and order.customer_id == customer.id else None

    async def track(self, customer: ShopCustomer, tracking_number: str) -> Parcel | None:
        del customer, tracking_number
        return None

    async def get_product(self, customer: ShopCustomer, product_id: str) -> Product | None:
        del customer, product_id
        return None

    async def payment_methods(self, customer: ShopCustomer) -> tuple[PaymentMethod, ...]:
        del customer
        return ()

    async def kinds(self) -> Mapping[ActionKind, KindSpec]:
        kinds: tuple[ActionKind, ...] = ("cancel_order", "refund")
        return {kind: KindSpec(kind, has_quotes=True, key_hours=self.key_hours, irreversible=True) for kind in kinds}

    async def quote(self, customer: ShopCustomer, kind: ActionKind, order: Order | None, arguments: Arguments) -> Quote:
        del customer, kind
        assert order is not None
        amount = arguments.amount or order.total
        return Quote(Money(-amount.minor, amount.currency))

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
        del customer, kind
        assert order is not None
        assert quote.money is not None
        about = {"revision": order.revision, "money": quote.money.minor}
        return ActionRequest("POST", "/actions", {"Idempotency-Key": key}, arguments.order, about)

    async def send(self, request: ActionRequest) -> Outcome:
        key = request.headers["Idempotency-Key"]
        manner = self.manners.pop(0) if self.manners else "ok"
        if manner == "unreachable":
            return Outcome("unavailable")
        self.sent[key] += 1
        if manner == "lost":
            return Outcome("unknown")
        if key in self._late:
            return Outcome("in_progress")
        if manner == "late" and key not in self._answers:
            self._late[key] = request
            return Outcome("unknown")
        if manner == "no" and key not in self._answers:
            self._answers[key] = Outcome("refused", "not_allowed")
        answer = self._act(key, request)
        return Outcome("unknown") if manner == "silence" else answer

    async def outcome(self, customer: ShopCustomer, kind: ActionKind, arguments: Arguments, *, key: str) -> Outcome:
        del customer, kind, arguments
        if key in self._late:
            return Outcome("in_progress")
        return self._answers.get(key) or Outcome("not_found")

    def _act(self, key: str, request: ActionRequest) -> Outcome:
        if key in self._answers:
            return self._answers[key]
        order = self.orders[request.body]
        about: Mapping[str, Any] = request.about
        if order.status == "cancelled" or order.revision != about["revision"]:
            self._answers[key] = Outcome("refused", "changed")
        else:
            self.change(order.id)
            self.orders[order.id] = replace(self.orders[order.id], status="cancelled")
            money = Money(about["money"], order.total.currency)
            self.effects.append((key, order.id, money.minor))
            self._answers[key] = Outcome("done", reference="C-1", money=money)
        return self._answers[key]
