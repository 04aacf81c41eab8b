"""The aiohttp side: Slack's signed events (without Socket Mode), the shop's signed events, health and metrics.

The server listens before all other parts exist, so that operators can see what a start waits for. `/livez` says that
the process runs, and `/healthz` whether it serves.

A guard comes before the door (`handlers.door`). It reads a bounded body, checks the signature over the raw bytes, and
refuses with 400 what is no payload at all. Nothing unsigned is parsed.
"""

import asyncio
import hashlib
import hmac
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response

from bot.actions.shop_events import ShopEvents
from bot.alerts import Alerts
from bot.telemetry import Metrics
from handlers.door import Door, Unreadable, decode
from handlers.hook_senders import Sender
from handlers.hooks import take_events

logger = logging.getLogger(__name__)

EVENTS_PATH = "/slack/events"
BODY_LIMIT = 1 << 20
"""The largest request in bytes. Slack's requests are far smaller."""
BODY_SECONDS = 5.0
"""How long a request may take to arrive, in seconds."""
SIGNATURE_SECONDS = 300
"""The largest age of a signature, in seconds. This is Slack's rule."""
WRONG_TIME = (
    "a request was refused that Slack signed at another time: somebody sends it again, or this machine's clock is wrong"
)

_TIMESTAMP = re.compile(r"[0-9]{1,11}", re.ASCII)
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}", re.ASCII)


Probe = Callable[[], Awaitable[str | None]]
"""Returns a fault in words, or None."""


@dataclass(slots=True)
class Serving:
    """The parts behind the server. They are None until the application is put together."""

    waiting_for: str = "Frontdesk is starting"
    """What the start waits for, in words. It counts as what is missing until the probe `missing` is set."""
    missing: Probe | None = None
    """Returns what keeps Frontdesk from serving."""
    degraded: Probe | None = None
    """Returns what works worse than it should."""
    left_out: Callable[[], Sequence[str]] | None = None
    """Returns the fields that models' servers refuse and are no longer sent, a line for each model."""
    door: Door | None = None
    """Receives events over HTTP. Until it is set they are answered 503, and Slack delivers them again."""
    shop_events: ShopEvents | None = None
    """Receives the shop's events. Until it is set they are answered 503, and the shop sends them again."""


def build_web_app(
    serving: Serving,
    *,
    metrics: Metrics | None,
    takes_events: bool,
    signing_secret: str = "",
    senders: Sequence[Sender] = (),
) -> web.Application:
    """Return the server's routes. With `takes_events` it accepts Slack's events, signed with `signing_secret`.

    It accepts the events of the `senders`, who tell of changes at the shop. With `metrics` it also shows the metrics.
    """

    async def live(_request: web.Request) -> web.Response:
        return web.json_response({"alive": True})

    async def health(_request: web.Request) -> web.Response:
        missing = await serving.missing() if serving.missing else serving.waiting_for
        impaired = await serving.degraded() if serving.degraded else None
        told: dict[str, object] = {"ready": missing is None, "missing": missing, "degraded": impaired}
        if serving.left_out and (left_out := serving.left_out()):
            told["left_out"] = left_out
        return web.json_response(told, status=200 if missing is None else 503)

    app = web.Application(client_max_size=BODY_LIMIT)
    app.router.add_get("/livez", live)
    app.router.add_get("/healthz", health)
    if metrics is not None:
        add_metrics(app, metrics)
    if takes_events:
        app.router.add_post(EVENTS_PATH, _events(serving, signing_secret))
    for sender in senders:
        app.router.add_post(sender.path, take_events(lambda: serving.shop_events, sender))
    return app


def build_metrics_app(metrics: Metrics) -> web.Application:
    """Return the routes of a port that shows only the metrics."""
    app = web.Application()
    add_metrics(app, metrics)
    return app


def add_metrics(app: web.Application, metrics: Metrics) -> None:
    """Show the metrics at /metrics."""

    async def show(_request: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    app.router.add_get("/metrics", show)


def _events(serving: Serving, signing_secret: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    alerts = Alerts()

    async def take(request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await request.read()
        except TimeoutError:
            return web.Response(status=408)
        timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature, now = request.headers.get("X-Slack-Signature", ""), time.time()
        if not is_signed(timestamp, signature, body, signing_secret, now=now):
            if _TIMESTAMP.fullmatch(timestamp) and is_signed(
                timestamp, signature, body, signing_secret, now=int(timestamp)
            ):
                alerts.tell(logger, WRONG_TIME, about="", seconds=round(now - int(timestamp)))
            else:
                logger.warning("a request without a valid signature was refused", extra={"bytes": len(body)})
            return web.Response(status=401)
        if serving.door is None:
            return web.Response(status=503)
        try:
            payload = decode(body)
        except Unreadable as error:
            fault = str(error)
            alerts.tell_once(logger, "a signed request holds no payload", about=fault, bytes=len(body), fault=fault)
            return web.Response(status=400)
        return await to_aiohttp_response(await serving.door.take(payload))

    return take


def is_signed(timestamp: str, signature: str, body: bytes, secret: str, *, now: float) -> bool:
    """Whether Slack signed these bytes within the last five minutes (Slack's v0 scheme)."""
    if not _TIMESTAMP.fullmatch(timestamp) or not _SIGNATURE.fullmatch(signature):
        return False
    if abs(now - int(timestamp)) > SIGNATURE_SECONDS:
        return False
    expected = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"v0={expected}", signature)
