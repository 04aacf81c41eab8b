"""A shop that speaks the REST contract of docs/reference/shop-api.md: what it can change, and how it is asked to.

A request is rendered once, from what the customer confirmed, and sent as it was stored. Only the shop's closed words
decide the outcome. An answer that breaks the contract, or that is not about this action, says nothing.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import UUID

import orjson
from pydantic import ValidationError

from bot.conversation import ShopCustomer
from bot.shops.action_wire import (
    KEY_HOURS,
    ActionBody,
    CapabilitiesAnswer,
    Expected,
    OutcomeAnswer,
    QuoteAnswer,
    refusal_reason,
)
from bot.shops.actions import (
    ActionKind,
    ActionRequest,
    Arguments,
    KindSpec,
    NotSupported,
    Outcome,
    Quote,
)
from bot.shops.lookups import DEADLINE, NOBODY, Lookups, check_action, check_customer, within
from bot.shops.port import Money, Order, ShopUnavailable
from bot.shops.quoting import IRREVERSIBLE, QUOTED_ONLY, check_quote
from bot.shops.rest_client import (
    RestClient,
    error_code,
    faulty_fields,
    open_rest_client,
)
from bot.shops.rest_records import RestRecords
from bot.shops.sending import reply_or_outcome
from bot.shops.transport import ANSWER_LIMIT, Reply

__all__ = ["ANSWER_LIMIT", "RestShop", "open_rest_shop"]

logger = logging.getLogger(__name__)

ACTION_DEADLINE = 14.0
"""Seconds for a request that changes something: a little less than the 15 s that a process has to end."""
CAPABILITIES_SECONDS = 60.0
"""How long what the shop can do is remembered."""
CAPABILITIES_DEADLINE = 3.0
"""Seconds for asking what the shop can do. A customer's turn waits for it."""
FAILURE_SECONDS = 10.0
"""How long a shop that did not say what it can do is not asked again."""
_SURELY_REFUSED = frozenset({400, 401, 403, 404, 405, 409, 412, 413, 422, 428})
"""Statuses of a shop that did nothing, if the contract's error body comes with them."""


@asynccontextmanager
async def open_rest_shop(
    url: str, token: str, *, deadline: float = DEADLINE, action_deadline: float = ACTION_DEADLINE
) -> AsyncIterator["RestShop"]:
    """The shop at `url`, asked with the bearer `token`. It connects at the first question."""
    async with open_rest_client(url, token) as client:
        yield RestShop(client, deadline=deadline, action_deadline=action_deadline)


