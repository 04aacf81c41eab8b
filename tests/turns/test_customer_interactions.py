"""What a customer reads whose press changes nothing, since the case is not or no longer where the button thinks."""

from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import select

from bot.cases.case import REOPEN_SECONDS
from bot.cases.step import UnknownCase
from bot.conversation import Customer, ThreadRef
from bot.language.sentences import load_sentences
from bot.store import cases, inbox, schema, turns
from bot.store.bodies import InteractionBody
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.turns.interactions.customers import CustomerInteractions
from bot.turns.interactions.interactions import Interactions
from bot.turns.interactions.replies import Replies
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.store.rows import a_turn
from tests.turns.answering import CUSTOMER, NOTHING, build_answers
from tests.turns.arrivals import TEAM, arrival

AGENT = "U0AGENTA"
SENTENCES = load_sentences()
BACK = SENTENCES.say("en", "case_back", case="FD-1001")
SOLVED = SENTENCES.say("en", "case_solved", case="FD-1001")
CLAIMED = SENTENCES.say("en", "case_claimed", case="FD-1001", staff="Agent A")


class Everybody:
    """Knows who presses."""

    async def identify(self, user: str, *, with_shop: bool = True) -> Customer:
        """As Identities.identify."""
        return replace(CUSTOMER, user=user)


class Desk:
    """A customer's thread in a real Slack, and what presses lead to."""

    def __init__(self, database: Database, slack: LocalSlack) -> None:
        self.database = database
        self.slack = slack
        self.clock = ManualClock()
        answers = build_answers(database, slack.client, self.clock)
        self.cases = answers.cases
        customers = CustomerInteractions(
            database, answers.sentences, cast(Any, Everybody()), self.cases, Replies(slack.client.chat)
        )
        self.interactions = Interactions(customers, NOTHING, NOTHING, NOTHING)
        self.thread = ThreadRef(TEAM, "C0SUPPORT", "")
        self.pressed = 0

    async def asks(self) -> None:
        ts = await self.slack.client.chat.post(self.thread.channel, text="Where is my lamp?")
        self.thread = replace(self.thread, ts=ts)
        async with self.database.transaction() as tx:
            await inbox.add(tx, arrival(ts, channel=self.thread.channel), now=1.0)

    async def opens(self) -> Case:
        return await self.cases.open(self.thread, CUSTOMER, reason="asked_for_person", priority="medium")

    async def interaction(self, action: str, value: str, *, user: str = CUSTOMER.user) -> InboxItem:
        """The row of a press that has just come, at its first try."""
        self.pressed += 1
        self.clock.advance(1.0)
        stored = arrival(
            f"1999999999.{self.pressed:06}",
            thread_ts=self.thread.ts,
            channel=self.thread.channel,
            kind="interaction",
            author=user,
        )
        body = InteractionBody(action, value, message_ts="1999999998.000001")
        async with self.database.transaction() as tx:
            row = await inbox.add(tx, replace(stored, body=body), now=self.clock.now())
            assert row is not None
            item = await inbox.start(tx, row)
        assert item is not None
        return item

    async def reads(self, action: str, value: str, *, user: str = CUSTOMER.user) -> str:
        """Press, and what only who pressed reads of it; empty when nothing."""
        before = len(self.slack.workspace.ephemerals)
        await self.interactions.carry_out(await self.interaction(action, value, user=user))
        told = self.slack.workspace.ephemerals[before:]
        assert all((each["user"], each["thread_ts"]) == (user, self.thread.ts) for each in told)
        return "\n".join(str(each["text"]) for each in told)


@pytest.fixture
async def desk(database: Database, slack: LocalSlack) -> Desk:
    desk = Desk(database, slack)
    await desk.asks()
    return desk


async def test_who_keeps_the_assistant_after_the_case_ended_reads_how_it_ended(desk: Desk) -> None:
    case = await desk.opens()
    await desk.cases.hand_back(case.ref, AGENT)
    assert (await desk.reads("esc.cancel", case.ref)).startswith(BACK)


