"""Signed requests of the shop and of services that it uses: something has changed, look again.

Nothing unsigned is parsed. What is signed only names what has changed, and is stored before it is acknowledged.
`handlers.hook_senders` has who signs and how.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.actions.shop_events import ShopEvents, TooManyEvents
from bot.alerts import Alerts
from bot.errors import StoreUnavailable
from handlers.hook_senders import Sender, Told

logger = logging.getLogger(__name__)

BODY_SECONDS = 5.0
"""How long a request may take to arrive, in seconds."""
LATER_SECONDS = "30"
"""When a sender may send again what could not be stored."""


def take_events(
    find_events: Callable[[], ShopEvents | None], sender: Sender
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The handler for one sender. It answers 503 until `find_events` returns what stores them."""
    alerts = Alerts()

    async def take(request: web.Request) -> web.Response:
        body = await _read(request, sender.body_limit)
        if not sender.is_signed(request.headers, body, now=time.time()):
            message = "a request to the shop's webhook has no valid signature"
            alerts.tell_once(logger, message, about="", path=sender.path)
            return web.Response(status=401)
        try:
            told = sender.read(request.headers, body)
        except ValueError as error:
            fault = str(error)
            alerts.tell_once(logger, "an event of the shop cannot be read", about=fault, fault=fault, path=sender.path)
            return web.json_response({"error": {"code": "invalid", "message": fault}}, status=400)
        events = find_events()
        if events is None:
            return web.Response(status=503)
        try:
            await _accept(events, told)
        except TooManyEvents:
            return web.Response(status=429, headers={"Retry-After": LATER_SECONDS})
        except StoreUnavailable:
            return web.Response(status=503, headers={"Retry-After": LATER_SECONDS})
        return web.Response(status=204)

    return take


async def _accept(events: ShopEvents, told: Told) -> None:
    if told.order:
        await events.accept(told.event, told.order)
    elif told.tracker:
        await events.accept_parcel(told.event, told.tracker)


async def _read(request: web.Request, limit: int) -> bytes:
    """The whole body as it was sent. Raises HTTPException."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > limit:
                    raise web.HTTPRequestEntityTooLarge(limit, len(body))
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except web.RequestPayloadError:
        raise web.HTTPBadRequest from None
    return bytes(body)
