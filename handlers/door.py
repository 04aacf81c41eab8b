"""The one entry for everything that Slack sends, by HTTP and by Socket Mode. A valid payload goes to Bolt.

take       read a payload, have it handled, and return the answer for Slack
decode     return the payload in the body of an HTTP request

Slack redelivers what is not acknowledged, and a malformed payload would be malformed again. So it is acknowledged,
counted, and logged once for each shape.
"""

import json
import logging
from collections.abc import Callable
from urllib.parse import parse_qsl

from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.alerts import Alerts
from bot.clock import Clock
from bot.errors import StoreUnavailable, Unstorable
from bot.telemetry import Metrics
from handlers.payloads import Malformed, kind_of, parse

logger = logging.getLogger(__name__)

NOBODY_LISTENS = 404
"""Bolt's status for a payload without a listener."""
FIELDS_LIMIT = 100
"""The largest number of fields in a form. Slack's forms have some fifteen."""
RATE_LIMITED_SECONDS = 600.0
"""How long `/healthz` reports that Slack has held events back, in seconds."""


class Unreadable(ValueError):
    """The body of a request is neither JSON nor a form of Slack's. The answer is 400."""


class Door:
    """Passes what Slack sends to one Bolt app."""

    def __init__(self, bolt: AsyncApp, metrics: Metrics, clock: Clock) -> None:
        self._bolt = bolt
        self._metrics = metrics
        self._now: Callable[[], float] = clock.monotonic
        self._alerts = Alerts(now=clock.monotonic)
        self._rate_limited_at: float | None = None
        bolt.error(self._failed)

    async def take(self, payload: object) -> BoltResponse:
        """Have a payload of any form handled. The answer has the status 200 unless Slack should send it again."""
        try:
            body = parse(payload)
        except Malformed as fault:
            return self._leave(fault)
        if kind_of(body) == "app_rate_limited":
            self._note_rate_limit(body.get("minute_rate_limited"))
            return BoltResponse(status=200)
        if kind_of(body) == "ssl_check":
            return BoltResponse(status=200)
        # In this mode Bolt uses the payload as it is, and does not parse it again.
        answer = await self._bolt.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=body))
        if answer.status == NOBODY_LISTENS:
            logger.debug("nobody listens to a payload", extra={"kind": kind_of(body)})
            return BoltResponse(status=200)
        return answer

    @property
    def impaired(self) -> str | None:
        """Return Slack's recent notice that it holds events back, in words. None if there is none."""
        if self._rate_limited_at is None or self._now() - self._rate_limited_at >= RATE_LIMITED_SECONDS:
            return None
        return "Slack: app_rate_limited, it drops events since there are too many"

    def _leave(self, fault: Malformed) -> BoltResponse:
        self._metrics.payload_malformed(fault.kind)
        self._alerts.tell_once(
            logger,
            "a payload of Slack's has a form that is not known; it is acknowledged and left",
            about=str(fault),
            kind=fault.kind,
            shape=fault.shape,
        )
        return BoltResponse(status=200)

    def _note_rate_limit(self, minute: object) -> None:
        self._rate_limited_at = self._now()
        self._metrics.rate_limited()
        self._alerts.tell(
            logger, "Slack drops events of ours since there are too many: app_rate_limited", about="", minute=minute
        )

    async def _failed(self, error: Exception) -> BoltResponse:
        """Return the answer for Slack if a listener fails before it has acknowledged."""
        match error:
            case Malformed():
                return self._leave(error)
            case Unstorable():
                return self._leave(Malformed("unknown", "something that the database cannot hold"))
            case StoreUnavailable():
                logger.warning("an interaction is not acknowledged", extra={"reason": str(error)})
                return BoltResponse(status=503)
        logger.error("a listener failed", exc_info=error)
        return BoltResponse(status=500)


def decode(content: bytes) -> object:
    """Return the payload in a request's body: JSON, or a form that is a command or has JSON in `payload`.

    The body decides, not its content type. Raises Unreadable if it is neither.
    """
    try:
        text = content.decode()
        if text.lstrip().startswith(("{", "[")):
            return json.loads(text)
        form = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_LIMIT))
        if "payload" in form:
            return json.loads(form["payload"])
    except (ValueError, RecursionError) as error:
        raise Unreadable(type(error).__name__) from None
    if not form.keys() & {"command", "ssl_check"}:
        raise Unreadable("a form without a payload")
    return form
