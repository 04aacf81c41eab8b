"""A person takes over: the card, the relay, the end."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.world import Json, Person, Post, Seen, World, is_app, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_case_stays_open(world: World) -> AsyncIterator[None]:
    yield
    await world.hands_all_back()


async def open_case(world: World, who: Person, text: str = "I want to talk to a real person") -> tuple[Post, Seen, str]:
    """The customer's thread, the card, the reference."""
    asked = await who.says(text)
    told = await who.reads(asked, having=lambda seen: "FD-" in seen.text)
    ref = re.search(r"FD-\d+", told.text)
    assert ref is not None
    return asked, await world.card(having=ref[0]), ref[0]


async def claimed_card(world: World, ref: str) -> Seen:
    """The case's card, once it has been claimed."""
    return await world.until(
        lambda state: next(
            (seen for seen in app_posts(state) if ref in seen.text and "case.resolve" in seen.buttons), None
        ),
        what="the claimed card",
        channel="C0AGENTS",
    )


def in_thread_of(card: Seen) -> Post:
    return Post(card.channel, card.ts, card.ts)


async def has_tray(world: World, post: Post) -> None:
    """Wait until a message of staff, or the line that stands for it, is marked as delivered."""
    await world.until(
        lambda state: next(
            (
                message
                for message in state["messages"]["C0AGENTS"]
                if message["ts"] == post.ts
                and any(mark["name"] == "outbox_tray" for mark in message.get("reactions", ()))
            ),
            None,
        ),
        what="the tray on the reply",
        channel="C0AGENTS",
    )


async def test_a_request_for_a_person_becomes_one_case_without_asking_the_model(world: World) -> None:
    before = len(await world.model_requests())
    asked, card, ref = await open_case(world, world.customer)
    assert world.customer.user in card.text
    assert "asked for a person" in card.text
    opener = await world.staff.reads(in_thread_of(card))
    transcript = await world.staff.reads(in_thread_of(card), after=opener.ts)
    assert "I want to talk to a real person" in transcript.text
    again = await world.customer.says("hello? a person please", to=asked)
    relayed = await world.staff.reads(in_thread_of(card), having=lambda seen: "hello? a person please" in seen.text)
    assert relayed.ts > transcript.ts
    assert again.ts
    cards = [seen for seen in await world.posts("C0AGENTS") if ref in seen.text and seen.ts == seen.thread_ts]
    assert len(cards) == 1
    assert len(await world.model_requests()) == before


async def test_the_button_under_an_answer_opens_a_case(world: World) -> None:
    asked = await world.customer.says("How long does standard shipping take?")
    answer = await world.customer.reads(asked, having=lambda seen: "esc.customer" in seen.buttons)
    await world.customer.presses(answer, "esc.customer")
    told = await world.customer.reads(asked, after=answer.ts)
    assert "FD-" in told.text


async def test_a_case_is_claimed_answered_and_resolved(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer, "Let me speak to a human, my parcel is broken")
    await world.staff.presses(card, "case.claim")
    joined = await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    claimed = await claimed_card(world, ref)
    assert claimed.ts == card.ts

    await world.staff.says("I am so sorry. A new one is on its way.", to=in_thread_of(card))
    reply = await world.customer.reads(asked, after=joined.ts)
    assert "A new one is on its way" in reply.text
    assert "Agent A" in reply.text

    requests = len(await world.model_requests())
    await world.customer.says("Thank you so much", to=asked)
    mirrored = await world.staff.reads(in_thread_of(card), having=lambda seen: "Thank you so much" in seen.text)
    assert "Customer A" in mirrored.text
    assert len(await world.model_requests()) == requests

    await world.staff.resolves(claimed)
    solved = await world.customer.reads(asked, after=reply.ts)
    assert {f"csat.{score}" for score in range(1, 6)} <= solved.buttons.keys()
    await world.customer.presses(solved, "csat.5")

    await world.customer.says("It works now, thanks!", to=asked)
    await world.customer.says("Oh no, it broke again", to=asked)
    again = await world.customer.reads(asked, after=solved.ts)
    assert f"{ref} is open again" in again.text
    await world.staff.reads(in_thread_of(card), having=lambda seen: "Oh no, it broke again" in seen.text)
    await world.customer.presses(again, "esc.cancel")
    await world.customer.reads(asked, after=again.ts)

    question = await world.customer.says("How many days do I have to return an item?", to=asked)
    answer = await world.customer.reads(asked, after=question.ts)
    assert "30 days" in answer.text


