"""A shop at Shopify: its look-ups, and what it can change.

open_shopify  The shop.
ShopifyShop   An OrderBackend, a ShippingBackend, a ProductBackend and an ActionBackend.

Shopify compares no revision and, except for refunds, knows no idempotency keys. So the order is read once more right
before a mutation leaves, and what came of one that had no answer is read from the order.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlsplit

from yarl import URL

from bot.conversation import ShopCustomer
from bot.shops.action_wire import Expected
from bot.shops.actions import (
    ActionKind,
    ActionRequest,
    Arguments,
    KindSpec,
    NotSupported,
    Outcome,
    Quote,
    RefusalReason,
)
from bot.shops.declared.credentials import ClientCredentials, Credentials, FixedHeaders
from bot.shops.declared.expressions import Unusable
from bot.shops.declared.file import Limits
from bot.shops.lookups import Lookups, check_action, check_customer, within
from bot.shops.port import Money, Order, ShopUnavailable
from bot.shops.quoting import IRREVERSIBLE, compute_quote
from bot.shops.rest import ACTION_DEADLINE
from bot.shops.sending import reply_or_outcome
from bot.shops.shopify.client import PATH, Client, MutationFailed, body_of
from bot.shops.shopify.documents import RETURNABLE, SHOP, SUBSCRIPTIONS, SUGGESTED_REFUND
from bot.shops.shopify.mutations import (
    KEYED,
    SCOPES,
    allocate,
    mutation_of,
    refund_lines,
    refund_with,
    refunded,
    shows,
    variables_of,
)
from bot.shops.shopify.reading import Node, ShopifyOrder, money, nodes, number_of, tail
from bot.shops.shopify.records import ShopifyRecords
from bot.shops.transport import Reply, Transport, open_transport
from bot.shops.wire import one_line

logger = logging.getLogger(__name__)

TOKEN_HEADER = "X-Shopify-Access-Token"  # noqa: S105 - a name
HOOK_PATH = "/hooks/shopify"
"""Where Shopify says that an order has changed."""
TOPIC = "ORDERS_UPDATED"
"""The one subscription that is needed: Shopify sends it whenever it sets the time that we compare orders by."""
KEY_HOURS = 24.0
"""How long a key is relied on. How long Shopify keeps one is not documented."""
SCOPES_SECONDS = 600.0
"""How long the scopes of the token are remembered."""
STATE_SECONDS = 3.0
"""How long an order may take to be read once more before a change leaves. The change must leave within 5 seconds."""
READ_SCOPES = ("read_customers", "read_orders", "read_products", "read_fulfillments", "read_returns")
"""What every look-up needs."""

RETURNABLE_STATUSES = ("delivered", "shipped", "partly_shipped", "partly_returned")
_DID_NOTHING = frozenset({"THROTTLED", "ACCESS_DENIED", "MAX_COST_EXCEEDED", "SHOP_INACTIVE"})
"""Codes of errors that come before a mutation runs."""
_REASONS: Mapping[str, RefusalReason] = {
    "NOT_FOUND": "not_found",
    "INVALID_STATE": "wrong_status",
    "NOT_EDITABLE": "wrong_status",
    "ALREADY_EXISTS": "wrong_status",
    "GREATER_THAN": "too_much",
    "LESS_THAN_OR_EQUAL_TO": "too_much",
    "TOO_BIG": "too_much",
    "INVALID": "invalid",
    "BLANK": "invalid",
    "NO_REFUND_PERMISSION": "not_allowed",
    "MISSING_PERMISSION": "not_allowed",
    "FEATURE_NOT_ENABLED": "not_allowed",
    "IDEMPOTENCY_KEY_PARAMETER_MISMATCH": "key_reused",
}
"""Codes of `userErrors`. Those of refunds and of addresses have none."""


@dataclass(frozen=True, slots=True)
class _Sending:
    """What `render` keeps beside a request: what the order must still be like, and what an answer can say."""

    kind: ActionKind
    customer: str
    order: str
    raw_id: str
    revision: str
    key: str
    back: int
    currency: str
    arguments: Arguments

    @classmethod
    def read(cls, about: Mapping[str, Any]) -> "_Sending":
        """Raises KeyError, TypeError or ValueError for a request of another connector."""
        return cls(**{**about, "arguments": Arguments.read(about["arguments"])})


@dataclass(frozen=True, slots=True)
class App:
    """The shop's own app, which takes a new token for each day with the client credentials grant."""

    client_id: str
    client_secret: str


