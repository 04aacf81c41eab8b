"""What the shop says by itself, over HTTP: signed, bounded, and answered 2xx or 4xx whatever comes."""

import gzip
import io
import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.actions.shop_events import TooManyEvents
from bot.errors import StoreUnavailable
from bot.settings import load_settings
from demo.shop.events import sign
from handlers.hook_senders import SHOP_PATH, ShopSender, Told
from handlers.http import Serving, build_web_app
from tests.handlers.hooking import Events, listening

KEY = b"0" * 32
SENDER = ShopSender(KEY)
EVENT = json.dumps({"type": "order.changed", "data": {"order_id": "ORD-1"}}).encode()


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
async def client(events: Events) -> AsyncIterator[TestClient[Any, Any]]:
    async with listening(SENDER, events) as opened:
        yield opened


async def post(client: TestClient[Any, Any], body: bytes, **headers: str) -> int:
    async with client.post(SHOP_PATH, data=io.BytesIO(body), headers=sign("evt_1", body, KEY) | headers) as response:
        return response.status


def test_the_example_that_the_scheme_publishes_is_accepted() -> None:
    settings = load_settings({"SHOP_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    sender = ShopSender(settings.shop_webhook_key)
    assert sender.is_signed(headers, b'{"test": 2432232314}', now=1_614_265_331.0)


async def test_a_signed_event_is_stored_and_acknowledged(client: TestClient[Any, Any], events: Events) -> None:
    assert await post(client, EVENT) == 204
    assert events.accepted == [("evt_1", "ORD-1")]


async def test_nothing_unsigned_is_parsed(client: TestClient[Any, Any], events: Events) -> None:
    old = sign("evt_1", EVENT, KEY, at=datetime.fromtimestamp(time.time() - 301, UTC))
    early = sign("evt_1", EVENT, KEY, at=datetime.fromtimestamp(time.time() + 310, UTC))
    right = sign("evt_1", EVENT, KEY)
    table = {
        "no headers": (EVENT, {}),
        "another key": (EVENT, sign("evt_1", EVENT, b"1" * 32)),
        "another body": (EVENT + b" ", right),
        "another id": (EVENT, right | {"webhook-id": "evt_2"}),
        "another time": (EVENT, right | {"webhook-timestamp": str(int(right["webhook-timestamp"]) + 1)}),
        "too old": (EVENT, old),
        "too early": (EVENT, early),
        "no id": (EVENT, sign("", EVENT, KEY)),
        "a huge id": (EVENT, sign("e" * 201, EVENT, KEY)),
        "an odd time": (EVENT, right | {"webhook-timestamp": "1e9"}),
        "an empty signature": (EVENT, right | {"webhook-signature": ""}),
        "the digest alone": (EVENT, right | {"webhook-signature": right["webhook-signature"].removeprefix("v1,")}),
        "another version": (EVENT, right | {"webhook-signature": right["webhook-signature"].replace("v1,", "v2,")}),
        "late in a long list": (EVENT, right | {"webhook-signature": "v1,x " * 9 + right["webhook-signature"]}),
        "nonsense": (b"\xff" * 100, {}),
    }
    answers = {}
    for name, (body, headers) in table.items():
        async with client.post(SHOP_PATH, data=io.BytesIO(body), headers=headers) as response:
            answers[name] = response.status
    assert answers == dict.fromkeys(table, 401)
    assert events.accepted == []


async def test_a_shop_that_changes_its_secret_signs_with_both(client: TestClient[Any, Any]) -> None:
    both = " ".join(sign("evt_1", EVENT, key)["webhook-signature"] for key in (b"1" * 32, KEY))
    assert await post(client, EVENT, **{"webhook-signature": both}) == 204


async def test_whatever_is_signed_is_answered_without_a_server_error(
    client: TestClient[Any, Any], events: Events
) -> None:
    def changed(**data: Any) -> bytes:
        return json.dumps({"type": "order.changed", "data": data}).encode()

    odd = [
        b"",
        b"null",
        b"[]",
        b"7" * 5_000,
        b"{",
        b"\xff\xfe",
        b"[" * 60_000,
        b'{"type": "order.changed"}',
        b'{"type": ["order.changed"]}',
        b'{"type": "order.changed", "data": null}',
        b'{"type": "order.changed", "type": "order.changed", "data": {"order_id": "ORD-1"}}',
        b'{"type": NaN}',
        changed(),
        *(
            changed(order_id=value)
            for value in (None, 7, ["ORD-1"], "", " ", "../ORD-1", "ORD-1\0", "O" * 41, "é", "\ud800")
        ),
    ]
    assert {body[:60]: await post(client, body) for body in odd} == {body[:60]: 400 for body in odd}
    assert await post(client, b"x" * (SENDER.body_limit + 1)) == 413
    assert await post(client, b"x" * (3 << 20)) == 413
    packed = {"Content-Encoding": "gzip", "Connection": "close"}
    assert await post(client, EVENT, **packed) == 400
    assert await post(client, gzip.compress(b"0" * (8 << 20)), **packed) == 413
    async with client.get(SHOP_PATH) as response:
        assert response.status == 405
    assert await post(client, b'{"type": "parcel.lost", "data": 7}') == 204
    assert events.accepted == []


@pytest.mark.parametrize(("error", "status"), [(TooManyEvents(), 429), (StoreUnavailable("full"), 503)])
async def test_what_cannot_be_stored_is_not_acknowledged(
    client: TestClient[Any, Any], events: Events, error: Exception, status: int
) -> None:
    events.error = error
    assert await post(client, EVENT) == status


async def test_before_the_product_is_put_together_the_shop_sends_again() -> None:
    app = build_web_app(Serving(), metrics=None, takes_events=False, senders=[SENDER])
    async with TestClient(TestServer(app)) as client:
        assert await post(client, EVENT) == 503


def test_an_order_is_read_as_people_write_it() -> None:
    told = SENDER.read({"webhook-id": "evt_1"}, b'{"type": "order.changed", "data": {"order_id": "#fw-10482"}}')
    assert told == Told("evt_1", order="FW-10482")


def test_without_a_secret_nothing_is_listened_to() -> None:
    app = build_web_app(Serving(), metrics=None, takes_events=False)
    assert SHOP_PATH not in [route.resource.canonical for route in app.router.routes() if route.resource]


def test_the_signature_covers_id_time_and_body() -> None:
    headers = sign("evt_1", EVENT, KEY, at=datetime.fromtimestamp(1_795_000_000, UTC))
    assert SENDER.is_signed(headers, EVENT, now=1_795_000_299.0)
    assert not SENDER.is_signed(headers, EVENT, now=1_795_000_301.0)
