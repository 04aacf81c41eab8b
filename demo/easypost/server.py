"""EasyPost on loopback: it tracks the parcels of demo/shop and the numbers of EasyPost's own test mode.

POST /v2/trackers         201 for a new tracker, 200 for a number that is tracked already, 422 for one it cannot track
GET  /v2/trackers/{id}    GET /v2/trackers    at most five such lists a second, then 429
GET  /v2/webhooks
POST /_local/fault        GET /_local/digest  GET /_local/calls, as demo/shop/server.py

The key is the user of basic auth. Events are signed in both of EasyPost's ways.
"""

import base64
import hmac
import json
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

from demo.easypost import wire
from demo.easypost.wire import Json
from demo.ports import listening
from demo.shop.faults import Fault, Handler, misbehave
from demo.shop.local import local_routes
from demo.shop.records import Records
from demo.shop.seed import seed
from demo.shop.server import Call

LISTS_A_SECOND = 5
_CALLS_LIMIT = 500


@dataclass(slots=True)
class EasyPost:
    """A running stand-in."""

    url: str
    key: str
    webhook_secret: str
    records: Records
    trackers: dict[str, Json] = field(default_factory=dict)
    """Tracking number -> its tracker."""
    webhooks: list[Json] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    """The tracking numbers of the requests for a new tracker, each of which costs money."""
    faults: list[Fault] = field(default_factory=list)
    requests: deque[str] = field(default_factory=lambda: deque(maxlen=_CALLS_LIMIT))
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=_CALLS_LIMIT))
    lists: deque[float] = field(default_factory=lambda: deque(maxlen=_CALLS_LIMIT))
    """When lists were asked for."""
    lists_a_second: int = LISTS_A_SECOND
    on_call: Callable[[Call], None] = lambda call: None
    """Is told of each call."""

    def add_fault(self, fault: Fault) -> None:
        """Let it happen from now on; "none" ends all others."""
        if fault.kind == "none":
            self.faults.clear()
        else:
            self.faults.append(fault)

    def environment(self) -> dict[str, str]:
        """What a shop file with `kind: easypost` needs."""
        return {
            "EASYPOST_URL": self.url,
            "EASYPOST_KEY": self.key,
            "EASYPOST_WEBHOOK_SECRET": self.webhook_secret,
        }

    def update(self, number: str, status: str, *, detail: str = "status_update", message: str = "") -> Json:
        """The carrier has scanned the parcel. Returns the event that tells of it."""
        found = self.trackers[number]
        before, now = found["status"], wire.moment(datetime.now(UTC))
        found |= {"status": status, "status_detail": detail, "updated_at": now}
        found["tracking_details"].append(wire.scan(message or status, status, at=now, carrier=found["carrier"]))
        return wire.event(f"evt_{secrets.token_hex(16)}", json.loads(json.dumps(found)), before=before)

    async def send(self, event: Json, url: str, **headers: str) -> int:
        """Send an event, however old it is by now. Returns the status of the answer."""
        body = json.dumps(event).encode()
        signed = wire.sign(body, self.webhook_secret, path=URL(url).path)
        async with aiohttp.ClientSession() as http, http.post(url, data=body, headers=signed | headers) as response:
            return response.status


@asynccontextmanager
async def open_easypost(
    *, host: str = "127.0.0.1", port: int = 0, now: datetime | None = None, records: Records | None = None
) -> AsyncIterator[EasyPost]:
    """Serve the parcels of freshly seeded records, or of those of a shop; port 0 takes a free one."""
    service = EasyPost("", f"EZTK{secrets.token_hex(20)}", secrets.token_hex(16), records or seed(now or _now()))
    async with listening(_app(service), host=host, port=port) as service.url:
        yield service


def _now() -> datetime:
    return datetime.now(UTC)


