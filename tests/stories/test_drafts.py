"""The owner of a case has replies drafted, reads them, and sends one."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.world import PATIENCE, Json, Person, Post, Seen, World, is_app, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "I want to return a lamp after three weeks, may I talk to a real person?"
SHORT = {"role": "draft", "text": "You have 30 days."}
WARM = {"role": "draft", "text": "I see how annoying a lamp is that does not fit. You have 30 days."}
THOROUGH = {"role": "draft", "text": "You asked about returns. You have 30 days from delivery.\n\n- Pack it\n- Send it"}


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_case_stays_open(world: World) -> AsyncIterator[None]:
    yield
    await world.hands_all_back()


async def claimed(world: World, who: Person | None = None, text: str = QUESTION) -> tuple[Post, Seen, str]:
    """The customer's thread, the card that Agent A has claimed, the reference."""
    customer = who or world.customer
    asked = await customer.says(text)
    told = await customer.reads(asked, having=lambda seen: "FD-" in seen.text)
    ref = re.search(r"FD-\d+", told.text)
    assert ref is not None
    await world.staff.presses(await world.card(having=ref[0]), "case.claim")
    card = await world.until(
        lambda state: next((s for s in app_posts(state) if ref[0] in s.text and "case.draft" in s.buttons), None),
        what="the claimed card",
        channel="C0AGENTS",
    )
    await customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    return asked, card, ref[0]


async def drafted(world: World, card: Seen) -> Seen:
    """The message with the drafts, once they are there."""
    return await world.staff.reads(
        Post(card.channel, card.ts, card.ts), having=lambda seen: "draft.send" in seen.buttons
    )


async def sends(world: World, shown: Seen, number: int, *, who: Person | None = None) -> None:
    """Press "Send this" under the draft of that number."""
    value = f"{shown.buttons['draft.send'].rpartition('/')[0]}/{number}"
    person = who or world.staff
    body = {"user": person.user, "channel": shown.channel, "ts": shown.ts, "action_id": "draft.send", "value": value}
    await world.act("click", body)


async def chosen(world: World, shown: Seen) -> Seen:
    """The same message when one of its drafts was sent."""
    return await world.until(
        lambda state: next((s for s in app_posts(state) if s.ts == shown.ts and "*Sent* by" in s.text), None),
        what="the drafts' message to say which was sent",
        channel="C0AGENTS",
    )


def replies(posts: list[Seen], asked: Post) -> list[str]:
    """What staff have said in the customer's thread."""
    return [seen.text for seen in posts if seen.thread_ts == asked.ts and "(support)" in seen.text]


async def test_three_drafts_are_shown_to_the_team_and_the_one_that_is_chosen_reaches_the_customer(world: World) -> None:
    asked, card, _ = await claimed(world)
    await world.model_says(SHORT, WARM, THOROUGH)
    await world.staff.presses(card, "case.draft")
    shown = await drafted(world, card)
    for title in ("Short", "Warm", "Thorough", "read before you send"):
        assert title in shown.text
    assert shown.thread_ts == card.ts
    assert replies(await world.posts(asked.channel), asked) == []

    await sends(world, shown, 2)
    reply = await world.customer.reads(asked, having=lambda seen: "(support)" in seen.text)
    assert reply.text.startswith("*Agent A (support)*\n")
    done = await chosen(world, shown)
    assert "draft.send" not in done.buttons
    assert world.staff.user in done.text
    await world.until(
        lambda state: next((s for s in app_posts(state) if s.ts == shown.ts and "outbox_tray" in str(s.raw)), None),
        what="the tray on the drafts",
        channel="C0AGENTS",
    )
    assert len(replies(await world.posts(asked.channel), asked)) == 1
    await world.counts('ended="drafted"')


async def test_unscripted_drafts_come_from_the_help_pages_in_the_customers_language(world: World) -> None:
    _, card, _ = await claimed(world, text="How many days do I have to return an item? I want to talk to a real person")
    await world.staff.presses(card, "case.draft")
    assert "30 days" in (await drafted(world, card)).text
    _, card, _ = await claimed(world, text="Wo bleibt mein Paket? Ich möchte mit einem Menschen reden")
    await world.staff.presses(card, "case.draft")
    assert " ich " in (await drafted(world, card)).text


async def test_pressed_twice_a_draft_is_sent_once_and_another_of_the_message_is_not(world: World) -> None:
    asked, card, _ = await claimed(world)
    await world.model_says(SHORT, WARM, THOROUGH)
    await world.staff.presses(card, "case.draft")
    shown = await drafted(world, card)
    await world.at_once(sends(world, shown, 1), sends(world, shown, 1), sends(world, shown, 3))
    await world.until(
        lambda state: next((each for each in state["ephemerals"] if "One of these drafts" in str(each)), None),
        what="the note that one was sent",
    )
    await world.staff.says("And good luck with the lamp.", to=Post(card.channel, card.ts, card.ts))
    await world.customer.reads(asked, having=lambda seen: "good luck" in seen.text)
    assert len(replies(await world.posts(asked.channel), asked)) == 2