async def test_a_low_score_and_what_went_wrong_reach_who_had_the_case(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer)
    await world.staff.presses(card, "case.claim")
    await world.staff.resolves(await claimed_card(world, ref))
    solved = await world.customer.reads(asked, having=lambda seen: "csat.2" in seen.buttons)
    await world.customer.presses(solved, "csat.2")
    low = await world.customer.reads(asked, having=lambda seen: seen.ts == solved.ts and "csat.slow" in seen.buttons)
    assert (str(low.blocks).count("✓"), "✓ 2" in str(low.blocks)) == (1, True)
    await world.staff.reads(in_thread_of(card), having=lambda seen: f"<@{world.staff.user}> the customer" in seen.text)
    await world.customer.presses(low, "csat.words")
    await world.customer.fills_in("submit.csat", words="I had to say it three times.")
    await world.customer.reads(asked, having=lambda seen: seen.ts == solved.ts and "csat.slow" not in seen.buttons)
    told = await world.staff.reads(in_thread_of(card), having=lambda seen: "I had to say it three times." in seen.text)
    assert "*2 of 5*" in told.text
    rated = await world.until(
        lambda state: next((seen for seen in seen_in(state, card.channel) if seen.ts == card.ts), None),
        what="the card",
        channel=card.channel,
    )
    assert "I had to say it three times." in str(rated.blocks)


async def test_a_saved_reply_is_filled_in_edited_and_sent(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer, "Let me speak to a human, ORD-12345 is broken")
    await world.staff.presses(card, "case.claim")
    await world.staff.presses(await claimed_card(world, ref), "case.saved")
    await world.staff.fills_in("choose.saved", reply="I'm looking into it")
    view = await world.until(
        lambda state: next(
            (each for each in state["modals"].get(world.staff.user, ()) if each["callback_id"] == "submit.saved"), None
        ),
        what="the reply in its dialog",
    )
    text = view["blocks"][-1]["element"]["initial_value"]
    assert text.startswith("Hello Customer A,\n\n")
    assert "ORD-12345" in text
    assert text.endswith("Agent A")
    left = {"user": world.staff.user, "view_id": view["id"], "state": {"text": {"text": "And {order}?"}}}
    assert await world.refusal("submit_view", left), "the dialog stays open"
    await world.staff.fills_in("submit.saved", text=f"{text}\nP.S. Keep the parcel.")
    reply = await world.customer.reads(asked, having=lambda seen: "P.S. Keep the parcel." in seen.text)
    assert "Agent A" in reply.text
    line = await world.staff.reads(in_thread_of(card), having=lambda seen: "P.S. Keep the parcel." in seen.text)
    await has_tray(world, line)


async def test_the_delivered_reply_is_marked(world: World) -> None:
    _, card, _ = await open_case(world, world.customer)
    await world.staff.presses(card, "case.claim")
    said = await world.staff.says("Hello, how can I help?", to=in_thread_of(card))
    await has_tray(world, said)


async def test_notes_and_other_peoples_words_stay_inside(world: World) -> None:
    asked, card, _ = await open_case(world, world.customer)
    await world.staff.presses(card, "case.claim")
    joined = await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    await world.staff.says("// looks like a regular complainer", to=in_thread_of(card))
    await world.other_staff.says("I had this one last week", to=in_thread_of(card))
    await world.staff.says("Here I am.", to=in_thread_of(card))
    reply = await world.customer.reads(asked, after=joined.ts)
    assert "Here I am." in reply.text
    everything = "".join(seen.text for seen in await world.posts(asked.channel))
    assert "complainer" not in everything
    assert "last week" not in everything


async def test_of_two_who_claim_one_wins_and_the_other_is_told(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer)
    await world.at_once(world.staff.presses(card, "case.claim"), world.other_staff.presses(card, "case.claim"))
    await world.customer.reads(asked, having=lambda seen: "has joined" in seen.text)
    ephemerals = await world.until(
        lambda state: [each for each in state["ephemerals"] if ref in str(each)] or None, what="the loser's note"
    )
    assert len(ephemerals) == 1
    assert (
        len([seen for seen in await world.posts(asked.channel) if seen.thread_ts == asked.ts and "joined" in seen.text])
        == 1
    )


async def test_a_reply_to_an_unclaimed_case_is_held_until_somebody_claims(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer)
    await world.staff.says("Let me look into this.", to=in_thread_of(card))
    prompt = await world.until(
        lambda state: next((each for each in state["ephemerals"] if f"{ref}/" in str(each)), None), what="the prompt"
    )
    seen = Seen(prompt["channel"], prompt["ts"], prompt.get("thread_ts", ""), "", prompt)
    await world.staff.presses(seen, "relay.claim_send")
    reply = await world.customer.reads(asked, having=lambda seen: "Let me look into this." in seen.text)
    assert "Agent A" in reply.text


async def test_a_held_reply_goes_out_also_when_the_case_was_claimed_on_the_card(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer)
    await world.staff.says("One moment, please.", to=in_thread_of(card))
    prompt = await world.until(
        lambda state: next((each for each in state["ephemerals"] if f"{ref}/" in str(each)), None), what="the prompt"
    )
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "has joined" in seen.text)
    seen = Seen(prompt["channel"], prompt["ts"], prompt.get("thread_ts", ""), "", prompt)
    await world.staff.presses(seen, "relay.claim_send")
    reply = await world.customer.reads(asked, having=lambda seen: "One moment, please." in seen.text)
    assert "Agent A" in reply.text


