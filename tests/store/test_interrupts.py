"""Stops, edits and deletions as rows: stored once, in any order, and noted on the rows they interrupt."""

from dataclasses import replace
from typing import Any, Literal

import pytest
from sqlalchemy import select

from bot.conversation import ThreadRef
from bot.store import cases, inbox, interrupts, schema, turns
from bot.store.bodies import DeleteBody, EditBody, StopBody
from bot.store.database import Database
from bot.store.inbox import Arrival
from bot.store.interrupts import StoredArrival
from tests.store.rows import a_case, a_turn
from tests.turns.arrivals import TEAM, arrival

SHARED = "C0SUPPORT"


def edit(of: str, at: str, text: str, **fields: Any) -> Arrival:
    thread_ts, channel = fields.pop("thread_ts", of), fields.pop("channel", "D0CUSTOMERA")
    anew, author = fields.pop("speaks_anew", False), fields.pop("author", "U0CUSTOMERA")
    said = arrival(at, channel=channel, thread_ts=thread_ts, kind="edit", author=author, **fields)
    return replace(said, body=EditBody(text, of=of, speaks_anew=anew))


def deletion(of: str, at: str, **fields: Any) -> Arrival:
    return replace(edit(of, at, "", **fields), kind="delete", body=DeleteBody(of))


def stop(thread_ts: str, at: str, *, streams: tuple[str, ...] = (), **fields: Any) -> Arrival:
    pressed = arrival(at, thread_ts=thread_ts, kind="stop", addressed=False, **fields)
    return replace(pressed, body=StopBody(streams))


def word(ts: str, **fields: Any) -> Arrival:
    return replace(arrival(ts, text="stop", **fields), stops=True)


def call(ts: str, **fields: Any) -> Arrival:
    return replace(arrival(ts, text="A person, please", **fields), calls=True)


async def store(database: Database, *arrivals: Arrival) -> list[StoredArrival]:
    async with database.transaction() as tx:
        return await interrupts.store_all(tx, arrivals, now=1.0)


async def rows(database: Database) -> list[tuple[str, str, str, str]]:
    """Every row as (kind, ts, state, interrupt), in the order of their coming."""
    table = schema.inbox
    async with database.transaction() as tx:
        found = await tx.execute(
            select(table.c.kind, table.c.ts, table.c.state, table.c.interrupt).order_by(table.c.id)
        )
        return [tuple(row) for row in found]


async def finish(database: Database, *items: int) -> None:
    async with database.transaction() as tx:
        for item in items:
            await inbox.finish(tx, item, "done", now=2.0)


async def test_an_edit_interrupts_the_open_row(database: Database) -> None:
    message, changed = await store(database, arrival("1.1"), edit("1.1", "2.0", "Another?"))
    assert message.item is not None
    assert (changed.told, changed.interrupt) == ((message.item,), "edited")
    assert await rows(database) == [("message", "1.1", "new", "edited"), ("edit", "2.0", "new", "")]


async def test_an_edit_that_comes_again_is_one_edit(database: Database) -> None:
    await store(database, arrival("1.1"), edit("1.1", "2.0", "Another?"))
    again, other_id = await store(
        database, edit("1.1", "2.0", "Another?"), edit("1.1", "2.0", "Another?", event_id="EvOther")
    )
    assert (again.item, other_id.item, other_id.told) == (None, None, ())


async def test_an_edit_of_the_same_words_costs_no_row(database: Database) -> None:
    _, same = await store(database, arrival("1.1"), edit("1.1", "2.0", "Where is my order?"))
    assert same.item is None


async def test_an_edit_back_to_the_first_words_counts_while_another_is_on_its_way(database: Database) -> None:
    stored = await store(
        database, arrival("1.1"), edit("1.1", "2.0", "Another?"), edit("1.1", "3.0", "Where is my order?")
    )
    assert stored[2].item is not None


async def test_an_edit_that_comes_after_a_later_one_is_dropped(database: Database) -> None:
    stored = await store(database, arrival("1.1"), edit("1.1", "3.0", "Third?"), edit("1.1", "2.0", "Second?"))
    assert stored[2].item is None


async def test_an_edit_before_its_message_is_the_message(database: Database) -> None:
    changed, message = await store(database, edit("1.1", "2.0", "Another?"), arrival("1.1"))
    assert message.item is None
    assert await rows(database) == [("message", "1.1", "new", "")]
    async with database.transaction() as tx:
        row = await interrupts.written(tx, TEAM, "D0CUSTOMERA", "1.1")
    assert row is not None
    assert (row.id, row.words, row.message.edited) == (changed.item, "Another?", "2.0")


