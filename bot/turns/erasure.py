"""Erasure of everything that is stored about one person, at their request or an operator's.

The request is an interaction, a row of the inbox like any other. The erasure has three steps:

1. Interrupt the turns that run for the person, as if their messages were deleted. Withdraw the changes of orders that
   nobody has sent, and let those end that are being sent.
2. Remove the person's messages where others write too, in batches, like deleted messages.
3. Erase the rest.

It uses many short transactions, so that others do not wait for the database. Each one also puts into the outbox what
Slack must be told. After a crash at any point the request is worked on again, and continues with what is left.
"""

import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace

from bot.actions import erasing
from bot.alerts import Alerts
from bot.cases.cases import Cases
from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.desk.identity import Identities
from bot.errors import StoreUnavailable
from bot.failpoints import failpoint
from bot.help_center.articles import suggestion_key, withdraw
from bot.ingest.interrupts import Interrupts
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.outbox import Outbox
from bot.store import audit, forgetting, inbox, interrupts, outbox, persons, procedures, spending, threads, turns
from bot.store.bodies import InteractionBody, body_as
from bot.store.cases import ERASED
from bot.store.database import Database, Transaction
from bot.store.forgetting import Batch, Bounds, Place
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing
from bot.store.persons import KEPT, OPERATORS
from bot.turns.answers.journal import rounds_of
from bot.turns.batches import Steps
from bot.turns.costs import costs_of
from bot.turns.edits import MessageEdits

logger = logging.getLogger(__name__)

SECONDS = 600.0
"""How long one try may take, in seconds. The person may have written for years."""
RUNNING_TURNS_TIMEOUT = 20.0
"""How long turns that run for the person may take to end, in seconds. After that their writes are refused."""
RUNNING_TURNS_POLL_INTERVAL = 0.2
"""Seconds between two checks whether these turns have ended."""
RUNNING_ACTIONS_TIMEOUT = 20.0
"""How long a change of an order that is being sent may take to end, in seconds. After that it ends without an owner."""
COUNTED = ("messages", "answers", "cases", "drafts", "suggestions", "feedback", "posts", "files", "costs", "actions")
"""What is counted: the names in `InteractionBody.erased`."""
ERASURE_POLL_INTERVAL = 5.0
"""Seconds between two queries for requests of operators."""


async def watch_erasures(database: Database, clock: Clock, submit: Callable[[int, str], None]) -> None:
    """Submit the erasures that operators request at the command line, until cancelled.

    Only a single process needs this. In a fleet, the pump finds rows that other processes stored.
    """
    alerts = Alerts()
    while True:
        await clock.sleep(ERASURE_POLL_INTERVAL)
        try:
            async with database.reading() as tx:
                found = await persons.asked_outside(tx)
        except Exception as error:  # noqa: BLE001 - memory may run out, and the poll must not end
            alerts.tell(logger, "requests to erase were not looked for", about=type(error).__name__)
            continue
        for row, thread in found:
            submit(row, thread)


