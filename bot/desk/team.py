"""Who answers: the agents, their instructions and their tools."""

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


def build_team(
    *,
    shop_name: str,
    knowledge: KnowledgeBase,
    cases: Cases,
    orders: OrderBackend | None,
    shipping: ShippingBackend | None,
) -> Team:
    """The default team: one agent that answers, looks up and calls a person. Without a shop it has no order tools."""
    tools: tuple[Tool, ...] = (*answer_tools(knowledge), *escalate_tools(cases))
    if orders is not None:
        tools += order_tools(orders)
    if shipping is not None:
        tools += shipping_tools(shipping)
    looks_up = orders is not None or shipping is not None
    instructions = _read("frontdesk.md").replace("{orders}", f"{_read('orders.md')}\n" if looks_up else "")
    return Team((Agent("frontdesk", instructions.replace("{shop}", shop_name), tools),), entry="frontdesk")


def _read(name: str) -> str:
    return (INSTRUCTIONS / name).read_text("utf-8")
