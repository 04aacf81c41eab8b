"""What a score says back, in a local Slack."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import select

from bot.cases.cases import Cases
from bot.conversation import ThreadRef
from bot.language.sentences import load_sentences
from bot.store import schema
from bot.store.cases import Case
from bot.store.database import Database
from bot.views.announcements import to_customer
from bot.views.cards import answer_footer
from handlers import feedback
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import wire
from tests.patience import patience
from tests.turns.answering import CUSTOMER, build_answers
from tests.turns.arrivals import TEAM

AGENT = "U0AGENTA"
PATIENCE = patience(20.0)
SENTENCES = load_sentences()
THANKS = SENTENCES.say("en", "thanks_for_rating")


@dataclass
class Wired:
    """A solved case in Slack, with the scores' listener behind its buttons."""

    slack: LocalSlack
    database: Database
    cases: Cases
    case: Case
    asked: str
    """The ts of the message with the scores."""

    async def scores(self, score: int, *, user: str = CUSTOMER.user) -> str:
        """Press a score; what only who pressed reads then."""
        workspace = self.slack.workspace
        before = len(workspace.ephemerals)
        await workspace.act.click(user, "C0SUPPORT", self.asked, f"csat.{score}")
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
    await wire(slack, feedback.register, database=database, clock=clock, cases=answers.cases)
    root = await client.chat.post("C0SUPPORT", text="Where is my lamp?")
    cases = answers.cases
    case = await cases.open(ThreadRef(TEAM, "C0SUPPORT", root), CUSTOMER, reason="upset", priority="medium")
    await cases.claim(case.ref, AGENT)
    await cases.resolve(case.ref, AGENT)
    card = to_customer(answers.sentences, case, "resolved", staff="Agent A")
    asked = await client.chat.post("C0SUPPORT", text=card.text, blocks=card.blocks, thread_ts=root)
    return Wired(slack, database, cases, case, asked)


async def test_a_score_of_a_solved_case_is_thanked_for(wired: Wired) -> None:
    assert await wired.scores(4) == THANKS
    assert await wired.scores(5) == THANKS
    assert await wired.kept() == ["5"]


async def test_somebody_elses_score_does_not_count_and_tells_nothing_of_the_case(wired: Wired) -> None:
    await wired.cases.reopen(wired.case.ref, CUSTOMER.user)
    assert await wired.scores(1, user="U0CUSTOMERB") == SENTENCES.say("id", "not_yours")
    assert await wired.kept() == []


async def test_a_score_after_a_reopen_is_kept_and_says_that_the_case_is_open(wired: Wired) -> None:
    await wired.cases.reopen(wired.case.ref, CUSTOMER.user)
    told = await wired.scores(1)
    assert told == f"{THANKS} {SENTENCES.say('en', 'case_waiting', case='FD-1001')}"
    assert await wired.kept() == ["1"]


async def test_a_score_of_a_case_that_ended_otherwise_says_what_is_open_now(wired: Wired) -> None:
    await wired.cases.reopen(wired.case.ref, CUSTOMER.user)
    await wired.cases.hand_back(wired.case.ref, AGENT)
    assert "the assistant is back with you" in await wired.scores(2)
    await wired.cases.open(wired.case.thread, CUSTOMER, reason="upset", priority="medium")
    assert "FD-1002 is already open" in await wired.scores(2)


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
