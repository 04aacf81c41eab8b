"""The queue of a desk over a real database and a local Slack: its message, and who gets the case that comes next."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

from bot.cases.case import MovedOn
from bot.cases.living_messages import EDIT_SECONDS, REPOST_SECONDS
from bot.cases.messages import CaseMessages
from bot.cases.queue import SINK_LIMIT, SINK_SECONDS, NothingWaits, Queue
from bot.cases.staff import Staff
from bot.conversation import Customer, ThreadRef
from bot.language.sentences import load_sentences
from bot.slack.outbox import Outbox
from bot.store import schema
from bot.store.cases import Case
from bot.store.database import Database
from bot.views.queue_cards import MAX_LINES
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack, open_local_slack
from tests.doubles.sending import send_all
from tests.turns.answering import CUSTOMER, build_cases
from tests.turns.arrivals import TEAM, arrival, begin

AGENT, OTHER = "U0AGENTA", "U0AGENTB"
CHANNEL = "C0AGENTS"
Message = dict[str, Any]


class Desk:
    """A desk with cases, and as many processes that keep its queue message as a test likes."""

    def __init__(self, database: Database, slack: LocalSlack, clock: ManualClock) -> None:
        self.database, self.slack, self.clock = database, slack, clock
        self.outbox = Outbox(database, slack.client.chat, slack.client.sessions, self.clock)
        messages = CaseMessages(load_sentences(), CHANNEL)
        self.cases = build_cases(database, self.outbox, slack.client, self.clock, messages=messages)
        self.queue = self.process()

    def process(self) -> Queue:
        client = self.slack.client
        staff = Staff(client.directory, self.clock, agent_channel=CHANNEL)
        return Queue(self.cases.stepping, staff, client.chat, client.directory)

    async def opens(
        self,
        number: int = 1,
        *,
        priority: Any = "medium",
        says: str = "My parcel is lost",
        customer: Customer = CUSTOMER,
    ) -> Case:
        ts = f"{number}.1"
        async with self.database.transaction() as tx:
            await begin(tx, arrival(ts, text=says))
        return await self.cases.open(
            ThreadRef(TEAM, "D0CUSTOMERA", ts), customer, reason="asked_for_person", priority=priority
        )

    async def looks(self, *, seconds: float = EDIT_SECONDS, times: int = 3) -> None:
        """Let time pass, and the queue message be kept."""
        for _ in range(times):
            self.clock.advance(seconds)
            await self.queue.look()
            await send_all(self.outbox, patience=100_000.0)

    def posts(self) -> list[Message]:
        """What stands in the desk's channel outside of threads, oldest first."""
        there = sorted(self.slack.workspace.messages.get(CHANNEL, {}).items())
        return [message for ts, message in there if message.get("thread_ts", ts) == ts]

    def edits(self) -> int:
        """How often a message was edited."""
        return sum(entry["name"] == "chat.update" for entry in self.slack.workspace.log)

    def shown(self) -> list[Message]:
        """The queue messages."""
        return [each for each in self.posts() if "queue.filter" in str(each.get("blocks"))]


@pytest.fixture
async def desk(database: Database) -> AsyncIterator[Desk]:
    """Its client has the desk's clock: what Slack lets through each second, it waits for in no time."""
    clock = ManualClock()
    async with open_local_slack(clock) as slack:
        yield Desk(database, slack, clock)


async def test_claim_next_gives_the_most_urgent_case_and_of_equal_ones_the_one_that_waits_longest(desk: Desk) -> None:
    first = await desk.opens(1)
    desk.clock.advance(60.0)
    second = await desk.opens(2)
    urgent = await desk.opens(3, priority="high")
    taken = [await desk.queue.claim_next(CHANNEL, AGENT, press=f"{number}") for number in range(3)]
    assert [case.ref for case in taken] == [urgent.ref, first.ref, second.ref]
    assert all(case.is_with(AGENT) for case in taken)
    with pytest.raises(NothingWaits):
        await desk.queue.claim_next(CHANNEL, AGENT, press="4")


async def test_a_press_that_is_repeated_after_a_crash_takes_no_second_case(desk: Desk) -> None:
    await desk.opens(1)
    second = await desk.opens(2)
    taken = await desk.queue.claim_next(CHANNEL, AGENT, press="7")
    with pytest.raises(MovedOn) as moved:
        await desk.queue.claim_next(CHANNEL, AGENT, press="7")
    assert moved.value.case.ref == taken.ref
    assert (await desk.cases.find(second.ref)).waits
    await send_all(desk.outbox, patience=100_000.0)
    [told] = [each for each in desk.slack.workspace.ephemerals if each["user"] == AGENT]
    assert taken.ref in told["text"]


