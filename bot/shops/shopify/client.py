"""Shopify's GraphQL Admin API over HTTP: a document with its variables, and what an answer means.

Client.ask      ask a query; every fault is ShopUnavailable
Client.act      send a stored mutation once
Client.payload  what a mutation's answer says

Errors arrive with status 200: `errors` for the whole request, `userErrors` where a mutation said no.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import orjson
from yarl import URL

from bot.alerts import Alerts
from bot.shops.actions import ActionRequest, Throttled
from bot.shops.declared.answers import read_json
from bot.shops.declared.credentials import Credentials, Outgoing
from bot.shops.declared.expressions import Unusable
from bot.shops.declared.file import Limits
from bot.shops.declared.pace import Pace
from bot.shops.port import ShopRefuses, ShopUnavailable
from bot.shops.shopify.cost import WAIT_LIMIT, CostBucket
from bot.shops.shopify.documents import VERSION
from bot.shops.transport import NotSent, Reply, Transport

logger = logging.getLogger(__name__)

PATH = f"/admin/api/{VERSION}/graphql.json"
SERVED_BY = "X-Shopify-API-Version"
"""The header with the version that really answered. Shopify takes the oldest one when the asked one has ended."""


class TooCostly(ShopUnavailable):
    """The document costs more than one request may. Nothing was done."""


class MutationFailed(Exception):
    """A mutation had an answer, and it is none that says what happened."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
        """Shopify's code of the error, such as `THROTTLED`. Empty if it has none."""


