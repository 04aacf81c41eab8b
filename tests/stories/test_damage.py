"""The index is damaged while it serves: customers are answered as well as can be, staff are told, and it mends."""

import asyncio
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.patience import patience
from tests.stories.stage import Stage
from tests.stories.world import PATIENCE, ROOT, Person, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

RETURNS = "How many days do I have to return an item?"
READ = "the knowledge base is read"
SILENT_SECONDS = 12.0
"""An answer must not wait for an index that does not answer: Chroma alone would wait 14 seconds for a lock."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A world whose documents may be changed."""
    folder = tmp_path_factory.mktemp("damage")
    shutil.copytree(ROOT / "demo" / "kb", folder / "help")
    async with stage.open_world(folder / "world", kb=folder / "help") as opened:
        yield opened


def served(world: World) -> Path:
    """The folder of the generation that CURRENT names."""
    kb = world.data / "kb"
    return kb / (kb / "CURRENT").read_text().strip()


async def status(world: World, wanted: Callable[[str], bool] = lambda told: True) -> str:
    """What /kb status tells, as soon as it is as wanted; what is waited for happens beside."""
    async with asyncio.timeout(PATIENCE):
        while not wanted(told := await world.staff.runs("/kb status")):
            await world.next_change()
    return told


async def refresh(world: World) -> str:
    before = len(await world.staff.ephemerals())
    await world.staff.runs("/kb refresh")
    return await report_to(world, world.staff, since=before)


async def report_to(world: World, person: Person, *, since: int) -> str:
    """The report of a refresh, once it has come; `since` is how many ephemeral messages the person had before."""

    def find(state: dict[str, Any]) -> str | None:
        told = [each["text"] for each in state["ephemerals"] if each["user"] == person.user][since:]
        return next((text for text in told if "Generation" in text or "ot refreshed" in text), None)

    return await world.until(find, what="the report of the refresh")


async def health(world: World) -> tuple[int, dict[str, Any]]:
    """The answer to GET /healthz; while nothing listens, 0."""
    try:
        async with world.http.get(f"{world.ready['bot']['url']}/healthz") as response:
            return response.status, await response.json()
    except aiohttp.ClientConnectionError:
        return 0, {}


async def answered(world: World) -> str:
    """What a customer reads who asks for something that the pages hold."""
    return (await world.customer.reads(await world.customer.says(RETURNS))).text


def move_pages(world: World, source: str, target: str) -> set[str]:
    """Move every page to another folder; their names."""
    here, there = world.data.parent / source, world.data.parent / target
    there.mkdir(exist_ok=True)
    names = {path.name for path in here.iterdir()}
    for name in names:
        (here / name).rename(there / name)
    return names


async def restart(world: World) -> None:
    """Restart the product; it has read its documents when this returns."""
    before = world.bot_log().count(READ)
    await world.bot("restart")
    async with asyncio.timeout(PATIENCE):
        while world.bot_log().count(READ) == before or (await health(world))[0] != 200:
            await world.next_change()


