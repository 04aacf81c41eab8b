"""The rows of the outbox: where they queue, what is found of them, and how each of them ends."""

from collections.abc import Sequence
from typing import Any

from bot.conversation import ThreadRef
from bot.store import cases, outbox
from bot.store.database import Database, Transaction
from bot.store.outbox import Outgoing
from tests.store.rows import a_case
from tests.turns.arrivals import TEAM

DM, AGENTS = "D0CUSTOMERA", "C0AGENTS"
THREAD = ThreadRef(TEAM, DM, "1.1")


def post(key: str, channel: str = DM, *, text: str = "", **fields: Any) -> Outgoing:
    return Outgoing(key, "post", channel, {"text": text or key}, **fields)


async def add(tx: Transaction, *rows: Outgoing) -> None:
    await outbox.add(tx, *rows, now=5.0)


async def stored(tx: Transaction, key: str) -> outbox.OutboxRow:
    row = await outbox.by_key(tx, key)
    assert row is not None
    return row


async def add_cases(tx: Transaction) -> tuple[int, int]:
    """The ids of two cases."""
    ids = []
    for ts in ("1.1", "2.2"):
        case = await cases.add(tx, a_case(thread=ThreadRef(TEAM, DM, ts)))
        assert case is not None
        ids.append(case.id)
    return ids[0], ids[1]


async def send(tx: Transaction, *keys: str) -> None:
    """Mark the posts as sent, with their keys as their ts."""
    for key in keys:
        await outbox.mark_sent(tx, await stored(tx, key), key, now=6.0)


def keys(rows: Sequence[outbox.OutboxRow]) -> list[str]:
    return [row.key for row in rows]


async def test_a_row_is_stored_whole_once_and_what_follows_it_is_queued_when_it_ends(database: Database) -> None:
    sent, failed = post("sent", source=(AGENTS, "3.3")), post("failed", epoch=("c", 2))
    async with database.transaction() as tx:
        case, _ = await add_cases(tx)
    whole = post(
        *("whole", DM),
        thread_ts="1.1",
        case_id=case,
        source=(AGENTS, "2.2"),
        epoch=("c", 1),
        when_sent=(sent,),
        when_failed=(failed,),
    )
    async with database.transaction() as tx:
        await add(tx, whole, post("bare"))
        await add(tx, post("whole", text="another"))
        row, bare = await stored(tx, "whole"), await stored(tx, "bare")
        assert (row.method, row.channel, row.thread_ts, row.payload) == ("post", DM, "1.1", {"text": "whole"})
        assert (row.case_id, row.source, row.epoch) == (case, (AGENTS, "2.2"), ("c", 1))
        assert (row.when_sent, row.when_failed) == ((sent,), (failed,))
        assert (row.state, row.attempts, row.ts, row.created_at, row.parent) == ("pending", 0, None, 5.0, None)
        assert (bare.source, bare.epoch, bare.when_sent, bare.when_failed) == (None, None, (), ())
        await outbox.mark_sent(tx, row, "8.8", now=6.0)
        assert ((await stored(tx, "whole")).state, (await stored(tx, "whole")).ts) == ("sent", "8.8")
        assert (await stored(tx, "sent")).source == (AGENTS, "3.3")
        assert await outbox.by_key(tx, "failed") is None
        now_is = await outbox.mark_failed(tx, row, "no", now=6.0)
        assert (now_is.state, (await stored(tx, "failed")).epoch) == ("failed", ("c", 2))


async def test_rows_of_one_thread_and_about_one_message_share_a_lane(database: Database) -> None:
    async with database.transaction() as tx:
        await add(tx, post("old", thread_ts="1.1"))
        await add(
            tx,
            *(post("own"), post("thread", thread_ts="1.1"), post("under_old", parent="old")),
            *(post("card", AGENTS), post("under_card", AGENTS, parent="card"), post("orphan", parent="unknown")),
            Outgoing("about", "react", DM, {"ts": "1.1", "name": "eyes"}),
            Outgoing("session", "session", DM, {"status": "x"}, thread_ts="1.1"),
        )
        lanes = {row.key: row.lane for row in await outbox.open_rows(tx)}
    assert lanes == {
        **dict.fromkeys(["old", "thread", "under_old", "about"], "@1.1"),
        **dict.fromkeys(["card", "under_card"], "/card"),
        "own": "/own",
        "orphan": "/unknown",
        "session": "session@1.1",
    }


async def test_the_first_open_row_of_each_lane_comes_next(database: Database) -> None:
    async with database.transaction() as tx:
        await add(tx, *(post(f"a{at}", thread_ts="1.1") for at in range(3)), post("b", thread_ts="2.2"))
        await add(tx, post("c", AGENTS, thread_ts="1.1"))
        await send(tx, "a0")
        await outbox.mark_sending(tx, (await stored(tx, "a1")).id, attempts=0)
        every: dict[str, Any] = {"besides": (), "channels": (), "limit": 9}
        assert keys(await outbox.heads(tx, **every)) == ["a1", "b", "c"]
        assert keys(await outbox.heads(tx, **{**every, "limit": 2})) == ["a1", "b"]
        assert keys(await outbox.heads(tx, **{**every, "besides": [(DM, "@1.1")]})) == ["b", "c"]
        assert keys(await outbox.heads(tx, **{**every, "channels": [DM]})) == ["c"]
        assert keys(await outbox.open_rows(tx)) == ["a1", "a2", "b", "c"]
        assert keys(await outbox.open_rows(tx, limit=1)) == ["a1"]
        found = [await outbox.head(tx, *lane) for lane in ((DM, "@1.1"), (AGENTS, "@1.1"), (DM, "@3.3"))]
        assert [row and row.key for row in found] == ["a1", "c", None]


