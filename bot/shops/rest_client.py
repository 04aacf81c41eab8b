"""One shop of the REST contract over HTTP: how it is asked, and which of its answers are the contract's.

A look-up raises ShopUnavailable without a usable answer. A request that changes something never does: what came of it
is told by whether a byte of it left.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from yarl import URL

from bot.alerts import Alerts
from bot.shops.actions import ActionRequest
from bot.shops.port import ShopRefuses, ShopUnavailable
from bot.shops.transport import NotSent, Reply, Transport, open_transport
from bot.shops.wire import RefusalAnswer

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer", bound=BaseModel)


@asynccontextmanager
async def open_rest_client(url: str, token: str) -> AsyncIterator["RestClient"]:
    """The shop at `url`, asked with the bearer `token`. It connects at the first question."""
    async with open_transport({"Authorization": f"Bearer {token}"}) as transport:
        yield RestClient(transport, url.rstrip("/"))


class RestClient:
    """Asks one shop, and checks its answers."""

    def __init__(self, transport: Transport, url: str) -> None:
        self._transport = transport
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
        try:
            url = self._at(request.path)
        except ValueError as error:
            raise NotSent("the path is none") from error
        return await self._transport.act(
            request.method, url, headers=request.headers, body=request.body.encode(), seconds=seconds
        )

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
        reply = await self._transport.ask(method, url, headers=headers, body=body)
        return reply.status, reply.body

    def _parsed(self, kind: type[_Answer], status: int, body: bytes) -> _Answer:
        if status in (401, 403):
            self.refuses_token(status)
            raise ShopRefuses(f"the shop refuses it with status {status}")
        if status != 200:
            raise ShopUnavailable(f"the shop answered with status {status}", status=status)
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            self.breaks_contract(kind.__name__, faulty_fields(error))
            raise ShopUnavailable("the shop's answer is not what its contract says", status=status) from None


def faulty_fields(error: ValidationError) -> list[str]:
    """Where an answer breaks the contract, without the values."""
    return sorted({".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False)})


def error_code(body: bytes) -> str:
    """The code of the contract's error body. Empty if this is no such body."""
    try:
        return RefusalAnswer.model_validate_json(body).error.code
    except ValidationError:
        return ""
