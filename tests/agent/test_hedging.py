"""A model that is slow today, one that is still being loaded, and a second one that is asked as well."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, cast

import pytest

from bot.agent import hedging
from bot.agent.endpoints import MIN_FIRST_TOKENS, TRIP_AFTER, Deadlines, Endpoint, FirstTokens, Models, Price
from bot.agent.events import TextDelta
from bot.agent.model import Finished, ModelEvent, ModelFailure, ModelRequest
from bot.models.providers import Server, open_model
from bot.models.warm_up import warm_up
from tests.agent.desk import QUICK, Desk
from tests.agent.strict.server import FAMILIES, SHIPPED, open_strict_server
from tests.doubles.scripted_model import ScriptedModel, Silence, Step, says
from tests.patience import patience

PRICE = Price(1.0, 1.0, 1.0)
SLOW_LOAD = next(family for family in FAMILIES if family.load_seconds)


class Gated:
    """A model that speaks when it may."""

    def __init__(self, *pieces: str, failure: ModelFailure | None = None) -> None:
        self.asked = asyncio.Event()
        self.may_speak = asyncio.Event()
        self.closed = asyncio.Event()
        self._pieces = pieces
        self._failure = failure

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        self.asked.set()
        try:
            await self.may_speak.wait()
            if self._failure:
                raise self._failure
            for piece in self._pieces:
                yield TextDelta(piece)
            yield Finished("stop")
        finally:
            self.closed.set()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second model is asked almost at once."""
    monkeypatch.setattr(hedging, "MIN_HEDGE_DELAY", 0.01)


def paced(name: str, model: Gated | ScriptedModel) -> Endpoint:
    """An endpoint whose pace is known."""
    tokens = FirstTokens(is_loaded=True)
    tokens.seconds.extend([0.01] * MIN_FIRST_TOKENS)
    return Endpoint(name, model, PRICE, first_tokens=tokens)


async def test_the_second_model_is_asked_when_the_first_is_slow_and_the_first_that_speaks_is_read() -> None:
    desk, slow, quick = Desk(), Gated("Late."), Gated("Here ", "you are.")
    quick.may_speak.set()
    outcome = await desk.run(models=Models((paced("slow", slow), paced("quick", quick))))
    assert (outcome.text, desk.shown, outcome.models) == ("Here you are.", "Here you are.", ("quick",))
    assert slow.closed.is_set()
    assert outcome.usage.estimated
    assert outcome.usage.cost > 0


async def test_the_first_model_is_read_if_it_speaks_after_all() -> None:
    desk, slow, slower = Desk(), Gated("Here."), Gated("Never.")
    turn = asyncio.create_task(desk.run(models=Models((paced("slow", slow), paced("slower", slower)))))
    await slower.asked.wait()
    slow.may_speak.set()
    outcome = await turn
    assert (outcome.text, desk.shown, outcome.models) == ("Here.", "Here.", ("slow",))
    assert slower.closed.is_set()


async def test_a_model_in_time_is_asked_alone() -> None:
    desk, quick, other = Desk(), ScriptedModel(says("Hi.")), ScriptedModel(says("No."))
    assert (await desk.run(models=Models((paced("quick", quick), paced("other", other))))).text == "Hi."
    assert other.requests == []


async def test_no_second_model_is_asked_while_the_pace_of_the_first_is_unknown() -> None:
    desk, slow, other = Desk(), Gated("Here."), Gated("No.")
    turn = asyncio.create_task(desk.run(models=Models((Endpoint("slow", slow), paced("other", other)))))
    await slow.asked.wait()
    await asyncio.sleep(0.05)
    slow.may_speak.set()
    assert (await turn).text == "Here."
    assert not other.asked.is_set()


async def test_a_first_model_that_fails_meanwhile_costs_nothing_but_time() -> None:
    desk, broken, other = Desk(), Gated(failure=ModelFailure("model_unreachable", retryable=True)), Gated("Here.")
    turn = asyncio.create_task(desk.run(models=Models((paced("broken", broken), paced("other", other)))))
    await other.asked.wait()
    broken.may_speak.set()
    await broken.closed.wait()
    other.may_speak.set()
    assert (await turn).text == "Here."


async def test_if_both_fail_the_turn_goes_on_as_with_one() -> None:
    failure = ModelFailure("refused_request")
    desk, one, other = Desk(), Gated(failure=failure), Gated(failure=failure)
    turn = asyncio.create_task(desk.run(models=Models((paced("one", one), paced("other", other)))))
    await other.asked.wait()
    one.may_speak.set()
    other.may_speak.set()
    outcome = await turn
    assert (outcome.ended, outcome.reason) == ("failed", "refused_request")


