"""The model fails, once and for good: what the customer reads, and what the operator can see.

One world serves all of it. What a message meets is scripted for that message alone, by a word of it; the slow
conversations begin with the module and are looked at when their turn comes.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest
import pytest_asyncio

from tests.doubles.self_signed import open_self_signed
from tests.faults.quiet import check_log, errors
from tests.faults.talk import Told, at_once, open_bare_world, question, talk
from tests.patience import patience
from tests.stories.world import Json, Post, Seen, T, World, product_environment, run_product, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

PERIOD = "30 days"
"""What every answer about returns says."""
BUSY = {"error": {"status": 429, "headers": {"Retry-After": "1"}}}
BROKEN = {"error": {"status": 500}}
NO_MONEY = {"error": {"status": 429, "body": {"error": {"code": "insufficient_quota", "message": "no money"}}}}
WRONG_KEY = {"error": {"status": 401, "body": {"error": {"code": "invalid_api_key", "message": "no such key"}}}}
NO_HURRY = {"error": {"status": 429, "headers": {"Retry-After": "600"}}}
FILTERED = {"finish": "content_filter"}
TOO_LONG = {"error": {"status": 400, "body": {"error": {"code": "context_length_exceeded", "message": "too long"}}}}
OPENING = "You have 30 days of delivery to return it."
BEGINNING = f"{OPENING} It must be unused and complete. Trying a jacket on at home is fine, a weekend on the tr"
"""Long enough for some of it to be shown before it breaks off."""
REST = "ail is not."


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def slow(world: World) -> AsyncIterator[dict[str, asyncio.Task[Told]]]:
    """Conversations that take their time, all at once."""
    fallen_silent = {"text": BEGINNING, "stall": 3_600}
    rest = {"text": REST}
    scripts: dict[str, list[Json]] = {
        "kayak": [{"wait": 3_600}] * 2,
        "canoe": [{"wait": 3_600}],
        "paddle": [{"drip": 3_600}] * 2,
        "anorak": [fallen_silent, fallen_silent],
        "poncho": [fallen_silent, rest],
    }
    async with at_once(
        {thing: talk(world, world.third_customer, thing, *rounds) for thing, rounds in scripts.items()}
    ) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def quiet(world: World) -> AsyncIterator[None]:
    """Whatever happened, the log is in order."""
    yield
    await check_log(world)


async def test_a_model_that_is_busy_for_a_moment_is_waited_for(world: World) -> None:
    told = await talk(world, world.customer, "kettle", BUSY)
    assert PERIOD in told.text
    await world.counts('frontdesk_model_retries_total{reason="rate_limited"}')


async def test_a_model_that_stays_busy_is_asked_three_times_and_then_a_person_is_called(world: World) -> None:
    told = await talk(world, world.customer, "lantern", *[BUSY] * 9)
    stands_for_a_person(told)
    assert len(told.requests) == 3
    await has_card(world, told.asked)


async def test_what_the_providers_filter_stops_gets_a_neutral_sentence_and_a_person(world: World) -> None:
    told = await talk(world, world.customer, "flare", *[FILTERED] * 9)
    assert "I can't answer this one myself" in told.text
    assert "technical" not in told.text
    assert len(told.requests) == 1
    await has_card(world, told.asked, having="refused to answer")


async def test_what_the_providers_filter_stops_in_the_middle_is_not_passed_off_as_whole(world: World) -> None:
    told = await talk(world, world.customer, "beacon", {"text": BEGINNING, "stall": 0.7, **FILTERED})
    assert "I was interrupted here" in told.text
    await is_told_of_a_case(world, told.asked)
    assert PERIOD in (await talk(world, world.customer, "parasol")).text


@pytest.mark.parametrize(("status", "times"), [(500, 2), (503, 1)])
async def test_a_server_error_is_tried_again_and_nobody_notices(world: World, status: int, times: int) -> None:
    told = await talk(world, world.customer, f"stove{status}", *[{"error": {"status": status}}] * times)
    assert PERIOD in told.text
    assert len(told.requests) == times


async def test_a_server_that_answers_others_and_not_one_question_is_not_waited_for(world: World) -> None:
    told = await while_others_are_answered(world, talk(world, world.customer, "pavilion", *[BROKEN] * 30))
    stands_for_a_person(told)
    assert 3 <= len(told.requests) < 10


BROKEN_REPLIES: dict[str, Json] = {
    "garbage": {"raw": ["data: {oops", "", "data: [DONE]", ""]},
    "badbytes": {"raw": ['data: {"choices":[{"delta":{"content":"\udcff\udcfe', "", "data: [DONE]", ""]},
    "errorevent": {"raw": ['data: {"error":{"message":"overloaded","type":"server_error"}}', "", "data: [DONE]", ""]},
    "nochoices": {"raw": ['data: {"id":"1","object":"chat.completion.chunk","choices":[]}', "", "data: [DONE]", ""]},
    "page": {"error": {"status": 200, "headers": {"Content-Type": "text/html"}, "body": "<!doctype html><h1>Hi</h1>"}},
    "nothing": {"raw": [""]},
    "reset": {"reset": True},
}


@pytest.mark.parametrize("kind", BROKEN_REPLIES)
async def test_a_reply_that_is_none_is_asked_for_again_and_nobody_notices(world: World, kind: str) -> None:
    told = await talk(world, world.customer, f"{kind}once", BROKEN_REPLIES[kind])
    assert PERIOD in told.text
    assert len(told.requests) == 1


async def test_replies_that_stay_none_end_with_a_person(world: World) -> None:
    asking = (
        talk(world, world.other_customer, f"{kind}always", *[reply] * 30) for kind, reply in BROKEN_REPLIES.items()
    )
    for told in await while_others_are_answered(world, asyncio.gather(*asking)):
        stands_for_a_person(told)
        assert 3 <= len(told.requests) < 10


@pytest.mark.parametrize("ending", ["cut", "raw"])
async def test_an_answer_that_breaks_off_goes_on_where_it_stopped(world: World, ending: str) -> None:
    told = await talk(world, world.customer, f"rope{ending}", broken_off(ending), {"text": REST})
    assert told.said.count(BEGINNING + REST) == 1
    assert "FD-" not in told.text


@pytest.mark.parametrize("ending", ["cut", "raw"])
async def test_an_answer_that_breaks_off_again_and_again_says_so_and_calls_a_person(world: World, ending: str) -> None:
    breaking = talk(world, world.customer, f"boot{ending}", *[broken_off(ending)] * 2, *[BROKEN] * 30)
    told = await while_others_are_answered(world, breaking)
    assert told.said.count(OPENING) <= 1, "what nobody has read need not be kept"
    assert told.said.count(OPENING) == 1 or ending == "raw"
    assert "I was interrupted here" in told.text
    await is_told_of_a_case(world, told.asked)


async def test_what_a_provider_says_of_a_refusal_is_for_operators_and_never_for_customers(world: World) -> None:
    fault = {"message": "Unsupported value, asked by anna@example.com", "code": "unsupported_value", "param": "top_p"}
    told = await talk(world, world.stranger, "balloon", *[{"error": {"status": 400, "body": {"error": fault}}}] * 9)
    stands_for_a_person(told)
    assert "nsupported" not in told.text
    words = "refused_request: 400 unsupported_value, param top_p, “Unsupported value, asked by [e-mail address]”"
    log = [json.loads(line) for line in world.bot_log().splitlines() if words in line]
    assert {line["message"] for line in log if "model" in line} == {f"a request failed: {words}"}
    status, listed = await run_product(product_environment(world, world.data), "turns", "list")
    assert status == 0
    number = next(line.split()[0] for line in listed.splitlines() if "balloon" in line)
    _, shown = await run_product(product_environment(world, world.data), "turns", "show", number)
    assert words in next(line for line in shown.splitlines() if line.startswith("request   failed: "))


async def test_an_answer_that_reached_its_length_is_completed(world: World) -> None:
    short = {"text": BEGINNING, "finish": "length"}
    told = await talk(world, world.customer, "gaiter", short, {"text": REST})
    assert told.said.count(BEGINNING + REST) == 1
    assert "too much for one answer" not in told.text


async def test_an_answer_that_stays_too_long_says_that_it_is_shortened_and_offers_more(world: World) -> None:
    short = {"text": BEGINNING, "finish": "length"}
    told = await talk(world, world.customer, "crampon", short, {"text": "ail is not", "finish": "length"})
    assert "Ask me to go on, and I will." in told.text
    assert "FD-" not in told.text


async def test_a_text_without_an_end_is_cut_off_and_says_so(world: World) -> None:
    asked = await world.customer.says(question("compass"))
    await world.model_says_too({"when": "compass", "text": f"{OPENING} " * 1_000})
    last = await world.customer.reads(asked, having=lambda seen: "Ask me to go on" in seen.text)
    posts = await world.replies(asked)
    assert posts[-1].ts == last.ts
    assert sum(len(seen.text) for seen in posts) < 40_000


async def test_a_conversation_that_is_too_long_is_shortened_once(world: World) -> None:
    before = await talk(world, world.customer, "tarpaulin")
    await world.model_says_too({"when": "hammock", **TOO_LONG})
    asked = await world.customer.says(question("hammock"), to=before.asked)
    assert PERIOD in (await world.customer.reads(asked, having=lambda seen: bool(seen.text.strip()))).text


async def test_a_conversation_that_stays_too_long_ends_with_a_person(world: World) -> None:
    told = await talk(world, world.customer, "whistle", *[TOO_LONG] * 9)
    stands_for_a_person(told)
    assert len(told.requests) == 1, "there was nothing to leave out"


BAD_CALLS: dict[str, Json] = {
    "cutarguments": {"calls": [{"name": "lookup_order", "arguments": '{"order_id": "ORD-10'}]},
    "unknowntool": {"calls": [{"name": "delete_all_orders", "arguments": {}}]},
    "sameids": {
        "calls": [{"name": "search_knowledge", "arguments": {"query": word}, "id": "x"} for word in ("a", "b")]
    },
}


@pytest.mark.parametrize("kind", BAD_CALLS)
async def test_a_bad_call_is_told_to_the_model_and_the_answer_comes(world: World, kind: str) -> None:
    told = await talk(world, world.customer, f"{kind}once", BAD_CALLS[kind])
    assert PERIOD in told.text
    await has_sound_history(world)


@pytest.mark.parametrize("kind", BAD_CALLS)
async def test_bad_calls_without_end_are_stopped(world: World, kind: str) -> None:
    told = await talk(world, world.customer, f"{kind}always", *[BAD_CALLS[kind]] * 30)
    stands_for_a_person(told)
    assert len(told.requests) <= 8 + 2, "rounds, and the retries of the last one, which has no tools"
    await has_sound_history(world)


async def test_look_ups_without_end_are_stopped(world: World) -> None:
    rounds = [{"calls": [{"name": "search_knowledge", "arguments": {"query": f"returns {n}"}}]} for n in range(40)]
    told = await talk(world, world.customer, "snowshoe", *rounds)
    stands_for_a_person(told)
    assert len(told.requests) <= 8 + 2
    await has_sound_history(world)


async def test_a_model_that_is_silent_once_is_asked_again(slow: dict[str, asyncio.Task[Told]]) -> None:
    told = await slow["canoe"]
    assert PERIOD in told.text


@pytest.mark.parametrize("thing", ["kayak", "paddle"])
async def test_a_model_that_stays_silent_is_given_up_within_half_a_minute(
    slow: dict[str, asyncio.Task[Told]], thing: str
) -> None:
    told = await slow[thing]
    stands_for_a_person(told)
    assert told.seconds < 30.0 + patience(10), "the product's own limit, and what a slow machine adds"


async def test_the_customer_sees_that_work_is_done_while_the_model_is_silent(world: World) -> None:
    asked = await world.stranger.says(question("bivouac"))
    await world.model_says_too({"when": "bivouac", "wait": 3})
    await world.shows_work(asked)
    await world.stranger.reads(asked)


async def test_an_answer_that_falls_silent_goes_on_where_it_stopped(slow: dict[str, asyncio.Task[Told]]) -> None:
    told = await slow["poncho"]
    assert told.said.count(BEGINNING + REST) == 1


async def test_an_answer_that_stays_silent_is_marked_as_cut_and_a_person_is_called(
    world: World, slow: dict[str, asyncio.Task[Told]]
) -> None:
    told = await slow["anorak"]
    assert told.said.count(OPENING) == 1
    assert "I was interrupted here" in told.text
    await is_told_of_a_case(world, told.asked)


@pytest.mark.parametrize(
    "work",
    ["empty account", "refused key", "long wait", "probe", "outage", "refused", "no such name", "bad certificate"],
)
async def test_what_would_be_in_others_way_happens_in_a_world_of_its_own(
    apart: dict[str, asyncio.Task[None]], work: str
) -> None:
    await apart[work]


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def apart(world: World, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, asyncio.Task[None]]]:
    """Worlds of their own, begun at once, but few at a time: others want the machine as well."""
    places = asyncio.Semaphore(2)

    async def run(work: Callable[[World], Coroutine[Any, Any, None]], **settings: str) -> None:
        async with places, open_bare_world(tmp_path_factory.mktemp("apart"), **settings) as world:
            await work(world)
            await check_log(world)

    async with open_self_signed() as port:
        works = {
            "empty account": run(an_empty_account_is_met_once_and_told_once),
            "refused key": run(a_refused_key_is_told_by_the_health_of_the_process),
            "long wait": run(a_wait_that_is_too_long_is_not_begun),
            "probe": run(after_its_rest_a_server_is_probed_and_answers),
            "outage": run(after_an_outage_the_questions_are_answered_after_all, ANSWER_SECONDS="10"),
            "refused": run(nobody_is_reached, OPENAI_BASE_URL="http://127.0.0.1:9/v1", ANSWER_SECONDS="8"),
            "no such name": run(nobody_is_reached, OPENAI_BASE_URL="https://model.invalid/v1", ANSWER_SECONDS="8"),
            "bad certificate": run(
                nobody_is_reached, OPENAI_BASE_URL=f"https://127.0.0.1:{port}/v1", ANSWER_SECONDS="8"
            ),
        }
        async with at_once(works) as running:
            yield running


async def an_empty_account_is_met_once_and_told_once(world: World) -> None:
    first = await talk(world, world.customer, "carabiner", *[NO_MONEY] * 9)
    second = await talk(world, world.other_customer, "harness", *[NO_MONEY] * 9)
    for told in (first, second):
        stands_for_a_person(told)
        assert told.seconds < 5.0 + patience(15), "the product's own limit, and what a slow machine adds"
    assert (len(first.requests), len(second.requests)) == (1, 0), "the breaker is open"
    await world.counts('frontdesk_model_left_alone{model="frontdesk-offline"} 1.0')
    assert "frontdesk-offline: the account at its provider is empty" in (await world.health())["degraded"]
    about = [line for line in errors(world, "the agent gave no answer") if line["reason"] == "insufficient_quota"]
    assert len(about) == 1, "one alert, not one a turn"


async def a_refused_key_is_told_by_the_health_of_the_process(world: World) -> None:
    assert (await world.health())["degraded"] is None
    stands_for_a_person(await talk(world, world.customer, "bracket", *[WRONG_KEY] * 9))
    health = await world.health()
    assert (health["ready"], health["degraded"]) == (True, "the model frontdesk-offline: its server refuses the key")


async def a_wait_that_is_too_long_is_not_begun(world: World) -> None:
    told = await talk(world, world.customer, "helmet", *[NO_HURRY] * 9)
    stands_for_a_person(told)
    assert len(told.requests) == 1
    assert told.seconds < 5.0 + patience(15)


async def after_its_rest_a_server_is_probed_and_answers(world: World) -> None:
    """A question that none of its tries answers opens the breaker, and waits for the probe."""
    await world.model_says(*[BROKEN] * 5)
    asked = await world.customer.says("Hello!")
    await world.counts('left_alone{model="frontdesk-offline"} 1.0')
    assert "technical" not in (await world.customer.reads(asked, having=lambda seen: bool(seen.text.strip()))).text
    await world.counts('left_alone{model="frontdesk-offline"} 0.0')


async def after_an_outage_the_questions_are_answered_after_all(world: World) -> None:
    """A question shows that it waits. If that was in vain, a person is called, until the model answers again."""
    await world.model_says(*[BROKEN] * 40)
    first = await world.customer.says(question("ski"))
    await is_told_of_a_case(world, first)
    asked = await world.customer.says("Hello, can I ask you something about jackets, please?")
    held = await world.customer.reads(asked, having=lambda seen: bool(seen.tasks))
    assert [title for title in held.tasks if "I'm keeping your question" in title], held.tasks
    assert "no model did" in (await world.card_of(asked)).text
    await world.model_says()
    await world.card(having="Back with the assistant")
    await world.customer.reads(asked, having=lambda seen: "Sorry for the wait." in seen.text)
    await world.until(one_notice, what="a notice", channel="C0AGENTS")


def one_notice(state: Json) -> Seen | None:
    """The one message that says that the assistant works again."""
    found = [seen for seen in seen_in(state, "C0AGENTS") if "taken back" in seen.text]
    return found[0] if len(found) == 1 else None


async def nobody_is_reached(world: World) -> None:
    told = await talk(world, world.customer, "glove")
    stands_for_a_person(told)
    assert told.seconds < 10.0 + patience(15), "the product's own limits, and what a slow machine adds"
    await has_card(world, told.asked)
    await world.counts('frontdesk_model_retries_total{reason="model_unreachable"}')


async def while_others_are_answered(world: World, work: Awaitable[T]) -> T:
    """The model's server is not away: somebody is answered again and again."""
    working = asyncio.ensure_future(work)
    while not working.done():
        assert PERIOD in (await talk(world, world.other_customer, "umbrella")).text
    return await working


def broken_off(ending: str) -> Json:
    """An answer that stops in the middle: the connection is cut, or ends in good order without a finish."""
    if ending == "cut":
        return {"text": BEGINNING, "stall": 0.7, "cut": True}
    chunk = {"choices": [{"index": 0, "delta": {"content": BEGINNING}, "finish_reason": None}]}
    return {"raw": [f"data: {json.dumps(chunk)}", ""]}


def stands_for_a_person(told: Told) -> None:
    """The customer reads a fixed sentence, with the case's number and without a technical word."""
    assert "technical problem" in told.text
    assert "FD-" in told.text
    assert not re.search(r"Traceback|Error|quota|\b(429|500|503)\b", told.text), told.text


async def is_told_of_a_case(world: World, asked: Post) -> None:
    """Behind what was said of the answer stands a case's number."""
    await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)


async def has_card(world: World, asked: Post, *, having: str = "couldn't answer") -> None:
    """In the question's thread stands a case's number, and staff have its card."""
    assert having in (await world.card_of(asked)).text


async def has_sound_history(world: World) -> None:
    """The model's server has refused no request: every call in it has its result."""
    assert [each for each in await world.model_requests() if each["by"] == "refusal"] == []
