"""What may be spent on answers in a day, and how many messages and tool calls one person has in a minute.

Allowance     how many messages of one person are answered in a minute and in a day
  admit       looked at when a turn begins
  tell        whom to tell that one was not answered
Budgets       whether a customer's or the workspace's day is used up
  set_aside   looked at before a question is answered; what the answer will cost is taken from the day at once
  used_up     looked at before something is done for staff
paced         a team whose tools refuse, in words to the model, when one person's calls come too fast
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bot.agent.agent import Team
from bot.agent.tools import Context, Tool, ToolOutput, ToolProblem
from bot.clock import DAY, HOUR, MINUTE, Clock
from bot.store import limits, spending, turns
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.spending import DailySpending
from bot.store.statements import lock
from bot.telemetry import Metrics

logger = logging.getLogger(__name__)

BUDGET_LOG_INTERVAL = HOUR
"""How often the log says that the workspace's day is used up."""
FOR_PEOPLE = 5
"""How many times both allowances of messages somebody has for what goes to people."""
STAFF_LINES = 12
"""Lines in an hour by which staff hear of customers who are over their allowance, of all customers together."""
UNKNOWN_COST = 0.01
"""US dollars that an answer is taken to cost when nothing is known of any."""
NOBODY = ""
"""A person who has spent nothing."""

TOO_FAST = (
    "Not run: too many look-ups were made for this person within a minute. Say which part is missing, do not guess "
    "it, and ask them to write again in a minute."
)
"""What the model reads instead of a result."""
TOO_MANY_CALLS = "too_many_calls"
"""The kind of problem that such a refusal is."""

Cap = Literal["customer", "workspace"]
"""Whose day is used up."""


Window = Literal["minute", "day"]
"""Of which time somebody's messages are used up."""
_WINDOWS: Mapping[Window, float] = {"minute": MINUTE, "day": DAY}


@dataclass(frozen=True, slots=True)
class OverLimit:
    """A message that is not answered."""

    window: Window
    tells_customer: bool
    """Once in the window."""
    tells_staff: bool
    """Once a day and customer, and not of everybody in one hour."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Messages that one person may have answered; shared by all processes."""

    clock: Clock
    per_minute: int
    per_day: int

    async def admit(self, tx: Transaction, item: InboxItem, *, for_people: bool = False) -> Window | None:
        """Count a message; None when it may be answered, or passed on with `for_people`, else whose bound forbids it.

        What has been begun before was counted then, and goes on. The time is that at which the message came: what
        waited for the process to start was not written in that moment.
        """
        if item.fence > 1 and not for_people:
            return None
        times = FOR_PEOPLE if for_people else 1
        kind = "people" if for_people else "messages"
        bounds: tuple[tuple[Window, int], ...] = (("minute", self.per_minute), ("day", self.per_day))
        for window, most in bounds:
            key, seconds = f"{kind}/{window}/{_whose(item)}", _WINDOWS[window]
            if not await limits.take(tx, key, times=times * most, seconds=seconds, now=item.received_at):
                return window
        return None

    async def tell(self, tx: Transaction, item: InboxItem, window: Window) -> OverLimit:
        """Whom to tell of it; in the transaction that queues what they are told."""
        now, told = self.clock.now(), f"told/{window}/{_whose(item)}"
        customer = await limits.take(tx, told, times=1, seconds=_WINDOWS[window], now=now)
        staff = customer and await limits.take(tx, f"told/staff/{_whose(item)}", times=1, seconds=DAY, now=now)
        staff = staff and await limits.take(tx, f"told/{item.thread.team}", times=STAFF_LINES, seconds=HOUR, now=now)
        return OverLimit(window, customer, staff)


def _whose(item: InboxItem) -> str:
    return f"{item.author_team}/{item.author}"


@dataclass(slots=True)
class Budgets:
    """Caps on a rolling day, in US dollars; None is no cap. What runs already is not stopped by them."""

    database: Database
    clock: Clock
    metrics: Metrics
    customer_daily: float | None = None
    workspace_daily: float | None = None
    answer_cost: float | None = None
    """What one answer may cost; None is no bound."""
    _told: float | None = field(default=None, init=False)
    """When the log last said so, on the clock that never jumps."""

    async def set_aside(self, item: InboxItem) -> Cap | None:
        """Which cap forbids an answer to this question; when none does, what it will cost is set aside.

        That counts as spent until the turn's end, so that of questions that come together no more are answered than
        the day has room for. An answer that an earlier attempt has begun is not weighed again.
        """
        if not self._has_caps:
            return None
        team, customer, since = item.thread.team, item.author, self.clock.now() - DAY
        async with self.database.transaction() as tx:
            # Where everybody's day has no end, one customer does not wait for another.
            await lock(tx, f"budget/{team}" if self.workspace_daily is not None else f"budget/{team}/{customer}")
            if await turns.recall(tx, item.id):
                return None
            cap = self._passed(await spending.spent(tx, team, customer, since=since))
            if cap is None:
                of_theirs = await spending.mean_of_answers(tx, team, customer, since=since)
                of_any = of_theirs or await spending.mean_of_answers(tx, team, since=since)
                cost = of_any or self.answer_cost or UNKNOWN_COST
                await spending.set_aside(tx, item, cost, now=self.clock.now())
        self._tell(cap, team)
        return cap

    async def used_up(self, team: str) -> Cap | None:
        """Whether the workspace's cap forbids what is done for staff; they may go on whoever the customer is."""
        if not self._has_caps:
            return None
        async with self.database.transaction() as tx:
            cap = self._passed(await spending.spent(tx, team, NOBODY, since=self.clock.now() - DAY))
        self._tell(cap, team)
        return cap

    @property
    def _has_caps(self) -> bool:
        return self.customer_daily is not None or self.workspace_daily is not None

    def _passed(self, spent: DailySpending) -> Cap | None:
        if self.workspace_daily is not None and spent.by_all >= self.workspace_daily:
            return "workspace"
        return "customer" if self.customer_daily is not None and spent.by_one >= self.customer_daily else None

    def _tell(self, cap: Cap | None, team: str) -> None:
        """Count it; when nobody is answered until somebody acts or time passes, an error once an hour."""
        if cap is not None:
            self.metrics.budget_used_up(cap)
        if cap != "workspace":
            return
        now = self.clock.monotonic()
        if self._told is not None and now - self._told < BUDGET_LOG_INTERVAL:
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
            allowed = await limits.take(tx, key, times=per_minute, seconds=MINUTE, now=clock.now())
        if not allowed:
            logger.warning("too many tool calls for one person", extra={**context.logged, "tool": tool.name})
            raise ToolProblem(TOO_FAST, code=TOO_MANY_CALLS)
        output = await tool.function(context, **arguments)
        return output if isinstance(output, ToolOutput) else ToolOutput(output)

    return replace(tool, function=run)
