"""What a declared connector really sends: its credentials, and its questions for further pages."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from bot.shops.actions import Arguments, Undone
from bot.shops.declared.shop import DeclaredShop, open_declared_shop
from bot.shops.port import ShopUnavailable
from demo.ports import listening
from tests.shops.contract import CUSTOMER_A

Answer = Callable[[web.Request], web.StreamResponse]


def order(number: int) -> dict[str, Any]:
    line = {"title": "A cap", "quantity": 1, "unit_price": 995}
    at = f"2026-11-0{number}T00:00:00Z"
    return {"id": f"R-{number}", "owner": "cus_a", "status": "pending", "placed_at": at, "total": 995, "lines": [line]}


def connector(url: str, auth: dict[str, str], pages: dict[str, Any] | None) -> dict[str, Any]:
    money = {"unit": "minor"}
    fields = {"title": "title", "quantity": "quantity", "unit_price": {"at": "unit_price", **money}}
    plain = {name: name for name in ("id", "owner", "status", "placed_at")}
    orders: dict[str, Any] = {"get": "/orders", "query": {"of": "{customer.id}"}, "each": "items", "record": "order"}
    return {
        "connector": "http",
        "version": 1,
        "base_url": url,
        "auth": auth,
        "currency": "EUR",
        "errors": {"code": "error"},
        "limits": {"pages": 3},
        "records": {
            "customer": {"id": "id", "email": "email"},
            "order": {**plain, "total": {"at": "total", **money}, "lines": {"each": "lines", "fields": fields}},
        },
        "look_ups": {
            "find_customer": {
                "get": "/customers",
                "query": {"email": "{email}"},
                "each": "items",
                "record": "customer",
            },
            "list_orders": {**orders, **({"pages": pages} if pages else {})},
            "get_order": {"get": "/orders/{order.id}", "record": "order"},
        },
    }


@asynccontextmanager
async def connected(
    folder: Path,
    answer: Answer,
    *,
    auth: dict[str, str] | None = None,
    pages: dict[str, Any] | None = None,
    actions: dict[str, Any] | None = None,
) -> AsyncIterator[DeclaredShop]:
    async def handle(request: web.Request) -> web.StreamResponse:
        return answer(request)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    async with listening(app) as url:
        path = folder / "store.http.yml"
        file = connector(url, auth or {"kind": "none"}, pages) | ({"actions": actions} if actions else {})
        path.write_text(yaml.safe_dump(file, sort_keys=False))
        async with open_declared_shop(path, environ={"A": "user", "B": "s3cret/+"}, deadline=3) as shop:
            yield shop


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        ({"kind": "bearer", "token": "env:B"}, ("Authorization", "Bearer s3cret/+")),
        (
            {"kind": "basic", "user": "env:A", "password": "env:B"},
            ("Authorization", "Basic " + base64.b64encode(b"user:s3cret/+").decode()),
        ),
        ({"kind": "header", "name": "X-Api-Key", "value": "env:B"}, ("X-Api-Key", "s3cret/+")),
    ],
)
async def test_credentials_go_into_a_header(tmp_path: Path, auth: dict[str, str], sent: tuple[str, str]) -> None:
    seen: list[str | None] = []

    def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get(sent[0]))
        return web.json_response({"items": []})

    async with connected(tmp_path, answer, auth=auth) as shop:
        await shop.list_orders(CUSTOMER_A)
    assert seen == [sent[1]]


async def test_credentials_go_into_the_query(tmp_path: Path) -> None:
    seen: list[dict[str, str]] = []

    def answer(request: web.Request) -> web.StreamResponse:
        seen.append(dict(request.query))
        return web.json_response({"items": []})

    async with connected(tmp_path, answer, auth={"kind": "query", "name": "key", "value": "env:B"}) as shop:
        await shop.list_orders(CUSTOMER_A)
    assert seen == [{"of": "cus_a", "key": "s3cret/+"}]


async def test_a_signature_covers_what_the_file_says(tmp_path: Path) -> None:
    seen: list[bool] = []
    auth = {"kind": "hmac_sha256", "secret": "env:B", "header": "X-Sign", "over": "method.path.timestamp.body"}

    def answer(request: web.Request) -> web.StreamResponse:
        signed = f"GET.{request.raw_path}.{request.headers['X-Timestamp']}.".encode()
        seen.append(hmac.new(b"s3cret/+", signed, hashlib.sha256).hexdigest() == request.headers["X-Sign"])
        return web.json_response({"items": []})

    async with connected(tmp_path, answer, auth=auth) as shop:
        await shop.list_orders(CUSTOMER_A)
    assert seen == [True]


def by_cursor(request: web.Request) -> web.StreamResponse:
    at = int(request.query.get("after", "0"))
    return web.json_response({"items": [order(at + 1)], "next": str(at + 1) if at < 1 else None})


def by_offset(request: web.Request) -> web.StreamResponse:
    at = int(request.query["from"])
    return web.json_response({"items": [order(1), order(2)][at : at + 1]})


def by_link(request: web.Request) -> web.StreamResponse:
    at = int(request.query.get("p", "1"))
    link = {"Link": f'</orders?of=cus_a&p={at + 1}>; rel="next"'} if at < 2 else {}
    return web.json_response({"items": [order(at)]}, headers=link)


@pytest.mark.parametrize(
    ("pages", "answer"),
    [
        ({"kind": "cursor", "query": "after", "next": "next"}, by_cursor),
        ({"kind": "offset", "query": "from", "step": 1}, by_offset),
        ({"kind": "link"}, by_link),
    ],
)
async def test_further_pages_are_read(tmp_path: Path, pages: dict[str, Any], answer: Answer) -> None:
    async with connected(tmp_path, answer, pages=pages) as shop:
        assert [one.id for one in await shop.list_orders(CUSTOMER_A)] == ["R-2", "R-1"]


async def test_pages_without_an_end_are_cut(tmp_path: Path) -> None:
    def answer(request: web.Request) -> web.StreamResponse:
        at = int(request.query.get("page", "1"))
        return web.json_response({"items": [order(at)]})

    async with connected(tmp_path, answer, pages={"kind": "page", "query": "page"}) as shop:
        assert len(await shop.list_orders(CUSTOMER_A)) == 3


@pytest.mark.parametrize("link", ['<http://192.0.2.1/orders>; rel="next"', '</orders?of=cus_a>; rel="next"'])
async def test_a_next_page_elsewhere_or_the_same_is_not_followed(tmp_path: Path, link: str) -> None:
    def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response({"items": [order(1)]}, headers={"Link": link})

    async with connected(tmp_path, answer, pages={"kind": "link"}) as shop:
        with pytest.raises(ShopUnavailable):
            await shop.list_orders(CUSTOMER_A)


async def test_what_is_undone_is_named_as_the_shop_knows_it(tmp_path: Path) -> None:
    undo = {
        "post": "/returns/{undone.reference}/cancellation",
        "json": {"request": "{undone.key}"},
        "key": {"header": "Idempotency-Key"},
        "done_when": {"look_up": "get_order", "is": "status == 'delivered'"},
    }

    def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(order(1))

    key, undone = "7d0e0d0c-0000-4000-8000-000000000001", "7d0e0d0c-0000-4000-8000-000000000002"
    async with connected(tmp_path, answer, actions={"cancel_return": undo}) as shop:
        found = await shop.get_order(CUSTOMER_A, "R-1")
        arguments = Arguments(order="R-1", undoes=Undone(undone, "RMA-7"))
        quote = await shop.quote(CUSTOMER_A, "cancel_return", found, arguments)
        request = shop.render(CUSTOMER_A, "cancel_return", found, arguments, quote=quote, key=key)
    assert request.path == "/returns/RMA-7/cancellation"
    assert request.body == f'{{"request":"{undone}"}}'
    assert request.headers["Idempotency-Key"] == key
