"""Erasing everything that is kept of one person, because they or an operator wish it.

It is asked for by a press, a row of the inbox like any other. First what runs for them is interrupted, each as when its
message is deleted; then their messages where others write too are taken out one by one, as deleted messages are; then
the rest goes in one transaction, with what Slack must hear of it. A crash at any point leaves the press to be worked on
again, and what is done already does no harm when it is done again.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.alerts import Alerts
from bot.cases.cases import Cases
from bot.clock import Clock
from bot.desk.identity import Identities
from bot.errors import StoreUnavailable
from bot.failpoints import reach
from bot.slack.client import SlackClient, SlackRefused, SlackUnanswered
from bot.store import outbox, persons, records, spending, turns
from bot.store.cases import ERASED
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing
from bot.store.persons import KEPT, OPERATORS, Kept
from bot.turns.costs import costs_of
from bot.turns.interruptions import Interruptions
from bot.turns.journal import rounds_of
from bot.turns.second_thoughts import SecondThoughts

logger = logging.getLogger(__name__)

SECONDS = 600.0
"""How long one try may take: somebody may have written for years."""
WAIT_SECONDS = 20.0
"""How long turns that run for the person may take to end; then they are refused whatever they still write."""
LOOK_SECONDS = 0.2
"""Between two looks whether they have."""
WATCH_SECONDS = 5.0
"""Between two looks whether an operator wishes it."""


async def watch_erasures(database: Database, clock: Clock, submit: Callable[[int, str], None]) -> None:
    """Have what operators ask for at the command line worked on, in a process that is alone, until cancelled.

    Several processes find what others have stored by themselves.
    """
    alerts = Alerts()
    while True:
        await clock.sleep(WATCH_SECONDS)
        try:
            async with database.transaction() as tx:
                found = await persons.asked_outside(tx)
        except Exception as error:  # noqa: BLE001 - memory may run out, and whoever stopped looking would never look
            alerts.tell(logger, "wishes for an erasure were not looked for", about=type(error).__name__)
            continue
        for row, thread in found:
            submit(row, thread)


@dataclass(frozen=True, slots=True)
class Erasure:
    """Carries it out; the parts are put together in `bot.app`."""

    database: Database
    slack: SlackClient
    identities: Identities
    cases: Cases
    second_thoughts: SecondThoughts
    interruptions: Interruptions
    show_home: Callable[[str], Awaitable[None]]
    """Publishes somebody's Home tab."""

    async def carry_out(self, item: InboxItem) -> str:
        """Erase everything that is kept of the item's author; how it ended, in one stable word."""
        if item.author != ERASED:
            channel, words = await self._farewell(item, "erased", "erased_stays")
            await self._interrupt(item)
            await self._take_out(item)
            await self._erase(item, channel, words)
            reach("person_erased")
            self.cases.outbox.wake()
        # Before a crash all but this may have been done.
        await self.database.scrub()
        with contextlib.suppress(SlackRefused, SlackUnanswered, StoreUnavailable):
            if item.author != ERASED:
                await self.show_home(item.author)
        return ERASED

    async def tell_failed(self, item: InboxItem) -> None:
        """Tell the person that it came to nothing, and that operators know."""
        channel, words = await self._farewell(item, "erase_failed")
        if channel:
            async with self.database.transaction() as tx:
                await self._tell(tx, f"failed/{item.id}/{item.fence}", channel, words)
            self.cases.outbox.wake()

    async def _farewell(self, item: InboxItem, *keys: str) -> tuple[str, str]:
        """Where the person is told, and the sentences in their language; no channel when Slack knows no such person."""
        try:
            customer = await self.identities.identify(item.author, with_shop=False)
            channel = await self.slack.open_dm(item.author) if customer else ""
        except SlackRefused as refusal:
            logger.warning("who is erased cannot be told", extra={"turn": item.id, "slack": refusal.error})
            return "", ""
        language = self.second_thoughts.sentences.language_for(customer.locale if customer else "")
        return channel, "\n".join(self.second_thoughts.sentences.say(language, key) for key in keys)

    async def _interrupt(self, item: InboxItem) -> None:
        """End what runs for the person, and wait until it has ended."""
        async with self.database.transaction() as tx:
            told = await persons.wish_deleted(tx, await persons.find(tx, item.author, besides=item.id))
        for each in told:
            self.interruptions.tell(each, "deleted")
        end = self.cases.clock.monotonic() + WAIT_SECONDS
        while told and self.cases.clock.monotonic() < end:
            async with self.database.transaction() as tx:
                if not await persons.still_open(tx, told):
                    return
            await self.cases.clock.sleep(LOOK_SECONDS)

    async def _take_out(self, item: InboxItem) -> None:
        """Erase what the person wrote where others write too, and what has not ended, as if they had deleted it."""
        async with self.database.transaction() as tx:
            kept = await persons.find(tx, item.author, besides=item.id)
        for each in kept.items:
            if each.kind == "message" and (each.thread in kept.shared or each.id in kept.open):
                await self.second_thoughts.deleted(each)
                reach("message_taken_out")

    async def _erase(self, item: InboxItem, channel: str, words: str) -> None:
        """All that is left, in one transaction."""
        now = self.cases.clock.now()
        by = "operator" if item.thread.channel == OPERATORS else "customer"
        async with self.database.transaction() as tx:
            await self.cases.end_erased(tx, item.author_team, item.author, by=by)
            kept = await persons.find(tx, item.author, besides=item.id)
            counts = await persons.count(tx, kept)
            await self._book(tx, kept)
            await persons.withdraw(tx, kept, now=now)
            await persons.forget(tx, kept, now=now)
            await persons.close_requests(tx, item.author, item=item.id, now=now)
            await records.note(tx, actor=by, action="person.erased", subject=item.author, detail=counts, now=now)
            if channel:
                await self._tell(tx, f"told/{item.id}", channel, words)
        logger.info("a person's data was erased", extra={"turn": item.id, "by": by, "counts": counts})

    async def _tell(self, tx: Transaction, name: str, channel: str, words: str) -> None:
        await outbox.add(tx, Outgoing(f"{KEPT}{name}", "post", channel, {"text": words}), now=self.cases.clock.now())

    async def _book(self, tx: Transaction, kept: Kept) -> None:
        """Keep what unfinished turns have cost."""
        for each in kept.items:
            for use in costs_of(each, rounds_of(await turns.recall(tx, each.id))):
                await spending.add(tx, use, now=self.cases.clock.now())
