"""Deadlines and retries: how long the loop waits for a model, and when it asks again."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from bot.agent.endpoints import Endpoint, Models
from bot.agent.events import Emit, Event, ModelRetried, TextDelta
from bot.agent.limits import Limits
from bot.agent.messages import AgentMessage, CustomerMessage, Message, SystemNote
from bot.agent.model import Finished, ModelEvent, ModelFailure, ModelRequest, Thinking
from tests.agent.desk import QUESTION, QUICK, Desk, results
from tests.doubles.scripted_model import ScriptedModel, Silence, Step, call, calls, says

BUSY = ModelFailure("model_unreachable", "503", retryable=True)


async def test_a_failure_that_may_pass_is_tried_again_and_nobody_notices() -> None:
    desk = Desk()
    outcome = await desk.run(ScriptedModel([BUSY], says("Hello.")))
    assert (outcome.ended, desk.shown) == ("answered", "Hello.")
    (retried,) = desk.happened(ModelRetried)
    assert (retried.reason, retried.attempt) == ("model_unreachable", 2)


async def test_after_the_last_retry_the_turn_has_failed_and_says_why() -> None:
    model = ScriptedModel([BUSY])
    outcome = await Desk().run(model)
    assert (outcome.ended, outcome.reason, outcome.text, outcome.messages) == ("failed", "model_unreachable", "", ())
    assert len(model.requests) == 3


async def test_the_retries_are_a_budget_of_the_whole_turn() -> None:
    look = calls(call("lookup_order", {"order_id": "ORD-1"}))
    model = ScriptedModel([BUSY], look, [BUSY], [BUSY])
    outcome = await Desk().run(model)
    assert (outcome.ended, len(model.requests)) == ("failed", 4)
    assert len(results(outcome)) == 1


@pytest.mark.parametrize("kind", ["insufficient_quota", "unauthorized", "refused_request", "filtered"])
async def test_a_failure_that_will_not_pass_is_not_tried_again(kind: str) -> None:
    model = ScriptedModel([ModelFailure(kind)])  # type: ignore[arg-type]
    outcome = await Desk().run(model)
    assert (outcome.ended, outcome.reason, len(model.requests)) == ("failed", kind, 1)


async def test_a_provider_is_waited_for_as_long_as_it_asks() -> None:
    desk = Desk()
    await desk.run(ScriptedModel([ModelFailure("rate_limited", retryable=True, retry_after=0.03)], says("Hello.")))
    assert 0.03 <= desk.happened(ModelRetried)[0].wait < 0.04


@pytest.mark.parametrize("limits", [Limits(retry_after_seconds=5), Limits(turn_seconds=5)])
async def test_a_provider_that_asks_for_too_much_is_not_waited_for(limits: Limits) -> None:
    model = ScriptedModel([ModelFailure("rate_limited", retryable=True, retry_after=6)])
    outcome = await Desk().run(model, limits=limits)
    assert (outcome.ended, outcome.reason, len(model.requests)) == ("failed", "rate_limited", 1)


async def test_a_cut_before_anything_was_shown_is_repaired_in_silence() -> None:
    desk = Desk()
    outcome = await desk.run(ScriptedModel([ModelFailure("cut", retryable=True)], [], says("Whole.")))
    assert (outcome.text, desk.shown) == ("Whole.", "Whole.")


CUT = ModelFailure("cut", retryable=True)


async def test_a_reply_that_broke_off_after_text_was_shown_goes_on_where_it_stopped() -> None:
    desk = Desk()
    model = ScriptedModel([TextDelta("Your order ORD-1"), CUT], says("0482 is on its ", "way."))
    outcome = await desk.run(model)
    assert (outcome.ended, outcome.text) == ("answered", "Your order ORD-10482 is on its way.")
    assert desk.shown == outcome.text
    assert outcome.messages == (AgentMessage(outcome.text, agent="desk", model="model-1"),)
    partial, note = model.requests[1].messages[-2:]
    assert partial == AgentMessage("Your order ORD-1")
    assert isinstance(note, SystemNote)


async def test_words_that_a_continuation_repeats_are_shown_once() -> None:
    desk = Desk()
    begun: list[Step] = [TextDelta("Your order ORD-10482 is on"), CUT]
    await desk.run(ScriptedModel(begun, says("ORD-10482 ", "is on its way.")))
    assert desk.shown == "Your order ORD-10482 is on its way."


BEGUN = (
    "Your order ORD-10482 was handed to the carrier on Monday in Leipzig and is on its way to you. It usually takes "
    "two to three working days from there, so expect it on Wednesday or Thursday at the latest. If it"
)
REST = " is not there by Friday, write to us."


@pytest.mark.parametrize("again", [len(BEGUN), 120, 40, 12, 0])
async def test_a_model_that_begins_anew_or_repeats_much_is_shown_once(again: int) -> None:
    desk = Desk()
    repeated = BEGUN[len(BEGUN) - again :] + REST
    pieces = [f"{word} " for word in repeated.split(" ")]
    await desk.run(ScriptedModel([TextDelta(BEGUN), CUT], says(*pieces)))
    assert desk.shown.split() == (BEGUN + REST).split()


async def test_an_answer_that_the_length_limit_cut_off_is_continued_too() -> None:
    desk = Desk()
    first: list[Step] = [TextDelta("1. Open the page. 2. Print the la"), Finished("length")]
    outcome = await desk.run(ScriptedModel(first, says("bel.")))
    assert (outcome.text, outcome.reason) == ("1. Open the page. 2. Print the label.", "")


async def test_a_continuation_that_begins_a_sentence_is_set_apart_from_the_one_before() -> None:
    desk = Desk()
    await desk.run(ScriptedModel([TextDelta("I found your order."), CUT], says("It is shipped.")))
    assert desk.shown == "I found your order. It is shipped."


async def test_a_continuation_that_asks_for_tools_goes_on_with_the_turn() -> None:
    desk = Desk()
    look = calls(call("lookup_order", {"order_id": "ORD-1"}), text="it up.")
    outcome = await desk.run(ScriptedModel([TextDelta("I look "), CUT], look, says("It is shipped.")))
    assert desk.shown == "I look it up.\n\nIt is shipped."
    assert len(results(outcome)) == 1


async def test_a_reply_that_breaks_off_again_and_again_is_given_up_and_nothing_is_repeated() -> None:
    desk = Desk()
    more = "is on its way, " * 20
    model = ScriptedModel([TextDelta("Your order "), CUT], [TextDelta(more), CUT], says("never"))
    outcome = await desk.run(model)
    assert (outcome.ended, outcome.reason, outcome.text) == ("failed", "cut", f"Your order {more}")
    assert outcome.messages == (AgentMessage(f"Your order {more}", agent="desk"),)
    assert len(model.requests) == 2


async def test_a_continuation_that_says_nothing_does_not_pass_a_broken_answer_off_as_whole() -> None:
    outcome = await Desk().run(ScriptedModel([TextDelta("Your order "), CUT], says("")))
    assert (outcome.ended, outcome.reason) == ("failed", "blank")


async def test_a_stream_without_a_finish_is_a_cut() -> None:
    outcome = await Desk().run(ScriptedModel([TextDelta("Your order ")]), limits=replace(QUICK, continuations=0))
    assert (outcome.ended, outcome.reason) == ("failed", "cut")


async def test_a_blank_answer_is_no_answer() -> None:
    outcome = await Desk().run(ScriptedModel(says(" \n"), says("Hello.")))
    assert outcome.text == "Hello."
    hopeless = await Desk().run(ScriptedModel(says(" \n")))
    assert (hopeless.ended, hopeless.reason) == ("failed", "blank")


async def test_a_model_that_falls_silent_is_given_up_at_the_idle_limit() -> None:
    model = ScriptedModel([TextDelta("Your"), Silence()])
    outcome = await Desk().run(model, limits=replace(QUICK, idle_seconds=0.02))
    assert (outcome.ended, outcome.reason, outcome.text) == ("failed", "deadline", "Your")
    assert len(model.requests) == 2, "asked to go on, and silent again"


async def test_a_model_that_never_comes_to_an_end_is_given_up_at_the_rounds_limit() -> None:
    model = Endless()
    limits = replace(QUICK, round_seconds=0.02, idle_seconds=0.01, continuations=0)
    outcome = await Desk().run(model, limits=limits)
    assert (outcome.ended, outcome.reason, model.closed) == ("failed", "deadline", True)


class Ponderer:
    """Shows signs of life for longer than the limits allow silence, then answers."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        del request
        loop = asyncio.get_running_loop()
        end = loop.time() + 0.2
        while loop.time() < end:
            await asyncio.sleep(0.005)
            yield Thinking()
        yield TextDelta("42")
        yield Finished("stop")


