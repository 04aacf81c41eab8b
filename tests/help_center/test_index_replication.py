"""Machines with an index of their own each: what one comes to serve, all serve."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from bot.help_center import texts
from bot.help_center.index_replication import (
    ABSENT_MACHINE_PERIOD,
    HEARTBEAT_SECONDS,
    MAX_HEARTBEAT_AGE_SECONDS,
    SOURCE_RETRY_DELAY,
    SYNC_SECONDS,
    IndexReplication,
    ReplicationStatus,
)
from bot.help_center.library import Bases, Library
from bot.store import alias
from bot.store.alias import Alias
from bot.store.database import Database, open_database
from knowledge import knowledge_base
from knowledge.audience import Audience
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import BuildFailed, BuildRefused, KnowledgeError
from knowledge.generations import Generations
from knowledge.knowledge_base import KnowledgeBase, open_knowledge_base
from knowledge.status import Status
from tests.doubles.chroma_server import ChromaServer, open_chroma_server
from tests.doubles.clock import ManualClock
from tests.help_center.test_library import STATUS
from tests.knowledge.pages import write_library
from tests.patience import patience

PATIENCE = patience(60.0)
NAME = "kb/public"


@dataclass
class OneMachine:
    """A base that reads its sources when it is told to, and keeps one generation to go back to."""

    name: str
    sources: str = "old"
    """What a refresh would come to."""
    content: str = "old"
    before: str = ""
    forced: bool = False
    follows: bool = False
    generation: int = 1
    is_settled: bool = True
    fails: KnowledgeError | None = None
    asked: list[bool] = field(default_factory=list)
    """Each refresh that another machine was the reason for: whether it was forced."""
    forgotten: list[str] = field(default_factory=list)
    is_nameless: bool = False
    """Its disk takes no name."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def replication(self, database: Database, clock: ManualClock) -> IndexReplication:
        return IndexReplication({"public": cast(Any, self)}, database, clock, self.refresh, machine=self.name)

    def become(self, content: str, *, forced: bool = False, follows: bool = False) -> None:
        """By its own doing, unless it `follows`."""
        if content != self.content:
            self.before, self.content, self.forced, self.follows = self.content, content, forced, follows
            self.generation += 1
            self.changed.set()

    async def status(self) -> Status:
        return replace(
            STATUS, content=self.content, forced=self.forced, follows=self.follows, generation=self.generation
        )

    async def identity(self) -> str:
        if self.is_nameless:
            raise OSError("read-only")
        return f"frontdesk-{self.name}"

    async def serve(self, content: str) -> bool:
        if content == self.before:
            self.become(content)
            return True
        return False

    async def refresh(self, audience: Audience, *, force: bool) -> None:
        assert audience == "public"
        self.asked.append(force)
        if self.fails:
            raise self.fails
        self.become(self.sources, forced=force, follows=True)

    async def forget(self, identity: str) -> None:
        self.forgotten.append(identity)


@dataclass
class Pair:
    """Two machines and what they share."""

    a: OneMachine
    b: OneMachine
    clock: ManualClock
    database: Database
    replications: tuple[IndexReplication, IndexReplication]

    async def look(self, times: int = 1) -> None:
        for _ in range(times):
            for replication in self.replications:
                self.clock.advance(SYNC_SECONDS)
                await replication.sync()

    async def wanted(self) -> Alias | None:
        async with self.database.transaction() as tx:
            return await alias.of(tx, NAME)


@pytest.fixture
async def pair(database: Database) -> Pair:
    clock, a, b = ManualClock(), OneMachine("a"), OneMachine("b")
    opened = Pair(a, b, clock, database, (a.replication(database, clock), b.replication(database, clock)))
    for replication in opened.replications:
        await replication.begin()
    return opened


async def test_a_refresh_on_one_machine_reaches_the_other_once(pair: Pair) -> None:
    pair.a.sources = pair.b.sources = "new"
    pair.a.become("new")
    await pair.look(5)
    assert (pair.b.content, pair.b.asked) == ("new", [False])
    assert pair.a.asked == []
    wanted = await pair.wanted()
    assert wanted is not None
    assert (wanted.target, wanted.set_by) == ("new", "a")


