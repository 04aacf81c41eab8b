"""A change of an order, from the wish to what the shop did: previewed by code, confirmed by a press, done once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from bot.language.languages import DEFAULT
from bot.language.sentences import load_sentences
from tests.stories.conftest import PACE
from tests.stories.stage import Stage
from tests.stories.test_erasure import home_of
from tests.stories.world import Json, Post, Seen, World, product_environment, run_product, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

ORDER = "ORD-67890"
DELIVERED = "ORD-31415"
PARTLY = "ORD-24680"
PACKED = "ORD-19283"
RULES = """
version: 1
currency_limits:
  USD: {staff_above: 9000, second_person_above: 15000, never_above: 200000}
actions:
  cancel_order:
    rules:
      - {id: not_packed, fact: order.status, one_of: [pending, processing], else: refuse, because: shipped_already}
  return_items:
    rules:
      - {id: arrived, fact: order.status, one_of: [delivered, return_requested], else: refuse, because: not_arrived}
  refund:
    customer_yes: not_needed
    rules:
      - {id: paid, fact: order.payment, one_of: [paid, partly_refunded], else: refuse, because: nothing_paid}
"""
SENTENCES = load_sentences()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A world with rules of its own. The stories of this file change different orders."""
    folder = tmp_path_factory.mktemp("world")
    rules = folder.parent / f"{folder.name}.yml"
    rules.write_text(RULES, "utf-8")
    async with stage.open_world(folder, pace=PACE, env={"POLICY_PATH": str(rules)}) as opened:
        yield opened


def said(key: str, **values: str) -> str:
    """The sentence, without what is filled in at its end."""
    return SENTENCES.say(DEFAULT, key, **values)


def prepares(kind: str, **arguments: Any) -> Json:
    """A round in which the model prepares a change."""
    return {"calls": [{"name": f"prepare_{kind}", "arguments": arguments}]}


CANCEL = prepares("cancel_order", order_id=ORDER, reason="changed_mind")
DETAILS = {"text": "Please check the details below and press a button."}


async def offered(world: World, *rounds: Json, asks: str = f"Please cancel {ORDER}") -> tuple[Post, Seen]:
    """Ask for a change. Returns the question and the preview."""
    await world.model_says(*(rounds or (CANCEL, DETAILS)))
    asked = await world.customer.says(asks)
    preview = await world.customer.reads(asked, having=lambda seen: "act.yes" in seen.buttons)
    return asked, preview


async def becomes(world: World, asked: Post, preview: Seen, words: str) -> Seen:
    """Wait until the preview itself says so."""
    return await world.customer.reads(asked, having=lambda seen: seen.ts == preview.ts and words in seen.text)


async def ends(world: World, asked: Post, preview: Seen, words: str) -> Seen:
    """Wait for the message that tells the end."""
    return await world.customer.reads(asked, having=lambda seen: seen.ts > preview.ts and words in seen.text)


async def test_no_leaves_everything_as_it_is(world: World) -> None:
    asked, preview = await offered(world)
    await world.customer.presses(preview, "act.no")
    await becomes(world, asked, preview, said("action_declined"))
    assert (await world.shop_order(ORDER))["status"] == "processing"


async def test_no_in_words_does_the_same(world: World) -> None:
    asked, preview = await offered(world)
    await world.customer.says("no", to=asked)
    await becomes(world, asked, preview, said("action_declined"))


async def test_a_message_that_is_deleted_takes_its_question_with_it(world: World) -> None:
    asked, preview = await offered(world)
    await world.customer.deletes(asked)

    def is_withdrawn(state: Json) -> bool | None:
        shown = [seen for seen in seen_in(state, preview.channel) if seen.ts == preview.ts]
        return all("act.yes" not in seen.buttons for seen in shown) or None

    await world.until(is_withdrawn, what="the preview without buttons", channel=preview.channel)


async def test_an_offer_ends_when_the_shop_says_that_the_order_changed_elsewhere(world: World) -> None:
    asked, preview = await offered(world)
    await world.shop_changes(ORDER, status="shipped", is_told=True)
    now = await becomes(world, asked, preview, said("action_withdrawn_changed"))
    assert "act.yes" not in now.buttons
    await world.shop_changes(ORDER, status="processing")


