"""What a backup is worth: taken while the product serves, put back after a crash."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.stories.world import PATIENCE, Post, World, open_world, product_environment, run_product

pytestmark = pytest.mark.asyncio(loop_scope="module")

RETURNS = "How do I return an item?"
PERSON = "I want to talk to a real person"


async def run(world: World, *command: str) -> None:
    status, told = await run_product(product_environment(world, world.data), *command)
    assert status == 0, told


async def put_back(world: World, backup: Path) -> None:
    """As docs/guides/backups.md says."""
    for path in world.data.glob("frontdesk.db*"):
        path.unlink()
    await run(world, "restore", str(backup))


async def test_a_backup_that_was_taken_while_it_served_is_put_back_and_nothing_is_said_twice(tmp_path: Path) -> None:
    async with open_world(tmp_path / "world") as world:
        helped = await world.customer.says(PERSON)
        card = await world.card_of(helped)
        await world.staff.presses(card, "case.claim")
        await world.customer.reads(helped, having=lambda seen: "Agent A" in seen.text)
        answered = await world.other_customer.says(RETURNS)
        await world.other_customer.reads(answered)
        running = await world.other_customer.says(RETURNS)
        await world.under_way(running, having="Sign in")
        await run(world, "backup", str(tmp_path / "backup"))
        await world.other_customer.reads(running)
        lost = await world.third_customer.says(PERSON)
        await world.third_customer.reads(lost, having=lambda seen: "FD-1002" in seen.text)

        await world.bot("kill")
        await put_back(world, tmp_path / "backup")
        await world.bot("restart")
        async with asyncio.timeout(PATIENCE):
            while (await world.health())["status"] != 200:
                await world.next_change()

        await world.staff.says("Your parcel leaves today.", to=card)
        await world.customer.reads(helped, having=lambda seen: "leaves today" in seen.text)
        assert await cases(world) == ["FD-1001"]
        # What was under way when the backup was made is gone over again, and found to be there.
        again = await world.other_customer.says(RETURNS)
        assert "open My orders" in plain((await world.other_customer.reads(again)).text)
        assert [len(await world.replies(each)) for each in (answered, running, again)] == [1, 1, 1]
        assert await whole(world, running)


async def cases(world: World) -> list[str]:
    status, listed = await run_product(product_environment(world, world.data), "cases", "list", "--all")
    assert status == 0, listed
    return re.findall(r"^FD-\d+", listed, re.MULTILINE)


async def whole(world: World, asked: Post) -> bool:
    """Whether the answer in the post's thread is complete and said once."""
    (answer,) = await world.replies(asked)
    return plain(answer.raw["text"]).count("within 7 days") == 1


def plain(text: str) -> str:
    return " ".join(text.replace("*", " ").split())
