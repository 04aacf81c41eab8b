"""A shop behind a declared connector: its look-ups, and what it can change.

open_declared_shop  The shop that a connector's file describes.
DeclaredShop        An OrderBackend, a ShippingBackend, a ProductBackend and an ActionBackend.

What came of an action without a key is found by reading the order back. So an action is refused beforehand if its
condition `done_when` is true already: then "true now" means that it was done.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast

from bot.conversation import ShopCustomer
from bot.errors import ConfigurationError
from bot.shops.action_wire import Expected
from bot.shops.actions import (
    ActionKind,
    ActionRequest,
    Arguments,
    KindSpec,
    NotSupported,
    Outcome,
    Quote,
)
from bot.shops.declared.answers import Verdicts, read_json
from bot.shops.declared.client import Client
from bot.shops.declared.credentials import open_credentials, read_secrets
from bot.shops.declared.expressions import Expression, Unusable
from bot.shops.declared.file import ActionCall, Call, ConnectorFile, FieldSpec, Key, OAuthAuth, Verdict
from bot.shops.declared.mapping import decimal_text, read_amount
from bot.shops.declared.reading import SETTING, address_fault, read_connector
from bot.shops.declared.records import DeclaredRecords
from bot.shops.declared.templates import Scope, build_request
from bot.shops.lookups import NOBODY, Lookups, check_action, check_customer, within
from bot.shops.port import Address, Money, Order, ShopUnavailable
from bot.shops.quoting import IRREVERSIBLE, QUOTED_ONLY, check_quote
from bot.shops.sending import reply_or_outcome
from bot.shops.transport import Reply, open_transport
from bot.shops.wire import one_line

logger = logging.getLogger(__name__)

NO_PARCEL = "NOBODY-00000000"
"""A tracking number that no parcel has."""
_REFERENCE_LIMIT = 60


@asynccontextmanager
async def open_declared_shop(
    path: Path,
    *,
    environ: Mapping[str, str],
    setting: str = SETTING,
    deadline: float | None = None,
    action_deadline: float | None = None,
) -> AsyncIterator["DeclaredShop"]:
    """The shop. It connects at the first question. Raises ConfigurationError with every fault of the file.

    The deadlines replace those of the file, for tests.
    """
    file = read_connector(path, setting=setting)
    secrets = read_secrets(file, environ, setting=f"{setting}: {path}")
    addresses = {"base_url": file.base_url}
    if isinstance(file.auth, OAuthAuth):
        addresses["token_url"] = file.auth.token_url
    urls = {name: secrets[url].get_secret_value() if url in secrets else url for name, url in addresses.items()}
    told = {name: address_fault(url, is_insecure=file.insecure) for name, url in urls.items()}
    if faults := [f"{setting}: {path}: {name} {fault}" for name, fault in told.items() if fault]:
        raise ConfigurationError(faults)
    async with open_transport(file.headers, limit=file.limits.bytes, connections=file.limits.at_once) as transport:
        credentials = open_credentials(file.auth, secrets, transport)
        client = Client(
            file.name or path.stem, urls["base_url"], transport, credentials, Verdicts(file.errors), limits=file.limits
        )
        yield DeclaredShop(file, client, deadline=deadline, action_deadline=action_deadline)


class DeclaredShop(Lookups):
    """A shop that a file describes."""

    def __init__(
        self,
        file: ConnectorFile,
        client: Client,
        *,
        deadline: float | None = None,
        action_deadline: float | None = None,
    ) -> None:
        super().__init__(DeclaredRecords(file, client), alerts=client.alerts, deadline=deadline or file.limits.seconds)
        self.file = file
        self._client = client
        self._verdicts = Verdicts(file.errors)
        self._action_deadline = action_deadline

    async def check(self) -> list[str]:
        """See Connector. A file without customers is asked for a parcel, if it has parcels."""
        if self.file.look_ups.find_customer:
            await self.find_customer(NOBODY)
        elif self.file.look_ups.track:
            async with within(self._deadline):
                await self._records.parcel(ShopCustomer("nobody", "", NOBODY), NO_PARCEL)
        return []

    async def kinds(self) -> Mapping[ActionKind, KindSpec]:
        """See ActionBackend. It is what the file says."""
        return {
            kind: KindSpec(
                kind,
                has_quotes=action.quote is not None,
                key_hours=action.key.hours if isinstance(action.key, Key) else None,
                irreversible=kind in IRREVERSIBLE,
                needs_reason=action.needs_reason,
            )
            for kind, action in self.file.actions.items()
            if action.quote is not None or kind not in QUOTED_ONLY
        }

    async def quote(self, customer: ShopCustomer, kind: ActionKind, order: Order | None, arguments: Arguments) -> Quote:
        """See ActionBackend. A shop without quotes is asked for the variants and payment methods that are named."""
        check_action(customer, kind, order, arguments)
        action = self._action(kind)
        async with within(self._deadline):
            if await self._holds_before(action, customer, order, arguments):
                raise NotSupported(f"nobody could tell afterwards whether {kind} was done", "not_allowed")
            if action.quote is None:
                return await self._computed_quote(customer, kind, order, arguments)
            answer = await self._client.look_up(action.quote, _scope(customer, order, arguments, action))
        if answer is None:
            raise NotSupported(f"the shop refuses to quote {kind}", "not_found")
        try:
            money = _amount(action.quote.amount, answer.value, _currency(self.file, order), "quote.amount")
            when = Expression(action.quote.when).search(answer.value, "quote.when") if action.quote.when else None
        except Unusable as fault:
            self._client.is_unusable(fault)
            raise
        quote = Quote(
            Money(-money.minor, money.currency) if money and money.minor else None,
            when=one_line(_REFERENCE_LIMIT)(when) if isinstance(when, str) else "",
            irreversible=kind in IRREVERSIBLE,
        )
        return check_quote(quote, order, arguments)

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
        """See ActionBackend. Credentials are added when it is sent."""
        check_action(customer, kind, order, arguments)
        action = self._action(kind)
        made = build_request(_with_key(action), _scope(customer, order, arguments, action, quote=quote, key=key))
        headers = dict(made.headers)
        if isinstance(action.key, Key) and action.key.header:
            headers[action.key.header] = key
        money = quote.money
        about = {
            "kind": kind,
            "customer": customer.id,
            "order": arguments.order,
            "currency": money.currency if money else order.total.currency if order else "",
            "back": -min(money.minor, 0) if money else 0,
            "charged": max(money.minor, 0) if money else 0,
        }
        method = cast("Literal['POST', 'PUT', 'PATCH', 'DELETE']", made.method)
        return ActionRequest(method, made.path, headers, made.body, about)

    async def send(self, request: ActionRequest) -> Outcome:
        """See ActionBackend."""
        action = self.file.actions.get(cast("ActionKind", request.about.get("kind")))
        if action is None:
            logger.error("a stored request is none of this connector's; it was not sent")
            return Outcome("unavailable")
        reply = await reply_or_outcome(self._client.act(request, seconds=self._action_deadline or action.seconds))
        return reply if isinstance(reply, Outcome) else self._outcome(action, reply, request.about)

    async def outcome(self, customer: ShopCustomer, kind: ActionKind, arguments: Arguments, *, key: str) -> Outcome:
        """See ActionBackend. It is read back, as the file's `done_when` says."""
        check_customer(customer)
        action = self._action(kind)
        order: Order | None = None
        try:
            async with within(self._deadline):
                if arguments.order and self.file.look_ups.get_order:
                    order = await self.get_order(customer, arguments.order)
                    if order is None:
                        return Outcome("unknown")
                is_done = await self._is_done(action, customer, order, arguments, key=key)
        except ShopUnavailable as error:
            logger.warning("what became of an action cannot be read back", extra={"error": str(error), "kind": kind})
            return Outcome("unavailable")
        return Outcome("done", order=order) if is_done else Outcome("not_found")

    def _action(self, kind: ActionKind) -> ActionCall:
        action = self.file.actions.get(kind)
        if action is None:
            raise NotSupported(f"the connector's file has no {kind}", "not_allowed")
        return action

    async def _holds_before(
        self, action: ActionCall, customer: ShopCustomer, order: Order | None, arguments: Arguments
    ) -> bool:
        """Whether the action looks done before it is. A question by its key names the action itself."""
        done = action.done_when
        if not done.holds_before or "{key}" in repr((done.get, done.query)):
            return False
        return await self._is_done(action, customer, order, arguments, key="")

    async def _is_done(
        self, action: ActionCall, customer: ShopCustomer, order: Order | None, arguments: Arguments, *, key: str
    ) -> bool:
        done = action.done_when
        if done.same:
            return order is not None and order.address == _tamed(arguments.address)
        condition = Expression(done.is_ or "")
        try:
            if done.get is None:
                return order is not None and condition.holds(order_record(order))
            call = Call(get=done.get, query=done.query)
            answer = await self._client.look_up(call, _scope(customer, order, arguments, action, key=key))
            return answer is not None and condition.holds(answer.value)
        except Unusable as fault:
            self._client.is_unusable(fault)
            raise

    def _outcome(self, action: ActionCall, reply: Reply, about: Mapping[str, Any]) -> Outcome:
        verdict = self._verdicts.of(reply)
        if verdict is not None:
            return self._refusal(verdict, reply)
        if reply.status == 202:
            return Outcome("in_progress")
        if reply.status not in (200, 201, 204):
            return Outcome("unknown")
        try:
            return self._done(action, reply, about)
        except Unusable as fault:
            self._client.is_unusable(fault)
            return Outcome("unknown")

    def _refusal(self, verdict: Verdict, reply: Reply) -> Outcome:
        match verdict.state:
            case "refused":
                return Outcome("refused", reason=verdict.refused or "other")
            case "not_found":
                return Outcome("refused", reason="not_found")
            case "in_progress" | "done_before":
                return Outcome("in_progress" if verdict.state == "in_progress" else "done")
            case "busy":
                return Outcome("unavailable")
            case "unauthorized":
                self._client.is_refused(reply.status)
                return Outcome("unavailable")
            case _:
                logger.warning("the shop's answer to an action is none", extra={"status": reply.status})
                return Outcome("unknown")

    def _done(self, action: ActionCall, reply: Reply, about: Mapping[str, Any]) -> Outcome:
        """What the answer says. One that lacks what the file promises, or is about more money, says nothing."""
        if action.reference is None and action.money is None and not reply.body:
            return Outcome("done")
        answer = read_json(reply.body)
        reference = Expression(action.reference).search(answer, "reference") if action.reference else ""
        if isinstance(reference, bool) or not isinstance(reference, (str, int)) or (action.reference and not reference):
            raise Unusable("reference", "is missing")
        money = _amount(action.money, answer, about["currency"] or None, "money") if action.money else None
        outcome = Outcome(
            "done",
            reference=one_line(_REFERENCE_LIMIT)(str(reference)),
            money=Money(-money.minor, money.currency) if money else None,
        )
        expected = Expected(about["customer"], about["order"], about["currency"], about["back"], about["charged"])
        if fault := expected.contradiction(outcome):
            raise Unusable("money", f"is {fault}")
        return outcome


