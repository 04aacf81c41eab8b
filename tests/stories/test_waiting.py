"""Nobody claims a case, and nobody is there: who is called when, and what the customer reads meanwhile."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.stories.stage import Stage
from tests.stories.world import Post, Seen, World, is_app, seen_in

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
QUESTION = "How many days do I have to return an item?"


@pytest.fixture
async def quick(tmp_path: Path, stage: Stage) -> AsyncIterator[World]:
    """A desk that wants its cases claimed within six seconds."""
    env = {"WAIT_MINUTES": "0.1,0.1,0.1", "ON_CALL": "S0ONCALL", "DESK_LEAD": "U0AGENTB"}
    async with stage.open_world(tmp_path, env=env) as opened:
        yield opened


@pytest.fixture
async def closed(tmp_path: Path, stage: Stage) -> AsyncIterator[World]:
    """A desk that opens the day after tomorrow."""
    day = DAYS[(datetime.now(UTC) + timedelta(days=2)).weekday()]
    env = {"DESK_HOURS": f"{day}@09:00-17:00", "ON_CALL": "S0ONCALL", "URGENT_PAGES": "on"}
    async with stage.open_world(tmp_path, env=env) as opened:
        yield opened


async def calls_person(world: World) -> tuple[Post, Seen, str]:
    """The customer's thread, the case's first words in it, and its number."""
    asked = await world.customer.says("I want to talk to a real person")
    told = await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)
    ref = re.search(r"FD-\d+", told.text)
    assert ref is not None
    return asked, told, ref[0]


async def call(world: World, ref: str, *, after: str = "0") -> Seen:
    """A call to the desk for the case, which is shown in the channel too."""
    return await world.until(
        lambda state: next(
            (
                seen
                for seen in seen_in(state, "C0AGENTS")
                if is_app(seen)
                and seen.raw.get("subtype") == "thread_broadcast"
                and ref in seen.text
                and seen.ts > after
            ),
            None,
        ),
        what="a call",
        channel="C0AGENTS",
    )


async def test_nobody_claims_through_a_restart_then_the_assistant_helps_until_somebody_does(quick: World) -> None:
    world = quick
    asked, told, ref = await calls_person(world)
    await world.bot("restart")
    alert = await call(world, ref)
    assert "S0ONCALL" in alert.text
    assert alert.blocks[0]["type"] == "alert"
    card = Post("C0AGENTS", alert.thread_ts, alert.thread_ts)

    plain = await world.customer.says("It is about my lamp", to=asked)
    offer = await world.customer.reads(asked, having=lambda seen: "esc.keep" in seen.buttons)
    requests = len(await world.model_requests())
    settled = await world.customer.says("cancel that, thanks", to=asked)
    back = await world.customer.reads(asked, after=settled.ts, having=lambda seen: "esc.cancel" in seen.buttons)
    assert ref in back.text
    assert len(await world.model_requests()) == requests, "for neither of them a model is asked"
    assert plain.ts > told.ts

    await world.customer.presses(offer, "esc.keep")
    await world.customer.reads(asked, having=lambda seen: "I'm back." in seen.text)
    question = await world.customer.says(QUESTION, to=asked)
    answer = await world.customer.reads(asked, after=question.ts, having=lambda seen: "30 days" in seen.text)
    assert answer.ts > question.ts
    await world.staff.reads(card, having=lambda seen: "the assistant is answering this" in seen.text)

    slow = {"text": "You have 30 days of delivery to return an item. ", "stall": 14, "when": QUESTION}
    await world.model_says(slow)
    again = await world.customer.says(QUESTION, to=asked)
    await world.under_way(again, having="30 days of delivery")
    await world.staff.presses(await world.card(having=ref), "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent A has joined" in seen.text)
    cut = await world.customer.reads(asked, after=again.ts, having=lambda seen: "I was interrupted here." in seen.text)
    assert "30 days of delivery" in cut.text
    calls = [seen for seen in await world.posts("C0AGENTS") if seen.raw.get("subtype") == "thread_broadcast"]
    assert [seen.ts for seen in calls] == [alert.ts]
    direct = [seen for seen in await world.posts("D0AGENTB") if ref in seen.text]
    assert "It's yours until someone presses" in direct[0].text


async def test_whoever_waits_is_answered_told_how_it_stands_and_may_change_their_mind(
    closed: World,
) -> None:
    world = closed
    asked, _, ref = await calls_person(world)
    question = await world.customer.says(QUESTION, to=asked)
    await world.customer.reads(asked, after=question.ts, having=lambda seen: "30 days" in seen.text)
    waits = await world.customer.says("hello?", to=asked)
    told = await world.customer.reads(asked, after=waits.ts, having=lambda seen: ref in seen.text)
    assert "already open" in told.text

    found = await world.customer.says("never mind, I found it", to=asked)
    ended = await world.customer.reads(asked, after=found.ts, having=lambda seen: "esc.undo" in seen.buttons)
    assert ref in ended.text
    await world.staff.reads(await world.card(having=ref), having=lambda seen: "no longer need a person" in seen.text)
    await world.customer.presses(ended, "esc.undo")
    again = await world.customer.reads(asked, after=ended.ts, having=lambda seen: "FD-" in seen.text)
    assert ref not in again.text, "it is a case of its own"
    await world.customer.presses(ended, "esc.undo")
    status = await world.until(
        lambda state: next((each for each in state["ephemerals"] if "already open" in each["text"]), None),
        what="status",
    )
    assert ref not in status["text"]


async def test_who_comes_while_the_desk_is_closed_reads_when_it_opens_and_may_say_that_it_is_urgent(
    closed: World,
) -> None:
    world = closed
    asked, told, ref = await calls_person(world)
    opening = datetime.now(UTC).date() + timedelta(days=2)
    assert f"({opening} 09:00 UTC)" in told.text
    card = await world.card(having=ref)
    assert "Desk opens" in card.text
    await world.customer.presses(told, "esc.wait")
    await world.customer.reads(asked, having=lambda seen: "esc.keep" in seen.buttons)
    await world.customer.presses(told, "esc.urgent")
    await world.customer.reads(asked, having=lambda seen: "called our colleagues on duty" in seen.text)
    page = await call(world, ref)
    assert "S0ONCALL" in page.text
    await world.staff.presses(page, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent A has joined" in seen.text)
    await world.until(
        lambda state: not any(seen.buttons for seen in seen_in(state, asked.channel)) or None,
        what="the buttons of who waits to go",
        channel=asked.channel,
    )