async def test_a_row_is_marked_once_for_each_try_and_not_when_it_is_closed(database: Database) -> None:
    async with database.transaction() as tx:
        await add(tx, post("row"), post("closed"))
        row = await stored(tx, "row")
        assert [await outbox.mark_sending(tx, row.id, attempts=seen) for seen in (1, 0, 0, 1)] == [
            *(False, True),
            *(False, True),
        ]
        assert ((await stored(tx, "row")).state, (await stored(tx, "row")).attempts) == ("sending", 2)
        await send(tx, "closed")
        assert not await outbox.mark_sending(tx, (await stored(tx, "closed")).id, attempts=0)
        assert await outbox.drop_from_payload(tx, row.id, "author") == {"text": "row"}
        assert await outbox.drop_from_payload(tx, row.id, "text") == {}
        assert (await stored(tx, "row")).payload == {}
        assert await outbox.drop_from_payload(tx, 999, "text") is None


async def test_only_an_open_row_of_an_earlier_epoch_is_silenced(database: Database) -> None:
    async with database.transaction() as tx:
        await add(tx, post("now", epoch=(THREAD.key, 0)), post("none"))
        await add(tx, *(post(key, epoch=(THREAD.key, 1)) for key in ("old", "tried", "sent")))
        await send(tx, "sent")
        silenced = {
            key: await outbox.silence(tx, await stored(tx, key), attempts=1 if key == "tried" else 0)
            for key in ("now", "none", "old", "tried", "sent")
        }
        assert silenced == {"now": False, "none": False, "old": True, "tried": False, "sent": False}
        assert keys(await outbox.open_rows(tx)) == ["now", "none", "tried"]


async def test_what_people_wrote_is_found_as_it_is_read_now(database: Database) -> None:
    async with database.transaction() as tx:
        case, other = await add_cases(tx)
        of_case: dict[str, Any] = {"thread_ts": "1.1", "case_id": case}
        for at in range(1, 5):
            await add(tx, post(f"{at}.0", source=(AGENTS, f"{at}.5"), **of_case))
        await add(tx, post("5.0", source=(AGENTS, "5.5"), thread_ts="1.1", case_id=other), post("6.0", **of_case))
        await add(tx, post("7.0", source=(AGENTS, "7.5"), thread_ts="9.9", case_id=case))
        await send(tx, *(f"{at}.0" for at in (1, 2, 3, 5, 6, 7)))
        await add(tx, Outgoing("edit", "update", DM, {"text": "new"}, parent="1.0"))
        await add(tx, Outgoing("lost", "update", DM, {"text": "lost"}, parent="3.0"))
        await outbox.mark_failed(tx, await stored(tx, "lost"), "no", now=6.0)
        await add(tx, Outgoing("gone", "delete", DM, {}, parent="2.0"))
        whole = [("1.0", "new"), ("3.0", "3.0"), ("5.0", "5.0")]
        assert await outbox.relayed(tx, THREAD, latest=None) == whole
        assert await outbox.relayed(tx, THREAD, latest=2) == whole[1:]
        assert await outbox.relayed(tx, THREAD, latest=None, case_id=case) == whole[:2]
        assert await outbox.said_in_case(tx, case, DM, latest=9) == ["new", "3.0", "4.0", "7.0"]
        assert await outbox.said_in_case(tx, case, DM, latest=2) == ["4.0", "7.0"]
        assert await outbox.said_in_case(tx, case, AGENTS, latest=9) == []
        assert keys(await outbox.mirrors(tx, AGENTS, "1.5", "3.5")) == ["1.0", "3.0"]
        assert await outbox.mirrors(tx, DM, "1.5") == []
        found = [await outbox.by_place(tx, *place) for place in ((DM, "1.0"), (AGENTS, "1.0"), (DM, "4.0"))]
        assert [row and row.key for row in found] == ["1.0", None, None]


async def test_what_stands_in_a_lane_is_its_posts_with_their_updates(database: Database) -> None:
    async with database.transaction() as tx:
        case, other = await add_cases(tx)
        await add(tx, *(post(f"p{at}", thread_ts="1.1", case_id=case) for at in range(4)))
        await add(
            tx, post("other", thread_ts="1.1", case_id=other), post("elsewhere", AGENTS, thread_ts="1.1", case_id=case)
        )
        await add(tx, Outgoing("u1", "update", DM, {"text": "new"}, parent="p1", case_id=case))
        await add(tx, Outgoing("d2", "delete", DM, {}, parent="p2", case_id=case))
        await add(tx, Outgoing("x", "update", DM, {"text": "x"}, thread_ts="1.1", parent="unknown", case_id=case))
        await outbox.mark_failed(tx, await stored(tx, "p3"), "no", now=6.0)
        shown = await outbox.standing(tx, case, DM, "@1.1")
        assert shown == {"p0": {"text": "p0"}, "p1": {"text": "new"}}
        assert await outbox.standing(tx, case, DM, "@2.2") == {}
        assert keys(await outbox.posts_under(tx, "p2", "p0", "u", "el")) == ["p0", "p2", "elsewhere"]
        await outbox.reword(tx, await stored(tx, "p1"), "reworded")
        words = {row.key: row.payload.get("text") for row in await outbox.open_rows(tx)}
        assert {key for key, text in words.items() if text == "reworded"} == {"p1", "u1"}
