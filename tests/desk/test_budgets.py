"""A day's money and a minute's tool calls."""

import logging

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.model import Usage
from bot.agent.tools import Context, ToolOutput, ToolProblem, tool
from bot.conversation import ThreadRef
from bot.desk.budgets import Budgets, paced
from bot.store import spending
from bot.store.database import Database
from bot.store.spending import Spending
from bot.telemetry import Metrics
from tests.desk.doubles import CUSTOMER_A, context_of
from tests.doubles.clock import ManualClock

TEAM = "T0FRONTDESK"
HOUR = 3_600.0


async def spend(database: Database, clock: ManualClock, key: str, cost: float, *, customer: str) -> None:
    thread = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")
    async with database.transaction() as tx:
        row = Spending(key, "answer", thread, customer, ("small",), Usage(cost=cost))
        await spending.add(tx, row, now=clock.now())


async def test_without_caps_nothing_is_looked_up(database: Database) -> None:
    clock = ManualClock()
    await spend(database, clock, "turn/1", 1_000.0, customer="U1")
    assert await Budgets(database, clock, Metrics()).used_up(TEAM, "U1") is None


async def test_a_customers_cap_is_their_own(database: Database) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.5)
    await spend(database, clock, "turn/1", 0.49, customer="U1")
    assert await budgets.used_up(TEAM, "U1") is None
    await spend(database, clock, "turn/2", 0.01, customer="U1")
    assert await budgets.used_up(TEAM, "U1") == "customer"
    assert await budgets.used_up(TEAM, "U2") is None


async def test_the_day_rolls(database: Database) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.5)
    await spend(database, clock, "turn/1", 1.0, customer="U1")
    clock.advance(24 * HOUR - 1)
    assert await budgets.used_up(TEAM, "U1") == "customer"
    clock.advance(2)
    assert await budgets.used_up(TEAM, "U1") is None


async def test_the_workspaces_cap_holds_for_everybody_and_the_log_says_so_once_an_hour(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    clock, metrics = ManualClock(), Metrics()
    budgets = Budgets(database, clock, metrics, customer_daily=100.0, workspace_daily=1.0)
    await spend(database, clock, "turn/1", 0.6, customer="U1")
    await spend(database, clock, "turn/2", 0.6, customer="U2")
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert await budgets.used_up(TEAM, "U3") == "workspace"
        assert len(caplog.records) == 1
        clock.advance(HOUR)
        await budgets.used_up(TEAM, "U3")
    assert len(caplog.records) == 2
    assert b'frontdesk_budget_used_up_total{cap="workspace"} 4.0' in metrics.text()


@tool(title="Looking")
async def look(context: Context, what: str) -> ToolOutput:
    """Look."""
    del context
    return ToolOutput({"seen": what})


@tool(title="Calling a person", terminal=True)
async def call_person(context: Context) -> str:
    """Call a person."""
    del context
    return "called"


async def test_a_persons_calls_are_bounded_over_all_turns_and_come_back_with_time(database: Database) -> None:
    clock = ManualClock()
    team = paced(Team((Agent("one", "", (look,)),), entry="one"), database, clock, per_minute=2)
    (bounded,) = team["one"].tools
    context = context_of(CUSTOMER_A)
    arguments = bounded.read('{"what": "this"}')
    for _ in range(2):
        assert (await bounded.call(context, arguments)).content == {"seen": "this"}
    with pytest.raises(ToolProblem, match="within a minute"):
        await bounded.call(context, arguments)
    clock.advance(30)
    assert (await bounded.call(context, arguments)).ok


async def test_a_person_can_be_called_however_many_calls_there_were(database: Database) -> None:
    team = paced(Team((Agent("one", "", (call_person,)),), entry="one"), database, ManualClock(), per_minute=1)
    (bounded,) = team["one"].tools
    for _ in range(3):
        assert (await bounded.call(context_of(None), bounded.read(""))).content == "called"


async def test_a_bounded_tool_looks_to_the_model_as_before(database: Database) -> None:
    team = paced(Team((Agent("one", "", (look,)),), entry="one"), database, ManualClock(), per_minute=1)
    (bounded,) = team["one"].tools
    assert (bounded.name, bounded.schema, bounded.description) == (look.name, look.schema, look.description)
