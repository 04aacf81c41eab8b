"""What a turn does about topics that the assistant does not speak about."""

from dataclasses import replace

from bot.desk.topics import build_topics
from bot.desk_file.model import DeskFile
from bot.store.database import Database
from tests.doubles.local_slack import LocalSlack
from tests.doubles.routed_model import words_of
from tests.doubles.scripted_model import says
from tests.turns.test_danger_check import Looked
from tests.turns.test_stopping import Desk

DESK_FILE = DeskFile.model_validate(
    {"refuse": [{"topic": "Health", "phrases": ["knee pain"], "say": "We are no doctors."}]}
)
TOPICS = build_topics(DESK_FILE)


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
