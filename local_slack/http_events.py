"""Signed HTTP: events, interactions and commands are posted to the app's request URL.

Slack signs each request (v0), waits three seconds, and repeats an event at once, after a minute and after five,
unless the app answers with `x-slack-no-retry: 1`.
"""

import asyncio
import hashlib
import hmac
import json
import secrets
from typing import Literal
from urllib.parse import urlencode

import aiohttp

from local_slack.deliveries import (
    HASTE,
    NEVER_SENT,
    UNANSWERED,
    VERIFICATION_TOKEN,
    WAITING,
    Delivery,
    EventBudget,
    Health,
    interaction_delivery,
)
from local_slack.faults import Disorder, Faults
from local_slack.workspace import Ack, Json, SlackError, Workspace

TOGETHER = 16
"""Requests under way at the same time."""

VERIFY_EVERY_SECONDS = 0.5
USER_AGENT = "Slackbot 1.0 (+https://api.slack.com/robots)"

REDIRECTS = 2

Outcome = Literal[
    "ok", "http_timeout", "http_error", "connection_failed", "ssl_error", "too_many_redirects", "no_retry"
]


class HttpEvents:
    """The transport for an app that listens at `events_url`. Interactions and commands go there too, unless they have
    addresses of their own."""

    def __init__(
        self, workspace: Workspace, faults: Faults, *, events_url: str, session: aiohttp.ClientSession
    ) -> None:
        self._workspace = workspace
        self._faults = faults
        self._url = events_url
        self._session = session
        self._together = asyncio.Semaphore(TOGETHER)
        self._under_way = 0
        self._order = Disorder(faults)
        self._budget = EventBudget(workspace)
        self._health = Health(workspace)
        self._turns = asyncio.Lock()
        """Requests whose order was changed leave one after the other."""

    def connection_url(self) -> str:
        raise SlackError("not_allowed_token_type")

    def event(self, event: Json, *, is_ext_shared: bool) -> None:
        if not self._workspace.events_enabled:
            return
        if (delivery := self._budget.delivery(event, is_ext_shared=is_ext_shared)) is None:
            return
        if self._under_way >= WAITING:
            self._give_up(delivery, NEVER_SENT)
            return
        self._under_way += 1
        self._workspace.background.start(self._deliver(delivery))

    async def interact(self, kind: str, payload: Json) -> Ack:
        delivery = interaction_delivery(self._workspace, kind, payload)
        url = self._url_of(kind, payload)
        form = payload if kind == "slash_commands" else {"payload": json.dumps(payload)}
        body = urlencode(form).encode()
        outcome, answer = await self._post(delivery, body, "application/x-www-form-urlencoded", url=url)
        if outcome != "ok":
            error = UNANSWERED if outcome == "http_timeout" else NEVER_SENT
            self._give_up(delivery, error)
            return Ack(ok=False, error=error)
        return Ack(ok=True, payload=answer)

    async def close(self) -> None:
        """Nothing stays open between requests."""

    async def verify(self) -> None:
        """Send `url_verification` until the app gives the challenge back."""
        while True:
            challenge = secrets.token_urlsafe(32)
            payload = {"token": VERIFICATION_TOKEN, "challenge": challenge, "type": "url_verification"}
            outcome, answer = await self._exchange(json.dumps(payload).encode(), "application/json", {})
            if outcome == "ok" and challenge in (answer.get("challenge"), answer.get("text")):
                break
            await asyncio.sleep(VERIFY_EVERY_SECONDS)
        self._workspace.note("ack", "url_verification")
        self._workspace.online = 1
        self._workspace.changed("presence")

    async def _deliver(self, delivery: Delivery) -> None:
        """Send an event and repeat it by the schedule."""
        body = json.dumps(delivery.payload).encode()
        try:
            for delay in (0, *self._workspace.rules.retry_delays):
                if delay:
                    await self._workspace.clock.sleep(delay)
                outcome = await self._attempt(delivery, body)
                if outcome in ("ok", "no_retry"):
                    return
                delivery.reason = outcome
            self._give_up(delivery, UNANSWERED)
        finally:
            self._under_way -= 1

    async def _attempt(self, delivery: Delivery, body: bytes) -> Outcome:
        fault = self._faults.take_delivery()
        if fault == "drop":
            self._workspace.note("delivery", delivery.name, ok=False, detail={"fault": fault})
            delivery.attempts += 1
            return "http_timeout"
        turn = asyncio.Event()
        if not self._order.leave(fault, turn.set):
            outcome = await self._send(delivery, body, fault)
        else:
            self._workspace.background.after(self._workspace.clock, self._workspace.rules.ack_seconds, turn.set)
            await turn.wait()
            async with self._turns:
                outcome = await self._send(delivery, body, fault)
        delivery.attempts += 1
        return outcome

    async def _send(self, delivery: Delivery, body: bytes, fault: str) -> Outcome:
        if fault == "duplicate":
            await self._post(delivery, body, "application/json")
        haste = HASTE if fault == "hasty" else 1
        outcome, _ = await self._post(delivery, body, "application/json", haste=haste)
        return "http_timeout" if fault == "forget" else outcome

    def _url_of(self, kind: str, payload: Json) -> str:
        """Where an interaction or a command is posted."""
        urls = self._workspace.urls
        if kind == "slash_commands":
            named = (each.get("url") for each in self._workspace.commands if each["command"] == payload["command"])
            return next((url for url in named if url), self._url)
        interactivity = urls.get("interactivity", self._url)
        return urls.get("options", interactivity) if payload["type"] == "block_suggestion" else interactivity

    async def _post(
        self, delivery: Delivery, body: bytes, content_type: str, *, url: str = "", haste: float = 1
    ) -> tuple[Outcome, Json]:
        """One signed request and how it went; the answer's body as JSON, or as `{"text": …}`."""
        headers: dict[str, str] = {}
        if delivery.attempts:
            headers = {"X-Slack-Retry-Num": str(delivery.attempts), "X-Slack-Retry-Reason": delivery.reason}
        kind = "retry" if delivery.attempts else "delivery"
        self._workspace.note(kind, delivery.name, detail={"type": delivery.kind, "payload": delivery.payload})
        outcome, answer = await self._exchange(body, content_type, headers, url=url, haste=haste)
        if delivery.kind == "events_api":
            self._health.count(ok=outcome == "ok")
        self._workspace.note("ack", delivery.name, ok=outcome == "ok", detail=answer or {"outcome": outcome})
        return outcome, answer

    async def _exchange(
        self, body: bytes, content_type: str, headers: dict[str, str], *, url: str = "", haste: float = 1
    ) -> tuple[Outcome, Json]:
        signature = signed(body, self._workspace.signing_secret, at=self._workspace.clock.time())
        headers = headers | signature | {"Content-Type": content_type, "User-Agent": USER_AGENT}
        try:
            async with (
                self._together,
                asyncio.timeout(self._workspace.rules.ack_seconds * haste),
                self._session.post(
                    url or self._url, data=body, headers=headers, max_redirects=REDIRECTS + 1
                ) as response,
            ):
                text = await response.text()
        except TimeoutError:
            return "http_timeout", {}
        except aiohttp.TooManyRedirects:
            return "too_many_redirects", {}
        except aiohttp.ClientSSLError:
            return "ssl_error", {}
        except aiohttp.ClientError:
            return "connection_failed", {}
        if response.status // 100 != 2:
            return "no_retry" if response.headers.get("x-slack-no-retry") == "1" else "http_error", {}
        return "ok", _body(text)

    def _give_up(self, delivery: Delivery, error: str) -> None:
        self._workspace.note("error", delivery.name, ok=False, detail={"error": error, "payload": delivery.payload})


def signed(body: bytes, secret: str, *, at: float) -> dict[str, str]:
    """The headers that show an app who sent the body, and when."""
    timestamp = str(int(at))
    digest = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


def _body(text: str) -> Json:
    """What an app answered: JSON, plain text or nothing."""
    if not text.strip():
        return {}
    try:
        decoded = json.loads(text)
    except ValueError:
        decoded = text
    return decoded if isinstance(decoded, dict) else {"text": text}
