"""Calls to Slack's Web API that are paced, have a timeout and are never repeated blindly.

A call ends in one of three ways. It returns; or Slack says no (`SlackRefused`); or it is unknown whether it happened
(`SlackUnanswered`), and the caller looks before it calls again. Only rate limits are waited for and repeated here,
because Slack says that a limited call did nothing.

Neither exceptions nor log lines hold message text or tokens.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot import tracing
from bot.alerts import Alerts
from bot.clock import Clock
from bot.slack.api.errors import DEAD_TOKEN, LIMITED, TRANSIENT, SlackRefused, SlackUnanswered
from bot.slack.rate_limiter import RateLimiter, TooLong

logger = logging.getLogger(__name__)

Block = Mapping[str, Any]
"""One Block Kit block, as JSON."""
Chunk = Mapping[str, Any]
"""One piece of a stream: `markdown_text`, `task_update`, `plan_update` or `blocks`."""
Ready = Callable[[], Awaitable[None]]
"""Awaited directly before a call leaves, each time it does. If it raises, the call ends and did nothing."""
Request = Callable[..., Awaitable[AsyncSlackResponse]]
"""A method of the SDK, with its arguments. It takes `cursor` and `limit` if it is paged."""

CALL_SECONDS = 10.0
"""The timeout of one HTTP exchange."""
RATE_LIMIT_TIMEOUT = 60.0
"""How long a call can wait for rate limits, all waits together."""
UNSUPPORTED_SECONDS = 600.0
"""A feature that Slack refused is tried again after this time."""
TOKEN_CHECK_INTERVAL = 300.0
"""Seconds without a call after which Slack is asked whether it still takes the token."""
REFUSED_TOKEN_RETRY_INTERVAL = 5.0
"""How often a token that Slack refused is tried again, just to see whether it works."""
PAGES = 20
"""The most pages that are read from a list."""
PAGE_LIMITS = {
    "conversations.history": 200,
    "conversations.members": 999,
    "conversations.replies": 200,
    "users.conversations": 200,
}
"""Items per page, by paged method. Slack recommends 200 (https://docs.slack.dev/apis/web-api/pagination). The members
of a large channel are fetched in the largest pages that are documented. A limit above that is `invalid_limit`."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the app is in the workspace of its token."""

    team: str
    user: str
    """The bot's user, `U…`."""
    bot_id: str
    """`B…`. Every message that the app posts has it."""
    url: str
    """The URL of the workspace."""
    team_name: str

    def link_to(self, channel: str, ts: str) -> str:
        """The address of a message in the workspace."""
        return f"{self.url}archives/{channel}/p{ts.replace('.', '')}"


class Unsupported:
    """Names of features that Slack refused. Each is believed for ten minutes (`UNSUPPORTED_SECONDS`) and then tried
    again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def add(self, feature: str) -> None:
        """Remember that Slack does not support this here."""
        now = self._clock.monotonic()
        self._until = {name: until for name, until in self._until.items() if until > now}
        logger.info("not supported here", extra={"feature": feature, "seconds": UNSUPPORTED_SECONDS})
        self._until[feature] = now + UNSUPPORTED_SECONDS

    def __contains__(self, feature: str) -> bool:
        return self._clock.monotonic() < self._until.get(feature, -math.inf)


@asynccontextmanager
async def open_web_client(*, token: str, base_url: str | None) -> AsyncIterator[AsyncWebClient]:
    """The SDK's client, with an HTTP session of its own. `base_url` ends in `/api/`; None is Slack itself."""
    async with aiohttp.ClientSession() as session:
        url = base_url or AsyncWebClient.BASE_URL
        web = AsyncWebClient(token=token, base_url=url, session=session, retry_handlers=[])
        if urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1"):
            web.proxy = None  # the SDK takes one from the environment and ignores NO_PROXY
        yield web


class SlackApi:
    """The way of every call. Methods raise `SlackRefused` and `SlackUnanswered` unless they say otherwise."""

    def __init__(self, web: AsyncWebClient, *, clock: Clock, rate_limiter: RateLimiter) -> None:
        self.web = web
        """The SDK's client, for Bolt."""
        self.unsupported = Unsupported(clock)
        """What this workspace recently refused as unsupported."""
        self._clock = clock
        self._host = urlsplit(web.base_url).hostname or ""
        self._rate_limiter = rate_limiter
        self._alerts = Alerts(now=clock.monotonic)
        self.observe: Callable[[str, str, float], None] = _observe_nothing
        """Hears of each call: its method, how it ended (ok, ratelimited, refused, unanswered), and its seconds."""
        self._token_fault: str | None = None
        self._token_asked = -math.inf
        self._answered_at = clock.monotonic()
        """When Slack last took the token."""
        self._identity: Identity | None = None
        self._scopes = ""
        """What the token may do, as Slack's latest answer said."""

    async def auth(self) -> Identity:
        """Who the app is. Slack is asked once."""
        if self._identity is None:
            answer = await self.call("auth.test", self.web.auth_test)
            self._identity = Identity(
                team=read_text(answer, "team_id"),
                user=read_text(answer, "user_id"),
                bot_id=read_text(answer, "bot_id"),
                url=read_text(answer, "url"),
                team_name=read_text(answer, "team"),
            )
        return self._identity

    def has_scope(self, scope: str) -> bool:
        """Whether the app's token has a scope. False if Slack does not say, or recently refused a call without it."""
        return scope in map(str.strip, self._scopes.split(",")) and scope not in self.unsupported

    @property
    def proxy(self) -> str | None:
        """The HTTP proxy to Slack. None: no proxy."""
        return self.web.proxy

    @property
    def http(self) -> aiohttp.ClientSession:
        """The session of every call, for Slack's addresses that are not methods."""
        session = self.web.session
        if session is None:
            raise RuntimeError("the client was built without a session")
        return session

    @property
    def token(self) -> str:
        """The app's token. It goes to Slack's own hosts and nowhere else."""
        return self.web.token or ""

    @property
    def base_url(self) -> str:
        """The URL of the Web API."""
        return self.web.base_url

    @property
    def team(self) -> str:
        """The workspace of the token. Every limit applies to an app in one workspace."""
        return self._identity.team if self._identity is not None else ""

    async def find_token_fault(self) -> str | None:
        """Why Slack refuses the app's token; None if it doesn't. While it does, Slack is asked again now and then.

        So it is if nobody has called Slack for TOKEN_CHECK_INTERVAL.
        """
        now = self._clock.monotonic()
        is_unknown = now - max(self._answered_at, self._token_asked) >= TOKEN_CHECK_INTERVAL
        is_refused = self._token_fault is not None and now - self._token_asked >= REFUSED_TOKEN_RETRY_INTERVAL
        if is_refused or (is_unknown and self._identity is not None):
            self._token_asked = now
            with suppress(SlackRefused, SlackUnanswered):
                await self.call("auth.test", self.web.auth_test, patience=0.0)
        return self._token_fault

    async def open_socket(self, app_token: str) -> str:
        """Get a Socket Mode address, which works once. Raises SlackRefused if the app token is not accepted."""
        request = partial(self.web.apps_connections_open, app_token=app_token)
        return read_text(await self.call("apps.connections.open", request), "url")

    async def call(
        self,
        method: str,
        request: Request,
        *,
        channel: str = "",
        patience: float = RATE_LIMIT_TIMEOUT,
        done: frozenset[str] | set[str] = frozenset(),
        ready: Ready | None = None,
    ) -> dict[str, Any]:
        """Make a call and wait for rate limits. `done` are refusals which mean that the goal is already reached."""
        attributes = {"rpc.system.name": "slack", "rpc.method": method, "server.address": self._host}
        with tracing.span(method, attributes, kind="client", inside=True):
            return await self._call(method, request, channel=channel, patience=patience, done=done, ready=ready)

    async def _call(
        self,
        method: str,
        request: Request,
        *,
        channel: str,
        patience: float,
        done: frozenset[str] | set[str],
        ready: Ready | None,
    ) -> dict[str, Any]:
        deadline = self._clock.monotonic() + patience
        while True:
            await self.enter(method, channel, patience=max(0.0, deadline - self._clock.monotonic()))
            if ready is not None:
                await ready()
            try:
                answer = await self._exchange(method, request)
            except SlackRefused as refusal:
                if refusal.error in done:
                    return {}
                if refusal.error == "account_inactive" and await self._token_works(method):
                    # Slack uses the same word for a person who was deactivated.
                    raise SlackRefused(method, "user_disabled", refusal.details) from None
                self._note_token(refusal)
                raise
            except SlackUnanswered as failure:
                if failure.reason != "ratelimited":
                    raise
                logger.warning("rate limited", extra={"method": method, "seconds": failure.retry_after})
                await self._rate_limiter.block(self.team, method, channel, failure.retry_after)
            else:
                if method != "apps.connections.open":  # it has a token of its own
                    self._token_fault = None
                    self._answered_at = self._clock.monotonic()
                return answer

    async def pages(self, method: str, request: Request) -> AsyncIterator[dict[str, Any]]:
        """Read the pages of a list, at most PAGES. `method` is one of `PAGE_LIMITS`."""
        cursor: str | None = None
        for _ in range(PAGES):
            page = await self.call(method, partial(request, cursor=cursor, limit=PAGE_LIMITS[method]))
            yield page
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return
        logger.warning("a list was cut", extra={"method": method, "pages": PAGES})

    async def enter(self, method: str, channel: str = "", *, patience: float = 0.0) -> None:
        """Wait until the rate limits allow a call. If that takes too long, raise SlackUnanswered."""
        try:
            await self._rate_limiter.enter(self.team, method, channel, patience=patience)
        except TooLong as late:
            raise SlackUnanswered(method, "ratelimited", sent=False, retry_after=late.seconds) from None

    async def _token_works(self, method: str) -> bool:
        """Whether Slack takes the app's token. Then it refused `method` for another reason."""
        if method in ("auth.test", "apps.connections.open") or self._identity is None:
            return False
        try:
            await self._exchange("auth.test", self.web.auth_test)
        except (SlackRefused, SlackUnanswered):
            return False
        return True

    def _note_token(self, refusal: SlackRefused) -> None:
        has_worked = self._identity is not None  # otherwise the start reports it
        if refusal.error in DEAD_TOKEN and has_worked and refusal.method != "apps.connections.open":
            self._token_fault = refusal.error
            self._alerts.tell(
                logger, "Slack refuses the app's token", about=refusal.error, slack=refusal.error, method=refusal.method
            )

    async def _exchange(self, method: str, request: Request) -> dict[str, Any]:
        began, ended = self._clock.monotonic(), "unanswered"
        try:
            answer = await self._send(method, request)
        except SlackRefused:
            ended = "refused"
            raise
        except SlackUnanswered as failure:
            ended = "ratelimited" if failure.reason == "ratelimited" else ended
            raise
        else:
            ended = "ok"
            return answer
        finally:
            self.observe(method, ended, self._clock.monotonic() - began)

    async def _send(self, method: str, request: Request) -> dict[str, Any]:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                response = await request()
        except SlackApiError as error:
            raise _failure(method, error.response) from None
        except TimeoutError:
            raise SlackUnanswered(method, "timeout") from None
        except aiohttp.ClientConnectorError:
            raise SlackUnanswered(method, "connection_refused", sent=False) from None
        except (aiohttp.ClientError, OSError):
            raise SlackUnanswered(method, "connection_lost") from None
        except (SlackClientError, ValueError, AttributeError, RecursionError):
            # The SDK fails on answers that are not the JSON object it expects.
            raise SlackUnanswered(method, "unreadable") from None
        data = response.data
        if not isinstance(data, dict):
            raise SlackUnanswered(method, "unreadable")
        if method != "apps.connections.open":  # it has a token of its own
            self._scopes = str(response.headers.get("x-oauth-scopes", self._scopes))
        return data


def _observe_nothing(method: str, ended: str, seconds: float) -> None:
    del method, ended, seconds


def _failure(method: str, response: object) -> SlackRefused | SlackUnanswered:
    """Turn a failed exchange into an exception. The SDK passes its own response or, for a broken body, aiohttp's."""
    if not isinstance(response, AsyncSlackResponse):
        return SlackUnanswered(method, "unreadable")
    data = response.data if isinstance(response.data, dict) else {}
    error = str(data.get("error") or "")
    if response.status_code == 429 or error in LIMITED:
        wait = _retry_after(response.headers.get("Retry-After"))
        return SlackUnanswered(method, "ratelimited", sent=False, retry_after=wait)
    if response.status_code >= 500 or not error:
        return SlackUnanswered(method, f"http_{response.status_code}")
    if error in TRANSIENT:
        return SlackUnanswered(method, error)
    return SlackRefused(method, error, _details(data))


def _retry_after(value: object) -> float:
    """Seconds to wait, whole or decimal. A value that is missing or invalid counts as one second."""
    try:
        seconds = float(str(value))
    except ValueError:
        return 1.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 1.0


def _details(data: Mapping[str, Any]) -> list[str]:
    metadata = data.get("response_metadata")
    messages = metadata.get("messages") if isinstance(metadata, dict) else None
    found = [*(data.get("errors") or ()), *(messages or ())]
    if needed := data.get("needed"):
        found.append(f"needs the scope {needed}")
    return [str(detail) for detail in found]


def read_text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