@asynccontextmanager
async def open_shopify(
    url: str,
    access: str | App,
    *,
    limits: Limits | None = None,
    asks_first: bool = True,
    has_subscriptions: bool = False,
    action_deadline: float = ACTION_DEADLINE,
) -> AsyncIterator["ShopifyShop"]:
    """The shop at `url`, such as `https://fernwick.myshopify.com`. It connects at the first question.

    `access` is a token that does not end, or the app that asks for tokens. `asks_first`: whether returns wait for the
    shop's approval. `has_subscriptions`: whether `check` looks for a subscription that leads to HOOK_PATH.
    """
    limits = limits or Limits()
    async with open_transport({}, limit=limits.bytes, connections=limits.at_once) as transport:
        client = Client(url, transport, _credentials(url, access, transport), limits)
        yield ShopifyShop(
            client,
            deadline=limits.seconds,
            asks_first=asks_first,
            has_subscriptions=has_subscriptions,
            action_deadline=action_deadline,
        )


def _credentials(url: str, access: str | App, transport: Transport) -> Credentials:
    if isinstance(access, str):
        return FixedHeaders({TOKEN_HEADER: access})
    form = {"client_id": access.client_id, "client_secret": access.client_secret}
    where = URL(url.rstrip("/") + "/admin/oauth/access_token")
    return ClientCredentials(where, form, transport, token_header=TOKEN_HEADER)


