"""What people press about an action: the customer's yes and no, and the votes of staff.

prepare   staff prepare a change in a case
confirm   the customer says yes: everything is checked again before it counts
decline   the customer says no, or takes the yes back
approve   one vote of staff; the action runs when there are enough
change_amount  staff offer less money, and the customer is asked again
refuse    staff say no, and can say why
take_over staff take the matter over as a case
settle    staff say what became of an action that got stuck
undo      staff prepare to undo what took effect, wholly or in part

Each is one transaction with compare-and-set on the version. What needs the network is asked before it. A press has no
power unless it comes from the message that was posted for this action.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from bot.actions import action as steps
from bot.actions import policy
from bot.actions.action import ActionMovedOn
from bot.actions.executing import ActionRunner, Identify
from bot.actions.messages import approval_keys, offer_keys, stuck_keys
from bot.actions.policy import DailySums
from bot.actions.preparing import ChangeRequest, Prepared, Preparing, arguments_hash
from bot.actions.stepping import ActionStepping, note
from bot.alerts import Alerts
from bot.cases.cases import Cases
from bot.clock import DAY
from bot.conversation import Customer, ThreadRef
from bot.failpoints import failpoint
from bot.language.languages import Language
from bot.language.sentences import language_for
from bot.shops.actions import UNDONE_BY, ActionKind, Arguments, Undone
from bot.shops.port import ShopUnavailable, read_money
from bot.slack.mrkdwn import mention
from bot.store import actions, cases, outbox
from bot.store.actions import Action
from bot.store.cases import Case
from bot.store.database import Transaction
from bot.store.outbox import Outgoing
from bot.store.statements import lock
from bot.views.action_cards import is_amount_changeable, staff_title

logger = logging.getLogger(__name__)

Ended = Literal[
    "confirmed",
    "declined",
    "approved",
    "voted",
    "amount_changed",
    "wrong_amount",
    "rejected",
    "taken_over",
    "settled",
    "unknown_action",
    "not_yours",
    "moved_on",
    "expired",
    "withdrawn",
    "cannot_check",
    "under_way",
    "own_action",
    "offered_again",
    "told",
    "not_possible",
    "undo_offered",
    "undo_too_late",
]
HOUR = 3600.0
OVER_HOURLY = "more was changed within an hour than the rules allow: staff have to approve the rest"


@dataclass(frozen=True, slots=True)
class Press:
    """A press of one of an action's buttons."""

    value: str
    """The action's reference and version, as the button has them."""
    user: str
    team: str
    channel: str
    message_ts: str

    @property
    def ref(self) -> str:
        """The action's reference."""
        return self.value.partition("/")[0][:40]

    @property
    def version(self) -> int:
        """The version that the button was made for. 0 for anything that is no number."""
        number = self.value.partition("/")[2]
        return int(number) if number.isascii() and number.isdigit() and len(number) <= 9 else 0


