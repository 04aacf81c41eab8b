"""What feedback says back, in a local Slack."""

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sqlalchemy import select

from bot.cases.cases import Cases
from bot.conversation import ThreadRef
from bot.language.sentences import load_sentences
from bot.slack.blocks import labels_in
from bot.store import schema
from bot.store.cases import Case
from bot.store.database import Database
from bot.views.announcements import to_customer
from bot.views.cards import answer_footer
from bot.views.score_cards import CHANGE_SECONDS
from handlers import feedback
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.sending import send_all
from tests.handlers.wiring import wire
from tests.patience import patience
from tests.turns.answering import CUSTOMER, build_answers, build_outbox
from tests.turns.arrivals import TEAM

AGENT = "U0AGENTA"
PATIENCE = patience(20.0)
SENTENCES = load_sentences()
THANKS = SENTENCES.say("en", "thanks_for_rating")
Message = dict[str, Any]


@dataclass
class Wired:
    """A solved case in Slack, with the scores' listener behind its buttons."""

    slack: LocalSlack
    database: Database
    clock: ManualClock
    cases: Cases
    case: Case
    asked: str
    """The ts of the message with the scores."""

    async def presses(self, action: str, *, user: str = CUSTOMER.user) -> Message:
        """Press a button of that message. Returns the message after it."""
        await self.slack.workspace.act.click(user, "C0SUPPORT", self.asked, action)
        await send_all(self.cases.stepping.outbox)
        return self.slack.workspace.messages["C0SUPPORT"][self.asked]

    async def refused(self, action: str, *, user: str = CUSTOMER.user) -> str:
        """Press a button; what only who pressed reads then."""
        workspace = self.slack.workspace
        before = len(workspace.ephemerals)
        await self.presses(action, user=user)
        # Bolt is done with a press when it is acknowledged.
        async with asyncio.timeout(PATIENCE):
            while len(workspace.ephemerals) == before:
                await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        return str(workspace.ephemerals[-1]["text"])

    async def kept(self) -> list[str]:
        async with self.database.transaction() as tx:
            return list((await tx.execute(select(schema.feedback.c.value))).scalars())


@pytest.fixture
async def wired(database: Database, slack: LocalSlack) -> Wired:
    client, clock = slack.client, ManualClock()
    answers = build_answers(database, client, clock)
    cases = replace(
        answers.cases, stepping=replace(answers.cases.stepping, outbox=build_outbox(database, client, clock))
    )
    await wire(slack, feedback.register, database=database, clock=clock, cases=cases)
    root = await client.chat.post("C0SUPPORT", text="Where is my lamp?")
    case = await cases.open(ThreadRef(TEAM, "C0SUPPORT", root), CUSTOMER, reason="upset", priority="medium")
    await cases.claim(case.ref, AGENT)
    await cases.resolve(case.ref, AGENT)
    await send_all(cases.stepping.outbox)
    messages = slack.workspace.messages["C0SUPPORT"]
    (asked,) = (ts for ts, message in messages.items() if "csat.1" in str(message.get("blocks")))
    return Wired(slack, database, clock, cases, case, asked)


async def test_a_score_of_a_solved_case_is_marked_and_thanked_for(wired: Wired) -> None:
    assert THANKS in str((await wired.presses("csat.4"))["blocks"])
    shown = labels_in((await wired.presses("csat.5"))["blocks"])
    assert [label for label in shown if "✓" in label] == ["✓ 5 :star-struck:"]
    assert await wired.kept() == ["5"]
    assert wired.slack.workspace.ephemerals == []


async def test_somebody_elses_score_does_not_count_and_tells_nothing_of_the_case(wired: Wired) -> None:
    await wired.cases.reopen(wired.case.ref, CUSTOMER.user)
    for action in ("csat.1", "csat.words"):
        assert "FD-1001" in await wired.refused("csat.2"), "its own customer is told of the open case"
        assert await wired.refused(action, user="U0CUSTOMERB") == SENTENCES.say("id", "not_yours")
        assert await wired.kept() == ["2"]
    assert not any(wired.slack.workspace.modals.values())


