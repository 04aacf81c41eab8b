"""What answers cost, what is done when it is too much, and what can be read of it afterwards."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.language.sentences import load_sentences
from bot.turns.decide import RETURNED_THANKS
from tests.stories.stage import Stage
from tests.stories.world import PATIENCE, Json, Post, World, product_environment, run_product

pytestmark = pytest.mark.asyncio(loop_scope="module")

RETURNS = "How many days do I have to return an item?"
MODEL = "frontdesk-offline"
TEN_DOLLARS = f"{MODEL}: {{input: 10, output: 10}}\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A world in which one answer is more than a customer's day may cost."""
    folder = tmp_path_factory.mktemp("money")
    prices, sentences = folder / "prices.yml", folder / "sentences.yml"
    prices.write_text(TEN_DOLLARS, encoding="utf-8")
    sentences.write_text('en: {over_budget: "Enough for today; Fernwick\'s people go on."}\n', encoding="utf-8")
    env = {
        "MODEL_PRICES": str(prices),
        "ANSWER_COST": "0.0001",
        "CUSTOMER_DAILY_COST": "0.0001",
        "SENTENCES_PATH": str(sentences),
    }
    async with stage.open_world(folder / "world", env=env) as opened:
        yield opened


async def turn_ended(world: World, number: int) -> Json:
    """The log line of the turn that ended as the so-manieth; its row is stored by then."""
    async with asyncio.timeout(PATIENCE):
        while True:
            lines = [json.loads(line) for line in world.bot_log().splitlines() if line.endswith("}")]
            ended: list[Json] = [line for line in lines if line["message"] == "the turn has ended"]
            if len(ended) >= number:
                return ended[number - 1]
            await world.next_change()


async def frontdesk(world: World, *arguments: str) -> str:
    status, told = await run_product(product_environment(world, world.data), *arguments)
    assert status == 0, told
    return told


async def test_the_second_question_past_the_cap_gets_a_sentence_and_a_person_and_no_model(world: World) -> None:
    answered = await world.customer.says(RETURNS)
    assert "30 days" in (await world.customer.reads(answered)).text
    await turn_ended(world, 1)
    requests = len(await world.model_requests())
    asked = await world.customer.says("And what does it cost to send it back?")
    told = await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)
    assert "Enough for today; Fernwick's people go on." in told.text
    await world.card(having="a spending limit was reached")
    assert len(await world.model_requests()) == requests
    await world.counts('frontdesk_budget_used_up_total{cap="customer"} 1.0')


async def test_nobody_is_called_for_a_greeting_or_a_thank_you_past_the_cap(world: World) -> None:
    card, say = await world.card(), load_sentences().say
    greeted = await world.customer.says("Hello!")
    assert say("en", "standing_by") in (await world.customer.reads(greeted)).text
    thanked = await world.customer.says("Thanks!")
    returned = (await world.customer.reads(thanked)).text
    assert any(say("en", key) in returned for key in RETURNED_THANKS)
    assert (await world.card()).ts == card.ts


async def test_further_questions_past_the_cap_go_into_the_case_that_is_open(world: World) -> None:
    card = await world.card()
    asked = await world.customer.says("How long does a parcel to Norway take?")
    told = await world.customer.reads(asked)
    assert "Enough for today; Fernwick's people go on. I've passed your question to our team." in told.text
    assert "FD-" not in told.text
    await world.staff.reads(Post("C0AGENTS", card.ts, card.ts), having=lambda seen: "Norway" in seen.text)
    assert (await world.card()).ts == card.ts


async def test_another_customer_is_answered_all_the_same(world: World) -> None:
    asked = await world.other_customer.says(RETURNS)
    assert "30 days" in (await world.other_customer.reads(asked)).text


async def test_the_log_and_the_metrics_know_what_a_turn_cost(world: World) -> None:
    line = await turn_ended(world, 2)
    assert line["ended"] == "answered"
    assert line["rounds"] >= 1
    assert line["models"] == [MODEL]
    assert line["cost"] == pytest.approx((line["input_tokens"] + line["output_tokens"]) * 1e-5)
    assert line["seconds"] > 0
    page = await world.metrics()
    assert 'frontdesk_model_tokens_total{kind="output",model="frontdesk-offline",purpose="answer"}' in page
    assert 'frontdesk_model_dollars_total{model="frontdesk-offline",purpose="answer"}' in page
    assert 'frontdesk_model_left_alone{model="frontdesk-offline"} 0.0' in page


