"""What a name stands for, told by several processes."""

import asyncio

from bot.store import alias
from bot.store.alias import Alias
from bot.store.database import Database


async def test_a_name_stands_for_what_was_said_last(database: Database) -> None:
    async with database.transaction() as tx:
        assert await alias.of(tx, "kb/public") is None
        await alias.point(tx, "kb/public", "a" * 32, by="host-a", now=1.0)
    async with database.transaction() as tx:
        await alias.point(tx, "kb/public", "b" * 32, by="host-b", now=2.0)
    async with database.transaction() as tx:
        assert await alias.of(tx, "kb/public") == Alias("kb/public", "b" * 32, "host-b", 2.0)


async def test_several_may_say_it_at_once(database: Database) -> None:
    async def say(number: int) -> None:
        async with database.transaction() as tx:
            await alias.point(tx, "kb/public", str(number), by=f"host-{number}", now=float(number))

    async with asyncio.TaskGroup() as tasks:
        for number in range(12):
            tasks.create_task(say(number))
    async with database.transaction() as tx:
        found = await alias.of(tx, "kb/public")
    assert found is not None
    assert found.set_by == f"host-{found.target}"


async def test_names_are_found_by_how_they_begin_and_nothing_in_them_is_a_pattern(database: Database) -> None:
    async with database.transaction() as tx:
        for name in ("kb/public", "kb/public@b", "kb/public@a", "kb/internal@c", "kb/publi%@d"):
            await alias.point(tx, name, "x", by="host", now=1.0)
    async with database.transaction() as tx:
        assert [each.name for each in await alias.beginning(tx, "kb/public@")] == ["kb/public@a", "kb/public@b"]
        assert [each.name for each in await alias.beginning(tx, "kb/publi%")] == ["kb/publi%@d"]


async def test_what_was_set_again_since_is_not_forgotten(database: Database) -> None:
    async with database.transaction() as tx:
        old = await alias.point(tx, "kb/public@a", "x", by="host", now=1.0)
        new = await alias.point(tx, "kb/public@a", "x", by="host", now=2.0)
    async with database.transaction() as tx:
        await alias.drop(tx, old)
        assert await alias.of(tx, "kb/public@a") == new
        await alias.drop(tx, new)
        assert await alias.of(tx, "kb/public@a") is None
