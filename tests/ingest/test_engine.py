"""What every engine promises: each row at least once, one of a thread at a time, in order, whatever becomes of it."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from bot.errors import StoreUnavailable
from bot.ingest.engine import TurnEngine
from bot.store import inbox
from bot.store.database import Database, open_database
from tests.patience import patience
from tests.turns.arrivals import arrival
from tests.turns.engine_process import open_engine

DEADLINE = patience(60.0)
ENGINES = ["lanes on sqlite", "lanes on postgres", "fleet on postgres"]


class Work:
    """Turns that are noted, wait where they are told to, and close their row."""

    def __init__(self, database: Database) -> None:
        self.begun: list[int] = []
        self.done: list[int] = []
        self.held: set[int] = set()
        """Rows that do not end until they are let go."""
        self.failing: dict[int, list[Exception]] = {}
        self.at_once: dict[str, int] = {}
        self._database = database
        self._changed = asyncio.Condition()

    async def take(self, item_id: int) -> None:
        async with self._database.transaction() as tx:
            item = await inbox.start(tx, item_id)
        if item is None:
            return
        thread = item.thread.key
        self.at_once[thread] = self.at_once.get(thread, 0) + 1
        assert self.at_once[thread] == 1, "two rows of a thread at once"
        try:
            await self._note(self.begun, item_id)
            async with self._changed:
                await self._changed.wait_for(lambda: item_id not in self.held)
            if failures := self.failing.get(item_id):
                raise failures.pop(0)
            async with self._database.transaction() as tx:
                await inbox.finish(tx, item_id, "done", now=1.0)
        finally:
            self.at_once[thread] -= 1
        await self._note(self.done, item_id)

    async def let_go(self, *item_ids: int) -> None:
        async with self._changed:
            self.held -= set(item_ids)
            self._changed.notify_all()

    async def until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE), self._changed:
            await self._changed.wait_for(reached)

    async def _note(self, what: list[int], item_id: int) -> None:
        async with self._changed:
            what.append(item_id)
            self._changed.notify_all()


class Room:
    """A database, and engines on it."""

    def __init__(self, kind: str, url: str, database: Database) -> None:
        self.kind = kind
        self.url = url
        self.database = database
        self.work = Work(database)

    @asynccontextmanager
    async def engine(self, *, concurrent: int = 100) -> AsyncIterator[TurnEngine]:
        async with open_engine(self.kind, self.url, self.database, self.work.take, concurrent=concurrent) as engine:
            await engine.resume(self.database)
            yield engine

    async def store(
        self, ts: str, *, thread: str | None = None, text: str = "Hello", by: str = "U0CUSTOMERA"
    ) -> tuple[int, str]:
        """A new row, in a thread of its own if none is named; its id and the thread's key."""
        came = arrival(ts, thread_ts=thread, text=text, author=by)
        async with self.database.transaction() as tx:
            item_id = await inbox.add(tx, came, now=1.0)
        assert item_id is not None
        return item_id, came.thread.key

    async def moment(self) -> None:
        """A little while, before the database is looked at again: it tells nobody when it changes."""
        await asyncio.sleep(0.05)

    async def reads_open(self) -> list[int]:
        async with self.database.transaction() as tx:
            return [row for row, _ in await inbox.unfinished(tx)]


