"""What the REST contract of docs/reference/shop-api.md answers to look-ups."""

from collections.abc import Sequence

from bot.conversation import ShopCustomer
from bot.shops.rest_client import RestClient
from bot.shops.wire import (
    CustomerAnswer,
    CustomersAnswer,
    OrderAnswer,
    OrdersAnswer,
    ParcelAnswer,
    PaymentMethodsAnswer,
    ProductAnswer,
)

ORDERS_LIMIT = 100
"""Orders of one customer that are asked for, newest first."""


class RestRecords:
    """A RecordSource."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    async def customers(self, email: str) -> Sequence[CustomerAnswer]:
        """See RecordSource."""
        answer = await self._client.get("/customers", CustomersAnswer, email=email)
        return answer.customers if answer else ()

    async def orders(self, customer: ShopCustomer) -> Sequence[OrderAnswer]:
        """See RecordSource."""
        answer = await self._client.get(f"/customers/{customer.id}/orders", OrdersAnswer, limit=str(ORDERS_LIMIT))
        return answer.orders if answer else ()

    async def order(self, _: ShopCustomer, order_id: str) -> OrderAnswer | None:
        """See RecordSource."""
        return await self._client.get(f"/orders/{order_id}", OrderAnswer)

    async def parcel(self, _: ShopCustomer, tracking_number: str) -> ParcelAnswer | None:
        """See RecordSource."""
        return await self._client.get(f"/parcels/{tracking_number}", ParcelAnswer)

    async def product(self, _: ShopCustomer, product_id: str) -> ProductAnswer | None:
        """See RecordSource."""
        return await self._client.get(f"/products/{product_id}", ProductAnswer)

    async def methods(self, customer: ShopCustomer) -> PaymentMethodsAnswer | None:
        """See RecordSource. Not every shop has this path."""
        path = f"/customers/{customer.id}/payment-methods"
        return await self._client.get(path, PaymentMethodsAnswer, may_lack=True)
