"""What a customer reads who would rather say it in other words than have a person, in a local Slack."""

import asyncio

from bot.conversation import ThreadRef
from bot.language.sentences import load_sentences
from bot.store.database import Database
from bot.views import cards
from handlers import actions
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import wire
from tests.patience import patience
from tests.turns.answering import CUSTOMER, build_answers
from tests.turns.arrivals import TEAM

PATIENCE = patience(20.0)


async def test_nobody_is_asked_to_rephrase_once_a_person_is_called(database: Database, slack: LocalSlack) -> None:
    cases, sentences = build_answers(database, slack.client, ManualClock()).cases, load_sentences()
    await wire(slack, actions.register, cases=cases)
    root = await slack.client.chat.post("C0SUPPORT", text="Where is my lamp?")
    card = cards.no_answer(sentences, "en", ref="1")
    offer = await slack.client.chat.post("C0SUPPORT", text=card.text, blocks=card.blocks, thread_ts=root)
    workspace = slack.workspace

    async def declines() -> str:
        before = len(workspace.ephemerals)
        await workspace.act.click(CUSTOMER.user, "C0SUPPORT", offer, "esc.decline")
        async with asyncio.timeout(PATIENCE):
            while len(workspace.ephemerals) == before:
                await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        return str(workspace.ephemerals[-1]["text"])

    assert await declines() == sentences.say("en", "rephrase")
    await cases.open(ThreadRef(TEAM, "C0SUPPORT", root), CUSTOMER, reason="asked_for_person", priority="medium")
    assert await declines() == sentences.say("en", "case_waiting", case="FD-1001")
