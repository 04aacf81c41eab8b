"""The house system over HTTP. It has the customers and orders of demo/shop, and tells them in its own way.

POST /oauth/token                    client credentials, in a Basic header
GET  /api/v2/customers?email=        GET  /api/v2/customers/{id}/orders?page=   GET /api/v2/customers/{id}/instruments
GET  /api/v2/orders/{id}             GET  /api/v2/shipments/{code}              GET /api/v2/articles/{code}
POST /api/v2/orders/{id}/cancellation, PUT …/ship-to     with Idempotency-Key and If-Match
POST /api/v2/orders/{id}/refund-quotes                   changes nothing
POST /api/v2/orders/{id}/refunds                         clientReference is the key; GET finds refunds by it
POST /api/v2/orders/{id}/returns                         knows no keys: what is sent twice is done twice
POST /_local/fault, GET /_local/digest, GET /_local/calls, as demo/shop/server.py
"""

import base64
import hmac
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from demo.house import wire
from demo.ports import listening
from demo.shop.actions import Clerk, Refused
from demo.shop.faults import FAULT, Fault, Handler, misbehave
from demo.shop.keys import Kept, Keys, fingerprint
from demo.shop.local import Later, local_routes
from demo.shop.records import Json, Records
from demo.shop.seed import seed
from demo.shop.server import Call

TOKEN_SECONDS = 300
_CALLS_LIMIT = 500
_READS = "refund-quotes"


@dataclass(slots=True)
class House:
    """A running house system."""

    url: str
    """Without `/api/v2`."""
    client_id: str
    client_secret: str
    records: Records
    page_size: int
    keys: Keys = field(default_factory=Keys)
    tokens: set[str] = field(default_factory=set)
    """Access tokens that are taken. Emptied, every client needs a new one."""
    faults: list[Fault] = field(default_factory=list)
    requests: deque[str] = field(default_factory=lambda: deque(maxlen=_CALLS_LIMIT))
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=_CALLS_LIMIT))
    later: Later = field(default_factory=Later)
    on_call: Callable[[Call], None] = lambda call: None
    """Is told of each call."""

    def add_fault(self, fault: Fault) -> None:
        """Let it happen from now on; "none" ends all others."""
        if fault.kind == "none":
            self.faults.clear()
        else:
            self.faults.append(fault)

    def environment(self) -> dict[str, str]:
        """What demo/house/store.http.yml needs."""
        return {
            "HOUSE_URL": f"{self.url}/api/v2",
            "HOUSE_TOKEN_URL": f"{self.url}/oauth/token",
            "HOUSE_CLIENT_ID": self.client_id,
            "HOUSE_CLIENT_SECRET": self.client_secret,
        }


@asynccontextmanager
async def open_house(
    *, host: str = "127.0.0.1", port: int = 0, now: datetime | None = None, page_size: int = 2
) -> AsyncIterator[House]:
    """Serve a freshly seeded house system; port 0 takes a free one."""
    house = House("", "frontdesk", secrets.token_urlsafe(24), seed(now or datetime.now(UTC)), page_size)
    try:
        async with listening(_app(house), host=host, port=port) as house.url:
            yield house
    finally:
        await house.later.close()


def _app(house: House) -> web.Application:
    app = web.Application(middlewares=[_answered, _logged(house), _faulty(house), _authorized(house)])
    at = "/api/v2"
    desk = _Desk(house)
    app.add_routes(
        [
            web.post("/oauth/token", desk.token),
            web.get(f"{at}/customers", desk.customers),
            web.get(f"{at}/customers/{{id}}/orders", desk.orders),
            web.get(f"{at}/customers/{{id}}/instruments", desk.instruments),
            web.get(f"{at}/orders/{{id}}", desk.order),
            web.get(f"{at}/shipments/{{id}}", desk.shipment),
            web.get(f"{at}/articles/{{id}}", desk.article),
            web.post(f"{at}/orders/{{id}}/cancellation", desk.change("cancel_order", _cancellation)),
            web.put(f"{at}/orders/{{id}}/ship-to", desk.change("change_order_address", _ship_to)),
            web.post(f"{at}/orders/{{id}}/refund-quotes", desk.quote),
            web.post(f"{at}/orders/{{id}}/refunds", desk.change("refund", _refund)),
            web.get(f"{at}/orders/{{id}}/refunds", desk.refunds),
            web.post(f"{at}/orders/{{id}}/returns", desk.change("return_items", _return)),
            *local_routes(house.add_fault, house.records, house.calls),
        ]
    )
    return app


