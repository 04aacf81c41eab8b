"""Whole turns at whose end a person is called without asking."""

import asyncio

from sqlalchemy import select

from bot.sentences import load_sentences
from bot.store import schema
from bot.store.database import Database
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import says
from tests.turns.arrivals import arrival
from tests.turns.test_stopping import PATIENCE, Desk

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
        ts = await slack.client.post("C0SUPPORT", text=UNKNOWN, thread_ts=root)
        await desk.turns.take(
            await desk.receives(arrival(ts, text=f"Again: {UNKNOWN}", thread_ts=root, channel="C0SUPPORT"))
        )
    assert [turn.ended for turn in await desk.kept()] == ["no_answer", "no_answer"]
    assert (await desk.cases.find("FD-1001")).reason == "no_answer"
    read = slack.texts("C0SUPPORT")
    assert read[-1] == load_sentences().say("en", "not_found_again")
    assert not any("5,930" in text for text in read)
