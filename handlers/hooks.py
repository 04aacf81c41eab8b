"""The shop's signed requests: `POST /hooks/shop` says that an order has changed.

The signature is that of Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and the raw
bytes. Nothing unsigned is parsed. What is signed only names an order, and is stored before it is acknowledged.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
import re
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.actions.shop_events import ShopEvents, TooManyEvents
from bot.alerts import Alerts
from bot.errors import StoreUnavailable
from bot.shops.declared.answers import read_json
from bot.shops.declared.expressions import Unusable
from bot.shops.order_numbers import read_order_number

logger = logging.getLogger(__name__)

SHOP_PATH = "/hooks/shop"
BODY_LIMIT = 64 * 1024
"""The largest request in bytes."""
BODY_SECONDS = 5.0
"""How long a request may take to arrive, in seconds."""
SIGNATURE_SECONDS = 300
"""The largest age of a signature, in seconds."""
SIGNATURES_READ = 8
"""Signatures of one request. A shop that changes its secret signs with the old and the new one."""
LATER_SECONDS = "30"
"""When a shop may send again what could not be stored."""

_ID = re.compile(r"[!-~]{1,200}", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{1,11}", re.ASCII)


def take_shop_events(
    find_events: Callable[[], ShopEvents | None], secret: bytes
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The handler. It answers 503 until `find_events` returns what stores them."""
    alerts = Alerts()

    async def take(request: web.Request) -> web.Response:
        body = await _read(request)
        event, timestamp, signatures = (
            request.headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature")
        )
        if not is_signed(event, timestamp, signatures, body, secret, now=time.time()):
            alerts.tell_once(logger, "a request to the shop's webhook has no valid signature", about="")
            return web.Response(status=401)
        try:
            order = read_event(body)
        except ValueError as error:
            alerts.tell_once(logger, "an event of the shop cannot be read", about=str(error), fault=str(error))
            return web.json_response({"error": {"code": "invalid", "message": str(error)}}, status=400)
        events = find_events()
        if events is None:
            return web.Response(status=503)
        try:
            if order:
                await events.accept(event, order)
        except TooManyEvents:
            return web.Response(status=429, headers={"Retry-After": LATER_SECONDS})
        except StoreUnavailable:
            return web.Response(status=503, headers={"Retry-After": LATER_SECONDS})
        return web.Response(status=204)

    return take


async def _read(request: web.Request) -> bytes:
    """The whole body as it was sent. Raises HTTPException."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise web.HTTPRequestEntityTooLarge(BODY_LIMIT, len(body))
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except web.RequestPayloadError:
        raise web.HTTPBadRequest from None
    return bytes(body)


def is_signed(event: str, timestamp: str, signatures: str, body: bytes, secret: bytes, *, now: float) -> bool:
    """Whether somebody who knows the secret signed these bytes within the last five minutes."""
    if not _ID.fullmatch(event) or not _TIMESTAMP.fullmatch(timestamp):
        return False
    if abs(now - int(timestamp)) > SIGNATURE_SECONDS:
        return False
    digest = hmac.new(secret, f"{event}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    given = [each.encode("utf-8", "surrogateescape") for each in signatures[:2_000].split(" ")[:SIGNATURES_READ]]
    return any(hmac.compare_digest(expected, each) for each in given)


def read_event(body: bytes) -> str:
    """The order that has changed. Empty if the event is about something else. Raises ValueError."""
    try:
        event = read_json(body)
    except Unusable:
        raise ValueError("the body is no JSON that can be used") from None
    match event:
        case {"type": "order.changed", "data": {"order_id": str(order)}}:
            return read_order_number(order)
        case {"type": "order.changed"}:
            raise ValueError("data.order_id is missing or no text")
        case {"type": str()}:
            return ""
        case _:
            raise ValueError("the body is no object with a type")