async def test_a_person_who_is_called_takes_the_matter_over(world: World) -> None:
    asked, preview = await offered(world)
    await world.customer.says("I want to talk to a person", to=asked)
    await becomes(world, asked, preview, said("action_withdrawn_with_people"))
    assert (await world.shop_order(ORDER))["status"] == "processing"


async def test_what_a_rule_refuses_is_not_offered_and_the_model_gets_the_rules_sentence(world: World) -> None:
    await world.model_says(prepares("cancel_order", order_id="ORD-12345", reason="mistake"), {"text": "It has left."})
    asked = await world.customer.says("Please cancel ORD-12345")
    answer = await world.customer.reads(asked)
    told = [message for request in await world.model_requests() for message in request["body"]["messages"]]
    results = [message["content"] for message in told if message.get("role") == "tool"]
    assert said("because_shipped_already") in results[-1]
    assert all("act.yes" not in seen.buttons for seen in await world.replies(asked))
    assert answer.text


async def test_an_order_is_cancelled_by_one_press_of_fifty_and_by_no_word(world: World) -> None:
    asked, preview = await offered(world)
    assert said("action_ask_cancel_order", order=ORDER) in preview.text
    typed = await world.customer.says("yes", to=asked)
    await world.customer.reads(asked, after=typed.ts, having=lambda seen: said("action_press_button") in seen.text)
    await becomes(world, asked, preview, said("action_withdrawn_newer"))
    preview = await world.customer.reads(asked, after=typed.ts, having=lambda seen: "act.yes" in seen.buttons)
    typed = await world.customer.says("yes please", to=asked)
    await world.customer.reads(asked, after=typed.ts, having=lambda seen: said("action_press_button") in seen.text)
    assert [seen.ts for seen in await world.replies(asked) if "act.yes" in seen.buttons] == [preview.ts]
    assert (await world.shop_order(ORDER))["status"] == "processing"
    asked_model = len(await world.model_requests())
    before = await world.shop_has_done()
    await world.at_once(*(world.customer.presses(preview, "act.yes") for _ in range(50)), channel=preview.channel)
    done = said("action_done_cancel_order", order=ORDER)
    await ends(world, asked, preview, done)
    told = [seen for seen in await world.replies(asked) if seen.ts > preview.ts and done in seen.text]
    assert len(told) == 1, told
    assert (await world.shop_order(ORDER))["status"] == "cancelled"
    assert await world.shop_has_done() == before + 1
    assert len(await world.model_requests()) == asked_model
    await world.model_says({"text": f"Yes, I have cancelled order {ORDER}."})
    later = await world.customer.says("Is it cancelled now?", to=asked)
    answer = await world.customer.reads(asked, after=later.ts)
    assert f"I have cancelled order {ORDER}" in answer.text


def one_more(state: Json) -> bool | None:
    """Whether the agent channel says that another person is needed."""
    return any("One more person" in seen.text for seen in seen_in(state, "C0AGENTS")) or None


async def test_two_people_approve_what_is_above_the_limit(world: World) -> None:
    refund = prepares("refund", order_id=DELIVERED, lines=[], reason="damaged")
    asked, preview = await offered(world, refund, DETAILS, asks=f"I want my money back for {DELIVERED}")
    before = await world.shop_has_done()
    await world.customer.presses(preview, "act.yes")
    card = await world.card(having=f"Refund {DELIVERED}")
    await world.staff.presses(card, "appr.yes")
    await world.staff.presses(card, "appr.yes")
    await world.until(one_more, what="that one more has to approve it", channel=card.channel)
    assert await world.shop_has_done() == before
    await asyncio.gather(*(world.other_staff.presses(card, "appr.yes") for _ in range(10)))
    await ends(world, asked, preview, said("action_done_refund", order=DELIVERED))
    assert await world.shop_has_done() == before + 1


async def asks_for_money(world: World, order: str) -> tuple[Post, Seen, Seen]:
    """A refund above the limit that its customer says yes to. Returns the question, the preview and staff's card."""
    refund = prepares("refund", order_id=order, lines=[], reason="damaged")
    asked, preview = await offered(world, refund, DETAILS, asks=f"I want my money back for {order}")
    await world.customer.presses(preview, "act.yes")
    return asked, preview, await world.card(having=f"Approve? Refund {order}")


