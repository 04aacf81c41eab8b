"""Carries actions out: sends each stored request, finds out what became of it, and tells everybody once.

run         look for what is due, until cancelled
begin       carry out at once what a press has confirmed
look_again  the shop says that the order has changed: end what no longer holds, ask about what has no answer
  _look     end offers in time, take over what a gone process was sending, carry out what is ready, ask about the rest
  _execute  read the order again, and send the request
  _send     mark it as leaving, send it, keep the answer
  _find_out ask the shop what became of a request without an answer
  _call     open a case for what nobody could find out

A request leaves only while its row is marked as executing by this process, and within SENDING_SECONDS of the mark, so a
process that stood still sends nothing. Without an idempotency key a request leaves once in all.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from bot.actions import action as steps
from bot.actions.action import LOOK_DELAYS, SENDING_SECONDS, ActionMovedOn
from bot.actions.checking import NeedsMore
from bot.actions.judging import Judging, facts_hash
from bot.actions.messages import offer_key
from bot.actions.preparing import Preparing
from bot.actions.stepping import ActionStepping
from bot.alerts import Alerts
from bot.cases.cases import Cases
from bot.conversation import Customer, ShopCustomer
from bot.failpoints import failpoint
from bot.shops.actions import UNDONE_BY, ActionKind, ActionRequest, Arguments, Outcome
from bot.shops.port import ShopUnavailable
from bot.store import actions, leases, outbox
from bot.store.actions import Action, State
from bot.store.leases import Membership
from bot.views.action_cards import staff_title

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""The time between two looks. What a press confirms begins at once in its own process."""
AT_ONCE = 4
"""Actions that one process sends, or asks the shop about, at the same time."""
CHECKS_AT_ONCE = 16
"""Actions whose order one process reads again at the same time."""
CHECK_SECONDS = SENDING_SECONDS
"""An action that waited longer for its turn to be sent is checked once more."""
MOST = 200
"""Actions that one look handles. The next one handles the rest."""
_WITH_A_TIME: tuple[State, ...] = ("offered", "approving", "ready", "unknown", "stuck", "partly")
KEY_MARGIN_HOURS = 1.0
"""A shop's key counts as forgotten this much before the shop says that it forgets it."""
COUNT_SECONDS = 15.0
"""The time between two counts of what has not ended, for the metrics."""
ANSWER_PAUSE, SILENCE_PAUSE = 1.0, 30.0
"""Seconds until an order is read again of which the shop says that it has changed: while a request is out to the shop,
and when the shop does not answer."""
LOOK_LEASE = 30.0
"""Seconds for which one process asks about an action. If it is gone, another asks then."""

Identify = Callable[[str], Awaitable[Customer | None]]
"""Returns who a Slack user is, with the shop's customer, asked now."""


