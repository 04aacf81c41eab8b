"""A customer asks, and reads an answer."""

import re

import pytest

from bot.language.sentences import load_sentences
from tests.stories.world import Json, Seen, World, is_app, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")


def has_sources(seen: Seen) -> bool:
    return "https://help.example.com/" in seen.text


async def test_a_question_is_answered_from_the_help_pages_with_its_source(world: World) -> None:
    asked = await world.customer.says("How many days do I have to return an item?")
    answer = await world.customer.reads(asked, having=has_sources)
    assert "30 days" in answer.text
    assert {"esc.customer"} <= answer.buttons.keys()


async def test_an_answer_is_streamed_and_not_only_posted(world: World) -> None:
    asked = await world.customer.says("How long does standard shipping take?")
    answer = await world.customer.reads(asked, having=has_sources)
    calls = [entry["name"] for entry in await world.log("call")]
    assert answer.raw["stream"]["state"] == "completed"
    assert "chat.startStream" in calls
    assert "agents.sessions.setStatus" in calls


async def test_an_order_is_looked_up_and_then_its_parcel_in_the_customers_language(world: World) -> None:
    asked = await world.customer.says("Status pesanan saya nomor ORD-12345 udah sampe mana?")
    answer = await world.customer.reads(asked)
    assert answer.tasks == {"Mengecek ORD-12345": "complete", "Melacak 1Z999AA10123456784": "complete"}
    assert re.search(r"\d\d:\d\d (GMT|BST)", answer.text), "in the time zone of the customer's profile"
    assert "1Z999AA10123456784" in answer.text
    assert re.search(r"\b(pesanan|paket|dikirim|perjalanan)\b", answer.text, re.IGNORECASE)
    used = called_in((await world.model_requests())[-1])
    assert used.index("lookup_order") < used.index("check_shipping")


async def test_several_orders_are_looked_up_together(world: World) -> None:
    asked = await world.customer.says("What is the status of ORD-12345 and ORD-67890?")
    answer = await world.customer.reads(asked)
    assert "ORD-12345" in answer.text
    assert "ORD-67890" in answer.text
    assert answer.tasks.get("Looking up ORD-12345, ORD-67890") == "complete", answer.tasks


async def test_somebody_elses_order_and_none_at_all_get_the_same_words(world: World) -> None:
    foreign = await world.other_customer.says("Where is order ORD-12345?")
    missing = await world.other_customer.says("Where is order ORD-99999?")
    answers = [(await world.other_customer.reads(asked)).text for asked in (foreign, missing)]
    assert answers[0].replace("ORD-12345", "…") == answers[1].replace("ORD-99999", "…")
    assert "1Z999AA10123456784" not in "".join(answers)


async def test_somebody_of_another_workspace_gets_no_order_data(world: World) -> None:
    asked = await world.stranger.says("Where is order ORD-12345?")
    answer = await world.stranger.reads(asked)
    assert "1Z999AA10123456784" not in answer.text


async def test_order_data_asked_for_in_a_channel_goes_to_the_direct_messages(world: World) -> None:
    asked = await world.customer.says("<@U0FRONTDESK> where is my order ORD-12345?", to="C0SUPPORT")
    public = await world.customer.reads(asked, having=lambda seen: "direct message" in seen.text)
    private = await world.until(
        lambda state: next((seen for seen in in_channel(state, world.customer.direct) if "1Z999" in seen.text), None),
        what="the private answer",
        channel=world.customer.direct,
    )
    assert "ORD-12345" in private.text
    assert public.tasks == {}
    in_public = "".join(seen.text for seen in await world.posts("C0SUPPORT"))
    assert "1Z999" not in in_public
    assert "UPS" not in in_public
    assert public.channel == "C0SUPPORT"


async def test_a_mention_is_answered_once_in_its_thread(world: World) -> None:
    asked = await world.customer.says("<@U0FRONTDESK> which payment methods do you take?", to="C0SUPPORT")
    answer = await world.customer.reads(asked, having=has_sources)
    follow_up = await world.customer.says("And can I pay by invoice?", to=asked)
    await world.customer.reads(asked, after=follow_up.ts)
    answers = await world.replies(asked)
    assert len(answers) == 2
    assert answers[0].ts == answer.ts


async def test_people_who_talk_to_each_other_are_left_alone(world: World) -> None:
    chatter = await world.customer.says("Did anybody try the new colour?", to="C0GENERAL")
    await world.other_customer.says("Yes, I love it", to=chatter)
    asked = await world.customer.says("<@U0FRONTDESK> how long is the warranty?", to="C0SUPPORT")
    await world.customer.reads(asked)
    assert await world.posts("C0GENERAL") == []


async def test_thanks_gets_a_word_and_no_footer(world: World) -> None:
    asked = await world.customer.says("Thanks a lot!")
    answer = await world.customer.reads(asked)
    assert answer.buttons == {}


async def test_what_the_pages_answer_only_perhaps_gets_the_nearest_page_in_place_of_a_guess(world: World) -> None:
    await world.model_says({"text": "NOT_SURE"})
    asked = await world.customer.says("Is there a job for me in the workshop?")
    answer = await world.customer.reads(asked)
    assert load_sentences().say("en", "not_sure") in answer.text
    assert "https://help.example.com/other-brands" in answer.text
    assert "NOT_SURE" not in answer.text
    assert {"esc.accept", "esc.decline"} <= answer.buttons.keys()


