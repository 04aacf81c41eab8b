"""What waits is counted for the metrics, with the age of the oldest."""

from bot.reporting.work_waiting import WorkWaiting
from bot.store import cases
from bot.store.database import Database
from bot.telemetry import Metrics
from tests.doubles.clock import ManualClock
from tests.store.rows import a_case


async def test_what_waits_is_shown_and_goes_when_nothing_waits(database: Database) -> None:
    clock, metrics = ManualClock(), Metrics()
    await database.migrate()
    counting = WorkWaiting(database, clock, metrics)
    async with database.transaction() as tx:
        opened = await cases.add(tx, a_case(opened_at=clock.now() - 90.0))
    await counting.count()
    told = metrics.text().decode()
    assert opened is not None
    assert 'frontdesk_waiting{what="cases"} 1.0' in told
    assert 'frontdesk_waiting_seconds{what="cases"} 90.0' in told
    assert 'frontdesk_waiting{what="posts"} 0.0' in told
    assert 'frontdesk_waiting_seconds{what="posts"} 0.0' in told