async def test_who_keeps_the_assistant_reads_who_is_on_the_case_and_later_that_it_is_solved(desk: Desk) -> None:
    case = await desk.opens()
    await desk.cases.claim(case.ref, AGENT)
    assert (await desk.reads("esc.cancel", case.ref)).startswith(CLAIMED)
    await desk.cases.resolve(case.ref, AGENT)
    assert (await desk.reads("esc.cancel", case.ref)).startswith(SOLVED)


async def test_who_presses_on_an_old_case_reads_of_the_one_that_is_open_now(desk: Desk) -> None:
    case = await desk.opens()
    await desk.cases.hand_back(case.ref, AGENT)
    await desk.opens()
    assert "FD-1002 is already open" in await desk.reads("esc.cancel", case.ref)
    assert "FD-1002 is already open" in await desk.reads("case.reopen", case.ref)


async def test_who_says_twice_that_it_is_not_solved_reads_that_the_case_is_open(desk: Desk) -> None:
    case = await desk.opens()
    await desk.cases.claim(case.ref, AGENT)
    await desk.cases.resolve(case.ref, AGENT)
    assert await desk.reads("case.reopen", case.ref) == ""
    assert "FD-1001 is already open" in await desk.reads("case.reopen", case.ref)


async def test_who_says_after_a_week_that_it_is_not_solved_has_a_new_case_that_follows_the_old(desk: Desk) -> None:
    case = await desk.opens()
    await desk.cases.claim(case.ref, AGENT)
    await desk.cases.resolve(case.ref, AGENT)
    desk.clock.advance(REOPEN_SECONDS + 1.0)
    assert "for the person who asked" in await desk.reads("case.reopen", case.ref, user="U0CUSTOMERB")
    for fence in (1, 2):
        item = replace(await desk.interaction("case.reopen", case.ref), fence=fence)
        await desk.interactions.carry_out(item)
    follower = await desk.cases.find("FD-1002")
    assert (follower.state, follower.follows, follower.reason) == ("waiting", case.id, "not_solved")
    assert (await desk.cases.find(case.ref)).state == "resolved"


async def test_what_is_said_of_a_case_that_waits_is_said_once_and_then_how_it_stands(desk: Desk) -> None:
    case = await desk.opens()
    assert "FD-1001 is already open" in await desk.reads("esc.urgent", case.ref), "it is not away"
    assert await desk.reads("esc.keep", case.ref) == ""
    assert (await desk.cases.find(case.ref)).keeps_helping
    assert "FD-1001 is already open" in await desk.reads("esc.keep", case.ref)
    await desk.cases.claim(case.ref, AGENT)
    assert (await desk.reads("esc.keep", case.ref)).startswith(CLAIMED)


async def test_a_press_that_was_carried_out_before_a_crash_is_told_nothing(desk: Desk) -> None:
    case = await desk.opens()
    item = await desk.interaction("esc.keep", case.ref)
    for fence in (1, 2):
        assert await desk.interactions.carry_out(replace(item, fence=fence)) == "pressed"
    assert desk.slack.workspace.ephemerals == []


@pytest.mark.parametrize("action", ["esc.cancel", "esc.urgent", "esc.wait", "esc.keep", "case.reopen"])
async def test_the_buttons_of_somebody_elses_case_are_for_who_asked(desk: Desk, action: str) -> None:
    case = await desk.opens()
    assert "for the person who asked" in await desk.reads(action, case.ref, user="U0CUSTOMERB")
    assert (await desk.cases.find(case.ref)).state == "waiting"


@pytest.mark.parametrize("action", ["esc.cancel", "esc.urgent", "esc.wait", "esc.keep", "esc.undo", "case.reopen"])
async def test_who_presses_on_somebody_elses_old_case_reads_nothing_of_the_one_that_is_open_now(
    desk: Desk, action: str
) -> None:
    case = await desk.opens()
    await desk.cases.hand_back(case.ref, AGENT)
    await desk.opens()
    assert "for the person who asked" in await desk.reads(action, case.ref, user="U0CUSTOMERB")


