"""From what a customer wants to a preview: rights, facts, policy, quote, one stored row. The shop is not changed.

prepare     make the row that the preview shows, or say why there is none
show        queue the previews of a turn, in the transaction that keeps its answer
drop        withdraw what a turn prepared, because its answer is not given
take_back   withdraw it, because its message was edited or deleted
"""

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, Protocol, cast
from zoneinfo import ZoneInfo

from bot.actions import action as steps
from bot.actions import policy
from bot.actions.checking import OF_SWAPS, check
from bot.actions.facts import CustomerFacts, build_facts
from bot.actions.measuring import measure
from bot.actions.messages import ActionMessages, offer_key
from bot.actions.policy import Judgement
from bot.actions.policy_file import Policy
from bot.clock import DAY, Clock
from bot.conversation import Customer, ShopCustomer, ThreadRef
from bot.failpoints import failpoint
from bot.language.languages import Language
from bot.language.sentences import language_for
from bot.shops.actions import (
    ActionBackend,
    ActionKind,
    Arguments,
    KindSpec,
    NotSupported,
    Outcome,
    ProductBackend,
    Quote,
    digest,
)
from bot.shops.port import Money, Order, OrderBackend, Parcel, Product, ShippingBackend
from bot.slack.outbox import Outbox
from bot.store import actions, audit, cases, outbox, threads
from bot.store.actions import Action
from bot.store.database import Database, Transaction
from bot.store.metrics import NOT_OFFERED
from bot.store.statements import lock
from bot.telemetry import Metrics

OFFERS_A_TURN = 4
FACT_DAYS = 90
CASE_DAYS = 30
"""The days in which a customer's refunds and cases count as facts."""
PARCELS_READ = 5
"""Parcels of one order that are asked about."""


class Shop(OrderBackend, ShippingBackend, ActionBackend, ProductBackend, Protocol):
    """A shop whose orders can be changed."""


NOT_POSSIBLE = Judgement("person", "", ())
"""The shop cannot do it, whatever the rules allow. People may know another way."""


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """Who wants something changed, and where they said so."""

    customer: Customer
    shop: ShopCustomer
    thread: ThreadRef
    origin: str
    """What it is prepared for: `turn/7`, with `/again/` and the reference of an action that could not be sent."""
    language: Language