class ShopifyShop(Lookups):
    """A shop at Shopify."""

    def __init__(
        self,
        client: Client,
        *,
        deadline: float,
        asks_first: bool,
        has_subscriptions: bool,
        action_deadline: float,
    ) -> None:
        records = ShopifyRecords(client)
        super().__init__(records, alerts=client.alerts, deadline=deadline)
        self._client = client
        self._shopify = records
        self._asks_first = asks_first
        self._has_subscriptions = has_subscriptions
        self._action_deadline = action_deadline
        self._scopes: frozenset[str] = frozenset()
        self._scopes_until = 0.0
        self._asking = asyncio.Lock()

    async def kinds(self) -> Mapping[ActionKind, KindSpec]:
        """See ActionBackend. Only what the token's scopes allow."""
        scopes = await self.scopes()
        return {
            kind: KindSpec(
                kind,
                has_quotes=kind in KEYED,
                key_hours=KEY_HOURS if kind in KEYED else None,
                irreversible=kind in IRREVERSIBLE,
                needs_reason=kind == "return_items",
                takes_money=kind in KEYED,
            )
            for kind, scope in SCOPES.items()
            if scope in scopes
        }

    async def scopes(self) -> frozenset[str]:
        """The scopes of the token. They are remembered for SCOPES_SECONDS. Raises ShopUnavailable."""
        async with within(self._deadline), self._asking:
            if time.monotonic() >= self._scopes_until:
                data = await self._client.ask(SHOP, {})
                installation = data.get("currentAppInstallation") or {}
                self._scopes = frozenset(str(each.get("handle")) for each in nodes(installation.get("accessScopes")))
                self._scopes_until = time.monotonic() + SCOPES_SECONDS
            return self._scopes

    async def check(self) -> list[str]:
        """See Connector. It names the scopes that the token lacks, and a subscription that is missing."""
        if missing := await self._missing_scopes():
            return [f"the token of Shopify lacks {', '.join(missing)}"]
        if self._has_subscriptions and not await self._is_subscribed():
            return [f"Shopify has no subscription of {TOPIC} to an address that ends in {HOOK_PATH}"]
        return await super().check()

    async def _is_subscribed(self) -> bool:
        async with within(self._deadline):
            data = await self._client.ask(SUBSCRIPTIONS, {})
        return any(
            each.get("topic") == TOPIC and urlsplit(str(each.get("uri"))).path.rstrip("/").endswith(HOOK_PATH)
            for each in nodes(data.get("webhookSubscriptions"))
        )

    async def _missing_scopes(self) -> list[str]:
        scopes = await self.scopes()
        # A token that may write may read, too.
        granted = scopes | {scope.replace("write_", "read_") for scope in scopes}
        return [scope for scope in (*READ_SCOPES, *dict.fromkeys(SCOPES.values())) if scope not in granted]

    async def quote(self, customer: ShopCustomer, kind: ActionKind, order: Order | None, arguments: Arguments) -> Quote:
        """See ActionBackend. The order is read anew, and what can be refunded or returned is asked."""
        check_action(customer, kind, order, arguments)
        if kind not in SCOPES or order is None:
            raise NotSupported(f"Shopify does not do {kind}", "not_allowed")
        async with within(self._deadline):
            now = await self._present(order.raw_id, customer.id, order.id)
            _check_status(kind, now, arguments)
            match kind:
                case "refund":
                    return await self._refund_quote(now, arguments)
                case "return_items":
                    quote = compute_quote(kind, now.answer.read(), arguments)
                    return replace(quote, terms={"lines": await self._returnable(now, arguments)})
                case "cancel_order":
                    return compute_quote(kind, now.answer.read(), arguments)
                case _:
                    return Quote(None, computed=True)

    def render(
        self,
        customer: ShopCustomer,
        kind: ActionKind,
        order: Order | None,
        arguments: Arguments,
        *,
        quote: Quote,
        key: str,
    ) -> ActionRequest:
        """See ActionBackend. The token is added when it is sent."""
        check_action(customer, kind, order, arguments)
        if kind not in SCOPES or order is None:
            raise NotSupported(f"Shopify does not do {kind}", "not_allowed")
        variables = variables_of(kind, order.raw_id, arguments, quote, key=key, asks_first=self._asks_first)
        about = {
            "kind": kind,
            "customer": customer.id,
            "order": order.id,
            "raw_id": order.raw_id,
            "revision": order.revision,
            "key": key,
            "back": -quote.money.minor if quote.money else 0,
            "currency": order.total.currency,
            "arguments": dict(arguments.canonical()),
        }
        body = body_of(mutation_of(kind, asks_first=self._asks_first), variables)
        return ActionRequest("POST", PATH, {}, body.decode(), about)

    async def send(self, request: ActionRequest) -> Outcome:
        """See ActionBackend. If the order has changed since, nothing is sent."""
        try:
            sending = _Sending.read(request.about)
        except (KeyError, TypeError, ValueError):
            logger.error("a stored request is none of this connector's; it was not sent")
            return Outcome("unavailable")
        try:
            async with within(min(self._deadline, STATE_SECONDS)):
                known = _known(sending, await self._shopify.load_state(sending.raw_id))
        except ShopUnavailable as error:
            logger.warning("the order cannot be read; the action was not sent", extra={"error": str(error)})
            return Outcome("unavailable")
        if known is not None:
            return known
        reply = await reply_or_outcome(self._client.act(request, seconds=self._action_deadline))
        return reply if isinstance(reply, Outcome) else await self._outcome(sending, reply)

    async def outcome(self, customer: ShopCustomer, kind: ActionKind, arguments: Arguments, *, key: str) -> Outcome:
        """See ActionBackend. It is read from the order."""
        check_customer(customer)
        try:
            async with within(self._deadline):
                order = await self._shopify.find(arguments.order)
        except ShopUnavailable as error:
            logger.warning("what became of an action cannot be read back", extra={"error": str(error), "kind": kind})
            return Outcome("unavailable")
        if order is None or order.answer.customer_id != customer.id:
            return Outcome("unknown")
        if not shows(kind, order, arguments, key=key):
            return Outcome("not_found")
        return Outcome("done", order=order.answer.read())

    async def _present(self, raw_id: str, customer: str, order_id: str) -> ShopifyOrder:
        """The order as it is now. Raises NotSupported if it is not this customer's order with this number."""
        found = await self._shopify.load(raw_id)
        if found.answer.customer_id != customer or found.answer.id != order_id:
            raise NotSupported("it needs an order of the customer", "not_found")
        return found

    async def _refund_quote(self, order: ShopifyOrder, arguments: Arguments) -> Quote:
        """What Shopify suggests for the lines, or the amount over the payments that can be refunded."""
        ours = compute_quote("refund", order.answer.read(), arguments)
        is_amount = arguments.amount is not None
        data = await self._client.ask(
            SUGGESTED_REFUND,
            {"id": order.node.get("id"), "items": [] if is_amount else refund_lines(arguments), "whole": is_amount},
        )
        suggested: Node = (data.get("order") or {}).get("suggestedRefund") or {}
        transactions = nodes(suggested.get("suggestedTransactions"))
        stated = money(suggested.get("amountSet"), "amountSet")
        back = arguments.amount or (Money(stated["amount"], stated["currency"]) if stated else None)
        if back is None or back.minor <= 0:
            raise NotSupported("there is nothing to refund", "too_much")
        parts = allocate(back, transactions)
        if parts is None:
            raise NotSupported("the payments do not have that much", "too_much")
        gateways = {str(each.get("formattedGateway") or "") for each in transactions}
        return replace(
            ours,
            money=Money(-back.minor, back.currency),
            to=one_line(60)(gateways.pop()) if len(gateways) == 1 else "",
            computed=False,
            terms={"transactions": parts},
        )

    async def _returnable(self, order: ShopifyOrder, arguments: Arguments) -> list[Mapping[str, Any]]:
        """The pieces to be returned, by the lines of the fulfillments that they came with."""
        data = await self._client.ask(RETURNABLE, {"id": order.node.get("id")})
        left = {each.line: each.quantity for each in arguments.lines}
        found: list[Mapping[str, Any]] = []
        for fulfillment in nodes(data.get("returnableFulfillments")):
            for each in nodes(fulfillment.get("returnableFulfillmentLineItems")):
                line: Node = each.get("fulfillmentLineItem") or {}
                ident = tail((line.get("lineItem") or {}).get("id"), "LineItem")
                if (pieces := min(left.get(ident, 0), int(each.get("quantity") or 0))) > 0:
                    left[ident] -= pieces
                    found.append({"fulfillmentLineItemId": line.get("id"), "quantity": pieces})
        if any(left.values()):
            raise NotSupported("Shopify takes fewer pieces back", "too_much")
        return found

    async def _outcome(self, sending: _Sending, reply: Reply) -> Outcome:
        try:
            payload = self._client.payload(reply)
        except MutationFailed as error:
            if error.code in _DID_NOTHING:
                return Outcome("unavailable")
            if error.code == "IDEMPOTENCY_CONCURRENT_REQUEST":
                return Outcome("in_progress")
            logger.warning("Shopify's answer to an action is none", extra={"status": reply.status, "code": error.code})
            return Outcome("unknown")
        if said := nodes(payload.get("userErrors")):
            code = str(said[0].get("code") or "")
            if code == "IDEMPOTENCY_CONCURRENT_REQUEST":
                return Outcome("in_progress")
            return Outcome("refused", reason=_REASONS.get(code, "other"))
        match sending.kind:
            case "refund":
                return self._refunded(sending, payload.get("refund"))
            case "return_items" | "cancel_return":
                ident = tail((payload.get("return") or {}).get("id"), "Return")
                return Outcome("done", reference=ident) if ident else Outcome("unknown")
            case "cancel_order":
                return await self._cancelled(sending)
            case _:
                return Outcome("done", reference=sending.order)

    async def _cancelled(self, sending: _Sending) -> Outcome:
        """Shopify cancels in the background. Most orders are cancelled at once."""
        try:
            async with within(self._deadline):
                state = await self._shopify.load_state(sending.raw_id)
        except ShopUnavailable:
            state = {}
        return Outcome("done" if state.get("cancelledAt") else "in_progress", reference=sending.order)

    def _refunded(self, sending: _Sending, refund: object) -> Outcome:
        ident = tail(refund.get("id"), "Refund") if isinstance(refund, Mapping) else ""
        if not ident:
            return Outcome("unknown")
        try:
            outcome = Outcome("done", reference=ident, money=refunded(cast("Node", refund)))
        except Unusable:
            return Outcome("unknown")
        expected = Expected(sending.customer, sending.order, sending.currency, back=sending.back, charged=0)
        if fault := expected.contradiction(outcome):
            self._client.is_unusable("refund", [fault])
            return Outcome("unknown")
        return outcome


