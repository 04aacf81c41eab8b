"""What waits is counted for the metrics, with the age of the oldest."""

from bot.reporting.work_waiting import WorkWaiting
from bot.store import cases, outbox
from bot.store.database import Database
from bot.store.outbox import Outgoing
from bot.telemetry import Metrics
from tests.doubles.clock import ManualClock
from tests.store.rows import a_case


async def test_what_waits_is_shown_and_goes_when_nothing_waits(database: Database) -> None:
    clock, metrics = ManualClock(), Metrics()
    await database.migrate()
    counting = WorkWaiting(database, clock, metrics, ["C0AGENTS", "C0BILLING"])
    async with database.transaction() as tx:
        opened = await cases.add(tx, a_case(opened_at=clock.now() - 90.0))
        for number, channel in enumerate(("C0AGENTS", "D0CUSTOMERA", "D0CUSTOMERB")):
            post = Outgoing(f"post/{number}", "post", channel, {"text": "Hello"})
            await outbox.add(tx, post, now=clock.now() - 10.0 * (number + 1))
    await counting.count()
    told = metrics.text().decode()
    assert opened is not None
    assert 'frontdesk_waiting{what="cases"} 1.0' in told
    assert 'frontdesk_waiting_seconds{what="cases"} 90.0' in told
    assert 'frontdesk_waiting{what="posts"} 3.0' in told
    assert 'frontdesk_waiting_seconds{what="actions"} 0.0' in told
    assert 'frontdesk_posts_waiting{channel="C0AGENTS"} 1.0' in told
    assert 'frontdesk_posts_waiting_seconds{channel="C0AGENTS"} 10.0' in told
    assert 'frontdesk_posts_waiting{channel="C0BILLING"} 0.0' in told
    assert 'frontdesk_posts_waiting_seconds{channel="C0BILLING"} 0.0' in told
    assert 'frontdesk_posts_waiting{channel="customers"} 2.0' in told
    assert 'frontdesk_posts_waiting_seconds{channel="customers"} 30.0' in told


async def test_the_wait_for_the_database_is_measured(database: Database) -> None:
    metrics = Metrics()
    database.observe = metrics.database_entered
    async with database.transaction(), database.reading():
        pass
    assert "frontdesk_database_wait_seconds_count 2.0" in metrics.text().decode()