@pytest.fixture(params=ENGINES)
def engine_and_url(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Which engine, and the address of its fresh database."""
    kind, _, store = request.param.split()
    url = f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}"
    return kind, request.getfixturevalue("postgres_url") if store == "postgres" else url


@pytest.fixture
async def room(engine_and_url: tuple[str, str]) -> AsyncIterator[Room]:
    kind, url = engine_and_url
    async with open_database(url) as database:
        await database.migrate()
        yield Room(kind, url, database)


async def test_a_thread_works_on_one_row_at_a_time_in_order(room: Room) -> None:
    async with room.engine() as engine:
        rows = [await room.store(f"{number}.1", thread="1.1") for number in range(1, 6)]
        for row in rows:
            engine.submit(*row)
        await room.work.until(lambda: len(room.work.done) == 5)
    assert room.work.begun == room.work.done == [item_id for item_id, _ in rows]


async def test_threads_do_not_wait_for_each_other(room: Room) -> None:
    async with room.engine() as engine:
        # What one person asks is worked on a few threads at a time.
        rows = [await room.store(f"{number}.1", by=f"U{number}") for number in range(1, 41)]
        room.work.held = {item_id for item_id, _ in rows}
        for row in rows:
            engine.submit(*row)
        await room.work.until(lambda: len(room.work.begun) == 40)
        assert engine.active == 40
        await room.work.let_go(*room.work.begun)
        await room.work.until(lambda: len(room.work.done) == 40)


async def test_no_more_than_the_bound_are_at_work(room: Room) -> None:
    async with room.engine(concurrent=3) as engine:
        rows = [await room.store(f"{number}.1") for number in range(1, 8)]
        room.work.held = {item_id for item_id, _ in rows}
        for row in rows:
            engine.submit(*row)
        for number in range(7):
            await room.work.until(partial(_has, room.work.begun, min(3 + number, 7)))
            assert len(room.work.begun) - len(room.work.done) <= 3
            await room.work.let_go(room.work.begun[number])
            await room.work.until(partial(_has, room.work.done, number + 1))


def _has(rows: list[int], count: int) -> bool:
    return len(rows) == count


async def test_a_row_that_fails_is_tried_again_before_the_next_of_its_thread(room: Room) -> None:
    async with room.engine() as engine:
        first, second = await room.store("1.1", thread="1.1"), await room.store("2.1", thread="1.1")
        room.work.failing[first[0]] = [RuntimeError("a bug"), StoreUnavailable("SQLITE_FULL")]
        engine.submit(*first)
        engine.submit(*second)
        await room.work.until(lambda: len(room.work.done) == 2)
    assert room.work.begun == [first[0], first[0], first[0], second[0]]


async def test_a_row_that_never_ends_holds_up_its_own_thread_alone(room: Room) -> None:
    async with room.engine() as engine:
        poison, behind = await room.store("1.1", thread="1.1"), await room.store("2.1", thread="1.1")
        room.work.failing[poison[0]] = [RuntimeError("again and again")] * 50
        others = [await room.store(f"{number}.1") for number in range(10, 20)]
        for row in (poison, behind, *others):
            engine.submit(*row)
        await room.work.until(lambda: len(room.work.done) == 10)
        assert set(room.work.done) == {item_id for item_id, _ in others}
        assert behind[0] not in room.work.begun


async def test_draining_finishes_what_runs_begins_nothing_and_the_rest_is_for_the_next(room: Room) -> None:
    async with room.engine() as engine:
        running, waiting = await room.store("1.1", thread="1.1"), await room.store("2.1", thread="1.1")
        hanging = await room.store("3.1")
        room.work.held = {running[0], hanging[0]}
        for row in (running, waiting, hanging):
            engine.submit(*row)
        await room.work.until(lambda: len(room.work.begun) == 2)
        draining = asyncio.create_task(engine.drain(2.0))
        await asyncio.sleep(0)
        await room.work.let_go(running[0])
        await draining
        assert room.work.done == [running[0]]
        assert await room.reads_open() == [waiting[0], hanging[0]]
    room.work.held.clear()
    async with room.engine():
        await room.work.until(lambda: len(room.work.done) == 3)
    assert sorted(room.work.begun) == [running[0], waiting[0], hanging[0], hanging[0]]


async def test_what_an_earlier_process_left_is_taken_in_the_order_of_the_messages(room: Room) -> None:
    rows = [await room.store(ts, thread="1.1") for ts in ("3.1", "1.1", "2.1")]
    async with room.engine(concurrent=1):
        await room.work.until(lambda: len(room.work.done) == 3)
    assert room.work.begun == [rows[1][0], rows[2][0], rows[0][0]]


async def test_what_a_killed_process_had_begun_is_begun_again_by_another(room: Room) -> None:
    hanging, waiting = await room.store("1.1", text="hang"), await room.store("2.1", thread="1.1")
    async with process_of(room) as one:
        assert await one.hears("begun") == f"begun {hanging[0]} 1"
        one.process.send_signal(signal.SIGKILL)
        async with room.engine():
            await room.work.until(lambda: room.work.done == [hanging[0], waiting[0]])


class Child:
    """An engine in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def hears(self, word: str) -> str:
        """The next line that begins with the word."""
        assert self.process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            while line := (await self.process.stdout.readline()).decode().strip():
                if line.startswith(word):
                    return line
        raise AssertionError(f"{word} was never heard")

    def says_go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")


@asynccontextmanager
async def process_of(room: Room) -> AsyncIterator[Child]:
    arguments = ("-m", "tests.turns.engine_process", room.kind, room.url)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(process.wait)
        stack.callback(lambda: process.kill() if process.returncode is None else None)
        child = Child(process)
        await child.hears("ready")
        yield child