def _check_status(kind: ActionKind, order: ShopifyOrder, arguments: Arguments) -> None:
    """Raise NotSupported if the order does not allow it, or if nobody could tell afterwards whether it was done."""
    answer = order.answer
    is_open = answer.status in ("pending", "processing") and not nodes(order.node.get("fulfillments"))
    if kind in ("cancel_order", "change_order_address") and not is_open:
        raise NotSupported("the order is not open any more", "wrong_status")
    if kind == "refund" and answer.payment in ("refunded", "unpaid", "failed"):
        raise NotSupported("the order has nothing to refund", "wrong_status")
    if kind in ("cancel_order", "return_items") and order.active_returns:
        raise NotSupported("the order has a return already", "not_allowed")
    if kind == "return_items" and answer.status not in RETURNABLE_STATUSES:
        raise NotSupported("nothing of the order can be returned", "wrong_status")
    if kind == "change_order_address":
        _check_address(order, arguments)


def _check_address(order: ShopifyOrder, arguments: Arguments) -> None:
    """Another country or region changes taxes, so a person changes it."""
    old, new = order.answer.address, arguments.address
    if new is None or not new.name.rpartition(" ")[0]:
        raise NotSupported("Shopify needs a first and a last name", "invalid")
    if old is None or (old.country, old.region) != (new.country, new.region):
        raise NotSupported("the address is in another country or region", "not_allowed")
    if old.read() == new:
        raise NotSupported("the order has this address already", "not_allowed")


def _known(sending: _Sending, order: Node) -> Outcome | None:
    """What the order says before anything is sent: it is somebody else's, the refund was made, or it has changed."""
    customer = tail((order.get("customer") or {}).get("id"), "Customer")
    if customer != sending.customer or number_of(order.get("name")) != sending.order:
        return Outcome("refused", reason="not_found")
    if sending.kind in KEYED and (found := refund_with(order, sending.key)):
        if -refunded(found).minor != sending.back:
            # A part of it may still be on its way.
            return Outcome("unknown")
        return Outcome("done", reference=tail(found.get("id"), "Refund"), money=refunded(found))
    return Outcome("refused", reason="changed") if order.get("updatedAt") != sending.revision else None
