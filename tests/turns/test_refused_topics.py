"""What a turn does about topics that the assistant does not speak about."""

from dataclasses import replace

from bot.desk.topics import build_topics
from bot.desk_file.model import DeskFile
from bot.store.database import Database
from tests.doubles.local_slack import LocalSlack
from tests.doubles.routed_model import words_of
from tests.doubles.scripted_model import says
from tests.turns.test_stopping import Desk

TOPICS = build_topics(
    DeskFile.model_validate({"refuse": [{"topic": "Health", "phrases": ["knee pain"], "say": "We are no doctors."}]})
)


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
