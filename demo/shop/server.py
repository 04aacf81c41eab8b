"""The order system over HTTP, with a hook that makes it misbehave (demo/shop/faults.py).

GET  /customers?email=        GET /customers/{id}/orders        GET /customers/{id}/payment-methods
GET  /orders/{id}             GET /parcels/{tracking}           GET /products/{id}
GET  /capabilities            POST /quotes                      POST /actions            GET /actions/{key}
POST /_local/fault            {"kind": …, "times": 1, "seconds": 3, "path": "/orders"}
POST /_local/order            {"id": …, "status": …}, as the warehouse would change it; "told": false sends no event
GET  /_local/digest           a hash over everything: equal ones say that nothing has changed
GET  /_local/calls            what was asked, in order, with the keys
"""

import hmac
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from demo.ports import listening
from demo.shop.acting import Acting
from demo.shop.events import Webhook, sending
from demo.shop.faults import FAULT, KINDS, Fault, Handler, misbehave, refusal
from demo.shop.records import Json, Records, refresh
from demo.shop.seed import seed

__all__ = ["KINDS", "Call", "Fault", "Shop", "open_shop"]

_CALLS_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Call:
    """One request, as the shop saw it."""

    at: str
    method: str
    path: str
    """With its query."""
    key: str
    """The idempotency key, if there was one."""
    status: int
    """0 if it was not answered."""


@dataclass(slots=True)
class Shop:
    """A running shop."""

    url: str
    token: str
    records: Records
    actions: Acting
    faults: list[Fault] = field(default_factory=list)
    requests: deque[str] = field(default_factory=lambda: deque(maxlen=_CALLS_LIMIT))
    """Path and query of what was asked, in order; the `_local` ones left out."""
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=_CALLS_LIMIT))
    """The same with what came of it, in the order in which it ended."""
    on_call: Callable[[Call], None] = lambda call: None
    """Is told of each."""

    def add_fault(self, fault: Fault) -> None:
        """Let it happen from now on; "none" ends all others."""
        if fault.kind == "none":
            self.faults.clear()
        else:
            self.faults.append(fault)

    def restore(self, order_id: str) -> None:
        """Let an order be as it was at the start."""
        fresh = seed(datetime.now(UTC))
        self.records.orders[order_id] = fresh.orders[order_id]
        self.records.pieces.update({key: pieces for key, pieces in fresh.pieces.items() if key[0] == order_id})

    def next_fault(self, method: str, path: str) -> Fault | None:
        """The fault for this request, counted down."""
        is_action = (method, path) == ("POST", "/actions")
        fault = next((fault for fault in self.faults if fault.matches(path, is_action=is_action)), None)
        if fault:
            fault.times -= 1
            self.faults = [fault for fault in self.faults if fault.times > 0]
        return fault


@asynccontextmanager
async def open_shop(
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    now: datetime | None = None,
    has_actions: bool = True,
    has_quotes: bool = True,
    webhook: Webhook | None = None,
) -> AsyncIterator[Shop]:
    """Serve a freshly seeded shop; port 0 takes a free one, no token makes one up.

    Without `has_actions` it answers the look-ups alone, and without `has_quotes` it does not say what an action costs.
    With a `webhook` it says there by itself which orders change.
    """
    records = seed(now or datetime.now(UTC))
    if webhook:
        records = replace(records, on_change=webhook.tell)
    async with (
        Acting(records, has_quotes=has_quotes) as actions,
        sending(webhook) if webhook else nullcontext(),
    ):
        shop = Shop("", token or secrets.token_urlsafe(24), records, actions)
        async with listening(_app(shop, has_actions=has_actions), host=host, port=port) as shop.url:
            yield shop


def _app(shop: Shop, *, has_actions: bool) -> web.Application:
    app = web.Application(middlewares=[_authorized(shop), _logged(shop), _faulty(shop)])
    app.add_routes(
        [
            web.get("/customers", _find_customer(shop)),
            web.get("/customers/{id}/orders", _list_orders(shop)),
            web.get("/customers/{id}/payment-methods", _list_methods(shop)),
            web.get("/orders/{id}", _read_order(shop)),
            web.get("/parcels/{id}", _record(shop.records.parcels)),
            web.get("/products/{id}", _record(shop.records.products)),
            web.post("/_local/fault", _add_fault(shop)),
            web.post("/_local/order", _change_order(shop)),
            web.get("/_local/digest", _tell_digest(shop)),
            web.get("/_local/calls", _tell_calls(shop)),
        ]
    )
    if has_actions:
        app.add_routes(shop.actions.routes())
    return app