async def test_a_model_that_thinks_aloud_is_waited_for() -> None:
    outcome = await Desk().run(Ponderer(), limits=replace(QUICK, first_token_seconds=0.1, idle_seconds=0.1))
    assert outcome.text == "42"


async def test_the_turn_ends_at_its_deadline_and_the_calls_that_ran_get_a_result() -> None:
    desk = Desk()
    hung = calls(call("lookup_order", {"order_id": "wait"}), text="Let me see.")
    outcome = await desk.run(ScriptedModel(hung), limits=replace(QUICK, turn_seconds=0.05))
    assert (outcome.ended, outcome.reason) == ("failed", "deadline")
    (result,) = results(outcome)
    assert (result.ok, desk.counter.running) == (False, 0)


class Endless:
    """Streams for ever and knows whether it was closed."""

    closed = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        del request
        try:
            while True:
                yield TextDelta("more ")
                await asyncio.sleep(0)
        finally:
            self.closed = True


class BrokenDesk(Desk):
    """Its events cannot be taken."""

    @property
    def emit(self) -> Emit:
        """Raises for every event."""

        def fail(event: Event) -> None:
            raise OSError(event)

        return fail


async def test_an_abandoned_stream_is_closed() -> None:
    model = Endless()
    outcome = await Desk().run(model, limits=replace(QUICK, turn_seconds=0.02))
    assert (outcome.reason, model.closed) == ("deadline", True)
    model = Endless()
    with pytest.raises(OSError, match="more"):
        await BrokenDesk().run(model)
    assert model.closed