@dataclass(slots=True)
class ActionRunner:
    """Carries out what is confirmed. `bot.app` puts the parts together."""

    stepping: ActionStepping
    preparing: Preparing
    cases: Cases
    identify: Identify
    member: Membership
    is_alone: bool
    """Whether no other process can be sending anything."""
    alerts: Alerts = field(default_factory=Alerts)
    _count_next: float = 0.0
    _running: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _checks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CHECKS_AT_ONCE))
    _is_open: bool = False

    @property
    def judging(self) -> Judging:
        """What the rules and the shop say."""
        return self.preparing.judging

    def begin(self, action: Action) -> None:
        """Carry a confirmed action out at once. If this process carries none out, one that does finds it."""
        if self._is_open and action.state == "ready":
            self._start(action, self._execute)

    async def run(self) -> None:
        """Carry out what is due until cancelled. What has begun by then is left to `drain`."""
        self._is_open = True
        try:
            while True:
                try:
                    await self._look()
                except Exception as error:  # noqa: BLE001 - whatever it is, the actions must go on
                    self.alerts.tell(logger, "due actions could not be read", about=type(error).__name__)
                await self.stepping.clock.sleep(POLL_SECONDS)
        finally:
            self._is_open = False

    async def drain(self, seconds: float) -> None:
        """Let what has begun come to its end. What does not in time is found out by the next process."""
        if self._running:
            _, left = await asyncio.wait(self._running.values(), timeout=seconds)
            for task in left:
                task.cancel()

    async def look_again(self, action: Action) -> float:
        """Read the order of an action, because the shop says that it has changed.

        Returns in how many seconds to look once more. 0: no more. Whatever it finds does not count among the questions
        after which an action is stuck.
        """
        with contextlib.suppress(ActionMovedOn):
            match action.state:
                case "executing":
                    return ANSWER_PAUSE
                case "unknown":
                    outcome = await self._outcome(action)
                    if outcome.state in ("done", "partly", "refused"):
                        await self._settle(action, outcome)
                    return SILENCE_PAUSE if outcome.state == "unavailable" else 0.0
            fault = await self._check_again(action)
            if fault is not None and fault.state == "unavailable":
                return SILENCE_PAUSE
            if fault is not None and await self._is_shown(action):
                await self._end_unsent(action, fault)
        return 0.0

    async def _end_unsent(self, action: Action, fault: Outcome) -> None:
        """End it as at the moment of sending. Somebody who has not said yes is not asked anew."""
        if action.state != "offered":
            await self._settle_unsent(action, fault)
            return
        reason = "changed" if fault.reason == "changed" else "no_longer_allowed"
        await self._step(action, lambda one: steps.withdraw(one, reason, now=self._now()), "ended")

    async def _is_shown(self, action: Action) -> bool:
        """Whether its customer has the preview. The turn that is about to show it has just read the order."""
        async with self.stepping.database.reading() as tx:
            return await outbox.by_key(tx, offer_key(action)) is not None

    async def _look(self) -> None:
        now = self.stepping.clock.now()
        is_counted = now >= self._count_next
        async with self.stepping.database.reading() as tx:
            if not is_counted and not await actions.any_moves(tx):
                return
            due = await actions.due_by(tx, now, states=_WITH_A_TIME, limit=MOST)
            people = await actions.left_to_people(tx)
            elsewhere = await actions.asked_elsewhere(tx, limit=MOST)
            alive = set() if self.is_alone else {*await leases.alive(tx, now=now)} - {self.member.id}
            marked = await actions.marked_by_others(tx, alive)
            counts = await actions.count_open(tx) if is_counted else {}
        if is_counted:
            self._count_next = now + COUNT_SECONDS
            self.stepping.metrics.actions_open(counts)
        for each in due:
            if each.state in ("offered", "approving"):
                await self._pass(each, lambda action: steps.expire(action, now=now), "ended")
        for each in people:
            await self._pass(each, lambda action: steps.withdraw(action, "with_people", now=now), "ended")
        for each, case in elsewhere:
            await self._pass(each, partial(steps.move, case=case), "moved")
        for each in marked:
            # What this process marked and no longer works on came too late, or its answer could not be kept.
            if each.worker != self.member.id or each.id not in self._running:
                await self._pass(each, lambda action: steps.lose(action, now=now), "lost")
        for each in due:
            match each.state:
                case "ready":
                    self._start(each, self._execute)
                case "unknown":
                    self._start(each, self._in_place(self._find_out))
                case "stuck" | "partly":
                    self._start(each, self._in_place(self._call))

    def _in_place(self, work: Callable[[Action], Awaitable[None]]) -> Callable[[Action], Awaitable[None]]:
        async def run(action: Action) -> None:
            async with self._places:
                await work(action)

        return run

    def _start(self, action: Action, work: Callable[[Action], Awaitable[None]]) -> None:
        if action.id in self._running:
            return

        async def safely() -> None:
            try:
                await work(action)
            except ActionMovedOn:
                logger.info("an action goes on elsewhere", extra={"action": action.ref})
            except Exception:
                # The row says how things stand, and the next look goes on from there.
                logger.exception("an action failed", extra={"action": action.ref})
            finally:
                del self._running[action.id]

        self._running[action.id] = asyncio.create_task(safely(), name=f"action-{action.id}")

    async def _execute(self, action: Action) -> None:
        """Send the stored request. Before the first time, the order is read again."""
        if action.attempts:
            if not _has_key(action, now=self._now()):
                await self._step(action, lambda one: steps.doubt(one, now=self._now()), "lost")
                return
            async with self._places:
                await self._send(action)
            return
        async with self._checks:
            fault = await self._check_again(action)
            checked = self.stepping.clock.monotonic()
            # No more are checked than soon can be sent, so what was read is still so.
            await self._places.acquire()
        try:
            if fault is None and self.stepping.clock.monotonic() - checked > CHECK_SECONDS:
                fault = await self._check_again(action)
            if fault is None:
                await self._send(action)
            else:
                await self._settle_unsent(action, fault)
        finally:
            self._places.release()

    async def _send(self, action: Action) -> None:
        """Mark the stored request as leaving, send it, and keep the answer."""
        began = self.stepping.clock.monotonic()
        marked = await self._step(action, lambda one: steps.mark(one, self.member.id, now=self._now()), "sent")
        failpoint("action_marked")
        if self.stepping.clock.monotonic() - began > SENDING_SECONDS:
            logger.warning("a request came too late and was not sent", extra={"action": action.ref})
            return
        outcome = await self.judging.shop.send(_request(marked))
        failpoint("action_answered")
        await self._settle(marked, outcome)

    async def _check_again(self, action: Action) -> Outcome | None:
        """Why it cannot be sent: somebody else, another order, other rules. None if it is as it was shown."""
        try:
            customer = await self.identify(action.customer)
            if customer is not None and customer.shop_silent:
                return Outcome("unavailable")
            if customer is None or customer.shop is None or not action.is_of(customer):
                return Outcome("refused", "not_allowed")
            arguments = Arguments.read(action.arguments)
            order = await self.judging.shop.get_order(customer.shop, arguments.order) if arguments.order else None
            if facts_hash(order) != action.facts_hash:
                return Outcome("refused", "changed")
            return await self.judging.what_has_changed(action, customer, order)
        except NeedsMore:
            return Outcome("refused", "not_allowed")
        except ShopUnavailable:
            return Outcome("unavailable")

    async def _settle_unsent(self, action: Action, fault: Outcome) -> None:
        """End an action of which nothing was sent."""
        now = self._now()
        match fault.state, fault.reason:
            case "unavailable", _:
                await self._step(action, lambda one: steps.fail(one, now=now), "ended")
            case _, "changed":
                await self._step(action, lambda one: steps.withdraw(one, "changed", now=now), "ended")
                await self._renew(action)
            case _:
                await self._step(action, lambda one: steps.withdraw(one, "no_longer_allowed", now=now), "ended")

    async def _renew(self, action: Action) -> None:
        """Show it as it would be now. If that cannot be, say that it was not done, and name the way to a person.

        What staff prepared and the customer never saw is left to staff, who read that it was withdrawn.
        """
        if not await self._is_shown(action):
            return
        customer = await self.identify(action.customer)
        is_told = False
        if customer is not None:
            with contextlib.suppress(ShopUnavailable, NeedsMore):
                prepared = await self.preparing.renew(action, customer)
                is_told = prepared.state == "offered" or bool(prepared.words)
        if not is_told:
            async with self.stepping.database.transaction() as tx:
                ended = await actions.find(tx, action.ref) or action
                await outbox.add(tx, self.stepping.messages.end(ended), now=self._now())
        self.stepping.outbox.wake()

    async def _find_out(self, action: Action) -> None:
        """Ask the shop what became of it."""
        looked = await self._step(action, lambda one: steps.look(one, now=self._now(), lease=LOOK_LEASE), "looked")
        if not _has_key(action, now=self._now()) and action.looks + 1 < len(LOOK_DELAYS):
            # Without a key "not done" proves nothing until late effects have had their time; "done" does.
            outcome = await self._outcome(looked)
            outcome = Outcome("unknown") if outcome.state == "not_found" else outcome
        else:
            outcome = await self._outcome(looked)
        await self._settle(looked, outcome)

    async def _outcome(self, action: Action) -> Outcome:
        try:
            shop = await self._shop_customer(action)
            if shop is None:
                return Outcome("unknown")
            kind = cast("ActionKind", action.kind)
            arguments = Arguments.read(action.arguments)
            return await self.judging.shop.outcome(shop, kind, arguments, key=action.key)
        except ShopUnavailable:
            return Outcome("unavailable")

    async def _shop_customer(self, action: Action) -> ShopCustomer | None:
        """The shop's customer, if the Slack user still is the same. Of somebody erased, the shop's number is left."""
        if action.is_nobodys:
            return ShopCustomer(action.shop_customer, "", "")
        customer = await self.identify(action.customer)
        return customer.shop if customer is not None and action.is_of(customer) else None

    async def _settle(self, action: Action, outcome: Outcome) -> None:
        """Keep what the shop said. Too much money, or another currency, is nothing that was agreed on."""
        if outcome.money is not None and _is_wrong(action, outcome):
            self.alerts.tell(logger, "the shop moved another amount than was confirmed", about=action.ref)
            outcome = Outcome("unknown")
        lines = _titles(action, outcome)
        await self._step(
            action,
            lambda one: _with_lines(
                steps.settle(one, outcome, now=self._now(), has_key=_has_key(action, now=self._now())),
                lines,
                now=self._now(),
            ),
            "answered",
        )
        failpoint("action_kept")

    async def _call(self, action: Action) -> None:
        """Open a case for staff, and ask them what became of it. If the thread has a case, it is that one.

        Nobody's action, because the customer is erased or Slack does not know them any more, gets a card alone.
        """
        customer = None if action.is_nobodys else await self.identify(action.customer)
        case = None
        if customer is not None:
            case = await self.cases.open(
                action.thread,
                customer,
                reason=f"action_{action.state}",
                priority="high",
                subject=staff_title(action),
                summary=f"The shop did not confirm everything of this change. Its key is {action.key}.",
            )
        can_undo = action.state == "partly" and await self._can_undo(action)
        async with self.stepping.database.transaction() as tx:
            changed = await actions.change(tx, action, replace(action, due=None))
            if changed is None:
                raise ActionMovedOn(action)
            stuck = self.stepping.messages.stuck(changed, case, can_undo=can_undo)
            await outbox.add(tx, stuck, now=self._now())
        self.stepping.outbox.wake()

    async def _can_undo(self, action: Action) -> bool:
        """Whether rules and shop let staff undo it."""
        kind = UNDONE_BY.get(cast("ActionKind", action.kind))
        with contextlib.suppress(ShopUnavailable):
            return kind is not None and await self.judging.spec_of(kind) is not None
        return False

    async def _pass(self, action: Action, change: Callable[[Action], Action], what: str) -> None:
        """Make a step that time makes, unless somebody was faster."""
        with contextlib.suppress(ActionMovedOn):
            await self._step(action, change, what)

    async def _step(self, action: Action, change: Callable[[Action], Action], what: str) -> Action:
        """Make a step, and queue what is to be said of it, in one transaction. Raises ActionMovedOn."""
        after = change(action)
        async with self.stepping.database.transaction() as tx:
            try:
                changed = await self.stepping.put(tx, action, _erased_as(action, after), what, "frontdesk")
            except ActionMovedOn as moved:
                before = moved.action
                if not steps.differs_by_erasure(action, before):
                    raise
                changed = await self.stepping.put(tx, before, steps.erase(change(before)), what, "frontdesk")
        if changed.state != "executing":
            self.stepping.outbox.wake()
        return changed

    def _now(self) -> float:
        return self.stepping.clock.now()


