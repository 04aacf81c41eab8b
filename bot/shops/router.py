"""A shop that several connectors serve together: one has the orders, and others may have parcels, products or actions.

RoutedShop  A Shop. Each question goes to the one connector that serves it.
Routes      Which connector serves what.

Customers and orders are one connector's, so an owner's id always means the same person. A parcel is looked up only
after an order of the customer names it. Each connector has a breaker and a deadline of its own, so one that is away
keeps the others from nothing.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar, get_args

from bot.conversation import ShopCustomer
from bot.shops.actions import (
    ActionBackend,
    ActionKind,
    ActionRequest,
    Arguments,
    KindSpec,
    NotSupported,
    Outcome,
    ProductBackend,
    Quote,
    Shop,
    Throttled,
)
from bot.shops.lookups import DEADLINE, numbers_of, within
from bot.shops.port import Order, Parcel, ParcelBackend, PaymentMethod, Product, ShopRefuses, ShopUnavailable
from bot.shops.quoting import OF_NO_ORDER
from bot.shops.tool_servers.server import ToolServer
from bot.shops.wire import TRACKING_NUMBER

logger = logging.getLogger(__name__)

ROUTE = "connector"
"""Where a stored request names the connector that it goes to, in `ActionRequest.about`."""
KINDS_DEADLINE = 3.0
"""Seconds for asking a connector what it can do. A customer's turn waits for it."""
KINDS_PAUSE = 10.0
"""For so many seconds, a connector that did not say what it can do is not asked again."""
FAULT_SECONDS = 3_600.0
"""How long a fault is shown if nobody asks the connector again."""

Backend = TypeVar("Backend", covariant=True)
Observer = Callable[[str, str, str, float], None]
"""Gets connector, call, how it ended (`ok`, `throttled`, `refused` or `unavailable`), and seconds."""


class Connector(Protocol):
    """What every connector has, whatever it serves."""

    async def check(self) -> list[str]:
        """Ask for what nobody has. Return what is wrong besides, in sentences. Raises ShopUnavailable."""
        ...


class ShopConnector(Shop, ParcelBackend, Connector, Protocol):
    """A connector that serves everything."""


class ParcelConnector(ParcelBackend, Connector, Protocol):
    """A connector that serves parcels."""


class ProductConnector(ProductBackend, Connector, Protocol):
    """A connector that serves products."""


class ActionConnector(ActionBackend, Connector, Protocol):
    """A connector that serves actions."""


@dataclass(frozen=True, slots=True)
class Route(Generic[Backend]):
    """A connector and its name in the shop file."""

    name: str
    connector: Backend


@dataclass(frozen=True, slots=True)
class Routes:
    """Which connector serves what. One can have several places."""

    orders: Route[ShopConnector]
    """Customers, their orders, and how they can pay."""
    parcels: Route[ParcelConnector]
    products: Route[ProductConnector]
    actions: Route[ActionConnector]
    """The kinds of action that `actions_by_kind` does not have."""
    actions_by_kind: Mapping[ActionKind, Route[ActionConnector]]

    @classmethod
    def to_one(cls, name: str, connector: ShopConnector) -> "Routes":
        """One connector serves everything."""
        route = Route(name, connector)
        return cls(route, route, route, route, {})

    def of_kind(self, kind: ActionKind) -> Route[ActionConnector]:
        """The connector for a kind of action. What is about no order is about the customer, who is the orders'."""
        return self.orders if kind in OF_NO_ORDER else self.actions_by_kind.get(kind, self.actions)

    def acting(self) -> Mapping[str, Route[ActionConnector]]:
        """Name -> every connector that serves actions."""
        kinds: tuple[ActionKind, ...] = get_args(ActionKind)
        return {route.name: route for route in map(self.of_kind, kinds)}

    def all(self) -> Mapping[str, Connector]:
        """Name -> connector."""
        routes: tuple[Route[Connector], ...] = (self.orders, self.parcels, self.products, *self.acting().values())
        return {route.name: route.connector for route in routes}


