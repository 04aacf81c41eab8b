"""From what a customer wants to a preview: rights, facts, policy, quote, one stored row. The shop is not changed.

prepare     make the row that the preview shows, or say why there is none
revise      the same row with another amount, which staff offer
show        queue the previews of a turn, in the transaction that keeps its answer
show_again  queue one once more, because its customer answers it in words
drop        withdraw what a turn prepared, because its answer is not given
take_back   withdraw it, because its message was edited or deleted
"""

import contextlib
import uuid
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

from bot.actions import action as steps
from bot.actions.action import ActionMovedOn
from bot.actions.judging import Judged, Judging, facts_hash, subject_of
from bot.actions.messages import offer_key
from bot.actions.policy import Judgement, because_in
from bot.actions.stepping import ActionStepping, note
from bot.conversation import Customer, ShopCustomer, ThreadRef
from bot.failpoints import failpoint
from bot.language.languages import Language
from bot.language.sentences import language_for
from bot.shops.actions import ActionKind, Arguments, KindSpec, digest
from bot.shops.port import Money
from bot.store import actions, audit, outbox, threads
from bot.store.actions import Action
from bot.store.database import Transaction
from bot.store.metrics import NOT_OFFERED
from bot.store.statements import lock

OFFERS_A_TURN = 4


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """Who wants something changed, and where they said so."""

    customer: Customer
    shop: ShopCustomer
    thread: ThreadRef
    origin: str
    """What it is prepared for: `turn/7`, or `case/1042/9` for the submission 9 of a dialog of staff. `/again/` and the
    reference of an action that could not be sent follow."""
    language: Language
    prepared_by: str = ""
    """The member of staff who prepares it in a case. Empty: the assistant does."""
    case_id: int = 0
    """That case."""

    @property
    def actor(self) -> str:
        """Who the audit trail says prepared it."""
        return self.prepared_by or "assistant"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What came of a request."""

    state: Literal["offered", "no_order", "not_offered", "refused", "person", "under_way", "too_many", "missing"]
    action: Action | None = None
    words: str = ""
    """The rule's sentence in the customer's language, or what is missing."""


@dataclass(frozen=True, slots=True)
class Preparing:
    """Prepares actions. `bot.app` puts the parts together."""

    stepping: ActionStepping
    judging: Judging
    offer_minutes: float = 15.0
    offers_an_hour: int = 20

    async def prepare(self, wanted: ChangeRequest, kind: ActionKind, arguments: Arguments) -> Prepared:
        """Store what the preview will show. The same request of the same turn finds the row that is there.

        Raises:
            ShopUnavailable: the shop does not say.
            NeedsMore: the customer must say more.
        """
        spec = await self.judging.spec_of(kind)
        if spec is None:
            return Prepared("not_offered")
        order = await self.judging.shop.get_order(wanted.shop, arguments.order) if arguments.order else None
        if order is None and kind != "change_customer_address":
            return Prepared("no_order")
        judged = await self.judging.judge(spec, wanted.customer.user, wanted.shop, order, arguments)
        for rule in judged.judgement.rules:
            if not rule.held:
                self.stepping.metrics.rule_failed(rule.id, rule.outcome)
        if not judged.may_be_offered:
            await self._note_refusal(wanted.origin, kind, judged.judgement)
            return self._refused(judged, "en" if wanted.prepared_by else wanted.language)
        return await self._store(wanted, spec, judged)

    async def renew(self, action: Action, customer: Customer) -> Prepared:
        """Prepare the same once more, as the order is now, and show it in the same thread.

        Raises:
            ShopUnavailable: the shop does not say.
            NeedsMore: it cannot be done as it was asked for.
        """
        if customer.shop is None:
            return Prepared("not_offered")
        language = language_for(action.language)
        wanted = ChangeRequest(
            customer, customer.shop, action.thread, origin_again(action), language, action.prepared_by, action.case_id
        )
        arguments = Arguments.read(action.arguments)
        prepared = await self.prepare(wanted, cast("ActionKind", action.kind), arguments)
        async with self.stepping.database.transaction() as tx:
            if prepared.state == "offered":
                epoch = None if action.prepared_by else await threads.epoch_of(tx, action.thread.key)
                await self.show(tx, wanted.origin, action.thread, epoch, language=language)
            elif prepared.words:
                await outbox.add(
                    tx, self.stepping.messages.cannot(action, prepared.words), now=self.stepping.clock.now()
                )
        return prepared

    async def revise(self, action: Action, customer: Customer, amount: Money) -> Prepared:
        """The action as it would be with this amount. It is not stored.

        Raises:
            ShopUnavailable: the shop does not say.
            NeedsMore: the order does not have that much.
        """
        kind = cast("ActionKind", action.kind)
        spec = await self.judging.spec_of(kind)
        if customer.shop is None or spec is None:
            return Prepared("not_offered")
        arguments = replace(Arguments.read(action.arguments), amount=amount)
        order = await self.judging.shop.get_order(customer.shop, arguments.order)
        if order is None:
            return Prepared("no_order")
        judged = await self.judging.judge(spec, customer.user, customer.shop, order, arguments, besides=action.id)
        if not judged.may_be_offered or judged.money != Money(-amount.minor, amount.currency):
            return self._refused(judged, language_for(action.language))
        content = self._content(spec, judged, customer.shop, key=action.key, language=language_for(action.language))
        return Prepared("offered", replace(action, **content))

    async def show(
        self, tx: Transaction, origin: str, place: ThreadRef, epoch: int | None, *, language: Language
    ) -> bool:
        """Queue the previews of a turn in `place`, where its answer is. Returns whether there are any.

        They are dropped if the ownership epoch changes before they are posted. What staff prepare has none. An older
        preview about the same order is withdrawn, and its buttons go.
        """
        now = self.stepping.clock.now()
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
                await outbox.add(tx, self.stepping.messages.offer(changed, epoch), now=now)
                await note(tx, changed, "offered", each.prepared_by or "assistant", now=now)
        return bool(found)

    async def show_again(self, tx: Transaction, action: Action) -> None:
        """Queue the preview once more, at the end of its thread. Nothing happens if it has moved on."""
        before = await actions.find(tx, action.ref)
        if before is None or before.state != "offered" or await outbox.by_key(tx, offer_key(before)) is None:
            return
        after = steps.show_again(before)
        await self.stepping.put(tx, before, after, "shown_again", before.customer)

    async def decline(self, tx: Transaction, action: Action) -> None:
        """The customer said no in words. Nothing happens if it has moved on."""
        before = await actions.find(tx, action.ref)
        if before is None or before.state != "offered":
            return
        after = steps.decline(before, now=self.stepping.clock.now())
        await self.stepping.put(tx, before, after, "ended", before.customer)

    async def withdraw_offer(self, tx: Transaction, ref: str, reason: str) -> None:
        """Withdraw it if nobody has said yes to it."""
        before = await actions.find(tx, ref)
        if before is not None and before.state == "offered":
            await self._withdraw(tx, before, reason)

    async def take_back(self, tx: Transaction, turns: Collection[int]) -> None:
        """Withdraw what was prepared for messages that say something else now, also what was offered again."""
        for each in await actions.of_turns(tx, turns):
            await self._withdraw(tx, each, "taken_back")

    async def drop(self, tx: Transaction, origin: str, reason: str) -> None:
        """Withdraw what a turn prepared and nobody has sent. Previews that stand say so."""
        for each in await actions.of_origin(tx, origin, states=("offered", "approving", "ready")):
            await self._withdraw(tx, each, reason)

    async def _withdraw(self, tx: Transaction, before: Action, reason: str) -> None:
        """Nothing happens if it has moved on."""
        with contextlib.suppress(ActionMovedOn):
            after = steps.withdraw(before, reason, now=self.stepping.clock.now())
            await self.stepping.put(tx, before, after, "ended", "frontdesk")

    async def _store(self, wanted: ChangeRequest, spec: KindSpec, judged: Judged) -> Prepared:
        kind, now = spec.kind, self.stepping.clock.now()
        subject = subject_of(judged.order, wanted.shop)
        new = self._action(wanted, spec, judged, subject=subject, key=str(uuid.uuid4()))
        async with self.stepping.database.transaction() as tx:
            await lock(tx, f"action/{subject}")
            while (before := await actions.prepared(tx, new.origin, kind, new.arguments_hash)) is not None:
                if before.state == "offered" or wanted.prepared_by:
                    return Prepared("offered", before)
                # It has ended, so what is asked for once more is another action.
                new = replace(new, origin=origin_again(before))
            if await actions.is_taken(tx, subject, besides=judged.undone.id if judged.undone else 0):
                return Prepared("under_way")
            in_turn = await actions.of_origin(tx, wanted.origin, states=("offered",))
            since = await actions.offered_since(tx, wanted.customer.user, now - 3600.0)
            if len(in_turn) >= OFFERS_A_TURN or since >= self.offers_an_hour:
                return Prepared("too_many")
            stored = await actions.add(tx, new)
            if stored is not None:
                await note(tx, stored, "prepared", wanted.actor, now=now)
        failpoint("action_stored")
        return Prepared("offered", stored or new)

    def _action(self, wanted: ChangeRequest, spec: KindSpec, judged: Judged, *, subject: str, key: str) -> Action:
        now = self.stepping.clock.now()
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
            kind=spec.kind,
            key=key,
            offered_at=now,
            due=now + self.offer_minutes * 60,
            prepared_by=wanted.prepared_by,
            undoes=judged.undone.ref if judged.undone else "",
            case_id=wanted.case_id,
            **self._content(spec, judged, wanted.shop, key=key, language=wanted.language),
        )

    def _content(
        self, spec: KindSpec, judged: Judged, shop: ShopCustomer, *, key: str, language: Language
    ) -> dict[str, Any]:
        """What is shown, agreed on and sent: all of it made from one judgement."""
        kind, arguments = spec.kind, judged.arguments
        request = self.judging.shop.render(shop, kind, judged.order, arguments, quote=judged.quote, key=key)
        stored = arguments.canonical()
        return {
            "arguments": stored,
            "arguments_hash": arguments_hash(kind, shop.id, stored),
            "facts_hash": facts_hash(judged.order),
            "preview": _preview(judged, spec) | self._fee(kind, judged, language),
            "money": judged.money.minor,
            "currency": judged.money.currency,
            "policy": judged.rules.digest,
            "rules": _as_stored(judged.judgement),
            "request": asdict(request) | {"key_hours": spec.key_hours},
        }

    def _fee(self, kind: ActionKind, judged: Judged, language: Language) -> dict[str, Any]:
        """What the customer pays beside what the shop quotes, such as the postage of a return."""
        fee, rules = judged.judgement.fee, judged.rules.file.actions.get(kind)
        written = rules.fee if rules else None
        if fee is None or written is None or judged.arguments.amount is not None:
            return {}
        label = self._because(judged, written.label, language)
        quoted = [_line(each.title, each.quantity, each.money) for each in judged.quote.fees if each.money]
        deducted = {"deducted": True} if judged.fee_is_deducted else {}
        return {"fees": [*quoted, _line(label, 1, fee) | deducted]}

    async def _note_refusal(self, origin: str, kind: ActionKind, judgement: Judgement) -> None:
        """Write into the audit trail which rules let nothing be offered. No row of an action is stored."""
        failed = [rule.id for rule in judgement.rules if rule.outcome == judgement.outcome]
        detail = {"kind": kind, "outcome": judgement.outcome, "rules": " ".join(failed)}
        async with self.stepping.database.transaction() as tx:
            await audit.note(
                tx, actor="frontdesk", action=NOT_OFFERED, subject=origin, detail=detail, now=self.stepping.clock.now()
            )

    def _refused(self, judged: Judged, language: Language) -> Prepared:
        judgement = judged.judgement
        if judgement.outcome == "ask":
            return Prepared("missing", words=judgement.missing)
        words = self._because(judged, judgement.because, language) if judgement.because else ""
        return Prepared("refused" if judgement.outcome == "refuse" else "person", words=words)

    def _because(self, judged: Judged, key: str, language: Language) -> str:
        """The policy's sentence with this key."""
        return because_in(judged.rules, key, language, judged.facts, sentences=self.stepping.messages.sentences)


def arguments_hash(kind: str, shop_customer: str, arguments: Mapping[str, Any]) -> str:
    """What proves that stored arguments are those that were shown."""
    return digest(kind, shop_customer, dict(arguments))


def origin_again(before: Action) -> str:
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
        "lines": [_line(each.title, each.quantity, each.money) for each in quote.lines] or _undone_lines(judged.undone),
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


def _undone_lines(undone: Action | None) -> list[dict[str, Any]]:
    """What the action that is undone has changed, as its customer was shown it."""
    if undone is None:
        return []
    shown, done = undone.preview.get("lines", ()), undone.preview.get("done_lines")
    return [
        _line(each["title"], 0 if done else each["quantity"], None)
        for each in shown
        if undone.state == "done" or each["title"] in (done or ())
    ]


def _line(title: str, quantity: int, money: Money | None) -> dict[str, Any]:
    return {"title": title, "quantity": quantity, **({"money": asdict(money)} if money else {})}