def _erased_as(before: Action, after: Action) -> Action:
    return steps.erase(after) if before.is_erased else after


def _has_key(action: Action, *, now: float) -> bool:
    """Whether the shop still knows the key, so that the same request has no second effect."""
    hours = action.request.get("key_hours")
    return hours is not None and now < (action.sent_at or now) + (float(hours) - KEY_MARGIN_HOURS) * 3600


def _request(action: Action) -> ActionRequest:
    stored = action.request
    return ActionRequest(stored["method"], stored["path"], stored["headers"], stored["body"], stored["about"])


def _is_wrong(action: Action, outcome: Outcome) -> bool:
    """Whether what moved is not what was confirmed. If only some lines took effect, it can be less."""
    moved = outcome.money
    if moved is None:
        return False
    if moved.minor == 0:
        # The money of a return follows when the articles have arrived.
        return action.money != 0 and action.kind != "return_items"
    if moved.currency != action.currency or moved.minor * action.money < 0:
        return True
    return abs(moved.minor) > abs(action.money) if outcome.state == "partly" else moved.minor != action.money


def _titles(action: Action, outcome: Outcome) -> list[str]:
    """The titles of the lines that took effect, for `partly`."""
    if outcome.state != "partly":
        return []
    named = [each["line"] for each in action.arguments.get("lines", ())]
    shown = action.preview.get("lines", ())
    titles = dict(zip(named, (line["title"] for line in shown), strict=False))
    return [titles[line] for line in outcome.lines if line in titles]


def _with_lines(action: Action, lines: list[str], *, now: float) -> Action:
    """The action with what went through, and due at once if staff must look at it."""
    if action.state in ("stuck", "partly"):
        action = replace(action, due=now)
    return replace(action, preview={**action.preview, "done_lines": lines}) if lines else action
