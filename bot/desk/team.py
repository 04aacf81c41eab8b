"""The agents and their tools.

build_team     Builds the agents that answer: one agent with all tools, or triage and three specialists.
build_lead     Builds the agent that answers a message with many requests, by asking the specialists.
build_checker  Builds the agent that reads an answer before it is sent.
"""

from collections.abc import Sequence
from typing import Literal

from bot.agent.agent import Agent, Team
from bot.agent.tools import Tool
from bot.cases.cases import Cases
from bot.desk.answers import answer_tools
from bot.desk.escalate import escalate_tools
from bot.desk.orders import order_tools
from bot.desk.prompts import compose, read_instructions
from bot.desk.shipping import shipping_tools
from bot.shops.port import OrderBackend, ShippingBackend
from knowledge.knowledge_base import KnowledgeBase

Layout = Literal["one", "team"]
"""How a desk with a shop is made up: one agent, or triage and specialists."""
IN_DOUBT = "answers"
"""The specialist that answers if no other one clearly fits."""
LEAD_ROUNDS = 3
"""The rounds of the lead: it asks, can ask once more, and answers."""


def build_team(
    *,
    shop_name: str,
    knowledge: KnowledgeBase,
    cases: Cases,
    orders: OrderBackend | None,
    shipping: ShippingBackend | None,
    layout: Layout = "one",
    more_tools: Sequence[Tool] = (),
) -> Team:
    """One agent with all tools; or, as a team, triage, orders, shipping and answers.

    Without a shop it is one agent that answers from the help pages. All agents that answer get `more_tools`.
    """
    common = (*answer_tools(knowledge), *escalate_tools(cases), *more_tools)
    if orders is None or shipping is None:
        return _one("alone", shop_name, common)
    look_up = order_tools(orders)
    if layout == "one":
        return _one("desk", shop_name, (*look_up, *shipping_tools(shipping), *common))
    return Team(
        (
            _triage(shop_name, cases),
            Agent(
                "orders",
                compose("orders", shop_name=shop_name),
                (*look_up, *common),
                hands_over_to=("shipping", "answers"),
                purpose="What is in an order, what it cost, whether it is paid, which orders the customer has.",
            ),
            Agent(
                "shipping",
                compose("shipping", shop_name=shop_name),
                (*shipping_tools(shipping), *look_up, *common),
                hands_over_to=("orders", "answers"),
                purpose="Where an order or a parcel is, how far it is, when it comes.",
            ),
            Agent(
                IN_DOUBT,
                compose("answers", shop_name=shop_name),
                common,
                hands_over_to=("orders", "shipping"),
                purpose="Everything that the help pages tell: returns, payment, delivery in general, accounts.",
            ),
        ),
        entry="triage",
    )


def _one(role: str, shop_name: str, tools: Sequence[Tool]) -> Team:
    return Team((Agent("desk", compose(role, shop_name=shop_name), tuple(tools)),), entry="desk")


def _triage(shop_name: str, cases: Cases) -> Agent:
    return Agent(
        "triage",
        compose("triage", shop_name=shop_name),
        escalate_tools(cases),
        hands_over_to=("orders", "shipping", "answers"),
        tier="cheap",
        sees_passages=False,
    )


def build_lead(*, shop_name: str, cases: Cases) -> Agent:
    """The agent that leads the others. The tools to ask them are made for each message."""
    tools: tuple[Tool, ...] = escalate_tools(cases)
    return Agent("lead", compose("lead", shop_name=shop_name), tools, rounds=LEAD_ROUNDS)


def build_checker(*, shop_name: str) -> Agent:
    """The agent that checks an answer before it is sent. It has no tools."""
    instructions = read_instructions("check").replace("{shop}", shop_name)
    return Agent("check", instructions, tier="cheap")
