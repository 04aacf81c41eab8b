"""Every limit of a turn ends in an answer, and says which it was."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import orjson
import pytest

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models, Price
from bot.agent.limits import Limits
from bot.agent.model import Finished, ModelEvent, ModelFailure, ModelRequest, Usage
from bot.agent.tools import Context, Tool, tool
from tests.agent.desk import QUICK, Desk, desk_tools, results
from tests.doubles.scripted_model import ScriptedModel, Silence, Step, call, calls, says
from tests.patience import patience

LOOK: list[Step] = [call("lookup_order", {"order_id": "ORD-1"}), Usage(900, 100), Finished("calls")]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (replace(QUICK, rounds=2), "rounds"),
        (replace(QUICK, calls=1), "calls"),
        (replace(QUICK, tokens=1_000), "tokens"),
        (replace(QUICK, cost=0.001), "cost"),
        (QUICK, ""),
    ],
)
async def test_a_limit_forces_the_answer(limits: Limits, reason: str) -> None:
    model = ScriptedModel(LOOK, says("This is what I know."))
    models = Models((Endpoint("model-1", model, Price(1.0, 1.0, 1.0)),))
    outcome = await Desk().run(models=models, limits=limits)
    assert (outcome.ended, outcome.text, outcome.reason) == ("answered", "This is what I know.", reason)
    assert [request.may_call for request in model.requests] == [True, not reason]


class Looking(ScriptedModel):
    """Looks a parcel up as long as it may, then says something."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        looks = calls(call("check_shipping", {"tracking_number": f"wait {len(self.requests)}"}))
        self.requests.append(request)
        for event in looks if request.may_call else says("Not in time."):
            assert not isinstance(event, ModelFailure | Silence)
            yield event


async def test_when_the_turn_draws_to_its_end_the_answer_is_forced() -> None:
    limits = replace(QUICK, turn_seconds=patience(0.3), rounds=1_000, calls=1_000, calls_per_tool=1_000)
    outcome = await Desk().run(Looking(), limits=limits)
    assert (outcome.ended, outcome.text, outcome.reason) == ("answered", "Not in time.", "seconds")


async def test_one_tool_cannot_use_up_the_turn_and_the_others_still_run() -> None:
    desk = Desk()
    asked = [call("lookup_order", {"order_id": f"ORD-{at}"}, id=f"c{at}") for at in range(3)]
    parcel = call("check_shipping", {"tracking_number": "1Z9"}, id="c9")
    outcome = await desk.run(
        ScriptedModel(calls(*asked, parcel), says("Enough.")), limits=replace(QUICK, calls_per_tool=2)
    )
    assert sorted(desk.counter.seen) == ["1Z9", "ORD-0", "ORD-1"]
    assert [result.ok for result in results(outcome)] == [True, True, False, True]
    assert orjson.loads(results(outcome)[2].content)["error"] == "too_many_calls"
    assert (outcome.forced, outcome.reason) == (True, "tool_calls")


async def test_an_agents_own_limit_of_rounds_holds_for_it_alone() -> None:
    desk = Desk()
    lookup, shipping, _ = desk_tools(desk.counter)
    triage = Agent("triage", "You sort.", hands_over_to=("orders",))
    orders = Agent("orders", "You know orders.", (lookup, shipping), rounds=2)
    model = ScriptedModel(calls(call("hand_over_to_orders", id="c0")), LOOK, says("Forced."))
    outcome = await desk.run(model, team=Team((triage, orders), entry="triage"))
    assert [request.may_call for request in model.requests] == [True, True, False]
    assert outcome.reason == "rounds"


