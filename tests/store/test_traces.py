"""Turns as people look at them."""

from dataclasses import replace

from bot.conversation import ThreadRef
from bot.store import inbox, traces, turns
from bot.store.database import Database
from bot.store.turns import TurnRecord
from tests.store.rows import a_turn
from tests.turns.arrivals import TEAM, arrival

THREAD = ThreadRef(TEAM, "C0SUPPORT", "1.1")
RECORD = a_turn(
    thread=THREAD,
    agent="orders",
    messages=[{"type": "customer", "text": "hi", "speaker": "", "ts": ""}],
    confidence=0.5,
)


async def keep(database: Database, *records: TurnRecord) -> None:
    async with database.transaction() as tx:
        for number, record in enumerate(records):
            await inbox.add(tx, arrival(f"1.{record.id}", channel="C0SUPPORT", thread_ts="1.1"), now=record.id)
            await turns.save(tx, record, now=11.0 + number)


async def test_the_newest_turns_come_last_and_can_be_narrowed_down(database: Database) -> None:
    elsewhere = replace(RECORD, id=2, thread=ThreadRef(TEAM, "D0CUSTOMERB", "9.9"), customer="U0CUSTOMERB")
    await keep(database, RECORD, elsewhere, replace(RECORD, id=3))
    async with database.transaction() as tx:
        assert [turn.id for turn in await traces.latest(tx, limit=9)] == [1, 2, 3]
        assert [turn.id for turn in await traces.latest(tx, limit=2)] == [2, 3]
        assert [turn.id for turn in await traces.latest(tx, limit=9, thread=THREAD.key)] == [1, 3]
        assert [turn.id for turn in await traces.latest(tx, limit=9, customer="U0CUSTOMERB")] == [2]


async def test_a_turn_is_found_in_every_thread_where_it_was_answered(database: Database) -> None:
    private = replace(RECORD, thread=ThreadRef(TEAM, "D0CUSTOMERA", "5.5"))
    trace = [{"type": "agent", "text": "secret", "calls": [], "agent": "orders"}]
    await keep(database, private, replace(RECORD, trace=trace))
    async with database.transaction() as tx:
        found = await traces.find(tx, 1)
        assert await traces.find(tx, 99) == []
    assert [(turn.thread, turn.trace) for turn in found] == [(private.thread.key, None), (THREAD.key, trace)]
    assert (found[0].attempts, found[0].received_at, found[0].finished_at) == (0, 1.0, 11.0)


async def test_what_really_happened_is_not_what_later_turns_see(database: Database) -> None:
    await keep(database, replace(RECORD, trace=[{"type": "note", "text": "for people"}]))
    async with database.transaction() as tx:
        (past,) = await turns.of_episode(tx, THREAD, 0, latest=30)
    assert past.messages == RECORD.messages


async def test_a_row_without_a_turn_says_how_it_stands(database: Database) -> None:
    async with database.transaction() as tx:
        for ts in ("1.1", "1.2"):
            await inbox.add(tx, arrival(ts), now=1.0)
        await inbox.finish(tx, 1, "done", reason="relayed", now=2.0)
        await inbox.start(tx, 2)
        for number, name in enumerate(("stream", "round-1")):
            await turns.record(tx, 2, {name: {}}, attempt=1, now=float(number))
        closed, running = await traces.find_row(tx, 1), await traces.find_row(tx, 2)
        assert await traces.find_row(tx, 3) is None
    assert closed is not None
    assert running is not None
    assert (closed.kind, closed.state, closed.reason, closed.steps) == ("message", "done", "relayed", [])
    assert (running.state, running.steps) == ("new", ["stream", "round-1"])
