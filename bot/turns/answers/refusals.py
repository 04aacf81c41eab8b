"""Messages that no model is asked about.

is_for_people  whether a message over its author's limit goes to a person all the same
over_limit     one person sent too many messages: say so once, and close the row
over_budget    no money is left for answers today: open one case for all of the customer's threads
"""

from dataclasses import dataclass

from bot.cases.cases import Cases
from bot.cases.relay import Relay
from bot.clock import Clock
from bot.desk.addressing import calls_for_people
from bot.desk.budgets import Allowance, Window
from bot.desk.courtesies import asks_nothing
from bot.slack.outbox import Outbox
from bot.store import cases as case_rows
from bot.store import outbox, pauses
from bot.store.database import Database
from bot.store.inbox import Finish, InboxItem
from bot.store.outbox import Outgoing
from bot.telemetry import Metrics
from bot.turns.incoming import IncomingMessage, Notices


@dataclass(frozen=True, slots=True)
class Refusals:
    """Refuses messages. `bot.app` puts the parts together."""

    database: Database
    outbox: Outbox
    clock: Clock
    cases: Cases
    relay: Relay
    notices: Notices
    metrics: Metrics
    allowance: Allowance | None = None
    """Limits the messages of one person. None means no limit."""

    async def is_for_people(self, item: InboxItem) -> bool:
        """Whether a message over its author's limit still goes to a person. No model is asked for it."""
        async with self.database.transaction() as tx:
            case = await case_rows.find_open(tx, item.thread)
            if case is None and not calls_for_people(item.words):
                return False
            return self.allowance is None or await self.allowance.admit(tx, item, for_people=True) is None

    async def over_limit(self, item: InboxItem, window: Window) -> Finish:
        """Tell the author and staff, once in a window, that the author is over the limit. Close the row."""
        language = await self.notices.language(item)
        async with self.database.transaction() as tx:
            if await pauses.is_paused(tx, item.thread.channel):
                return "dropped", "paused"
            told = None if self.allowance is None else await self.allowance.tell(tx, item, window)
            if told and told.tells_customer:
                words = self.notices.sentences.say(language, f"over_{window}")
                key, thread = f"turn/{item.id}/over_limit", item.thread
                post = Outgoing(key, "post", thread.channel, {"text": words}, thread_ts=thread.ts)
                await outbox.add(tx, post, now=self.clock.now())
            if told and told.tells_staff:
                line = staff_line(item.author, window)
                post = Outgoing(f"over_limit/{item.id}", "post", self.relay.agent_channel, {"text": line})
                await outbox.add(tx, post, now=self.clock.now())
        self.outbox.wake()
        self.metrics.message_over_limit(window)
        return "dropped", "over_limit"

    async def over_budget(self, incoming: IncomingMessage) -> Finish:
        """Open a case instead of asking a model, because the day's budget is spent. Small talk opens no case.

        One case for each customer is enough: it also shows what they ask in other threads.
        """
        item, customer = incoming.item, incoming.customer
        if asks_nothing(item.words):
            await self.notices.say(incoming, "standing_by")
            return "done", "over_budget"
        case = await self.cases.open(item.thread, customer, reason="budget", priority="medium", one_a_customer=True)
        if case.thread != item.thread:
            await self.notices.say(incoming, "over_budget", "passed_on")
            await self.relay.from_customer(case, item, customer)
        return "done", "over_budget"


def staff_line(author: str, window: Window) -> str:
    """Return the line to staff about a person who is over the limit."""
    return (
        f"<@{author}> sent more messages within a {window} than one customer gets answered. The rest of that {window} "
        "goes unanswered, and they know. Requests for a person still reach you."
    )