async def test_what_the_pages_do_not_hold_is_not_made_up(world: World) -> None:
    asked = await world.customer.says("What is the boiling point of tungsten at high altitude?")
    answer = await world.customer.reads(asked)
    assert "couldn't find" in answer.text
    assert {"esc.accept", "esc.decline"} <= answer.buttons.keys()
    await world.customer.presses(answer, "esc.accept")
    case = await world.customer.reads(asked, after=answer.ts)
    assert "FD-" in case.text


async def test_two_quick_messages_in_a_thread_are_answered_in_order(world: World) -> None:
    first = await world.customer.says("How do I pay with a gift card?")
    await world.customer.says("And how long is it valid?", to=first)
    one = await world.customer.reads(first)
    two = await world.customer.reads(first, after=one.ts)
    assert one.ts < two.ts
    assert len(await world.replies(first)) == 2


async def test_a_card_number_is_hidden_and_the_customer_is_told(world: World) -> None:
    asked = await world.customer.says("I paid with 4111 1111 1111 1111, when is the money back?")
    await world.customer.reads(asked, having=lambda seen: "card number" in seen.text)
    await world.customer.reads(asked, having=lambda seen: "card number" not in seen.text)
    assert "1111 1111" not in str((await world.model_requests())[-1])


async def test_a_mention_without_words_is_greeted(world: World) -> None:
    asked = await world.customer.says("<@U0FRONTDESK>", to="C0SUPPORT")
    assert "support assistant" in (await world.customer.reads(asked)).text


async def test_others_in_a_channels_thread_learn_nothing_of_a_private_answer(world: World) -> None:
    asked = await world.customer.says("<@U0FRONTDESK> where is my order ORD-12345?", to="C0SUPPORT")
    await world.customer.reads(asked, having=lambda seen: "direct message" in seen.text)
    curious = await world.other_customer.says("<@U0FRONTDESK> what was the tracking number again?", to=asked)
    await world.other_customer.reads(asked, after=curious.ts)
    assert "1Z999" not in str((await world.model_requests())[-1])


async def test_an_answer_stopped_half_way_leaves_no_order_data_in_the_channels_history(world: World) -> None:
    question = "what does standard shipping take, and where is ORD-12345?"
    call = {"name": "lookup_order", "arguments": {"order_id": "ORD-12345"}}
    first = "Standard shipping takes 3 to 5 working days within the United States."
    await world.model_says(
        {"text": first, "calls": [call], "when": question},
        {"text": "It is on its way.", "stall": 5, "when": question},
    )
    asked = await world.customer.says(f"<@U0FRONTDESK> {question}", to="C0SUPPORT")
    await world.under_way(asked)
    await world.act("stop", {"user": world.customer.user, "channel": "C0SUPPORT", "thread_ts": asked.ts})
    curious = await world.other_customer.says("<@U0FRONTDESK> what does standard shipping cost?", to=asked)
    # What the app says before is that it has stopped.
    await world.other_customer.reads(asked, after=curious.ts, having=has_sources)
    requests = [request for request in await world.model_requests() if "standard shipping cost" in str(request)]
    assert requests
    assert "1Z999" not in str(requests)


async def test_the_person_button_under_an_answer_is_the_askers(world: World) -> None:
    asked = await world.customer.says("<@U0FRONTDESK> which payment methods do you take?", to="C0SUPPORT")
    answer = await world.customer.reads(asked, having=lambda seen: "esc.customer" in seen.buttons)
    await world.other_customer.presses(answer, "esc.customer")
    told = await world.until(
        lambda state: next((each for each in state["ephemerals"] if "orang yang bertanya" in each["text"]), None),
        what="a refusal",
    )
    assert told["user"] == world.other_customer.user


async def test_who_opens_the_conversation_sees_what_can_be_asked(world: World) -> None:
    await world.act("open_dm_tab", {"user": world.other_customer.user})
    prompts = await world.until(lambda state: state["prompts"] or None, what="suggested prompts")
    assert "pesanan" in str(prompts)


async def test_feedback_is_kept(world: World) -> None:
    asked = await world.customer.says("Can I change the delivery address of an order?")
    answer = await world.customer.reads(asked, having=has_sources)
    press = {"user": world.customer.user, "channel": answer.channel, "ts": answer.ts, "action_id": "fb"}
    turn = answer.buttons["esc.customer"]
    assert (await world.act("click", {**press, "value": f"{turn}/up"}))["ok"]


def in_channel(state: Json, channel: str) -> list[Seen]:
    return [seen for seen in seen_in(state, channel) if is_app(seen) and seen.is_done]


def called_in(request: Json) -> list[str]:
    """The tools that an assistant message of the request had called."""
    messages = request["body"]["messages"]
    return [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]


async def test_an_answer_that_stays_too_long_says_that_it_is_not_all(world: World) -> None:
    half = {"finish": "length"}
    await world.model_says(
        {"text": "Open your order, press Return an item, and ", **half}, {"text": "print the la", **half}
    )
    asked = await world.customer.says("How do I return an item?")
    answer = await world.customer.reads(asked)
    assert "press Return an item, and print the la" in answer.text
    assert "too much for one answer" in answer.text
