"""Whose a turn is: whoever began on it last. An older attempt, as of a process that was frozen, changes nothing."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from bot.agent.journal import WRITE
from bot.conversation import ThreadRef
from bot.errors import Superseded
from bot.ingest.engine import RetryingRunner
from bot.store import attempts, cases, inbox, outbox, turns
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing
from bot.turns.answers.journal import TurnJournal, open_journal
from tests.doubles.clock import ManualClock
from tests.patience import patience
from tests.store.rows import a_case, a_turn
from tests.turns.arrivals import TEAM, arrival

THREAD = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")


async def begin(database: Database) -> tuple[InboxItem, TurnJournal]:
    """One more attempt at the one row there is."""
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)
        item = await inbox.start(tx, 1)
    assert item is not None
    return item, await open_journal(database, ManualClock(), turn=1, attempt=item.fence)


async def test_an_older_attempt_learns_so_before_every_step_and_may_record_none(database: Database) -> None:
    _, old = await begin(database)
    await old.record("round-1", {"said": "old"})
    assert await old.recall("round-2") is None
    _, new = await begin(database)
    assert await new.recall("round-1") == {"said": "old"}
    with pytest.raises(Superseded):
        await old.recall("round-1")
    with pytest.raises(Superseded):
        await old.record("round-2", {"said": "old"})
    with pytest.raises(Superseded):
        await old.record("round-1", {"said": "older"})
    await new.record("round-2", {"said": "new"})
    async with database.transaction() as tx:
        assert await turns.recall(tx, 1) == {"round-1": {"said": "old"}, "round-2": {"said": "new"}}


async def test_an_attempt_that_was_just_confirmed_is_not_asked_about_again_before_a_look_up(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "SURE_SECONDS", patience(60))
    item, old = await begin(database)
    with attempts.working_on(item.id, item.fence):
        await old.record("round-1", {"said": "old"})
        await begin(database)
        assert await old.recall("call-1") is None
        # What changes something outside is asked about in any case, and so is what is visible.
        with pytest.raises(Superseded):
            await old.recall(f"{WRITE}refund")
        with pytest.raises(Superseded):
            await old.check("stream")
        with pytest.raises(Superseded):
            await old.record("call-1", {"n": 1})
        # The process was frozen.
        monkeypatch.setattr(attempts, "SURE_SECONDS", 0.0)
        with pytest.raises(Superseded):
            await old.recall("call-1")


async def test_a_later_attempt_sees_what_an_earlier_one_recorded_after_it_had_begun_to_look(database: Database) -> None:
    _, journal = await begin(database)
    async with database.transaction() as tx:
        await turns.record(tx, 1, {"call-1": {"n": 1}}, attempt=1, now=1.0)
    assert await journal.recall("call-1") == {"n": 1}
    assert len(journal.rounds) == 0


async def test_an_attempt_that_is_taken_back_is_another_one_all_the_same(database: Database) -> None:
    first, _ = await begin(database)
    with attempts.working_on(first.id, first.fence):
        async with database.transaction() as tx:
            await inbox.uncount(tx, first.id)
    second, _ = await begin(database)
    assert (second.attempts, second.fence) == (1, 2)
    with attempts.working_on(first.id, first.fence), pytest.raises(Superseded):
        async with database.transaction() as tx:
            await inbox.uncount(tx, first.id)


async def queue_a_post(database: Database, item: InboxItem) -> None:
    async with database.transaction() as tx:
        await outbox.add(tx, Outgoing(f"turn/{item.id}/masked", "post", "D0CUSTOMERA", {"text": "x"}), now=1.0)


async def open_a_case(database: Database, item: InboxItem) -> None:
    async with database.transaction() as tx:
        await cases.add(tx, a_case(thread=item.thread, customer=item.author))


async def keep_the_turn(database: Database, item: InboxItem) -> None:
    async with database.transaction() as tx:
        await turns.save(tx, a_turn(id=item.id, thread=item.thread, ts=item.ts), now=1.0)


async def close_the_row(database: Database, item: InboxItem) -> None:
    async with database.transaction() as tx:
        await inbox.finish(tx, item.id, "done", now=1.0)


EFFECTS = [queue_a_post, open_a_case, keep_the_turn, close_the_row]


@pytest.mark.parametrize("effect", EFFECTS)
async def test_what_an_older_attempt_would_leave_behind_is_refused(
    database: Database, effect: Callable[[Database, InboxItem], Coroutine[Any, Any, None]]
) -> None:
    old, _ = await begin(database)
    new, _ = await begin(database)
    with attempts.working_on(old.id, old.fence), pytest.raises(Superseded):
        await asyncio.create_task(effect(database, old))
    async with database.transaction() as tx:
        assert await outbox.by_key(tx, "turn/1/masked") is None
        assert await cases.find_open(tx, THREAD) is None
        assert await turns.ended(tx, 1, THREAD) is None
        assert [row for row, _ in await inbox.unfinished(tx)] == [1]
    with attempts.working_on(new.id, new.fence):
        await effect(database, new)


async def test_a_superseded_attempt_ends_without_another_try() -> None:
    calls: list[int] = []

    async def take(item_id: int) -> None:
        calls.append(item_id)
        raise Superseded("attempt 1 at row 7: 2 has begun")

    assert await RetryingRunner(take, ManualClock()).take(7, asyncio.Semaphore(1))
    assert calls == [7]


async def test_what_is_noted_is_stored_with_the_next_step_and_not_before(database: Database) -> None:
    _, journal = await begin(database)
    journal.note("call-1", {"n": 1})
    assert journal.known("call-1") == await journal.recall("call-1") == {"n": 1}
    async with database.transaction() as tx:
        assert await turns.recall(tx, 1) == {}
    await journal.record("round-2", {"n": 2})
    async with database.transaction() as tx:
        assert await turns.recall(tx, 1) == {"call-1": {"n": 1}, "round-2": {"n": 2}}
    await journal.record("round-3", {"n": 3})
    async with database.transaction() as tx:
        assert [*await turns.recall(tx, 1)] == ["call-1", "round-2", "round-3"]


async def test_what_an_older_attempt_noted_is_not_stored(database: Database) -> None:
    _, old = await begin(database)
    old.note("call-1", {"n": 1})
    await begin(database)
    for name in ("round-2", "stream"):
        with pytest.raises(Superseded):
            await old.record(name, {"n": 2})
    async with database.transaction() as tx:
        assert await turns.recall(tx, 1) == {}


async def test_a_first_attempt_has_shown_nothing_and_after_any_step_a_stream_may_be_there(database: Database) -> None:
    _, first = await begin(database)
    assert first.standing("stream") is None
    async with database.transaction() as tx:
        await turns.record(tx, 1, {turns.SET_ASIDE: {"cost": 0.1}}, attempt=1, now=1.0)
    _, second = await begin(database)
    assert second.standing("stream") == {"opened": []}
    assert second.standing("private-stream") is None
