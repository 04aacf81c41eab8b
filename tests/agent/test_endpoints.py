"""Where the loop asks: fallbacks, breakers, retry budgets, prices."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from bot.agent.endpoints import (
    BREAKER_OPEN_PERIOD,
    FAULT_SECONDS,
    LET_IN,
    PROBE_INTERVAL,
    RETRIES_PER_SECOND,
    RETRY_RESERVE,
    TRIP_AFTER,
    Breaker,
    Endpoint,
    Models,
    Price,
)
from bot.agent.events import Held, ModelRetried, TextDelta
from bot.agent.limits import Limits
from bot.agent.messages import AgentMessage
from bot.agent.model import FailureKind, Finished, Model, ModelEvent, ModelFailure, ModelRequest, Usage
from tests.agent.desk import PATIENT, QUICK, Desk
from tests.doubles.chat_server import ChatServer, refuses, text
from tests.doubles.scripted_model import ScriptedModel, Silence, Step, call, calls, says
from tests.patience import patience

BUSY = ModelFailure("model_unreachable", "503", retryable=True)


class Clock:
    """Seconds that pass when they are told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def two(first: ScriptedModel, second: ScriptedModel) -> Models:
    """An endpoint and its fallback."""
    return Models(strong=(Endpoint("model-1", first), Endpoint("model-2", second)))


@pytest.mark.parametrize("kind", ["insufficient_quota", "unauthorized", "deadline", "refused_request"])
async def test_what_another_try_cannot_mend_goes_to_the_fallback_at_once(kind: FailureKind) -> None:
    desk, first, second = Desk(), ScriptedModel([ModelFailure(kind)]), ScriptedModel(says("Hello."))
    outcome = await desk.run(models=two(first, second))
    assert (outcome.text, outcome.models, len(first.requests)) == ("Hello.", ("model-2",), 1)
    assert second.requests[0].model == "model-2"
    assert desk.happened(ModelRetried) == [ModelRetried(kind, 2, 0.0)]


async def test_a_passing_failure_is_tried_here_first_and_then_elsewhere() -> None:
    first, second = ScriptedModel([BUSY]), ScriptedModel(says("Hello."))
    outcome = await Desk().run(models=two(first, second))
    assert (outcome.text, len(first.requests), len(second.requests)) == ("Hello.", 3, 1)


async def test_a_wait_that_is_too_long_is_spent_at_the_fallback() -> None:
    first = ScriptedModel([ModelFailure("rate_limited", retryable=True, retry_after=600)])
    outcome = await Desk().run(models=two(first, ScriptedModel(says("Hello."))))
    assert (outcome.text, len(first.requests)) == ("Hello.", 1)


@pytest.mark.parametrize("kind", ["filtered", "refused"])
async def test_no_fallback_is_asked_to_overrule_a_refusal(kind: FailureKind) -> None:
    second = ScriptedModel(says("Hello."))
    outcome = await Desk().run(models=two(ScriptedModel([ModelFailure(kind)]), second))
    assert (outcome.ended, outcome.reason, second.requests) == ("failed", kind, [])


async def test_a_model_that_reasons_may_be_silent_for_longer_than_the_others() -> None:
    impatient = replace(QUICK, first_token_seconds=0.001, idle_seconds=0.001)
    slow = Endpoint("thinker", Slow(), thinking_seconds=30.0)
    assert (await Desk().run(models=Models((slow,)), limits=impatient)).text == "Thought through."
    hasty = Endpoint("thinker", Slow())
    assert (await Desk().run(models=Models((hasty,)), limits=impatient)).reason == "deadline"