async def test_fifty_who_press_at_once_get_fifty_cases(desk: Desk) -> None:
    desk.cases = replace(desk.cases, most=1_000)
    for number in range(50):
        await desk.opens(number)
    people = [AGENT, OTHER]
    taken = await asyncio.gather(
        *(desk.queue.claim_next(CHANNEL, people[press % 2], press=f"{press}") for press in range(50))
    )
    assert len({case.ref for case in taken}) == 50


async def test_a_message_that_slack_refused_is_posted_again_a_minute_later(desk: Desk) -> None:
    await desk.opens()
    await desk.queue.look()
    async with desk.database.transaction() as tx:
        await tx.execute(update(schema.outbox).where(schema.outbox.c.key.like("queue/%")).values(state="failed"))
    await desk.looks()
    assert desk.shown() == []
    await desk.looks(seconds=REPOST_SECONDS)
    assert len(desk.shown()) == 1


async def test_the_message_shows_the_queue_and_is_edited_in_place(desk: Desk) -> None:
    await desk.looks()
    assert desk.shown() == [], "no case, no message"
    case = await desk.opens(1)
    await desk.looks()
    [message] = desk.shown()
    assert all(each in str(message["blocks"]) for each in (case.ref, "My parcel is lost", "Customer A", "queue.next"))
    assert message["pinned_to"] == [CHANNEL]

    await desk.cases.claim(case.ref, AGENT)
    await desk.looks(times=1)
    [claimed] = desk.shown()
    assert claimed["ts"] == message["ts"]
    assert f"<@{AGENT}>" in str(claimed["blocks"])
    assert "queue.next" not in str(claimed["blocks"]), "nothing is left to claim"
    edited = desk.edits()
    await desk.looks()
    assert desk.edits() == edited, "nothing has changed"


async def test_the_message_is_edited_at_most_once_in_a_while_whoever_keeps_it(desk: Desk) -> None:
    await desk.opens(1)
    await desk.looks()
    others = [desk.process() for _ in range(3)]
    edited = desk.edits()
    for number in range(2, 6):
        await desk.opens(number)
        await asyncio.gather(*(each.look() for each in others))
    assert desk.edits() - edited <= 1
    await desk.looks()
    [message] = desk.shown()
    assert "FD-1005" in str(message["blocks"])


async def test_nothing_of_a_customer_is_stored_for_the_message(desk: Desk) -> None:
    await desk.opens(1, says="A very particular sentence")
    await desk.looks()
    assert "A very particular sentence" in str(desk.shown())
    async with desk.database.transaction() as tx:
        for table in ("desk", "outbox"):
            rows = (await tx.exec_driver_sql(f"select * from {table}")).all()  # noqa: S608
            kept = [row for row in rows if "queue/" in str(row) or table == "desk"]
            assert kept
            assert "particular" not in str(kept)


async def test_the_message_comes_down_when_the_channel_has_gone_on(desk: Desk) -> None:
    await desk.opens(1)
    await desk.looks()
    [first] = desk.shown()
    for number in range(SINK_LIMIT):
        await desk.slack.client.chat.post(CHANNEL, text=f"Talk {number}")
    await desk.looks(seconds=SINK_SECONDS)
    [second] = desk.shown()
    assert second["ts"] > first["ts"]
    assert desk.posts()[-1]["ts"] == second["ts"]
    assert "FD-1001" in str(second["blocks"])


async def test_a_message_that_somebody_deleted_is_posted_anew(desk: Desk) -> None:
    case = await desk.opens(1)
    await desk.looks()
    [first] = desk.shown()
    await desk.slack.client.chat.delete(CHANNEL, first["ts"])
    await desk.cases.claim(case.ref, AGENT)
    await desk.looks(times=4)
    [second] = desk.shown()
    assert second["ts"] != first["ts"]


async def test_two_processes_post_one_message(desk: Desk) -> None:
    await desk.opens(1)
    others = [desk.process() for _ in range(4)]
    for _ in range(4):
        await asyncio.gather(*(each.look() for each in others))
        await send_all(desk.outbox, patience=100_000.0)
        desk.clock.advance(EDIT_SECONDS)
    assert len(desk.shown()) == 1


async def test_of_many_cases_the_message_shows_the_first_and_how_many_are_left(desk: Desk) -> None:
    desk.cases = replace(desk.cases, most=1_000)
    for number in range(MAX_LINES + 5):
        await desk.opens(number, says="x" * 400)
    await desk.looks(times=6)  # the cards push the message up, so it is posted anew
    [message] = desk.shown()
    assert str(message["blocks"]).count("FD-") == MAX_LINES
    assert "and 5 more" in str(message["blocks"])