async def test_staff_offer_less_and_the_customer_says_yes_to_that(world: World) -> None:
    asked, preview, card = await asks_for_money(world, PARTLY)
    before = await world.shop_has_done()
    await world.staff.presses(card, "appr.change")
    await world.staff.fills_in("submit.amount", amount="80")
    again = await world.customer.reads(asked, having=lambda seen: seen.ts > preview.ts and "act.yes" in seen.buttons)
    assert said("action_colleague_offers", money="80.00 USD") in again.text
    await becomes(world, asked, preview, said("action_withdrawn_newer"))
    assert await world.shop_has_done() == before
    await world.customer.presses(again, "act.yes")
    await ends(world, asked, again, said("action_done_refund", order=PARTLY))
    assert await world.shop_has_done() == before + 1
    assert (await world.shop_order(PARTLY))["refunded"]["amount"] == 8_000


async def test_the_customer_reads_why_staff_refuse(world: World) -> None:
    asked, preview, card = await asks_for_money(world, PARTLY)
    before = await world.shop_has_done()
    await world.staff.presses(card, "appr.no")
    await world.staff.fills_in("submit.refusal", note="The parcel arrives today.")
    await ends(world, asked, preview, said("action_rejected_note", note="The parcel arrives today."))
    assert await world.shop_has_done() == before


async def test_the_card_of_staff_moves_into_the_thread_of_a_case_that_opens(world: World) -> None:
    asked, preview, card = await asks_for_money(world, PARTLY)
    await world.customer.says("I want to talk to a person", to=asked)
    of_case = await world.card_of(asked)

    def has_moved(state: Json) -> Seen | None:
        there = [seen for seen in seen_in(state, card.channel) if "appr.no" in seen.buttons]
        return there[0] if [seen.thread_ts for seen in there] == [of_case.ts] else None

    moved = await world.until(has_moved, what="the card in the case's thread", channel=card.channel)
    await world.staff.presses(moved, "appr.no")
    await world.staff.fills_in("submit.refusal")
    await ends(world, asked, preview, said("action_rejected"))
    await world.hands_all_back()


async def claimed_case(world: World) -> tuple[Post, Seen]:
    """A customer's message and the card of its case, which Agent A has claimed."""
    asked = await world.customer.says("I want to talk to a person")
    card = await world.card_of(asked)
    await world.staff.presses(card, "case.claim")

    def is_claimed(state: Json) -> Seen | None:
        shown = (seen for seen in seen_in(state, card.channel) if seen.ts == card.ts)
        return next((seen for seen in shown if "case.prepare" in seen.buttons), None)

    return asked, await world.until(is_claimed, what="a claimed case", channel=card.channel)


async def prepare(world: World, card: Seen, kind: str, order: str, **inputs: Any) -> None:
    """Agent A fills in the two dialogs."""
    await world.staff.presses(card, "case.prepare")
    await world.staff.fills_in("choose.change", kind=kind, order=order)
    await world.staff.fills_in("submit.change", **inputs)


async def told_in_case(world: World, card: Seen, words: str) -> None:
    """Wait until the case's thread says so."""

    def is_told(state: Json) -> bool | None:
        return any(seen.thread_ts == card.ts and words in seen.text for seen in seen_in(state, card.channel)) or None

    await world.until(is_told, what=f"{words} under the card", channel=card.channel)


async def test_staff_prepare_a_change_and_the_customer_has_the_last_word(world: World) -> None:
    asked, card = await claimed_case(world)
    before = await world.shop_has_done()
    await prepare(world, card, "return_items", DELIVERED, **{"line/2": "1", "reason": "wrong_item"})
    preview = await world.customer.reads(asked, having=lambda seen: "act.yes" in seen.buttons)
    assert said("action_colleague_prepared") in preview.text
    await world.customer.presses(preview, "act.no")
    await becomes(world, asked, preview, said("action_declined"))
    await told_in_case(world, card, "is declined")
    assert await world.shop_has_done() == before
    await world.hands_all_back()


