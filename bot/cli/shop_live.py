"""`frontdesk shop check --live`: ask the shop every look-up, for a customer and an order that nobody has."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from bot.cli.shop_try import open_shop
from bot.conversation import ShopCustomer
from bot.settings import Settings
from bot.shops.actions import NotSupported
from bot.shops.declared.shop import DeclaredShop
from bot.shops.lookups import NOBODY
from bot.shops.port import ShopUnavailable
from bot.shops.router import RoutedShop

NO_CUSTOMER = ShopCustomer("nobody", "", NOBODY)
NO_NUMBER = "NOBODY-0"
"""An order, a parcel and a product that do not exist. A customer that does not is named `nobody`."""


async def ask_for_nobody(path: Path | None, settings: Settings) -> int:
    """Print what the shop answers to each look-up. The exit status is 1 if an answer is not as it should be.

    `path` is a connector's file; the whole shop of `SHOP_FILE` unless given.
    """
    is_right = True
    async with open_shop(path, settings) as shop:
        for name, ask in _questions(shop):
            told, is_fine = await _asked(ask)
            print(f"{name}: {told}")
            is_right &= is_fine
    return 0 if is_right else 1


def _questions(shop: DeclaredShop | RoutedShop) -> Iterator[tuple[str, Callable[[], Awaitable[object]]]]:
    parcels = shop.routes.parcels.connector if isinstance(shop, RoutedShop) else shop
    yield "find_customer", lambda: shop.find_customer(NOBODY)
    yield "list_orders", lambda: shop.list_orders(NO_CUSTOMER)
    yield "get_order", lambda: shop.get_order(NO_CUSTOMER, NO_NUMBER)
    yield "track", lambda: parcels.parcel_of(NO_CUSTOMER, (), NO_NUMBER)
    yield "get_product", lambda: shop.get_product(NO_CUSTOMER, NO_NUMBER)
    yield "payment_methods", lambda: shop.payment_methods(NO_CUSTOMER)


async def _asked(ask: Callable[[], Awaitable[object]]) -> tuple[str, bool]:
    """What is to say of the answer, and whether it is as it should be."""
    try:
        found = await ask()
    except NotSupported:
        return "not described", True
    except ShopUnavailable as error:
        return f"no usable answer: {error}", False
    if found:
        return "answers with a record, for somebody who does not exist", False
    return "no record, as it should be", True