async def test_only_the_owner_asks_for_drafts_and_sends_them(world: World) -> None:
    asked, card, ref = await claimed(world)
    await world.other_staff.presses(card, "case.draft")
    told = await world.until(
        lambda state: next(
            (each for each in state["ephemerals"] if each["user"] == world.other_staff.user and ref in str(each)), None
        ),
        what="the note to the colleague",
    )
    assert world.staff.user in str(told)
    await world.model_says(SHORT, WARM, THOROUGH)
    await world.staff.presses(card, "case.draft")
    shown = await drafted(world, card)
    before = len(await world.other_staff.ephemerals())
    await sends(world, shown, 1, who=world.other_staff)
    await world.until(
        lambda state: (
            len([each for each in state["ephemerals"] if each["user"] == world.other_staff.user]) > before or None
        ),
        what="the second note to the colleague",
    )
    with pytest.raises(AssertionError):
        await sends(world, shown, 1, who=world.customer)
    assert replies(await world.posts(asked.channel), asked) == []


async def test_after_the_case_is_resolved_no_draft_can_be_sent(world: World) -> None:
    asked, card, _ = await claimed(world)
    await world.model_says(SHORT, WARM, THOROUGH)
    await world.staff.presses(card, "case.draft")
    shown = await drafted(world, card)
    await world.staff.resolves(card)
    await world.customer.reads(asked, having=lambda seen: "case.reopen" in seen.buttons)

    def left(state: Json) -> Seen | None:
        now = next(seen for seen in seen_in(state, shown.channel) if seen.ts == shown.ts)
        return None if "draft.send" in now.buttons else now

    assert "draft.edit" not in (await world.until(left, what="drafts without buttons", channel=shown.channel)).buttons
    assert replies(await world.posts(asked.channel), asked) == []


async def test_what_staff_write_does_not_wait_for_drafts(world: World) -> None:
    asked, card, _ = await claimed(world)
    await world.model_says(*[{**each, "stall": 6} for each in (SHORT, WARM, THOROUGH)])
    await presses_and_waits_for_the_model(world, card)
    await world.staff.says("I am on it.", to=Post(card.channel, card.ts, card.ts))
    reply = await world.customer.reads(asked, having=lambda seen: "I am on it." in seen.text)
    shown = await drafted(world, card)
    assert float(reply.ts) < float(shown.ts)


async def test_a_kill_while_the_model_writes_leaves_one_message_with_drafts(world: World) -> None:
    asked, card, _ = await claimed(world)
    await world.model_says(*[{**each, "stall": 30} for each in (SHORT, WARM, THOROUGH)])
    await presses_and_waits_for_the_model(world, card)
    await world.bot("kill")
    await world.model_says(SHORT, WARM, THOROUGH)
    await world.bot("restart")
    shown = await drafted(world, card)
    await sends(world, shown, 1)
    await world.bot("kill")
    await world.bot("restart")
    await world.customer.reads(asked, having=lambda seen: "(support)" in seen.text)
    await chosen(world, shown)
    await world.staff.says("That is all.", to=Post(card.channel, card.ts, card.ts))
    await world.customer.reads(asked, having=lambda seen: "That is all." in seen.text)
    assert len(replies(await world.posts(asked.channel), asked)) == 2
    with_drafts = [seen for seen in await world.posts("C0AGENTS") if seen.thread_ts == card.ts and "Short" in seen.text]
    assert [seen.ts for seen in with_drafts] == [shown.ts]


async def test_a_model_that_is_down_is_said_to_who_asked(world: World) -> None:
    _, card, ref = await claimed(world)
    await world.model_says(*[{"role": "draft", "error": {"status": 400}}] * 3)
    await world.staff.presses(card, "case.draft")
    told = await world.until(
        lambda state: next((each for each in state["ephemerals"] if f"No drafts for {ref}" in str(each)), None),
        what="the note that there are no drafts",
    )
    assert told["user"] == world.staff.user
    await world.model_says()


async def test_a_draft_that_would_ping_and_lead_away_is_shown_and_sent_harmless(world: World) -> None:
    asked, card, _ = await claimed(world)
    evil = "Hello <!channel> <@U0AGENTB>, see [your refund](https://evil.example/?d=1)"
    await world.model_says(*[{"role": "draft", "text": f"{number}. {evil}"} for number in (1, 2, 3)])
    await world.staff.presses(card, "case.draft")
    shown = await drafted(world, card)
    await sends(world, shown, 3)
    reply = await world.customer.reads(asked, having=lambda seen: "(support)" in seen.text)
    for text in (str(shown.raw), str(reply.raw)):
        for dangerous in ("<!channel>", "<@U0AGENTB>", "https://evil"):
            assert dangerous not in text


async def presses_and_waits_for_the_model(world: World, card: Seen) -> None:
    """Ask for drafts, and wait until the model has been asked for all three."""

    async def asked() -> int:
        return len([each for each in await world.model_requests() if each.get("role") == "draft"])

    before = await asked()
    await world.staff.presses(card, "case.draft")
    async with asyncio.timeout(PATIENCE):
        while await asked() < before + 3:
            await world.next_change()


def app_posts(state: Json) -> list[Seen]:
    return [seen for seen in seen_in(state, "C0AGENTS") if is_app(seen)]