def _app(service: EasyPost) -> web.Application:
    desk = _Desk(service)
    app = web.Application(middlewares=[_logged(service), _faulty(service), _authorized(service)])
    app.add_routes(
        [
            web.post("/v2/trackers", desk.make),
            web.get("/v2/trackers", desk.list),
            web.get("/v2/trackers/{id}", desk.read),
            web.get("/v2/webhooks", desk.list_webhooks),
            *local_routes(service.add_fault, service.records, service.calls),
        ]
    )
    return app


def _logged(service: EasyPost) -> Any:
    @web.middleware
    async def log(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/_local/"):
            return await handler(request)
        service.requests.append(f"{request.method} {request.path}")
        response = await handler(request)
        call = Call(_now().isoformat(timespec="milliseconds"), request.method, request.path_qs, "", response.status)
        service.calls.append(call)
        service.on_call(call)
        return response

    return log


def _faulty(service: EasyPost) -> Any:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        path = request.path.removeprefix("/v2")
        fault = next((each for each in service.faults if each.matches(path, is_action=False)), None)
        if fault is None or request.path.startswith("/_local/"):
            return await handler(request)
        fault.times -= 1
        service.faults = [each for each in service.faults if each.times > 0]
        return await misbehave(fault, request, handler)

    return check


def _authorized(service: EasyPost) -> Any:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        wanted = f"Basic {base64.b64encode(f'{service.key}:'.encode()).decode()}"
        given = request.headers.get("Authorization", "")
        if request.path.startswith("/_local/") or hmac.compare_digest(given.encode(), wanted.encode()):
            return await handler(request)
        return web.json_response(wire.error("APIKEY.INACTIVE", "This API key is no longer active."), status=401)

    return check


class _Desk:
    """What is answered."""

    def __init__(self, service: EasyPost) -> None:
        self._service = service

    async def make(self, request: web.Request) -> web.StreamResponse:
        wanted = (await request.json())["tracker"]
        number = str(wanted["tracking_code"])
        self._service.made.append(number)
        if number in self._service.trackers:
            return web.json_response(self._service.trackers[number])
        made = self._made(number, str(wanted.get("carrier") or ""))
        if made is None:
            body = wire.error("TRACKER.CREATE.ERROR", "The tracking code does not match any supported carrier.")
            return web.json_response(body, status=422)
        self._service.trackers[number] = made
        return web.json_response(made, status=201)

    async def read(self, request: web.Request) -> web.StreamResponse:
        found = next(
            (one for one in self._service.trackers.values() if one["id"] == request.match_info["id"]),
            None,
        )
        if found is None:
            return web.json_response(wire.error("NOT_FOUND", "The requested resource could not be found."), status=404)
        return web.json_response(found)

    async def list(self, request: web.Request) -> web.StreamResponse:
        lists, now = self._service.lists, time.monotonic()
        if sum(now - at < 1 for at in lists) >= self._service.lists_a_second:
            return web.json_response(wire.error("RATE_LIMITED", "Too many requests."), status=429)
        lists.append(now)
        size = int(request.query.get("page_size", "20"))
        return web.json_response({"trackers": list(self._service.trackers.values())[:size], "has_more": False})

    async def list_webhooks(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"webhooks": self._service.webhooks})

    def _made(self, number: str, carrier: str) -> Json | None:
        ident = f"trk_{secrets.token_hex(16)}"
        if status := wire.TEST_NUMBERS.get(number):
            scans = [wire.scan(f"Test scan: {status}", status, at=wire.moment(_now()), city="HOUSTON")]
            return wire.tracker(
                ident, number, carrier=carrier or "USPS", status=status, detail="status_update", scans=scans
            )
        parcel = self._service.records.parcels.get(number)
        if parcel is None:
            return None
        status, detail = wire.STATUSES[parcel["status"]]
        scans = [
            wire.scan(each["description"], status, at=each["at"], city=each["location"], carrier=parcel["carrier"])
            for each in parcel["events"]
        ]
        made = wire.tracker(
            ident, number, carrier=carrier or parcel["carrier"], status=status, detail=detail, scans=scans
        )
        return made | {"est_delivery_date": parcel["expected_at"]}
