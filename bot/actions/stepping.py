"""One step of an action: in one transaction the row is changed, its messages are queued and its audit entry is written.

put    make a step
note   write an entry of the audit trail
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.actions.action import ActionMovedOn
from bot.actions.measuring import measure
from bot.actions.messages import ActionMessages, approval_key, offer_key, turn_of
from bot.clock import Clock
from bot.slack.outbox import Outbox
from bot.store import actions, audit, cases, inbox, outbox, threads
from bot.store.actions import Action
from bot.store.database import Database, Transaction
from bot.telemetry import Metrics


@dataclass(frozen=True, slots=True)
class ActionStepping:
    """Makes the steps of actions. `bot.app` puts the parts together."""

    database: Database
    outbox: Outbox
    clock: Clock
    messages: ActionMessages
    metrics: Metrics = field(default_factory=Metrics)

    async def put(
        self,
        tx: Transaction,
        before: Action,
        after: Action,
        what: str,
        actor: str,
        *,
        by: Sequence[str] = (),
        said: str = "",
        **detail: str,
    ) -> Action:
        """Save the changed action, and queue what its customer and staff read of the step.

        `what` and `detail` are for the audit trail. `by` are the members of staff who decided, and `said` is what they
        say to the customer. The caller wakes the outbox after the transaction. Raises ActionMovedOn if the action has
        changed since it was read.
        """
        now = self.clock.now()
        changed = await actions.change(tx, before, after)
        if changed is None:
            raise ActionMovedOn(await actions.find(tx, before.ref) or before)
        measure(self.metrics, before, changed, now=now)
        await note(tx, changed, what, actor, now=now, **detail)
        if changed.shown > before.shown:
            epoch = None if changed.is_of_staff else await threads.epoch_of(tx, changed.thread.key)
            if await outbox.by_key(tx, offer_key(before)) is not None:
                await outbox.add(tx, self.messages.replaced(before, changed), now=now)
            await outbox.add(tx, self.messages.offer(changed, epoch), now=now)
        elif _is_news(before, changed):
            may_be_unshown = before.state == "offered" or changed.prepared_by
            is_shown = not may_be_unshown or await outbox.by_key(tx, offer_key(before)) is not None
            await outbox.add(tx, *self.messages.step(changed, is_shown=is_shown, now=now, said=said), now=now)
        if before.state == "approving" and not changed.is_nobodys:
            await self._settle_card(tx, before, changed, by=by)
        if changed.state == "approving" and (changed.asked, before.state) != (before.asked, "approving"):
            await self._ask_staff(tx, changed)
        if changed.prepared_by and before.is_open and not changed.is_open and not changed.is_nobodys:
            case = await cases.find(tx, changed.case_id)
            await outbox.add(tx, self.messages.ended_in_case(changed, case), now=now)
        return changed

    async def _settle_card(self, tx: Transaction, before: Action, changed: Action, *, by: Sequence[str]) -> None:
        """The card of staff in one line: what was decided, or where it is now."""
        card = await outbox.by_key(tx, approval_key(before))
        if card is None:
            return
        case = await cases.find(tx, changed.case_id) if changed.state == "approving" else None
        rows = self.messages.moved(changed, case) if case else self.messages.decided(changed, by=by)
        await outbox.add(tx, replace(rows, channel=card.channel, parent=card.key), now=self.clock.now())

    async def _ask_staff(self, tx: Transaction, action: Action) -> None:
        """Post the card on which staff decide: in the thread of the case that has it, or in the agent channel."""
        turn = turn_of(action)
        said = await inbox.words_of(tx, int(turn)) if turn.isdigit() else ""
        case = await cases.find(tx, action.case_id)
        await outbox.add(tx, self.messages.ask_staff(action, case, said=said), now=self.clock.now())


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


def _is_news(before: Action, changed: Action) -> bool:
    """Whether anybody reads of the step."""
    return changed.state != "executing" and (changed.state, changed.settled) != (before.state, before.settled)
