"""What may be spent on answers in a day, and how often one person's tools may be called in a minute.

Budgets   whether a customer's or the workspace's day is used up; looked at before a turn is answered
paced     a team whose tools refuse, in words to the model, when one person's calls come too fast
"""

import logging
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bot.agent.agent import Team
from bot.agent.tools import Context, Tool, ToolOutput, ToolProblem
from bot.clock import Clock
from bot.store import limits, spending
from bot.store.database import Database
from bot.telemetry import Metrics

logger = logging.getLogger(__name__)

DAY_SECONDS = 86_400.0
"""The day of a budget: the last 24 hours, whenever they began."""
TELL_SECONDS = 3_600.0
"""How often the log says that the workspace's day is used up."""
MINUTE_SECONDS = 60.0

TOO_FAST = (
    "Not run: too many look-ups were made for this person within a minute. Say which part is missing, do not guess "
    "it, and ask them to write again in a minute."
)
"""What the model reads instead of a result."""

Cap = Literal["customer", "workspace"]
"""Whose day is used up."""


@dataclass(slots=True)
class Budgets:
    """Caps on a rolling day, in US dollars; None is no cap. What runs already is not stopped by them."""

    database: Database
    clock: Clock
    metrics: Metrics
    customer_daily: float | None = None
    workspace_daily: float | None = None
    _told: float | None = field(default=None, init=False)
    """When the log last said so, on the clock that never jumps."""

    async def used_up(self, team: str, customer: str) -> Cap | None:
        """Which cap forbids another answer for this person of the workspace; None when none does."""
        if self.customer_daily is None and self.workspace_daily is None:
            return None
        since = self.clock.now() - DAY_SECONDS
        async with self.database.transaction() as tx:
            by_all = await spending.cost_of_workspace(tx, team, since=since)
            by_one = await spending.cost_of_customer(tx, team, customer, since=since)
        cap = self._passed(by_all, by_one)
        if cap is not None:
            self.metrics.budget_used_up(cap)
        if cap == "workspace":
            self._tell(team)
        return cap

    def _passed(self, by_all: float, by_one: float) -> Cap | None:
        if self.workspace_daily is not None and by_all >= self.workspace_daily:
            return "workspace"
        return "customer" if self.customer_daily is not None and by_one >= self.customer_daily else None

    def _tell(self, team: str) -> None:
        """An error once an hour: nobody is answered by a model until somebody acts or time passes."""
        now = self.clock.monotonic()
        if self._told is not None and now - self._told < TELL_SECONDS:
            return
        self._told = now
        logger.error(
            "the workspace's budget for a day is used up: customers get people instead of answers",
            extra={"team": team, "cap": self.workspace_daily},
        )


def paced(team: Team, database: Database, clock: Clock, *, per_minute: int) -> Team:
    """The same team, each person's tool calls bounded over all their turns. Calling a person is always possible."""
    agents = tuple(
        replace(
            agent,
            tools=tuple(
                tool if tool.terminal else _paced_tool(tool, database, clock, per_minute) for tool in agent.tools
            ),
        )
        for agent in team.agents
    )
    return replace(team, agents=agents)


def _paced_tool(tool: Tool, database: Database, clock: Clock, per_minute: int) -> Tool:
    async def run(context: Context, **arguments: Any) -> ToolOutput:
        customer = context.customer
        key = f"tools/{customer.team}/{customer.user}"
        async with database.transaction() as tx:
            allowed = await limits.take(tx, key, times=per_minute, seconds=MINUTE_SECONDS, now=clock.now())
        if not allowed:
            logger.warning("too many tool calls for one person", extra={"turn": context.turn, "tool": tool.name})
            raise ToolProblem(TOO_FAST, code="too_many_calls")
        output = await tool.function(context, **arguments)
        return output if isinstance(output, ToolOutput) else ToolOutput(output)

    return replace(tool, function=run)
