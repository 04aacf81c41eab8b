"""The order tools: what one customer can learn about their own orders.

The customer of the shop comes only from `Context.customer.shop`, which code has verified.
A missing order and another customer's order give the same result, to the byte.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, WithJsonSchema

from bot.agent.tools import Context, Tool, ToolOutput, ToolProblem, tool
from bot.conversation import ShopCustomer
from bot.shops.order_numbers import read_order_number
from bot.shops.port import Order, OrderBackend, OrderLine, ShopUnavailable

MAX_LISTED_ORDERS = 10
"""The most orders that `list_my_orders` names, newest first."""
LINES_SHOWN = 8
PARCELS_SHOWN = 8
"""The most lines and parcels of one order that are shown. The rest is counted, so that every order fits a result."""

NO_ORDER_DATA = ToolOutput(
    {
        "available": False,
        "message": "This person is not linked to a customer of the shop, so order data is not available to them "
        "here. Do not ask for an e-mail address or a name. Offer a person.",
    },
    ok=False,
    private=False,
)
"""What guests, people of other organisations and unknown addresses get. It contains no personal data, so the answer can
stay in the thread where they asked. A guest may have no direct messages with the app."""
NOT_FOUND = ToolOutput(
    {
        "found": False,
        "message": "There is no such order among this customer's orders. Ask them to check the number.",
    },
    ok=False,
)
SHOP_SILENT = "The shop's order system gives no answer at the moment. Say so, and offer a person."

OrderNumber = Annotated[
    str,
    Field(max_length=64),
    AfterValidator(read_order_number),
    WithJsonSchema(
        {
            "type": "string",
            "description": "The order number as the customer wrote it, as ORD-10482.",
            "pattern": "^#?[A-Za-z0-9][A-Za-z0-9_-]{0,39}$",
        }
    ),
]


def order_tools(orders: OrderBackend) -> tuple[Tool, ...]:
    """Returns `lookup_order` and `list_my_orders`."""

    @tool(title="Looking up the order", private=True, subject="order_id", repeatable=True)
    async def lookup_order(context: Context, order_id: OrderNumber) -> ToolOutput:
        """Look up one of the customer's own orders by its number: status, articles, amounts, tracking numbers.

        To learn where the parcels are, call check_shipping with each tracking number afterwards.
        """
        customer = shop_customer(context)
        if customer is None:
            return NO_ORDER_DATA
        order = await _ask(orders, customer, order_id)
        return NOT_FOUND if order is None else ToolOutput(_told(order, context.customer.zone))

    @tool(title="Looking through your orders", private=True, repeatable=True)
    async def list_my_orders(context: Context) -> ToolOutput:
        """List the customer's own latest orders, newest first. Use it when they give no order number."""
        customer = shop_customer(context)
        if customer is None:
            return NO_ORDER_DATA
        try:
            found = await orders.list_orders(customer)
        except ShopUnavailable:
            raise ToolProblem(SHOP_SILENT) from None
        listed: dict[str, Any] = {
            "orders": [_told_briefly(order, context.customer.zone) for order in found[:MAX_LISTED_ORDERS]]
        }
        if len(found) > MAX_LISTED_ORDERS:
            listed["older_orders_not_listed"] = len(found) - MAX_LISTED_ORDERS
        return ToolOutput(listed)

    return (lookup_order, list_my_orders)


def shop_customer(context: Context) -> ShopCustomer | None:
    """The customer whose orders can be read, or None. Raises ToolProblem while the shop does not say."""
    if context.customer.shop_silent:
        raise ToolProblem(SHOP_SILENT)
    return context.customer.shop


async def _ask(orders: OrderBackend, customer: ShopCustomer, order_id: str) -> Order | None:
    try:
        return await orders.get_order(customer, order_id)
    except ShopUnavailable:
        raise ToolProblem(SHOP_SILENT) from None


def _told(order: Order, zone: str) -> Mapping[str, Any]:
    """The order as the model reads it; empty fields are left out."""
    told: dict[str, Any] = {
        "order": order.id,
        "status": order.status,
        "payment": order.payment,
        "placed": day(local(order.placed_at, zone)),
        "total": str(order.total),
        "articles": [_article(line) for line in order.lines[:LINES_SHOWN]],
        "more_articles": max(0, len(order.lines) - LINES_SHOWN),
        "parcels": [
            {"tracking_number": parcel.tracking_number, "carrier": parcel.carrier}
            for parcel in order.parcels[:PARCELS_SHOWN]
        ],
        "more_parcels": max(0, len(order.parcels) - PARCELS_SHOWN),
        "ships_to": order.ships_to,
    }
    return {name: value for name, value in told.items() if value}


def _article(line: OrderLine) -> Mapping[str, Any]:
    told = {"line": line.id, "title": line.title, "quantity": line.quantity, "price_each": str(line.unit_price)}
    return {name: value for name, value in told.items() if value != ""}


def _told_briefly(order: Order, zone: str) -> Mapping[str, Any]:
    told = {
        "order": order.id,
        "status": order.status,
        "placed": day(local(order.placed_at, zone)),
        "total": str(order.total),
        "first_article": order.lines[0].title[:60] if order.lines else "",
        "more_articles": max(0, len(order.lines) - 1),
        "tracking_numbers": [parcel.tracking_number for parcel in order.parcels[:2]],
        "more_parcels": max(0, len(order.parcels) - 2),
    }
    return {name: value for name, value in told.items() if value}


def day(at: datetime) -> str:
    """A date that reads the same everywhere: 20 Nov 2026."""
    return f"{at.day} {at:%b %Y}"


def minute(at: datetime, zone: str) -> str:
    """A moment in a time zone, such as `Europe/Berlin`: 20 Nov 2026, 15:05 CET. In UTC if the zone is not known."""
    there = local(at, zone)
    name = f"{there:%Z}"
    return f"{day(there)}, {there:%H:%M} {name if name.isalpha() else f'UTC{there.isoformat()[-6:]}'}"


def local(at: datetime, zone: str) -> datetime:
    """The moment in the time zone. In UTC if the zone is not known."""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    try:
        return aware.astimezone(ZoneInfo(zone)) if zone else aware.astimezone(UTC)
    except (ZoneInfoNotFoundError, ValueError):
        return aware.astimezone(UTC)
