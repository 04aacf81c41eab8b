"""A conversation goes on for long: what is older is summed up, and the customer is told."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.stage import Stage
from tests.stories.world import PATIENCE, Json, Post, Seen, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTIONS = (
    "How many days do I have to return an item?",
    "Which payment methods do you take?",
    "How long is the warranty of a tent?",
)
LONG = "working from a short summary"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A desk with a short memory."""
    settings = {"CONVERSATION_TURNS": "3", "CONVERSATION_CHARACTERS": "1500"}
    async with stage.open_world(tmp_path_factory.mktemp("long"), env=settings) as opened:
        yield opened


async def test_a_long_conversation_goes_on_with_a_summary_and_the_customer_is_told_once(world: World) -> None:
    asked = await talks_long(world, "(one)")
    await summed_up(world, "(one)")
    before = len(await world.model_requests())
    more = await world.customer.says("How do I reset my password?", to=asked)
    told = await world.customer.reads(asked, after=more.ts, having=lambda seen: LONG in seen.text)
    answer = await world.customer.reads(asked, after=told.ts)
    assert "password" in answer.text.lower()
    sent = [request for request in (await world.model_requests())[before:] if request["role"] != "summary"]
    assert all("<summary>" in str(request["body"]) for request in sent)
    assert not any(question in said_by_customer(request) for request in sent for question in QUESTIONS)
    again = await world.customer.says("Which sizes do backpacks have?", to=asked)
    await world.customer.reads(asked, after=again.ts)
    assert len([seen for seen in await world.replies(asked) if LONG in seen.text]) == 1


async def test_an_order_that_was_spoken_of_is_known_from_the_summary(world: World) -> None:
    asked = await world.customer.says("What is the status of order ORD-12345?")
    newest = await world.customer.reads(asked, having=lambda seen: "ORD-12345" in seen.text)
    for question in (QUESTIONS[0], f"{QUESTIONS[1]} (two)"):
        post = await world.customer.says(question, to=asked)
        newest = await world.customer.reads(asked, after=max(post.ts, newest.ts))
    await summed_up(world, "(two)")
    more = await world.customer.says("And where is it now?", to=asked)
    told = await world.customer.reads(asked, after=more.ts, having=lambda seen: LONG in seen.text)
    assert "ORD-12345" in (await world.customer.reads(asked, after=told.ts)).text


@pytest.mark.long
async def test_no_turn_is_summed_up_twice(world: World) -> None:
    asked = await talks_long(world, "(three)")
    await summed_up(world, "(three)")
    more = await world.customer.says("How do I use a gift card?", to=asked)
    told = await world.customer.reads(asked, after=more.ts, having=lambda seen: LONG in seen.text)
    await world.customer.reads(asked, after=told.ts)
    assert len(await summaries_of(world, "(three)")) == 1


async def test_a_model_that_makes_no_summary_holds_nobody_up(world: World) -> None:
    await world.model_says(*[{"role": "summary", "error": {"status": 400}}] * 6)
    asked = await talks_long(world, "(four)")
    more = await world.customer.says("How do I reset my password?", to=asked)
    told = await world.customer.reads(asked, after=more.ts, having=lambda seen: LONG in seen.text)
    assert "password" in (await world.customer.reads(asked, after=told.ts)).text.lower()
    assert "no summary was made" in world.bot_log()
    await world.model_says()


async def test_who_is_killed_while_a_long_conversation_goes_on_says_so_once(world: World) -> None:
    asked = await talks_long(world, "(five)")
    await summed_up(world, "(five)")
    await world.customer.says("How do I reset my password?", to=asked)
    await world.customer.reads(asked, having=lambda seen: LONG in seen.text)
    await world.bot("kill")
    await world.bot("restart")
    await world.customer.reads(asked, having=lambda seen: "password" in seen.text.lower())
    again = await world.customer.says("Which sizes do backpacks have?", to=asked)
    await world.customer.reads(asked, after=again.ts)
    assert len([seen for seen in await world.replies(asked) if LONG in seen.text]) == 1


async def test_a_summary_is_on_the_bill(world: World) -> None:
    asked = await talks_long(world, "(six)")
    await summed_up(world, "(six)")
    more = await world.customer.says("How do I use a gift card?", to=asked)
    await world.customer.reads(asked, after=more.ts)
    await world.counts('purpose="summary"')


async def talks_long(world: World, mark: str) -> Post:
    """As many questions in a thread as an episode holds, all answered; the mark stands in the last one."""
    asked = await world.customer.says(QUESTIONS[0])
    newest: Seen = await world.customer.reads(asked)
    for question in (QUESTIONS[1], f"{QUESTIONS[2]} {mark}"):
        post = await world.customer.says(question, to=asked)
        newest = await world.customer.reads(asked, after=max(post.ts, newest.ts))
    return asked


async def summed_up(world: World, mark: str) -> None:
    """Wait until a model was asked to sum up the turn with the mark; the thread's next message waits for the rest."""
    async with asyncio.timeout(PATIENCE):
        while not await summaries_of(world, mark):
            await world.next_change()


async def summaries_of(world: World, mark: str) -> list[Json]:
    """The requests to sum up the turn with the mark."""
    return [
        request
        for request in await world.model_requests()
        if request["role"] == "summary" and mark in said_by_customer(request)
    ]


def said_by_customer(request: Json) -> str:
    said = (str(message["content"]) for message in request["body"]["messages"] if message["role"] == "user")
    return re.sub(r"(?s)<note>.*?</note>", "", "\n".join(said))