@dataclass(frozen=True, slots=True)
class Prepared:
    """What came of a request."""

    state: Literal["offered", "no_order", "not_offered", "refused", "person", "under_way", "too_many", "missing"]
    action: Action | None = None
    words: str = ""
    """The rule's sentence in the customer's language, or what is missing."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An action as rules and shop see it at one moment."""

    order: Order | None
    arguments: Arguments
    quote: Quote
    judgement: Judgement
    facts_hash: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Preparing:
    """Prepares actions. `bot.app` puts the parts together."""

    database: Database
    outbox: Outbox
    clock: Clock
    shop: Shop
    policy: Callable[[], Policy]
    """The policy in force."""
    messages: ActionMessages
    zone: str
    """The time zone in which days are counted."""
    offer_minutes: float = 15.0
    offers_an_hour: int = 20
    metrics: Metrics = field(default_factory=Metrics)

    async def prepare(self, wanted: ChangeRequest, kind: ActionKind, arguments: Arguments) -> Prepared:
        """Store what the preview will show. The same request of the same turn finds the row that is there.

        Raises:
            ShopUnavailable: the shop does not say.
            NeedsMore: the customer must say more.
        """
        rules = self.policy()
        spec = (await self.shop.kinds()).get(kind)
        if spec is None or kind not in rules.kinds:
            return Prepared("not_offered")
        order = await self.shop.get_order(wanted.shop, arguments.order) if arguments.order else None
        if order is None and kind != "change_customer_address":
            return Prepared("no_order")
        products = await self._products(wanted.shop, order, kind)
        arguments = check(kind, order, arguments, spec=spec, products=products)
        judged = await self.judge(rules, wanted.customer.user, wanted.shop, kind, order, arguments, products)
        for rule in judged.judgement.rules:
            if not rule.held:
                self.metrics.rule_failed(rule.id, rule.outcome)
        if judged.judgement.outcome in ("refuse", "person", "ask"):
            await self._note_refusal(wanted.origin, kind, judged.judgement)
            return self._refused(rules, judged, wanted.language)
        return await self._store(wanted, kind, spec, judged, rules)

    async def judge(
        self,
        rules: Policy,
        user: str,
        customer: ShopCustomer,
        kind: ActionKind,
        order: Order | None,
        arguments: Arguments,
        products: Mapping[str, Product],
        *,
        besides: int = 0,
    ) -> Judged:
        """Ask the shop what it would cost, and the rules whether it may be done. Raises ShopUnavailable.

        `besides` is the id of the action itself, which does not count among what the customer has had done.
        """
        async with self.database.transaction() as tx:
            done = await actions.of_subject(tx, subject_of(order, customer), states=("done",))
            recent = await cases.count_since(tx, user, self.clock.now() - CASE_DAYS * DAY)
        facts_of = partial(
            build_facts,
            kind=kind,
            order=order,
            arguments=arguments,
            customer=await self._customer_facts(customer, besides=besides),
            cases_30d=recent,
            now=datetime.fromtimestamp(self.clock.now(), UTC),
            zone=ZoneInfo(self.zone),
            actions_done=len(done),
            products=tuple(products.values()),
            methods=await self.shop.payment_methods(customer) if arguments.method else (),
            parcels=await self._parcels(customer, order),
        )
        # A rule of the shop's own says more than a shop that refuses to quote.
        facts = facts_of(quote=None)
        judgement = policy.judge(rules, kind, facts, money=0, currency="")
        if judgement.outcome == "refuse":
            return Judged(order, arguments, Quote(None), judgement, facts_hash(order), facts)
        try:
            quote = await self.shop.quote(customer, kind, order, arguments)
        except NotSupported:
            return Judged(order, arguments, Quote(None), NOT_POSSIBLE, facts_hash(order), facts)
        facts, money = facts_of(quote=quote), quote.money or Money(0, "")
        judgement = policy.judge(rules, kind, facts, money=money.minor, currency=money.currency)
        return Judged(order, arguments, quote, judgement, facts_hash(order), facts)

    async def what_has_changed(self, action: Action, customer: Customer, order: Order | None) -> Outcome | None:
        """Why an action may not be sent any more, although the order is as it was: the rules, or the shop's quote.

        Raises:
            ShopUnavailable: the shop does not say.
            NeedsMore: what was confirmed does not exist any more.
        """
        rules, kind = self.policy(), cast("ActionKind", action.kind)
        spec = (await self.shop.kinds()).get(kind)
        if customer.shop is None or spec is None or kind not in rules.kinds:
            return Outcome("refused", "not_allowed")
        products = await self._products(customer.shop, order, kind)
        arguments = check(kind, order, Arguments.read(action.arguments), spec=spec, products=products)
        judged = await self.judge(
            rules, customer.user, customer.shop, kind, order, arguments, products, besides=action.id
        )
        if judged.judgement.outcome in ("refuse", "person", "ask"):
            return Outcome("refused", "not_allowed")
        money = judged.quote.money or Money(0, "")
        return (
            Outcome("refused", "changed") if (money.minor, money.currency) != (action.money, action.currency) else None
        )

    async def renew(self, action: Action, customer: Customer) -> Prepared:
        """Prepare the same once more, as the order is now, and show it in the same thread.

        Raises:
            ShopUnavailable: the shop does not say.
            NeedsMore: it cannot be done as it was asked for.
        """
        if customer.shop is None:
            return Prepared("not_offered")
        language = language_for(action.language)
        wanted = ChangeRequest(customer, customer.shop, action.thread, _again(action), language)
        arguments = Arguments.read(action.arguments)
        prepared = await self.prepare(wanted, cast("ActionKind", action.kind), arguments)
        async with self.database.transaction() as tx:
            if prepared.state == "offered":
                epoch = await threads.epoch_of(tx, action.thread.key)
                await self.show(tx, wanted.origin, action.thread, epoch, language=language)
            elif prepared.words:
                await outbox.add(tx, self.messages.cannot(action, prepared.words), now=self.clock.now())
        return prepared

    async def show(self, tx: Transaction, origin: str, place: ThreadRef, epoch: int, *, language: Language) -> bool:
        """Queue the previews of a turn in `place`, where its answer is. Returns whether there are any.

        An older preview about the same order is withdrawn, and its buttons go.
        """
        now = self.clock.now()
        found = await actions.of_origin(tx, origin, states=("offered",))
        for each in found:
            if await outbox.by_key(tx, offer_key(each)) is not None:
                continue
            for older in await actions.of_subject(tx, each.subject, states=("offered",)):
                if older.id < each.id:
                    await self._withdraw(tx, older, "newer")
            shown = replace(each, thread=place, language=language, due=now + self.offer_minutes * 60)
            changed = await actions.change(tx, each, shown)
            if changed is not None:
                await outbox.add(tx, self.messages.offer(changed, epoch), now=now)
                await note(tx, changed, "offered", "assistant", now=now)
        return bool(found)

    async def decline(self, tx: Transaction, action: Action) -> None:
        """The customer said no in words. Nothing happens if it has moved on."""
        before = await actions.find(tx, action.ref)
        if before is None or before.state != "offered":
            return
        now = self.clock.now()
        changed = await actions.change(tx, before, steps.decline(before, now=now))
        if changed is not None:
            measure(self.metrics, before, changed, now=now)
            await note(tx, changed, "ended", changed.customer, now=now)
            await outbox.add(tx, *self.messages.step(changed, now=now), now=now)

    async def take_back(self, tx: Transaction, turns: Collection[int]) -> None:
        """Withdraw what was prepared for messages that say something else now, also what was offered again."""
        for each in await actions.of_turns(tx, turns):
            await self._withdraw(tx, each, "taken_back")

    async def drop(self, tx: Transaction, origin: str, reason: str) -> None:
        """Withdraw what a turn prepared and nobody has sent. Previews that stand say so."""
        for each in await actions.of_origin(tx, origin, states=("offered", "approving", "ready")):
            await self._withdraw(tx, each, reason)

    async def _withdraw(self, tx: Transaction, before: Action, reason: str) -> None:
        try:
            after = steps.withdraw(before, reason, now=self.clock.now())
        except steps.ActionMovedOn:
            return
        changed = await actions.change(tx, before, after)
        if changed is None:
            return
        now = self.clock.now()
        measure(self.metrics, before, changed, now=now)
        await note(tx, changed, "ended", "frontdesk", now=now)
        if await outbox.by_key(tx, offer_key(changed)) is not None:
            await outbox.add(tx, *self.messages.step(changed, now=now), now=now)
        if before.state == "approving":
            await outbox.add(tx, self.messages.decided(changed), now=now)

    async def _store(
        self, wanted: ChangeRequest, kind: ActionKind, spec: KindSpec, judged: Judged, rules: Policy
    ) -> Prepared:
        order, now = judged.order, self.clock.now()
        subject = subject_of(order, wanted.shop)
        new = self._action(wanted, kind, spec, judged, rules, subject=subject, key=str(uuid.uuid4()))
        async with self.database.transaction() as tx:
            await lock(tx, f"action/{subject}")
            while (before := await actions.prepared(tx, new.origin, kind, new.arguments_hash)) is not None:
                if before.state == "offered":
                    return Prepared("offered", before)
                # It has ended, so what is asked for once more is another action.
                new = replace(new, origin=_again(before))
            if await actions.is_taken(tx, subject):
                return Prepared("under_way")
            in_turn = await actions.of_origin(tx, wanted.origin, states=("offered",))
            since = await actions.offered_since(tx, wanted.customer.user, now - 3600.0)
            if len(in_turn) >= OFFERS_A_TURN or since >= self.offers_an_hour:
                return Prepared("too_many")
            stored = await actions.add(tx, new)
            if stored is not None:
                await note(tx, stored, "prepared", "assistant", now=now)
        failpoint("action_stored")
        return Prepared("offered", stored or new)

    def _action(
        self,
        wanted: ChangeRequest,
        kind: ActionKind,
        spec: KindSpec,
        judged: Judged,
        rules: Policy,
        *,
        subject: str,
        key: str,
    ) -> Action:
        quote, now = judged.quote, self.clock.now()
        money = quote.money or Money(0, "")
        request = self.shop.render(wanted.shop, kind, judged.order, judged.arguments, quote=quote, key=key)
        stored = judged.arguments.canonical()
        return Action(
            ref=steps.new_ref(),
            version=1,
            state="offered",
            thread=wanted.thread,
            origin=wanted.origin,
            customer=wanted.customer.user,
            customer_team=wanted.customer.team,
            customer_name=wanted.customer.name,
            language=wanted.language,
            zone=wanted.customer.zone,
            shop_customer=wanted.shop.id,
            subject=subject,
            kind=kind,
            arguments=stored,
            arguments_hash=arguments_hash(kind, wanted.shop.id, stored),
            facts_hash=judged.facts_hash,
            preview=_preview(judged, spec) | self._fee(rules, kind, judged, wanted.language),
            money=money.minor,
            currency=money.currency,
            policy=rules.digest,
            rules=_as_stored(judged.judgement),
            request=asdict(request) | {"key_hours": spec.key_hours},
            key=key,
            offered_at=now,
            due=now + self.offer_minutes * 60,
        )

    def _fee(self, rules: Policy, kind: ActionKind, judged: Judged, language: Language) -> dict[str, Any]:
        """What the customer pays beside what the shop quotes, such as the postage of a return."""
        fee, written = judged.judgement.fee, rules.file.actions[kind].fee
        if fee is None or written is None:
            return {}
        label = policy.because_in(rules, written.label, language, judged.facts, sentences=self.messages.sentences)
        quoted = [_line(each.title, each.quantity, each.money) for each in judged.quote.fees if each.money]
        return {"fees": [*quoted, _line(label, 1, fee)]}

    async def _note_refusal(self, origin: str, kind: ActionKind, judgement: Judgement) -> None:
        """Write into the audit trail which rules let nothing be offered. No row of an action is stored."""
        failed = [rule.id for rule in judgement.rules if rule.outcome == judgement.outcome]
        detail = {"kind": kind, "outcome": judgement.outcome, "rules": " ".join(failed)}
        async with self.database.transaction() as tx:
            await audit.note(
                tx, actor="frontdesk", action=NOT_OFFERED, subject=origin, detail=detail, now=self.clock.now()
            )

    def _refused(self, rules: Policy, judged: Judged, language: Language) -> Prepared:
        judgement = judged.judgement
        if judgement.outcome == "ask":
            return Prepared("missing", words=judgement.missing)
        because, facts = judgement.because, judged.facts
        words = policy.because_in(rules, because, language, facts, sentences=self.messages.sentences) if because else ""
        return Prepared("refused" if judgement.outcome == "refuse" else "person", words=words)

    async def _products(self, customer: ShopCustomer, order: Order | None, kind: ActionKind) -> dict[str, Product]:
        if order is None or kind not in OF_SWAPS:
            return {}
        found: dict[str, Product] = {}
        for product_id in sorted({line.product_id for line in order.lines if line.product_id})[:10]:
            product = await self.shop.get_product(customer, product_id)
            if product is not None:
                found[product_id] = product
        return found

    async def _parcels(self, customer: ShopCustomer, order: Order | None) -> list[Parcel]:
        """The parcels of an order that has arrived, if only their scans can say when."""
        if order is None or order.delivered_at is not None or order.status != "delivered":
            return []
        found = [await self.shop.track(customer, each.tracking_number) for each in order.parcels[:PARCELS_READ]]
        return [each for each in found if each is not None]

    async def _customer_facts(self, customer: ShopCustomer, *, besides: int) -> CustomerFacts:
        orders = await self.shop.list_orders(customer)
        now = self.clock.now()
        async with self.database.transaction() as tx:
            refunds = await actions.refunds_since(tx, customer.id, now - FACT_DAYS * DAY)
            today = await actions.sums_of(tx, since=now - DAY, currency="", shop_customer=customer.id, besides=besides)
        first = min((order.placed_at for order in orders), default=None)
        return CustomerFacts(
            orders_count=len(orders), refunds_90d=refunds, actions_today=today.actions, first_order_at=first
        )


