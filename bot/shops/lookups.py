"""The look-ups of every connector: what it reads is checked here before anybody sees it.

RecordSource  What a connector reads: answers whose form is checked, and nothing else.
Lookups       The port's look-ups over a source. It compares identity and owner, and holds the deadline.

No question carries an id that does not look like one.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from bot.alerts import Alerts
from bot.conversation import ShopCustomer
from bot.shops.actions import ActionKind, Arguments, NotSupported, Quote
from bot.shops.port import Order, Parcel, PaymentMethod, Product, ShopUnavailable, Variant
from bot.shops.quoting import OF_NO_ORDER, compute_quote
from bot.shops.wire import (
    CUSTOMER_ID,
    ORDER_ID,
    RECORD_ID,
    TRACKING_NUMBER,
    CustomerAnswer,
    OrderAnswer,
    ParcelAnswer,
    PaymentMethodsAnswer,
    ProductAnswer,
)

logger = logging.getLogger(__name__)

DEADLINE = 9.5
"""Seconds for one question of ours, with all its requests: a little less than the 10 s that a tool has."""

NOBODY = "nobody@example.com"
"""An address that no customer has."""

_EMAIL = re.compile(r"[^\s@,;<>\"]{1,64}@[^\s@,;<>\"]{1,189}")


class RecordSource(Protocol):
    """What a connector reads. Every method raises ShopUnavailable, and returns None for what the shop does not have."""

    async def customers(self, email: str) -> Sequence[CustomerAnswer]:
        """The customers with this address."""
        ...

    async def orders(self, customer: ShopCustomer) -> Sequence[OrderAnswer]:
        """The orders that the shop lists for the customer."""
        ...

    async def order(self, customer: ShopCustomer, order_id: str) -> OrderAnswer | None:
        """The order with this number, whoever owns it."""
        ...

    async def parcel(self, customer: ShopCustomer, tracking_number: str) -> ParcelAnswer | None:
        """The parcel with this number."""
        ...

    async def product(self, customer: ShopCustomer, product_id: str) -> ProductAnswer | None:
        """The product with this id."""
        ...

    async def methods(self, customer: ShopCustomer) -> PaymentMethodsAnswer | None:
        """How the customer can pay."""
        ...


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """All requests of one question, which end as ShopUnavailable after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ShopUnavailable(f"the shop did not answer within {seconds:g} s") from None


