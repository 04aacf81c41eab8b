"""Agents that pass a conversation on."""

from dataclasses import replace

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.events import HandedOver, ToolStarted
from bot.agent.messages import AgentMessage
from tests.agent.desk import QUICK, Counter, Desk, desk_tools, results
from tests.doubles.scripted_model import ScriptedModel, call, calls, says


def team(counter: Counter) -> Team:
    """A triage agent, and orders which can hand back."""
    lookup, shipping, _ = desk_tools(counter)
    triage = Agent("triage", "You sort.", (shipping,), hands_over_to=("orders", "returns"), tier="cheap")
    orders = Agent("orders", "You know orders.", (lookup,), hands_over_to=("triage",), purpose="Orders and parcels.")
    returns = Agent("returns", "You know returns.")
    return Team((triage, orders, returns), entry="triage")


async def test_the_successor_has_its_own_model_prompt_and_tools_in_the_very_next_request() -> None:
    desk = Desk()
    model = ScriptedModel(calls(call("hand_over_to_orders", {"reason": "parcel"})), says("Orders here."))
    outcome = await desk.run(model, team=team(desk.counter))
    first, second = model.requests
    assert (first.model, first.instructions) == ("cheap", "You sort.")
    assert [tool.name for tool in first.tools] == ["check_shipping", "hand_over_to_orders", "hand_over_to_returns"]
    assert (second.model, second.instructions) == ("model-1", "You know orders.")
    assert [tool.name for tool in second.tools] == ["lookup_order", "hand_over_to_triage"]
    assert outcome.agent == "orders"
    assert desk.happened(HandedOver) == [HandedOver("triage", "orders")]
    assert isinstance(outcome.messages[-1], AgentMessage)
    assert outcome.messages[-1].agent == "orders"


async def test_a_handover_tells_the_model_what_the_colleague_is_for() -> None:
    described = {tool.name: tool.description for tool in team(Counter()).offered(team(Counter())["triage"]).values()}
    assert described["hand_over_to_orders"] == "Hand the conversation over to orders. Orders and parcels."


async def test_of_several_handovers_the_first_is_obeyed_and_each_gets_a_result() -> None:
    desk = Desk()
    both = [call("hand_over_to_orders", id="c1"), call("hand_over_to_returns", id="c2")]
    outcome = await desk.run(ScriptedModel(calls(*both), says("Orders here.")), team=team(desk.counter))
    assert outcome.agent == "orders"
    assert [(result.call_id, result.ok) for result in results(outcome)] == [("c1", True), ("c2", False)]


async def test_other_calls_beside_a_handover_are_run() -> None:
    desk = Desk()
    both = [call("hand_over_to_orders", id="c1"), call("check_shipping", {"tracking_number": "1Z9"}, id="c2")]
    outcome = await desk.run(ScriptedModel(calls(*both), says("Orders here.")), team=team(desk.counter))
    assert desk.counter.seen == ["1Z9"]
    assert [result.call_id for result in results(outcome)] == ["c1", "c2"]
    assert not any(event.name == "hand_over_to_orders" for event in desk.happened(ToolStarted))


async def test_a_handover_with_broken_arguments_is_not_obeyed() -> None:
    desk = Desk()
    broken = calls(call("hand_over_to_orders", '{"reason": "par'))
    outcome = await desk.run(ScriptedModel(broken, says("Triage here.")), team=team(desk.counter))
    assert outcome.agent == "triage"
    assert "invalid_arguments" in results(outcome)[0].content


async def test_handing_back_and_forth_ends() -> None:
    desk = Desk()
    there, back = calls(call("hand_over_to_orders")), calls(call("hand_over_to_triage"))
    model = ScriptedModel(there, back, there, back, there, says("Triage answers."))
    outcome = await desk.run(model, team=team(desk.counter), limits=replace(QUICK, handovers=4))
    assert (outcome.ended, outcome.agent, outcome.text) == ("answered", "triage", "Triage answers.")
    assert len(desk.happened(HandedOver)) == 4
    assert [result.ok for result in results(outcome)] == [True, True, True, True, False]


async def test_the_rounds_of_a_turn_are_counted_over_all_agents() -> None:
    desk = Desk()
    there = calls(call("check_shipping", {"tracking_number": "1Z9"}, id="c0"), call("hand_over_to_orders", id="c1"))
    look = calls(call("lookup_order", {"order_id": "ORD-1"}, id="c2"))
    model = ScriptedModel(there, look, says("This is what I know."))
    outcome = await desk.run(model, team=team(desk.counter), limits=replace(QUICK, rounds=3))
    assert (outcome.text, outcome.reason, outcome.agent) == ("This is what I know.", "rounds", "orders")
    assert [request.may_call for request in model.requests] == [True, True, False], "two rounds each would be four"


async def test_the_conversation_goes_on_with_the_agent_that_had_it_last() -> None:
    desk, model = Desk(), ScriptedModel(says("Still me."))
    assert (await desk.run(model, team=team(desk.counter), agent="orders")).agent == "orders"
    assert (await desk.run(model, team=team(desk.counter), agent="gone")).agent == "triage"


async def test_a_tool_that_only_the_colleague_has_is_found_after_the_handover() -> None:
    desk = Desk()
    look = call("lookup_order", {"order_id": "ORD-1"})
    model = ScriptedModel(calls(look), calls(call("hand_over_to_orders")), calls(replace(look, id="c3")), says("Done."))
    outcome = await desk.run(model, team=team(desk.counter))
    assert [result.ok for result in results(outcome)] == [False, True, True]


@pytest.mark.parametrize(
    ("agents", "entry", "fault"),
    [
        ((Agent("a", ""), Agent("a", "")), "a", "same name"),
        ((Agent("a", ""),), "b", "entry agent 'b'"),
        ((Agent("A b", ""),), "A b", "lower-case"),
        ((Agent("a", "", hands_over_to=("b",)),), "a", "hand over to 'b'"),
        ((Agent("a", "", hands_over_to=("a",)),), "a", "hand over to 'a'"),
        ((Agent("a", "", desk_tools(Counter()) * 2),), "a", "two tools of one name"),
    ],
)
def test_a_team_that_does_not_fit_together_is_refused(agents: tuple[Agent, ...], entry: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Team(agents, entry)
