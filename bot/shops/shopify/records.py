"""What Shopify answers to look-ups."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from bot.conversation import ShopCustomer
from bot.shops.declared.expressions import Unusable
from bot.shops.port import ShopUnavailable
from bot.shops.rest_client import faulty_fields
from bot.shops.shopify.client import Client, TooCostly
from bot.shops.shopify.documents import (
    CUSTOMERS,
    FIND_ORDER,
    LISTED_ORDERS,
    ORDER,
    ORDER_PAGES,
    ORDER_STATE,
    ORDERS,
    PRODUCT,
)
from bot.shops.shopify.reading import (
    Node,
    ShopifyOrder,
    gid,
    has_number,
    nodes,
    number_of,
    read_customer,
    read_order,
    read_parcel,
    read_product,
)
from bot.shops.wire import CustomerAnswer, OrderAnswer, ParcelAnswer, PaymentMethodsAnswer, ProductAnswer

logger = logging.getLogger(__name__)

_Read = TypeVar("_Read")


class ShopifyRecords:
    """A RecordSource. Shopify's search is fuzzy, so what it finds is compared with what was asked for."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._page = LISTED_ORDERS

    async def customers(self, email: str) -> Sequence[CustomerAnswer]:
        """See RecordSource."""
        data = await self._client.ask(CUSTOMERS, {"search": f"email:{_quoted(email)}"})
        return [self._usable("customer", read_customer, each) for each in nodes(data.get("customers"))]

    async def orders(self, customer: ShopCustomer) -> Sequence[OrderAnswer]:
        """See RecordSource. At most ORDER_PAGES pages are read."""
        return [order.answer for order in await self._listed(customer)]

    async def order(self, customer: ShopCustomer, order_id: str) -> OrderAnswer | None:
        """See RecordSource."""
        found = await self.find(order_id)
        return found.answer if found else None

    async def parcel(self, customer: ShopCustomer, tracking_number: str) -> ParcelAnswer | None:
        """See RecordSource. Shopify knows parcels by their orders, so the customer's orders are searched."""
        for listed in await self._listed(customer):
            if any(parcel.tracking_number == tracking_number for parcel in listed.answer.parcels):
                order = await self.load(listed.answer.raw_id)
                return self._usable("fulfillment", lambda each: read_parcel(each, tracking_number), order)
        return None

    async def product(self, customer: ShopCustomer, product_id: str) -> ProductAnswer | None:
        """See RecordSource."""
        data = await self._client.ask(PRODUCT, {"id": gid("Product", product_id)})
        product, currency = data.get("product"), (data.get("shop") or {}).get("currencyCode")
        if not isinstance(product, Mapping):
            return None
        return self._usable("product", lambda each: read_product(each, str(currency)), product)

    async def methods(self, customer: ShopCustomer) -> PaymentMethodsAnswer | None:
        """See RecordSource. Shopify shows no app how a customer can pay."""
        return None

    async def find(self, order_id: str) -> ShopifyOrder | None:
        """The whole order with this number, whoever owns it. Raises ShopUnavailable."""
        data = await self._client.ask(FIND_ORDER, {"search": f"name:{_quoted(order_id)}"})
        found = [each for each in nodes(data.get("orders")) if number_of(each.get("name")) == order_id]
        if len(found) > 1:
            logger.warning("the shop has several orders with one number; none is taken")
        return await self._load(str(found[0].get("id"))) if len(found) == 1 else None

    async def load(self, raw_id: str) -> ShopifyOrder:
        """The whole order with this id of Shopify's. Raises ShopUnavailable, also if there is none."""
        found = await self._load(gid("Order", raw_id))
        if found is None:
            raise ShopUnavailable("Shopify has no such order any more")
        return found

    async def load_state(self, raw_id: str) -> Node:
        """What may have changed of an order, at a tenth of the cost. Raises ShopUnavailable, also if there is none."""
        node = (await self._client.ask(ORDER_STATE, {"id": gid("Order", raw_id)})).get("order")
        if not isinstance(node, Mapping):
            raise ShopUnavailable("Shopify has no such order any more")
        return node

    async def _load(self, ident: str) -> ShopifyOrder | None:
        node = (await self._client.ask(ORDER, {"id": ident})).get("order")
        return self._usable("order", read_order, node) if isinstance(node, Mapping) and node.get("customer") else None

    async def _listed(self, customer: ShopCustomer) -> list[ShopifyOrder]:
        search = f"customer_id:{customer.id}"
        found: list[ShopifyOrder] = []
        after: str | None = None
        for _ in range(ORDER_PAGES):
            page = await self._page_of(search, after)
            listed = [each for each in nodes(page.get("orders")) if has_number(each)]
            found += [self._usable("order", read_order, each) for each in listed]
            info = (page.get("orders") or {}).get("pageInfo") or {}
            after = info.get("endCursor")
            if not info.get("hasNextPage") or not isinstance(after, str):
                break
        return found

    async def _page_of(self, search: str, after: str | None) -> Mapping[str, Any]:
        """A page of orders. If a page costs too much, a smaller one is asked for from then on."""
        while True:
            try:
                return await self._client.ask(ORDERS, {"search": search, "first": self._page, "after": after})
            except TooCostly:
                if self._page == 1:
                    raise
                self._page = max(self._page // 2, 1)
                logger.warning("Shopify finds a page of orders too costly", extra={"orders": self._page})

    def _usable(self, what: str, read: Callable[[Any], _Read], value: object) -> _Read:
        try:
            return read(value)
        except Unusable as fault:
            self._client.is_unusable(what, [fault.field])
            raise
        except ValidationError as error:
            self._client.is_unusable(what, faulty_fields(error))
            raise ShopUnavailable("Shopify's answer is not what its API says") from None


def _quoted(text: str) -> str:
    """A value in Shopify's search syntax."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
