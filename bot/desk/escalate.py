"""The tool with which the agent calls a person, and the limits of the other tools while a case is open.

The tool opens a case, and the case's own message tells the customer. While a case is open, the assistant can still
answer the customer if they want that, but it changes nothing.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from bot.agent.agent import Team
from bot.agent.tools import Context, Tool, ToolOutput, ToolProblem, tool
from bot.cases.case import Priority
from bot.conversation import Customer, ThreadRef
from bot.guard.tool_results import ESCALATE, PREPARES
from bot.store.cases import find_open
from bot.store.database import Database

LEFT_TO_PEOPLE = "The team has been called for this conversation, so nothing is changed here before they have answered."
Reason = Literal[
    "asked_for_person",
    "upset",
    "no_answer",
    "billing",
    "security",
    "legal",
    "change",
    "crisis",
    "harm",
    "threat",
    "fraud",
    "topic",
    "other",
]
"""`topic` is a topic of the desk file that always goes to a person. `crisis`, `harm`, `threat` and
`fraud` are the classes of bot/desk/danger, for what its words have not found."""


class CaseOpener(Protocol):
    """Opens cases, as `bot.cases.cases.Cases` does."""

    async def open(
        self,
        thread: ThreadRef,
        customer: Customer,
        *,
        reason: str,
        priority: Priority,
        subject: str,
        summary: str,
    ) -> "OpenedCase":
        """Open a case for the thread, or return the one that is open there."""
        ...


class OpenedCase(Protocol):
    """A case that people refer to."""

    @property
    def ref(self) -> str:
        """Its number, such as `FD-1042`."""
        ...


def escalate_tools(cases: CaseOpener) -> tuple[Tool, ...]:
    """Returns `escalate_to_human`, which ends the turn."""

    @tool(title="Calling a person", terminal=True, writes=True)
    async def escalate_to_human(
        context: Context,
        reason: Annotated[Reason, Field(description="Why a person is needed.")],
        priority: Annotated[Literal["low", "medium", "high"], Field(description="high: money, safety or anger.")],
        summary: Annotated[
            str,
            Field(min_length=3, max_length=600, description="What the customer wants and what was tried."),
        ],
        subject: Annotated[
            str, Field(max_length=80, description="The matter in a few words, like the subject of an e-mail.")
        ] = "",
        next_step: Annotated[str, Field(max_length=200, description="What the team could do next.")] = "",
    ) -> str:
        """Hand the conversation over to the support team, whenever your instructions say so."""
        told = f"{summary.strip()}\nNext: {next_step.strip()}" if next_step.strip() else summary
        case = await cases.open(
            context.thread, context.customer, reason=reason, priority=priority, subject=subject, summary=told
        )
        return f"Case {case.ref} is open. The customer has been told; say nothing more."

    return (escalate_to_human,)


def leaving_cases(team: Team, database: Database) -> Team:
    """The same team, whose tools change nothing in a thread with an open case."""
    agents = tuple(
        replace(
            agent,
            tools=tuple(_leaving_cases(tool, database) if _changes(tool) else tool for tool in agent.tools),
        )
        for agent in team.agents
    )
    return replace(team, agents=agents)


def _changes(tool: Tool) -> bool:
    """Whether people have to decide about it once they are called: it changes something, or prepares a change."""
    return (tool.writes and not tool.terminal) or tool.name.startswith(PREPARES)


def without_escalating(team: Team) -> Team:
    """The same team, in which no agent can call a person."""
    agents = (
        replace(agent, tools=tuple(each for each in agent.tools if each.name != ESCALATE)) for agent in team.agents
    )
    return replace(team, agents=tuple(agents))


def _leaving_cases(tool: Tool, database: Database) -> Tool:
    async def run(context: Context, **arguments: Any) -> ToolOutput:
        async with database.transaction() as tx:
            case = await find_open(tx, context.thread)
        if case is not None:
            raise ToolProblem(LEFT_TO_PEOPLE, code="left_to_people")
        output = await tool.function(context, **arguments)
        return output if isinstance(output, ToolOutput) else ToolOutput(output)

    return replace(tool, function=run)