def _authorized(shop: Shop) -> Any:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {shop.token}".encode()):
            return refusal(401, "unauthorized", "The bearer token is missing or wrong.")
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return refusal(404, "no_such_path", "There is nothing at this path.")
        except web.HTTPMethodNotAllowed:
            return refusal(405, "method_not_allowed", "This path takes another method.")

    return check


def _logged(shop: Shop) -> Any:
    @web.middleware
    async def log(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/_local/"):
            return await handler(request)
        shop.requests.append(request.path_qs)
        status = 0
        try:
            response = await handler(request)
            status = response.status
            return response
        finally:
            key = request.headers.get("Idempotency-Key") or request.match_info.get("key", "")
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            call = Call(at, request.method, request.path_qs, key, status)
            shop.calls.append(call)
            shop.on_call(call)

    return log


def _faulty(shop: Shop) -> Any:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        fault = None if request.path.startswith("/_local/") else shop.next_fault(request.method, request.path)
        return await (misbehave(fault, request, handler) if fault else handler(request))

    return check


def _find_customer(shop: Shop) -> Handler:
    async def find(request: web.Request) -> web.StreamResponse:
        email = request.query.get("email", "").casefold()
        if not email:
            return refusal(400, "bad_request", "The query needs ?email=.")
        found = [customer for customer in shop.records.customers.values() if customer["email"] == email]
        return web.json_response({"customers": found})

    return find


def _list_orders(shop: Shop) -> Handler:
    async def orders(request: web.Request) -> web.StreamResponse:
        customer, limit = request.match_info["id"], request.query.get("limit", "100")
        if customer not in shop.records.customers:
            return refusal(404, "not_found", "There is no such customer.")
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:9]) <= 100):
            return refusal(400, "bad_request", "limit is a number from 1 to 100.")
        found = [_seen(shop, request, order) for order in shop.records.orders_of(customer)[: int(limit)]]
        return web.json_response({"orders": found})

    return orders


def _list_methods(shop: Shop) -> Handler:
    async def methods(request: web.Request) -> web.StreamResponse:
        customer = request.match_info["id"]
        if customer not in shop.records.customers:
            return refusal(404, "not_found", "There is no such customer.")
        return web.json_response({"customer_id": customer, "methods": shop.records.methods[customer]})

    return methods


def _read_order(shop: Shop) -> Handler:
    async def read(request: web.Request) -> web.StreamResponse:
        order = shop.records.orders.get(request.match_info["id"])
        if order is None:
            return refusal(404, "not_found", "There is no such record.")
        return web.json_response(_seen(shop, request, order))

    return read


def _seen(shop: Shop, request: web.Request, order: Json) -> Json:
    """The order, or with the fault `stale` the order as it was before its last change."""
    return shop.records.before.get(order["id"], order) if FAULT in request else order


def _record(table: dict[str, Json]) -> Handler:
    async def read(request: web.Request) -> web.StreamResponse:
        record = table.get(request.match_info["id"])
        return web.json_response(record) if record else refusal(404, "not_found", "There is no such record.")

    return read


def _add_fault(shop: Shop) -> Handler:
    async def add(request: web.Request) -> web.StreamResponse:
        try:
            fault = Fault(**await request.json())
        except (TypeError, ValueError):
            return refusal(400, "bad_request", "A fault is an object with kind, times, seconds and path.")
        if fault.kind not in KINDS | {"none"}:
            return refusal(400, "bad_request", f"kind is none or one of {', '.join(sorted(KINDS))}.")
        shop.add_fault(fault)
        return web.json_response({"ok": True})

    return add


def _change_order(shop: Shop) -> Handler:
    async def change(request: web.Request) -> web.StreamResponse:
        try:
            wanted = await request.json()
            order, status = shop.records.orders[wanted["id"]], str(wanted["status"])
        except (KeyError, TypeError, ValueError):
            return refusal(400, "bad_request", "It needs the id of an order, and its status.")
        order["status"] = status
        order["revision"] = str(int(order["revision"]) + 1)
        refresh(shop.records, order)
        if wanted.get("told", True):
            shop.records.on_change(order["id"])
        return web.json_response(order)

    return change


def _tell_digest(shop: Shop) -> Handler:
    async def tell(_: web.Request) -> web.StreamResponse:
        return web.json_response({"digest": shop.records.digest(), "changes": len(shop.records.ledger)})

    return tell


def _tell_calls(shop: Shop) -> Handler:
    async def tell(_: web.Request) -> web.StreamResponse:
        return web.json_response({"calls": [asdict(call) for call in shop.calls]})

    return tell
