"""Agents are data: a prompt, tools and colleagues. `loop.run` brings them to life."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import Field

from bot.agent.endpoints import Tier
from bot.agent.tools import Context, Tool, tool
from bot.agent.typed import TypedReply

HANDOVER = "hand_over_to_"
"""The prefix of the tools with which an agent hands the conversation over. The rest is the colleague's name."""


@tool(title="Handing over")
async def _hand_over(
    context: Context,
    reason: Annotated[str, Field(max_length=500, description="What the customer needs, for the colleague.")] = "",
) -> str:
    """Hand the conversation over."""
    del context, reason
    raise AssertionError("the loop obeys a handover itself")


@dataclass(frozen=True, slots=True)
class Agent:
    """One role of the desk."""

    name: str
    """The name, in lower-case letters, digits and underscores. It becomes part of a tool's name."""
    instructions: str
    """The first system message."""
    tools: tuple[Tool, ...] = ()
    hands_over_to: tuple[str, ...] = ()
    """The names of the colleagues to which it can hand the conversation over."""
    tier: Tier = "strong"
    """The tier of the models that it uses."""
    rounds: int | None = None
    """The number of its replies in one turn. The last one has no tools. None means the turn's own limit."""
    sees_passages: bool = True
    """If False, it does not get the passages for the message, because it does not answer."""
    reply: TypedReply | None = None
    """The form of its replies, if they are read by code and not by people."""
    guidance: Callable[[], str] | None = None
    """What it reads last in each request, such as the present step of a procedure. It is never stored."""
    purpose: str = ""
    """One sentence that tells colleagues when to hand over to it."""


@dataclass(frozen=True, slots=True)
class Team:
    """The agents of one conversation. The constructor raises ValueError if they do not fit together."""

    agents: tuple[Agent, ...]
    entry: str
    """The agent a new conversation starts with."""
    _by_name: Mapping[str, Agent] = field(init=False, repr=False, compare=False)
    _offered: Mapping[str, Mapping[str, Tool]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {agent.name: agent for agent in self.agents})
        faults = [*self._faults()]
        if faults:
            raise ValueError("; ".join(faults))
        offered = {agent.name: {tool.name: tool for tool in self._tools(agent)} for agent in self.agents}
        object.__setattr__(self, "_offered", offered)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Agent:
        return self._by_name[name]

    def offered(self, agent: Agent) -> Mapping[str, Tool]:
        """Return everything that the agent can call, by name: its own tools, then a handover to each colleague."""
        return self._offered[agent.name]

    def _tools(self, agent: Agent) -> Iterator[Tool]:
        yield from agent.tools
        for name in agent.hands_over_to:
            description = f"Hand the conversation over to {name}. {self[name].purpose}".strip()
            yield replace(_hand_over, name=HANDOVER + name, description=description)

    def _faults(self) -> Iterator[str]:
        if len(self._by_name) < len(self.agents):
            yield "two agents have the same name"
        if self.entry not in self:
            yield f"the entry agent {self.entry!r} is not in the team"
        for agent in self.agents:
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", agent.name):
                yield f"agent {agent.name!r} must be named in lower-case letters, digits and underscores"
            names = [tool.name for tool in agent.tools]
            if len(set(names)) < len(names) or any(name.startswith(HANDOVER) for name in names):
                yield f"agent {agent.name!r} has two tools of one name, or one named like a handover"
            for colleague in agent.hands_over_to:
                if colleague not in self or colleague == agent.name:
                    yield f"agent {agent.name!r} cannot hand over to {colleague!r}"