async def test_what_was_forced_on_one_machine_is_forced_on_the_other(pair: Pair) -> None:
    pair.b.sources = "new"
    pair.a.become("new", forced=True)
    await pair.look(2)
    assert (pair.b.content, pair.b.asked) == ("new", [True])


async def test_a_rollback_reaches_a_machine_that_keeps_the_same_and_nothing_is_read(pair: Pair) -> None:
    pair.b.sources = "new"
    pair.a.become("new")
    await pair.look(2)
    pair.b.asked.clear()
    pair.a.become("old")
    await pair.look(3)
    assert (pair.a.content, pair.b.content, pair.b.asked) == ("old", "old", [])


async def test_machines_whose_sources_differ_do_not_send_each_other_round_in_circles(pair: Pair) -> None:
    pair.a.sources, pair.b.sources = "here", "there"
    pair.a.become("here")
    await pair.look(20)
    wanted = await pair.wanted()
    assert wanted is not None
    assert wanted.target == "here"
    assert (pair.a.content, pair.b.content) == ("here", "there")
    assert (pair.a.asked, pair.b.asked) == ([], [False])

    pair.b.sources = "there too"
    pair.b.become("there too")
    await pair.look(20)
    assert (pair.a.asked, pair.b.asked) == ([False], [False])


async def test_what_another_process_on_the_same_disk_built_to_follow_is_told_to_nobody(pair: Pair) -> None:
    beside = pair.b.replication(pair.database, pair.clock)
    await beside.begin()
    pair.b.sources = "there"
    pair.a.become("here")
    await pair.look()
    await beside.sync()
    wanted = await pair.wanted()
    assert wanted is not None
    assert (wanted.target, pair.b.content) == ("here", "there")


async def test_going_back_to_what_was_built_to_follow_is_for_all(pair: Pair) -> None:
    pair.a.become("here")
    pair.b.sources = "here"
    await pair.look()
    pair.b.become("newer")
    await pair.look(2)
    pair.b.content, pair.b.follows, pair.b.generation = "here", True, pair.b.generation - 1
    await pair.look(2)
    wanted = await pair.wanted()
    assert wanted is not None
    assert (wanted.target, wanted.set_by) == ("here", "b")


async def test_of_two_that_refresh_at_once_both_come_to_rest(pair: Pair) -> None:
    pair.a.sources, pair.b.sources = "here", "there"
    pair.a.become("here")
    pair.b.become("there")
    await pair.look(20)
    assert len(pair.a.asked) + len(pair.b.asked) <= 1


async def test_sources_that_cannot_be_read_are_tried_again_after_a_while(pair: Pair) -> None:
    pair.b.sources, pair.b.fails = "new", BuildFailed("It is away.")
    pair.a.become("new")
    await pair.look(10)
    assert (pair.b.content, pair.b.asked) == ("old", [False])
    pair.b.fails = None
    pair.clock.advance(SOURCE_RETRY_DELAY)
    await pair.look()
    assert pair.b.content == "new"


async def test_a_build_of_another_process_on_the_same_disk_is_waited_for(pair: Pair) -> None:
    pair.b.sources, pair.b.fails = "new", BuildRefused("busy", "Another build is running.")
    pair.a.become("new")
    await pair.look(2)
    pair.b.become("new")
    asked = len(pair.b.asked)
    await pair.look(3)
    assert len(pair.b.asked) == asked


async def test_a_machine_that_serves_an_older_generation_for_damage_tells_nobody(pair: Pair) -> None:
    pair.a.become("new")
    pair.b.sources = "new"
    await pair.look(2)
    pair.a.is_settled = False
    pair.a.become("old")
    await pair.look(5)
    wanted = await pair.wanted()
    assert wanted is not None
    assert (wanted.target, pair.b.content) == ("new", "new")


async def test_a_machine_that_starts_behind_the_others_comes_up_to_them(pair: Pair) -> None:
    pair.a.become("new")
    pair.b.sources = "new"
    await pair.look(2)
    late = OneMachine("c", sources="new")
    replication = late.replication(pair.database, pair.clock)
    await replication.begin()
    await replication.sync()
    assert (late.content, late.asked) == ("new", [False])


