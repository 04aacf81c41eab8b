"""The shop of `bench.actions`: it cancels orders, each answer takes as long as it is told, and it counts what it did.

    python -m bench.shop               prints its port, then serves until its standard input ends

Every customer has one order. It keeps to docs/reference/shop-api.md. Times are CLOCK_MONOTONIC.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
from aiohttp import web

from bench.children import serve

SHOP = "bench.shop"
PAID = {"amount": 11900, "currency": "USD"}
BACK = {"amount": -11900, "currency": "USD"}


@dataclass(slots=True)
class Done:
    """What was asked of one order."""

    asked: float = 0.0
    """When the request to change it came in,"""
    answered: float = 0.0
    """and when its answer left."""
    times: int = 0
    """How often it was changed."""


@dataclass(slots=True)
class Books:
    """What is known of the shop."""

    seconds: float = 0.0
    """What every answer takes."""
    orders: dict[str, Done] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)


BOOKS = web.AppKey("books", Books)


def build_app() -> web.Application:
    """The server's routes."""
    app = web.Application(middlewares=[_in_its_time])
    app[BOOKS] = Books()
    app.router.add_get("/capabilities", _capabilities)
    app.router.add_get("/customers", _customers)
    app.router.add_get("/customers/{customer}/orders", _orders)
    app.router.add_get("/orders/{order}", _order)
    app.router.add_post("/quotes", _quote)
    app.router.add_post("/actions", _act)
    app.router.add_post("/_bench/seconds", _take_time)
    app.router.add_get("/_bench/books", _show)
    return app


@web.middleware
async def _in_its_time(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    books, path = request.app[BOOKS], request.path
    if not path.startswith("/_bench/"):
        if path == "/actions":
            books.orders.setdefault(
                orjson.loads(await request.read())["arguments"]["order"], Done()
            ).asked = time.monotonic()
        resource = request.match_info.route.resource
        books.calls[f"{request.method} {resource.canonical if resource else path}"] += 1
        await asyncio.sleep(books.seconds)
    return await handler(request)


async def _capabilities(_: web.Request) -> web.Response:
    return _json({"actions": ["cancel_order"], "quotes": True})


async def _customers(request: web.Request) -> web.Response:
    email = request.query["email"]
    number = email.partition("@")[0][-6:]
    return _json({"customers": [{"id": f"cus_{number}", "name": "Customer", "email": email}]})


async def _orders(request: web.Request) -> web.Response:
    number = request.match_info["customer"].rpartition("_")[2]
    return _json({"orders": [_record(request.app[BOOKS], f"ORD-{number}")]})


async def _order(request: web.Request) -> web.Response:
    return _json(_record(request.app[BOOKS], request.match_info["order"]))


async def _quote(_: web.Request) -> web.Response:
    lines = [{"title": "Ridgeline rain jacket", "quantity": 1, "money": BACK}]
    return _json({"money": BACK, "lines": lines, "to": "Visa 4242", "when": "5 to 7 days", "irreversible": True})


async def _act(request: web.Request) -> web.Response:
    books, order = request.app[BOOKS], orjson.loads(await request.read())["arguments"]["order"]
    done = books.orders[order]
    done.times += 1
    record = _record(books, order)
    done.answered = time.monotonic()
    return _json({"state": "done", "reference": f"C-{order[4:]}", "money": BACK, "order": record})


async def _take_time(request: web.Request) -> web.Response:
    request.app[BOOKS].seconds = float(await request.text())
    return _json({})


async def _show(request: web.Request) -> web.Response:
    books = request.app[BOOKS]
    return _json({"orders": {order: asdict(done) for order, done in books.orders.items()}, "calls": books.calls})


def _record(books: Books, order: str) -> dict[str, Any]:
    is_done = order in books.orders and books.orders[order].times > 0
    return {
        "id": order,
        "customer_id": f"cus_{order[4:]}",
        "status": "cancelled" if is_done else "processing",
        "payment": "refunded" if is_done else "paid",
        "placed_at": "2026-11-15T09:24:00Z",
        "total": PAID,
        "revision": "2" if is_done else "1",
        "refundable": {**PAID, "amount": 0} if is_done else PAID,
        "lines": [{"id": "1", "title": "Ridgeline rain jacket", "quantity": 1, "unit_price": PAID, "cancellable": 1}],
        "parcels": [],
        "ships_to": "Portland, United States",
    }


def _json(value: object) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


if __name__ == "__main__":
    asyncio.run(serve(build_app()))
