"""Shopify's GraphQL Admin API on loopback, with what Frontdesk asks of it and nothing else.

POST /admin/oauth/access_token               the client credentials grant, as a form: a token for 24 hours
POST /admin/api/{version}/graphql.json       X-Shopify-Access-Token; errors and userErrors come with status 200
POST /_local/fault, GET /_local/digest, GET /_local/calls, as demo/shop/server.py

Documents are checked and executed by graphql-core against schema.graphql. Ids of customers, lines and variants are the
words of demo/shop, where Shopify's are numbers. The bucket of points is that of the Standard plan.
"""

import json
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from graphql import (
    ExecutionResult,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    build_schema,
    execute_sync,
    parse,
    validate,
)

from demo.ports import listening
from demo.shop.faults import Fault, misbehave
from demo.shop.local import Later, local_routes
from demo.shop.records import Json, Records
from demo.shop.seed import seed
from demo.shop.server import Call
from demo.shopify.cost import cost_of, objects_in
from demo.shopify.resolvers import Shopify, bind

SCHEMA = Path(__file__).with_name("schema.graphql")
VERSION = "2026-10"
TOKEN_SECONDS = 86_399
BUCKET = 2_000.0
RESTORED_A_SECOND = 100.0
"""The Standard plan's points."""
MOST_OF_ONE = 1_000
_CALLS_LIMIT = 500


@dataclass(slots=True)
class ShopifyShop:
    """A running stand-in."""

    url: str
    token: str
    """A token of an app that was made in the shop's admin, which does not end."""
    client_id: str
    client_secret: str
    shopify: Shopify
    version: str = VERSION
    """The version that answers, whatever is asked for."""
    tokens: set[str] = field(default_factory=set)
    """Access tokens of the grant that are taken. Emptied, every client needs a new one."""
    available: float = BUCKET
    counted_at: float = field(default_factory=time.monotonic)
    most_of_one: int = MOST_OF_ONE
    faults: list[Fault] = field(default_factory=list)
    mutation_faults: list[Fault] = field(default_factory=list)
    requests: deque[str] = field(default_factory=lambda: deque(maxlen=_CALLS_LIMIT))
    """The name of each operation."""
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=_CALLS_LIMIT))
    later: Later = field(default_factory=Later)
    on_call: Callable[[Call], None] = lambda call: None
    """Is told of each call."""

    @property
    def records(self) -> Records:
        """The shop's records."""
        return self.shopify.records

    def add_fault(self, fault: Fault) -> None:
        """Let it happen to the next requests from now on; "none" ends all others."""
        if fault.kind == "none":
            self.faults.clear()
            self.mutation_faults.clear()
        else:
            self.faults.append(fault)

    def break_mutation(self, fault: Fault) -> None:
        """Let it happen to the next mutation. `changed`: somebody changes the order just before it is read for one."""
        self.mutation_faults.append(fault)

    def environment(self) -> dict[str, str]:
        """What demo/shopify/shop.yml needs."""
        return {
            "SHOPIFY_URL": self.url,
            "SHOPIFY_CLIENT_ID": self.client_id,
            "SHOPIFY_CLIENT_SECRET": self.client_secret,
        }


@asynccontextmanager
async def open_shopify(
    *, host: str = "127.0.0.1", port: int = 0, now: datetime | None = None
) -> AsyncIterator[ShopifyShop]:
    """Serve a freshly seeded shop; port 0 takes a free one."""
    shopify = Shopify(seed(now or datetime.now(UTC)))
    secret = f"shpss_{secrets.token_hex(16)}"
    shop = ShopifyShop("", f"shpat_{secrets.token_hex(16)}", secrets.token_hex(16), secret, shopify)
    try:
        async with listening(_app(shop), host=host, port=port) as shop.url:
            yield shop
    finally:
        await shop.later.close()


def load_schema() -> GraphQLSchema:
    """The types that the stand-in knows."""
    return build_schema(SCHEMA.read_text("utf-8"))


def _app(shop: ShopifyShop) -> web.Application:
    door = _Door(shop)
    app = web.Application()
    app.add_routes(
        [
            web.post("/admin/oauth/access_token", door.grant),
            web.post("/admin/api/{version}/graphql.json", door.graphql),
            *local_routes(shop.add_fault, shop.records, shop.calls),
        ]
    )
    return app


