"""The guard before Bolt."""

import hashlib
import hmac
import io
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from bot.clock import SystemClock
from bot.telemetry import Metrics
from handlers.door import Door
from handlers.http import EVENTS_PATH, Serving, build_metrics_app, build_web_app, is_signed

SECRET = "a-signing-secret"
NOW = 1_795_000_000.0


def sign(body: bytes, timestamp: str, secret: str = SECRET) -> str:
    return "v0=" + hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()


def test_what_slack_signed_just_now_is_accepted() -> None:
    assert is_signed("1795000000", sign(b"{}", "1795000000"), b"{}", SECRET, now=NOW)


def test_a_timestamp_that_is_odd_or_old_is_refused() -> None:
    table = ["", "abc", "1.5", "nan", "-1", "9" * 5000, "١٧٩٥٠٠٠٠٠٠", "1794999000", "1795001000"]
    misses = [timestamp for timestamp in table if is_signed(timestamp, sign(b"{}", timestamp), b"{}", SECRET, now=NOW)]
    assert misses == []


def test_a_wrong_signature_is_refused() -> None:
    table = ["", "v0=", "v0=" + "0" * 64, "v1=" + "a" * 64, "v0=" + "é" * 64]
    misses = [signature for signature in table if is_signed("1795000000", signature, b"{}", SECRET, now=NOW)]
    assert misses == []


def test_a_changed_body_is_refused() -> None:
    assert not is_signed("1795000000", sign(b"{}", "1795000000"), b"{ }", SECRET, now=NOW)


@pytest.fixture
async def client() -> AsyncIterator[TestClient[Any, Any]]:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id="T1", bot_token="xoxb-1", bot_id="B1", bot_user_id="U1")

    async def ready() -> str | None:
        return "the knowledge base"

    async def degraded() -> str | None:
        return None

    bolt = AsyncApp(authorize=authorize, signing_secret=SECRET, request_verification_enabled=False)
    metrics = Metrics()
    serving = Serving(missing=ready, degraded=degraded, door=Door(bolt, metrics, SystemClock()))
    app = build_web_app(serving, metrics=metrics, takes_events=True, signing_secret=SECRET)
    async with TestClient(TestServer(app)) as opened:
        yield opened


@pytest.mark.parametrize("body", [b"", b"[" * 100_000, b"\xff\xfe", b"payload=%", b"null"])
async def test_nothing_unsigned_is_parsed(client: TestClient[Any, Any], body: bytes) -> None:
    assert (await client.post(EVENTS_PATH, data=body)).status == 401


async def test_a_body_past_the_limit_is_refused(client: TestClient[Any, Any]) -> None:
    assert (await client.post(EVENTS_PATH, data=io.BytesIO(b"x" * (2 << 20)))).status == 413


async def test_health_names_what_is_missing(client: TestClient[Any, Any]) -> None:
    response = await client.get("/healthz")
    assert response.status == 503
    assert (await response.json())["missing"] == "the knowledge base"


async def test_health_lists_the_fields_that_models_are_not_sent() -> None:
    serving = Serving(left_out=lambda: ["our-model: temperature"])
    async with TestClient(TestServer(build_web_app(serving, metrics=None, takes_events=False))) as client:
        assert (await (await client.get("/healthz")).json())["left_out"] == ["our-model: temperature"]
        serving.left_out = list
        assert "left_out" not in await (await client.get("/healthz")).json()


async def test_before_the_product_is_put_together_it_is_alive_and_not_ready() -> None:
    app = build_web_app(Serving(waiting_for="Slack"), metrics=Metrics(), takes_events=True, signing_secret=SECRET)
    async with TestClient(TestServer(app)) as client:
        alive, health = await client.get("/livez"), await client.get("/healthz")
        assert (alive.status, health.status) == (200, 503)
        assert (await health.json())["missing"] == "Slack"
        timestamp, body = str(int(time.time())), b"{}"
        signed = {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": sign(body, timestamp)}
        assert (await client.post(EVENTS_PATH, data=body, headers=signed)).status == 503


async def test_metrics_have_a_port_of_their_own_where_a_setting_says_so() -> None:
    async def well() -> str | None:
        return None

    app = build_web_app(Serving(missing=well), metrics=None, takes_events=False)
    async with TestClient(TestServer(app)) as main, TestClient(TestServer(build_metrics_app(Metrics()))) as metrics:
        assert (await main.get("/metrics")).status == 404
        assert (await main.get("/healthz")).status == 200
        assert "frontdesk_turns" in await (await metrics.get("/metrics")).text()
        assert (await metrics.get("/healthz")).status == 404


async def test_metrics_are_served(client: TestClient[Any, Any]) -> None:
    assert "frontdesk_turns" in await (await client.get("/metrics")).text()