class Slow:
    """Says nothing for a while."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        del request
        await asyncio.sleep(0.05)
        yield TextDelta("Thought through.")
        yield Finished("stop")


async def test_the_fallback_goes_on_with_what_the_first_had_begun() -> None:
    desk = Desk()
    gone = ModelFailure("unauthorized")
    first = ScriptedModel([TextDelta("It is "), ModelFailure("cut", retryable=True)], [gone])
    second = ScriptedModel(says("shipped."))
    outcome = await desk.run(models=two(first, second))
    assert (desk.shown, outcome.text) == ("It is shipped.", "It is shipped.")
    assert second.requests[0].messages[-2] == AgentMessage("It is ")


async def test_an_endpoint_that_keeps_failing_is_left_alone_by_all_turns() -> None:
    first, second = ScriptedModel([BUSY]), ScriptedModel(says("Hello."))
    models = two(first, second)
    for _ in range(4):
        assert (await Desk().run(models=models)).text == "Hello."
    assert len(first.requests) == TRIP_AFTER
    assert len(second.requests) == 4


class Burst:
    """Refuses the first requests, however many come at once, and then is well."""

    def __init__(self, failure: ModelFailure, *, times: int) -> None:
        self.failure = failure
        self.times = times
        self.asked = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        del request
        self.asked += 1
        if self.asked <= self.times:
            await asyncio.sleep(0)
            raise self.failure
        yield TextDelta("Hello.")
        yield Finished("stop")


@pytest.mark.parametrize(
    "failure",
    [BUSY, ModelFailure("rate_limited", retryable=True, retry_after=0.02), ModelFailure("malformed", retryable=True)],
)
async def test_a_blip_that_meets_many_turns_at_once_is_one_failure(failure: ModelFailure) -> None:
    models = Models((Endpoint("model-1", Burst(failure, times=2 * TRIP_AFTER)),))
    outcomes = await asyncio.gather(*(Desk().run(models=models) for _ in range(2 * TRIP_AFTER)))
    assert {outcome.text for outcome in outcomes} == {"Hello."}


async def test_without_a_fallback_a_turn_waits_for_an_endpoint_that_rests() -> None:
    endpoint = Endpoint("model-1", ScriptedModel(says("Hello.")))
    endpoint.breaker.failed(ModelFailure("rate_limited", retry_after=0.05), begun=0.0)
    assert (await Desk().run(models=Models((endpoint,)))).text == "Hello."


async def test_a_blip_is_waited_out_also_by_the_only_question_that_meets_it() -> None:
    desk = Desk()
    models = Models((Endpoint("model-1", Burst(BUSY, times=TRIP_AFTER)),))
    assert (await desk.run(models=models, limits=PATIENT)).text == "Hello."
    assert desk.happened(Held) == [Held()], "the customer sees that it waits, once"


async def test_a_server_that_answers_others_and_not_this_question_is_not_waited_for_again() -> None:
    clock, model = Clock(), ScriptedModel([BUSY], [BUSY], [BUSY], [BUSY])
    breaker = Breaker(now=clock)
    turn = asyncio.create_task(
        Desk().run(models=Models((Endpoint("model-1", model, breaker=breaker),)), limits=PATIENT)
    )
    async with asyncio.timeout(patience(10)):
        while not breaker.is_open:  # noqa: ASYNC110 - what the turn does
            await asyncio.sleep(0.001)
        breaker.answered()
        assert (await turn).reason == "model_unreachable"
    assert len(model.requests) == 4


async def test_nobody_waits_for_a_server_that_stays_away_for_longer_than_that() -> None:
    clock, model = Clock(), ScriptedModel([BUSY])
    breaker = ill(clock)
    rest(breaker, clock, until=BREAKER_OPEN_PERIOD)
    short = replace(QUICK, outage_seconds=BREAKER_OPEN_PERIOD - 1)
    async with asyncio.timeout(patience(5)):
        outcome = await Desk().run(models=Models((Endpoint("model-1", model, breaker=breaker),)), limits=short)
    assert (outcome.reason, model.requests) == ("model_unreachable", [])


async def test_the_first_turn_after_the_rest_probes_and_goes_on_only_when_that_is_answered() -> None:
    clock, model = Clock(), ScriptedModel([BUSY], says("Hello."))
    breaker = ill(clock)
    rest(breaker, clock, until=BREAKER_OPEN_PERIOD)
    models = Models((Endpoint("model-1", model, breaker=breaker),))
    slow = replace(QUICK, retry_seconds=60.0, outage_seconds=0.0)
    for expected in ("model_unreachable", ""):
        clock.now += BREAKER_OPEN_PERIOD
        async with asyncio.timeout(0.5):
            assert (await Desk().run(models=models, limits=slow)).reason == expected
    assert len(model.requests) == 2


async def test_where_one_is_away_the_other_is_waited_for() -> None:
    clock, models = Clock(), two(ScriptedModel([BUSY]), ScriptedModel(says("Hello.")))
    breaker = ill(clock)
    rest(breaker, clock, until=4.0)
    busy = models.strong[1]
    busy.breaker.failed(ModelFailure("rate_limited", retry_after=0.05), begun=0.0)
    models = Models((replace(models.strong[0], breaker=breaker), busy))
    assert (await Desk().run(models=models)).text == "Hello."


async def test_without_a_fallback_a_wait_that_is_too_long_or_hopeless_is_not_begun() -> None:
    model = ScriptedModel([ModelFailure("unauthorized")])
    models = Models((Endpoint("model-1", model),))
    assert (await Desk().run(models=models)).reason == "unauthorized"
    assert (await Desk().run(models=models)).reason == "unauthorized"
    assert len(model.requests) == 1
    endpoint = Endpoint("model-1", ScriptedModel(says("Hello.")))
    endpoint.breaker.failed(ModelFailure("rate_limited", retry_after=600), begun=0.0)
    assert (await Desk().run(models=Models((endpoint,)))).reason == "rate_limited"


async def test_a_long_wait_is_not_made_where_another_endpoint_could_answer() -> None:
    first = ScriptedModel([ModelFailure("rate_limited", retryable=True, retry_after=15)])
    outcome = await Desk().run(models=two(first, ScriptedModel(says("Hello."))))
    assert (outcome.text, len(first.requests)) == ("Hello.", 1)


async def test_a_turn_leaves_time_to_ask_the_fallback_and_a_silence_to_its_end_is_a_failure() -> None:
    short = replace(QUICK, turn_seconds=0.2)
    assert (await Desk().run(models=two(ScriptedModel([Silence()]), ScriptedModel(says("Hello."))), limits=short)).text
    alone = Endpoint("model-1", ScriptedModel([Silence()]))
    for _ in range(TRIP_AFTER):
        assert (
            await Desk().run(models=Models((alone,)), limits=replace(QUICK, turn_seconds=0.02))
        ).reason == "deadline"
    assert alone.breaker.is_open


async def test_the_cheap_tier_has_endpoints_of_its_own_and_else_the_strong_ones() -> None:
    strong, cheap = Endpoint("s", ScriptedModel()), Endpoint("c", ScriptedModel())
    assert Models((strong,), (cheap,)).of("cheap") == (cheap,)
    assert Models((strong,)).of("cheap") == (strong,)
    assert Models((strong,), (cheap,)).of("strong") == (strong,)


async def test_the_cheap_ones_alone_are_those_that_are_no_strong_one() -> None:
    strong, cheap = Endpoint("s", ScriptedModel()), Endpoint("c", ScriptedModel())
    assert Models((strong,), (cheap, strong)).only_cheap == Models((cheap,))
    assert Models((strong,), (strong,)).only_cheap is None
    assert Models((strong,)).only_cheap is None


def ill(clock: Clock) -> Breaker:
    """A breaker that has just tripped."""
    breaker = Breaker(now=clock)
    for _ in range(TRIP_AFTER):
        begun = breaker.enter()
        assert begun is not None
        breaker.failed(BUSY, begun=begun)
    assert breaker.is_open
    return breaker


def rest(breaker: Breaker, clock: Clock, *, until: float) -> None:
    """Let a request after each rest fail, until that is so many seconds long."""
    while breaker.rest < until:
        clock.now += breaker.rest
        begun = breaker.enter()
        assert begun is not None
        breaker.failed(BUSY, begun=begun)


def test_a_server_that_stays_away_is_left_alone_for_longer_each_time() -> None:
    clock = Clock()
    breaker = ill(clock)
    rests = []
    for _ in range(6):
        rests.append(breaker.rest)
        clock.now += breaker.rest
        begun = breaker.enter()
        assert begun is not None
        breaker.failed(BUSY, begun=begun)
    assert rests == [1.0, 2.0, 4.0, 8.0, BREAKER_OPEN_PERIOD, BREAKER_OPEN_PERIOD]
    breaker.answered()
    for _ in range(TRIP_AFTER):
        breaker.failed(BUSY, begun=clock.now)
    assert breaker.rest == 1.0


def test_after_its_rest_a_breaker_lets_requests_find_out_one_by_one() -> None:
    clock = Clock()
    breaker = ill(clock)
    assert breaker.enter() is None
    clock.now = BREAKER_OPEN_PERIOD
    assert (breaker.enter(), breaker.enter()) == (BREAKER_OPEN_PERIOD, None)
    clock.now += PROBE_INTERVAL
    assert breaker.enter() == clock.now
    breaker.answered()
    assert None not in (breaker.enter(), breaker.enter())


@pytest.mark.parametrize("kind", ["refused_request", "context_length", "filtered", "refused", "blank", "malformed"])
def test_any_answer_of_a_server_ends_the_rest(kind: FailureKind) -> None:
    clock = Clock()
    breaker = ill(clock)
    clock.now = BREAKER_OPEN_PERIOD
    begun = breaker.enter()
    assert begun is not None
    breaker.failed(ModelFailure(kind), begun=begun)
    assert None not in (breaker.enter(), breaker.enter())


def test_retries_beyond_the_reserve_are_put_off_one_behind_the_other() -> None:
    clock = Clock()
    breaker = Breaker(now=clock)
    assert [breaker.take_retry() for _ in range(int(RETRY_RESERVE))] == [0.0] * int(RETRY_RESERVE)
    assert [breaker.take_retry() for _ in range(3)] == [n / RETRIES_PER_SECOND for n in (1, 2, 3)]
    clock.now += 4 / RETRIES_PER_SECOND
    assert (breaker.take_retry(), breaker.take_retry()) == (0.0, 1 / RETRIES_PER_SECOND)
    for _ in range(8):
        breaker.enter()
    assert breaker.take_retry() == 0.0, "requests earn a share of retries"
    clock.now += 1_000.0
    assert breaker.retry_delay == 0.0
    assert sum(not breaker.take_retry() for _ in range(100)) == RETRY_RESERVE, "no more than that is saved up"


async def test_whoever_waits_for_a_server_goes_on_when_it_has_answered_others() -> None:
    breaker = Breaker()
    # Who began to wait first goes first, though it is the last to wait again.
    waiting = [asyncio.create_task(breaker.wait(60.0, since=since)) for since in (1.0, 2.0, 0.0)]
    waiting = [waiting[-1], *waiting[:-1]]
    assert len(waiting) == LET_IN + 1
    await asyncio.sleep(0)
    breaker.failed(ModelFailure("rate_limited"), begun=0.0)
    breaker.failed(ModelFailure("refused_request"), begun=0.0)
    assert not (await asyncio.wait(waiting, timeout=0.01))[0], "only an answer lets anybody in"
    breaker.answered()
    async with asyncio.timeout(patience(10)):
        await asyncio.gather(*waiting[:LET_IN])
    assert not waiting[-1].done()
    waiting[-1].cancel()
    await asyncio.wait(waiting)
    breaker.answered()
    await breaker.wait(0.001, since=0.0)


CROWD = 120


@pytest.mark.parametrize("status", [503, 429])
async def test_a_blip_that_meets_a_crowd_of_turns_costs_none_of_them_its_answer(
    server: ChatServer, model: Model, status: int
) -> None:
    """Twenty of 120 were answered when retries beyond the budget were refused."""
    models = Models((Endpoint("model-1", model),))
    busy = refuses(status, {"message": "busy"})
    server.will(*[busy] * CROWD, text("Hello."))
    if status == 503:
        server.will(busy)
        asyncio.get_running_loop().call_later(4.0, server.will, text("Hello."))
    async with asyncio.timeout(patience(100)):
        outcomes = await asyncio.gather(*(Desk().run(models=models, limits=Limits()) for _ in range(CROWD)))
    assert Counter(outcome.text or outcome.reason for outcome in outcomes) == {"Hello.": CROWD}
    assert len(server.requests) < 3 * CROWD, "the server was not met by all of them again and again"


async def test_a_turn_waits_for_a_server_that_is_away_no_longer_than_it_may() -> None:
    clock = Clock()
    breaker = ill(clock)
    rest(breaker, clock, until=4.0)
    model = ScriptedModel(says("Hello."))
    models = Models((Endpoint("model-1", model, breaker=breaker),))
    for limits in (replace(QUICK, outage_seconds=3.0), replace(QUICK, turn_seconds=3.0)):
        async with asyncio.timeout(patience(2.0)):
            assert (await Desk().run(models=models, limits=limits)).reason == "model_unreachable"
    turn = asyncio.create_task(Desk().run(models=models, limits=PATIENT))
    await asyncio.sleep(0.01)
    breaker.answered()
    async with asyncio.timeout(patience(2.0)):
        assert (await turn).text == "Hello."


@pytest.mark.parametrize(
    ("failures", "told"),
    [
        ([ModelFailure("unauthorized")], "the model m: its server refuses the key"),
        ([ModelFailure("insufficient_quota")], "the model m: the account at its provider is empty"),
        ([ModelFailure("rate_limited", retry_after=9)], "the model m: its provider takes no more requests"),
        ([BUSY] * TRIP_AFTER, "the model m: it does not answer (model_unreachable)"),
        ([ModelFailure("deadline")] * TRIP_AFTER, "the model m: it does not answer (deadline)"),
        ([BUSY], ""),
        ([ModelFailure("refused_request")] * 9, ""),
    ],
)
def test_what_is_wrong_with_a_model_is_told_until_it_answers(failures: list[ModelFailure], told: str) -> None:
    clock = Clock()
    endpoint = Endpoint("m", ScriptedModel(), breaker=Breaker(now=clock))
    models = Models((endpoint,), (endpoint, Endpoint("well", ScriptedModel())))
    for failure in failures:
        endpoint.breaker.failed(failure, begun=clock.now)
    assert [fault[: len(told)] for fault in models.faults()] == ([told] if told else [])
    clock.now += 1_000.0
    assert bool(models.faults()) == bool(told and failures[0].kind != "rate_limited"), "nobody knows better yet"
    endpoint.breaker.answered()
    assert models.faults() == []


@pytest.mark.parametrize("failures", [[ModelFailure("unauthorized")], [BUSY] * TRIP_AFTER])
def test_of_a_model_that_nobody_asks_any_more_an_old_fault_is_not_told(failures: list[ModelFailure]) -> None:
    clock = Clock()
    models = Models((Endpoint("m", ScriptedModel(), breaker=Breaker(now=clock)),))
    for failure in failures:
        models.strong[0].breaker.failed(failure, begun=clock.now)
    clock.now += FAULT_SECONDS - 1
    assert len(models.faults()) == 1
    clock.now += 2
    assert models.faults() == []
    models.strong[0].breaker.failed(failures[-1], begun=clock.now)
    assert len(models.faults()) == 1, "it is as ill as before"


def test_cached_tokens_cost_their_own_price() -> None:
    price = Price(input=2.0, cached=0.5, output=8.0)
    assert price.of(Usage(1_000_000, 500_000, 400_000)) == pytest.approx(1.2 + 0.2 + 4.0)


async def test_a_turn_knows_what_it_cost_and_who_wrote() -> None:
    first: list[Step] = [call("lookup_order", {"order_id": "ORD-1"}), Usage(1_000, 200), Finished("calls")]
    second: list[Step] = [TextDelta("Done."), Usage(2_000, 300, 1_000), Finished("stop")]
    endpoint = Endpoint("model-1", ScriptedModel(first, second), Price(1.0, 0.1, 4.0))
    outcome = await Desk().run(models=Models((endpoint,)))
    assert outcome.usage.cost == pytest.approx((1_000 + 800 + 1_000 + 100 + 1_200) / 1e6)
    assert (outcome.models, outcome.usage.estimated) == (("model-1",), False)


async def test_tokens_that_nobody_counted_are_estimated_and_marked() -> None:
    model = ScriptedModel([TextDelta("x" * 400), Finished("stop")])
    usage = (await Desk().run(model)).usage
    assert usage.estimated
    assert usage.output_tokens == 101
    assert usage.input_tokens > 5


async def test_a_request_that_broke_off_is_paid_for_too() -> None:
    begun: list[Step] = [TextDelta("x" * 400), ModelFailure("cut", retryable=True)]
    model = ScriptedModel(begun, says("and so on, to the very end of it"))
    endpoint = Endpoint("model-1", model, Price(0.0, 0.0, 1e6))
    outcome = await Desk().run(models=Models((endpoint,)), limits=QUICK)
    assert outcome.usage.output_tokens > 101
    assert outcome.usage.cost == outcome.usage.output_tokens


async def test_calls_are_part_of_what_is_estimated() -> None:
    look = calls(call("lookup_order", {"order_id": "ORD-1"}))
    outcome = await Desk().run(ScriptedModel(look, says("Done.")))
    assert outcome.usage.output_tokens >= 8