@web.middleware
async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The house's error body for every refusal."""
    try:
        return await handler(request)
    except Refused as why:
        body = {"error": {"type": wire.CODES.get(why.code, why.code), "text": str(why)}}
        return web.json_response(body, status=why.status)


def _logged(house: House) -> Any:
    @web.middleware
    async def log(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/_local/"):
            return await handler(request)
        house.requests.append(request.path_qs)
        status = 0
        try:
            response = await handler(request)
            status = response.status
        except Refused as why:
            status = why.status
            raise
        else:
            return response
        finally:
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            key = request.headers.get("Idempotency-Key", "")
            call = Call(at, request.method, request.path_qs, key, status)
            house.calls.append(call)
            house.on_call(call)

    return log


def _faulty(house: House) -> Any:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(("/_local/", "/oauth/")):
            return await handler(request)
        is_action = request.method in ("POST", "PUT") and not request.path.endswith(_READS)
        path = request.path.removeprefix("/api/v2")
        fault = next((each for each in house.faults if each.matches(path, is_action=is_action)), None)
        if fault is None:
            return await handler(request)
        fault.times -= 1
        house.faults = [each for each in house.faults if each.times > 0]
        return await misbehave(fault, request, handler, double=_double)

    return check


def _authorized(house: House) -> Any:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not request.path.startswith(("/oauth/", "/_local/")) and token not in house.tokens:
            raise Refused("token_unknown", "The token is missing, wrong or too old.", status=401)
        return await handler(request)

    return check


def _double(answer: Json) -> None:
    if answer.get("refunded"):
        answer["refunded"]["value"] = str(float(answer["refunded"]["value"]) * 2)


class _Desk:
    """What is answered."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._records = house.records

    async def token(self, request: web.Request) -> web.StreamResponse:
        wanted = base64.b64encode(f"{self._house.client_id}:{self._house.client_secret}".encode()).decode()
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Basic {wanted}".encode()):
            raise Refused("invalid_client", "The client or its secret is wrong.", status=401)
        token = secrets.token_urlsafe(16)
        self._house.tokens.add(token)
        return web.json_response({"access_token": token, "token_type": "Bearer", "expires_in": TOKEN_SECONDS})

    async def customers(self, request: web.Request) -> web.StreamResponse:
        email = request.query.get("email", "").casefold()
        found = [one for one in self._records.customers.values() if one["email"] == email]
        return web.json_response({"items": [wire.customer(one) for one in found]})

    async def orders(self, request: web.Request) -> web.StreamResponse:
        page, size = int(request.query.get("page", "1")), self._house.page_size
        own = self._records.orders_of(request.match_info["id"])
        items = [wire.order(self._seen(request, one)) for one in own[(page - 1) * size : page * size]]
        total = max((len(own) + size - 1) // size, 1)
        return web.json_response({"items": items, "page": {"number": page, "totalPages": total}})

    async def instruments(self, request: web.Request) -> web.StreamResponse:
        own = self._records.methods.get(request.match_info["id"], [])
        return web.json_response({"items": [wire.instrument(one) for one in own]})

    async def order(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(wire.order(self._seen(request, self._order(request))))

    async def shipment(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(wire.shipment(self._record(self._records.parcels, request)))

    async def article(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(wire.article(self._record(self._records.products, request)))

    async def quote(self, request: web.Request) -> web.StreamResponse:
        body = _object(await request.read())
        clerk = self._clerk(request, "refund", body, _refund)
        money = clerk.quote()["money"] or {"amount": 0, "currency": clerk.currency}
        return web.json_response(
            {
                "refundable": wire.amount({**money, "amount": -money["amount"]}),
                "currency": money["currency"],
                "arrives": "5 to 7 days",
            }
        )

    async def refunds(self, request: web.Request) -> web.StreamResponse:
        key, order = request.query.get("clientReference", ""), self._order(request)["id"]
        found = [
            {"refundId": entry["reference"], "clientReference": entry["key"]}
            for entry in self._records.ledger
            if entry["key"] == key and entry["kind"] == "refund" and entry["arguments"].get("order") == order
        ]
        return web.json_response({"items": found})

    def change(self, kind: str, read: Callable[[Json, str], Json]) -> Handler:
        """What carries a change out, once for each key."""

        async def act(request: web.Request) -> web.StreamResponse:
            raw = await request.read()
            body = _object(raw)
            key = request.headers.get("Idempotency-Key") or str(body.get("clientReference") or "")
            known = self._house.keys.find(key) if key else None
            if known and known.fingerprint != fingerprint(raw):
                raise Refused("key_reused", "This key came with another body before.", status=422)
            if known and known.answer is None:
                raise Refused("in_progress", "This is being worked on.", status=409)
            if known:
                return web.json_response(known.answer, status=known.status)
            kept = self._house.keys.begin(key, raw) if key else Kept("")
            fault = request.get(FAULT)
            if isinstance(fault, Fault) and fault.kind == "in_progress":
                self._house.later.after(
                    fault.seconds, lambda: self._carry_out(kept, request, kind, key, body, read, None)
                )
                raise Refused("in_progress", "This is being worked on.", status=409)
            self._carry_out(kept, request, kind, key, body, read, fault)
            return web.json_response(kept.answer, status=kept.status)

        return act

    def _carry_out(
        self,
        kept: Kept,
        request: web.Request,
        kind: str,
        key: str,
        body: Json,
        read: Callable[[Json, str], Json],
        fault: object,
    ) -> None:
        """Do it, and keep the answer for the key."""
        try:
            clerk = self._clerk(request, kind, body, read)
            order = clerk.order or {}
            if isinstance(fault, Fault) and fault.kind == "changed":
                order["revision"] = str(int(order["revision"]) + 1)
            _check_revision(order, request.headers.get("If-Match"))
            done = clerk.carry_out(key=key)
        except Refused as why:
            kept.status = why.status
            kept.answer = {"error": {"type": wire.CODES.get(why.code, why.code), "text": str(why)}}
            return
        kept.status = 201
        kept.answer = {_REFERENCES[kind]: done["reference"]}
        if kind == "refund":
            money = done["money"]
            value = wire.amount({**money, "amount": -money["amount"]})
            kept.answer["refunded"] = {"value": value, "currency": money["currency"]}

    def _clerk(self, request: web.Request, kind: str, body: Json, read: Callable[[Json, str], Json]) -> Clerk:
        order = self._order(request)
        try:
            arguments = read(body, order["total"]["currency"])
        except (ArithmeticError, KeyError, TypeError, ValueError):
            raise Refused("invalid", "The body is not one of this request.", status=422) from None
        return Clerk(self._records, kind, str(body.get("customerNumber")), {**arguments, "order": order["id"]})

    def _order(self, request: web.Request) -> Json:
        return self._record(self._records.orders, request)

    def _record(self, table: dict[str, Json], request: web.Request) -> Json:
        found = table.get(request.match_info["id"])
        if found is None:
            raise Refused("not_found", "There is no such record.", status=404)
        return found

    def _seen(self, request: web.Request, order: Json) -> Json:
        """The order, or with the fault `stale` the order as it was before its last change."""
        return self._records.before.get(order["id"], order) if FAULT in request else order


_REFERENCES = {
    "cancel_order": "cancellationId",
    "change_order_address": "changeId",
    "refund": "refundId",
    "return_items": "rma",
}


def _check_revision(order: Json, wanted: str | None) -> None:
    if wanted is not None and wanted != f"r{order['revision']}":
        raise Refused("changed", "The order has changed.", status=412)


def _object(raw: bytes) -> Json:
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Refused("invalid", "The body is no JSON object.", status=400)
    return body


def _cancellation(body: Json, _: str) -> Json:
    return {"reason": wire.REASONS.get(body.get("reason", ""), "other")}


def _ship_to(body: Json, _: str) -> Json:
    return {"address": wire.address_of(body)}


def _refund(body: Json, currency: str) -> Json:
    arguments: Json = {"reason": wire.REASONS.get(body.get("reason", ""), ""), "lines": _lines(body)}
    if body.get("amount"):
        stated = str(body.get("currency") or currency)
        arguments["amount"] = {"amount": wire.minor(body["amount"], stated), "currency": stated}
    return {name: value for name, value in arguments.items() if value}


def _return(body: Json, _: str) -> Json:
    return {"reason": wire.REASONS.get(body.get("reason", ""), ""), "lines": _lines(body)}


def _lines(body: Json) -> list[Json]:
    return [{"line": str(each["id"]), "quantity": each["qty"]} for each in body.get("positions") or []]
