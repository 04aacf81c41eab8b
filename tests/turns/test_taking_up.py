"""A row that is taken up again: what of an earlier attempt goes on, and what is cleared away."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import select

from bot.conversation import Customer, ThreadRef
from bot.errors import StoreUnavailable
from bot.store import inbox, schema, threads
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing
from bot.turns.answers.journal import open_journal
from bot.turns.answers.question import Question
from bot.turns.summaries import Summaries
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.turns.answering import CUSTOMER, KnownCustomer, TurnParts, build_answers
from tests.turns.arrivals import TEAM, arrival


class Told:
    """Records what was relayed to staff."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    async def from_customer(self, case: Case, item: InboxItem, customer: Customer) -> None:
        """As Relay.from_customer."""
        self.rows.append(item.id)


class Desk:
    """Turns whose answers are only noted, over a real database and a real Slack."""

    def __init__(self, database: Database, slack: LocalSlack) -> None:
        self.database = database
        self.clock = ManualClock()
        self.told = Told()
        self.answered: list[str] = []
        self.answers = build_answers(database, slack.client, self.clock)
        self.outbox, self.cases = self.answers.posts.outbox, self.answers.cases
        metrics, nothing = self.answers.reports.metrics, cast(Any, None)
        self.noting = Noting(self.answered)
        summaries = Summaries(database, self.clock, metrics, nothing, nothing, 24_000, 30, asyncio.Semaphore(1))
        parts = TurnParts.around(
            self.answers, answers=self.noting, identities=KnownCustomer(), relay=self.told, summaries=summaries
        )
        self.turns = parts.build()

    async def receives(self, ts: str = "1.1", channel: str = "D0CUSTOMERA") -> InboxItem:
        """Store the customer's message, and begin a first attempt at it."""
        async with self.database.transaction() as tx:
            row = await inbox.add(tx, arrival(ts, channel=channel), now=self.clock.now())
            assert row is not None
            item = await inbox.start(tx, row)
            assert item is not None
            await threads.add_thread(tx, item.thread, now=self.clock.now())
        return item

    async def begins(self, item: InboxItem, *steps: str) -> None:
        """Note steps of its answer."""
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.attempts)
        for step in steps:
            await journal.record(step, {"opened": []})

    async def opens_a_case(self, thread: ThreadRef) -> None:
        await self.cases.open(thread, CUSTOMER, reason="billing", priority="high")


class Noting:
    """Answers that are only noted."""

    def __init__(self, answered: list[str]) -> None:
        self._answered = answered
        self.unavailable = 0
        """How often the database is away before it answers."""

    async def answer(self, question: Question) -> str:
        """As Answers.answer."""
        self._answered.append(question.text)
        if self.unavailable:
            self.unavailable -= 1
            raise StoreUnavailable("LockNotAvailableError")
        return "escalated"


@pytest.fixture
def desk(database: Database, slack: LocalSlack) -> Desk:
    return Desk(database, slack)


async def test_a_case_that_was_opened_in_the_course_of_an_answer_does_not_take_its_place(desk: Desk) -> None:
    item = await desk.receives()
    await desk.begins(item, "stream", "round-1")
    desk.clock.advance(1.0)
    await desk.opens_a_case(item.thread)
    desk.clock.advance(1.0)
    await desk.begins(item, "stream")
    await desk.turns.take(item.id)
    assert (desk.answered, desk.told.rows) == (["Where is my order?"], [])


async def test_what_was_written_while_a_person_was_on_it_goes_to_them(desk: Desk) -> None:
    first, then = await desk.receives(), await desk.receives("1.2")
    await desk.begins(first, "stream")
    await desk.opens_a_case(then.thread)
    await desk.turns.take(then.id)
    assert (desk.answered, desk.told.rows) == ([], [then.id])


async def test_an_answer_that_was_begun_after_the_case_was_opened_gives_way_to_it(desk: Desk) -> None:
    item = await desk.receives()
    await desk.opens_a_case(item.thread)
    desk.clock.advance(1.0)
    await desk.begins(item, "call-1")
    await desk.turns.take(item.id)
    assert (desk.answered, desk.told.rows) == ([], [item.id])


async def test_streams_that_no_journal_tells_of_are_stopped_where_they_stand(desk: Desk, slack: LocalSlack) -> None:
    asked = await slack.client.chat.post("C0SUPPORT", text="Where is my order?")
    item = await desk.receives(asked, channel="C0SUPPORT")
    running = asyncio.create_task(desk.outbox.run())
    channel = await slack.client.directory.open_dm(item.author)
    root = await desk.outbox.deliver(Outgoing(f"turn/{item.id}/private", "post", channel, {"text": "About it:"}))
    await desk.begins(item, "stream", "private-stream")
    for place, thread in (("C0SUPPORT", asked), (channel, root)):
        await slack.client.streams.start(place, thread, user=item.author, team=TEAM)
    await desk.answers.leftovers.close(item)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    written = [message for place in ("C0SUPPORT", channel) for message in slack.workspace.messages[place].values()]
    states = [message["streaming_state"] for message in written if "streaming_state" in message]
    assert len(states) == 2
    assert "in_progress" not in states


class Full:
    """No place becomes free."""

    async def acquire(self, group: str, order: int) -> None:
        """As FairSemaphore.acquire."""
        raise TimeoutError


async def test_what_a_dead_process_was_writing_is_stopped_before_its_turn_has_a_place(
    desk: Desk, slack: LocalSlack
) -> None:
    asked = await slack.client.chat.post("C0SUPPORT", text="Where is my order?")
    await desk.begins(await desk.receives(asked, channel="C0SUPPORT"), "stream")
    complete, open_ = [
        await slack.client.streams.start("C0SUPPORT", asked, user=CUSTOMER.user, team=TEAM) for _ in range(2)
    ]
    await slack.client.streams.stop("C0SUPPORT", complete)
    async with desk.database.transaction() as tx:
        item = await inbox.start(tx, 1)
    assert item is not None
    question = Question(item, CUSTOMER, "en", "Where is my order?", "", 0, ())
    with pytest.raises(TimeoutError):
        await replace(desk.answers, slots=cast(Any, Full())).answer(question)
    assert slack.workspace.messages["C0SUPPORT"][open_]["streaming_state"] == "completed"
    stops = [entry for entry in slack.workspace.log if entry["name"] == "chat.stopStream"]
    assert len(stops) == 2  # none for what was complete already


async def test_a_database_that_is_away_again_and_again_costs_a_row_no_attempt(desk: Desk) -> None:
    item = await desk.receives()
    await desk.begins(item, "stream")
    await desk.opens_a_case(item.thread)
    desk.noting.unavailable = 5
    for _ in range(5):
        with pytest.raises(StoreUnavailable):
            await desk.turns.take(item.id)
    await desk.turns.take(item.id)
    async with desk.database.transaction() as tx:
        row = (await tx.execute(select(schema.inbox).where(schema.inbox.c.id == item.id))).one()
    assert (row.state, row.reason) == ("done", "escalated")
