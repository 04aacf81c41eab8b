"""Many transactions at once, as several processes make them: what reads first and then writes must hold."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.agent.model import Usage
from bot.conversation import ThreadRef
from bot.store import audit, inbox, interrupts, limits, outbox, schedule, schema, spending, summaries, threads
from bot.store.bodies import DeleteBody
from bot.store.database import Database, open_database
from bot.store.inbox import Arrival
from bot.store.outbox import Outgoing
from bot.store.spending import Spending
from bot.store.statements import lock
from bot.store.summaries import Summary
from tests.turns.arrivals import TEAM, arrival

THREAD = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")
MANY = 40


async def at_once(database: Database, work: Callable[[AsyncConnection, int], Awaitable[Any]]) -> list[Any]:
    """What the work came to, done many times at once, each in a transaction of its own."""

    async def once(number: int) -> Any:
        async with database.transaction() as tx:
            return await work(tx, number)

    return await asyncio.gather(*(once(number) for number in range(MANY)))


async def count(database: Database, table: str) -> int:
    async with database.transaction() as tx:
        number: int = (await tx.execute(select(func.count()).select_from(schema.metadata.tables[table]))).scalar_one()
    return number


async def test_an_event_that_comes_many_times_at_once_is_one_row(database: Database) -> None:
    async def store(tx: AsyncConnection, number: int) -> int | None:
        event = f"Ev{number % 2}"
        return await inbox.add(tx, arrival("1.1", event_id=event), now=1.0)

    ids = await at_once(database, store)
    assert len([item for item in ids if item is not None]) == 1
    assert await count(database, "inbox") == await count(database, "thread") == 1


async def test_groups_of_the_same_events_in_any_order_do_not_wait_for_each_other_in_a_ring(database: Database) -> None:
    events = [arrival(f"{number}.1", channel=f"D{number % 5}") for number in range(20)]

    async def store(tx: AsyncConnection, number: int) -> list[int | None]:
        return await inbox.add_all(tx, events[number % 20 :] + events[: number % 20], now=1.0)

    stored = await at_once(database, store)
    assert sorted(item for ids in stored for item in ids if item is not None) == sorted(
        {item for ids in stored for item in ids if item is not None}
    )
    assert await count(database, "inbox") == 20


async def test_a_row_is_begun_by_as_many_as_its_attempts_say(database: Database) -> None:
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)

    async def start(tx: AsyncConnection, _: int) -> int:
        item = await inbox.start(tx, 1)
        assert item is not None
        return item.attempts

    assert sorted(await at_once(database, start)) == list(range(1, MANY + 1))


@pytest.mark.parametrize("message_first", [True, False])
async def test_a_message_that_is_deleted_as_it_comes_is_not_answered(
    database: Database, *, message_first: bool
) -> None:
    """Whichever is first, and however they meet: the row is closed, or the deletion interrupts it."""
    said = [arrival(f"{number}.1", thread_ts=f"{number}.1") for number in range(100, 100 + MANY)]
    side_effects = [
        replace(each, event_id=f"{each.event_id}/gone", kind="delete", ts=f"{each.ts}1", body=DeleteBody(each.ts))
        for each in said
    ]

    async def store(one: Arrival) -> None:
        async with database.transaction() as tx:
            await interrupts.store_all(tx, [one], now=1.0)

    pairs = zip(said, side_effects, strict=True) if message_first else zip(side_effects, said, strict=True)
    await asyncio.gather(*(store(one) for pair in pairs for one in pair))
    table = schema.inbox
    async with database.transaction() as tx:
        rows = (await tx.execute(select(table).where(table.c.kind == "message"))).all()
    assert len(rows) == MANY
    assert {(row.state, row.interrupt) for row in rows} <= {("dropped", ""), ("new", "deleted")}


async def test_what_is_due_falls_to_one(database: Database) -> None:
    async def take(tx: AsyncConnection, _: int) -> bool:
        await schedule.plan(tx, "kb-refresh", rule="1h", due=50.0)
        return await schedule.take(tx, "kb-refresh", now=60.0, then=100.0)

    assert (await at_once(database, take)).count(True) == 1


async def test_a_pace_is_not_passed_however_many_ask(database: Database) -> None:
    async def take(tx: AsyncConnection, _: int) -> bool:
        return await limits.take(tx, "tools/U1", times=7, seconds=60.0, now=1_000.0)

    assert (await at_once(database, take)).count(True) == 7


async def test_one_key_is_one_post_one_summary_one_use_one_verdict(database: Database) -> None:
    async def write(tx: AsyncConnection, number: int) -> tuple[bool, bool]:
        await outbox.add(tx, Outgoing("case/1/card", "post", "C0AGENTS", {"text": str(number)}), now=1.0)
        await audit.rate(tx, "turn/1", "U1", f"{number}", now=float(number))
        made = await summaries.save(tx, THREAD, 0, Summary("1.1", f"{number}"), now=1.0)
        use = Spending("turn/1", "answer", THREAD, "U1", ("small",), Usage(cost=1.0))
        return made, await spending.add(tx, use, now=1.0)

    told = await at_once(database, write)
    assert [made for made, _ in told].count(True) == [added for _, added in told].count(True) == 1
    for table in ("outbox", "feedback", "summary", "spending"):
        assert await count(database, table) == 1


async def test_no_fresh_episode_is_lost(database: Database) -> None:
    async with database.transaction() as tx:
        await threads.add_thread(tx, THREAD, now=1.0)

    async def begin(tx: AsyncConnection, number: int) -> None:
        await threads.begin_episode(tx, THREAD, note=str(number))

    await at_once(database, begin)
    async with database.transaction() as tx:
        state = await threads.find_thread(tx, THREAD)
    assert state is not None
    assert state.episode == MANY


async def test_who_holds_a_lock_sees_what_the_one_before_wrote(database: Database) -> None:
    async def append(tx: AsyncConnection, _: int) -> None:
        await lock(tx, "counting")
        known = (await tx.execute(select(func.count()).select_from(schema.audit))).scalar_one()
        await audit.note(tx, actor="U1", action="counted", subject=f"{known}", now=1.0)

    await at_once(database, append)
    async with database.transaction() as tx:
        counted = (await tx.execute(select(schema.audit.c.subject))).scalars().all()
    assert sorted(map(int, counted)) == list(range(MANY))


async def test_a_lock_is_free_again_when_its_transaction_failed(database: Database, database_url: str) -> None:
    async def fail() -> None:
        async with database.transaction() as tx:
            await lock(tx, "one")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with open_database(database_url) as other, other.transaction() as tx:
        await lock(tx, "one")
