"""However a turn ends, Slack no longer shows that the assistant is at work, and no call is made for nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import update

from bot.agent.model import ModelFailure
from bot.conversation import ThreadRef
from bot.slack.client import open_slack_client
from bot.store import inbox, schema
from bot.store.database import Database
from bot.turns.sessions import TITLE_LIMIT, title_of
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import call, calls, says
from tests.store.test_interrupts import deletion, word
from tests.turns.answering import CUSTOMER
from tests.turns.arrivals import TEAM
from tests.turns.test_stopping import BOOTS, PATIENCE, PERSON, REFUND, Desk

CHANNEL = "C0SUPPORT"
ANSWER = says("All about boots is on that page.")
SET_STATUS, SET_LINE = "agents.sessions.setStatus", "assistant.threads.setStatus"


def shown(slack: LocalSlack, ts: str) -> str:
    """The status of the thread's session; empty when there is none."""
    return str(slack.workspace.sessions.get((CHANNEL, ts), {}).get("status", ""))


def told(slack: LocalSlack, method: str = SET_STATUS) -> list[str]:
    """The statuses, or lines, that the app told Slack, in order."""
    return [entry["detail"]["args"]["status"] for entry in slack.workspace.log if entry["name"] == method]


@asynccontextmanager
async def sending(desk: Desk) -> AsyncIterator[None]:
    """The outbox sends meanwhile, and whatever is left at the end."""
    running = asyncio.create_task(desk.outbox.run())
    try:
        yield
        assert await desk.outbox.flush(PATIENCE)
    finally:
        running.cancel()
        await asyncio.wait({running})


async def processing(slack: LocalSlack, ts: str) -> None:
    """Wait until the thread shows that it is worked on."""
    while shown(slack, ts) != "processing":
        await slack.workspace.wait_for_change(slack.workspace.counter, timeout=PATIENCE)


async def test_a_streamed_answer_costs_one_call_and_is_called_after_its_question(
    database: Database, slack: LocalSlack
) -> None:
    speaks = calls(call("refund", {"order": "1"}, id="c1"), text="All about boots: one moment. ")
    desk = Desk(database, slack, speaks, ANSWER)
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await processing(slack, ts)
        while not slack.workspace.streams:
            await slack.workspace.wait_for_change(slack.workspace.counter, timeout=PATIENCE)
        desk.may_end.set()
        await running
    assert told(slack) == ["processing"]
    assert told(slack, SET_LINE) == []
    assert shown(slack, ts) == "active"
    assert "frontdesk_first_words_seconds_count 1.0" in desk.parts.metrics.text().decode()
    assert slack.workspace.sessions[CHANNEL, ts]["title"] == BOOTS


async def test_an_answer_that_is_only_posted_ends_the_session_too(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, REFUND, ANSWER)
    await slack.breaks(method="chat.startStream", do="channel_type_not_supported", count=9)
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await processing(slack, ts)
        desk.may_end.set()
        await running
    assert told(slack) == ["processing", "active"]
    assert shown(slack, ts) == "active"


@pytest.mark.parametrize(
    ("ending", "status"),
    [("answered", "active"), ("failed", "suspended"), ("escalated", "suspended"), ("no_answer", "active")],
)
async def test_a_turn_leaves_the_session_ready_or_waiting_for_a_person(
    ending: str, status: str, database: Database, slack: LocalSlack
) -> None:
    model = {"failed": [ModelFailure("refused_request")], "escalated": PERSON}.get(ending, ANSWER)
    desk = Desk(database, slack, model)
    desk.may_end.set()
    ts, row = await desk.asked("What about lamps?" if ending == "no_answer" else "What about boots?")
    async with asyncio.timeout(PATIENCE), sending(desk):
        await desk.turns.take(row)
    assert [turn.ended for turn in await desk.kept()] == [ending]
    assert shown(slack, ts) == status


async def test_a_stopped_turn_leaves_the_session_ready(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, REFUND, says("never asked for"))
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        await processing(slack, ts)
        await desk.receives(word("1900000000.000100", thread_ts=ts, channel=CHANNEL))
        desk.may_end.set()
        await running
    assert shown(slack, ts) == "active"


