"""The customer writes in a thread whose case a person has ended."""

import asyncio
from typing import Any, cast

import pytest
from sqlalchemy import select

from bot.cases.case import REOPEN_SECONDS
from bot.conversation import Customer, ThreadRef
from bot.language.sentences import load_sentences
from bot.store import cases as case_rows
from bot.store import inbox, schema, threads
from bot.store.cases import Case
from bot.store.database import Database
from bot.turns.summaries import Summaries
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.sending import send_all
from tests.turns.answering import CUSTOMER, TurnParts, build_answers, build_relay
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_taking_up import Noting

AGENT, DM = "U0AGENTA", "D0CUSTOMERA"


class Anybody:
    """Knows who writes."""

    async def identify(self, user: str, with_shop: bool = True) -> Customer:
        """As Identities.identify."""
        return Customer(TEAM, user, CUSTOMER.name, "en-US", "member")


class Unlimited:
    """Money without end."""

    async def set_aside(self, tx: Any, item: Any) -> bool:
        """As Budgets.set_aside."""
        return False


class Desk:
    """Turns whose answers are only noted, over a real database, a real Slack and the real relay."""

    def __init__(self, database: Database, slack: LocalSlack) -> None:
        self.database, self.slack, self.clock = database, slack, ManualClock()
        self.answered: list[str] = []
        answers = build_answers(database, slack.client, self.clock)
        self.outbox, self.cases = answers.posts.outbox, answers.cases
        metrics, nothing = answers.reports.metrics, cast(Any, None)
        summaries = Summaries(database, self.clock, metrics, nothing, nothing, 24_000, 30, asyncio.Semaphore(1))
        relay = build_relay(database, self.outbox, slack.client, self.clock)
        parts = TurnParts.around(
            answers,
            answers=Noting(self.answered),
            identities=Anybody(),
            budgets=Unlimited(),
            relay=relay,
            summaries=summaries,
        )
        self.turns = parts.build()
        self.thread = ThreadRef(TEAM, DM, "")

    async def resolves(self, *, channel: str = DM) -> Case:
        """A case of the customer's that Agent A has resolved."""
        ts = await self.slack.client.chat.post(channel, text="Where is my lamp?")
        self.thread = ThreadRef(TEAM, channel, ts)
        async with self.database.transaction() as tx:
            await threads.add_thread(tx, self.thread, now=self.clock.now())
        case = await self.cases.open(self.thread, CUSTOMER, reason="asked_for_person", priority="medium")
        await self.cases.claim(case.ref, AGENT)
        return await self.cases.resolve(case.ref, AGENT)

    async def writes(self, text: str, *, user: str = CUSTOMER.user, tries: int = 1) -> str:
        """Somebody writes in the thread, and what is due is done and said; how the row was closed."""
        workspace = self.slack.workspace
        ts = await workspace.act.send(user, self.thread.channel, text, thread_ts=self.thread.ts)
        said = arrival(ts, text=text, thread_ts=self.thread.ts, channel=self.thread.channel, author=user)
        async with self.database.transaction() as tx:
            row = await inbox.add(tx, said, now=self.clock.now())
            assert row is not None
        for again in range(tries):
            if again:
                async with self.database.transaction() as tx:
                    await tx.execute(schema.inbox.update().where(schema.inbox.c.id == row).values(state="new"))
            await self.turns.take(row)
        await self.delivers()
        async with self.database.transaction() as tx:
            reason = (await tx.execute(select(schema.inbox.c.reason).where(schema.inbox.c.id == row))).scalar_one()
        return str(reason)

    async def delivers(self) -> None:
        """Let the outbox send everything."""
        await send_all(self.outbox)

    async def latest(self) -> Case:
        """The thread's latest case."""
        async with self.database.transaction() as tx:
            case = await case_rows.latest_of(tx, self.thread)
        assert case is not None
        return case

    def staff_read(self) -> list[str]:
        """What stands under the cards, oldest first."""
        posts = sorted(self.slack.workspace.messages["C0AGENTS"].items())
        return [str(each["text"]) for _, each in posts if each.get("thread_ts") not in (None, each["ts"])]

    def reactions(self) -> list[str]:
        """What the customer's last message bears."""
        kept = self.slack.workspace.messages[self.thread.channel]
        ts = max(ts for ts, each in kept.items() if each.get("user") == CUSTOMER.user)
        return [mark["name"] for mark in kept[ts].get("reactions", ())]


@pytest.fixture
async def desk(database: Database, slack: LocalSlack) -> Desk:
    return Desk(database, slack)


async def test_who_writes_after_the_end_has_the_same_case_again_and_who_had_it_is_called(desk: Desk) -> None:
    ended = await desk.resolves()
    assert await desk.writes("It broke again", tries=2) == "relayed"
    case = await desk.latest()
    assert (case.ref, case.state, case.owner, case.last_owner, case.outcome) == (ended.ref, "waiting", None, AGENT, "")
    assert desk.answered == []
    *_, ring, said = desk.staff_read()
    assert ring == f"<@{AGENT}> FD-1001 is open again: Customer A wrote again."
    assert "It broke again" in said
    told = desk.slack.texts(DM)
    assert [text for text in told if "open again" in text] == [load_sentences().say("en", "reopened", case="FD-1001")]
    assert "esc.cancel" in str(desk.slack.workspace.messages[DM])
    assert "eyes" in desk.reactions()
    await desk.cases.cancel(case.ref, CUSTOMER.user)
    assert await desk.writes("How long does shipping take?") == "escalated", "as the noted answer ends"
    assert desk.answered == ["How long does shipping take?"]


async def test_thanks_after_the_end_bear_a_heart_and_call_nobody(desk: Desk) -> None:
    ended = await desk.resolves()
    assert await desk.writes("Thanks a lot!", tries=2) == "thanked"
    assert (await desk.latest()).state == "resolved"
    assert (desk.answered, desk.reactions()) == ([], ["heart"])
    async with desk.database.transaction() as tx:
        notes = (await tx.execute(select(schema.audit).where(schema.audit.c.action == "case.affirmed"))).all()
    assert [(note.actor, note.subject) for note in notes] == [(CUSTOMER.user, ended.ref)]


async def test_a_week_later_the_assistant_answers_and_a_new_case_follows_the_old(desk: Desk) -> None:
    ended = await desk.resolves()
    desk.clock.advance(REOPEN_SECONDS + 1.0)
    assert await desk.writes("How do I return an item?") == "escalated", "as the noted answer ends"
    assert desk.answered == ["How do I return an item?"]
    assert await desk.writes("I want to talk to a real person") == "escalated"
    case = await desk.latest()
    assert (case.ref, case.follows) == ("FD-1002", ended.id)
    cards = [
        each
        for each in desk.slack.workspace.messages["C0AGENTS"].values()
        if each.get("thread_ts") in (None, each["ts"])
    ]
    assert "follows FD-1001" in str(cards[-1]["blocks"])


async def test_who_else_writes_in_the_channels_thread_is_answered_by_the_assistant(desk: Desk) -> None:
    await desk.resolves(channel="C0SUPPORT")
    await desk.writes("And how do I return one?", user="U0CUSTOMERB")
    assert desk.answered == ["And how do I return one?"]
    assert (await desk.latest()).state == "resolved"


async def test_spam_is_not_opened_by_more_of_it(desk: Desk) -> None:
    await desk.resolves()
    assert await desk.writes("Buy our lamps") == "relayed"
    await desk.cases.mark_spam("FD-1001", AGENT)
    await desk.writes("Buy our lamps!")
    assert desk.answered == ["Buy our lamps!"]
    assert (await desk.latest()).state == "closed"
