"""Vectors on a Chroma server that goes away and comes back, and customers who are answered all the while."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.doubles.chroma_server import ChromaServer, open_chroma_server
from tests.stories.stage import Stage
from tests.stories.world import PATIENCE, ROOT, World

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.long]

RETURNS = "How many days do I have to return an item?"


@dataclass(frozen=True, slots=True)
class Place:
    """The world, and the server that it was told of."""

    world: World
    server: ChromaServer
    pages: Path

    async def answered(self) -> str:
        """What a customer reads."""
        world = self.world
        return (await world.customer.reads(await world.customer.says(RETURNS))).text

    async def refreshed(self) -> str:
        """The report of a refresh."""
        before = len(await self.world.staff.ephemerals())
        await self.world.staff.runs("/kb refresh")

        def find(state: dict[str, Any]) -> str | None:
            told = [each["text"] for each in state["ephemerals"] if each["user"] == self.world.staff.user][before:]
            return next((text for text in told if "Generation" in text or "ot refreshed" in text), None)

        return await self.world.until(find, what="the report of the refresh")

    async def status(self, wanted: Callable[[str], bool]) -> str:
        """What /kb status tells, as soon as it is as wanted. A search may have to show it first."""
        async with asyncio.timeout(2 * PATIENCE):
            while not wanted(told := await self.world.staff.runs("/kb status")):
                await self.world.staff.runs("/kb search returns")
        return told


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[Place]:
    folder = tmp_path_factory.mktemp("chroma")
    pages = Path(shutil.copytree(ROOT / "demo" / "kb", folder / "help"))
    async with (
        open_chroma_server(folder / "server") as server,
        stage.open_world(folder / "world", kb=pages, env={"CHROMA_URL": server.url}) as world,
    ):
        yield Place(world, server, pages)


async def test_a_question_is_answered_from_pages_whose_vectors_are_on_the_server(place: Place) -> None:
    told = await place.status(lambda told: "generation 1" in told)
    assert place.server.url not in told
    assert ":warning:" not in told
    assert "30 days" in await place.answered()
    assert not list((place.world.data / "kb").glob("gen-*/chroma"))


async def test_while_the_server_is_away_words_answer_and_staff_are_told_until_it_is_back(place: Place) -> None:
    await place.server.kill()
    assert "30 days" in await place.answered()
    assert "would be answered" in await place.world.staff.runs(f"/kb search {RETURNS}")
    assert "by words only" in await place.world.staff.runs(f"/kb search {RETURNS}")
    told = await place.status(lambda told: ":warning:" in told)
    assert place.server.url in told
    assert "30 days" in await place.answered()

    await place.server.start()
    await place.status(lambda told: ":warning:" not in told)
    assert "30 days" in await place.answered()


async def test_a_refresh_without_the_server_fails_in_a_sentence_and_what_serves_goes_on(place: Place) -> None:
    await place.server.kill()
    page = place.pages / "moon.md"
    await asyncio.to_thread(page.write_text, "# Moon\n\nParcels to the moon take nine days.\n")
    told = await place.refreshed()
    assert "what serves keeps serving" in told
    assert place.server.url in told
    assert "30 days" in await place.answered()

    await place.server.start()
    assert "1 added" in await place.refreshed()
    told = await place.status(lambda told: ":warning:" not in told)
    assert "generation 2" in told
    assert "would be answered" in await place.world.staff.runs("/kb search How long do parcels to the moon take?")
