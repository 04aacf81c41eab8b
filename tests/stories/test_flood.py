"""One customer writes 300 messages in 50 seconds: they are told once, and nobody else notices."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from bot.language.sentences import load_sentences
from tests.patience import patience
from tests.stories.stage import Stage
from tests.stories.world import Json, Person, Post, Seen, World, is_app, seen_in

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(patience(600)), pytest.mark.long]

RETURNS = "How many days do I have to return an item?"
PER_MINUTE = 15
FLOOD = 300
PER_SECOND = 6
FIRST_WORD_SECONDS = patience(15.0)
"""What is waited for another customer's answer to begin; behind the flood it would be minutes."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("flood")
    env = {"CUSTOMER_MESSAGES_PER_MINUTE": str(PER_MINUTE)}
    async with stage.open_world(folder / "world", env=env) as opened:
        yield opened


async def first_words(world: World, who: Person) -> float:
    """Seconds from a question to the beginning of its answer, by the times at which Slack had them."""
    asked = await who.says(RETURNS)

    def begun(state: Json) -> Seen | None:
        replies = (seen for seen in seen_in(state, asked.channel) if is_app(seen) and seen.thread_ts == asked.thread_ts)
        return next((seen for seen in replies if seen.text.strip()), None)

    reply = await world.until(begun, what="the first words", channel=asked.channel, patience=120)
    return float(reply.ts) - float(asked.ts)


async def writes_much(who: Person) -> list[Post]:
    """Questions in as many threads, one after the other."""
    began, asked = time.monotonic(), []
    for number in range(FLOOD):
        await asyncio.sleep(began + number / PER_SECOND - time.monotonic())
        asked.append(await who.says(f"{RETURNS} ({number})"))
    return asked


def _all_of(words: str) -> Callable[[Json], Json | None]:
    """The state of a workspace once somebody has said the words."""

    def find(state: Json) -> Json | None:
        return state if any(words in seen.text for at in state["messages"] for seen in seen_in(state, at)) else None

    return find


def over_limit(page: str) -> int:
    """How many messages were not answered, by the metrics of the one process that serves."""
    lines = [line for line in page.splitlines() if line.startswith("frontdesk_messages_over_limit_total{")]
    return int(sum(float(line.rpartition(" ")[2]) for line in lines))


async def test_a_flood_is_told_once_and_nobody_else_waits(world: World, stage: Stage) -> None:
    if stage.in_fleet:
        pytest.skip("the counts of this story are those of one process")
    claimed = await world.customer.says("I want to talk to a person")
    card = await world.card_of(claimed)
    await world.staff.presses(card, "case.claim")
    requests = len(await world.model_requests())

    flood = asyncio.create_task(writes_much(world.customer))
    beside = [await first_words(world, world.other_customer) for _ in range(3)]
    asked = await flood
    relayed = await world.customer.says("My parcel is still lost", to=claimed)
    calls = await world.customer.says("I want to talk to a human being, please")

    # Who writes to a person, or asks for one, reaches one.
    await world.staff.reads(Post("C0AGENTS", card.ts, card.ts), having=lambda seen: "still lost" in seen.text)
    await world.customer.reads(calls, having=lambda seen: "FD-" in seen.text)
    assert relayed.ts

    async def closed() -> int:
        async with asyncio.timeout(patience(120)):
            while (count := over_limit(await world.metrics())) < FLOOD - 2 * PER_MINUTE:
                await world.next_change()
        return count

    count = await closed()
    sentence = load_sentences().say("en", "over_minute")
    seen = seen_in(await world.until(_all_of(sentence), what="the notice", channel=asked[0].channel), asked[0].channel)
    notices = [each for each in seen if is_app(each) and sentence in each.text]
    assert len(notices) <= 1 + FLOOD / PER_SECOND // 60 + 1, "one a minute"
    told = await world.until(_all_of("sent more messages"), what="the line for staff", channel="C0AGENTS")
    assert len([each for each in seen_in(told, "C0AGENTS") if "sent more messages" in each.text]) == 1
    # Each answer takes two requests or so, and those of the other customer are among them.
    assert len(await world.model_requests()) - requests <= 4 * (FLOOD - count + 3)
    assert max(beside) <= FIRST_WORD_SECONDS, beside
