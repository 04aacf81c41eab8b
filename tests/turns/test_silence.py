"""What the assistant had decided to say is not said any more once a person has the conversation."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import select

from bot.conversation import ThreadRef
from bot.errors import Silenced
from bot.guard.tool_results import ESCALATE
from bot.language.sentences import load_sentences
from bot.slack.api.chat import EVENT_TYPE
from bot.store import audit, outbox, schema
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.outbox import Outgoing
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import call, calls, says
from tests.doubles.sending import send_all
from tests.turns.answering import CUSTOMER
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_stopping import BOOTS, PATIENCE, Desk

AGENT, OTHER = "U0AGENTA", "U0AGENTB"
SUPPORT = "C0SUPPORT"
GREETING = load_sentences().say("en", "greeting")
JOINED = "has joined"


class Quiet(Desk):
    """A desk whose outbox sends when a test does, and that hears of no claim by itself."""

    async def greets(self) -> tuple[ThreadRef, int]:
        """A message without words, to which a greeting is queued; its thread and row."""
        ts = await self.slack.client.chat.post(SUPPORT, text="<@U0FRONTDESK>")
        row = await self.receives(arrival(ts, text="", channel=SUPPORT))
        await self.turns.take(row)
        assert await self.said() == [GREETING]
        return ThreadRef(TEAM, SUPPORT, ts), row

    async def calls_a_person(self, thread: ThreadRef) -> Case:
        return await self.cases.open(thread, CUSTOMER, reason="upset", priority="medium")

    async def claimed(self, thread: ThreadRef) -> Case:
        return await self.cases.claim((await self.calls_a_person(thread)).ref, AGENT)

    def read(self, channel: str = SUPPORT) -> list[str]:
        """What the customer reads, in order."""
        return self.slack.texts(channel)

    def says(self, words: str) -> bool:
        return any(words in text for text in self.read())

    async def ended(self, row: int) -> str:
        async with self.database.transaction() as tx:
            reason = await tx.execute(select(schema.inbox.c.reason).where(schema.inbox.c.id == row))
            return str(reason.scalar_one())

    async def dropped(self, ref: str) -> list[str]:
        """The keys of what was dropped, as the audit trail of the case tells."""
        async with self.database.transaction() as tx:
            side_effects = await audit.of_subject(tx, ref)
        return [entry.detail["row"] for entry in side_effects if entry.action == "post.dropped"]


@pytest.fixture
def desk(database: Database, slack: LocalSlack) -> Quiet:
    return Quiet(database, slack, says("never asked for"))


@pytest.mark.parametrize("then", ["nothing", "take_over", "hand_back", "resolve"])
async def test_what_was_queued_before_a_claim_does_not_leave_after_it(desk: Quiet, then: str) -> None:
    thread, row = await desk.greets()
    case = await desk.claimed(thread)
    match then:
        case "take_over":
            await desk.cases.take_over(case.ref, OTHER)
        case "hand_back":
            await desk.cases.hand_back(case.ref, AGENT)
        case "resolve":
            await desk.cases.resolve(case.ref, AGENT)
    await send_all(desk.outbox)
    assert desk.says(JOINED)
    assert not desk.says(GREETING)
    assert await desk.dropped(case.ref) == [f"turn/{row}/greeting"]
    assert await desk.ended(row) == "silent"


async def test_a_merge_into_a_case_that_somebody_has_silences_the_thread_too(desk: Quiet) -> None:
    thread, _ = await desk.greets()
    case = await desk.calls_a_person(thread)
    root = await desk.slack.client.chat.post(SUPPORT, text="Another matter")
    other = await desk.claimed(ThreadRef(TEAM, SUPPORT, root))
    await desk.cases.merge(case.ref, AGENT, into=other.ref)
    await send_all(desk.outbox)
    assert not desk.says(GREETING)


async def test_a_claim_silences_the_threads_of_the_cases_that_were_merged_into_it(desk: Quiet) -> None:
    root = await desk.slack.client.chat.post(SUPPORT, text="Another matter")
    into = await desk.calls_a_person(ThreadRef(TEAM, SUPPORT, root))
    ts, _ = await desk.asked()
    case = await desk.calls_a_person(ThreadRef(TEAM, SUPPORT, ts))
    await desk.cases.merge(case.ref, AGENT, into=into.ref)
    words = Outgoing(
        "turn/9/waits", "post", SUPPORT, {"text": GREETING}, thread_ts=ts, epoch=(f"{TEAM}/{SUPPORT}/{ts}", 1)
    )
    async with desk.database.transaction() as tx:
        await outbox.add(tx, words, now=1.0)
    await desk.cases.claim(into.ref, AGENT)
    await send_all(desk.outbox)
    assert not desk.says(GREETING)


async def test_a_case_that_waits_and_what_is_not_about_who_speaks_silence_nothing(desk: Quiet) -> None:
    thread, row = await desk.greets()
    case = await desk.calls_a_person(thread)
    await desk.cases.prioritize(case.ref, AGENT, "high")
    await send_all(desk.outbox)
    assert desk.says(GREETING)
    assert await desk.ended(row) == "no_words"


async def test_what_is_decided_on_while_a_person_has_the_thread_is_said(desk: Quiet) -> None:
    thread, _ = await desk.greets()
    await desk.claimed(thread)
    masked = arrival("1900000000.000200", thread_ts=thread.ts, channel=SUPPORT, text="My card is [card number]")
    row = await desk.receives(replace(masked, body=replace(masked.message, masked=True)))
    await desk.turns.take(row)
    await send_all(desk.outbox)
    assert desk.says(load_sentences().say("en", "masked"))


@pytest.mark.parametrize("arrived", [True, False])
async def test_what_a_dead_process_may_have_sent_before_the_claim_is_looked_for_and_never_sent_again(
    desk: Quiet, *, arrived: bool
) -> None:
    thread, row = await desk.greets()
    key = f"turn/{row}/greeting"
    async with desk.database.transaction() as tx:
        marked = await outbox.by_key(tx, key)
        assert marked is not None
        assert await outbox.mark_sending(tx, marked.id, attempts=0)
    if arrived:
        mark = {"event_type": EVENT_TYPE, "event_payload": {"o": key}}
        await desk.slack.client.chat.post(SUPPORT, text=GREETING, thread_ts=thread.ts, metadata=mark)
    case = await desk.claimed(thread)
    await send_all(desk.outbox)
    assert desk.read().count(GREETING) == int(arrived)
    assert await desk.dropped(case.ref) == ([] if arrived else [key])


async def test_whoever_waits_for_a_post_that_is_dropped_hears_so(desk: Quiet) -> None:
    thread, _ = await desk.greets()
    await desk.claimed(thread)
    sending = asyncio.create_task(desk.outbox.run())
    with pytest.raises(Silenced):
        async with asyncio.timeout(PATIENCE):
            await desk.outbox.deliver(Outgoing("late", "post", SUPPORT, {"text": "late"}, epoch=(thread.key, 0)))
    sending.cancel()
    await asyncio.wait({sending})
    assert not desk.says("late")


@pytest.mark.parametrize("is_private", [False, True])
async def test_an_answer_shows_nothing_more_from_the_claim_on_though_nobody_told_its_process(
    database: Database, slack: LocalSlack, *, is_private: bool
) -> None:
    speaks = calls(call("refund", {"order": "1"}, id="c1"), text="All about boots: one moment. ")
    desk = Quiet(database, slack, speaks, says("All about boots is on that page."), private=is_private)
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        sending = asyncio.create_task(desk.outbox.run())
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        await desk.claimed(ThreadRef(TEAM, SUPPORT, ts))
        desk.may_end.set()
        await running
        sending.cancel()
        await asyncio.wait({sending})
    everywhere = [text for channel in slack.workspace.messages for text in slack.texts(channel)]
    assert not any("on that page" in text for text in everywhere)
    assert any(text.endswith(f">{BOOTS}") for text in await desk.said())
    assert await desk.ended(row) == "relayed"
    (turn,) = await desk.kept()
    assert "on that page" not in str(turn.messages)


async def test_an_agent_that_has_called_a_person_says_nothing_below_that_persons_first_words(
    database: Database, slack: LocalSlack
) -> None:
    person = calls(call(ESCALATE, {"reason": "upset"}, id="c1"), text="All about boots: one moment. ")
    desk = Quiet(database, slack, person)
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        await desk.claimed(ThreadRef(TEAM, SUPPORT, ts))
        desk.may_end.set()
        await running
    assert [turn.ended for turn in await desk.kept()] == ["escalated"]
    assert await desk.ended(row) == "escalated"
    assert not any("(customer)" in text for text in await desk.said())