async def test_a_deleted_question_leaves_the_session_ready_and_without_its_words(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, REFUND, says("never asked for"))
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE), sending(desk):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        await processing(slack, ts)
        assert slack.workspace.sessions[CHANNEL, ts]["title"] == BOOTS
        await desk.receives(deletion(ts, "1900000000.000100", channel=CHANNEL))
        desk.may_end.set()
        await running
    assert shown(slack, ts) == "active"
    assert slack.workspace.sessions[CHANNEL, ts]["title"] == "Your question"


async def test_what_is_relayed_to_a_person_who_has_claimed_stays_suspended(
    database: Database, slack: LocalSlack
) -> None:
    speaks = calls(call("refund", {"order": "1"}, id="c1"), text="All about boots: one moment. ")
    desk = Desk(database, slack, speaks, says("never asked for"))
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE), sending(desk):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        case = await desk.cases.open(ThreadRef(TEAM, CHANNEL, ts), CUSTOMER, reason="upset", priority="medium")
        await desk.cases.claim(case.ref, "U0AGENTA")
        desk.interrupts.tell(row, "claimed")
        desk.may_end.set()
        await running
    assert shown(slack, ts) == "suspended"


async def test_a_case_suspends_the_session_and_its_end_closes_it_or_gives_it_back(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, ANSWER)
    ts = await slack.client.chat.post(CHANNEL, text="I need a person")
    thread = ThreadRef(TEAM, CHANNEL, ts)
    seen = []
    async with asyncio.timeout(PATIENCE), sending(desk):

        async def look() -> None:
            assert await desk.outbox.flush(PATIENCE)
            seen.append(shown(slack, ts))

        case = await desk.cases.open(thread, CUSTOMER, reason="upset", priority="medium")
        await look()
        await desk.cases.claim(case.ref, "U0AGENTA")
        await desk.cases.resolve(case.ref, "U0AGENTA")
        await look()
        await desk.cases.reopen(case.ref, CUSTOMER.user)
        await look()
        await desk.cases.cancel(case.ref, CUSTOMER.user)
        await look()
    assert seen == ["suspended", "closed", "suspended", "active"]
    assert told(slack) == seen, "one call for each step that changes it"


@pytest.mark.parametrize("ended", [False, True], ids=["in its middle", "before its row was closed"])
async def test_what_a_dead_process_left_processing_is_set_right_when_the_turn_is_taken_up(
    ended: bool, database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, ANSWER)
    ts, row = await desk.asked("What about boots?")
    if ended:
        await desk.turns.take(row)
        async with database.transaction() as tx:
            await tx.execute(update(schema.inbox).where(schema.inbox.c.id == row).values(state="new"))
    else:
        async with database.transaction() as tx:
            await inbox.start(tx, row)
    workspace = slack.workspace
    async with open_slack_client(token=workspace.bot_token, base_url=f"{workspace.url}/api/") as dead:
        await dead.sessions.show_work(CHANNEL, ts, text="…", title="", initiator=CUSTOMER.user)
    assert shown(slack, ts) == "processing"
    await desk.turns.take(row)
    assert shown(slack, ts) == "active"


async def test_a_slack_that_does_not_answer_delays_no_answer_and_hears_of_the_end_later(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, ANSWER)
    await slack.breaks(method="chat.startStream", do="channel_type_not_supported", count=9)
    ts, row = await desk.asked("What about boots?")
    await slack.breaks(method=SET_STATUS, do="lost-500", count=1)
    await slack.breaks(method=SET_STATUS, do="drop", count=1)
    async with asyncio.timeout(PATIENCE), sending(desk):
        await desk.turns.take(row)
    assert shown(slack, ts) == "active"


def test_a_title_is_one_line_of_whole_words() -> None:
    assert title_of("Where is\n\n my  order?") == "Where is my order?"
    long = title_of("word " * 40)
    assert len(long) <= TITLE_LIMIT
    assert long.endswith("word …")
    assert len(title_of("x" * 500)) <= TITLE_LIMIT
