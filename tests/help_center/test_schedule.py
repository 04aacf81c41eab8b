"""Refreshing by the clock."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.help_center.recurrence import read_rule
from bot.help_center.schedule import NAME, URGENT_SECONDS, Schedule
from bot.store import schedule
from bot.store.database import Database
from tests.doubles.clock import ManualClock
from tests.patience import patience

HOUR = 3_600.0


@dataclass
class Refreshes:
    """The moments of refreshes, as hours since the start; the schedule is stopped after so many."""

    clock: ManualClock
    enough: int
    at: list[float] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.start = self.clock.now()

    async def __call__(self) -> None:
        self.at.append(round((self.clock.now() - self.start) / HOUR, 2))
        if len(self.at) == self.enough:
            self.done.set()


async def run(
    database: Database,
    refreshes: Refreshes,
    rule: str | None = "1h",
    *,
    processes: int = 1,
    is_urgent: Callable[[], bool] = lambda: False,
) -> None:
    """Let processes run until enough refreshes were made."""
    when = read_rule(rule) if rule else None
    running = [
        asyncio.create_task(
            Schedule(database, refreshes.clock, when, refreshes, is_urgent=is_urgent, chance=lambda: 0.0).run()
        )
        for _ in range(processes)
    ]
    async with asyncio.timeout(patience(20)):
        await refreshes.done.wait()
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def test_it_refreshes_at_the_start_and_then_by_the_rule(database: Database) -> None:
    refreshes = Refreshes(ManualClock(), enough=4)
    await run(database, refreshes)
    assert [round(at) for at in refreshes.at] == [0, 1, 2, 3]


async def test_of_several_processes_one_refreshes(database: Database) -> None:
    refreshes = Refreshes(ManualClock(), enough=3 + 3)
    await run(database, refreshes, processes=3)
    assert [round(at) for at in refreshes.at] == [0, 0, 0, 1, 2, 3], "at the start each, after that one of them"


async def test_a_clock_that_was_asleep_makes_up_for_what_it_missed_once(database: Database) -> None:
    clock = ManualClock()
    refreshes = Refreshes(clock, enough=2)
    await run(database, refreshes)
    clock.advance(50 * HOUR)
    refreshes.enough, refreshes.done = 5, asyncio.Event()
    await run(database, refreshes)
    assert [round(at) for at in refreshes.at] == [0, 1, 51, 52, 53]


async def test_without_a_rule_it_refreshes_once_and_plans_nothing(database: Database) -> None:
    async with database.transaction() as tx:
        await schedule.plan(tx, NAME, rule="1h", due=0.0)
    refreshes = Refreshes(ManualClock(), enough=1)
    await run(database, refreshes, None)
    async with database.transaction() as tx:
        assert await schedule.due(tx, NAME) is None


async def test_what_is_damaged_is_built_again_at_once_but_not_without_end(database: Database) -> None:
    refreshes = Refreshes(ManualClock(), enough=4)
    await run(database, refreshes, None, is_urgent=lambda: True)
    first, second, third = (refreshes.at[n + 1] - refreshes.at[n] for n in range(3))
    assert first < 0.02
    assert min(second, third) > 0.95 * URGENT_SECONDS / HOUR
