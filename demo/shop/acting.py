"""The requests that change something: who may send them, how often, and what is answered the second time."""

import asyncio
import json
from types import TracebackType
from typing import Self
from uuid import UUID

from aiohttp import web

from demo.shop.actions import KINDS, NEEDS_REASON, Clerk, Refused
from demo.shop.faults import FAULT, Fault, refusal
from demo.shop.keys import Kept, Keys, fingerprint
from demo.shop.records import Json, Records


class Acting:
    """`/capabilities`, `/quotes` and `/actions` over the shop's records. Entered, and left with the shop."""

    def __init__(self, records: Records, *, has_quotes: bool) -> None:
        self._records = records
        self._has_quotes = has_quotes
        self._keys = Keys()
        self._later: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._later:
            task.cancel()
        await asyncio.gather(*self._later, return_exceptions=True)

    def routes(self) -> list[web.RouteDef]:
        """Where the requests come in."""
        routes = [
            web.get("/capabilities", self._capabilities),
            web.post("/actions", self._act),
            web.get("/actions/{key}", self._outcome),
        ]
        return [*routes, web.post("/quotes", self._quote)] if self._has_quotes else routes

    async def _capabilities(self, _: web.Request) -> web.StreamResponse:
        content = {"actions": list(KINDS), "quotes": self._has_quotes, "needs_reason": list(NEEDS_REASON)}
        return web.json_response(content)

    async def _quote(self, request: web.Request) -> web.StreamResponse:
        try:
            body = _object(await request.read())
            return web.json_response(_clerk(self._records, body).quote())
        except Refused as why:
            return refusal(why.status, why.code, str(why))

    async def _act(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        try:
            key, body = _key(request.headers.get("Idempotency-Key", "")), _object(raw)
        except Refused as why:
            return refusal(why.status, why.code, str(why))
        known = self._keys.find(key)
        if known and known.fingerprint != fingerprint(raw):
            return refusal(422, "key_reused", "This key came with another body before.")
        if known and known.answer is None:
            return refusal(409, "in_progress", "A request with this key is being worked on.")
        if known:
            return web.json_response(known.answer, status=known.status)
        kept = self._keys.begin(key, raw)
        fault = request.get(FAULT)
        if isinstance(fault, Fault) and fault.kind == "in_progress":
            task = asyncio.create_task(self._act_later(fault.seconds, kept, key, body, request.headers.get("If-Match")))
            self._later.add(task)
            task.add_done_callback(self._later.discard)
            return refusal(409, "in_progress", "A request with this key is being worked on.")
        self._carry_out(kept, key, body, request.headers.get("If-Match"), fault)
        return web.json_response(kept.answer, status=kept.status)

    async def _act_later(self, seconds: float, kept: Kept, key: str, body: Json, revision: str | None) -> None:
        await asyncio.sleep(seconds)
        self._carry_out(kept, key, body, revision, None)

    def _carry_out(self, kept: Kept, key: str, body: Json, revision: str | None, fault: object) -> None:
        """Do it, and keep the answer for the key."""
        kind = fault.kind if isinstance(fault, Fault) else ""
        try:
            clerk = _clerk(self._records, body)
            if clerk.order and kind == "changed":
                clerk.order["revision"] = str(int(clerk.order["revision"]) + 1)
            _check_revision(clerk.order, revision)
            lines = body["arguments"].get("lines") or []
            if kind == "half" and len(lines) > 1:
                kept.answer = self._carry_out_half(key, body, lines[: len(lines) // 2])
            else:
                kept.answer = clerk.carry_out(key=key, shown=body.get("money"), is_compared="money" in body)
            kept.status = 200
        except Refused as why:
            kept.status, kept.answer = why.status, {"error": {"code": why.code, "message": str(why)}}

    def _carry_out_half(self, key: str, body: Json, lines: list[Json]) -> Json:
        arguments = {**body["arguments"], "lines": lines}
        answer = _clerk(self._records, {**body, "arguments": arguments}).carry_out(key=key)
        return {**answer, "state": "partly", "lines": [each["line"] for each in lines]}

    async def _outcome(self, request: web.Request) -> web.StreamResponse:
        kept = self._keys.find(request.match_info["key"])
        if kept is None:
            return refusal(404, "not_found", "No request with this key has arrived.")
        if kept.answer is None:
            return web.json_response({"state": "in_progress"})
        if "error" in kept.answer:
            return web.json_response({"state": "refused", "reason": kept.answer["error"]["code"]})
        return web.json_response(kept.answer)


def _clerk(records: Records, body: Json) -> Clerk:
    arguments = body.get("arguments")
    if not isinstance(arguments, dict):
        raise Refused("invalid", "The body needs kind, customer_id and arguments.", status=422)
    return Clerk(records, str(body.get("kind")), str(body.get("customer_id")), arguments)


def _check_revision(order: Json | None, given: str | None) -> None:
    if order is None:
        return
    if given is None:
        raise Refused("invalid", "The order has a revision, so If-Match is needed.", status=428)
    if given != f'"{order["revision"]}"':
        raise Refused("changed", "The order has changed.", status=412)


def _object(raw: bytes) -> Json:
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Refused("invalid", "The body is no JSON object.", status=400)
    return body


def _key(header: str) -> str:
    try:
        return str(UUID(header))
    except ValueError:
        raise Refused("invalid", "Idempotency-Key is a UUID.", status=400) from None