LONG: list[Step] = [TextDelta("1. Open the page. 2. Print the la"), Finished("length")]


@pytest.mark.parametrize(
    "rest",
    [
        [[ModelFailure("refused_request")]],
        [[BUSY]],
        [[ModelFailure("filtered")]],
        [[TextDelta("bel. 3. Go"), CUT]],
        [says("")],
        [[Silence()]],
    ],
)
async def test_an_answer_that_was_cut_at_its_length_stands_when_its_continuation_fails(rest: list[list[Step]]) -> None:
    desk = Desk()
    limits = replace(QUICK, first_token_seconds=0.05)
    outcome = await desk.run(ScriptedModel(LONG, *rest), limits=limits)
    assert (outcome.ended, outcome.reason) == ("answered", "shortened")
    assert outcome.text == desk.shown
    assert outcome.text.startswith("1. Open the page. 2. Print the la")
    assert outcome.messages == (AgentMessage(outcome.text, agent="desk", model="model-1"),)


async def test_an_answer_that_was_cut_at_its_length_stands_when_the_turn_ends_meanwhile() -> None:
    outcome = await Desk().run(ScriptedModel(LONG, [Silence()]), limits=replace(QUICK, turn_seconds=0.1))
    assert (outcome.ended, outcome.reason, outcome.text) == (
        "answered",
        "shortened",
        "1. Open the page. 2. Print the la",
    )


async def test_an_answer_that_was_cut_on_its_way_does_not_stand_for_one_that_reached_its_length() -> None:
    cut_again = ScriptedModel([TextDelta("Your order "), CUT], [ModelFailure("refused_request")])
    assert (await Desk().run(cut_again)).ended == "failed"
    look = calls(call("lookup_order", {"order_id": "ORD-1"}))
    model = ScriptedModel([TextDelta("I look"), Finished("length")], look, [ModelFailure("refused_request")])
    outcome = await Desk().run(model)
    assert (outcome.ended, outcome.reason) == ("failed", "refused_request"), "what was cut was another round's"


async def test_a_model_that_thinks_to_its_limit_is_asked_once_more_to_think_less() -> None:
    model = ScriptedModel([Thinking(), Finished("length")], says("42"))
    assert (await Desk().run(model)).text == "42"
    assert [request.thinks_less for request in model.requests] == [False, True]
    hopeless = ScriptedModel([Thinking(), Finished("length")])
    outcome = await Desk().run(hopeless)
    assert (outcome.ended, outcome.reason, len(hopeless.requests)) == ("failed", "blank", 2)


TOO_LONG = ModelFailure("context_length", "400")


async def test_a_conversation_that_is_too_long_is_cut_down_and_sent_once_more() -> None:
    old: list[Message] = [CustomerMessage("word " * 500), AgentMessage("word " * 500)] * 3
    model = ScriptedModel([TOO_LONG], says("Hello."))
    outcome = await Desk().run(model, history=[*old, QUESTION])
    assert (outcome.text, len(model.requests)) == ("Hello.", 2)
    assert len(model.requests[1].messages) < len(model.requests[0].messages)


async def test_a_conversation_in_which_nothing_can_be_cut_is_not_sent_again_unchanged() -> None:
    model, other = ScriptedModel([TOO_LONG]), ScriptedModel(says("Hello."))
    outcome = await Desk().run(model)
    assert (outcome.ended, outcome.reason, len(model.requests)) == ("failed", "context_length", 1)
    roomy = Models((Endpoint("model-1", model), Endpoint("roomy", other)))
    assert (await Desk().run(models=roomy)).text == "Hello.", "another model may have more room"