async def note(tx: Transaction, action: Action, what: str, actor: str, *, now: float, **detail: str) -> None:
    """Write one entry of the audit trail: no words and no address, only what the books need."""
    told = {
        "version": str(action.version),
        "state": action.state,
        "kind": action.kind,
        "subject": action.subject,
        "money": str(action.money),
        "currency": action.currency,
        "arguments": action.arguments_hash,
        **({"reason": action.reason} if action.reason else {}),
        **detail,
    }
    await audit.note(tx, actor=actor, action=f"action.{what}", subject=action.ref, detail=told, now=now)


def subject_of(order: Order | None, customer: ShopCustomer) -> str:
    """What an action changes. Two actions of one subject never run at the same time."""
    return f"order/{order.id}" if order else f"customer/{customer.id}"


def arguments_hash(kind: str, shop_customer: str, arguments: Mapping[str, Any]) -> str:
    """What proves that stored arguments are those that were shown."""
    return digest(kind, shop_customer, dict(arguments))


def facts_hash(order: Order | None) -> str:
    """What changes when the order changes in a way that the preview or the rules could show."""
    if order is None:
        return digest(None)
    return digest(
        order.status,
        order.state,
        order.payment,
        order.revision,
        asdict(order.total),
        None if order.refundable is None else asdict(order.refundable),
        [[line.id, line.quantity, asdict(line.unit_price), line.returnable, line.cancellable] for line in order.lines],
        [parcel.tracking_number for parcel in order.parcels],
        None if order.address is None else asdict(order.address),
    )


