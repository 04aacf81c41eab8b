"""What a customer reads who would rather say it in other words than have a person, in a local Slack."""

import asyncio

from bot.conversation import ThreadRef
from bot.language.sentences import load_sentences
from bot.store import inbox, turns
from bot.store.database import Database
from bot.views import cards
from handlers import actions
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import wire
from tests.patience import patience
from tests.store.rows import a_turn
from tests.turns.answering import CUSTOMER, build_answers
from tests.turns.arrivals import TEAM, arrival

PATIENCE = patience(20.0)


async def test_nobody_is_asked_to_rephrase_once_a_person_is_called(database: Database, slack: LocalSlack) -> None:
    cases, sentences = build_answers(database, slack.client, ManualClock()).cases, load_sentences()
    await wire(slack, actions.register, database=database, cases=cases)
    root = await slack.client.chat.post("C0SUPPORT", text="Where is my lamp?")
    card = cards.no_answer(sentences, "en", ref="1")
    offer = await slack.client.chat.post("C0SUPPORT", text=card.text, blocks=card.blocks, thread_ts=root)
    workspace = slack.workspace

    async def declines(user: str = CUSTOMER.user) -> str:
        before = len(workspace.ephemerals)
        await workspace.act.click(user, "C0SUPPORT", offer, "esc.decline")
        async with asyncio.timeout(PATIENCE):
            while len(workspace.ephemerals) == before:
                await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        return str(workspace.ephemerals[-1]["text"])

    assert await declines() == sentences.say("en", "rephrase")
    await cases.open(ThreadRef(TEAM, "C0SUPPORT", root), CUSTOMER, reason="asked_for_person", priority="medium")
    assert await declines() == sentences.say("en", "case_waiting", case="FD-1001")
    async with database.transaction() as tx:
        await inbox.add(tx, arrival(root, channel="C0SUPPORT"), now=1.0)
        await turns.save(tx, a_turn(thread=ThreadRef(TEAM, "C0SUPPORT", root), ts=root), now=1.0)
    assert await declines("U0CUSTOMERB") == sentences.say("id", "not_yours"), "others learn nothing of the case"
    assert await declines() == sentences.say("en", "case_waiting", case="FD-1001")
