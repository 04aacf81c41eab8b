"""When something is due, and who does it."""

from bot.store import schedule
from bot.store.database import Database

NAME = "kb-refresh"


async def test_it_falls_to_one_and_only_when_it_is_due(database: Database) -> None:
    async with database.transaction() as tx:
        await schedule.plan(tx, NAME, rule="1h", due=100.0)
        assert not await schedule.take(tx, NAME, now=99.0, then=199.0)
        assert [await schedule.take(tx, NAME, now=100.0, then=200.0) for _ in range(3)] == [True, False, False]
        assert await schedule.due(tx, NAME) == 200.0


async def test_a_plan_stays_until_its_rule_changes(database: Database) -> None:
    async with database.transaction() as tx:
        await schedule.plan(tx, NAME, rule="1d", due=1_000.0)
        await schedule.plan(tx, NAME, rule="1d", due=5_000.0)
        assert await schedule.due(tx, NAME) == 1_000.0
        await schedule.plan(tx, NAME, rule="1h", due=300.0)
        assert await schedule.due(tx, NAME) == 300.0


async def test_what_was_never_planned_or_is_forgotten_is_never_due(database: Database) -> None:
    async with database.transaction() as tx:
        assert await schedule.due(tx, NAME) is None
        assert not await schedule.take(tx, NAME, now=1e12, then=2e12)
        await schedule.plan(tx, NAME, rule="1h", due=0.0)
        await schedule.forget(tx, NAME)
        assert not await schedule.take(tx, NAME, now=1e12, then=2e12)
