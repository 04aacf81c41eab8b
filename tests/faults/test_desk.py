"""People and the assistant at the same time (F48): staff answer while it streams, two claim at once, the customer wants
a person while it streams, and comes back when the case is closed."""

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing

import pytest
import pytest_asyncio

from bot.cases.case import REOPEN_SECONDS
from tests.faults.talk import question
from tests.stories.world import Json, Post, Seen, World, open_world, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A desk that wants its cases claimed within two seconds, so that customers soon want the assistant's help."""
    folder = tmp_path_factory.mktemp("world")
    async with open_world(folder, pace=0, env={"WAIT_MINUTES": "0.03,0.03,0.03"}) as opened:
        yield opened


async def helped_case(world: World, thing: str) -> tuple[Post, Seen]:
    """A message whose answer is on its way for longer than people need, beside a case; and that case's card."""
    root = await world.customer.says("I want to talk to a real person")
    told = await world.customer.reads(root, having=lambda seen: "FD-" in seen.text)
    offer = await world.customer.reads(root, having=lambda seen: "esc.keep" in seen.buttons)
    await world.customer.presses(offer, "esc.keep")
    await world.customer.reads(root, after=offer.ts)
    return await slow_answer(world, thing, root), await world.card(having=reference(told))


async def slow_answer(world: World, thing: str, thread: Post | None = None) -> Post:
    """A message whose answer has begun and takes its time."""
    words = f"You may return the {thing} within 30 days. "
    await world.model_says_too({"when": question(thing), "text": words, "stall": 14})
    asked = await world.customer.says(question(thing), to=thread)
    await world.under_way(asked, having=words.strip())
    return asked


def reference(seen: Seen) -> str:
    found = re.search(r"FD-\d+", seen.text)
    assert found is not None
    return found[0]


async def prompt(world: World, card: Seen) -> Seen:
    """What only Agent A sees: what shall be done with the message under the card."""

    def find(state: Json) -> Seen | None:
        shown = (each for each in state["ephemerals"] if f"{reference(card)}/" in str(each))
        return next((Seen(each["channel"], each["ts"], card.ts, "", each) for each in shown), None)

    return await world.until(find, what="the prompt")


async def is_silent_after(world: World, asked: Post, cut: Seen) -> bool:
    """Whether nothing more is written into what was cut, and nothing more is streamed in the thread."""
    (now,) = [seen for seen in await world.posts(asked.channel) if seen.ts == cut.ts]
    running = [seen for seen in await world.replies(asked) if not seen.is_done]
    return now.text == cut.text and not running


@pytest.mark.parametrize("interaction", ["case.claim", "relay.claim_send"])
async def test_the_assistant_stops_when_staff_come_while_it_streams(world: World, interaction: str) -> None:
    thing = "lamp" if interaction == "case.claim" else "chair"
    asked, card = await helped_case(world, thing)
    said = "I have your order here."
    if interaction == "case.claim":
        await world.staff.presses(card, interaction)
        await world.customer.reads(asked, having=lambda seen: "Agent A has joined" in seen.text)
        await world.staff.says(said, to=card)
    else:
        await world.staff.says(said, to=card)
        await world.staff.presses(await prompt(world, card), interaction)
    reply = await world.customer.reads(asked, having=lambda seen: said in seen.text)
    cut = await world.customer.reads(asked, having=lambda seen: "I was interrupted here." in seen.text)
    assert await is_silent_after(world, asked, cut)
    assert cut.ts < reply.ts
    replies = await world.replies(asked)
    assert len([seen for seen in replies if "within 30 days" in seen.text]) == 1
    assert len([seen for seen in replies if said in seen.text]) == 1


async def test_of_two_who_claim_at_once_while_it_streams_one_has_the_case(world: World) -> None:
    asked, card = await helped_case(world, "table")
    await world.at_once(world.staff.presses(card, "case.claim"), world.other_staff.presses(card, "case.claim"))
    await world.customer.reads(asked, having=lambda seen: "I was interrupted here." in seen.text)

    def lost(state: Json) -> list[Json] | None:
        return [each for each in state["ephemerals"] if reference(card) in str(each) and "claimed" in str(each)] or None

    assert len(await world.until(lost, what="what the second is told")) == 1
    joined = [seen for seen in await world.replies(asked) if "has joined" in seen.text]
    assert len(joined) == 1


@pytest.mark.parametrize("how", ["words", "interaction"])
async def test_a_customer_who_wants_a_person_while_it_streams_does_not_wait_for_its_end(world: World, how: str) -> None:
    first = await world.customer.says("How many days do I have to return an item?")
    answer = await world.customer.reads(first, having=lambda seen: "esc.customer" in seen.buttons)
    asked = await slow_answer(world, f"bench, for {how}", first)
    if how == "words":
        await world.customer.says("Let me talk to a human, please", to=first)
    else:
        await world.customer.presses(answer, "esc.customer")
    cut = await world.customer.reads(asked, having=lambda seen: "I was interrupted here." in seen.text)
    told = await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)
    card = await world.card(having=reference(told))
    assert await is_silent_after(world, asked, cut)
    transcript = await world.staff.reads(card, having=lambda seen: f"bench, for {how}" in seen.text)
    assert f"You may return the bench, for {how} within 30 days." in transcript.text
    if how == "words":
        await world.staff.reads(card, after=transcript.ts, having=lambda seen: "Let me talk to a human" in seen.text)
        assert "Let me talk to a human" not in transcript.text, "staff read each message once"


async def test_a_customer_who_writes_after_the_case_is_closed_is_answered_and_a_new_case_follows_it(
    world: World,
) -> None:
    asked = await world.customer.says("I want to talk to a real person")
    told = await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)
    card = await world.card(having=reference(told))
    await world.staff.presses(card, "case.claim")
    claimed = await world.until(
        lambda state: next(
            (seen for seen in seen_in(state, card.channel) if seen.ts == card.ts and "case.resolve" in seen.buttons),
            None,
        ),
        what="the claimed card",
        channel=card.channel,
    )
    await world.staff.resolves(claimed)
    solved = await world.customer.reads(asked, having=lambda seen: "case.reopen" in seen.buttons)
    await world.bot("stop")
    with closing(sqlite3.connect(world.data / "frontdesk.db")) as database, database:
        database.execute("update case_ set ended_at = ended_at - ?, due = 0", (REOPEN_SECONDS + 60,))
    await world.bot("restart")
    again = await world.customer.says("How long does standard shipping take?", to=asked)
    answer = await world.customer.reads(asked, after=again.ts, having=lambda seen: "days" in seen.text)
    assert "open again" not in answer.text
    await world.customer.presses(solved, "case.reopen")
    new = await world.customer.reads(asked, after=answer.ts, having=lambda seen: "FD-" in seen.text)
    assert reference(new) != reference(told)
    follower = await world.card(having=reference(new))
    assert f"follows {reference(told)}" in follower.text
