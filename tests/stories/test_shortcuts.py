"""Entries of a message's own menu, in a running product."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from bot.language.sentences import load_sentences
from tests.stories.test_cases import in_thread_of
from tests.stories.world import Person, Post, World

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_case_stays_open(world: World) -> AsyncIterator[None]:
    yield
    await world.hands_all_back()


async def calls_over(world: World, who: Person, message: Post) -> None:
    """Choose "Escalate to support" in the message's menu."""
    chosen = {"user": who.user, "channel": message.channel, "ts": message.ts, "callback_id": "case.escalate"}
    await world.act("message_shortcut", chosen)


async def told(world: World, who: Person, having: str) -> None:
    """Wait until the person, and nobody else, reads this."""
    await world.until(
        lambda state: any(each["user"] == who.user and having in each["text"] for each in state["ephemerals"]) or None,
        what=f"an ephemeral message about {having}",
    )


async def test_a_message_that_nobody_addressed_to_us_is_brought_before_people_by_its_author(world: World) -> None:
    written = await world.customer.says("My kettle hums and nobody in this channel knows why", to="C0SUPPORT")
    await calls_over(world, world.customer, written)
    answer = await world.customer.reads(written, having=lambda seen: "FD-" in seen.text)
    assert "esc.cancel" in answer.buttons
    card = await world.card(having="My kettle hums")
    transcript = await world.staff.reads(in_thread_of(card), having=lambda seen: "My kettle hums" in seen.text)
    assert world.customer.user in card.text
    assert transcript.ts > card.ts
    await calls_over(world, world.customer, written)
    await told(world, world.customer, "is already open")


async def test_staff_call_a_person_for_a_customer_and_others_do_not(world: World) -> None:
    written = await world.other_customer.says("The zip of my tent is stuck", to="C0SUPPORT")
    await calls_over(world, world.customer, written)
    await told(world, world.customer, "for the person who asked")
    await calls_over(world, world.staff, written)
    called = load_sentences().say("en", "called_over", name="Agent A")
    await world.other_customer.reads(written, having=lambda seen: called in seen.text)
    card = await world.card(having="zip of my tent")
    assert "a colleague escalated it" in card.text
    assert world.other_customer.user in card.text
    await told(world, world.staff, "is open for")
