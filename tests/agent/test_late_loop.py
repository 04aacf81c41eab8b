"""An event loop of our own that is held up: what others do meanwhile is not counted against them."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from bot.agent.endpoints import TRIP_AFTER, Endpoint, Models
from bot.agent.events import ModelRetried, TextDelta
from bot.agent.limits import Limits
from bot.agent.model import Finished, Model, ModelEvent, ModelFailure, ModelRequest
from bot.agent.patience import LAG_POLL_INTERVAL, ON_TIME_LAG, Patience
from tests.agent.desk import QUICK, Desk
from tests.doubles.chat_server import ChatServer, refuses, text
from tests.doubles.scripted_model import ScriptedModel, says

FREEZE = 4.0
"""Seconds; longer than a connection may take."""


class Steady:
    """Gives a sign of life every moment, for half a second."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        del request
        for number in range(10):
            await asyncio.sleep(0.05)
            yield TextDelta(f"{number} ")
        yield Finished("stop")


async def freeze(seconds: float) -> None:
    """Hold the loop up, once what has begun is under way."""
    for _ in range(3):
        await asyncio.sleep(0)
    time.sleep(seconds)  # noqa: ASYNC251 - that is the fault


@pytest.mark.parametrize("begun", [0.0, 0.2])
async def test_a_stream_is_not_given_up_for_the_time_in_which_nobody_read_it(begun: float) -> None:
    limits = replace(QUICK, first_token_seconds=1.5, idle_seconds=1.5, round_seconds=3.0, retries=0, continuations=0)
    turns = [asyncio.create_task(Desk().run(Steady(), limits=limits)) for _ in range(20)]
    await asyncio.sleep(begun)
    await freeze(FREEZE)
    outcomes = await asyncio.gather(*turns)
    assert Counter(outcome.reason for outcome in outcomes) == {"": 20}


async def test_turns_that_begin_while_the_loop_is_held_up_are_all_answered_at_the_first_try(
    server: ChatServer, model: Model
) -> None:
    server.will(text("Hello."))
    endpoint = Endpoint("model-1", model)
    desks = [Desk() for _ in range(60)]
    turns = [asyncio.create_task(desk.run(models=Models((endpoint,)), limits=Limits())) for desk in desks]
    await freeze(FREEZE)
    outcomes = await asyncio.gather(*turns)
    assert Counter(outcome.text or outcome.reason for outcome in outcomes) == {"Hello.": 60}
    assert not any(desk.happened(ModelRetried) for desk in desks)
    assert endpoint.breaker.fault is None


async def test_a_server_that_is_away_is_away_whatever_the_loop_does(server: ChatServer, model: Model) -> None:
    server.will(refuses(503, {"message": "busy"}))
    endpoint = Endpoint("model-1", model)
    turn = asyncio.create_task(Desk().run(models=Models((endpoint,))))
    await freeze(1.5)
    assert (await turn).reason == "model_unreachable"
    assert len(server.requests) <= 4


class Freezing:
    """Holds the loop up itself and then cannot be reached."""

    asked = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        del request
        self.asked += 1
        await freeze(2.0)
        await asyncio.sleep(0.01)
        if self.asked:
            raise ModelFailure("model_unreachable", retryable=True)
        yield Finished("stop")


async def test_a_loop_that_is_held_up_again_and_again_ends_with_the_turn() -> None:
    model, endpoint = Freezing(), Endpoint("model-1", Freezing())
    outcome = await Desk().run(
        models=Models((replace(endpoint, model=model),)), limits=replace(QUICK, turn_seconds=4.0)
    )
    assert outcome.reason == "deadline"
    assert model.asked <= 4
    assert model.asked < TRIP_AFTER


async def waiting(patience: Patience, *, until: float | None = None, frozen: float = 0.0) -> None:
    """Wait for ever under the limit, once it was moved, or the loop held up."""
    async with patience:
        if until is not None:
            patience.move(until)
        await freeze(frozen)
        await asyncio.Event().wait()


async def test_patience_ends_when_it_is_over_and_not_before() -> None:
    now = asyncio.get_running_loop().time
    began, patience = now(), Patience(0.1)
    with pytest.raises(TimeoutError):
        await waiting(patience)
    assert patience.expired()
    assert now() - began >= 0.1
    began = now()
    with pytest.raises(TimeoutError):
        await waiting(Patience(60.0), until=began + 0.1)
    assert 0.1 <= now() - began < 30.0
    async with Patience(0.05) as patience:
        patience.move(now() + 60.0)
        await asyncio.sleep(0.2)
    assert not patience.expired()


async def test_patience_is_extended_by_what_the_loop_was_late_and_no_more() -> None:
    now = asyncio.get_running_loop().time
    began = now()
    patience = Patience(1.0)
    with pytest.raises(TimeoutError):
        await waiting(patience, frozen=2.0)
    assert 2.0 - LAG_POLL_INTERVAL - ON_TIME_LAG <= patience.late <= now() - began
    assert now() - began >= 3.0 - LAG_POLL_INTERVAL - ON_TIME_LAG


async def test_a_cancellation_goes_through_patience_as_it_is() -> None:
    async def wait() -> None:
        async with Patience(60.0):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await Desk().run(ScriptedModel(says("Hello.")))).text == "Hello."