async def test_nothing_is_left_behind_when_the_turn_ends_first() -> None:
    desk, one, other = Desk(), Gated(), Gated()
    limits = replace(QUICK, first_token_seconds=0.05, turn_seconds=0.2)
    outcome = await desk.run(models=Models((paced("one", one), paced("other", other))), limits=limits)
    assert outcome.ended == "failed"
    assert one.closed.is_set()
    assert other.closed.is_set()


async def test_a_model_that_loses_again_and_again_is_not_asked_for_a_while_and_keeps_its_pace() -> None:
    silent, rival = paced("silent", Gated("Never.")), ScriptedModel(*[says("Here.")] * TRIP_AFTER)
    pace = list(silent.first_tokens.seconds)
    for _ in range(TRIP_AFTER):
        assert not silent.breaker.is_open
        outcome = await Desk().run(models=Models((silent, Endpoint("rival", rival, PRICE))))
        assert outcome.text == "Here."
    assert silent.breaker.is_open
    assert list(silent.first_tokens.seconds) == pace


async def test_a_fault_of_ours_in_a_request_is_raised_and_not_waited_for() -> None:
    class Broken:
        def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
            raise TypeError("no body can be built")

    contender = hedging.Contender(Endpoint("broken", cast(Any, Broken()), PRICE), cast(ModelRequest, None), 0.0)
    async with asyncio.timeout(patience(10)):
        with pytest.raises(TypeError):
            await anext(contender.events())


async def test_whoever_is_cancelled_while_a_request_is_closed_ends() -> None:
    class Lingering:
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.05)
            yield Finished("stop")

    contender = hedging.Contender(Endpoint("lingering", cast(Any, Lingering()), PRICE), cast(ModelRequest, None), 0.0)
    await asyncio.sleep(0)
    closing = asyncio.create_task(contender.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing


async def test_the_own_deadlines_of_a_model_are_kept() -> None:
    for deadlines in (Deadlines(first_sign=0.01), Deadlines(silence=0.01), Deadlines(round=0.01)):
        steps: list[Step] = [Silence()] if deadlines.first_sign else [TextDelta("It "), Silence()]
        silent = ScriptedModel(steps)
        limits = replace(QUICK, retries=0, continuations=0, silent_again_seconds=0.01)
        async with asyncio.timeout(10):
            outcome = await Desk().run(models=Models((Endpoint("m", silent, deadlines=deadlines),)), limits=limits)
        assert (outcome.ended, outcome.reason) == ("failed", "deadline")


async def test_a_model_that_is_loaded_is_waited_for_and_loaded_once() -> None:
    limits = replace(QUICK, first_token_seconds=0.05, silent_again_seconds=0.05, retries=1)
    for loading, loads, ended in ((30.0, 1, "answered"), (0.0, 2, "failed")):
        async with open_strict_server(SLOW_LOAD) as server, open_model("m", Server("k", server.url)) as model:
            endpoint = Endpoint("m", model, deadlines=Deadlines(loading=loading))
            outcome = await Desk().run(models=Models((endpoint,)), limits=limits)
            assert (outcome.ended, server.loads) == (ended, loads)
            assert endpoint.first_tokens.is_loaded == (ended == "answered")


async def test_a_warm_up_loads_the_model_before_the_first_customer() -> None:
    async with open_strict_server(SLOW_LOAD) as server, open_model("m", Server("k", server.url)) as model:
        models = Models((Endpoint("m", model, deadlines=Deadlines(loading=30.0)),))
        await warm_up(models)
        limits = replace(QUICK, first_token_seconds=0.3)
        assert (await Desk().run(models=models, limits=limits)).text == SHIPPED
        assert server.loads == 1


async def test_a_warm_up_that_fails_is_only_told(caplog: pytest.LogCaptureFixture) -> None:
    gone = ScriptedModel([ModelFailure("model_unreachable", "gone")])
    asked = ScriptedModel(says("Hi."))
    await warm_up(Models((Endpoint("gone", gone, deadlines=Deadlines(loading=1.0)), Endpoint("hosted", asked))))
    assert [record.msg for record in caplog.records] == ["a model is not loaded yet: %s"]
    assert asked.requests == []


def test_the_percentile_is_known_after_some_requests_and_of_the_latest_ones() -> None:
    tokens = FirstTokens()
    for _ in range(MIN_FIRST_TOKENS - 1):
        tokens.add(1.0)
    assert tokens.p95 is None
    for seconds in range(1, 101):
        tokens.add(float(seconds))
    for seconds in range(1, 101):
        tokens.add(float(seconds))
    assert tokens.p95 == 96.0