async def test_a_machine_that_has_nothing_yet_and_does_not_read_by_itself_comes_up_to_them(pair: Pair) -> None:
    pair.a.become("new")
    await pair.look()
    late = OneMachine("c", sources="new", content="")
    replication = late.replication(pair.database, pair.clock)
    await replication.begin()
    await replication.sync()
    assert (late.content, late.asked) == ("new", [False])


async def test_what_a_machine_reads_at_its_start_is_for_all(pair: Pair) -> None:
    pair.a.become("new")
    await pair.look()
    late = OneMachine("c", content="")
    replication = late.replication(pair.database, pair.clock)
    await replication.begin()
    late.become("newest")
    await replication.sync()
    wanted = await pair.wanted()
    assert wanted is not None
    assert (wanted.target, wanted.set_by) == ("newest", "c")


async def test_it_looks_and_tells_by_itself_and_outlives_whatever_goes_wrong(pair: Pair) -> None:
    pair.a.become("new")
    pair.b.sources = "new"
    pair.b.is_nameless = True
    running = [asyncio.create_task(replication.run()) for replication in pair.replications]
    async with asyncio.timeout(PATIENCE):
        await pair.b.changed.wait()
    assert pair.b.content == "new"
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


# Who serves what


async def test_the_status_tells_how_this_machine_stands_to_the_others(pair: Pair, tmp_path: Path) -> None:
    async def told(machine: OneMachine) -> str:
        bases = Bases(cast(Any, machine))
        return await Library(bases, tmp_path, pair.clock, None, pair.database).status()

    assert "machine" not in await told(pair.a)
    pair.a.become("new")
    await pair.replications[0].sync()
    for replication in pair.replications:
        await replication.heartbeat()
    assert "on 1 of 2 machines: b." in await told(pair.a)
    assert "Contents `old` here; all machines should serve `new` since" in await told(pair.b)
    assert "from a." in await told(pair.b)

    pair.b.sources = "new"
    await pair.look()
    await pair.replications[1].heartbeat()
    for machine in (pair.a, pair.b):
        assert "Contents `new` on all 2 machines" in await told(machine)
    pair.clock.advance(MAX_HEARTBEAT_AGE_SECONDS)
    assert "machine" not in await told(pair.a)


async def test_what_a_machine_that_is_no_more_has_left_on_the_server_is_removed_after_a_week(pair: Pair) -> None:
    for replication in pair.replications:
        await replication.heartbeat()
    first = pair.replications[0]
    pair.clock.advance(ABSENT_MACHINE_PERIOD - HEARTBEAT_SECONDS)
    await first.heartbeat()
    assert pair.a.forgotten == []
    pair.clock.advance(2 * HEARTBEAT_SECONDS)
    await first.heartbeat()
    assert pair.a.forgotten == ["frontdesk-b"]
    async with pair.database.transaction() as tx:
        assert [each.name for each in await alias.beginning(tx, f"{NAME}@")] == [f"{NAME}@frontdesk-a"]


def test_names_of_many_machines_do_not_fill_the_message() -> None:
    wanted = Alias(NAME, "new", "a", 1.0)
    machines = tuple(Alias(f"{NAME}@{number}", "old", f"host-{number}", 1.0) for number in range(50))
    (told,) = texts.among(replace(STATUS, content="new"), ReplicationStatus(wanted, machines))
    assert "50 of 50 machines" in told
    assert "host-49" not in told


# Two real ones, with one Chroma server and one database


@dataclass
class Machine:
    """A data folder of its own, and what a process on it holds."""

    base: KnowledgeBase
    library: Library
    replication: IndexReplication
    root: Path

    @property
    def kept(self) -> set[str]:
        """Its collections on the server."""
        return {generation.manifest.collection for generation in Generations(self.root).whole()}

    async def finds(self, question: str) -> str:
        """The source of the best passage, found by words and vectors both, as soon as both answer in time."""
        begun = time.monotonic()
        while (found := await self.base.search(question)).degraded:
            assert time.monotonic() - begun < PATIENCE, (await self.base.status()).error
            await asyncio.sleep(0.05)
        return found.hits[0].source