@dataclass(frozen=True, slots=True)
class Erasure:
    """Carries erasures out. `bot.app` puts the parts together."""

    database: Database
    outbox: Outbox
    clock: Clock
    directory: Directory
    identities: Identities
    cases: Cases
    edits: MessageEdits
    interrupts: Interrupts
    show_home: Callable[[str], Awaitable[None]]
    """Publishes a person's Home tab."""
    forget_rewrites: Callable[[str], None]
    """Drops what this process keeps of a person's questions in memory."""

    async def carry_out(self, item: InboxItem) -> str:
        """Erase everything that is stored about the item's author. Return how it ended, in one stable word."""
        if item.author != ERASED:
            channel, words = await self._farewell(item, "erased", "erased_stays")
            async with self.database.transaction() as tx:
                within = await forgetting.bounds(tx)
            await self._interrupt(item)
            await self._end_actions(item)
            await self._take_out(item, within)
            await self._erase(item, channel, words, within=within)
            self.forget_rewrites(item.author)
            failpoint("person_erased")
            self.outbox.wake()
        # An attempt before a crash may have done everything but this.
        await self.database.scrub()
        with contextlib.suppress(SlackRefused, SlackUnanswered, StoreUnavailable):
            if item.author != ERASED:
                await self.show_home(item.author)
        return ERASED

    async def tell_failed(self, item: InboxItem) -> None:
        """Tell the person that the erasure failed and that operators know."""
        channel, words = await self._farewell(item, "erase_failed")
        if channel:
            async with self.database.transaction() as tx:
                await self._tell(tx, f"failed/{item.id}/{item.fence}", channel, words)
            self.outbox.wake()

    async def _farewell(self, item: InboxItem, *keys: str) -> tuple[str, str]:
        """Return the channel for the person, empty if Slack does not know them, and the sentences in their language."""
        try:
            customer = await self.identities.identify(item.author, with_shop=False)
            channel = await self.directory.open_dm(item.author) if customer else ""
        except SlackRefused as refusal:
            logger.warning("who is erased cannot be told", extra={"turn": item.id, "slack": refusal.error})
            return "", ""
        language = self.edits.sentences.language_for(customer.locale if customer else "")
        return channel, "\n".join(self.edits.sentences.say(language, key) for key in keys)

    async def _interrupt(self, item: InboxItem) -> None:
        """Interrupt the turns that run for the person, and wait until they end or RUNNING_TURNS_TIMEOUT is over."""
        async with self.database.transaction() as tx:
            told = await persons.interrupt_deleted(tx, item.author)
        for each in told:
            self.interrupts.tell(each, "deleted")
        end = self.clock.monotonic() + RUNNING_TURNS_TIMEOUT
        while told and self.clock.monotonic() < end:
            async with self.database.transaction() as tx:
                if not await persons.still_open(tx, told):
                    return
            await self.clock.sleep(RUNNING_TURNS_POLL_INTERVAL)

    async def _end_actions(self, item: InboxItem) -> None:
        """Withdraw what nobody has sent. Wait for requests on their way, at most RUNNING_ACTIONS_TIMEOUT."""
        end = self.clock.monotonic() + RUNNING_ACTIONS_TIMEOUT
        while True:
            async with self.database.transaction() as tx:
                await erasing.withdraw(tx, item.author, now=self.clock.now())
                are_leaving = await erasing.are_leaving(tx, item.author)
            if not are_leaving or self.clock.monotonic() >= end:
                return
            await self.clock.sleep(RUNNING_TURNS_POLL_INTERVAL)

    async def _take_out(self, item: InboxItem, within: Bounds) -> None:
        """Erase what the person wrote where others write too, and unfinished rows, as if they had deleted it."""
        after, steps = 0, Steps(self.database, self.clock)
        while True:
            async with self.database.transaction() as tx:
                batch = await forgetting.next_items(
                    tx, item.author, within, after=after, besides=item.id, limit=steps.next_size()
                )
            if batch is None:
                return
            after = batch.last
            together: dict[ThreadRef, list[InboxItem]] = {}
            for each in batch.items:
                if each.kind == "message" and (each.thread in batch.shared or each.id in batch.open):
                    together.setdefault(each.thread, []).append(each)
            async with steps.pieces() as pieces:
                for messages in together.values():
                    await self.edits.deleted_together(messages, pieces=pieces)
            if together:
                self.outbox.wake()
                failpoint("messages_taken_out")

    async def _erase(self, item: InboxItem, channel: str, words: str, *, within: Bounds) -> None:
        """Erase the rest: what the person wrote, their cases, and then what else is stored about them."""
        by = "operator" if item.thread.channel == OPERATORS else "customer"
        withdrawals = _Withdrawals(self, item, Bounds(within.item, await self._end_cases(item, by)))
        after = 0
        while batch := await self._next_items(item, withdrawals, after):
            after = batch.last
            for thread in batch.own:
                await withdrawals.clear(thread)
            await self._erase_items(item, batch, withdrawals.steps)
            failpoint("messages_erased")
        await self._erase_answers(item, withdrawals)
        await self._erase_cases(item, withdrawals, by)
        await self._erase_suggestions(item)
        await self._erase_actions(item)
        await self._finish(item, channel, words, by=by)

    async def _erase_items(self, item: InboxItem, batch: Batch, steps: Steps) -> None:
        """Erase a batch of messages and everything that followed from them. The messages go last.

        So an attempt after a crash still finds them.
        """
        now = self.clock.now()
        async with steps.pieces() as pieces:
            tx = await pieces.go_on()
            await forgetting.close_items(tx, batch, now=now)
            await self._untitle(tx, batch.own)
            await self._book(tx, batch)
            tx = await pieces.go_on()
            await self._count(tx, item, await forgetting.erase_items_posts(tx, item.author, batch, now=now))
            tx = await pieces.go_on()
            await self._count(tx, item, await forgetting.erase_items_answers(tx, batch, now=now))
            tx = await pieces.go_on()
            await self._count(tx, item, await forgetting.erase_items(tx, batch))

    async def _end_cases(self, item: InboxItem, by: str) -> int:
        """End the person's cases. Return the number of the latest post after that."""
        async with self.database.transaction() as tx:
            theirs = await forgetting.cases_of(tx, item.author)
        for case_id in theirs:
            async with self.database.transaction() as tx:
                await self.cases.end_erased(tx, case_id, item.author_team, by=by)
        async with self.database.transaction() as tx:
            return (await forgetting.bounds(tx)).post

    async def _next_items(self, item: InboxItem, withdrawals: "_Withdrawals", after: int) -> Batch | None:
        async with self.database.transaction() as tx:
            return await forgetting.next_items(
                tx, item.author, withdrawals.within, after=after, besides=item.id, limit=withdrawals.steps.next_size()
            )

    async def _erase_answers(self, item: InboxItem, withdrawals: "_Withdrawals") -> None:
        """Erase answers to the person that belong to none of their messages."""
        while True:
            async with self.database.transaction() as tx:
                answers = await forgetting.next_answers(
                    tx, item.author, withdrawals.within, limit=withdrawals.steps.next_size()
                )
            if not answers:
                return
            for thread in {answer.thread for answer in answers}:
                await withdrawals.clear(thread)
            async with withdrawals.steps.transaction() as tx:
                await forgetting.forget_threads(tx, item.author, {answer.thread for answer in answers})
                await self._count(tx, item, await forgetting.erase_answers(tx, answers, now=self.clock.now()))

    async def _erase_cases(self, item: InboxItem, withdrawals: "_Withdrawals", by: str) -> None:
        async with self.database.transaction() as tx:
            theirs = await forgetting.cases_of(tx, item.author)
            await forgetting.forget_drafting(tx, theirs)
        for case_id in theirs:
            async with self.database.transaction() as tx:
                # A turn that was still running may have opened the case.
                await self.cases.end_erased(tx, case_id, item.author_team, by=by)
                case = await forgetting.the_case(tx, item.author, case_id)
            for card in case.cards:
                await withdrawals.clear_below(card)
            if case.is_own:
                await withdrawals.clear(case.thread)
            await withdrawals.clear_where(forgetting.of_case(case_id))
            async with self.database.transaction() as tx:
                await self._count(tx, item, await forgetting.erase_case(tx, item.author, case))
            failpoint("case_erased")

    async def _erase_suggestions(self, item: InboxItem) -> None:
        """Erase what was suggested from threads of channels in which the person asked."""
        async with self.database.transaction() as tx:
            numbers = await forgetting.erase_suggestions(tx, item.author)
            await withdraw(tx, [suggestion_key(number) for number in numbers], now=self.clock.now())
            await self._count(tx, item, Counter(suggestions=len(numbers)))

    async def _erase_actions(self, item: InboxItem) -> None:
        """Empty the person's changes of orders, except what the books need."""
        steps = Steps(self.database, self.clock)
        while True:
            async with steps.transaction() as tx:
                counts = await erasing.erase_some(tx, item.author, limit=steps.next_size(), now=self.clock.now())
                if counts is None:
                    return
                await self._count(tx, item, counts)

    async def _finish(self, item: InboxItem, channel: str, words: str, *, by: str) -> None:
        """Erase what else is stored about the person, and add the audit entry."""
        steps = Steps(self.database, self.clock)
        while True:
            async with steps.transaction() as tx:
                uses = await forgetting.erase_costs(tx, item.author, limit=steps.next_size())
                if not uses:
                    break
                await self._count(tx, item, Counter(costs=uses))
        async with self.database.transaction() as tx:
            counts = await self._count(tx, item, await forgetting.erase_preferences(tx, item.author))
            now = self.clock.now()
            await procedures.erase_customer(tx, item.author, now=now)
            await persons.close_requests(tx, item.author, item=item.id, now=now)
            await audit.note(tx, actor=by, action="person.erased", subject=item.author, detail=counts, now=now)
            if channel:
                await self._tell(tx, f"told/{item.id}", channel, words)
        logger.info("a person's data was erased", extra={"turn": item.id, "by": by, "counts": counts})

    async def _count(self, tx: Transaction, item: InboxItem, counts: Counter[str]) -> dict[str, int]:
        """Add to the counts of what was erased, in the transaction that erases it. Return all counts so far.

        The request's own row holds them, so an attempt after a crash continues to count.
        """
        body = body_as(InteractionBody, await inbox.body_of(tx, item.id))
        total = Counter(dict.fromkeys(COUNTED, 0)) + Counter(body.erased) + counts
        erased = {name: total[name] for name in COUNTED}
        await interrupts.replace_body(tx, item.id, replace(body, erased=erased))
        return erased

    async def _tell(self, tx: Transaction, name: str, channel: str, words: str) -> None:
        await outbox.add(tx, Outgoing(f"{KEPT}{name}", "post", channel, {"text": words}), now=self.clock.now())

    async def _untitle(self, tx: Transaction, own: Collection[ThreadRef]) -> None:
        """Replace the titles of the sessions in the person's threads, because these quote what they wrote."""
        sentences = self.edits.sentences
        languages = await threads.languages_of(tx, own)
        rows = []
        for thread in own:
            title = sentences.say(sentences.language_for(languages.get(thread.key, "")), "session_untitled")
            key = f"{KEPT}title/{thread.channel}/{thread.ts}"
            rows.append(Outgoing(key, "session", thread.channel, {"title": title}, thread_ts=thread.ts))
        await outbox.add(tx, *rows, now=self.clock.now())

    async def _book(self, tx: Transaction, batch: Batch) -> None:
        """Save the costs of unfinished turns."""
        unfinished = await turns.with_steps(tx, batch.ids)
        for each in batch.items:
            if each.id in unfinished:
                for use in costs_of(each, rounds_of(await turns.recall(tx, each.id))):
                    await spending.add(tx, use, now=self.clock.now())