@dataclass(frozen=True, slots=True)
class ConnectorFault:
    """What is wrong with a connector."""

    connector: str
    """Its name."""
    text: str
    error: ShopUnavailable | None = None
    """Why it gave no usable answer. None if it answered, and a setting or a permission is wrong."""


class RoutedShop:
    """Implements Shop."""

    def __init__(
        self, routes: Routes, *, tool_servers: Sequence[ToolServer] = (), now: Callable[[], float] = time.monotonic
    ) -> None:
        self.routes = routes
        self.tool_servers = tuple(tool_servers)
        """They serve nothing of the shop. The assistant calls their tools beside it."""
        self.observe: Observer | None = None
        """Called after each call of a connector, for metrics."""
        self._now = now
        self._faults: dict[str, tuple[str, float]] = {}
        self._kinds: dict[str, Mapping[ActionKind, KindSpec]] = {}
        self._kinds_next: dict[str, float] = {}

    async def find_customer(self, email: str) -> ShopCustomer | None:
        """See OrderBackend."""
        with self._call(self.routes.orders.name, "find_customer"):
            return await self.routes.orders.connector.find_customer(email)

    async def list_orders(self, customer: ShopCustomer) -> tuple[Order, ...]:
        """See OrderBackend."""
        with self._call(self.routes.orders.name, "list_orders"):
            return await self.routes.orders.connector.list_orders(customer)

    async def get_order(self, customer: ShopCustomer, order_id: str) -> Order | None:
        """See OrderBackend."""
        with self._call(self.routes.orders.name, "get_order"):
            return await self.routes.orders.connector.get_order(customer, order_id)

    async def track(self, customer: ShopCustomer, tracking_number: str) -> Parcel | None:
        """See ShippingBackend. The owner comes from the orders, whoever knows the parcel."""
        if not re.fullmatch(TRACKING_NUMBER, tracking_number):
            return None
        began, asked = self._now(), (self.routes.orders.name, "list_orders")
        try:
            async with asyncio.timeout(DEADLINE):
                orders = [each for each in await self.list_orders(customer) if tracking_number in numbers_of(each)]
                if not orders:
                    return None
                asked = (self.routes.parcels.name, "track")
                with self._call(*asked):
                    return await self.routes.parcels.connector.parcel_of(customer, orders, tracking_number)
        except TimeoutError:
            self._note(*asked, "unavailable", began=began, why="it did not answer in time")
            raise ShopUnavailable(f"the shop did not answer within {DEADLINE:g} s") from None

    async def get_product(self, customer: ShopCustomer, product_id: str) -> Product | None:
        """See ProductBackend."""
        with self._call(self.routes.products.name, "get_product"):
            return await self.routes.products.connector.get_product(customer, product_id)

    async def payment_methods(self, customer: ShopCustomer) -> tuple[PaymentMethod, ...]:
        """See ProductBackend. They are the customer's, so the connector of the customers has them."""
        with self._call(self.routes.orders.name, "payment_methods"):
            return await self.routes.orders.connector.payment_methods(customer)

    async def kinds(self) -> Mapping[ActionKind, KindSpec]:
        """See ActionBackend. Of several connectors, one that never said what it can do counts as able to do all of
        its kinds. Asked for a quote, it then says that it is away.
        """
        acting = self.routes.acting()
        known = dict(zip(acting, await asyncio.gather(*map(self._kinds_of, acting.values())), strict=True))
        if len(known) == 1 and None in known.values():
            raise ShopUnavailable("the shop does not say what it can do")
        found: dict[ActionKind, KindSpec] = {}
        for kind in get_args(ActionKind):
            kinds = known[self.routes.of_kind(kind).name]
            if kinds is None or kind in kinds:
                found[kind] = KindSpec(kind) if kinds is None else kinds[kind]
        return found

    async def quote(self, customer: ShopCustomer, kind: ActionKind, order: Order | None, arguments: Arguments) -> Quote:
        """See ActionBackend."""
        route = self.routes.of_kind(kind)
        with self._call(route.name, "quote"):
            return await route.connector.quote(customer, kind, self._as_seen_by(route.name, order), arguments)

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
        """See ActionBackend. The request names its connector, for whenever it is sent."""
        route = self.routes.of_kind(kind)
        seen = self._as_seen_by(route.name, order)
        request = route.connector.render(customer, kind, seen, arguments, quote=quote, key=key)
        return replace(request, about={**request.about, ROUTE: route.name})

    async def send(self, request: ActionRequest) -> Outcome:
        """See ActionBackend."""
        name = request.about.get(ROUTE, self.routes.actions.name)
        route = self.routes.acting().get(name)
        if route is None:
            logger.error("a stored request is for a connector that changes nothing any more; it was not sent")
            return Outcome("unavailable")
        about = {key: value for key, value in request.about.items() if key != ROUTE}
        began = self._now()
        outcome = await route.connector.send(replace(request, about=about))
        return self._noted(name, "send", outcome, began=began)

    async def outcome(self, customer: ShopCustomer, kind: ActionKind, arguments: Arguments, *, key: str) -> Outcome:
        """See ActionBackend."""
        route = self.routes.of_kind(kind)
        began = self._now()
        outcome = await route.connector.outcome(customer, kind, arguments, key=key)
        return self._noted(route.name, "outcome", outcome, began=began)

    async def check(self) -> list[ConnectorFault]:
        """What is wrong with each connector. All are asked at once."""
        asked: dict[str, Connector] = {**self.routes.all(), **{each.name: each for each in self.tool_servers}}
        found = await asyncio.gather(*(_check(name, each) for name, each in asked.items()))
        return [fault for faults in found for fault in faults]

    def faults(self) -> list[str]:
        """The connectors whose last call had no usable answer, in sentences."""
        now = self._now()
        return [
            f"the shop's connector {name}: {why}"
            for name, (why, at) in self._faults.items()
            if now - at < FAULT_SECONDS
        ] + [fault for server in self.tool_servers for fault in server.faults()]

    def _as_seen_by(self, name: str, order: Order | None) -> Order | None:
        """The order for a connector. Internal ids and revisions mean something only where they come from."""
        if order is None or name == self.routes.orders.name:
            return order
        return replace(order, raw_id="", revision="")

    async def _kinds_of(self, route: Route[ActionConnector]) -> Mapping[ActionKind, KindSpec] | None:
        """What the connector can do, or what it last said. None if it never said anything."""
        if self._now() >= self._kinds_next.get(route.name, 0.0):
            try:
                async with within(KINDS_DEADLINE):
                    self._kinds[route.name] = await route.connector.kinds()
            except ShopUnavailable:
                self._kinds_next[route.name] = self._now() + KINDS_PAUSE
        return self._kinds.get(route.name)

    @contextmanager
    def _call(self, name: str, call: str) -> Iterator[None]:
        began = self._now()
        try:
            yield
        except NotSupported:
            self._note(name, call, "ok", began=began)
            raise
        except ShopUnavailable as error:
            self._note(name, call, _ended(error), began=began, why=str(error))
            raise
        self._note(name, call, "ok", began=began)

    def _noted(self, name: str, call: str, outcome: Outcome, *, began: float) -> Outcome:
        """The outcome, without an order that another connector than that of the orders has read."""
        has_answer = outcome.state not in ("unavailable", "unknown")
        why = "" if has_answer else "an action had no usable answer"
        self._note(name, call, "ok" if has_answer else "unavailable", began=began, why=why)
        return outcome if name == self.routes.orders.name else replace(outcome, order=None)

    def _note(self, name: str, call: str, ended: str, *, began: float, why: str = "") -> None:
        now = self._now()
        self._faults.pop(name, None)
        if why:
            self._faults[name] = why, now
        if self.observe:
            self.observe(name, call, ended, now - began)


async def _check(name: str, connector: Connector) -> list[ConnectorFault]:
    try:
        return [ConnectorFault(name, text) for text in await connector.check()]
    except ShopUnavailable as error:
        return [ConnectorFault(name, str(error), error)]


def _ended(error: ShopUnavailable) -> str:
    match error:
        case Throttled():
            return "throttled"
        case ShopRefuses():
            return "refused"
        case _:
            return "unavailable"