class RestShop(Lookups):
    """A shop over HTTP: the look-ups, and an ActionBackend."""

    def __init__(self, client: RestClient, *, deadline: float, action_deadline: float = ACTION_DEADLINE) -> None:
        super().__init__(RestRecords(client), alerts=client.alerts, deadline=deadline)
        self._client = client
        self._action_deadline = action_deadline
        self._kinds: Mapping[ActionKind, KindSpec] | None = None
        self._asked_again_at = 0.0
        self._asking = asyncio.Lock()

    async def check(self) -> list[str]:
        """See Connector."""
        await self.find_customer(NOBODY)
        await self.kinds()
        return []

    async def kinds(self) -> Mapping[ActionKind, KindSpec]:
        """See ActionBackend. The answer is remembered for CAPABILITIES_SECONDS, and longer while the shop is silent."""
        async with self._asking:
            if time.monotonic() >= self._asked_again_at:
                try:
                    async with within(min(CAPABILITIES_DEADLINE, self._deadline)):
                        self._kinds = _kinds_of(
                            await self._client.get("/capabilities", CapabilitiesAnswer, may_lack=True)
                        )
                    self._asked_again_at = time.monotonic() + CAPABILITIES_SECONDS
                except ShopUnavailable:
                    self._asked_again_at = time.monotonic() + FAILURE_SECONDS
            if self._kinds is None:
                raise ShopUnavailable("the shop does not say what it can do")
            return self._kinds

    async def quote(self, customer: ShopCustomer, kind: ActionKind, order: Order | None, arguments: Arguments) -> Quote:
        """See ActionBackend. A shop without quotes is asked for the variants and payment methods that are named."""
        check_action(customer, kind, order, arguments)
        async with within(self._deadline):
            spec = (await self.kinds()).get(kind)
            if spec is None:
                raise NotSupported(f"the shop does not do {kind}", "not_allowed")
            if not spec.has_quotes:
                return await self._computed_quote(customer, kind, order, arguments)
            answer = await self._client.ask("/quotes", QuoteAnswer, _body(customer, kind, arguments))
        if isinstance(answer, str):
            raise NotSupported(f"the shop refuses to quote {kind}", refusal_reason(answer))
        return check_quote(answer.read(irreversible=spec.irreversible), order, arguments)

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
        """See ActionBackend. The body names the money that the customer was shown: the shop moves no other."""
        check_action(customer, kind, order, arguments)
        headers = {"Content-Type": "application/json", "Idempotency-Key": str(UUID(key))}
        if order and order.revision:
            headers["If-Match"] = f'"{order.revision}"'
        body = _body(customer, kind, arguments, money=_plain(quote.money))
        return ActionRequest("POST", "/actions", headers, body.decode())

    async def send(self, request: ActionRequest) -> Outcome:
        """See ActionBackend."""
        try:
            expected = ActionBody.model_validate_json(request.body).expected()
        except ValidationError:
            logger.error("a stored request is none of ours; it was not sent")
            return Outcome("unavailable")
        reply = await reply_or_outcome(self._client.act(request, seconds=self._action_deadline))
        return reply if isinstance(reply, Outcome) else self._outcome(reply, expected)

    async def outcome(self, customer: ShopCustomer, kind: ActionKind, arguments: Arguments, *, key: str) -> Outcome:
        """See ActionBackend. The shop is asked by the key, and the arguments say what its answer can be about."""
        check_customer(customer)
        try:
            async with within(self._deadline):
                answer = await self._client.get(f"/actions/{UUID(key)}", OutcomeAnswer)
        except ShopUnavailable:
            return Outcome("unavailable")
        if answer is None:
            return Outcome("not_found")
        return self._compared(answer.read(), _expected_of(customer, arguments))

    def _outcome(self, reply: Reply, expected: Expected) -> Outcome:
        code = error_code(reply.body)
        if reply.status in (401, 403):
            self._client.refuses_token(reply.status)
        if reply.status == 409 and code == "in_progress":
            return Outcome("in_progress")
        if code and reply.status in _SURELY_REFUSED:
            return Outcome("refused", reason=refusal_reason(code))
        if reply.status not in (200, 201, 202):
            logger.warning("the shop's answer to an action is none", extra={"status": reply.status})
            return Outcome("unknown")
        try:
            answer = OutcomeAnswer.model_validate_json(reply.body)
        except ValidationError as error:
            self._client.breaks_contract(OutcomeAnswer.__name__, faulty_fields(error))
            return Outcome("unknown")
        return self._compared(answer.read(), expected)

    def _compared(self, outcome: Outcome, expected: Expected) -> Outcome:
        fault = expected.contradiction(outcome)
        if not fault:
            return outcome
        message = "the shop's answer is not about the action that it was asked for"
        self._client.alerts.tell(logger, message, about=fault, has=fault)
        return Outcome("unknown")


def _kinds_of(answer: CapabilitiesAnswer | None) -> Mapping[ActionKind, KindSpec]:
    if answer is None:
        return {}
    return {
        kind: KindSpec(
            kind,
            has_quotes=answer.quotes,
            key_hours=KEY_HOURS,
            irreversible=kind in IRREVERSIBLE,
            needs_reason=kind in answer.needs_reason,
            takes_money=True,
        )
        for kind in answer.actions
        if answer.quotes or kind not in QUOTED_ONLY
    }


def _body(customer: ShopCustomer, kind: ActionKind, arguments: Arguments, **more: object) -> bytes:
    content = {"kind": kind, "customer_id": customer.id, "arguments": _in_words_of_the_contract(arguments), **more}
    return orjson.dumps(content, option=orjson.OPT_SORT_KEYS)


def _in_words_of_the_contract(arguments: Arguments) -> Mapping[str, object]:
    canonical = dict(arguments.canonical())
    if arguments.amount is not None:
        canonical["amount"] = _plain(arguments.amount)
    return canonical


def _plain(money: Money | None) -> Mapping[str, object] | None:
    """Money as the contract writes it."""
    return {"amount": money.minor, "currency": money.currency} if money else None


def _expected_of(customer: ShopCustomer, arguments: Arguments) -> Expected:
    """What an answer to a question about an action can say. How much money was confirmed, the caller knows."""
    back = arguments.amount.minor if arguments.amount else None
    currency = arguments.amount.currency if arguments.amount else ""
    return Expected(customer.id, arguments.order, currency, back=back, charged=None)
