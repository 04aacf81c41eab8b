"""One shop's HTTP: how it is asked, how long, how much of an answer is read, and what is never sent to it.

A look-up without a usable answer raises ShopUnavailable. A request that changes something raises NotSent if no byte
left, and Unanswered if the shop may have acted.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError
from yarl import URL

from bot.alerts import Alerts
from bot.errors import FrontdeskError
from bot.shops.actions import ActionRequest
from bot.shops.port import ShopRefuses, ShopUnavailable
from bot.shops.wire import RefusalAnswer

logger = logging.getLogger(__name__)

ANSWER_LIMIT = 256 * 1024
"""Bytes of one answer. A longer one is not used at all."""
CONNECTIONS = 20
"""Look-ups at the same time."""
ACTION_CONNECTIONS = 4
"""Requests that change something, at the same time. Each has a connection of its own."""

_Answer = TypeVar("_Answer", bound=BaseModel)


@dataclass(slots=True)
class _Departure:
    """Whether a request may have left."""

    is_connected: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A shop's whole answer to a request that changes something."""

    status: int
    body: bytes

    def error_code(self) -> str:
        """The code of the contract's error body. Empty if this is no such body."""
        return error_code(self.body)


class NotSent(FrontdeskError):
    """No byte of the request left."""


class Unanswered(FrontdeskError):
    """The request may have left, and there is no usable answer."""


@asynccontextmanager
async def open_rest_client(url: str, token: str) -> AsyncIterator["RestClient"]:
    """The shop at `url`, asked with the bearer `token`. It connects at the first question."""
    lookups = aiohttp.TCPConnector(limit=CONNECTIONS)
    # A connection that was used before can have ended unnoticed, and then nobody knows whether a request arrived.
    actions = aiohttp.TCPConnector(limit=ACTION_CONNECTIONS, force_close=True)
    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(_note_departure)
    trace.on_connection_reuseconn.append(_note_departure)
    async with _session(token, lookups) as asking, _session(token, actions, trace) as acting:
        yield RestClient(asking, acting, url.rstrip("/"))


def _session(token: str, connector: aiohttp.TCPConnector, *traces: aiohttp.TraceConfig) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        # Compressed answers are refused: unpacking could turn a small body into a large one.
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        },
        auto_decompress=False,
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        trace_configs=list(traces),
    )


async def _note_departure(_: aiohttp.ClientSession, context: Any, __: Any) -> None:
    context.trace_request_ctx.is_connected = True


class RestClient:
    """Sends requests to one shop, and reads its answers up to a limit."""

    def __init__(self, asking: aiohttp.ClientSession, acting: aiohttp.ClientSession, url: str) -> None:
        self._asking = asking
        self._acting = acting
        self._url = url
        self.alerts = Alerts()

    async def get(self, path: str, kind: type[_Answer], *, may_lack: bool = False, **query: str) -> _Answer | None:
        """One answer, checked. None for the contract's own "not found".

        `may_lack`: not every shop has this path, so any 404 is None.
        """
        status, body = await self._exchange("GET", self._at(path).update_query(query))
        if status == 404 and (may_lack or error_code(body) == "not_found"):
            return None
        return self._parsed(kind, status, body)

    async def ask(self, path: str, kind: type[_Answer], body: bytes) -> _Answer | str:
        """The answer to a question that needs a body and changes nothing, or the code with which the shop refuses."""
        status, answer = await self._exchange("POST", self._at(path), body)
        if status in (404, 409, 422) and (code := error_code(answer)):
            return code
        return self._parsed(kind, status, answer)

    async def act(self, request: ActionRequest, *, seconds: float) -> Reply:
        """Send a request that changes something, once, as it is. Raises NotSent or Unanswered."""
        departure = _Departure()
        try:
            url = self._at(request.path)
        except ValueError as error:
            raise NotSent("the path is none") from error
        try:
            async with (
                asyncio.timeout(seconds),
                self._acting.request(
                    request.method,
                    url,
                    data=request.body.encode(),
                    headers=request.headers,
                    allow_redirects=False,
                    trace_request_ctx=departure,
                ) as response,
            ):
                return Reply(response.status, await _read(response))
        except (aiohttp.ClientError, OSError, ValueError, ShopUnavailable) as error:
            kind = Unanswered if departure.is_connected else NotSent
            raise kind(type(error).__name__) from error

    def refuses_token(self, status: int) -> None:
        """Tell the operator that the shop does not take the token."""
        self.alerts.tell(logger, "the shop refuses SHOP_TOKEN", about="", status=status)

    def breaks_contract(self, about: str, fields: list[str]) -> None:
        """Tell the operator which fields of an answer are not what the contract says."""
        self.alerts.tell(logger, "the shop's answer breaks its contract", about=about, answer=about, fields=fields[:8])

    def _at(self, path: str) -> URL:
        if not path.startswith("/") or path.startswith("//"):
            raise ValueError("a path begins with one slash")
        return URL(self._url + path)

    async def _exchange(self, method: str, url: URL, body: bytes | None = None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"} if body is not None else None
        try:
            async with self._asking.request(method, url, data=body, headers=headers, allow_redirects=False) as response:
                return response.status, await _read(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise ShopUnavailable(f"the shop cannot be reached: {type(error).__name__}") from error

    def _parsed(self, kind: type[_Answer], status: int, body: bytes) -> _Answer:
        if status in (401, 403):
            self.refuses_token(status)
            raise ShopRefuses(f"the shop refuses it with status {status}")
        if status != 200:
            raise ShopUnavailable(f"the shop answered with status {status}")
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            self.breaks_contract(kind.__name__, faulty_fields(error))
            raise ShopUnavailable("the shop's answer is not what its contract says") from None


def faulty_fields(error: ValidationError) -> list[str]:
    """Where an answer breaks the contract, without the values."""
    return sorted({".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False)})


def error_code(body: bytes) -> str:
    """The code of the contract's error body. Empty if this is no such body."""
    try:
        return RefusalAnswer.model_validate_json(body).error.code
    except ValidationError:
        return ""


async def _read(response: aiohttp.ClientResponse) -> bytes:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ShopUnavailable("the shop packed its answer though it was asked not to")
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_LIMIT:
            raise ShopUnavailable(f"the shop's answer is longer than {ANSWER_LIMIT} bytes")
    return bytes(body)