class Client:
    """One shop."""

    def __init__(self, url: str, transport: Transport, credentials: Credentials, limits: Limits) -> None:
        self._url = URL(url.rstrip("/") + PATH, encoded=True)
        self._transport = transport
        self._credentials = credentials
        self._bucket = CostBucket()
        self._pace = Pace(limits)
        self.alerts = Alerts()

    async def ask(self, document: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data of a query.

        Raises:
            TooCostly: the document costs more than one request may.
            ShopRefuses: the token, or its scopes, do not allow it.
            ShopUnavailable: everything else.
        """
        wait = self._bucket.wait_for(document)
        if wait > WAIT_LIMIT:
            raise Throttled(wait)
        self._bucket.take(document)
        await asyncio.sleep(wait)
        outgoing = Outgoing("POST", self._url, _JSON, body_of(document, variables))
        return self._data(await self._pace.exchange(lambda: self._ask_signed(outgoing)), document)

    async def act(self, request: ActionRequest, *, seconds: float) -> Reply:
        """Send a mutation once, as it was stored. Raises NotSent or Unanswered."""
        if self._pace.is_open:
            raise NotSent("the shop failed too often")
        if request.path != PATH:
            raise NotSent("it is a request of another version")
        outgoing = Outgoing("POST", self._url, _JSON, request.body.encode())
        reply = await self._act_signed(outgoing, seconds)
        if reply.status == 401 and self._credentials.forget():
            # It turned the request away for its token, so it did nothing.
            reply = await self._act_signed(outgoing, seconds)
        return reply

    def payload(self, reply: Reply) -> Mapping[str, Any]:
        """What the one field of a mutation answered. Raises MutationFailed; its code says whether it ran."""
        if reply.status == 429:
            raise MutationFailed("THROTTLED")
        if reply.status in (401, 402, 403, 423):
            self.is_refused(f"status {reply.status}")
            raise MutationFailed("ACCESS_DENIED")
        try:
            answer = read_json(reply.body) if reply.status == 200 else None
        except Unusable:
            answer = None
        if not isinstance(answer, Mapping):
            raise MutationFailed("")
        data = answer.get("data")
        found = next(iter(data.values()), None) if isinstance(data, Mapping) else None
        code = _code(answer)
        if not isinstance(found, Mapping):
            raise MutationFailed(code or "")
        if code is not None:
            # The mutation ran, and an error below it leaves open with what result.
            raise MutationFailed("")
        return found

    def is_refused(self, what: str) -> None:
        """Tell the operator that the shop does not take the token, or that it lacks a scope."""
        self.alerts.tell(logger, "Shopify refuses the connector", about=what, what=what)

    def is_unusable(self, what: str, fields: list[str]) -> None:
        """Tell the operator which fields of an answer cannot be used."""
        self.alerts.tell(
            logger, "Shopify's answer is not what its API says", about=what, answer=what, fields=fields[:8]
        )

    async def _ask_signed(self, outgoing: Outgoing) -> Reply:
        for _ in range(2):
            signed = await self._credentials.sign(outgoing)
            reply = await self._transport.ask(signed.method, signed.url, headers=signed.headers, body=signed.body)
            if reply.status != 401 or not self._credentials.forget():
                break
        return reply

    async def _act_signed(self, outgoing: Outgoing, seconds: float) -> Reply:
        try:
            async with asyncio.timeout(seconds):
                signed = await self._credentials.sign(outgoing)
        except (TimeoutError, ShopUnavailable) as error:
            raise NotSent("no token in time") from error
        return await self._transport.act(
            signed.method, signed.url, headers=signed.headers, body=signed.body, seconds=seconds
        )

    def _data(self, reply: Reply, document: str) -> Mapping[str, Any]:
        if reply.status in (401, 402, 403, 423):
            # 402: the shop's plan is frozen. 423: the shop is locked.
            self.is_refused(f"status {reply.status}")
            raise ShopRefuses(f"Shopify refuses it with status {reply.status}")
        if reply.status == 429:
            raise self._pace.throttled(reply.headers.get("Retry-After"))
        if reply.status != 200:
            raise ShopUnavailable(f"Shopify answered with status {reply.status}", status=reply.status)
        self._compare_version(reply)
        try:
            answer = read_json(reply.body)
        except Unusable as fault:
            self.is_unusable("the body", [fault.field])
            raise
        if not isinstance(answer, Mapping):
            raise ShopUnavailable("Shopify's answer is no object")
        self._bucket.note(document, answer.get("extensions"))
        self._check_errors(answer, document)
        data = answer.get("data")
        if not isinstance(data, Mapping):
            raise ShopUnavailable("Shopify's answer has no data")
        return data

    def _check_errors(self, answer: Mapping[str, Any], document: str) -> None:
        match _code(answer):
            case None:
                return
            case "THROTTLED":
                wait = self._bucket.wait_for(document)
                raise self._pace.throttled(str(max(round(wait), 1)))
            case "MAX_COST_EXCEEDED":
                raise TooCostly("Shopify finds the question too costly")
            case "ACCESS_DENIED":
                self.is_refused(_first_message(answer))
                raise ShopRefuses(f"Shopify denies access: {_first_message(answer)}")
            case code:
                raise ShopUnavailable(f"Shopify answers with the error {code or 'without a code'}")

    def _compare_version(self, reply: Reply) -> None:
        served = reply.headers.get(SERVED_BY)
        if served and served != VERSION:
            self.alerts.tell_once(
                logger,
                "Shopify answers in another version of its API than Frontdesk was written for",
                about=served,
                asked=VERSION,
                served=served,
            )


def body_of(document: str, variables: Mapping[str, Any]) -> bytes:
    """The body of a request."""
    return orjson.dumps({"query": document, "variables": dict(variables)}, option=orjson.OPT_SORT_KEYS)


_JSON = {"Content-Type": "application/json"}


def _errors(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    errors = answer.get("errors")
    found = errors if isinstance(errors, list) else [errors] if errors else []
    return [each if isinstance(each, Mapping) else {"message": str(each)} for each in found]


def _code(answer: Mapping[str, Any]) -> str | None:
    """The code of the first error. None if there is no error, empty if it has no code."""
    for error in _errors(answer):
        extensions = error.get("extensions")
        return str(extensions.get("code") or "") if isinstance(extensions, Mapping) else ""
    return None


def _first_message(answer: Mapping[str, Any]) -> str:
    return " ".join(str(error.get("message", "")) for error in _errors(answer)[:1])[:200]
