"""What Shopify says by itself, over HTTP: signed over the raw body, about this shop, and about an order."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from bot.errors import StoreUnavailable
from demo.shop.seed import seed
from demo.shopify.events import TRIES, event_of, send, sign
from handlers.hook_senders import ShopifySender, Told
from tests.handlers.hooking import Events, listening, post
from tests.shops.shopify.test_shopify import NOW

SECRET = "shpss_0000"
DOMAIN = "fernwick.myshopify.com"
SENDER = ShopifySender((SECRET,), DOMAIN)
ORDER = event_of(seed(NOW).orders["ORD-67890"])
BODY = json.dumps(ORDER).encode()


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
async def client(events: Events) -> AsyncIterator[TestClient[Any, Any]]:
    async with listening(SENDER, events) as opened:
        yield opened


async def test_a_signed_event_names_an_order_and_nothing_else_in_it_is_read(
    client: TestClient[Any, Any], events: Events
) -> None:
    headers = sign(BODY, SECRET, domain=DOMAIN, event="b54557e4")
    assert [await post(client, SENDER, BODY, headers) for _ in range(2)] == [204, 204]
    assert events.accepted == [("shopify/b54557e4", "ORD-67890")] * 2, "the inbox knows the id of what comes again"


async def test_nothing_unsigned_is_parsed(client: TestClient[Any, Any], events: Events) -> None:
    right = sign(BODY, SECRET, domain=DOMAIN)
    table = {
        "no headers": (BODY, {}),
        "another secret": (BODY, sign(BODY, "another", domain=DOMAIN)),
        "another body": (BODY + b" ", right),
        "the same JSON in other bytes": (json.dumps(ORDER, indent=1).encode(), right),
        "an empty signature": (BODY, {**right, "X-Shopify-Hmac-SHA256": ""}),
        "no base64": (BODY, {**right, "X-Shopify-Hmac-SHA256": "é" * 44}),
        "nonsense": (b"\xff" * 100, {}),
    }
    answers = {name: await post(client, SENDER, body, headers) for name, (body, headers) in table.items()}
    assert answers == dict.fromkeys(table, 401)
    assert events.accepted == []


async def test_what_is_not_about_an_order_of_this_shop_is_acknowledged_and_left(
    client: TestClient[Any, Any], events: Events
) -> None:
    odd = json.dumps({**ORDER, "name": "Nº 7/2026"}).encode()
    table = {
        "another shop": (BODY, sign(BODY, SECRET, domain="other.myshopify.com")),
        "another topic": (BODY, sign(BODY, SECRET, domain=DOMAIN, topic="app/uninstalled")),
        "a number that nobody can write": (odd, sign(odd, SECRET, domain=DOMAIN)),
    }
    answers = {name: await post(client, SENDER, body, headers) for name, (body, headers) in table.items()}
    assert answers == dict.fromkeys(table, 204), "Shopify gives a subscription up whose events are refused"
    assert events.accepted == []


async def test_what_is_signed_and_no_order_is_refused_without_a_server_error(
    client: TestClient[Any, Any], events: Events
) -> None:
    bodies = [b"", b"null", b"[]", b"{", b"\xff", b"{}", b'{"name": 7}', b"[" * 60_000]
    answers = {body[:9]: await post(client, SENDER, body, sign(body, SECRET, domain=DOMAIN)) for body in bodies}
    assert answers == {body[:9]: 400 for body in bodies}
    assert await post(client, SENDER, BODY, sign(BODY, SECRET, domain=DOMAIN, event="no id")) == 400
    long = b"x" * (SENDER.body_limit + 1)
    assert await post(client, SENDER, long, sign(long, SECRET, domain=DOMAIN)) == 413
    assert events.accepted == []


async def test_while_the_secret_is_changed_either_signs(events: Events) -> None:
    sender = ShopifySender(("new", "old"), DOMAIN)
    async with listening(sender, events) as client:
        for secret in ("new", "old"):
            assert await post(client, sender, BODY, sign(BODY, secret, domain=DOMAIN)) == 204


async def test_an_event_that_cannot_be_stored_is_sent_again_by_the_stand_in_as_by_shopify(
    client: TestClient[Any, Any], events: Events
) -> None:
    events.error = StoreUnavailable("full")
    url = str(client.make_url(SENDER.path))
    headers = sign(BODY, SECRET, domain=DOMAIN)
    assert await send(ORDER, url, headers) == [503] * TRIES
    events.error = None
    assert await send(ORDER, url, headers) == [204]


def test_the_name_of_the_shop_is_compared_whatever_its_case() -> None:
    headers = sign(BODY, SECRET, domain=DOMAIN.upper(), event="1")
    assert SENDER.read(headers, BODY) == Told("shopify/1", order="ORD-67890")
