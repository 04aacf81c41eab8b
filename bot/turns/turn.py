"""One turn: from a stored message to something that the customer reads, until its row is closed.

take             count the attempt, do the work, close the row, then summarize a long conversation. If the customer
                 edits or deletes the message during the turn, begin again with the new message
  _attempt       do the work, unless the row was answered before a crash or has failed too often (dead_letters.py)
    _work        give the row to what its kind needs: customers' messages (customer_messages.py), what staff wrote,
                 interactions
  _unreachable   the conversation is gone: tell staff and close the row
  _close         close the row, and save what an earlier attempt left
"""

import asyncio
import contextlib
import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from bot import tracing
from bot.cases.relay import Relay
from bot.clock import Clock
from bot.desk.budgets import Allowance, Window
from bot.errors import FrontdeskError, Silenced, StoreUnavailable, Unreachable
from bot.failpoints import failpoint
from bot.ingest.dead_letters import dead_line
from bot.ingest.interrupts import Interrupt, Interrupted, Interrupts
from bot.slack.api.errors import DEAD_TOKEN, PERSON_GONE, SlackRefused, SlackUnanswered
from bot.slack.outbox import Outbox
from bot.store import attempts, inbox, outbox, turns
from bot.store.database import Database
from bot.store.inbox import Finish, FinishedState, InboxItem
from bot.store.persons import REQUEST
from bot.telemetry import Metrics
from bot.turns import erasure
from bot.turns.answers.leftovers import Leftovers
from bot.turns.customer_messages import CustomerMessages
from bot.turns.dead_letters import ATTEMPTS, TURN_OVERHEAD_TIMEOUT, DeadLetters
from bot.turns.edits import MessageEdits
from bot.turns.interactions.interactions import Interactions
from bot.turns.row_closing import RowClosing
from bot.turns.sessions import TurnSessions
from bot.turns.summaries import Summaries

logger = logging.getLogger(__name__)

UNCOUNTED_OUTAGE_PERIOD = 900.0
"""Seconds after a row's arrival in which tries that fail because Slack does not answer are not counted."""
UNCOUNT_TIMEOUT = 5.0
"""How long a try may take to be uncounted, in seconds. The end of the process waits for it."""
LEAVES_AN_ANSWER = frozenset({"relayed", "called", "unreachable", "taken_back", "thanked", "no_words"})
"""Reasons of rows whose message may have begun an answer, before it was edited or the answer was interrupted."""
COUNTED = ("", "edited")
"""Interrupts of messages that count for the limit. Messages with other interrupts (a stop, a deletion, a call for a
person) ask no model.
"""