def _again(before: Action) -> str:
    """The origin of what is prepared once more in the place of an action that has ended."""
    return f"{before.origin.partition('/again/')[0]}/again/{before.ref}"


def _as_stored(judgement: Judgement) -> dict[str, Any]:
    return {
        "outcome": judgement.outcome,
        "because": judgement.because,
        "second_person": judgement.second_person,
        "rules": [{"id": rule.id, "held": rule.held} for rule in judgement.rules],
    }


def _preview(judged: Judged, spec: KindSpec) -> dict[str, Any]:
    """What the customer is shown, as data."""
    quote, order, arguments = judged.quote, judged.order, judged.arguments
    preview: dict[str, Any] = {
        "lines": [_line(each.title, each.quantity, each.money) for each in quote.lines],
        "fees": [_line(each.title, each.quantity, each.money) for each in quote.fees if each.money],
        "to": quote.to,
        "when": quote.when,
        "irreversible": quote.irreversible or spec.irreversible,
        "computed": quote.computed,
    }
    if arguments.address is not None:
        preview["new_address"] = asdict(arguments.address)
        if order is not None and order.address is not None:
            preview["old_address"] = asdict(order.address)
    return {name: value for name, value in preview.items() if value}


def _line(title: str, quantity: int, money: Money | None) -> dict[str, Any]:
    return {"title": title, "quantity": quantity, **({"money": asdict(money)} if money else {})}