async def test_a_refund_that_staff_prepare_is_made_at_once_where_the_rules_need_no_yes(world: World) -> None:
    asked, card = await claimed_case(world)
    before = await world.shop_has_done()
    await prepare(world, card, "refund", PACKED, amount="10", reason="damaged")
    done = await world.customer.reads(asked, having=lambda seen: said("action_done_refund", order=PACKED) in seen.text)
    assert "10.00 USD" in done.text
    await told_in_case(world, card, "is done")
    assert await world.shop_has_done() == before + 1
    await world.hands_all_back()


async def test_another_of_the_staff_approves_what_one_prepares_above_the_limit(world: World) -> None:
    asked, card = await claimed_case(world)
    before = await world.shop_has_done()
    await prepare(world, card, "refund", PARTLY, amount="100", reason="damaged")

    def is_asked(state: Json) -> Seen | None:
        under = (seen for seen in seen_in(state, card.channel) if seen.thread_ts == card.ts)
        return next((seen for seen in under if "appr.yes" in seen.buttons), None)

    asks = await world.until(is_asked, what="the card in the case's thread", channel=card.channel)
    told = len(await world.staff.ephemerals())
    await world.staff.presses(asks, "appr.yes")

    def is_refused(state: Json) -> bool | None:
        mine = [each["text"] for each in state["ephemerals"] if each["user"] == world.staff.user]
        return any("Somebody else has to decide" in text for text in mine[told:]) or None

    await world.until(is_refused, what="a refusal")
    assert await world.shop_has_done() == before
    await world.other_staff.presses(asks, "appr.yes")
    await world.customer.reads(asked, having=lambda seen: said("action_done_refund", order=PARTLY) in seen.text)
    assert await world.shop_has_done() == before + 1
    await world.hands_all_back()


def returns(line: str, quantity: int = 1) -> Json:
    """A round in which the model prepares the return of a line."""
    lines = [{"line": line, "quantity": quantity}]
    return prepares("return_items", order_id=DELIVERED, lines=lines, reason="changed_mind")


async def test_an_order_that_changed_meanwhile_is_not_touched_and_the_customer_is_asked_anew(world: World) -> None:
    asked, preview = await offered(world, returns("2"), DETAILS, asks=f"I want to return the socks of {DELIVERED}")
    await world.shop_changes(DELIVERED, status="delivered")
    before = await world.shop_has_done()
    await world.customer.presses(preview, "act.yes")
    await becomes(world, asked, preview, said("action_withdrawn_changed"))
    again = await world.customer.reads(asked, having=lambda seen: seen.ts > preview.ts and "act.yes" in seen.buttons)
    assert await world.shop_has_done() == before
    await world.customer.presses(again, "act.no")


async def test_a_shop_that_acts_and_says_nothing_is_asked_and_not_told_twice(world: World) -> None:
    asked, preview = await offered(world, returns("2"), DETAILS, asks=f"I want to return the socks of {DELIVERED}")
    await world.shop_breaks(kind="act_then_silence", path="/actions")
    before = await world.shop_has_done()
    await world.customer.presses(preview, "act.yes")
    await ends(world, asked, preview, said("action_done_return_items", order=DELIVERED))
    assert await world.shop_has_done() == before + 1


async def test_a_customer_who_is_erased_leaves_no_offer_and_the_books(world: World) -> None:
    asked, _ = await offered(
        world,
        prepares("return_items", order_id=DELIVERED, lines=[{"line": "2", "quantity": 1}], reason="other"),
        DETAILS,
    )
    tab = await home_of(world, world.customer.user)
    click = {"user": world.customer.user, "view_id": tab, "action_id": "home.erase", "value": None}
    await world.act("click_view", click)

    def is_told(state: Json) -> bool | None:
        return any(seen.text.startswith("I've deleted your data") for seen in seen_in(state, asked.channel)) or None

    await world.until(is_told, what="an erased customer", channel=asked.channel)
    _, told = await run_product(product_environment(world, world.data), "actions", "list")
    assert "withdrawn" in told
    _, told = await run_product(product_environment(world, world.data), "actions", "export", "--since", "2020-01-01")
    assert ",return_items,withdrawn,erased," in told
    assert world.customer.user not in told