@dataclass(frozen=True, slots=True)
class Turns:
    """Runs turns. `bot.app` puts the parts together."""

    database: Database
    outbox: Outbox
    clock: Clock
    messages: CustomerMessages
    relay: Relay
    interactions: Interactions
    edits: MessageEdits
    dead_letters: DeadLetters
    leftovers: Leftovers
    summaries: Summaries
    sessions: TurnSessions
    metrics: Metrics
    interrupts: Interrupts = field(default_factory=Interrupts)
    allowance: Allowance | None = None
    """Limits the messages of one person. None means no limit."""
    faults: dict[int, str] = field(default_factory=dict)
    """Row -> why its latest try in this process failed. Tries that crashed the process leave no entry."""

    async def take(self, item_id: int) -> None:
        """Work on one inbox row until it is closed. Does nothing if it is closed already.

        Raises what Slack and the database raise while they are away. In the first quarter of an hour
        (UNCOUNTED_OUTAGE_PERIOD) such an attempt does not count.
        """
        is_over = False
        while not is_over:
            with self.interrupts.running(item_id) as interrupt:
                is_over = await self._take_up(item_id, interrupt)

    async def _take_up(self, item_id: int, interrupt: Interrupt) -> bool:
        """Make one attempt. Return False if it was interrupted: the row's interrupt then says how it continues."""
        over: Window | None = None
        async with self.database.transaction() as tx:
            item = await inbox.start(tx, item_id)
            if (
                item is not None
                and self.allowance is not None
                and item.kind in ("message", "edit")
                and item.interrupt in COUNTED
            ):
                over = await self.allowance.admit(tx, item)
            # A crash between the end of the turn and the close of its row leaves a row with a finished answer.
            ended = await turns.ended(tx, item.id, item.thread) if item and item.fence > 1 else None
        if item is None:
            return True
        with self._traced(item) as span:
            try:
                with attempts.working_on(item.id, item.fence):
                    if not ended and item.interrupt == "edited":
                        item = await self.edits.begin_anew(item)
                    reason = await self._take(item, ended, interrupt, RowClosing(), over=over)
            except (Interrupted, Silenced) as interruption:
                span.set({"frontdesk.turn.reason": interruption.error_type})
                return False
            span.set({"frontdesk.turn.reason": reason})
        return True

    def _traced(self, item: InboxItem) -> AbstractContextManager[tracing.Span]:
        attributes: tracing.Attributes = {
            "gen_ai.conversation.id": item.thread.key,
            "frontdesk.turn.id": item.id,
            "frontdesk.turn.kind": item.kind,
            "frontdesk.turn.attempt": item.attempts,
            "frontdesk.turn.waited": max(0.0, self.clock.now() - item.received_at),
        }
        return tracing.span(f"turn {item.kind}", attributes, kind="consumer")

    async def _take(
        self, item: InboxItem, ended: str | None, interrupt: Interrupt, closing: RowClosing, *, over: Window | None
    ) -> str:
        """Work on the row and close it. Return how it ended, in one stable word."""
        failpoint("turn_begun")
        try:
            state, reason = await self._attempt(item, ended, interrupt, closing, over=over)
        except (Interrupted, Silenced):
            raise
        except Exception as error:
            self.faults[item.id] = str(error) if isinstance(error, FrontdeskError) else type(error).__name__
            raise
        if not closing.is_done:
            await self._close(item, state, reason)
        failpoint("row_closed")
        self.faults.pop(item.id, None)
        if state == "dead":
            self.metrics.set_aside(item.kind)
        self.metrics.turn_finished(item.kind, reason, self.clock.now() - item.received_at)
        if item.kind in ("message", "edit") and reason in ("answered", "no_answer"):
            await self.summaries.catch_up(item, closing.episode)
        return reason

    async def _close(self, item: InboxItem, state: FinishedState, reason: str) -> None:
        """Close the row, and save what an earlier attempt left."""
        # This comes before the row is closed, so that a crash leaves no session that looks busy.
        unsettled = await self.sessions.settle(item)
        async with self.database.transaction() as tx:
            if unsettled is not None:
                await outbox.add(tx, unsettled, now=self.clock.now())
            await inbox.finish(tx, item.id, state, reason=reason, now=self.clock.now())
            # Only an earlier attempt can have left something. After all tries, nothing may keep the row open.
            is_left = reason in LEAVES_AN_ANSWER or (state == "dead" and item.attempts <= 2 * ATTEMPTS)
            if is_left and (item.fence > 1 or reason == "unreachable"):
                why = "dead_letter" if state == "dead" else reason
                await self.leftovers.save(tx, item, reason=why, may_return=state == "dead")
            if state == "dead":
                await outbox.add(tx, dead_line(item, agent_channel=self.relay.agent_channel), now=self.clock.now())
        if state == "dead" or unsettled is not None:
            self.outbox.wake()

    async def _attempt(
        self, item: InboxItem, ended: str | None, interrupt: Interrupt, closing: RowClosing, *, over: Window | None
    ) -> Finish:
        try:
            if ended:
                if item.attempts <= ATTEMPTS:
                    await self.messages.look_again(item)
                return "done", ended
            if item.attempts > ATTEMPTS or item.body.unstorable:
                return await self.dead_letters.give_up(item, fault=self.faults.get(item.id, ""))
            return await self._work(item, interrupt, closing, over=over)
        except asyncio.CancelledError:
            # The process shuts down, which is not the row's fault.
            with contextlib.suppress(FrontdeskError, TimeoutError):
                async with asyncio.timeout(UNCOUNT_TIMEOUT), self.database.transaction(urgent=True) as tx:
                    await inbox.uncount(tx, item.id)
            raise
        except SlackUnanswered:
            await self._uncount(item)
            raise
        except StoreUnavailable:
            # The cause is another transaction's lock or a restart of the database. One answer can meet several.
            with contextlib.suppress(FrontdeskError, TimeoutError):
                async with asyncio.timeout(UNCOUNT_TIMEOUT):
                    await self._uncount(item)
            raise
        except Unreachable as gone:
            return await self._unreachable(item, gone.error)
        except SlackRefused as refusal:
            if refusal.method == "conversations.open" and refusal.error in PERSON_GONE:
                return await self._unreachable(item, refusal.error)
            if refusal.error not in DEAD_TOKEN:
                raise
            # With a dead token nothing can be posted at all. Once it is replaced, an answer is better than a case.
            await self._uncount(item)
            raise SlackUnanswered(refusal.method, refusal.error, sent=False) from None

    async def _unreachable(self, item: InboxItem, error: str) -> Finish:
        """Tell staff once that the conversation is gone, and close the row. Further tries could not reach it either."""
        logger.warning("a conversation is gone", extra={"turn": item.id, "slack": error})
        await self.relay.tell_unreachable(item, error)
        return "dropped", "unreachable"

    async def _uncount(self, item: InboxItem) -> None:
        """Uncount the attempt, unless the row is older than UNCOUNTED_OUTAGE_PERIOD."""
        if self.clock.now() - item.received_at < UNCOUNTED_OUTAGE_PERIOD:
            async with self.database.transaction(urgent=True) as tx:
                await inbox.uncount(tx, item.id)

    async def _work(self, item: InboxItem, interrupt: Interrupt, closing: RowClosing, *, over: Window | None) -> Finish:
        if item.kind in ("message", "edit"):
            return await self.messages.take(item, interrupt, closing, over=over)
        is_erasure = item.kind == "interaction" and item.interaction.action == REQUEST
        async with asyncio.timeout(erasure.SECONDS if is_erasure else TURN_OVERHEAD_TIMEOUT):
            match item.kind:
                case "delete":
                    await self.edits.deleted(item)
                    return "done", "deleted"
                case "staff" if item.interrupt == "deleted":
                    await self.edits.deleted(item)
                    return "dropped", "deleted"
                case "staff":
                    return "done", await self.relay.from_staff(item)
                case "stop":
                    # A stopped answer has said so itself. If nothing ran, `TurnSessions.settle` makes sure that the
                    # session does not look busy.
                    return "done", "noted"
                case _:
                    return "done", await self.interactions.carry_out(item)
