"""Limits: the money for answers in a day, and the messages and tool calls of one person.

Allowance     Limits how many messages of one person are answered in a minute and in a day.
  admit       Counts a message when its turn begins.
  tell        Decides who is told that a message was not answered.
Budgets       Limits what a customer and the workspace may spend in a day.
  set_aside   Checks the budgets before a question is answered, and reserves the cost of the answer.
  used_up     Checks the workspace's budget before something is done for staff.
paced         Returns a team whose tools refuse calls, in words for the model, when one person makes too many.
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
"""The least time between two log lines that say that the workspace's budget is used up."""
FOR_PEOPLE = 5
"""For messages that go to people, both allowances are multiplied by this."""
STAFF_LINES = 12
"""The most lines in an hour that tell staff about customers over their allowance, for all customers together."""
UNKNOWN_COST = 0.01
"""The assumed cost of an answer, in US dollars, if the cost of no earlier answer is known."""
NOBODY = ""
"""The id of a person who has spent nothing."""

TOO_FAST = (
    "Not run: too many look-ups were made for this person within a minute. Say which part is missing, do not guess "
    "it, and ask them to write again in a minute."
)
"""What the model reads instead of a result."""
TOO_MANY_CALLS = "too_many_calls"
"""The code of the problem that such a refusal raises."""

Cap = Literal["customer", "workspace"]
"""Whose budget is used up."""


Window = Literal["minute", "day"]
"""The window whose messages are used up."""
_WINDOWS: Mapping[Window, float] = {"minute": MINUTE, "day": DAY}


@dataclass(frozen=True, slots=True)
class OverLimit:
    """A message that is not answered."""

    window: Window
    tells_customer: bool
    """Whether the customer is told. They are told once in the window."""
    tells_staff: bool
    """Whether staff are told. They are told once a day for each customer, and at most STAFF_LINES times an hour."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The number of messages of one person that are answered. All processes share the counts."""

    clock: Clock
    per_minute: int
    per_day: int

    async def admit(self, tx: Transaction, item: InboxItem, *, for_people: bool = False) -> Window | None:
        """Count a message. Returns None if it may be answered (with `for_people`: passed on), else the window that is
        used up.

        A message that an earlier attempt has begun was counted then, and continues. It counts at the time when it was
        received, because messages that waited for the process to start were not all written at that moment.
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
        """Decide who is told. Must run in the transaction that queues the messages to them."""
        now, told = self.clock.now(), f"told/{window}/{_whose(item)}"
        customer = await limits.take(tx, told, times=1, seconds=_WINDOWS[window], now=now)
        staff = customer and await limits.take(tx, f"told/staff/{_whose(item)}", times=1, seconds=DAY, now=now)
        staff = staff and await limits.take(tx, f"told/{item.thread.team}", times=STAFF_LINES, seconds=HOUR, now=now)
        return OverLimit(window, customer, staff)


def _whose(item: InboxItem) -> str:
    return f"{item.author_team}/{item.author}"


@dataclass(slots=True)
class Budgets:
    """Caps on a rolling day, in US dollars. None means no cap. A cap does not stop an answer that already runs."""

    database: Database
    clock: Clock
    metrics: Metrics
    customer_daily: float | None = None
    workspace_daily: float | None = None
    answer_cost: float | None = None
    """The most that one answer may cost, in US dollars. None means no limit."""
    _told: float | None = field(default=None, init=False)
    """When the log last said that the workspace's budget is used up, on the monotonic clock."""

    async def set_aside(self, tx: Transaction, item: InboxItem) -> Cap | None:
        """The cap that forbids an answer to this question. If there is none, reserve the expected cost and return None.

        A reserved cost counts as spent until the turn ends, so that questions which arrive together do not exceed the
        budget. An answer that an earlier attempt has begun is not checked again.
        """
        if not self._has_caps:
            return None
        team, customer, since = item.thread.team, item.author, self.clock.now() - DAY
        # Without a cap for the workspace, customers need not wait for each other.
        await lock(tx, f"budget/{team}" if self.workspace_daily is not None else f"budget/{team}/{customer}")
        if item.fence > 1 and await turns.recall(tx, item.id):
            return None
        cap = self._passed(await spending.spent(tx, team, customer, since=since))
        if cap is None:
            expected = await spending.expected_cost(tx, team, customer, since=since)
            await spending.set_aside(tx, item, expected or self.answer_cost or UNKNOWN_COST, now=self.clock.now())
        self._tell(cap, team)
        return cap

    async def used_up(self, team: str) -> Cap | None:
        """The workspace's cap if it forbids work for staff. A customer's cap does not apply to staff."""
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
        """Count a used-up budget. For the workspace's, log an error too, at most once an hour."""
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
    """The same team, with a limit on each person's tool calls over all their turns. Terminal tools have no limit, so
    that a person can always be called."""
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
    async def run(context: Context, **arguments: Any) -> ToolOutput | Mapping[str, Any] | str:
        customer = context.customer
        key = f"tools/{customer.team}/{customer.user}"
        async with database.transaction() as tx:
            allowed = await limits.take(tx, key, times=per_minute, seconds=MINUTE, now=clock.now())
        if not allowed:
            logger.warning("too many tool calls for one person", extra={**context.logged, "tool": tool.name})
            raise ToolProblem(TOO_FAST, code=TOO_MANY_CALLS)
        return await tool.function(context, **arguments)

    return replace(tool, function=run)
