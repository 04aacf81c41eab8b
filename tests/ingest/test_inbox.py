"""Stored first, acknowledged second."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import product
from typing import Any, cast

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.errors import StoreUnavailable
from bot.ingest.inbox import LATE, Inbox
from bot.store import inbox as rows
from bot.store import schema
from bot.store.bodies import InteractionBody, MessageBody
from bot.store.database import Database
from bot.store.inbox import Arrival
from bot.telemetry import Metrics
from tests.doubles.clock import ManualClock
from tests.doubles.unwell import Unwell
from tests.patience import patience
from tests.turns.arrivals import arrival


class Engine:
    """Records what it is given."""

    def __init__(self) -> None:
        self.submitted: list[tuple[int, str]] = []

    def submit(self, item_id: int, thread: str) -> None:
        self.submitted.append((item_id, thread))


class FullDisk(Database):
    """A database that cannot be written."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        async with self._database.transaction() as tx:
            yield tx
            raise StoreUnavailable("SQLITE_FULL")


@asynccontextmanager
async def running(database: Database, engine: Engine) -> AsyncIterator[Inbox]:
    inbox = Inbox(database, ManualClock(), Metrics())
    writer = asyncio.create_task(inbox.run(engine))
    try:
        yield inbox
    finally:
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)


async def test_an_accepted_message_is_on_disk_and_in_its_lane(database: Database) -> None:
    engine = Engine()
    async with running(database, engine) as inbox:
        await inbox.accept(arrival("1.1"))
    async with database.transaction() as tx:
        assert await rows.unfinished(tx) == engine.submitted == [(1, "T0FRONTDESK/D0CUSTOMERA/1.1")]


async def test_a_redelivered_event_is_acknowledged_and_answered_once(database: Database) -> None:
    engine = Engine()
    async with running(database, engine) as inbox:
        await inbox.accept(arrival("1.1"))
        await inbox.accept(arrival("1.1"))
    assert len(engine.submitted) == 1


async def test_a_mention_and_its_message_are_one_turn(database: Database) -> None:
    engine = Engine()
    async with running(database, engine) as inbox:
        await inbox.accept(arrival("1.1", channel="C0SUPPORT", event_id="EvMention"))
        await inbox.accept(arrival("1.1", channel="C0SUPPORT", event_id="EvMessage", addressed=False))
    assert len(engine.submitted) == 1


async def test_a_reply_counts_only_in_a_thread_that_is_a_conversation(database: Database) -> None:
    engine = Engine()
    async with running(database, engine) as inbox:
        await inbox.accept(arrival("1.2", thread_ts="1.1", channel="C0SUPPORT", addressed=False))
        await inbox.accept(arrival("2.1", channel="C0SUPPORT"))
        await inbox.accept(arrival("2.2", thread_ts="2.1", channel="C0SUPPORT", addressed=False))
    assert [thread for _, thread in engine.submitted] == ["T0FRONTDESK/C0SUPPORT/2.1"] * 2


