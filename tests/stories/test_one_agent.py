"""One agent with every tool answers, as the default has it."""

import pytest

from tests.stories.world import Json, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

RETURNS = "How many days do I have to return an item?"
PAYMENT = "Which payment methods do you take?"
LONG = f"I ordered boots. Where is my order ORD-12345? {RETURNS} Please also tell me which payment methods you take."


async def test_a_plain_question_of_a_new_conversation_is_answered_with_the_first_request(world: World) -> None:
    before = len(await world.model_requests())
    asked = await world.customer.says(RETURNS)
    answer = await world.customer.reads(asked)
    assert "30 days" in answer.text
    assert len((await world.model_requests())[before:]) == 1


async def test_one_agent_looks_up_an_order_and_answers_from_the_pages_in_one_conversation(world: World) -> None:
    asked = await world.customer.says("Where is my order ORD-12345?")
    assert "1Z999AA10123456784" in (await world.customer.reads(asked)).text
    follow_up = await world.customer.says(PAYMENT, to=asked)
    assert "PayPal" in (await world.customer.reads(asked, after=follow_up.ts)).text


async def test_a_message_that_asks_for_many_things_is_answered_once_by_the_one_agent(world: World) -> None:
    asked = await world.customer.says(LONG)
    answer = await world.customer.reads(asked)
    assert "1Z999AA10123456784" in answer.text
    assert "PayPal" in answer.text
    assert set(answer.tasks.values()) == {"complete"}
    assert len(answer.tasks) >= 2


async def test_every_request_begins_with_the_same_tools_and_instructions(world: World) -> None:
    """Whoever asks, and whatever."""
    before = len(await world.model_requests())
    for text in (RETURNS, "Where is my order ORD-12345?", "Hello!"):
        await world.customer.reads(await world.customer.says(text))
    await world.other_customer.reads(await world.other_customer.says(PAYMENT))
    beginnings = {beginning_of(request) for request in (await world.model_requests())[before:]}
    assert len(beginnings) == 1


def beginning_of(request: Json) -> str:
    """What a provider's cache compares first."""
    return f"{request['body']['tools']}{request['body']['messages'][0]}"