async def test_a_deletion_before_its_message_leaves_nothing_to_answer(database: Database) -> None:
    gone, message = await store(database, deletion("1.1", "2.0"), arrival("1.1"))
    assert (gone.item, message.item) == (None, None)
    assert await rows(database) == [("message", "1.1", "dropped", "")]


async def test_an_old_message_of_which_nothing_is_known_is_not_answered_for_an_edit(database: Database) -> None:
    (old,) = await store(database, edit("1.1", "4000.0", "Another?"))
    assert old.item is None


async def test_an_edit_that_brings_our_name_is_a_new_message_however_old(database: Database) -> None:
    (anew,) = await store(database, edit("1.1", "9000.0", "Where?", channel=SHARED, speaks_anew=True))
    assert anew.item is not None
    assert await rows(database) == [("message", "1.1", "new", "")]


async def test_what_others_say_and_change_in_a_channel_is_none_of_ours(database: Database) -> None:
    stored = await store(
        database,
        edit("1.1", "2.0", "Hi", channel=SHARED, addressed=False),
        deletion("1.1", "3.0", channel=SHARED, addressed=False),
    )
    assert [each.item for each in stored] == [None, None]
    assert await rows(database) == []


async def test_what_was_said_before_a_thread_was_a_conversation_stays_what_it_was(database: Database) -> None:
    root, then = "1.1", arrival("1.5", thread_ts="1.1", channel=SHARED)
    early = {"thread_ts": root, "channel": SHARED, "addressed": False}
    _, changed, gone = await store(database, then, edit("1.2", "2.0", "Hi", **early), deletion("1.2", "3.0", **early))
    assert (changed.item, gone.item) == (None, None)
    assert len(await rows(database)) == 1


async def test_nobody_edits_the_words_of_somebody_else(database: Database) -> None:
    _, changed = await store(database, arrival("1.1"), edit("1.1", "2.0", "Another?", author="U0CUSTOMERB"))
    assert changed.item is None


async def test_a_deletion_outweighs_a_stop_and_a_stop_an_edit(database: Database) -> None:
    message, *_ = await store(
        database, arrival("1.1"), edit("1.1", "2.0", "Another?"), stop("1.1", "2.1"), edit("1.1", "2.2", "A third?")
    )
    assert (await rows(database))[0][3] == "stop"
    (gone,) = await store(database, deletion("1.1", "3.0"))
    assert message.item in gone.told
    assert (await rows(database))[0][3] == "deleted"


async def test_a_change_of_an_answered_message_is_a_row_and_no_interrupt(database: Database) -> None:
    (message,) = await store(database, arrival("1.1"))
    assert message.item is not None
    await finish(database, message.item)
    changed, gone = await store(database, edit("1.1", "2.0", "Another?"), deletion("1.1", "3.0"))
    assert (changed.told, gone.told) == ((), (changed.item,))
    assert (await rows(database))[0] == ("message", "1.1", "done", "")


async def test_a_typed_stop_ends_what_is_under_way_and_is_a_message_otherwise(database: Database) -> None:
    message, typed = await store(database, arrival("1.1"), word("1.2", thread_ts="1.1"))
    assert message.item is not None
    assert (typed.told, typed.interrupt) == ((message.item,), "stop")
    assert typed.item is not None
    await finish(database, message.item, typed.item)
    again, twin = await store(database, word("1.3", thread_ts="1.1"), word("1.2", thread_ts="1.1", event_id="EvTwin"))
    assert again.told == ()
    assert twin.item is None
    assert [row[0] for row in await rows(database)] == ["message", "stop", "message"]


async def test_a_typed_stop_of_somebody_else_is_a_message(database: Database) -> None:
    asked = arrival("1.1", channel=SHARED)
    _, typed = await store(database, asked, word("1.2", thread_ts="1.1", channel=SHARED, author="U0CUSTOMERB"))
    assert typed.told == ()
    assert [row[0] for row in await rows(database)] == ["message", "message"]


async def test_a_typed_stop_in_direct_messages_may_stand_beside_the_thread(database: Database) -> None:
    message, typed = await store(database, arrival("1.1"), word("1.2"))
    assert typed.told == (message.item,)
    assert typed.thread == ThreadRef(TEAM, "D0CUSTOMERA", "1.1").key


@pytest.mark.parametrize(("presser", "is_told"), [("U0CUSTOMERA", True), ("U0CUSTOMERB", False)])
async def test_in_a_channel_only_who_asked_may_press_stop(database: Database, presser: str, is_told: bool) -> None:
    message, pressed = await store(
        database, arrival("1.1", channel=SHARED), stop("1.1", "2.0", channel=SHARED, author=presser)
    )
    assert pressed.told == ((message.item,) if is_told else ())