class _Door:
    def __init__(self, shop: ShopifyShop) -> None:
        self._shop = shop
        self._schema = load_schema()
        bind(self._schema, shop.shopify)

    async def grant(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        given = form.get("grant_type"), form.get("client_id"), form.get("client_secret")
        if given != ("client_credentials", self._shop.client_id, self._shop.client_secret):
            return web.json_response({"error": "application_cannot_be_found"}, status=400)
        token = f"shpat_{secrets.token_hex(16)}"
        self._shop.tokens.add(token)
        scope = ",".join(sorted(self._shop.shopify.scopes))
        return web.json_response({"access_token": token, "scope": scope, "expires_in": TOKEN_SECONDS})

    async def graphql(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("X-Shopify-Access-Token", "")
        if token != self._shop.token and token not in self._shop.tokens:
            message = "[API] Invalid API key or access token (unrecognized login or wrong password)"
            return web.json_response({"errors": message}, status=401)
        try:
            body = json.loads(await request.read())
            document = parse(str(body["query"]))
        except (ValueError, KeyError, TypeError, GraphQLError):
            return web.json_response({"errors": "Bad Request"}, status=400)
        operation = next(each for each in document.definitions if isinstance(each, OperationDefinitionNode))
        name = operation.name.value if operation.name else ""
        self._shop.requests.append(name)
        is_mutation = operation.operation is OperationType.MUTATION

        async def answer(_: web.Request) -> web.StreamResponse:
            return self._answered(document, body.get("variables") or {})

        fault = self._fault(name, is_mutation=is_mutation)
        self._change(name, body.get("variables") or {})
        if fault is None:
            response = await answer(request)
        elif fault.kind == "stale":
            self._shop.shopify.is_stale = True
            response = await answer(request)
            self._shop.shopify.is_stale = False
        elif fault.kind == "in_progress":
            self._shop.shopify.works_later = lambda act: self._shop.later.after(fault.seconds, act)
            response = await answer(request)
        elif fault.kind == "foreign":
            response = _disowned(await answer(request))
        else:
            response = await misbehave(fault, request, answer, double=_double)
        key = str((body.get("variables") or {}).get("key") or "")
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        call = Call(at, request.method, f"{request.path} {name}", key, response.status)
        self._shop.calls.append(call)
        self._shop.on_call(call)
        return response

    def _fault(self, name: str, *, is_mutation: bool) -> Fault | None:
        """The fault that happens to this operation. `/orders` as its path is the question for one order."""
        waiting = self._shop.mutation_faults
        if is_mutation and waiting and waiting[0].kind != "changed":
            return _taken(waiting, waiting[0])
        for fault in self._shop.faults:
            if fault.kind == "foreign" and name == "FindOrder":  # it names no owner
                continue
            if fault.path == "/" or (fault.path == "/orders" and name == "OneOrder"):
                return _taken(self._shop.faults, fault)
        return None

    def _change(self, name: str, variables: Mapping[str, Any]) -> None:
        waiting = self._shop.mutation_faults
        if name != "OrderState" or not waiting or waiting[0].kind != "changed":
            return
        _taken(waiting, waiting[0])
        order = self._shop.shopify.find_order(str(variables.get("id")))
        if order:
            order["revision"] = str(int(order["revision"]) + 1)

    def _answered(self, document: Any, variables: Mapping[str, Any]) -> web.Response:
        errors = validate(self._schema, document)
        if errors:
            return self._response(ExecutionResult(None, errors))
        cost = cost_of(self._schema, document, variables)
        if cost > self._shop.most_of_one:
            message = f"Query cost is {cost}, which exceeds the single query max cost limit ({self._shop.most_of_one})."
            return self._response(_failed(message, "MAX_COST_EXCEEDED"), cost)
        self._restore()
        if cost > self._shop.available:
            return self._response(_failed("Throttled", "THROTTLED"), cost)
        result = execute_sync(self._schema, document, variable_values=dict(variables))
        # What was asked for and not found is given back.
        actual = min(objects_in(result.data), cost)
        self._shop.available -= actual
        return self._response(result, cost, actual)

    def _restore(self) -> None:
        now = time.monotonic()
        restored = (now - self._shop.counted_at) * RESTORED_A_SECOND
        self._shop.available = min(self._shop.available + restored, BUCKET)
        self._shop.counted_at = now

    def _response(self, result: ExecutionResult, cost: int = 0, actual: int | None = None) -> web.Response:
        content: Json = {}
        if result.errors:
            content["errors"] = [error.formatted for error in result.errors]
        if result.data is not None:
            content["data"] = result.data
        status = {
            "maximumAvailable": BUCKET,
            "currentlyAvailable": int(self._shop.available),
            "restoreRate": RESTORED_A_SECOND,
        }
        points = {"requestedQueryCost": cost, "actualQueryCost": actual, "throttleStatus": status}
        content["extensions"] = {"cost": points}
        return web.json_response(content, headers={"X-Shopify-API-Version": self._shop.version})


def _taken(faults: list[Fault], fault: Fault) -> Fault:
    fault.times -= 1
    if fault.times <= 0:
        faults.remove(fault)
    return fault


def _failed(message: str, code: str) -> ExecutionResult:
    return ExecutionResult(None, [GraphQLError(message, extensions={"code": code})])


def _disowned(response: web.StreamResponse) -> web.StreamResponse:
    """The same answer with somebody else as the owner of every record in it."""
    if not isinstance(response, web.Response) or response.text is None:
        return response
    return web.json_response(text=response.text.replace("/Customer/cus_", "/Customer/other_"))


def _double(answer: Json) -> None:
    """Make the money of a refund twice as much."""
    refund = ((answer.get("data") or {}).get("refundCreate") or {}).get("refund")
    for money in (refund or {}).get("totalRefundedSet", {}).values():
        money["amount"] = str(2 * float(money["amount"]))
