"""Who wrote a message, decided from what Slack says and never from text.

A full member of the home workspace is the shop's customer with the e-mail address of their Slack profile.
Guests, people of other organisations and unknown addresses get the knowledge base and people, no orders.
"""

import asyncio
import logging
from dataclasses import replace

from bot.conversation import Customer, MemberType
from bot.desk_file.countries import country_of
from bot.shops.port import OrderBackend, ShopUnavailable
from bot.slack.api.directory import Directory, SlackUser
from bot.store import preferences
from bot.store.database import Database

logger = logging.getLogger(__name__)

SHOP_SECONDS = 5.0
"""How long the shop can take to find a customer by address. After that, the turn has no order data."""


class Identities:
    """Turns a message's author into a `Customer`."""

    def __init__(self, directory: Directory, orders: OrderBackend | None, database: Database) -> None:
        self._directory = directory
        self._orders = orders
        self._database = database

    async def identify(self, user_id: str, *, with_shop: bool = True) -> Customer | None:
        """The author. None for bots and deactivated people, who are not answered.

        Without `with_shop` the shop is not asked, because the caller needs no order data.
        """
        return await self._identify(await self._directory.user(user_id), with_shop=with_shop)

    async def identify_anew(self, user_id: str) -> Customer | None:
        """The same, with nothing from a cache: for a yes that lets something be changed."""
        return await self._identify(await self._directory.user(user_id, seconds=0.0), with_shop=True)

    async def _identify(self, user: SlackUser, *, with_shop: bool) -> Customer | None:
        if user.is_bot or user.deleted:
            return None
        member_type = _member_type(user)
        customer = Customer(
            team=user.team,
            user=user.id,
            name=user.display_name or user.name,
            locale=await self.locale(user),
            member_type=member_type,
            country=country_of(user.tz, user.locale),
            zone=user.tz,
        )
        if not with_shop or member_type != "member" or self._orders is None or not user.email:
            return customer
        return await self._with_shop(customer, user.email, self._orders)

    async def locale(self, user: SlackUser) -> str:
        """The language that the person chose on the Home tab, else the locale of their profile."""
        async with self._database.reading() as tx:
            return await preferences.language(tx, user.id) or user.locale

    async def _with_shop(self, customer: Customer, email: str, orders: OrderBackend) -> Customer:
        try:
            async with asyncio.timeout(SHOP_SECONDS):
                shop = await orders.find_customer(email)
        except (ShopUnavailable, TimeoutError):
            logger.warning("the shop does not say who the customer is", extra={"user": customer.user})
            return replace(customer, shop_silent=True)
        return replace(customer, shop=shop)


def _member_type(user: SlackUser) -> MemberType:
    if user.is_stranger:
        return "stranger"
    return "guest" if user.is_guest else "member"
