"""What a turn does about topics that the assistant does not speak about."""

import asyncio
from dataclasses import replace

from bot.agent.messages import AgentMessage
from bot.conversation import ThreadRef
from bot.desk.topics import build_topics
from bot.desk_file.model import DeskFile
from bot.store.database import Database
from bot.store.transcripts import of_thread
from tests.doubles.local_slack import LocalSlack
from tests.doubles.routed_model import words_of
from tests.doubles.scripted_model import says
from tests.turns.answering import CUSTOMER
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_danger_check import Looked
from tests.turns.test_stopping import Desk

DESK_FILE = DeskFile.model_validate(
    {"refuse": [{"topic": "Health", "phrases": ["knee pain"], "say": "We are no doctors."}]}
)
TOPICS = build_topics(DESK_FILE)
SAID = "We are no doctors."


async def test_the_agents_read_what_is_asked_besides_and_the_whole_message_is_kept(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("All about boots is on that page."))
    turns = replace(desk.parts, topics=TOPICS).build()
    text = "I have knee pain. Are the boots at https://shop.example/a waterproof, and what means `E-4711`?"
    _, row = await desk.asked(text)
    await turns.take(row)
    (request,) = desk.model.requests
    assert text.removeprefix("I have knee pain. ") in words_of(request)
    assert "knee pain" not in words_of(request)
    (kept,) = await desk.kept()
    assert kept.messages[0]["text"] == text


async def test_the_cheap_model_looks_for_danger_beside_a_refusal(database: Database, slack: LocalSlack) -> None:
    looked = Looked(database, slack, says("Nobody asks for this."), says("crisis"))
    turns = replace(looked.parts, topics=TOPICS).build()
    _, row = await looked.desk.asked("Knee pain again, and this time I know how it ends.")
    await turns.take(row)
    assert await looked.cases() == [("crisis", "high")]
    assert any("We are no doctors." in text for text in await looked.desk.said())
    assert looked.desk.model.requests == []


async def test_what_the_customer_read_is_kept_and_not_the_agents_mark(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, says("All about boots is on that page.\n**TOPIC_1**"))
    agents = replace(desk.parts.answers.agents(), refused=DESK_FILE.refuse)
    turns = replace(desk.parts, answers=replace(desk.parts.answers, agents=lambda: agents)).build()
    _, row = await desk.asked("Where is all about boots?")
    await turns.take(row)
    (kept,) = await desk.kept()
    assert kept.messages[-1]["text"] == "All about boots is on that page.\n\nWe are no doctors."


async def again(desk: Desk, ts: str) -> list[str]:
    """What the model reads of the assistant's part of a thread when its customer asks once more there."""
    row = await desk.receives(arrival("1999999999.000100", text="Boots?", channel="C0SUPPORT", thread_ts=ts))
    await replace(desk.parts, topics=TOPICS).build().take(row)
    return [message.text for message in desk.model.requests[-1].messages if isinstance(message, AgentMessage)]


async def transcript(desk: Desk, ts: str) -> list[str]:
    """What staff read of the thread."""
    async with desk.database.transaction() as tx:
        return [line.text for line in await of_thread(tx, ThreadRef(TEAM, "C0SUPPORT", ts), latest=None)]


async def test_the_sentence_above_an_answer_is_part_of_what_staff_and_the_model_read_later(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("All about boots is on that page."), says("All about boots is this."))
    text = "I have knee pain. Are the boots at https://shop.example/a waterproof?"
    ts, row = await desk.asked(text)
    await replace(desk.parts, topics=TOPICS).build().take(row)
    read = f"{SAID}\n\nAll about boots is on that page."
    assert await transcript(desk, ts) == [text, read]
    assert await again(desk, ts) == [read]
    first, _ = await desk.kept()
    assert [message["text"] for message in first.trace] == [text, "All about boots is on that page."]


async def test_a_refusal_without_a_model_is_part_of_what_staff_and_the_model_read_later(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("All about boots is this."))
    ts, row = await desk.asked("I have knee pain.")
    await replace(desk.parts, topics=TOPICS).build().take(row)
    assert await transcript(desk, ts) == ["I have knee pain.", SAID]
    assert await again(desk, ts) == [SAID]


async def test_a_refusal_that_a_claim_kept_from_the_customer_is_not_in_the_transcript(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack)
    ts, row = await desk.asked("I have knee pain.")
    await replace(desk.parts, topics=TOPICS).build().take(row)
    case = await desk.cases.open(
        ThreadRef(TEAM, "C0SUPPORT", ts), CUSTOMER, reason="asked_for_person", priority="medium"
    )
    await desk.cases.claim(case.ref, "U0AGENTA")
    sending = asyncio.create_task(desk.outbox.run())
    assert await desk.outbox.flush(10_000)
    sending.cancel()
    await asyncio.wait({sending})
    assert await transcript(desk, ts) == ["I have knee pain."]
