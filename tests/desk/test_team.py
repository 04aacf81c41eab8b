"""Who answers, and with what."""

from typing import Any, cast

from bot.desk.team import build_team

NOTHING = cast(Any, object())


def test_the_agent_is_told_of_the_shop_and_offered_its_tools() -> None:
    team = build_team(shop_name="Fernwick", knowledge=NOTHING, cases=NOTHING, orders=NOTHING, shipping=NOTHING)
    agent = team[team.entry]
    assert "Fernwick" in agent.instructions
    assert "{" not in agent.instructions
    assert {tool.name for tool in agent.tools} == {
        "search_knowledge",
        "escalate_to_human",
        "lookup_order",
        "list_my_orders",
        "check_shipping",
    }


def test_without_a_shop_nothing_is_said_of_orders() -> None:
    team = build_team(shop_name="Fernwick", knowledge=NOTHING, cases=NOTHING, orders=None, shipping=None)
    agent = team[team.entry]
    assert "look the order up" not in agent.instructions
    assert {tool.name for tool in agent.tools} == {"search_knowledge", "escalate_to_human"}