@dataclass(frozen=True, slots=True)
class Deciding:
    """Carries out the presses. `bot.app` puts the parts together."""

    stepping: ActionStepping
    preparing: Preparing
    runner: ActionRunner
    cases: Cases
    identify: Identify
    approval_minutes: float = 30.0
    alerts: Alerts = field(default_factory=Alerts)

    async def confirm(self, press: Press) -> tuple[Ended, Action | None]:
        """The customer says yes. Returns how it ended, with the action as it is then."""
        action = await self._find(press)
        if action is None:
            return "unknown_action", None
        customer = None
        if action.state == "offered" and press.user == action.customer:
            customer = await self.identify(press.user)
            if customer is not None and customer.shop_silent:
                return "cannot_check", action
        async with self.stepping.database.transaction() as tx:
            ended, changed = await self._confirm(tx, press, action, customer)
        failpoint("action_confirmed")
        self.stepping.outbox.wake()
        if ended == "confirmed":
            self.runner.begin(changed)
        return ended, changed

    async def _confirm(
        self, tx: Transaction, press: Press, action: Action, customer: Customer | None
    ) -> tuple[Ended, Action]:
        # The sums of a day and of the hour are taken under one lock, so that two yeses cannot both fit.
        await lock(tx, "action-money")
        await lock(tx, f"action/{action.subject}")
        action = await actions.find(tx, press.ref) or action
        now = self.stepping.clock.now()
        if not await self._is_shown_here(tx, press, offer_keys(action)):
            return "unknown_action", action
        if (press.user, press.team) != (action.customer, action.customer_team):
            return "not_yours", action
        if action.state != "offered" or action.version != press.version:
            return "moved_on", action
        if action.due is not None and now >= action.due:
            return "expired", await self._end(tx, steps.expire(action, now=now), action)
        if not action.is_of(customer):
            return "withdrawn", await self._end(tx, steps.withdraw(action, "identity_changed", now=now), action)
        case = await cases.find_open(tx, action.thread)
        if case is not None and not (action.is_of_staff and case.opened_at <= action.offered_at):
            return "withdrawn", await self._end(tx, steps.withdraw(action, "with_people", now=now), action)
        if arguments_hash(action.kind, action.shop_customer, action.arguments) != action.arguments_hash:
            self.alerts.tell(logger, "an action's arguments are not those that were shown", about=action.ref)
            await note(tx, action, "tampered", press.user, now=now)
            return "withdrawn", await self._end(tx, steps.withdraw(action, "tampered", now=now), action)
        if await actions.is_taken(tx, action.subject):
            return "under_way", action
        return "confirmed", await self._agree(tx, action, press.user, case.id if case else action.case_id, now=now)

    async def _agree(self, tx: Transaction, action: Action, actor: str, case: int, *, now: float) -> Action:
        """Let it run, or ask staff first. The caller holds the locks of the money and of the order."""
        why = await self._needs_staff(tx, action, now=now)
        if why and len(await actions.approvers(tx, action)) >= _votes_needed(action):
            # Who offered this amount has agreed to it.
            why = ""
        hours = self.cases.targets.hours
        due = hours.after(now, self.approval_minutes * 60)
        after = steps.ask_staff(action, why, now=now, due=due, case=case) if why else steps.confirm(action, now=now)
        return await self.stepping.put(tx, action, after, "confirmed", actor)

    async def prepare(
        self, case: Case, user: str, kind: ActionKind, arguments: Arguments, *, submission: int
    ) -> Prepared:
        """Staff prepare a change for the customer of a case. `submission` is the number of the filled-in dialog.

        The customer is asked, or it runs at once if the rules need no yes for money that the customer gets.

        Raises:
            ShopUnavailable: the shop or Slack does not say.
            NeedsMore: something is missing or wrong.
        """
        customer = await self.identify(case.customer)
        if customer is not None and customer.shop_silent:
            raise ShopUnavailable("the shop does not say who the customer is")
        if customer is None or customer.shop is None or customer.user == user:
            return Prepared("not_offered")
        origin, language = f"case/{case.id}/{submission}", language_for(case.language)
        async with self.stepping.database.transaction() as tx:
            before = await actions.made_for(tx, origin)
        if before is not None and before.state != "offered":
            # An attempt before a crash did it.
            return Prepared("offered", before)
        wanted = ChangeRequest(customer, customer.shop, case.thread, origin, language, user, case.id)
        prepared = await self.preparing.prepare(wanted, kind, arguments)
        if prepared.action is None or prepared.state != "offered":
            return prepared
        place = case.thread if case.thread.is_direct else await self._open_private(case, origin, language)
        rules = self.preparing.judging.policy().file.actions.get(kind)
        is_asked = rules is None or rules.customer_yes == "needed" or prepared.action.money >= 0
        async with self.stepping.database.transaction() as tx:
            await lock(tx, "action-money")
            await lock(tx, f"action/{prepared.action.subject}")
            action = await actions.find(tx, prepared.action.ref)
            if action is None or action.state != "offered":
                return Prepared("offered", action)
            if action.thread != place:
                action = await actions.change(tx, action, replace(action, thread=place)) or action
            if action.undoes:
                await self._replace_by_undo(tx, action, user)
            if is_asked:
                await self.preparing.show(tx, origin, place, None, language=language)
            elif await actions.is_taken(tx, action.subject):
                return Prepared("under_way")
            else:
                action = await self._agree(tx, action, user, case.id, now=self.stepping.clock.now())
        failpoint("action_confirmed")
        self.stepping.outbox.wake()
        self.runner.begin(action)
        return Prepared("offered", action)

    async def _open_private(self, case: Case, origin: str, language: Language) -> ThreadRef:
        """A thread in the direct messages of a customer who asked in a channel. The channel sees that there is one."""
        channel = await self.cases.directory.open_dm(case.customer)
        say = self.stepping.messages.sentences.say
        opening = {"text": say(language, "private_opening", channel=f"<#{case.thread.channel}>")}
        root = await self.stepping.outbox.deliver(Outgoing(f"{origin}/private", "post", channel, opening))
        told = {"text": say(language, "action_sent_privately")}
        row = Outgoing(f"{origin}/private/told", "post", case.thread.channel, told, thread_ts=case.thread.ts)
        async with self.stepping.database.transaction() as tx:
            await outbox.add(tx, row, now=self.stepping.clock.now())
        return ThreadRef(case.thread.team, channel, root)

    async def _needs_staff(self, tx: Transaction, action: Action, *, now: float) -> str:
        """Why staff must agree, in words for them. Empty if nobody needs to."""
        rules = self.preparing.judging.policy()
        if rules.digest != action.policy:
            return "the rules have changed since it was offered"
        if action.rules.get("outcome") == "staff":
            return "the rules ask for it"
        day = await actions.sums_of(tx, since=now - DAY, currency=action.currency, shop_customer=action.shop_customer)
        hour = await actions.sums_of(tx, since=now - HOUR, currency=action.currency)
        sums = DailySums(day.actions, day.money, hour.actions, hour.money)
        if policy.is_desk_limit_reached(rules, sums, action.money, action.currency):
            self.alerts.tell(logger, OVER_HOURLY, about="")
            return "the desk's limit of an hour is reached"
        over = policy.check_daily(rules, sums, action.money, action.currency) == "staff"
        return "the customer's limit of a day is reached" if over else ""

    async def decline(self, press: Press) -> tuple[Ended, Action | None]:
        """The customer says no, or takes the yes back before the request has left."""
        async with self.stepping.database.transaction() as tx:
            action = await actions.find(tx, press.ref)
            if action is None or not await self._is_shown_here(tx, press, offer_keys(action)):
                return "unknown_action", None
            if (press.user, press.team) != (action.customer, action.customer_team):
                return "not_yours", action
            try:
                after = steps.decline(action, now=self.stepping.clock.now())
                changed = await self._end(tx, after, action)
            except ActionMovedOn as error:
                return "moved_on", error.action
        self.stepping.outbox.wake()
        return "declined", changed

    async def again(self, press: Press) -> tuple[Ended, Action | None]:
        """Show once more what could not be sent. Raises ShopUnavailable and NeedsMore."""
        action = await self._find(press)
        if action is None:
            return "unknown_action", None
        if (press.user, press.team) != (action.customer, action.customer_team):
            return "not_yours", action
        if action.state != "failed" or action.settled or action.is_erased:
            return "moved_on", action
        customer = await self.identify(press.user)
        if customer is None or not action.is_of(customer):
            return "cannot_check", action
        prepared = await self.preparing.renew(action, customer)
        self.stepping.outbox.wake()
        match prepared.state:
            case "offered":
                return "offered_again", action
            case "under_way":
                return "under_way", action
            case _:
                return ("told" if prepared.words else "not_possible"), action

    async def approve(self, press: Press) -> tuple[Ended, Action | None]:
        """One vote. With as many as the rules ask for, the action runs."""
        now = self.stepping.clock.now()
        async with self.stepping.database.transaction() as tx:
            why_not, action = await self._to_decide(tx, press)
            if why_not or action is None:
                return why_not or "unknown_action", action
            if action.due is not None and now >= action.due:
                return "expired", await self._end(tx, steps.expire(action, now=now), action)
            ended, changed = await self._approve(tx, action, press.user, now=now)
        failpoint("vote_stored")
        self.stepping.outbox.wake()
        if ended == "approved":
            self.runner.begin(changed)
        return ended, changed

    async def _approve(self, tx: Transaction, action: Action, user: str, *, now: float) -> tuple[Ended, Action]:
        await actions.vote(tx, action, user, "approve", now=now)
        by = await actions.approvers(tx, action)
        if len(by) < _votes_needed(action):
            case = await cases.find(tx, action.case_id)
            await outbox.add(tx, self.stepping.messages.one_more(action, case, by=by), now=now)
            await note(tx, action, "vote", user, now=now, vote="approve")
            return "voted", action
        after = steps.approve(action, now=now)
        return "approved", await self.stepping.put(tx, action, after, "vote", user, by=by, vote="approve")

    async def change_amount(self, press: Press, written: str) -> tuple[Ended, Action | None]:
        """Staff offer less money than the customer said yes to, and the customer is asked again.

        The member of staff has approved amounts up to this one. Raises ShopUnavailable and NeedsMore.
        """
        action = await self._find(press)
        if action is None:
            return "unknown_action", None
        amount = read_money(written, action.currency)
        if not is_amount_changeable(action) or amount is None or not 0 < amount.minor <= -action.money:
            return "wrong_amount", action
        customer = await self.identify(action.customer)
        if customer is None or not action.is_of(customer):
            return "cannot_check", action
        prepared = await self.preparing.revise(action, customer, amount)
        async with self.stepping.database.transaction() as tx:
            why_not, now_is = await self._to_decide(tx, press)
            if why_not or now_is is None:
                return why_not or "unknown_action", now_is
            if now_is != action:
                return "moved_on", now_is
            if prepared.action is None:
                return "not_possible", action
            now = self.stepping.clock.now()
            if action.due is not None and now >= action.due:
                return "expired", await self._end(tx, steps.expire(action, now=now), action)
            offered = steps.offer_again(prepared.action, now=now, due=now + self.preparing.offer_minutes * 60)
            changed = await self.stepping.put(
                tx, action, offered, "vote", press.user, by=(press.user,), vote="amount_changed"
            )
            await actions.vote(tx, changed, press.user, "approve", now=now)
        failpoint("vote_stored")
        self.stepping.outbox.wake()
        return "amount_changed", changed

    async def refuse(self, press: Press, note: str = "") -> tuple[Ended, Action | None]:
        """Staff say no. The customer reads the note."""
        return await self._staff_end(press, "rejected", lambda action, now: steps.reject(action, now=now), said=note)

    async def take_over(self, press: Press) -> tuple[Ended, Action | None]:
        """Staff take the matter over: nothing is done, and a case of theirs opens."""
        ended, action = await self._staff_end(
            press, "taken_over", lambda action, now: steps.withdraw(action, "with_people", now=now)
        )
        # A press that is repeated after a crash finds the action withdrawn and the case open.
        if action is None:
            return ended, None
        async with self.stepping.database.transaction() as tx:
            is_theirs = await actions.has_voted(tx, action, press.user, "taken_over")
        if not is_theirs:
            return ended, action
        customer = await self.identify(action.customer)
        if customer is not None:
            case = await self.cases.open(
                action.thread,
                customer,
                reason="change",
                priority="medium",
                subject=staff_title(action),
                summary=f"{mention(press.user)} took this over instead of approving it.",
            )
            if case.owner is None:
                await self.cases.claim(case.ref, press.user)
        return "taken_over", action

    async def settle(self, press: Press, *, was_done: bool) -> tuple[Ended, Action | None]:
        """Staff found out what became of an action that got stuck."""
        now = self.stepping.clock.now()
        async with self.stepping.database.transaction() as tx:
            action = await actions.find(tx, press.ref)
            if action is None:
                return "unknown_action", None
            if action.customer == press.user:
                return "own_action", action
            try:
                after = steps.answer_for(action, was_done=was_done, now=now)
            except ActionMovedOn as error:
                return "moved_on", error.action
            changed = await self.stepping.put(tx, action, after, "settled", press.user, was_done=str(was_done))
        self.stepping.outbox.wake()
        return "settled", changed

    async def undo(self, press: Press, *, submission: int) -> tuple[Ended, Action | None]:
        """Staff prepare to undo what an action did: the customer is asked, and a colleague has to approve it.

        What went through of an action in part is settled with it. Raises ShopUnavailable and NeedsMore.
        """
        async with self.stepping.database.transaction() as tx:
            undone = await actions.find(tx, press.ref)
            if undone is None or not await self._is_shown_here(tx, press, stuck_keys(undone)):
                return "unknown_action", None
            case, latest = await cases.open_or_latest(tx, undone.thread)
            case = case or latest
        if undone.customer == press.user:
            return "own_action", undone
        if case is None:
            return "not_possible", undone
        prepared = await self.prepare_undo(case, press.user, undone, submission=submission)
        match prepared.state:
            case "offered":
                return "undo_offered", prepared.action
            case "under_way":
                return "under_way", undone
            case "refused":
                return "undo_too_late", undone
            case _:
                return "not_possible", undone

    async def prepare_undo(self, case: Case, user: str, undone: Action, *, submission: int) -> Prepared:
        """Prepare to undo an action of the customer of a case. Raises ShopUnavailable and NeedsMore."""
        kind = UNDONE_BY.get(cast("ActionKind", undone.kind))
        if kind is None or undone.is_erased:
            return Prepared("not_offered")
        async with self.stepping.database.transaction() as tx:
            offers = await actions.of_subject(tx, undone.subject, states=("offered",))
        if any(each.undoes == undone.ref and each.origin != f"case/{case.id}/{submission}" for each in offers):
            return Prepared("under_way")
        arguments = Arguments(order=undone.subject.partition("/")[2], undoes=Undone(undone.key, undone.reference))
        return await self.prepare(case, user, kind, arguments, submission=submission)

    async def _replace_by_undo(self, tx: Transaction, action: Action, user: str) -> None:
        """Settle the action in part that this one undoes: the rest of it is not done any more."""
        undone = await actions.find(tx, action.undoes)
        if undone is not None and undone.state == "partly" and not undone.settled:
            await self.stepping.put(tx, undone, steps.replace_by_undo(undone), "settled", user, undone_by=action.ref)

    async def _staff_end(
        self, press: Press, ended: Ended, change: Callable[[Action, float], Action], *, said: str = ""
    ) -> tuple[Ended, Action | None]:
        now = self.stepping.clock.now()
        async with self.stepping.database.transaction() as tx:
            why_not, action = await self._to_decide(tx, press)
            if why_not or action is None:
                return why_not or "unknown_action", action
            await actions.vote(tx, action, press.user, ended, now=now)
            await note(tx, action, "vote", press.user, now=now, vote=ended)
            changed = await self._end(tx, change(action, now), action, by=press.user, said=said)
        failpoint("vote_stored")
        self.stepping.outbox.wake()
        return ended, changed

    async def _to_decide(self, tx: Transaction, press: Press) -> tuple[Ended | None, Action | None]:
        """The action of the card that was pressed, locked, or why this person cannot decide about it."""
        action = await actions.find(tx, press.ref)
        if action is None or not await self._is_shown_here(tx, press, approval_keys(action)):
            return "unknown_action", None
        await lock(tx, f"action/{action.subject}")
        action = await actions.find(tx, press.ref) or action
        if press.user in (action.customer, action.prepared_by):
            return "own_action", action
        if action.state != "approving" or action.version != press.version:
            return "moved_on", action
        return None, action

    async def _find(self, press: Press) -> Action | None:
        async with self.stepping.database.transaction() as tx:
            return await actions.find(tx, press.ref)

    async def _is_shown_here(self, tx: Transaction, press: Press, keys: Sequence[str]) -> bool:
        """Whether the press comes from a message with one of these keys. A copy of it elsewhere has no power."""
        rows = [await outbox.by_key(tx, key) for key in keys]
        # A press can be here before the answer to the post is.
        return any(row and row.channel == press.channel and row.ts in (press.message_ts, None) for row in rows)

    async def _end(self, tx: Transaction, after: Action, before: Action, *, by: str = "", said: str = "") -> Action:
        actor, deciders = by or before.customer, (by,) if by else ()
        return await self.stepping.put(tx, before, after, "ended", actor, by=deciders, said=said)


def _votes_needed(action: Action) -> int:
    return 2 if action.rules.get("second_person") else 1
