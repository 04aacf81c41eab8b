"""The shop of a declared connector over HTTP: every request with its credentials, at the connector's pace.

Client  `look_up` asks and gives the body of an answer. `act` sends a stored request once.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yarl import URL

from bot.alerts import Alerts
from bot.shops.actions import ActionRequest, NotSupported
from bot.shops.declared.answers import Verdicts, read_json
from bot.shops.declared.credentials import Credentials, Outgoing
from bot.shops.declared.expressions import Unusable
from bot.shops.declared.file import Call, Limits
from bot.shops.declared.pace import Pace
from bot.shops.declared.templates import Rendered, Scope, build_request
from bot.shops.port import ShopRefuses, ShopUnavailable
from bot.shops.transport import NotSent, Reply, Transport

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    """The body of an answer that is no error."""

    value: Any
    headers: Mapping[str, str]
    url: URL
    """What was asked, without credentials."""


class Client:
    """One shop."""

    def __init__(
        self,
        name: str,
        url: str,
        transport: Transport,
        credentials: Credentials,
        verdicts: Verdicts,
        *,
        limits: Limits,
    ) -> None:
        self._name = name
        self._url = url.rstrip("/")
        self._transport = transport
        self._credentials = credentials
        self._verdicts = verdicts
        self.pace = Pace(limits)
        self.alerts = Alerts()

    def url_of(self, request: Rendered | ActionRequest) -> URL:
        """Where the request goes. Raises ValueError if its path leads elsewhere."""
        if not request.path.startswith("/") or request.path.startswith("//"):
            raise ValueError("a path begins with one slash")
        return URL(self._url + request.path, encoded=True)

    async def look_up(self, call: Call, scope: Scope, *, query: Mapping[str, str] | None = None) -> Answer | None:
        """The answer. None if the shop says that it has no such record.

        Raises:
            NotSupported: the shop refuses, with a reason of ours.
            ShopUnavailable: everything else.
        """
        request = build_request(call, scope, query=query)
        return await self.fetch(request, self.url_of(request))

    async def fetch(self, request: Rendered, url: URL) -> Answer | None:
        """The same for a request that is made already, at another address of this shop."""
        outgoing = Outgoing(request.method, url, request.headers, request.body.encode())
        return self._read(await self.pace.exchange(lambda: self._exchange(outgoing)), url)

    async def act(self, request: ActionRequest, *, seconds: float) -> Reply:
        """Send a request that changes something, once. Raises NotSent or Unanswered."""
        if self.pace.is_open:
            raise NotSent("the shop failed too often")
        try:
            outgoing = Outgoing(request.method, self.url_of(request), request.headers, request.body.encode())
            reply = await self._act_signed(outgoing, seconds)
            if reply.status == 401 and self._credentials.forget():
                # It turned the request away for its credentials, so it did nothing.
                reply = await self._act_signed(outgoing, seconds)
        except (ShopUnavailable, ValueError) as error:
            raise NotSent(type(error).__name__) from error
        if reply.status == 429:
            self.pace.throttled(reply.headers.get("Retry-After"))
        return reply

    def is_refused(self, status: int) -> None:
        """Tell the operator that the shop does not take the credentials."""
        self.alerts.tell(
            logger,
            "the shop refuses the connector's credentials",
            about=self._name,
            connector=self._name,
            status=status,
        )

    def is_unusable(self, fault: Unusable) -> None:
        """Tell the operator which field of an answer cannot be used."""
        self.alerts.tell(
            logger,
            "the shop's answer is not what the connector's file says",
            about=f"{self._name} {fault.field}",
            connector=self._name,
            field=fault.field,
            why=fault.why,
        )

    async def _exchange(self, outgoing: Outgoing) -> Reply:
        try:
            reply = await self._ask_signed(outgoing)
            if reply.status == 401 and self._credentials.forget():
                reply = await self._ask_signed(outgoing)
        except ShopRefuses:
            self.is_refused(401)
            raise
        return reply

    async def _ask_signed(self, outgoing: Outgoing) -> Reply:
        signed = await self._credentials.sign(outgoing)
        return await self._transport.ask(signed.method, signed.url, headers=signed.headers, body=signed.body or None)

    async def _act_signed(self, outgoing: Outgoing, seconds: float) -> Reply:
        try:
            async with asyncio.timeout(seconds):
                signed = await self._credentials.sign(outgoing)
        except TimeoutError as error:
            raise NotSent("no credentials in time") from error
        return await self._transport.act(
            signed.method, signed.url, headers=signed.headers, body=signed.body or None, seconds=seconds
        )

    def _read(self, reply: Reply, url: URL) -> Answer | None:
        verdict = self._verdicts.of(reply)
        match verdict.state if verdict else "":
            case "not_found":
                return None
            case "unauthorized":
                self.is_refused(reply.status)
                raise ShopRefuses(f"the shop refuses it with status {reply.status}")
            case "busy":
                raise self.pace.throttled(reply.headers.get("Retry-After"))
            case "refused" if verdict and verdict.refused:
                raise NotSupported(f"the shop refuses it with status {reply.status}", verdict.refused)
            case "":
                return Answer(self._json(reply), reply.headers, url)
            case _:
                raise ShopUnavailable(f"the shop answered with status {reply.status}", status=reply.status)

    def _json(self, reply: Reply) -> Any:
        try:
            return read_json(reply.body)
        except Unusable as fault:
            self.is_unusable(fault)
            raise