def order_record(order: Order) -> dict[str, Any]:
    """An order as conditions see it: the fields of `Order`, with money as amount and currency."""
    found: dict[str, Any] = _plain(asdict(order))
    return found


def _plain(value: Any) -> Any:
    match value:
        case {"minor": amount, "currency": currency}:
            return {"amount": amount, "currency": currency}
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case tuple():
            return [_plain(each) for each in value]
        case datetime():
            return value.isoformat()
        case _:
            return value


def _tamed(address: Address | None) -> Address | None:
    """The address as it would come back from the shop."""
    if address is None:
        return None
    lines = {"name", "line1", "line2"}
    return Address(**{name: one_line(120 if name in lines else 60)(text) for name, text in asdict(address).items()})


def _currency(file: ConnectorFile, order: Order | None) -> str | None:
    return order.total.currency if order else file.currency


def _amount(spec: FieldSpec, answer: object, currency: str | None, field: str) -> Money | None:
    """An amount in an answer. None if it is not there."""
    raw = Expression(spec.at or "").search(answer, field)
    if raw is None:
        return None
    stated = Expression(spec.currency).search(answer, field) if spec.currency else currency
    found = read_amount(raw, unit=spec.unit or "decimal", currency=stated, field=field)
    return Money(found["amount"], found["currency"])