async def test_a_turn_can_be_read_in_full_while_the_product_runs(world: World) -> None:
    listed = await frontdesk(world, "turns", "list", "--customer", world.other_customer.user)
    (line,) = listed.splitlines()
    assert world.other_customer.user in line
    assert line.endswith(RETURNS)
    shown = await frontdesk(world, "turns", "show", line.split()[0])
    assert f"{world.other_customer.user} asks\n  {RETURNS}" in shown
    assert re.search(rf"round 1 · \w+ · {MODEL}", shown)
    assert "30 days" in shown
    assert re.search(r"^cost +\$0\.\d+$", shown, re.MULTILINE)


async def test_an_answer_that_gets_too_dear_is_given_with_what_is_known(world: World) -> None:
    await world.model_says(
        {"calls": [{"name": "search_knowledge", "arguments": {"query": "gift cards"}}]}, {"text": "?"}
    )
    await world.stranger.reads(await world.stranger.says("Do gift cards expire on a Sunday?"))
    line = await turn_ended(world, 3)
    assert (line["forced"], line["reason"], line["rounds"]) == (True, "cost", 2)
    await world.counts('frontdesk_forced_answers_total{reason="cost"}')


async def test_an_answer_that_was_not_sent_can_be_read_all_the_same(world: World) -> None:
    await world.model_says({"text": "Our submarines dive to 300 metres."})
    told = await world.third_customer.reads(await world.third_customer.says("How deep do your submarines dive?"))
    assert "submarines" not in told.text
    await turn_ended(world, 4)
    listed = await frontdesk(world, "turns", "list", "--customer", world.third_customer.user)
    shown = await frontdesk(world, "turns", "show", listed.split()[0])
    assert "Our submarines dive to 300 metres." in shown
    assert "In its place the thread remembers:\n  I couldn't find this" in shown


async def test_what_no_model_answered_says_so(world: World) -> None:
    shown = await frontdesk(world, "turns", "show", "2")
    assert shown == "No model has answered 2 (message): done, over_budget.\n"


async def test_costs_are_added_up_by_whatever_is_asked(world: World) -> None:
    by_customer = await frontdesk(world, "cost", "--by", "customer")
    assert world.customer.user in by_customer
    assert world.other_customer.user in by_customer
    by_model = await frontdesk(world, "cost", "--days", "1", "--by", "model")
    assert [line.split()[:2] for line in by_model.splitlines()[1:]] == [[MODEL, "4"], ["total", "4"]]


async def test_bounds_in_dollars_need_prices_and_faults_are_told_at_once(world: World, tmp_path: Path) -> None:
    wrong = tmp_path / "sentences.yml"
    wrong.write_text('xx: {greeting: "Hi"}\n', encoding="utf-8")
    environment = product_environment(world, tmp_path) | {
        "OPENAI_MODEL": "our-own",
        "ANSWER_COST": "0.1",
        "SENTENCES_PATH": str(wrong),
    }
    status, told = await run_product(environment, "check")
    assert status == 2
    assert "MODEL_PRICES: no price is known for our-own, and ANSWER_COST needs one" in told
    assert "SENTENCES_PATH: xx is none of" in told


async def test_a_model_without_a_price_is_worth_a_note(world: World, tmp_path: Path) -> None:
    environment = product_environment(world, tmp_path) | {"OPENAI_MODEL": "our-own", "ANSWER_COSTS": "0.1"}
    status, told = await run_product(environment, "check")
    assert status == 0, told
    assert "note: ANSWER_COSTS is no setting; did you mean ANSWER_COST?" in told
    assert "note: no price is known for our-own: its tokens count as free (MODEL_PRICES)" in told
    (trial,) = [line for line in told.splitlines() if line.startswith("note: our-own: ")]
    assert "it called the tool" in trial
    assert "no price is known; nothing had to be left out" in trial


async def test_who_asks_too_fast_is_told_to_ask_again_and_nobody_is_called(stage: Stage, tmp_path: Path) -> None:
    async with stage.open_world(tmp_path / "world", env={"TOOL_CALLS_PER_MINUTE": "1"}) as world:
        first = await world.customer.says("Where is my order ORD-12345?")
        assert "ORD-12345" in (await world.customer.reads(first)).text
        again = await world.customer.says("Where is my order ORD-67890?")
        told = await world.customer.reads(again, having=lambda seen: "in a minute" in seen.text)
        assert told.text.startswith("You've asked me to look up a lot in a short time")
        assert (await turn_ended(world, 2))["ended"] == "too_fast"
        assert await world.posts("C0AGENTS") == []
