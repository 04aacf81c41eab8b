"""Two machines with an index each: `/kb` reaches one of them, and customers are answered by the other."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.doubles.postgres import Postgres
from tests.patience import patience
from tests.stories.stage import worker_environment
from tests.stories.test_learning import solved, suggested
from tests.stories.world import PATIENCE, ROOT, World, open_worker, open_world

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(patience(300)), pytest.mark.chaos]

MOON = "How long do parcels to the moon take?"


@dataclass(frozen=True, slots=True)
class Two:
    """The world, whose process takes what comes, and one process that works, on a data folder of its own."""

    world: World
    pages: Path

    async def status(self, wanted: Callable[[str], bool]) -> str:
        """What /kb status tells, as soon as it is as wanted."""
        async with asyncio.timeout(3 * PATIENCE):
            while not wanted(told := await self.world.staff.runs("/kb status")):
                await self.world.next_change()
        return told

    async def answered(self, having: str) -> None:
        """Ask until the answer says so."""
        async with asyncio.timeout(3 * PATIENCE):
            while having not in (await self.world.customer.reads(await self.world.customer.says(MOON))).text:
                await self.world.next_change()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> AsyncIterator[Two]:
    folder = tmp_path_factory.mktemp("two")
    pages = Path(shutil.copytree(ROOT / "demo" / "kb", folder / "help"))
    url = await postgres.create()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(postgres.drop, url)
        shared = {"DATABASE_URL": url}
        opening = open_world(folder / "world", kb=pages, env=shared, ingress_only=True)
        world = await stack.enter_async_context(opening)
        shared |= worker_environment(world, kb=pages)
        await stack.enter_async_context(open_worker(world, "one", env=shared, is_read=False))
        yield Two(world, pages)


async def test_a_machine_that_only_takes_messages_has_the_pages_too(two: Two) -> None:
    told = await two.status(lambda told: "as all 2 machines" in told)
    assert "27 documents" in told


async def test_a_refresh_that_reached_one_machine_is_in_the_answers_of_the_other(two: Two) -> None:
    page = two.pages / "moon.md"
    await asyncio.to_thread(page.write_text, "# Moon\n\nHow long do parcels to the moon take? Nine days.\n")
    await two.world.staff.runs("/kb refresh")
    await two.answered("Nine days")
    await two.status(lambda told: "as all 2 machines" in told and "28 documents" in told)


async def test_so_is_a_rollback(two: Two) -> None:
    assert "serves again, with 27 documents" in await two.world.staff.runs("/kb rollback")
    told = await two.status(lambda told: "as all 2 machines" in told and "27 documents" in told)
    assert ":warning:" not in told


async def test_an_article_that_was_added_on_one_machine_is_in_the_index_of_the_other(two: Two) -> None:
    _, card, ref = await solved(two.world)
    await two.world.staff.presses(await suggested(two.world, card), "kb.new")
    told = await two.status(lambda told: "as all 2 machines" in told and "`learned`: 1 document" in told)
    assert ":warning:" not in told
    assert len(list(two.world.data.rglob(f"learned/{ref}-1.md"))) == 2
    # Each has read it once and is content: nobody sends the other round in circles.
    assert "generation" in await two.status(lambda again: again.splitlines()[0] == told.splitlines()[0])