class Lookups:
    """An OrderBackend, a ShippingBackend and a ProductBackend."""

    def __init__(self, records: RecordSource, *, alerts: Alerts, deadline: float) -> None:
        self._records = records
        self._alerts = alerts
        self._deadline = deadline

    async def find_customer(self, email: str) -> ShopCustomer | None:
        """See OrderBackend."""
        if not _EMAIL.fullmatch(email):
            return None
        async with within(self._deadline):
            found = await self._records.customers(email)
        # Compared once more: a shop that ignores the query would make everyone its first customer.
        matching = [one for one in found if one.email.casefold() == email.casefold()]
        if len(matching) > 1:
            logger.warning("the shop has several customers with one address; none is taken")
        return matching[0].read() if len(matching) == 1 else None

    async def list_orders(self, customer: ShopCustomer) -> tuple[Order, ...]:
        """See OrderBackend."""
        async with within(self._deadline):
            return await self._orders_of(customer)

    async def get_order(self, customer: ShopCustomer, order_id: str) -> Order | None:
        """See OrderBackend."""
        if not re.fullmatch(ORDER_ID, order_id):
            return None
        check_customer(customer)
        async with within(self._deadline):
            answer = await self._records.order(customer, order_id)
        if answer is None:
            return None
        if answer.id != order_id:
            raise ShopUnavailable("the shop answered with another order than it was asked for")
        if answer.customer_id != customer.id:
            logger.warning("an order of somebody else was asked for", extra={"customer": customer.id})
            return None
        return answer.read()

    async def track(self, customer: ShopCustomer, tracking_number: str) -> Parcel | None:
        """See ShippingBackend. The customer's orders are read first: no other tracking number is ever asked about."""
        if not re.fullmatch(TRACKING_NUMBER, tracking_number):
            return None
        async with within(self._deadline):
            orders = [order for order in await self._orders_of(customer) if tracking_number in numbers_of(order)]
            return await self._parcel_of(customer, orders, tracking_number) if orders else None

    async def parcel_of(self, customer: ShopCustomer, orders: Sequence[Order], tracking_number: str) -> Parcel | None:
        """See ParcelBackend."""
        check_customer(customer)
        async with within(self._deadline):
            return await self._parcel_of(customer, orders, tracking_number)

    async def _parcel_of(self, customer: ShopCustomer, orders: Sequence[Order], tracking_number: str) -> Parcel | None:
        answer = await self._records.parcel(customer, tracking_number)
        if answer is None:
            return None
        own = [order.id for order in orders]
        order_id = answer.order_id or next(iter(own), "")
        if answer.tracking_number != tracking_number or order_id not in own:
            raise ShopUnavailable("the shop answered with another parcel than it was asked for")
        return answer.read(order_id)

    async def check(self) -> list[str]:
        """See Connector."""
        await self.find_customer(NOBODY)
        return []

    async def get_product(self, customer: ShopCustomer, product_id: str) -> Product | None:
        """See ProductBackend."""
        if not re.fullmatch(RECORD_ID, product_id):
            return None
        check_customer(customer)
        async with within(self._deadline):
            answer = await self._records.product(customer, product_id)
        if answer is None:
            return None
        if answer.id != product_id:
            raise ShopUnavailable("the shop answered with another product than it was asked for")
        return answer.read()

    async def payment_methods(self, customer: ShopCustomer) -> tuple[PaymentMethod, ...]:
        """See ProductBackend."""
        check_customer(customer)
        async with within(self._deadline):
            answer = await self._records.methods(customer)
        if answer is None:
            return ()
        if answer.customer_id != customer.id:
            raise ShopUnavailable("the shop answered with the payment methods of another customer")
        return answer.read()

    async def _computed_quote(
        self, customer: ShopCustomer, kind: ActionKind, order: Order | None, arguments: Arguments
    ) -> Quote:
        """What our code makes of the order, and of the variants and payment methods that are named."""
        variants = await self._variants(customer, order, arguments) if order else {}
        methods = await self.payment_methods(customer) if arguments.method else ()
        return compute_quote(kind, order, arguments, variants=variants, methods=methods)

    async def _variants(self, customer: ShopCustomer, order: Order, arguments: Arguments) -> Mapping[str, Variant]:
        """The variants of the products whose lines are swapped."""
        swapped = {swap.line for swap in arguments.swaps}
        products = sorted({line.product_id for line in order.lines if line.id in swapped and line.product_id})
        found = [await self.get_product(customer, product) for product in products]
        return {variant.id: variant for product in found if product for variant in product.variants}

    async def _orders_of(self, customer: ShopCustomer) -> tuple[Order, ...]:
        check_customer(customer)
        answers = await self._records.orders(customer)
        own = [order.read() for order in answers if order.customer_id == customer.id]
        if len(own) < len(answers):
            message = "the shop listed orders of somebody else; left out"
            self._alerts.tell(logger, message, about="", customer=customer.id)
        return tuple(sorted(own, key=lambda order: order.placed_at, reverse=True))


def check_customer(customer: ShopCustomer) -> None:
    """Raise ShopUnavailable if the customer's id could change the path of an address."""
    if not re.fullmatch(CUSTOMER_ID, customer.id):
        raise ShopUnavailable("the customer's id is not one that a connector allows")


def check_action(customer: ShopCustomer, kind: ActionKind, order: Order | None, arguments: Arguments) -> None:
    """Raise NotSupported unless the action is about this customer, and about their order if it needs one."""
    check_customer(customer)
    if kind in OF_NO_ORDER:
        return
    if order is None or order.customer_id != customer.id or order.id != arguments.order:
        raise NotSupported(f"{kind} needs an order of the customer", "not_found")


def numbers_of(order: Order) -> set[str]:
    """The tracking numbers of an order."""
    return {parcel.tracking_number for parcel in order.parcels}