class Register:
    """Changes something, and knows what happened in which order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.running = 0
        self.most = 0


def writing_tools(register: Register) -> tuple[Tool, ...]:
    """A tool that writes, and may fail to say whether it did."""

    @tool(title="Noting", timeout=0.05, writes=True)
    async def note(context: Context, what: str) -> str:
        """Write something down."""
        register.running += 1
        register.most = max(register.most, register.running)
        try:
            if what == "cancelled":
                gone = asyncio.get_running_loop().create_future()
                gone.cancel()
                await gone
            if what == "wait":
                await asyncio.Event().wait()
            for _ in range(3):
                await asyncio.sleep(0)
            register.log.append(what)
            if what == "raise":
                raise RuntimeError("after the fact")
        finally:
            register.running -= 1
        return f"noted for {context.customer.name}"

    return (note,)


def scribe(register: Register) -> Team:
    """An agent that only writes."""
    return Team((Agent("scribe", "You write.", writing_tools(register)),), entry="scribe")


async def test_what_writes_runs_one_by_one_in_the_order_it_was_asked() -> None:
    register = Register()
    asked = [call("note", {"what": what}, id=what) for what in ("c", "a", "b")]
    await Desk().run(ScriptedModel(calls(*asked), says("Done.")), team=scribe(register))
    assert (register.log, register.most) == (["c", "a", "b"], 1)


@pytest.mark.parametrize("what", ["wait", "raise"])
async def test_a_write_whose_end_is_unknown_is_not_made_again(what: str) -> None:
    register = Register()
    again = [calls(call("note", {"what": what}, id=f"c{at}")) for at in range(2)]
    outcome = await Desk().run(ScriptedModel(*again, says("I do not know.")), team=scribe(register))
    assert register.log in ([], ["raise"])
    first, second = results(outcome)
    assert orjson.loads(first.content)["error"] == "unknown_outcome"
    assert second.content.endswith(first.content)


async def test_one_tool_takes_no_more_at_once_than_it_was_declared_to() -> None:
    desk = Desk()
    asked = [call("lookup_order", {"order_id": f"ORD-{at}"}, id=f"c{at}") for at in range(7)]
    await desk.run(ScriptedModel(calls(*asked), says("Done.")))
    assert desk.counter.most == 4


async def test_a_tool_whose_own_work_was_cancelled_has_failed_and_the_rest_of_the_round_goes_on() -> None:
    register = Register()
    asked = [call("note", {"what": what}, id=what) for what in ("cancelled", "b")]
    outcome = await Desk().run(ScriptedModel(calls(*asked), says("Done.")), team=scribe(register))
    assert [result.ok for result in results(outcome)] == [False, True]
    assert register.log == ["b"]


async def test_what_was_looked_up_before_a_change_is_looked_up_again() -> None:
    desk, register = Desk(), Register()
    lookup, *_ = desk_tools(desk.counter)
    team = Team((Agent("both", "You do.", (lookup, *writing_tools(register))),), entry="both")
    look = ("lookup_order", {"order_id": "ORD-1"})
    model = ScriptedModel(
        calls(call(*look, id="c1")),
        calls(call("note", {"what": "x"}, id="c2")),
        calls(call(*look, id="c3")),
        says("Done."),
    )
    await desk.run(model, team=team)
    assert desk.counter.seen == ["ORD-1", "ORD-1"]


async def test_what_was_done_before_the_turn_ran_out_of_time_is_told_as_done() -> None:
    desk, register = Desk(), Register()
    lookup, *_ = desk_tools(desk.counter)
    team = Team((Agent("both", "You do.", (lookup, *writing_tools(register))),), entry="both")
    both = calls(call("note", {"what": "x"}, id="c1"), call("lookup_order", {"order_id": "wait"}, id="c2"))
    outcome = await desk.run(ScriptedModel(both), team=team, limits=replace(QUICK, turn_seconds=0.1))
    assert (outcome.ended, outcome.reason) == ("failed", "deadline")
    noted, hung = results(outcome)
    assert (noted.ok, noted.content) == (True, "noted for Customer A")
    assert not hung.ok


async def test_a_change_that_a_colleague_made_is_not_made_again_after_one_of_ones_own() -> None:
    first, second = Register(), Register()
    (note,), (other,) = writing_tools(first), writing_tools(second)
    scribe = Agent("scribe", "You write.", (note,), hands_over_to=("clerk",))
    clerk = Agent("clerk", "You write too.", (replace(other, name="file"),), hands_over_to=("scribe",))
    model = ScriptedModel(
        calls(call("note", {"what": "x"}, id="c1")),
        calls(call("hand_over_to_clerk", id="c2")),
        calls(call("file", {"what": "y"}, id="c3")),
        calls(call("hand_over_to_scribe", id="c4")),
        calls(call("note", {"what": "x"}, id="c5")),
        says("Done."),
    )
    await Desk().run(model, team=Team((scribe, clerk), entry="scribe"))
    assert (first.log, second.log) == (["x"], ["y"])
