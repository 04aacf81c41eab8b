"""The agents and their tools.

build_team     Builds the agents that answer: one agent with all tools, or triage and three specialists.
build_lead     Builds the agent that answers a message with many requests, by asking the specialists.
build_checker  Builds the agent that reads an answer before it is sent.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from bot.agent.agent import Agent, Team
from bot.agent.tools import Tool
from bot.agent.typed import TypedReply
from bot.desk.answers import answer_tools
from bot.desk.escalate import CaseOpener, escalate_tools
from bot.desk.orders import order_tools
from bot.desk.prompts import NAME, compose, read_instructions
from bot.desk.shipping import shipping_tools
from bot.desk_file.model import DeskFile
from bot.desk_file.own_part import own_part
from bot.errors import ConfigurationError
from bot.guard.tool_results import ESCALATE, SEARCH
from bot.shops.port import OrderBackend, ShippingBackend
from knowledge.knowledge_base import KnowledgeBase

Layout = Literal["one", "team"]
"""How a desk with a shop is made up: one agent, or triage and specialists."""
IN_DOUBT = "answers"
"""The specialist that answers if no other one clearly fits."""
BUILT_IN_TOOLS = frozenset({"lookup_order", "list_my_orders", "check_shipping", SEARCH, ESCALATE})
"""The tools that a desk can have. Those of the shop are not there without `SHOP_URL`."""
_CHECKED = TypedReply(
    "check",
    {
        "stands": {"type": "boolean", "description": "True if everything in the draft holds: the word STANDS."},
        "version": {"type": "string", "description": "The draft without what nothing holds. Empty if it stands."},
    },
    lambda value: "STANDS" if value["stands"] else str(value["version"]),
)
LEAD_ROUNDS = 3
"""The rounds of the lead: it asks, can ask once more, and answers."""


def build_team(
    *,
    desk: DeskFile,
    knowledge: KnowledgeBase,
    cases: CaseOpener,
    orders: OrderBackend | None,
    shipping: ShippingBackend | None,
    layout: Layout = "one",
    changes: Sequence[Tool] = (),
    more_tools: Sequence[Tool] = (),
) -> Team:
    """One agent with all tools; or, as a team, triage, orders, shipping and answers.

    Without a shop it is one agent that answers from the help pages. All agents that answer get `more_tools`; the one
    that looks orders up gets `changes`, the tools that prepare a change of an order. Tools that
    the desk file turns off are left out. Raises ConfigurationError for one that there is not.
    """
    team = _build_team(
        desk, knowledge, cases, orders=orders, shipping=shipping, layout=layout, changes=changes, more_tools=more_tools
    )
    known = {tool.name for agent in team.agents for tool in agent.tools} | BUILT_IN_TOOLS
    off = frozenset(desk.tools.without)
    if wrong := sorted((off - known) | (off & {ESCALATE})):
        raise ConfigurationError([f"DESK_FILE: tools.without: {name} {_misfit(name)}" for name in wrong])
    return replace(team, agents=tuple(_without(agent, off) for agent in team.agents))


def _without(agent: Agent, off: frozenset[str]) -> Agent:
    return replace(agent, tools=tuple(tool for tool in agent.tools if tool.name not in off))


def _misfit(name: str) -> str:
    return "always stays, so that people can be called" if name == ESCALATE else "is no tool"


def _build_team(
    desk: DeskFile,
    knowledge: KnowledgeBase,
    cases: CaseOpener,
    *,
    orders: OrderBackend | None,
    shipping: ShippingBackend | None,
    layout: Layout,
    changes: Sequence[Tool],
    more_tools: Sequence[Tool],
) -> Team:
    common = (*answer_tools(knowledge), *escalate_tools(cases), *more_tools)
    if orders is None or shipping is None:
        return _one("alone", desk, common)
    look_up = order_tools(orders)
    if layout == "one":
        return _one("desk", desk, (*look_up, *shipping_tools(shipping), *changes, *common))
    return Team(
        (
            _triage(desk, cases),
            Agent(
                "orders",
                _instructions("orders", desk),
                (*look_up, *changes, *common),
                hands_over_to=("shipping", "answers"),
                purpose="What is in an order, what it cost, whether it is paid, which orders the customer has.",
            ),
            Agent(
                "shipping",
                _instructions("shipping", desk),
                (*shipping_tools(shipping), *look_up, *common),
                hands_over_to=("orders", "answers"),
                purpose="Where an order or a parcel is, how far it is, when it comes.",
            ),
            Agent(
                IN_DOUBT,
                _instructions("answers", desk),
                common,
                hands_over_to=("orders", "shipping"),
                purpose="Everything that the help pages tell: returns, payment, delivery in general, accounts.",
            ),
        ),
        entry="triage",
    )


def _instructions(role: str, desk: DeskFile) -> str:
    return compose(role, shop_name=desk.shop, own=own_part(desk), name=desk.assistant.name or NAME)


def _one(role: str, desk: DeskFile, tools: Sequence[Tool]) -> Team:
    return Team((Agent("desk", _instructions(role, desk), tuple(tools)),), entry="desk")


def _triage(desk: DeskFile, cases: CaseOpener) -> Agent:
    return Agent(
        "triage",
        _instructions("triage", desk),
        escalate_tools(cases),
        hands_over_to=("orders", "shipping", "answers"),
        tier="cheap",
        sees_passages=False,
    )


def build_lead(*, desk: DeskFile, cases: CaseOpener) -> Agent:
    """The agent that leads the others. The tools to ask them are made for each message."""
    tools: tuple[Tool, ...] = escalate_tools(cases)
    return Agent("lead", _instructions("lead", desk), tools, rounds=LEAD_ROUNDS)


def build_checker(*, desk: DeskFile) -> Agent:
    """The agent that checks an answer before it is sent, also by the shop's rules. It has no tools."""
    rules = "".join(f"\n- {rule}" for rule in desk.rules)
    kept = f"The draft keeps these rules of the shop. Take out what breaks one:{rules}\n\n" if rules else ""
    work, _, data = read_instructions("check").partition("{rules}\n\n")
    return Agent("check", work.replace("{shop}", desk.shop) + kept + data, tier="cheap", reply=_CHECKED)
