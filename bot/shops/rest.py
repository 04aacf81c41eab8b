"""A shop that speaks the REST contract of docs/reference/shop-api.md.

What the shop sends is checked before it is used: size, form, identity, owner. No request carries an id that does not
look like one, no redirect is followed, and an answer is read only up to a limit.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError
from yarl import URL

from bot.alerts import Alerts
from bot.conversation import ShopCustomer
from bot.shops.port import Order, Parcel, ShopRefuses, ShopUnavailable
from bot.shops.wire import (
    CUSTOMER_ID,
    ORDER_ID,
    TRACKING_NUMBER,
    CustomersAnswer,
    OrderAnswer,
    OrdersAnswer,
    ParcelAnswer,
    RefusalAnswer,
)

logger = logging.getLogger(__name__)

DEADLINE = 9.5
"""Seconds for one question of ours, with all its requests: a little less than the 10 s that a tool has."""
ANSWER_LIMIT = 256 * 1024
"""Bytes of one answer. A longer one is not used at all."""
ORDERS_LIMIT = 100
"""Orders of one customer that are asked for, newest first."""
CONNECTIONS = 20
"""Requests to the shop at the same time."""

_EMAIL = re.compile(r"[^\s@,;<>\"]{1,64}@[^\s@,;<>\"]{1,189}")

_Answer = TypeVar("_Answer", bound=BaseModel)


@asynccontextmanager
async def open_rest_shop(url: str, token: str, *, deadline: float = DEADLINE) -> AsyncIterator["RestShop"]:
    """The shop at `url`, asked with the bearer `token`. It connects at the first question."""
    session = aiohttp.ClientSession(
        # Compressed answers are refused: unpacking could turn a small body into a large one.
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        },
        auto_decompress=False,
        connector=aiohttp.TCPConnector(limit=CONNECTIONS),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
    )
    async with session:
        yield RestShop(session, url.rstrip("/"), deadline=deadline)


class RestShop:
    """An OrderBackend and a ShippingBackend over HTTP."""

    def __init__(self, session: aiohttp.ClientSession, url: str, *, deadline: float) -> None:
        self._session = session
        self._url = url
        self._deadline = deadline
        self._alerts = Alerts()

    async def find_customer(self, email: str) -> ShopCustomer | None:
        """See OrderBackend."""
        if not _EMAIL.fullmatch(email):
            return None
        async with self._in_time():
            answer = await self._ask("/customers", CustomersAnswer, email=email)
        # Compared once more: a shop that ignores the query would make everyone its first customer.
        matching = [one for one in answer.customers if one.email.casefold() == email.casefold()] if answer else []
        if len(matching) > 1:
            logger.warning("the shop has several customers with one address; none is taken")
        return matching[0].read() if len(matching) == 1 else None

    async def list_orders(self, customer: ShopCustomer) -> tuple[Order, ...]:
        """See OrderBackend. It returns at most ORDERS_LIMIT orders."""
        async with self._in_time():
            return await self._orders_of(customer)

    async def get_order(self, customer: ShopCustomer, order_id: str) -> Order | None:
        """See OrderBackend."""
        if not re.fullmatch(ORDER_ID, order_id):
            return None
        async with self._in_time():
            answer = await self._ask(f"/orders/{order_id}", OrderAnswer)
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
        async with self._in_time():
            orders = await self._orders_of(customer)
            own = {order.id for order in orders if tracking_number in _numbers(order)}
            if not own:
                return None
            answer = await self._ask(f"/parcels/{tracking_number}", ParcelAnswer)
        if answer is None:
            return None
        if answer.tracking_number != tracking_number or answer.order_id not in own:
            raise ShopUnavailable("the shop answered with another parcel than it was asked for")
        return answer.read()

    async def _orders_of(self, customer: ShopCustomer) -> tuple[Order, ...]:
        if not re.fullmatch(CUSTOMER_ID, customer.id):
            raise ShopUnavailable("the customer's id is not one that the shop's contract allows")
        answer = await self._ask(f"/customers/{customer.id}/orders", OrdersAnswer, limit=str(ORDERS_LIMIT))
        if answer is None:
            return ()
        own = [order.read() for order in answer.orders if order.customer_id == customer.id]
        if len(own) < len(answer.orders):
            message = "the shop listed orders of somebody else; left out"
            self._alerts.tell(logger, message, about="", customer=customer.id)
        return tuple(sorted(own, key=lambda order: order.placed_at, reverse=True))

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._deadline):
                yield
        except TimeoutError:
            raise ShopUnavailable(f"the shop did not answer within {self._deadline:g} s") from None

    async def _ask(self, path: str, kind: type[_Answer], **query: str) -> _Answer | None:
        """One answer, checked. None for the contract's own "not found"."""
        try:
            url = URL(self._url + path).update_query(query)
            async with self._session.get(url, allow_redirects=False) as response:
                body = await _read(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise ShopUnavailable(f"the shop cannot be reached: {type(error).__name__}") from error
        if response.status == 200:
            return self._parsed(kind, body)
        if response.status == 404 and _error_code(body) == "not_found":
            return None
        if response.status in (401, 403):
            self._alerts.tell(logger, "the shop refuses SHOP_TOKEN", about="", status=response.status)
            raise ShopRefuses(f"the shop refuses it with status {response.status}")
        raise ShopUnavailable(f"the shop answered with status {response.status}")

    def _parsed(self, kind: type[_Answer], body: bytes) -> _Answer:
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            fields = sorted({".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False)})
            about, message = kind.__name__, "the shop's answer breaks its contract"
            self._alerts.tell(logger, message, about=about, answer=about, fields=fields[:8])
            raise ShopUnavailable("the shop's answer is not what its contract says") from None


def _numbers(order: Order) -> set[str]:
    return {parcel.tracking_number for parcel in order.parcels}


async def _read(response: aiohttp.ClientResponse) -> bytes:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ShopUnavailable("the shop packed its answer though it was asked not to")
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_LIMIT:
            raise ShopUnavailable(f"the shop's answer is longer than {ANSWER_LIMIT} bytes")
    return bytes(body)


def _error_code(body: bytes) -> str:
    try:
        return RefusalAnswer.model_validate_json(body).error.code
    except ValidationError:
        return ""
