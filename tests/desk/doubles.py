"""A shop of a few records, and one that never answers."""

from collections.abc import Iterable

from bot.agent.tools import Context
from bot.conversation import Customer, ShopCustomer, ThreadRef
from bot.shops.port import Order, Parcel, ShopUnavailable

CUSTOMER_A = ShopCustomer("cus_a", "Customer A", "customer.a@example.com")
CUSTOMER_B = ShopCustomer("cus_b", "Customer B", "customer.b@example.com")


def context_of(shop: ShopCustomer | None) -> Context:
    """A call on behalf of somebody whom the shop knows as `shop`."""
    customer = Customer("T0FRONTDESK", "U0CUSTOMERA", "Customer A", "en-US", "member", shop)
    return Context(customer, ThreadRef("T0FRONTDESK", "D0CUSTOMERA", "1.000100"), turn="turn-1")


class FewOrders:
    """Knows the given orders and parcels, and whose they are."""

    def __init__(self, orders: Iterable[Order], parcels: Iterable[Parcel] = ()) -> None:
        self.orders = tuple(orders)
        self.parcels = tuple(parcels)

    async def find_customer(self, email: str) -> ShopCustomer | None:
        return next((one for one in (CUSTOMER_A, CUSTOMER_B) if one.email == email), None)

    async def list_orders(self, customer: ShopCustomer) -> tuple[Order, ...]:
        return tuple(order for order in self.orders if order.customer_id == customer.id)

    async def get_order(self, customer: ShopCustomer, order_id: str) -> Order | None:
        return next((order for order in await self.list_orders(customer) if order.id == order_id), None)

    async def track(self, customer: ShopCustomer, tracking_number: str) -> Parcel | None:
        own = {order.id for order in await self.list_orders(customer)}
        return next((p for p in self.parcels if p.tracking_number == tracking_number and p.order_id in own), None)


class SilentShop:
    """Raises at everything, with words that nobody but a log may read."""

    async def find_customer(self, email: str) -> ShopCustomer | None:
        raise ShopUnavailable("secret address refused the connection")

    async def list_orders(self, customer: ShopCustomer) -> tuple[Order, ...]:
        raise ShopUnavailable("secret address refused the connection")

    async def get_order(self, customer: ShopCustomer, order_id: str) -> Order | None:
        raise ShopUnavailable("secret address refused the connection")

    async def track(self, customer: ShopCustomer, tracking_number: str) -> Parcel | None:
        raise ShopUnavailable("secret address refused the connection")
