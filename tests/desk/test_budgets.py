"""A day's money and a minute's tool calls."""

import asyncio
import logging

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.model import Usage
from bot.agent.tools import Context, ToolOutput, ToolProblem, tool
from bot.conversation import ThreadRef
from bot.desk.budgets import FOR_PEOPLE, STAFF_LINES, Allowance, Budgets, Cap, paced
from bot.store import inbox, spending, turns
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.store.spending import Purpose, Spending
from bot.telemetry import Metrics
from tests.desk.doubles import CUSTOMER_A, context_of
from tests.doubles.clock import ManualClock
from tests.turns.arrivals import arrival

TEAM = "T0FRONTDESK"
HOUR = 3_600.0


async def spend(
    database: Database,
    clock: ManualClock,
    key: str,
    cost: float,
    *,
    customer: str = "U0CUSTOMERA",
    purpose: Purpose = "answer",
) -> None:
    thread = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")
    async with database.transaction() as tx:
        row = Spending(key, purpose, thread, customer, ("small",), Usage(cost=cost))
        await spending.add(tx, row, now=clock.now())


async def set_aside(budgets: Budgets, item: InboxItem) -> Cap | None:
    async with budgets.database.transaction() as tx:
        return await budgets.set_aside(tx, item)


async def asks(database: Database, number: int, *, customer: str = "U0CUSTOMERA") -> InboxItem:
    """A question that waits to be answered; the first has the number 1."""
    async with database.transaction() as tx:
        await inbox.add(tx, arrival(f"{number}.1", author=customer), now=1.0)
        item = await inbox.start(tx, number)
    assert item is not None
    return item


async def test_without_caps_nothing_is_looked_up_and_nothing_set_aside(database: Database) -> None:
    clock = ManualClock()
    await spend(database, clock, "turn/1", 1_000.0)
    item = await asks(database, 1)
    budgets = Budgets(database, clock, Metrics())
    assert await set_aside(budgets, item) is None
    assert await budgets.used_up(TEAM) is None
    async with database.transaction() as tx:
        assert await turns.recall(tx, item.id) == {}


async def test_a_customers_cap_is_their_own(database: Database) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.5)
    await spend(database, clock, "turn/1", 0.5)
    assert await set_aside(budgets, await asks(database, 1)) == "customer"
    assert await set_aside(budgets, await asks(database, 2, customer="U0CUSTOMERB")) is None


async def test_what_staff_had_drafted_is_not_the_customers_to_pay(database: Database) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.5)
    await spend(database, clock, "drafts/7", 5.0, purpose="draft")
    assert await set_aside(budgets, await asks(database, 1)) is None
    await spend(database, clock, "summary/8", 0.5, purpose="summary")
    assert await set_aside(budgets, await asks(database, 2)) == "customer"


async def test_the_day_rolls(database: Database) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.5)
    await spend(database, clock, "turn/1", 1.0)
    clock.advance(24 * HOUR - 1)
    assert await set_aside(budgets, await asks(database, 1)) == "customer"
    clock.advance(2)
    assert await set_aside(budgets, await asks(database, 2)) is None


async def test_of_many_questions_at_once_no_more_are_answered_than_the_cap_and_one(database: Database) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=1.0)
    for number in (101, 102):
        await spend(database, clock, f"turn/{number}/small", 0.05)
        await spend(database, clock, f"turn/{number}/large", 0.15)
    questions = [await asks(database, number) for number in range(1, 21)]
    told = await asyncio.gather(*(set_aside(budgets, item) for item in questions))
    # 0.40 is spent; three at 0.20 fill the day.
    assert told.count(None) == 3


async def test_what_is_set_aside_goes_as_soon_as_the_cost_is_known(database: Database) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=1.0, answer_cost=1.0)
    first, second = await asks(database, 1), await asks(database, 2)
    assert await set_aside(budgets, first) is None
    assert await set_aside(budgets, second) == "customer"
    await spend(database, clock, "turn/1/small", 0.1)
    async with database.transaction() as tx:
        await turns.forget(tx, first.id)
    assert await set_aside(budgets, second) is None


@pytest.mark.parametrize(
    ("answer_cost", "others", "answered"),
    [(None, 0.0, 10), (0.05, 0.0, 2), (0.05, 0.02, 5)],
    ids=["a cent when nothing is known", "an answer's bound", "the mean of other people's answers"],
)
async def test_what_an_answer_will_cost_is_guessed_from_what_is_known(
    database: Database, answer_cost: float | None, others: float, answered: int
) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.0999, answer_cost=answer_cost)
    await spend(database, clock, "turn/101/small", others, customer="U0CUSTOMERB")
    told = [await set_aside(budgets, await asks(database, number)) for number in range(1, 16)]
    assert told.count(None) == answered


async def test_an_answer_that_has_begun_is_not_weighed_again(database: Database) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.5)
    item = await asks(database, 1)
    async with database.transaction() as tx:
        await turns.record(tx, item.id, {"stream": {"opened": []}}, attempt=1, now=1.0)
        begun_again = await inbox.start(tx, item.id)
    await spend(database, clock, "turn/1/small", 0.5)
    assert begun_again is not None
    assert await set_aside(budgets, begun_again) is None


async def test_a_question_that_was_closed_sets_nothing_aside(database: Database) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.005)
    first = await asks(database, 1)
    assert await set_aside(budgets, first) is None
    async with database.transaction() as tx:
        await inbox.finish(tx, first.id, "done", now=2.0)
    assert await set_aside(budgets, await asks(database, 2)) is None


