"""The order system over HTTP, with a hook that makes it misbehave.

    GET  /customers?email=        GET /customers/{id}/orders        GET /orders/{id}        GET /parcels/{tracking}
    POST /_local/fault            {"kind": …, "times": 1, "seconds": 3, "path": "/orders"}

Kinds: slow (answers after `seconds`), error (500), hang (never answers), reset (the connection ends without an answer),
garbage (a page instead of JSON), foreign (records come back with somebody else as their owner), huge (50 MB of JSON),
bomb (a small body that unpacks to 50 MB), redirect (to another host), none (ends all faults).
"""

import asyncio
import gzip
import hmac
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from demo.ports import listening
from demo.shop.seed import Json, Records, seed

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

KINDS = frozenset({"slow", "error", "hang", "reset", "garbage", "foreign", "huge", "bomb", "redirect"})
_HUGE_BYTES = 50_000_000
_PIECE = b'{"orders": "' + b"x" * 99_988
_HANG_SECONDS = 3_600.0
_PAGE = "<!doctype html><title>Maintenance</title><h1>We will be back soon</h1>"


@dataclass(slots=True)
class Fault:
    """One way of misbehaving, for the next `times` requests whose path starts with `path`."""

    kind: str
    times: int = 1
    seconds: float = 3.0
    path: str = "/"


@dataclass(slots=True)
class Shop:
    """A running shop."""

    url: str
    token: str
    records: Records
    faults: list[Fault] = field(default_factory=list)
    requests: deque[str] = field(default_factory=lambda: deque(maxlen=500))
    """Path and query of what was asked, in order; the `_local` ones left out."""

    def add_fault(self, fault: Fault) -> None:
        """Let it happen from now on; "none" ends all others."""
        if fault.kind == "none":
            self.faults.clear()
        else:
            self.faults.append(fault)

    def next_fault(self, path: str) -> Fault | None:
        """The fault for this request, counted down."""
        fault = next((fault for fault in self.faults if path.startswith(fault.path)), None)
        if fault:
            fault.times -= 1
            self.faults = [fault for fault in self.faults if fault.times > 0]
        return fault


@asynccontextmanager
async def open_shop(
    *, host: str = "127.0.0.1", port: int = 0, token: str | None = None, now: datetime | None = None
) -> AsyncIterator[Shop]:
    """Serve a freshly seeded shop; port 0 takes a free one, no token makes one up."""
    shop = Shop("", token or secrets.token_urlsafe(24), seed(now or datetime.now(UTC)))
    async with listening(_app(shop), host=host, port=port) as shop.url:
        yield shop


def _app(shop: Shop) -> web.Application:
    app = web.Application(middlewares=[_authorized(shop), _faulty(shop)])
    app.add_routes(
        [
            web.get("/customers", _find_customer(shop)),
            web.get("/customers/{id}/orders", _list_orders(shop)),
            web.get("/orders/{id}", _record(shop.records.orders)),
            web.get("/parcels/{id}", _record(shop.records.parcels)),
            web.post("/_local/fault", _add_fault(shop)),
        ]
    )
    return app


def _authorized(shop: Shop) -> Any:
    @web.middleware
    async def check(request: web.Request, handler: _Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {shop.token}".encode()):
            return _refusal(401, "unauthorized", "The bearer token is missing or wrong.")
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return _refusal(404, "no_such_path", "There is nothing at this path.")
        except web.HTTPMethodNotAllowed:
            return _refusal(405, "method_not_allowed", "This path is read with GET.")

    return check


def _faulty(shop: Shop) -> Any:
    @web.middleware
    async def misbehave(request: web.Request, handler: _Handler) -> web.StreamResponse:
        if request.path.startswith("/_local/"):
            return await handler(request)
        shop.requests.append(request.path_qs)
        fault = shop.next_fault(request.path)
        if fault is None:
            return await handler(request)
        match fault.kind:
            case "slow":
                await asyncio.sleep(fault.seconds)
                return await handler(request)
            case "hang":
                await asyncio.sleep(_HANG_SECONDS)
                return await handler(request)
            case "reset":
                return _hang_up(request)
            case "huge":
                return await _send_huge(request)
            case "bomb":
                headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
                return web.Response(body=gzip.compress(b" " * _HUGE_BYTES, compresslevel=1), headers=headers)
            case "redirect":
                return web.Response(status=302, headers={"Location": "http://192.0.2.1/orders"})
            case "error":
                return _refusal(500, "internal", "Something broke.")
            case "garbage":
                return web.Response(text=_PAGE, content_type="text/html")
            case _:
                return _disowned(await handler(request))

    return misbehave


def _hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _send_huge(request: web.Request) -> web.StreamResponse:
    """As much of it as is taken; a client that has enough is no fault."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    with suppress(ConnectionError):
        for _ in range(_HUGE_BYTES // len(_PIECE)):
            await response.write(_PIECE)
    return response


def _disowned(response: web.StreamResponse) -> web.StreamResponse:
    """The same answer with somebody else as the owner of every record in it."""
    if not isinstance(response, web.Response) or response.text is None:
        return response
    return web.json_response(text=response.text.replace('"cus_', '"cus_other_'), status=response.status)


def _find_customer(shop: Shop) -> _Handler:
    async def find(request: web.Request) -> web.StreamResponse:
        email = request.query.get("email", "").casefold()
        if not email:
            return _refusal(400, "bad_request", "The query needs ?email=.")
        found = [customer for customer in shop.records.customers.values() if customer["email"] == email]
        return web.json_response({"customers": found})

    return find


def _list_orders(shop: Shop) -> _Handler:
    async def orders(request: web.Request) -> web.StreamResponse:
        customer, limit = request.match_info["id"], request.query.get("limit", "100")
        if customer not in shop.records.customers:
            return _refusal(404, "not_found", "There is no such customer.")
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:9]) <= 100):
            return _refusal(400, "bad_request", "limit is a number from 1 to 100.")
        return web.json_response({"orders": shop.records.orders_of(customer)[: int(limit)]})

    return orders


def _record(table: dict[str, Json]) -> _Handler:
    async def read(request: web.Request) -> web.StreamResponse:
        record = table.get(request.match_info["id"])
        return web.json_response(record) if record else _refusal(404, "not_found", "There is no such record.")

    return read


def _add_fault(shop: Shop) -> _Handler:
    async def add(request: web.Request) -> web.StreamResponse:
        try:
            fault = Fault(**await request.json())
        except (TypeError, ValueError):
            return _refusal(400, "bad_request", "A fault is an object with kind, times, seconds and path.")
        if fault.kind not in KINDS | {"none"}:
            return _refusal(400, "bad_request", f"kind is none or one of {', '.join(sorted(KINDS))}.")
        shop.add_fault(fault)
        return web.json_response({"ok": True})

    return add


def _refusal(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)