def _with_key(action: ActionCall) -> Call:
    """The call, with the key in its body if that is where it goes."""
    if isinstance(action.key, Key) and action.key.json_ and isinstance(action.json_, Mapping):
        return action.model_copy(update={"json_": {**action.json_, action.key.json_: "{key}"}})
    return action


def _scope(
    customer: ShopCustomer,
    order: Order | None,
    arguments: Arguments,
    action: ActionCall,
    *,
    quote: Quote | None = None,
    key: str = "",
) -> Scope:
    """What the placeholders of an action's requests stand for."""
    amount = quote.money if quote and quote.money else arguments.amount
    words = action.words.get("reason")
    values: dict[str, str | int | None] = {
        "customer.id": customer.id,
        "customer.email": customer.email,
        "order.id": arguments.order,
        "order.revision": order.revision if order else "",
        "payment_method.id": arguments.method,
        "reason": words.get(arguments.reason, words.get("other")) if words and arguments.reason else arguments.reason,
        "key": key,
    }
    if arguments.undoes:
        values |= {"undone.key": arguments.undoes.key, "undone.reference": arguments.undoes.reference}
    if amount:
        values |= {
            "amount.minor": abs(amount.minor),
            "amount.decimal": decimal_text(amount),
            "amount.currency": amount.currency,
        }
    if arguments.address:
        values |= {f"address.{name}": text for name, text in asdict(arguments.address).items()}
    bought = {line.id: line for line in order.lines} if order else {}

    def entry(line_id: str, quantity: int | None, variant: str = "") -> dict[str, str | int | None]:
        line = bought.get(line_id)
        return {
            "line.id": line_id,
            "line.quantity": quantity if quantity is not None else line.quantity if line else None,
            "line.product_id": line.product_id if line else "",
            "line.variant_id": line.variant_id if line else "",
            "variant.id": variant,
        }

    lists = {
        "lines": [entry(each.line, each.quantity) for each in arguments.lines],
        "swaps": [entry(each.line, None, each.variant) for each in arguments.swaps],
    }
    return Scope(values, lists)