@asynccontextmanager
async def open_machine(folder: Path, database_url: str, server: ChromaServer, pages: Path) -> AsyncIterator[Machine]:
    clock, root = ManualClock(), folder / "kb"
    async with (
        open_database(database_url) as database,
        open_knowledge_base(root, TableEmbedder(), chroma_url=server.url) as base,
    ):
        library = Library(Bases(base), pages, clock, None, database)
        bases: dict[Audience, KnowledgeBase] = {"public": base}
        replication = IndexReplication(bases, database, clock, library.catch_up, machine=folder.name)
        await replication.begin()
        yield Machine(base, library, replication, root)


@asynccontextmanager
async def open_two(folder: Path, database_url: str) -> AsyncIterator[tuple[Machine, Machine, ChromaServer, Path]]:
    """Both have read the same pages."""
    pages = write_library(folder / "pages")
    async with (
        open_chroma_server(folder / "chroma") as server,
        open_machine(folder / "host-a", database_url, server, pages) as a,
        open_machine(folder / "host-b", database_url, server, pages) as b,
    ):
        for machine in (a, b):
            await machine.library.refresh_all()
            await machine.replication.sync()
        yield a, b, server, pages


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
@pytest.mark.timeout(patience(300))
async def test_two_machines_on_one_chroma_server_serve_the_same_and_write_apart(
    database: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not how soon they answer is looked at here, but what.
    monkeypatch.setattr(knowledge_base, "VECTOR_SECONDS", PATIENCE / 2)
    monkeypatch.setattr(knowledge_base, "SEARCH_SECONDS", PATIENCE)
    async with open_two(tmp_path, database_url) as (a, b, server, pages):
        assert (await a.base.status()).content == (await b.base.status()).content

        # A refresh on one of them reaches the other, whose searches go on meanwhile.
        await asyncio.to_thread((pages / "moon.md").write_text, "# Moon\n\nParcels to the moon take nine days.\n")
        await a.library.refresh_all()
        await a.replication.sync()
        moving = asyncio.create_task(b.replication.sync())
        while not moving.done():
            assert (await b.base.search("How long is the warranty?")).hits
        await moving
        assert await a.finds("parcels to the moon") == await b.finds("parcels to the moon") == "moon.md"
        assert a.kept.isdisjoint(b.kept)
        assert set(server.collections()) == a.kept | b.kept

        # So does a rollback, without a build.
        await a.library.roll_back()
        await a.replication.sync()
        await b.replication.sync()
        assert "moon.md" not in (await a.finds("parcels to the moon"), await b.finds("parcels to the moon"))
        assert (await b.base.status()).generation == 1

        # While the server is away both answer by words, and afterwards by both again.
        await server.kill()
        for machine in (a, b):
            found = await machine.base.search("How long is the warranty?")
            assert (found.degraded, bool(found.hits)) == (True, True)
            assert "fails" in await machine.library.status()
        await server.start()
        for machine in (a, b):
            assert await machine.finds("How long is the warranty?") == "products/warranty.md"

        # What one of them leaves on the server when it is no more, the other removes.
        await a.replication.heartbeat()
        await b.base.forget(await a.base.identity())
        assert set(server.collections()) == b.kept
        await b.finds("How long is the warranty?")


@pytest.mark.long
@pytest.mark.timeout(patience(300))
async def test_a_build_by_the_command_line_reaches_the_other_machine(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    async with open_two(tmp_path, database_url) as (a, b, server, pages):
        await asyncio.to_thread((pages / "moon.md").write_text, "# Moon\n\nParcels to the moon take nine days.\n")
        async with open_knowledge_base(a.root, TableEmbedder(), chroma_url=server.url) as by_command:
            await by_command.refresh(pages)
        await a.base.reload()
        await a.replication.sync()
        await b.replication.sync()
        assert await b.finds("parcels to the moon") == "moon.md"