async def test_the_workspaces_cap_holds_for_everybody_and_the_log_says_so_once_an_hour(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    clock, metrics = ManualClock(), Metrics()
    budgets = Budgets(database, clock, metrics, customer_daily=100.0, workspace_daily=1.0)
    await spend(database, clock, "turn/1", 0.6, customer="U1")
    await spend(database, clock, "turn/2", 0.6, customer="U2")
    with caplog.at_level(logging.ERROR):
        for number in (1, 2):
            assert await set_aside(budgets, await asks(database, number)) == "workspace"
        assert await budgets.used_up(TEAM) == "workspace"
        assert len(caplog.records) == 1
        clock.advance(HOUR)
        await budgets.used_up(TEAM)
    assert len(caplog.records) == 2
    assert b'frontdesk_budget_used_up_total{cap="workspace"} 4.0' in metrics.text()


async def test_what_runs_for_others_counts_against_the_workspaces_cap(database: Database) -> None:
    budgets = Budgets(database, ManualClock(), Metrics(), workspace_daily=1.0, answer_cost=1.0)
    assert await set_aside(budgets, await asks(database, 1)) is None
    assert await set_aside(budgets, await asks(database, 2, customer="U0CUSTOMERB")) == "workspace"


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


@pytest.mark.parametrize("jump", [-HOUR, HOUR, 12 * HOUR])
async def test_a_clock_that_jumps_gives_nobody_a_new_budget(database: Database, jump: float) -> None:
    clock = ManualClock()
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.5)
    await spend(database, clock, "turn/1", 1.0)
    clock.advance(jump)
    assert await set_aside(budgets, await asks(database, 1)) == "customer"
    clock.advance(25 * HOUR - min(jump, 0))
    assert await set_aside(budgets, await asks(database, 2)) is None


async def test_the_year_2038_is_a_year_like_others(database: Database) -> None:
    clock = ManualClock(2.0**31 + 100)
    budgets = Budgets(database, clock, Metrics(), customer_daily=0.5)
    await spend(database, clock, "turn/1", 1.0)
    assert await set_aside(budgets, await asks(database, 1)) == "customer"
    clock.advance(25 * HOUR)
    assert await set_aside(budgets, await asks(database, 2)) is None


def message(number: int, *, at: float, author: str = "U0CUSTOMERA", fence: int = 1) -> InboxItem:
    said = arrival(f"{number}.1", author=author)
    return InboxItem(
        number, "message", said.thread, said.ts, author, TEAM, said.body, attempts=1, received_at=at, fence=fence
    )


async def admitted(database: Database, allowance: Allowance, items: list[InboxItem], **more: bool) -> list[object]:
    async with database.transaction() as tx:
        return [await allowance.admit(tx, item, **more) for item in items]


async def test_a_minute_and_a_day_have_room_for_so_many_messages_of_one_person(database: Database) -> None:
    allowance = Allowance(ManualClock(), per_minute=3, per_day=5)
    now = 1_000_000.0
    first = await admitted(database, allowance, [message(number, at=now) for number in range(5)])
    assert first == [None, None, None, "minute", "minute"]
    later = await admitted(database, allowance, [message(number, at=now + 61) for number in range(4)])
    assert later == [None, None, "day", "minute"]
    assert await admitted(database, allowance, [message(1, at=now, author="U0CUSTOMERB")]) == [None]
    assert await admitted(database, allowance, [message(1, at=now + 2 * 24 * HOUR)]) == [None]


async def test_what_was_counted_once_is_not_counted_again_by_a_later_attempt(database: Database) -> None:
    allowance = Allowance(ManualClock(), per_minute=1, per_day=5)
    assert await admitted(database, allowance, [message(1, at=1.0), message(1, at=1.0, fence=2)]) == [None, None]
    assert await admitted(database, allowance, [message(2, at=1.0)]) == ["minute"]


async def test_what_goes_to_people_has_a_bound_of_its_own_that_is_wider(database: Database) -> None:
    allowance = Allowance(ManualClock(), per_minute=2, per_day=1_000)
    items = [message(number, at=1.0) for number in range(FOR_PEOPLE * 2 + 1)]
    told = await admitted(database, allowance, items, for_people=True)
    assert told == [None] * FOR_PEOPLE * 2 + ["minute"]
    assert await admitted(database, allowance, items[:1]) == [None]


async def test_one_window_has_one_notice_and_staff_hear_of_few(database: Database) -> None:
    clock = ManualClock()
    allowance = Allowance(clock, per_minute=1, per_day=5)

    async def told(item: InboxItem) -> tuple[bool, bool]:
        async with database.transaction() as tx:
            over = await allowance.tell(tx, item, "minute")
        return over.tells_customer, over.tells_staff

    assert [await told(message(number, at=1.0)) for number in range(3)] == [
        (True, True),
        (False, False),
        (False, False),
    ]
    clock.advance(61.0)
    assert await told(message(4, at=1.0)) == (True, False)
    everybody = [await told(message(1, at=1.0, author=f"U{number}")) for number in range(STAFF_LINES + 5)]
    assert [customer for customer, _ in everybody] == [True] * (STAFF_LINES + 5)
    assert [staff for _, staff in everybody].count(True) == STAFF_LINES - 1
