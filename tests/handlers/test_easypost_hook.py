"""What EasyPost says by itself, over HTTP: signed in either of its ways, stored before it is acknowledged."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from bot.shops.connectors import WebhookKey
from demo.easypost.server import EasyPost, open_easypost
from demo.easypost.wire import sign
from handlers.hook_senders import EasyPostSender, ShopifySender, ShopSender, Told, build_senders
from tests.handlers.hooking import Events, listening, post

SECRET = "Geheimnis mit ﬁ und é"
SENDER = EasyPostSender((SECRET,))
EVENT = {
    "id": "evt_1",
    "object": "Event",
    "description": "tracker.updated",
    "result": {"id": "trk_1", "status": "delivered"},
}
BODY = json.dumps(EVENT).encode()


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
async def client(events: Events) -> AsyncIterator[TestClient[Any, Any]]:
    async with listening(SENDER, events) as opened:
        yield opened


def test_each_sender_has_a_path_of_its_own() -> None:
    keys = [WebhookKey("easypost", (SECRET,)), WebhookKey("shopify", (SECRET,), "fernwick.myshopify.com")]
    senders = build_senders(b"0" * 32, keys)
    assert [type(each) for each in senders] == [ShopSender, EasyPostSender, ShopifySender]
    assert len({each.path for each in senders}) == 3
    assert build_senders(b"", []) == []


async def test_either_signature_is_enough(client: TestClient[Any, Any], events: Events) -> None:
    both = sign(BODY, SECRET, path=SENDER.path)
    older = {name: value for name, value in both.items() if name in ("Content-Type", "X-Hmac-Signature")}
    newer = {name: value for name, value in both.items() if name != "X-Hmac-Signature"}
    assert [await post(client, SENDER, BODY, headers) for headers in (both, older, newer)] == [204] * 3
    assert events.accepted == [("easypost/evt_1", "trk_1")] * 3


async def test_nothing_unsigned_is_parsed(client: TestClient[Any, Any], events: Events) -> None:
    both = sign(BODY, SECRET, path=SENDER.path)
    newer = {name: value for name, value in both.items() if name != "X-Hmac-Signature"}
    old = sign(BODY, SECRET, path=SENDER.path, at=datetime.now(UTC) - timedelta(seconds=310))
    early = sign(BODY, SECRET, path=SENDER.path, at=datetime.now(UTC) + timedelta(seconds=310))
    digest = both["X-Hmac-Signature"].removeprefix("hmac-sha256-hex=")
    table = {
        "no headers": (BODY, {}),
        "another secret": (BODY, sign(BODY, "another", path=SENDER.path)),
        "another body": (BODY + b" ", both),
        "the digest alone": (BODY, {"X-Hmac-Signature": digest}),
        "in capitals": (BODY, {"X-Hmac-Signature": f"hmac-sha256-hex={digest.upper()}"}),
        "the newer one too old": (BODY, {**old, "X-Hmac-Signature": ""}),
        "the newer one too early": (BODY, {**early, "X-Hmac-Signature": ""}),
        "the newer one without a time": (BODY, {**newer, "X-Timestamp": ""}),
        "the newer one at no time": (BODY, {**newer, "X-Timestamp": "Tue, 99 Foo 2026 25:61:61 +9999"}),
        "the newer one at another time": (BODY, {**newer, "X-Timestamp": early["X-Timestamp"]}),
        "the newer one for another path": (BODY, {**newer, "X-Path": "/hooks/shop"}),
        "the older one as the newer": (BODY, {**newer, "X-Hmac-Signature-V2": both["X-Hmac-Signature"]}),
    }
    answers = {name: await post(client, SENDER, body, headers) for name, (body, headers) in table.items()}
    assert answers == dict.fromkeys(table, 401)
    assert events.accepted == []


async def test_a_secret_is_changed_without_losing_an_event(events: Events) -> None:
    sender = EasyPostSender(("new", "old"))
    async with listening(sender, events) as client:
        assert [
            await post(client, sender, BODY, sign(BODY, secret, path=sender.path)) for secret in ("new", "old")
        ] == [204] * 2


async def test_whatever_is_signed_is_answered_without_a_server_error(
    client: TestClient[Any, Any], events: Events
) -> None:
    async def signed(body: bytes) -> int:
        return await post(client, SENDER, body, sign(body, SECRET, path=SENDER.path))

    odd: list[Any] = [
        None,
        [],
        7,
        {},
        {"id": "evt_1"},
        {"id": 7, "description": "tracker.updated"},
        {**EVENT, "id": "evt 1"},
        {**EVENT, "id": "e" * 101},
        {**EVENT, "result": None},
        {**EVENT, "result": {"id": "../trk"}},
        {**EVENT, "result": {"id": ["trk_1"]}},
    ]
    bodies = [b"", b"{", b"\xff", b"[" * 60_000, *(json.dumps(each).encode() for each in odd)]
    assert {body[:60]: await signed(body) for body in bodies} == {body[:60]: 400 for body in bodies}
    assert await signed(b"x" * (SENDER.body_limit + 1)) == 413
    assert await signed(json.dumps({**EVENT, "description": "batch.created"}).encode()) == 204
    assert events.accepted == []
    long = json.dumps({**EVENT, "more": "x" * 500_000}).encode()
    assert await signed(long) == 204


async def test_the_stand_in_signs_as_the_handler_expects(events: Events) -> None:
    async with open_easypost() as service:
        sender = EasyPostSender((service.webhook_secret,))
        async with listening(sender, events) as client:
            event = told_by(service)
            assert await service.send(event, str(client.make_url(sender.path))) == 204
            assert await service.send(event, str(client.make_url(sender.path))) == 204
    assert events.accepted == [(f"easypost/{event['id']}", event["result"]["id"])] * 2


def told_by(service: EasyPost) -> dict[str, Any]:
    """The event of a parcel that somebody has asked about."""
    service.trackers["EZ1000000001"] = {
        "id": "trk_1",
        "status": "pre_transit",
        "carrier": "USPS",
        "tracking_details": [],
    }
    return service.update("EZ1000000001", "delivered")


def test_an_event_names_its_tracker_and_nothing_else_is_read() -> None:
    assert SENDER.read({}, BODY) == Told("easypost/evt_1", tracker="trk_1")
