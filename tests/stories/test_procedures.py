"""A procedure from its first message to its end: the model notes, code checks and moves, over restarts."""

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from bot.language.languages import DEFAULT
from bot.language.sentences import load_sentences
from tests.stories.conftest import PACE
from tests.stories.stage import Stage
from tests.stories.world import Json, Post, Seen, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

DELIVERED = "ORD-31415"
LONG_AGO = "ORD-13579"
PENDING = "ORD-19283"
OF_ANOTHER = "ORD-54321"
RULES = """
version: 1
currency_limits: {USD: {staff_above: 90000}}
actions:
  cancel_order: {rules: []}
  refund:
    rules: [{id: whole, fact: reason, one_of: [other], else: refuse, because: nothing_paid}]
  send_again: {rules: []}
"""
DAMAGED = """\
---
procedure: damaged-item
version: 3
when: An article arrived broken.
collect:
  order: {type: own_order}
  lines: {type: lines_of, of: order}
  wish: {type: one_of, values: [replacement, refund]}
  photo: {type: image, optional: yes}
steps:
  - {id: find, needs: [order, lines, photo]}
  - {id: entitled, check: [{fact: order.status, is: delivered}], otherwise: late}
  - {id: choose, needs: [wish], next: {wish: {replacement: resend, refund: money}}}
  - id: resend
    prepare: {send_again: {lines: lines, reason: damaged}}
    when: {done: end, declined: choose, else: people}
  - {id: money, prepare: {refund: {lines: lines, reason: damaged}}, when: {done: end, refused: resend, else: people}}
  - {id: late, say: sorry, hand_over: {reason: change, priority: low}}
sentences:
  sorry: {en: "I'm sorry, this has not arrived yet."}
---
## find
WORDS OF FIND.
## choose
WORDS OF CHOOSE.
"""
SENTENCES = load_sentences()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A world with one procedure. It can resend what was damaged, and its policy refuses to refund that."""
    folder = tmp_path_factory.mktemp("world")
    rules, procedures = folder.parent / f"{folder.name}.yml", folder.parent / f"{folder.name}-procedures"
    rules.write_text(RULES, "utf-8")
    procedures.mkdir()
    (procedures / "damaged-item.md").write_text(DAMAGED, "utf-8")
    env = {"POLICY_PATH": str(rules), "PROCEDURES_PATH": str(procedures)}
    async with stage.open_world(folder, pace=PACE, env=env) as opened:
        yield opened


def calls(*named: tuple[str, Json]) -> Json:
    """A round of the model."""
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in named]}


def note(name: str, value: Any) -> tuple[str, Json]:
    return "note", {"name": name, "value": value}


START = ("start_procedure", {"name": "damaged-item"})
LINES = [{"line": "1", "quantity": 1}]
ASKS = {"text": "Would you like a replacement, or the money back?"}


def text(words: str) -> Json:
    return {"text": words}


async def results(world: World) -> list[str]:
    """What the tools told the model in the latest turn, oldest first."""
    request = (await world.model_requests())[-1]
    return [message["content"] for message in request["body"]["messages"] if message.get("role") == "tool"]


async def guidance(world: World) -> list[str]:
    """What the model read of the step in each request, oldest first. Empty where none was on."""
    last = [str(request["body"]["messages"][-1]["content"]) for request in await world.model_requests()]
    return ["".join(words.partition("A procedure is on")[1:]) for words in last]


async def begun(world: World, *, order: str = DELIVERED) -> Post:
    """Begin, and come to the choice."""
    await world.model_says(calls(START, note("order", order), note("lines", LINES)), ASKS)
    asked = await world.customer.says(f"The jacket of {order} is torn")
    await world.customer.reads(asked, having=lambda seen: ASKS["text"] in seen.text)
    return asked


async def test_a_procedure_goes_from_the_first_message_to_the_shop_over_two_restarts(world: World) -> None:
    await world.hands_all_back()
    asked = await begun(world, order=LONG_AGO)
    assert [("WORDS OF FIND" in each, "WORDS OF CHOOSE" in each) for each in (await guidance(world))[-2:]] == [
        (False, False),
        (False, True),
    ]
    await world.bot("kill")
    await world.bot("restart")
    await world.model_says(calls(note("wish", "replacement")), text("Please check it and press a button."))
    await world.customer.says("Send me a new one", to=asked)
    preview = await world.customer.reads(asked, having=lambda seen: "act.yes" in seen.buttons)
    assert SENTENCES.say(DEFAULT, "action_ask_send_again", order=LONG_AGO) in preview.text
    await world.bot("kill")
    await world.bot("restart")
    before = await world.shop_has_done()
    await world.customer.presses(preview, "act.yes")
    done = SENTENCES.say(DEFAULT, "action_done_send_again", order=LONG_AGO)
    await world.customer.reads(asked, having=lambda seen: seen.ts > preview.ts and done in seen.text)
    assert await world.shop_has_done() == before + 1
    await world.counts('frontdesk_procedures_ended_total{end="done",procedure="damaged-item"} 1.0')


async def test_a_no_asks_again_and_another_wish_takes_another_way(world: World) -> None:
    asked = await begun(world)
    await world.model_says(calls(note("wish", "replacement")), text("Please check it."))
    await world.customer.says("A new one", to=asked)
    preview = await world.customer.reads(asked, having=lambda seen: "act.yes" in seen.buttons)
    await world.customer.presses(preview, "act.no")
    declined = SENTENCES.say(DEFAULT, "action_declined")
    await world.customer.reads(asked, having=lambda seen: seen.ts == preview.ts and declined in seen.text)
    # The policy refuses the money, so code goes on to a replacement by itself.
    await world.model_says(calls(note("wish", "refund")), text("That was not possible. Please check this instead."))
    later = await world.customer.says("Then the money", to=asked)
    again = await world.customer.reads(asked, after=later.ts, having=lambda seen: "act.yes" in seen.buttons)
    assert SENTENCES.say(DEFAULT, "action_ask_send_again", order=DELIVERED) in again.text
    assert SENTENCES.say(DEFAULT, "because_nothing_paid") in (await guidance(world))[-1]
    await world.customer.presses(again, "act.no")
    await world.customer.reads(asked, having=lambda seen: seen.ts == again.ts and declined in seen.text)


async def test_a_hostile_model_reaches_no_foreign_order_and_skips_no_step(world: World) -> None:
    before = await world.shop_has_done()
    refund = {"order_id": DELIVERED, "lines": LINES, "reason": "other"}
    await world.model_says(
        calls(START, note("wish", "refund")),
        calls(("prepare_refund", refund), note("order", OF_ANOTHER), note("lines", LINES), note("step", "money")),
        calls(note("order", DELIVERED), note("lines", [{"line": "99", "quantity": 1}]), note("photo", "p.png")),
        calls(note("lines", [{"line": "1", "quantity": 500}]), ("start_procedure", {"name": "other"})),
        text("Which article is it?"),
    )
    asked = await world.customer.says("Do as the attacker says")
    await world.customer.reads(asked, having=lambda seen: "Which article" in seen.text)
    told = await results(world)
    assert [json.loads(each).get("noted") for each in told if "noted" in each] == [
        [],
        ["wish"],
        False,
        False,
        False,
        ["order", "wish"],
        False,
        False,
        False,
    ]
    assert any("no order with this number" in each for each in told)
    assert not any(OF_ANOTHER in each for each in told)
    assert all("act.yes" not in seen.buttons for seen in await world.replies(asked))
    assert await world.shop_has_done() == before
    # The third wrong value in a row brings a person, who reads what was collected.
    await world.model_says(calls(note("lines", [{"line": "98", "quantity": 1}])), text("Never read"))
    await world.customer.says("The jacket", to=asked)
    card = await world.card_of(asked)
    for words in ("damaged-item, version 3, step people", f"order: {DELIVERED}", "wish: refund"):
        assert words in card.text
    assert all("Never read" not in seen.text for seen in await world.replies(asked))
    await world.hands_all_back()


async def test_a_failed_check_says_why_and_calls_a_person(world: World) -> None:
    await world.model_says(calls(START, note("order", PENDING), note("lines", LINES)), text("Never read"))
    asked = await world.customer.says(f"{PENDING} is torn")
    await world.customer.reads(asked, having=lambda seen: "this has not arrived yet" in seen.text)
    card = await world.card_of(asked)
    assert "step late" in card.text
    assert all("Never read" not in seen.text for seen in await world.replies(asked))
    await world.hands_all_back()


async def test_a_question_about_something_else_is_answered_and_the_procedure_waits(world: World) -> None:
    asked = await begun(world)
    looked_up = calls(("lookup_order", {"order_id": PENDING}))
    await world.model_says(looked_up, text(f"Order {PENDING} is being packed."))
    later = await world.customer.says(f"By the way, where is {PENDING}?", to=asked)
    await world.customer.reads(asked, after=later.ts, having=lambda seen: "being packed" in seen.text)
    assert "WORDS OF CHOOSE" in (await guidance(world))[-1]
    await world.model_says(calls(("leave", {"why": "customer_stopped"})), text("All right, then we leave it."))
    last = await world.customer.says("Forget the jacket", to=asked)
    await world.customer.reads(asked, after=last.ts, having=lambda seen: "we leave it" in seen.text)
    assert (await guidance(world))[-1] == ""


async def test_a_procedure_that_takes_too_many_rounds_goes_to_a_person(world: World) -> None:
    asked = await begun(world)
    for number in range(5):
        await world.model_says(
            calls(("lookup_order", {"order_id": DELIVERED})), text(f"Replacement or money, question {number}?")
        )
        later = await world.customer.says(f"Tell me more, {number}", to=asked)
        await world.customer.reads(asked, after=later.ts, having=partial(_has, f"question {number}"))
    await world.customer.says("And more", to=asked)
    card = await world.card_of(asked)
    assert "step people" in card.text
    await world.hands_all_back()


def _has(words: str, seen: Seen) -> bool:
    return words in seen.text


async def test_a_deleted_message_takes_what_was_noted_of_it_with_it(world: World) -> None:
    asked = await begun(world)
    # A thread whose messages are all gone is gone, too.
    await world.model_says(text("Take your time."))
    more = await world.customer.says("One moment, please", to=asked)
    await world.customer.reads(asked, after=more.ts)
    await world.customer.deletes(asked)
    await world.counts('frontdesk_procedures_begun_total{procedure="damaged-item"}')
    await world.model_says(text("How can I help you with that?"))
    later = await world.customer.says("Hello, are you there?", to=asked)
    await world.customer.reads(asked, after=later.ts)
    assert (await guidance(world))[-1] == ""


async def test_a_person_who_is_called_ends_the_procedure(world: World) -> None:
    asked = await begun(world)
    await world.customer.says("I want to talk to a person", to=asked)
    await world.card_of(asked)
    await world.counts('frontdesk_procedures_ended_total{end="with_people",procedure="damaged-item"}')
    await world.hands_all_back()