async def test_a_reply_before_resolve_is_delivered_before_it(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer)
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "has joined" in seen.text)
    claimed = await claimed_card(world, ref)
    await world.staff.says("All settled.", to=in_thread_of(card))
    await world.staff.resolves(claimed)
    solved = await world.customer.reads(asked, having=lambda seen: "case.reopen" in seen.buttons)
    reply = await world.customer.reads(asked, having=lambda seen: "All settled." in seen.text)
    assert reply.ts < solved.ts


async def test_a_customer_who_changes_their_mind_has_the_assistant_back(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer)
    told = await world.customer.reads(asked, having=lambda seen: "esc.cancel" in seen.buttons)
    await world.customer.presses(told, "esc.cancel")
    back = await world.customer.reads(asked, after=told.ts)
    question = await world.customer.says("How long does standard shipping take?", to=asked)
    answer = await world.customer.reads(asked, after=question.ts)
    assert "days" in answer.text
    assert "FD-" not in back.text
    await world.until(
        lambda state: next(
            (
                seen
                for seen in app_posts(state)
                if seen.ts == card.ts and "case.claim" not in seen.buttons and ref in seen.text
            ),
            None,
        ),
        what="the struck card",
        channel="C0AGENTS",
    )


async def test_a_solved_case_that_is_not_solved_waits_again(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer)
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "has joined" in seen.text)
    claimed = await claimed_card(world, ref)
    await world.staff.resolves(claimed)
    solved = await world.customer.reads(asked, having=lambda seen: "case.reopen" in seen.buttons)
    await world.customer.presses(solved, "case.reopen")
    await world.customer.reads(asked, after=solved.ts)
    ring = await world.staff.reads(in_thread_of(card), having=lambda seen: "is open again" in seen.text)
    assert ref in ring.text
    await world.until(
        lambda state: next(
            (seen for seen in app_posts(state) if seen.ts == card.ts and "case.claim" in seen.buttons), None
        ),
        what="the card to wait again",
        channel="C0AGENTS",
    )


async def test_a_customer_who_forges_a_staff_press_gets_nowhere(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer)
    forged = {
        "user": world.customer.user,
        "channel": card.channel,
        "ts": card.ts,
        "action_id": "case.claim",
        "value": ref,
    }
    with pytest.raises(AssertionError):
        await world.act("click", forged)
    await world.staff.presses(card, "case.claim")
    joined = await world.customer.reads(asked, having=lambda seen: "has joined" in seen.text)
    assert "Agent A" in joined.text


def app_posts(state: Json) -> list[Seen]:
    return [seen for seen in seen_in(state, "C0AGENTS") if is_app(seen)]


async def test_the_person_on_a_case_is_asked_to_resolve_it_when_its_customer_says_it_is_solved(world: World) -> None:
    asked = await world.customer.says("I want to talk to a real person")
    card = await world.card_of(asked)
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent A has joined" in seen.text)
    await world.customer.says("never mind, I found it", to=asked)
    says = await world.staff.reads(card, having=lambda seen: "case.resolve" in seen.buttons)
    assert "says it is solved" in says.text
    await world.customer.says("all sorted, thank you!", to=asked)
    await world.staff.reads(card, having=lambda seen: "all sorted" in seen.text)
    await world.staff.resolves(says)
    await world.customer.reads(asked, having=lambda seen: "case.reopen" in seen.buttons)
    await world.until(
        lambda state: not any(seen.buttons for seen in seen_in(state, "C0AGENTS") if seen.thread_ts == card.ts) or None,
        what="no button about a case that is over",
        channel="C0AGENTS",
    )
    asked_for = [seen for seen in await world.replies(card) if "says it is solved" in seen.text]
    assert len(asked_for) == 1, "one button is enough"


async def test_the_queue_shows_the_case_and_claim_next_gives_it(world: World) -> None:
    asked, _, ref = await open_case(world, world.customer, "A person please, my lamp is broken")

    def shown(state: Json, action: str) -> Seen | None:
        return next((seen for seen in seen_in(state, "C0AGENTS") if action in seen.buttons and ref in seen.text), None)

    queue = await world.until(lambda state: shown(state, "queue.next"), what="the queue", channel="C0AGENTS")
    assert "lamp is broken" in queue.text
    await world.staff.presses(queue, "queue.next")
    await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    assert (await claimed_card(world, ref)).ts
    told = await world.until(
        lambda state: next((each for each in state["ephemerals"] if f"{ref} is yours" in each["text"]), None),
        what="which case it is",
    )
    assert told["user"] == world.staff.user
