"""The look-ups of the REST contract of docs/reference/shop-api.md: customers, orders, parcels and products.

What the shop sends is checked before it is used: size, form, identity, owner. No request carries an id that does not
look like one.
"""

import logging
import re

from bot.conversation import ShopCustomer
from bot.shops.port import Order, Parcel, PaymentMethod, Product, ShopUnavailable
from bot.shops.rest_client import RestClient
from bot.shops.wire import (
    CUSTOMER_ID,
    ORDER_ID,
    RECORD_ID,
    TRACKING_NUMBER,
    CustomersAnswer,
    OrderAnswer,
    OrdersAnswer,
    ParcelAnswer,
    PaymentMethodsAnswer,
    ProductAnswer,
)

logger = logging.getLogger(__name__)

DEADLINE = 9.5
"""Seconds for one question of ours, with all its requests: a little less than the 10 s that a tool has."""
ORDERS_LIMIT = 100
"""Orders of one customer that are asked for, newest first."""

_EMAIL = re.compile(r"[^\s@,;<>\"]{1,64}@[^\s@,;<>\"]{1,189}")


class RestLookups:
    """An OrderBackend, a ShippingBackend and a ProductBackend over HTTP."""

    def __init__(self, client: RestClient, *, deadline: float) -> None:
        self._client = client
        self._deadline = deadline

    async def find_customer(self, email: str) -> ShopCustomer | None:
        """See OrderBackend."""
        if not _EMAIL.fullmatch(email):
            return None
        async with self._client.in_time(self._deadline):
            answer = await self._client.get("/customers", CustomersAnswer, email=email)
        # Compared once more: a shop that ignores the query would make everyone its first customer.
        matching = [one for one in answer.customers if one.email.casefold() == email.casefold()] if answer else []
        if len(matching) > 1:
            logger.warning("the shop has several customers with one address; none is taken")
        return matching[0].read() if len(matching) == 1 else None

    async def list_orders(self, customer: ShopCustomer) -> tuple[Order, ...]:
        """See OrderBackend. It returns at most ORDERS_LIMIT orders."""
        async with self._client.in_time(self._deadline):
            return await self._orders_of(customer)

    async def get_order(self, customer: ShopCustomer, order_id: str) -> Order | None:
        """See OrderBackend."""
        if not re.fullmatch(ORDER_ID, order_id):
            return None
        async with self._client.in_time(self._deadline):
            answer = await self._client.get(f"/orders/{order_id}", OrderAnswer)
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
        async with self._client.in_time(self._deadline):
            orders = await self._orders_of(customer)
            own = {order.id for order in orders if tracking_number in _numbers(order)}
            if not own:
                return None
            answer = await self._client.get(f"/parcels/{tracking_number}", ParcelAnswer)
        if answer is None:
            return None
        if answer.tracking_number != tracking_number or answer.order_id not in own:
            raise ShopUnavailable("the shop answered with another parcel than it was asked for")
        return answer.read()

    async def get_product(self, customer: ShopCustomer, product_id: str) -> Product | None:
        """See ProductBackend."""
        if not re.fullmatch(RECORD_ID, product_id):
            return None
        async with self._client.in_time(self._deadline):
            answer = await self._client.get(f"/products/{product_id}", ProductAnswer)
        if answer is None:
            return None
        if answer.id != product_id:
            raise ShopUnavailable("the shop answered with another product than it was asked for")
        return answer.read()

    async def payment_methods(self, customer: ShopCustomer) -> tuple[PaymentMethod, ...]:
        """See ProductBackend."""
        check_customer(customer)
        async with self._client.in_time(self._deadline):
            path = f"/customers/{customer.id}/payment-methods"
            answer = await self._client.get(path, PaymentMethodsAnswer, may_lack=True)
        if answer is None:
            return ()
        if answer.customer_id != customer.id:
            raise ShopUnavailable("the shop answered with the payment methods of another customer")
        return answer.read()

    async def _orders_of(self, customer: ShopCustomer) -> tuple[Order, ...]:
        check_customer(customer)
        answer = await self._client.get(f"/customers/{customer.id}/orders", OrdersAnswer, limit=str(ORDERS_LIMIT))
        if answer is None:
            return ()
        own = [order.read() for order in answer.orders if order.customer_id == customer.id]
        if len(own) < len(answer.orders):
            message = "the shop listed orders of somebody else; left out"
            self._client.alerts.tell(logger, message, about="", customer=customer.id)
        return tuple(sorted(own, key=lambda order: order.placed_at, reverse=True))


def check_customer(customer: ShopCustomer) -> None:
    """Raise ShopUnavailable if the customer's id could change the path of an address."""
    if not re.fullmatch(CUSTOMER_ID, customer.id):
        raise ShopUnavailable("the customer's id is not one that the shop's contract allows")


def _numbers(order: Order) -> set[str]:
    return {parcel.tracking_number for parcel in order.parcels}
