"""The agents, their instructions and their tools.

build_team     Builds the agents that answer: triage and three specialists, or one agent if there is no shop.
build_lead     Builds the agent that answers a message with many requests, by asking the specialists.
build_checker  Builds the agent that reads an answer before it is sent.

Instructions are Markdown files. A name in braces is replaced with the file of that name, and `{shop}` with the shop's
name. `shared.md` is the frame for all agents that speak with customers.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from bot.agent.agent import Agent, Team
from bot.agent.tools import Tool
from bot.cases.cases import Cases
from bot.desk.answers import answer_tools
from bot.desk.escalate import escalate_tools
from bot.desk.orders import order_tools
from bot.desk.shipping import shipping_tools
from bot.shops.port import OrderBackend, ShippingBackend
from knowledge.knowledge_base import KnowledgeBase

INSTRUCTIONS = Path(__file__).parent / "instructions"
IN_DOUBT = "answers"
"""The agent that answers if no other one clearly fits."""
LEAD_ROUNDS = 3
"""The rounds of the lead: it asks, can ask once more, and answers."""

_INCLUDED = re.compile(r"\{(?!shop\})([a-z-]+)\}")


def build_team(
    *,
    shop_name: str,
    knowledge: KnowledgeBase,
    cases: Cases,
    orders: OrderBackend | None,
    shipping: ShippingBackend | None,
    more_tools: Sequence[Tool] = (),
) -> Team:
    """Triage, orders, shipping and answers. Without a shop, one agent that answers from the help pages.

    All agents that answer get `more_tools`.
    """
    common = (*answer_tools(knowledge), *escalate_tools(cases), *more_tools)
    if orders is None or shipping is None:
        return Team((Agent(IN_DOUBT, read_prompt("alone", shop_name), common),), entry=IN_DOUBT)
    look_up = order_tools(orders)
    return Team(
        (
            _triage(shop_name, cases),
            Agent(
                "orders",
                read_prompt("orders", shop_name),
                (*look_up, *common),
                hands_over_to=("shipping", "answers"),
                purpose="What is in an order, what it cost, whether it is paid, which orders the customer has.",
            ),
            Agent(
                "shipping",
                read_prompt("shipping", shop_name),
                (*shipping_tools(shipping), *look_up, *common),
                hands_over_to=("orders", "answers"),
                purpose="Where an order or a parcel is, how far it is, when it comes.",
            ),
            Agent(
                IN_DOUBT,
                read_prompt("answers", shop_name),
                common,
                hands_over_to=("orders", "shipping"),
                purpose="Everything that the help pages tell: returns, payment, delivery in general, accounts.",
            ),
        ),
        entry="triage",
    )


def _triage(shop_name: str, cases: Cases) -> Agent:
    return Agent(
        "triage",
        read_prompt("triage", shop_name),
        escalate_tools(cases),
        hands_over_to=("orders", "shipping", "answers"),
        tier="cheap",
        sees_passages=False,
    )


def build_lead(*, shop_name: str, cases: Cases) -> Agent:
    """The agent that leads the others. The tools to ask them are made for each message."""
    tools: tuple[Tool, ...] = escalate_tools(cases)
    return Agent("lead", read_prompt("lead", shop_name), tools, rounds=LEAD_ROUNDS)


def build_checker(*, shop_name: str) -> Agent:
    """The agent that checks an answer before it is sent. It has no tools."""
    instructions = read_instructions("check").replace("{shop}", shop_name)
    return Agent("check", instructions, tier="cheap")


def read_prompt(name: str, shop_name: str) -> str:
    """The instructions of an agent that speaks with customers."""
    text = read_instructions("shared").replace("{role}", read_instructions(name))
    while _INCLUDED.search(text):
        text = _INCLUDED.sub(lambda mark: read_instructions(mark[1]), text)
    return text.replace("{shop}", shop_name)


def read_instructions(name: str) -> str:
    """The text of one instruction file, with its placeholders."""
    return (INSTRUCTIONS / f"{name}.md").read_text("utf-8").strip()
