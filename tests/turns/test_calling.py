"""Whole turns at whose end a person is called without asking, and what follows until somebody is there."""

import asyncio

import pytest
from sqlalchemy import select

from bot.agent.events import TextDelta
from bot.agent.model import Finished
from bot.guard.tool_results import ESCALATE
from bot.language.languages import Language
from bot.language.sentences import load_sentences
from bot.store import schema
from bot.store.database import Database
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import Step, call, says
from tests.turns.arrivals import arrival
from tests.turns.test_stopping import BOOTS, PATIENCE, Desk

UNKNOWN = "What is the boiling point of tungsten?"


async def test_after_the_second_answer_in_a_row_that_was_not_found_a_person_is_called(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("It boils at 5,555 degrees."), says("It boils at 5,930 degrees."))
    root, row = await desk.asked(UNKNOWN)
    async with asyncio.timeout(PATIENCE):
        await desk.turns.take(row)
        async with database.transaction() as tx:
            assert (await tx.execute(select(schema.kase.c.id))).all() == [], "the first time it is offered"
        ts = await slack.client.chat.post("C0SUPPORT", text=UNKNOWN, thread_ts=root)
        await desk.turns.take(
            await desk.receives(arrival(ts, text=f"Again: {UNKNOWN}", thread_ts=root, channel="C0SUPPORT"))
        )
    assert [turn.ended for turn in await desk.kept()] == ["no_answer", "no_answer"]
    assert (await desk.cases.find("FD-1001")).reason == "no_answer"
    read = slack.texts("C0SUPPORT")
    assert read[-1] == load_sentences().say("en", "not_found_again")
    assert not any("5,930" in text for text in read)


@pytest.mark.parametrize(
    ("text", "language", "reason"),
    [
        ("I need a human", "en", "asked_for_person"),
        ("Saya mau bicara dengan manusia, tolong", "id", "asked_for_person"),
        ("Ich möchte bitte mit einem Menschen sprechen", "de", "asked_for_person"),
        ("Por favor, quiero hablar con un agente", "es", "asked_for_person"),
        ("Je voudrais parler à un conseiller", "fr", "asked_for_person"),
        ("The battery of my lamp caught fire", "en", "harm"),
        ("Das ist nicht gut, mein Anwalt meldet sich bei Ihnen", "de", "legal"),
    ],
)
async def test_words_call_a_person_at_once_and_nothing_more_is_asked_of_the_customer_or_a_model(
    database: Database, slack: LocalSlack, text: str, language: Language, reason: str
) -> None:
    desk = Desk(database, slack, says("In which words would you say that again?"))
    root, row = await desk.asked(text)
    async with asyncio.timeout(PATIENCE):
        await desk.turns.take(row)
        for addition in (text, "It is about my boots."):
            ts = await slack.client.chat.post("C0SUPPORT", text=addition, thread_ts=root)
            added = arrival(ts, text=addition, thread_ts=root, channel="C0SUPPORT")
            await desk.turns.take(await desk.receives(added))
        await sent(desk)
    assert slack.marks("C0SUPPORT", ts) == ["eyes"]
    case = await desk.cases.find("FD-1001")
    assert (case.state, case.reason, case.language) == ("waiting", reason, language)
    assert desk.model.requests == []
    (told,) = own_words(slack, root)
    assert "FD-1001" in told
    assert load_sentences().say(language, "rephrase") not in told
    assert len(cards(slack)) == 1


@pytest.mark.parametrize("after", ["", "You will have 500 dollars by tomorrow. Which words would you use?"])
async def test_after_the_call_for_a_person_the_customer_reads_one_sentence_of_ours_and_nothing_of_the_models(
    database: Database, slack: LocalSlack, after: str
) -> None:
    spoken: list[Step] = [TextDelta(after)] if after else []
    calling: list[Step] = [call(ESCALATE, {"reason": "upset"}, id="c1"), *spoken, Finished("calls")]
    desk = Desk(database, slack, calling, says(f"A person is called. {after}"))
    desk.may_end.set()
    root, row = await desk.asked(BOOTS)
    async with asyncio.timeout(PATIENCE):
        await desk.turns.take(row)
        await desk.turns.take(row)
        await sent(desk)
    assert len(desk.model.requests) == 1
    (told,) = own_words(slack, root)
    assert "FD-1001" in told
    assert len(cards(slack)) == 1


async def sent(desk: Desk) -> None:
    """Everything that is queued stands in Slack."""
    running = asyncio.create_task(desk.outbox.run())
    desk.outbox.wake()
    while not await desk.outbox.flush(PATIENCE):
        pass
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def own_words(slack: LocalSlack, root: str) -> list[str]:
    """What the app said in the customer's thread: what the tests post for the customer bears no case."""
    there = sorted(slack.workspace.messages["C0SUPPORT"].items())
    return [each["text"] for _, each in there if each.get("thread_ts") == root and each.get("metadata")]


def cards(slack: LocalSlack) -> list[str]:
    """What stands in the agent channel outside of threads."""
    there = sorted(slack.workspace.messages["C0AGENTS"].items())
    return [each["text"] for ts, each in there if each.get("thread_ts") in (None, ts)]