@pytest.mark.parametrize("action", ["esc.cancel", "esc.undo", "case.reopen"])
async def test_who_presses_on_their_old_case_reads_of_that_one_where_anothers_is_open_now(
    desk: Desk, action: str
) -> None:
    case = await desk.opens()
    await desk.cases.claim(case.ref, AGENT)
    await desk.cases.resolve(case.ref, AGENT)
    other = replace(CUSTOMER, user="U0CUSTOMERB")
    await desk.cases.open(desk.thread, other, reason="asked_for_person", priority="medium")
    assert (await desk.reads(action, case.ref)).startswith(SOLVED)


async def test_who_presses_on_a_case_that_became_part_of_another_reads_so(desk: Desk) -> None:
    thread, case = desk.thread, await desk.opens()
    await desk.asks()
    into = await desk.opens()
    desk.thread = thread
    await desk.cases.merge(case.ref, AGENT, into=into.ref)
    assert "FD-1001 is now part of another case" in await desk.reads("esc.urgent", case.ref)


@pytest.fixture
async def turn(desk: Desk) -> str:
    """The number of an answer to the customer, as its buttons bear it."""
    async with desk.database.transaction() as tx:
        await turns.save(tx, a_turn(thread=desk.thread, ts=desk.thread.ts), now=1.0)
    return "1"


@pytest.mark.parametrize("action", ["esc.customer", "esc.accept"])
async def test_who_asks_for_a_person_by_a_button_while_a_case_is_open_reads_that_it_is(
    desk: Desk, turn: str, action: str
) -> None:
    assert await desk.reads(action, turn) == "", "the case's own sentence says it"
    waiting = SENTENCES.say("en", "case_waiting", case="FD-1001")
    assert await desk.reads(action, turn) == waiting
    await desk.cases.claim("FD-1001", AGENT)
    assert (await desk.reads(action, turn)).startswith(CLAIMED)
    await desk.cases.hand_back("FD-1001", AGENT)
    assert await desk.reads(action, turn) == ""
    assert (await desk.cases.find("FD-1002")).state == "waiting"


async def test_a_press_that_opened_the_case_before_a_crash_is_not_told_that_it_is_open_already(
    desk: Desk, turn: str
) -> None:
    item = await desk.interaction("esc.customer", turn)
    desk.clock.advance(1.0)
    for fence in (1, 2):
        assert await desk.interactions.carry_out(replace(item, fence=fence)) == "pressed"
    assert desk.slack.workspace.ephemerals == []
    desk.clock.advance(1.0)
    later = await desk.interaction("esc.customer", turn)
    for fence in (1, 2):
        assert await desk.interactions.carry_out(replace(later, fence=fence)) == "already_open"


@pytest.mark.parametrize("action", ["esc.person", "submit.refund", "kb.discard", "kb.discard.dull", "csat.1", ""])
async def test_a_button_that_is_not_in_the_table_does_nothing_and_is_logged_once(
    desk: Desk, turn: str, action: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await desk.interactions.carry_out(await desk.interaction(action, turn)) == "unknown_button"
    assert desk.slack.workspace.ephemerals == []
    with pytest.raises(UnknownCase):
        await desk.cases.find("FD-1001")
    assert [record.message for record in caplog.records] == ["an unknown button was pressed"]


@pytest.mark.parametrize("action", ["esc.customer", "esc.accept"])
async def test_a_person_is_called_by_who_asked_also_if_their_message_became_no_turn(desk: Desk, action: str) -> None:
    async with desk.database.transaction() as tx:
        (row,) = (await tx.execute(select(schema.inbox.c.id))).scalars()
    assert await desk.reads(action, str(row), user="U0CUSTOMERB") == SENTENCES.say("en", "not_yours")
    async with desk.database.transaction() as tx:
        assert await cases.find_open(tx, desk.thread) is None
    await desk.reads(action, str(row))
    async with desk.database.transaction() as tx:
        assert await cases.find_open(tx, desk.thread) is not None
