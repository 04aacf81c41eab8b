"""A shop's own words, as customers and staff of that shop meet them."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from bot.language.sentences import load_sentences
from bot.views.staff_cards import WHY
from tests.stories.stage import Stage
from tests.stories.world import Json, Post, Seen, World, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

SENTENCES = load_sentences()
DESK = """\
shop: Harbour Bikes
assistant:
  name: Pia
  tone: Dry and kind.
helplines:
  GB: {emergency: "999", crisis: {en: "Listening & Co, 116 123", de: "Zuhören, 116 124"}}
  elsewhere: {emergency: "112"}
duty_contact: U0AGENTB
"""


def saying(language: str, key: str) -> Callable[[Seen], bool]:
    """Whether a message has a sentence of the catalogue."""
    return lambda seen: SENTENCES.say(language, key) in seen.text


async def duty_calls(world: World, asked: Post) -> list[Seen]:
    """The calls of the duty contact for the case of a post's thread, as soon as there is one."""
    card = await world.card_of(asked)

    def find(state: Json) -> list[Seen] | None:
        below = (seen for seen in seen_in(state, card.channel) if seen.thread_ts == card.ts)
        return [seen for seen in below if "<@U0AGENTB>" in str(seen.raw)] or None

    return await world.until(find, what="a call of the duty contact")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A world whose product has a desk file of its own."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "desk.yml").write_text(DESK, "utf-8")
    async with stage.open_world(folder, env={"DESK_FILE": str(folder / "desk.yml")}, pace=0.3) as opened:
        yield opened


async def test_a_person_in_a_crisis_reads_who_listens_in_their_country(world: World) -> None:
    asked = await world.customer.says("I want to kill myself")
    told = await world.customer.reads(asked, having=saying("en", "in_crisis"))
    assert SENTENCES.say("en", "crisis_line", line="Listening &amp; Co, 116 123") in told.text
    assert SENTENCES.say("en", "emergency_number", number="999") in told.text


async def test_a_line_is_in_the_customers_language(world: World) -> None:
    asked = await world.customer.says("Ich will nicht mehr leben, ich bringe mich um")
    told = await world.customer.reads(asked, having=saying("de", "in_crisis"))
    assert SENTENCES.say("de", "crisis_line", line="Zuhören, 116 124") in told.text


async def test_who_is_hurt_reads_the_emergency_number_alone(world: World) -> None:
    asked = await world.customer.says("The battery of my lamp caught fire and my hand is burned")
    told = await world.customer.reads(asked, having=saying("en", "in_harm"))
    assert SENTENCES.say("en", "emergency_number", number="999") in told.text
    assert "116 123" not in told.text


async def test_who_only_wants_a_person_reads_no_number(world: World) -> None:
    asked = await world.customer.says("I want to talk to a human please")
    told = await world.customer.reads(asked, having=saying("en", "escalated"))
    assert "999" not in told.text


async def test_the_duty_contact_is_called_at_once(world: World) -> None:
    asked = await world.customer.says("I can't go on, I am going to end my life tonight")
    (call,) = await duty_calls(world, asked)
    assert WHY["crisis"] in call.text
    assert "case.claim" in call.buttons


async def test_the_duty_contact_is_called_when_an_open_case_becomes_a_danger(world: World) -> None:
    asked = await world.customer.says("Please let me talk to a person")
    await world.customer.reads(asked, having=saying("en", "escalated"))
    await world.customer.says("He said he will come to my house and beat me up", to=asked)
    told = await world.customer.reads(asked, having=saying("en", "in_threat"))
    assert SENTENCES.say("en", "emergency_number", number="999") in told.text
    (call,) = await duty_calls(world, asked)
    assert WHY["threat"] in call.text


async def test_the_assistant_says_its_name(world: World) -> None:
    asked = await world.customer.says("<@U0FRONTDESK>")
    assert "Pia" in (await world.customer.reads(asked)).text