def overwrite(path: Path) -> None:
    """Other bytes in the same file, which the product has open."""
    with path.open("r+b") as file:
        file.write(b"nonsense" * (path.stat().st_size // 8))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 3)


@pytest.mark.long
async def test_while_chroma_is_locked_questions_are_answered_in_time(world: World) -> None:
    await answered(world)
    with closing(sqlite3.connect(served(world) / "chroma" / "chroma.sqlite3")) as other:
        other.execute("BEGIN EXCLUSIVE")
        begun = time.monotonic()
        for _ in range(3):
            assert "30 days" in await answered(world)
        assert time.monotonic() - begun < 3 * patience(SILENT_SECONDS)
    assert "30 days" in await answered(world)


@pytest.mark.parametrize("damage", [overwrite, truncate])
async def test_a_vector_index_that_breaks_is_made_anew_while_the_words_answer(
    world: World, damage: Callable[[Path], None]
) -> None:
    before = served(world)
    damage(before / "chroma" / "chroma.sqlite3")
    assert "30 days" in await answered(world)
    told = await status(world, lambda told: ":warning:" not in told)
    assert "generation" in told
    assert "30 days" in await answered(world)


@pytest.mark.long
async def test_a_vector_index_that_is_missing_at_the_start_is_made_anew(world: World) -> None:
    shutil.rmtree(served(world) / "chroma")
    await restart(world)
    assert "30 days" in await answered(world)
    await status(world, lambda told: ":warning:" not in told)


@pytest.mark.long
async def test_a_vector_index_that_breaks_again_and_again_leaves_the_words_and_a_warning(world: World) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            overwrite(served(world) / "chroma" / "chroma.sqlite3")
            assert "30 days" in await answered(world)
            if ":warning:" in await world.staff.runs("/kb status") and not building(world.data / "kb"):
                break
    assert "30 days" in await answered(world)
    code, told = await health(world)
    assert code == 200, "it serves, though not as well as it should"
    assert "vector index" in told["degraded"]

    assert "serves" in await refresh(world), "a person's word is worth another attempt"
    assert ":warning:" not in await status(world)
    assert (await health(world))[1]["degraded"] is None


async def test_texts_that_break_send_the_customer_to_a_person_until_they_are_built_again(world: World) -> None:
    away = move_pages(world, "help", "elsewhere")
    await restart(world)
    await status(world, lambda told: "The last refresh failed" in told)
    for generation in (world.data / "kb").glob("gen-*"):
        overwrite(generation / "kb.sqlite")

    asked = await world.customer.says(RETURNS)
    told = await world.customer.reads(asked, having=lambda seen: "can't search our help pages" in seen.text)
    assert "30 days" not in told.text
    await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)
    await world.card(having="couldn't be searched")
    assert "refresh the knowledge base" in await status(world)
    assert (await health(world))[1]["degraded"]

    assert "ot refreshed" in await refresh(world), "there is nothing to build it from"
    assert move_pages(world, "elsewhere", "help") == away
    assert "serves now" in await refresh(world)
    assert "30 days" in await answered(world)
    assert ":warning:" not in await status(world)
    assert (await health(world)) == (200, {"ready": True, "missing": None, "degraded": None})


@pytest.mark.long
async def test_an_index_that_cannot_be_opened_at_the_start_is_not_served_as_an_empty_one(world: World) -> None:
    move_pages(world, "help", "elsewhere")
    for generation in (world.data / "kb").glob("gen-*"):
        truncate(generation / "kb.sqlite")
    await world.bot("restart")
    asked = await world.customer.says(RETURNS)
    await world.customer.reads(asked, having=lambda seen: "can't search our help pages" in seen.text)
    code, told = await health(world)
    assert (code, told["ready"]) == (503, False)
    assert "knowledge base" in told["missing"]
    assert "nothing can be looked up" in await status(world)

    move_pages(world, "elsewhere", "help")
    assert "serves now" in await refresh(world)
    assert (await health(world))[0] == 200
    assert "30 days" in await answered(world)


@pytest.mark.long
async def test_when_the_newest_texts_break_the_generation_before_serves(world: World) -> None:
    page = world.data.parent / "help" / "returns.md"
    page.write_text(page.read_text().replace("30 days", "31 days"))
    assert "serves now" in await refresh(world)
    await restart(world)
    overwrite(served(world) / "kb.sqlite")
    await world.customer.reads(await world.customer.says(RETURNS))
    assert "is served instead" in await status(world, lambda told: "instead" in told)
    assert "30 days" in await answered(world)
    assert "serves now" in await refresh(world)
    assert "31 days" in await answered(world)
    page.write_text(page.read_text().replace("31 days", "30 days"))
    assert "1 changed" in await refresh(world)


@pytest.mark.long
async def test_an_index_that_was_removed_altogether_is_built_again(world: World) -> None:
    shutil.rmtree(world.data / "kb")
    assert "serves now" in await refresh(world)
    assert "30 days" in await answered(world)


async def test_a_builder_that_is_killed_changes_nothing_and_the_next_refresh_works(world: World) -> None:
    page = world.data.parent / "help" / "returns.md"
    page.write_text(page.read_text() + "\nOne more line.\n")
    before = len(await world.staff.ephemerals())
    await world.staff.runs("/kb refresh")
    os.kill(await builder_of(world), signal.SIGKILL)

    def find(state: dict[str, Any]) -> str | None:
        told = [each["text"] for each in state["ephemerals"] if each["user"] == world.staff.user][before:]
        return next((text for text in told if "ot refreshed" in text), None)

    assert "keeps serving" in await world.until(find, what="that the refresh failed")
    assert "The last refresh failed" in await status(world)
    assert "30 days" in await answered(world)
    assert "1 changed" in await refresh(world)
    assert "failed" not in await status(world)


async def builder_of(world: World) -> int:
    """The process that builds; it is started within moments."""
    async with asyncio.timeout(PATIENCE):
        while (found := building(world.data / "kb")) is None:
            await world.state()
    return found


def building(index: Path) -> int | None:
    """The process that builds there."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"knowledge.build.process" in words and str(index).encode() in words:
                return int(folder.name)
    return None


async def test_a_second_refresh_is_told_that_one_is_under_way(world: World) -> None:
    # What has not changed is read in no time.
    (world.data.parent / "help" / "news.md").write_text("# News\n\nWe have a shop in Fernwick now.\n", "utf-8")
    before = {person: len(await person.ephemerals()) for person in (world.staff, world.other_staff)}
    refresh_as = {"channel": "C0AGENTS", "command": "/kb", "text": "refresh"}
    await world.act("command", {"user": world.staff.user, **refresh_as})
    os.kill(builder := await builder_of(world), signal.SIGSTOP)
    await world.act("command", {"user": world.other_staff.user, **refresh_as})

    def find(state: dict[str, Any]) -> str | None:
        told = [each["text"] for each in state["ephemerals"] if each["user"] == world.other_staff.user]
        return next((text for text in told if "is already running" in text), None)

    await world.until(find, what="that a refresh is under way")
    os.kill(builder, signal.SIGCONT)
    # Whoever runs another refresh now would take the report of this one for theirs.
    for person, count in before.items():
        assert "serves" in await report_to(world, person, since=count)
    assert "serves" in await refresh(world)


async def test_pages_that_are_away_for_a_moment_are_not_forgotten(world: World) -> None:
    move_pages(world, "help", "elsewhere")
    assert "keeps serving" in await refresh(world)
    assert "30 days" in await answered(world)
    move_pages(world, "elsewhere", "help")
    assert "still serves" in await refresh(world)
    assert ":warning:" not in await status(world)
