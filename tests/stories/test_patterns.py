"""Several agents at work on one message."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.conftest import PACE
from tests.stories.stage import Stage
from tests.stories.world import Json, Post, Seen, World, is_app, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

RETURNS = "How many days do I have to return an item?"
PAYMENT = "Which payment methods do you take?"
TUNGSTEN = "What is the boiling point of tungsten at high altitude?"
LONG = f"I ordered boots. Where is my order ORD-12345? {RETURNS} Please also tell me which payment methods you take."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A world whose desk is a team of four."""
    async with stage.open_world(tmp_path_factory.mktemp("team"), env={"AGENTS": "team"}, pace=PACE) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def checking(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A world whose team has answers checked, and does not take messages apart."""
    settings = {"AGENTS": "team", "CHECK_ANSWERS": "on", "COMPOUND_ANSWERS": "single"}
    async with stage.open_world(tmp_path_factory.mktemp("checking"), env=settings) as opened:
        yield opened


async def test_triage_hands_a_new_conversation_to_the_agent_that_keeps_it(world: World) -> None:
    asked = await world.customer.says("Status pesanan saya nomor ORD-12345 udah sampe mana?")
    answer = await world.customer.reads(asked)
    assert "1Z999AA10123456784" in answer.text
    before = await world.model_requests()
    assert [role_of(request) for request in before[-4:]] == ["triage", "shipping", "shipping", "shipping"]
    follow_up = await world.customer.says("Dan pesanan ORD-67890 sampai mana?", to=asked)
    await world.customer.reads(asked, after=follow_up.ts)
    after = (await world.model_requests())[len(before) :]
    assert {role_of(request) for request in after} == {"shipping"}


async def test_what_triage_says_beside_a_handover_is_not_read(world: World) -> None:
    call = {"name": "hand_over_to_answers", "arguments": {"reason": "returns"}}
    await world.model_says({"role": "triage", "text": "Let me find the right colleague.", "calls": [call]})
    asked = await world.customer.says(RETURNS)
    answer = await world.customer.reads(asked)
    assert "30 days" in answer.text
    assert "colleague" not in answer.text


async def test_what_triage_makes_up_is_never_read(world: World) -> None:
    await world.model_says({"role": "triage", "text": "You have 90 days, no questions asked."})
    asked = await world.customer.says(RETURNS)
    answer = await world.customer.reads(asked)
    assert "30 days" in answer.text
    assert "90 days" not in answer.text


async def test_two_questions_of_one_message_are_answered_at_the_same_time_with_their_sources(world: World) -> None:
    before = len(await world.model_requests())
    asked = await world.customer.says(f"{RETURNS} {PAYMENT}")
    answer = await world.customer.reads(asked)
    assert answer.text.index("30 days of delivery") < answer.text.index("PayPal")
    assert "https://help.example.com/returns" in answer.text
    assert "https://help.example.com/payment" in answer.text
    requests = (await world.model_requests())[before:]
    assert [role_of(request) for request in requests] == ["triage", "triage", "answers", "answers"]


async def test_an_order_and_a_rule_are_each_for_their_own_specialist(world: World) -> None:
    before = len(await world.model_requests())
    asked = await world.customer.says("Where is my order ORD-12345? How do I return an item?")
    answer = await world.customer.reads(asked)
    assert answer.text.index("1Z999AA10123456784") < answer.text.index("Return an item")
    assert answer.tasks == {"Looking up ORD-12345": "complete", "Tracking 1Z999AA10123456784": "complete"}
    assert {role_of(request) for request in (await world.model_requests())[before:]} == {
        "triage",
        "shipping",
        "answers",
    }


async def test_the_question_that_is_not_found_is_named_beside_the_answer(world: World) -> None:
    asked = await world.customer.says(f"{TUNGSTEN} {RETURNS}")
    answer = await world.customer.reads(asked)
    assert answer.text.index("“What is the boiling point") < answer.text.index("30 days of delivery")
    assert "esc.accept" not in answer.buttons


async def test_when_no_question_is_found_a_person_is_offered_for_the_whole(world: World) -> None:
    asked = await world.customer.says(f"{TUNGSTEN} And what is the melting point of osmium in space?")
    answer = await world.customer.reads(asked)
    assert "tungsten" not in answer.text
    assert {"esc.accept", "esc.decline"} <= answer.buttons.keys()


async def test_a_question_that_calls_a_person_leaves_the_other_its_answer(world: World) -> None:
    call = {"name": "escalate_to_human", "arguments": {"reason": "upset", "priority": "high", "summary": "Wants money"}}
    await world.model_says({"calls": [call], "when": PAYMENT})
    asked = await world.customer.says(f"{RETURNS} {PAYMENT}")
    answer = await world.customer.reads(asked, having=lambda seen: "FD-" not in seen.text)
    assert "30 days of delivery" in answer.text
    assert "https://help.example.com/returns" in answer.text
    assert "esc.customer" not in answer.buttons
    await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)


async def test_a_question_that_fails_leaves_the_other_its_answer_and_calls_a_person(world: World) -> None:
    await world.model_says(*[{"error": {"status": 400}, "when": PAYMENT}] * 3)
    asked = await world.customer.says(f"{PAYMENT} {RETURNS}")
    answer = await world.customer.reads(asked, having=lambda seen: "FD-" not in seen.text)
    assert answer.text.index("I can't answer “Which payment methods do you take?”") < answer.text.index("30 days of")
    case = await world.customer.reads(asked, after=answer.ts)
    assert "FD-" in case.text
    assert "technical problem" not in case.text
    await world.model_says()


async def test_in_a_channel_the_private_part_of_a_message_is_answered_privately(world: World) -> None:
    asked = await world.customer.says(f"<@U0FRONTDESK> Where is my order ORD-12345? {RETURNS}", to="C0SUPPORT")
    public = await world.customer.reads(asked, having=lambda seen: "direct message" in seen.text)
    private = await world.until(
        lambda state: next((seen for seen in seen_in(state, world.customer.direct) if is_private_answer(seen)), None),
        what="the private answer",
        channel=world.customer.direct,
    )
    assert "30 days of delivery" in public.text
    assert "1Z999" not in "".join(seen.text for seen in await world.posts("C0SUPPORT"))
    assert "30 days of delivery" in private.text


async def test_a_long_request_is_led_by_one_agent_that_asks_the_others(world: World) -> None:
    before = len(await world.model_requests())
    asked = await world.customer.says(LONG)
    answer = await world.customer.reads(asked)
    assert "1Z999AA10123456784" in answer.text
    assert "PayPal" in answer.text
    assert answer.tasks == {"Looking up ORD-12345": "complete", "Tracking 1Z999AA10123456784": "complete"}
    roles = [role_of(request) for request in (await world.model_requests())[before:]]
    assert (roles[0], roles[-1]) == ("lead", "lead")
    assert "triage" not in roles


async def test_a_product_killed_after_a_case_was_opened_still_gives_the_other_answer_privately(world: World) -> None:
    call = {"name": "escalate_to_human", "arguments": {"reason": "upset", "priority": "high", "summary": "Wants money"}}
    await world.model_says(
        {"calls": [call], "when": PAYMENT}, {"text": "Your order ", "stall": 30, "when": "Where is my order"}
    )
    asked = await world.customer.says(f"<@U0FRONTDESK> Where is my order ORD-12345? {PAYMENT}", to="C0SUPPORT")
    case = await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)
    await world.bot("kill")
    await world.model_says()
    await world.bot("restart")
    await world.customer.reads(asked, having=lambda seen: "direct message" in seen.text)
    await world.until(
        lambda state: next(
            (seen for seen in seen_in(state, world.customer.direct) if "1Z999" in seen.text and seen.ts > case.ts), None
        ),
        what="the private answer",
        channel=world.customer.direct,
    )
    shown = [seen for seen in await world.posts("C0AGENTS") if "Where is my order ORD-12345? Which" in seen.text]
    assert len([seen for seen in shown if seen.ts != seen.thread_ts]) == 1, "one transcript"


async def test_what_a_customer_exclaims_is_not_answered(world: World) -> None:
    before = len(await world.model_requests())
    await world.customer.reads(await world.customer.says("Are you kidding me? Where is my order ORD-12345?"))
    roles = [role_of(request) for request in (await world.model_requests())[before:]]
    assert roles.count("triage") == 1


async def test_a_product_killed_between_two_answers_says_each_once_and_asks_nothing_again(world: World) -> None:
    before = len(await world.model_requests())
    await world.model_says({"text": "We take cards. ", "stall": 30, "when": PAYMENT})
    asked = await world.customer.says(f"{RETURNS} {PAYMENT}")
    await world.until(lambda state: shown(state, asked, "We take cards"), what="an answer", channel=asked.channel)
    await world.bot("kill")
    await world.model_says()
    await world.bot("restart")
    answer = await world.customer.reads(asked, having=lambda seen: "PayPal" in seen.text)
    await world.customer.reads(await world.customer.says("Thanks!"))
    assert [seen.ts for seen in await world.replies(asked)] == [answer.ts]
    assert answer.raw["text"].count("30 days of delivery") == 1
    requests = (await world.model_requests())[before:]
    said = [[each["content"] for each in one["body"]["messages"] if each["role"] == "user"] for one in requests]
    about_returns = [one for one, words in zip(requests, said, strict=True) if words[-1].endswith(RETURNS)]
    assert [role_of(request) for request in about_returns] == ["triage", "answers"]


async def test_a_product_killed_while_the_lead_writes_asks_no_colleague_again(world: World) -> None:
    before = len(await world.model_requests())
    asks = [
        {"name": "ask_shipping", "arguments": {"question": "Where is my order ORD-12345?"}},
        {"name": "ask_answers", "arguments": {"question": PAYMENT}},
    ]
    await world.model_says(
        {"role": "lead", "calls": asks}, {"role": "lead", "text": "Your order is on its way. ", "stall": 30}
    )
    asked = await world.customer.says(LONG)
    await world.until(lambda state: shown(state, asked, "on its way"), what="an answer", channel=asked.channel)
    asked_by_then = [role_of(request) for request in (await world.model_requests())[before:]]
    await world.bot("kill")
    await world.model_says({"role": "lead", "text": "Your order is on its way, and we take PayPal."})
    await world.bot("restart")
    await world.customer.reads(asked, having=lambda seen: "PayPal" in seen.text)
    roles = [role_of(request) for request in (await world.model_requests())[before:]]
    assert roles == [*asked_by_then, "lead"]
    assert {"shipping", "answers"} <= set(asked_by_then)


async def test_a_checked_answer_appears_at_once_without_what_its_sources_do_not_hold(checking: World) -> None:
    invented = "You have 30 days to return an item, and we send you a bottle of wine."
    await checking.model_says(
        {"text": invented, "when": RETURNS}, {"role": "check", "text": "You have 30 days to return an item."}
    )
    asked = await checking.customer.says(RETURNS)
    answer = await checking.customer.reads(asked)
    assert "You have 30 days to return an item." in answer.text
    assert "wine" not in answer.text
    assert invented in str((await checking.model_requests())[-1]["body"])


async def test_a_draft_that_stands_goes_out_as_it_is_and_so_does_one_nobody_can_check(checking: World) -> None:
    await checking.model_says({"text": "You have 30 days to return an item.", "when": RETURNS})
    asked = await checking.customer.says(RETURNS)
    assert "You have 30 days" in (await checking.customer.reads(asked)).text
    await checking.model_says(
        {"text": "You have 30 days to return an item.", "when": RETURNS}, {"role": "check", "error": {"status": 400}}
    )
    asked = await checking.customer.says(RETURNS)
    assert "You have 30 days" in (await checking.customer.reads(asked)).text
    await checking.model_says()


async def test_the_setting_keeps_one_agent_for_the_whole_message(checking: World) -> None:
    before = len(await checking.model_requests())
    asked = await checking.customer.says(f"{RETURNS} {PAYMENT}")
    await checking.customer.reads(asked)
    roles = [role_of(request) for request in (await checking.model_requests())[before:]]
    assert roles.count("triage") == 1
    assert "lead" not in roles


def shown(state: Json, asked: Post, words: str) -> Seen | None:
    """The app's message in the thread that has these words so far."""
    in_thread = (seen for seen in seen_in(state, asked.channel) if seen.thread_ts == asked.ts and is_app(seen))
    return next((seen for seen in in_thread if words in seen.text), None)


def is_private_answer(seen: Seen) -> bool:
    return "1Z999" in seen.text and "30 days of delivery" in seen.text


def role_of(request: Json) -> str:
    """Whom a request was made for, told by its tools."""
    tools = {tool["function"]["name"] for tool in request["body"].get("tools") or ()}
    for tool, role in (
        ("ask_answers", "lead"),
        ("check_shipping", "shipping"),
        ("lookup_order", "orders"),
        ("search_knowledge", "answers"),
        ("hand_over_to_answers", "triage"),
    ):
        if tool in tools:
            return role
    return "check"