async def test_a_burst_is_stored_in_few_transactions(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.ingest.inbox.ACCEPT_SECONDS", patience(30.0))
    engine = Engine()
    async with running(database, engine) as inbox:
        await asyncio.gather(*(inbox.accept(arrival(f"{number}.1")) for number in range(1_000)))
    async with database.transaction() as tx:
        assert (await tx.execute(text("select count(*) from inbox"))).scalar_one() == 1_000
        # Whatever was waiting shares one transaction, hence one time of receipt.
        assert (await tx.execute(text("select count(distinct received_at) from inbox"))).scalar_one() <= 4
    assert len(engine.submitted) == 1_000


async def test_what_cannot_be_stored_is_refused_and_starts_nothing(database: Database) -> None:
    engine = Engine()
    async with running(FullDisk(database), engine) as inbox:
        with pytest.raises(StoreUnavailable):
            await inbox.accept(arrival("1.1"))
    assert engine.submitted == []


class Corrupt(Database):
    """A database that fails in a way of its own at every event."""

    def __init__(self) -> None:
        self.asked = 0

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        self.asked += 1
        if self.asked:
            raise RuntimeError("database disk image is malformed")
        yield cast(AsyncConnection, None)


@pytest.mark.parametrize("field", ["event_id", "ts", "author", "author_team", "body"])
async def test_an_event_that_cannot_be_stored_is_kept_without_what_could_not_and_holds_up_nobody(
    database: Database, field: str
) -> None:
    harmful: dict[str, Any] = {field: MessageBody(cast(Any, b"not JSON")) if field == "body" else "Ev\ud83d"}
    poison = replace(arrival("1.1"), **harmful)
    engine = Engine()
    async with running(database, engine) as inbox:
        await asyncio.gather(*(inbox.accept(each) for each in (arrival("0.1"), poison, arrival("2.1"))))
        # Slack may deliver it once more.
        await inbox.accept(poison)
    assert len(engine.submitted) == 3
    async with database.transaction() as tx:
        bodies = (await tx.execute(select(schema.inbox.c.body).order_by(schema.inbox.c.id))).scalars().all()
    assert [bool(body.get("unstorable")) for body in bodies] == [False, True, False]


class Brittle(Engine):
    """Fails at the first row that it is given."""

    def submit(self, item_id: int, thread: str) -> None:
        super().submit(item_id, thread)
        if len(self.submitted) == 1:
            raise RuntimeError("no lane")


async def test_nothing_that_fails_behind_the_writer_ends_it(database: Database) -> None:
    engine = Brittle()
    async with running(database, engine) as inbox:
        await inbox.accept(arrival("1.1"))
        await inbox.accept(arrival("2.1"))
    assert len(engine.submitted) == 2


async def test_no_arrival_of_whatever_types_ends_the_writer(database: Database) -> None:
    fields = ("author", "author_team", "ts", "event_id", "thread", "body", "kind")
    odd_values: tuple[Any, ...] = (["U0CUSTOMERA"], {"id": "U0CUSTOMERA"}, 7, None)
    misses = []
    for number, (field, odd) in enumerate(product(fields, odd_values)):
        harmful: dict[str, Any] = {field: ThreadRef("T0FRONTDESK", odd, odd) if field == "thread" else odd}
        engine = Engine()
        async with running(database, engine) as inbox:
            with suppress(StoreUnavailable):
                await inbox.accept(replace(arrival(f"1.{number}"), **harmful))
            await inbox.accept(arrival(f"2.{number}"))
        if f"T0FRONTDESK/D0CUSTOMERA/2.{number}" not in [thread for _, thread in engine.submitted]:
            misses.append((field, odd))
    assert misses == []


async def test_what_fails_for_every_event_is_not_the_events_fault_and_nothing_is_acknowledged() -> None:
    engine, corrupt = Engine(), Corrupt()
    async with running(corrupt, engine) as inbox:
        told = await asyncio.gather(*(inbox.accept(arrival(f"{n}.1")) for n in range(3)), return_exceptions=True)
    assert [type(each) for each in told] == [StoreUnavailable] * 3
    assert corrupt.asked > 0
    assert engine.submitted == []


async def test_what_fails_for_another_reason_than_what_it_says_is_refused_and_stored_whole_when_it_comes_again(
    database: Database,
) -> None:
    engine, unwell = Engine(), Unwell(database, failures=2)
    async with running(unwell, engine) as inbox:
        with pytest.raises(StoreUnavailable):
            await inbox.accept(arrival("1.1", text="Where is my order?"))
        await inbox.accept(arrival("1.1", text="Where is my order?"))
    async with database.transaction() as tx:
        bodies = (await tx.execute(select(schema.inbox.c.body))).scalars().all()
    assert [(body["text"], bool(body.get("unstorable"))) for body in bodies] == [("Where is my order?", False)]


async def test_an_attempt_is_counted_before_the_work_begins(database: Database) -> None:
    async with running(database, Engine()) as inbox:
        await inbox.accept(arrival("1.1"))
    for attempt in (1, 2):
        async with database.transaction() as tx:
            item = await rows.start(tx, 1)
        assert item is not None
        assert item.attempts == attempt


async def test_a_finished_row_is_not_started_again(database: Database) -> None:
    async with running(database, Engine()) as inbox:
        await inbox.accept(arrival("1.1"))
    async with database.transaction() as tx:
        await rows.finish(tx, 1, "done", reason="answered", now=2.0)
    async with database.transaction() as tx:
        assert await rows.start(tx, 1) is None


def pressed(event_id: str, action: str) -> Arrival:
    return replace(arrival("1.1", event_id=event_id), kind="interaction", body=InteractionBody(action=action))


class Locked(FullDisk):
    """A database that another program holds until it lets go."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.let_go = asyncio.Event()

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        await self.let_go.wait()
        async with self._database.transaction() as tx:
            yield tx


async def test_that_nothing_is_stored_in_time_is_a_fault_before_the_database_says_why(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.ingest.inbox.ACCEPT_SECONDS", 0.02)
    monkeypatch.setattr("bot.ingest.inbox.WRITE_RETRY_INTERVAL", 0.02)
    locked, engine = Locked(database), Engine()
    async with running(locked, engine) as inbox:
        with pytest.raises(StoreUnavailable):
            await inbox.accept(arrival("1.1"))
        assert await inbox.find_fault() == LATE
        locked.let_go.set()
        monkeypatch.setattr("bot.ingest.inbox.ACCEPT_SECONDS", 10.0)
        await inbox.accept(arrival("1.1"))
        assert await inbox.find_fault() is None
    assert len(engine.submitted) == 1


class Slow(FullDisk):
    """A database that waits at a place of each transaction, for as long as a test lets it."""

    def __init__(self, database: Database, place: str) -> None:
        super().__init__(database)
        self.place = place
        self.is_there = asyncio.Event()
        self.let_go = asyncio.Event()

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        await self._stand("begin")
        async with self._database.transaction() as tx:
            yield SlowStatements(tx, self) if self.place == "statement" else tx  # type: ignore[misc]
            await self._stand("commit")

    async def _stand(self, place: str) -> None:
        if place == self.place:
            self.is_there.set()
            await self.let_go.wait()


class SlowStatements:
    """A connection that waits at its first statement."""

    def __init__(self, tx: AsyncConnection, database: Slow) -> None:
        self._tx = tx
        self._slow = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    async def execute(self, *arguments: Any) -> Any:
        await self._slow._stand("statement")
        return await self._tx.execute(*arguments)


async def texts_stored(database: Database) -> list[tuple[str, str]]:
    async with database.transaction() as tx:
        stored = await tx.execute(select(schema.inbox.c.kind, schema.inbox.c.event_id).order_by(schema.inbox.c.id))
        return [(row.kind, row.event_id) for row in stored]


@pytest.mark.parametrize("place", ["begin", "statement"])
async def test_a_press_that_was_refused_is_never_stored_and_a_message_is_once(
    database: Database, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Slack delivers a message again. Whoever presses sees an error, and presses again."""
    monkeypatch.setattr("bot.ingest.inbox.ACCEPT_SECONDS", 0.02)
    slow, engine = Slow(database, place), Engine()
    first = [pressed("EvFirst", "esc.human"), arrival("1.1", event_id="EvMessage"), pressed("EvSecond", "fb.score")]
    async with running(slow, engine) as inbox:
        told = await asyncio.gather(*(inbox.accept(each) for each in first), return_exceptions=True)
        slow.let_go.set()
        monkeypatch.setattr("bot.ingest.inbox.ACCEPT_SECONDS", patience(10.0))
        for again in (arrival("1.1", event_id="EvMessage"), pressed("EvAgain", "esc.human")):
            await inbox.accept(again)
    assert [type(each) for each in told] == [StoreUnavailable] * 3
    assert await texts_stored(database) == [("message", "EvMessage"), ("interaction", "EvAgain")]
    assert len(engine.submitted) == 2


async def test_a_press_whose_transaction_is_being_committed_waits_for_that(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins_within = patience(0.5)
    monkeypatch.setattr("bot.ingest.inbox.ACCEPT_SECONDS", begins_within)
    monkeypatch.setattr("bot.ingest.inbox.COMMIT_SECONDS", patience(10.0))
    slow, engine = Slow(database, "commit"), Engine()
    async with running(slow, engine) as inbox:
        accepted = asyncio.create_task(inbox.accept(pressed("EvPress", "esc.human")))
        await slow.is_there.wait()
        done, _ = await asyncio.wait({accepted}, timeout=1.2 * begins_within)
        slow.let_go.set()
        await accepted
    assert not done
    assert await texts_stored(database) == [("interaction", "EvPress")]


async def test_a_database_that_is_away_is_one_line_with_the_reason(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(FullDisk(database), Engine()) as inbox:
        with pytest.raises(StoreUnavailable):
            await inbox.accept(arrival("1.1"))
    (told,) = (record for record in caplog.records if record.message == "arrivals not stored")
    assert (told.levelname, told.exc_info, vars(told)["reason"]) == ("ERROR", None, "SQLITE_FULL")


class FillsUp(FullDisk):
    """A disk on which there is room again after a while."""

    is_full = True
    asked = 0

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        self.asked += 1
        async with self._database.transaction() as tx:
            yield tx
            if self.is_full:
                raise StoreUnavailable("SQLITE_FULL")


async def test_whether_there_is_room_again_is_seen_without_a_new_event(database: Database) -> None:
    disk, clock = FillsUp(database), ManualClock()
    inbox = Inbox(disk, clock, Metrics())
    assert (await inbox.find_fault(), disk.asked) == (None, 0)
    writing = asyncio.create_task(inbox.run(Engine()))
    with pytest.raises(StoreUnavailable):
        await inbox.accept(arrival("1.1"))
    writing.cancel()
    asked = disk.asked
    assert [await inbox.find_fault() for _ in range(3)] == ["SQLITE_FULL"] * 3
    assert disk.asked == asked + 1, "at most once a second"
    disk.is_full = False
    clock.advance(1.0)
    assert await inbox.find_fault() is None
    async with database.transaction() as tx:
        assert (await tx.execute(select(schema.schedule))).all() == []