class _Withdrawals:
    """Erases our messages to the person, once for each thread."""

    def __init__(self, erasure: Erasure, item: InboxItem, within: Bounds) -> None:
        self._erasure = erasure
        self._item = item
        self.within = within
        self.steps = Steps(erasure.database, erasure.clock)
        self._posts = Steps(erasure.database, erasure.clock)
        self._cleared: set[str] = set()

    async def clear(self, thread: ThreadRef) -> None:
        """Erase our posts in a thread. For a direct message, erase those in the whole channel."""
        name = thread.channel if thread.is_direct else thread.key
        if name not in self._cleared:
            self._cleared.add(name)
            place = forgetting.in_channel(thread.channel) if thread.is_direct else forgetting.in_thread(thread)
            await self.clear_where(place)

    async def clear_where(self, place: Place) -> None:
        """Erase all of our posts in the place, in batches."""
        erasure, before = self._erasure, None
        while True:
            async with self._posts.transaction() as tx:
                erased = await forgetting.erase_posts(
                    tx,
                    self._item.author,
                    place,
                    self.within,
                    before=before,
                    limit=self._posts.next_size(),
                    now=erasure.clock.now(),
                )
                if erased is None:
                    return
                before, counts = erased
                await erasure._count(tx, self._item, counts)

    async def clear_below(self, card: ThreadRef) -> None:
        """Erase what staff wrote below a card."""
        after: int | None = 0
        while after is not None:
            async with self._posts.transaction() as tx:
                after = await forgetting.erase_below(tx, card, after=after, limit=self._posts.next_size())