async def test_a_stop_ends_the_answer_it_was_pressed_on_and_not_the_next(database: Database) -> None:
    first, then = await store(database, arrival("1.1"), arrival("1.2", thread_ts="1.1"))
    assert first.item is not None
    record = a_turn(id=first.item, ended="stopped", posts=["1.15"])
    async with database.transaction() as tx:
        await turns.save(tx, record, now=2.0)
    await finish(database, first.item)
    late, (new,) = (
        (await store(database, stop("1.1", "2.0", streams=("1.15",))))[0],
        await store(database, stop("1.1", "3.0", streams=("1.25",))),
    )
    assert late.told == ()
    assert new.told == (then.item,)


async def test_plain_arrivals_and_changes_of_one_burst_are_stored_in_their_order(database: Database) -> None:
    stored = await store(
        database, arrival("1.1"), edit("1.1", "1.2", "Another?"), arrival("1.3"), deletion("1.3", "1.4"), arrival("1.5")
    )
    assert [each.item is not None for each in stored] == [True] * 5
    assert [row[3] for row in await rows(database)] == ["edited", "", "deleted", "", ""]


@pytest.mark.parametrize(("presser", "counts"), [("U0CUSTOMERA", True), ("U0CUSTOMERB", False)])
async def test_only_a_stop_by_its_author_speaks_against_answering_an_edit(
    database: Database, presser: str, counts: bool
) -> None:
    _, changed = await store(
        database, arrival("1.1", channel=SHARED), edit("1.1", "2.0", "Is it lost?", channel=SHARED)
    )
    await store(database, stop("1.1", "3.0", channel=SHARED, author=presser))
    assert await _stopped_since(database, changed) is counts


async def test_a_stop_that_stopped_nothing_speaks_against_no_edit(database: Database) -> None:
    asked, changed = await store(database, arrival("1.1"), edit("1.1", "2.0", "Is it lost?"))
    assert asked.item is not None
    assert changed.item is not None
    await finish(database, asked.item, changed.item)
    await store(database, stop("1.1", "3.0"))
    assert not await _stopped_since(database, changed)


async def _stopped_since(database: Database, stored: StoredArrival) -> bool:
    async with database.transaction() as tx:
        row = (await tx.execute(select(schema.inbox).where(schema.inbox.c.id == stored.item))).one()
        return await interrupts.stopped_since(tx, inbox.item_of(row))


@pytest.mark.parametrize("channel", [SHARED, "D0CUSTOMERA"])
async def test_a_deletion_of_which_slack_names_no_author_is_of_the_row_that_stands_there(
    database: Database, channel: str
) -> None:
    unnamed = replace(deletion("1.2", "5.0", channel=channel), author="", author_team="", addressed=False)
    assert await store(database, unnamed) == [StoredArrival(None)]
    assert await rows(database) == []
    _, message = await store(
        database, arrival("1.1", channel=channel), arrival("1.2", thread_ts="1.1", channel=channel)
    )
    (gone,) = await store(database, unnamed)
    assert (gone.told, gone.interrupt) == ((message.item,), "deleted")
    async with database.transaction() as tx:
        row = (await tx.execute(select(schema.inbox).where(schema.inbox.c.id == gone.item))).one()
    assert (row.author, row.thread) == ("U0CUSTOMERA", f"{TEAM}/{channel}/1.1")


@pytest.mark.parametrize("kind", ["message", "interaction"])
async def test_a_call_for_a_person_interrupts_everything_that_its_author_has_open_in_the_thread(
    database: Database, kind: Literal["message", "interaction"]
) -> None:
    await store(
        database,
        arrival("1.1", channel=SHARED),
        arrival("1.2", thread_ts="1.1", channel=SHARED, author="U0CUSTOMERB"),
        arrival("1.3", thread_ts="1.1", channel=SHARED),
        arrival("2.1", channel=SHARED),
    )
    (stored,) = await store(database, call("1.4", thread_ts="1.1", channel=SHARED, kind=kind))
    assert (stored.interrupt, len(stored.told)) == ("called", 2)
    assert [(ts, interrupt) for _, ts, _, interrupt in await rows(database)] == [
        *(("1.1", "called"), ("1.2", ""), ("1.3", "called"), ("2.1", "")),
        ("1.4", ""),
    ]


async def test_a_call_that_comes_again_and_one_beside_an_open_case_interrupt_nothing(database: Database) -> None:
    again = call("1.2", thread_ts="1.1")
    await store(database, arrival("1.1"), again)
    (twice,) = await store(database, again)
    assert (twice.item, twice.told) == (None, ())
    async with database.transaction() as tx:
        await cases.add(tx, a_case(thread=ThreadRef(TEAM, "D0CUSTOMERA", "5.1")))
    await store(database, arrival("5.1"))
    (stored,) = await store(database, call("5.2", thread_ts="5.1"))
    assert (stored.interrupt, stored.told) == ("", ())
