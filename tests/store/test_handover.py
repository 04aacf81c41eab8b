"""Which rows the queue of several processes gets next."""

from bot.conversation import ThreadRef
from bot.store import cases, handover, inbox, leases
from bot.store.database import Database
from tests.store.rows import a_case
from tests.turns.arrivals import TEAM, arrival


async def arrive(database: Database, *said: tuple[str, str, str]) -> None:
    """Messages, each by its ts, author and thread."""
    async with database.transaction() as tx:
        for ts, author, thread in said:
            await inbox.add(tx, arrival(ts, author=author, thread_ts=thread, channel=f"D{author}"), now=1.0)


async def next_rows(database: Database, *, limit: int = 50, share: int = 3, room: int = 99) -> list[str]:
    """The ts of the rows that come next; they are in the queue then."""
    async with database.transaction() as tx:
        rows, _ = await handover.unhanded(tx, limit=limit, share=share, room=room, now=1.0)
        await handover.mark(tx, [row.id for row in rows], handed=True)
    return [row.ts for row in rows]


async def test_who_writes_much_has_a_share_and_what_is_done_makes_room(database: Database) -> None:
    await arrive(database, *((f"{number}.1", "U1", f"{number}.1") for number in range(1, 8)))
    await arrive(database, ("9.1", "U2", "9.1"))
    assert await next_rows(database) == ["1.1", "2.1", "3.1", "9.1"]
    assert await next_rows(database) == []
    async with database.transaction() as tx:
        await inbox.finish(tx, 1, "done", now=2.0)
    assert await next_rows(database) == ["4.1"]


async def test_what_comes_later_in_a_thread_waits_for_what_came_earlier(database: Database) -> None:
    async with database.transaction() as tx:
        for ts, author in (("1.1", "U1"), ("1.2", "U1"), ("1.3", "U2"), ("1.4", "U3")):
            thread = "1.1" if author != "U3" else "1.4"
            await inbox.add(tx, arrival(ts, author=author, thread_ts=thread, channel="C0SUPPORT"), now=1.0)
    assert await next_rows(database, share=1) == ["1.1", "1.4"]


async def test_no_more_than_the_limit_come_at_once(database: Database) -> None:
    await arrive(database, *((f"{number}.1", f"U{number}", f"{number}.1") for number in range(1, 6)))
    assert await next_rows(database, limit=2) == ["1.1", "2.1"]
    assert await next_rows(database, limit=9) == ["3.1", "4.1", "5.1"]


async def test_what_has_no_room_comes_in_order_as_room_becomes_free_and_a_burst_pushes_nobody_back(
    database: Database,
) -> None:
    await arrive(database, *((f"{number}.1", "U1", f"{number}.1") for number in range(1, 5)))
    await arrive(database, ("5.1", "U2", "5.1"), ("6.1", "U3", "6.1"))
    assert await next_rows(database, room=2) == ["1.1", "5.1"]
    assert await next_rows(database, room=2) == []
    async with database.transaction() as tx:
        await leases.beat(tx, "a worker", "work", now=1.0)
        await leases.beat(tx, "another one", "serve", now=1.0)
        await leases.beat(tx, "takes events only", "ingress", now=1.0)
    assert await next_rows(database, room=2) == ["2.1", "6.1"]


async def test_what_is_not_for_the_assistant_needs_no_room(database: Database) -> None:
    await arrive(database, ("1.1", "U1", "1.1"), ("2.1", "U2", "2.1"))
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("3.1", author="U3", kind="interaction"), now=1.0)
        await cases.add(tx, a_case(thread=ThreadRef(TEAM, "DU2", "2.1")))
    assert await next_rows(database, room=0) == ["2.1", "3.1"]