async def test_a_score_of_a_case_that_is_not_there_is_refused_and_not_stored(wired: Wired) -> None:
    gone = replace(wired.case, id=8_999)
    shown = to_customer(SENTENCES, gone, "resolved", staff="Agent A")
    wired.asked = await wired.slack.client.chat.post("C0SUPPORT", text=shown.text, blocks=shown.blocks)
    assert await wired.refused("csat.1") == SENTENCES.say("en", "score_gone")
    assert await wired.kept() == []


async def test_a_score_after_a_reopen_is_kept_and_says_that_the_case_is_open(wired: Wired) -> None:
    await wired.cases.reopen(wired.case.ref, CUSTOMER.user)
    assert await wired.refused("csat.1") == SENTENCES.say("en", "case_waiting", case="FD-1001")
    assert await wired.kept() == ["1"]


async def test_a_score_of_a_case_that_ended_otherwise_says_what_is_open_now(wired: Wired) -> None:
    await wired.cases.reopen(wired.case.ref, CUSTOMER.user)
    await wired.cases.hand_back(wired.case.ref, AGENT)
    assert "the assistant is back with you" in await wired.refused("csat.2")
    await wired.cases.open(wired.case.thread, CUSTOMER, reason="upset", priority="medium")
    assert "FD-1002 is already open" in await wired.refused("csat.2")


async def test_after_an_hour_another_score_is_refused_with_a_sentence(wired: Wired) -> None:
    await wired.presses("csat.2")
    wired.clock.advance(CHANGE_SECONDS + 1)
    assert await wired.refused("csat.5") == SENTENCES.say("en", "score_final", case="FD-1001", score="2")
    assert await wired.kept() == ["2"]


async def test_what_went_wrong_is_said_in_one_press_or_in_words(wired: Wired) -> None:
    workspace = wired.slack.workspace
    await wired.presses("csat.1")
    await wired.presses("csat.words")
    async with asyncio.timeout(PATIENCE):
        while not workspace.modals.get(CUSTOMER.user):
            await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
    (view,) = workspace.modals[CUSTOMER.user]
    blank = await workspace.act.submit_view(CUSTOMER.user, view["id"], {"words": {"words": " \n "}})
    assert blank.payload["errors"] == {"words": SENTENCES.say("en", "score_why")}
    await workspace.act.submit_view(CUSTOMER.user, view["id"], {"words": {"words": "Nobody read my order."}})
    await send_all(wired.cases.stepping.outbox)
    score = (await wired.cases.find(wired.case.ref)).score
    assert score is not None
    assert (score.value, score.reason, score.words) == (1, "", "Nobody read my order.")
    assert "csat.slow" not in str(workspace.messages["C0SUPPORT"][wired.asked])


async def test_whoever_was_not_helped_says_why_in_one_press(wired: Wired) -> None:
    workspace, thread = wired.slack.workspace, wired.case.thread
    footer = answer_footer(SENTENCES, "en", ref="7", sources=(), offer_person=True)
    answer = await wired.slack.client.chat.post(
        thread.channel, text="It is green.", blocks=footer.blocks, thread_ts=thread.ts
    )

    async def presses(ts: str, action: str, value: str) -> dict[str, Any]:
        before = len(workspace.ephemerals), json.dumps(workspace.ephemerals)
        await workspace.act.click(CUSTOMER.user, thread.channel, ts, action, value=value)
        async with asyncio.timeout(PATIENCE):
            while (len(workspace.ephemerals), json.dumps(workspace.ephemerals)) == before:
                await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        return workspace.ephemerals[-1]

    asked = await presses(answer, "fb", "7/down")
    assert asked["text"] == SENTENCES.say("en", "ask_why")
    offered = {button["action_id"] for button in asked["blocks"][1]["elements"]}
    assert offered == {"fb.wrong", "fb.off_topic", "fb.too_long", "esc.customer"}
    thanked = await presses(asked["ts"], "fb.off_topic", "7/off_topic")
    assert thanked["text"] == SENTENCES.say("en", "thanks_for_reason")
    assert await wired.kept() == ["off_topic"]
