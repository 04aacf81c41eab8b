"""The process: its end, its limits, its log, and more work than it can do.

F34, F35 signals · F37, F38 memory and files run out · F39 an event that ends it each time · F40, F41 bursts
F45 a log that nobody reads
"""

import asyncio
import contextlib
import fcntl
import os
import resource
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.conversation import Customer, ThreadRef
from bot.slack.outbox import Outbox
from bot.store import inbox
from bot.store import outbox as outbox_rows
from bot.store.cases import Case
from bot.store.database import Database
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import open_local_slack
from tests.faults.quiet import check_log, read_log
from tests.stories.over_http import open_world_over_http
from tests.stories.world import PATIENCE, World, product_environment, run_product
from tests.turns.answering import build_cases
from tests.turns.arrivals import TEAM, arrival

pytestmark = pytest.mark.asyncio(loop_scope="module")

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: limits of another process are Linux's")
per_function = pytest.mark.asyncio(loop_scope="function")

PERSON = "I want to talk to a real person"
RETURNS = "How many days do I have to return an item?"
HANGS = {"wait": 100.0}
"""A round of the model in which nothing comes."""
STARTED = ("ready", "the knowledge base is read")
"""What the log says of a start, first and last."""
HANDOVERS, AT_ONCE = 50, 20
"""Threads that are handed over, and turns of one process that do so at the same moment."""


def stored(world: World, query: str, *values: object) -> list[Any]:
    """Rows of the product's database, read beside it."""
    with closing(sqlite3.connect(f"file:{world.data / 'frontdesk.db'}?mode=ro", uri=True, timeout=10)) as reader:
        return reader.execute(query, values).fetchall()


async def until_stored(world: World, query: str, *values: object) -> None:
    """Return when the query finds something."""
    async with asyncio.timeout(PATIENCE):
        while not stored(world, query, *values):
            await world.next_change()


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def runs(world: World) -> None:
    """Whatever a test has done to the product, the next one finds it running."""
    if (await world.health())["status"] != 200:
        await world.bot("restart")
        async with asyncio.timeout(PATIENCE):
            while (await world.health())["status"] != 200:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)


async def test_an_event_that_ends_the_process_each_time_is_given_up_and_others_are_answered(
    world: World,
) -> None:
    await world.model_says(*[{**HANGS, "when": "tungsten"}] * 4)
    asked = await world.customer.says("Do you sell tungsten boots?")
    for life in (1, 2, 3):
        await until_stored(world, "select id from inbox where ts = ? and attempts = ?", asked.ts, life)
        await world.bot("kill")
        await world.bot("restart")
    other = await world.other_customer.says("Thanks!")
    assert (await world.other_customer.reads(other)).text
    assert "FD-" in (await world.customer.reads(asked)).text
    await until_stored(world, "select id from inbox where ts = ? and state = ?", asked.ts, "dead")
    ((number, state, reason),) = stored(world, "select id, state, reason from inbox where ts = ?", asked.ts)
    assert (state, reason) == ("dead", "failed")
    told = await world.card(having="dead letter")
    assert f"turns show {number}" in told.text
    assert "tungsten" not in told.text

    await world.model_says()
    environment = product_environment(world, world.data)
    status, listed = await run_product(environment, "dead", "list")
    assert (status, f"{number}" in listed, "Do you sell tungsten boots?" in listed) == (0, True, True)
    assert (await run_product(environment, "dead", "retry", str(number)))[0] == 0
    await world.bot("restart")
    # Its customer's case is open: people are shown it.
    await until_stored(world, "select id from inbox where id = ? and state = 'done' and reason = 'relayed'", number)
    await check_log(world)


async def test_running_turns_are_finished_or_parked_and_go_on_in_the_next_process(world: World) -> None:
    await world.model_says(*[{**HANGS, "when": "halibut"}] * 20)
    people = (world.customer, world.other_customer, world.third_customer)
    asked = [await people[number % 3].says(f"What about halibut {number}?") for number in range(8)]
    asked += [await people[number % 3].says(f"Thanks! {number}") for number in range(8)]
    marks = ", ".join("?" * len(asked))
    places = [each.ts for each in asked]
    await until_stored(world, f"select 1 from inbox where ts in ({marks}) group by 1 having count(*) = 16", *places)  # noqa: S608
    await world.bot("stop")
    assert read_log(world)[-1]["message"] == "stopped"
    # What is parked has lost no try: it failed at nothing.
    assert stored(world, "select count(*) from inbox where state = 'new' and attempts > 0") == [(0,)]
    assert stored(world, "select count(*) from inbox where state = 'new'") != [(0,)]
    meanwhile = await world.customer.says(PERSON)
    await world.model_says()
    await world.bot("restart")
    assert "FD-" in (await world.customer.reads(meanwhile)).text
    for person, each in zip(people * 6, asked[:8] + asked[8:], strict=False):
        await person.reads(each)
    await until_stored(world, "select 1 where not exists (select 1 from inbox where state = 'new')")
    said = {each.ts: [seen.text for seen in await world.replies(each)] for each in asked}
    assert {ts: texts for ts, texts in said.items() if len(texts) != 1} == {}
    state = await world.state()
    assert not [
        m for channel in state["messages"].values() for m in channel if m.get("streaming_state") == "in_progress"
    ]
    await check_log(world)


async def ends_after(world: World, data: Path, *signals: signal.Signals, command: str = "") -> tuple[int, str]:
    """The exit status of a product that is sent these signals when it is ready, and what it said."""
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'exec "$@" {command}', "sh", sys.executable, "-P", "-m", "bot", "serve"),
        env=product_environment(world, data),
        cwd="/",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    told = b""
    try:
        async with asyncio.timeout(2 * PATIENCE):
            while b'"ready"' not in told:
                line = await process.stderr.readline()
                assert line, told
                told += line
            for each in signals:
                process.send_signal(each)
            _, rest = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
        status = await process.wait()
    return status, (told + rest).decode()


async def test_however_it_is_asked_to_end_it_ends_well(world: World, tmp_path: Path) -> None:
    term, interrupt, pipe = signal.SIGTERM, signal.SIGINT, signal.SIGPIPE
    ended = await asyncio.gather(
        ends_after(world, tmp_path / "terminated", pipe, pipe, term, term),
        ends_after(world, tmp_path / "interrupted", interrupt, term, interrupt),
        # Whoever started it has closed what it reads from and what it writes to.
        ends_after(world, tmp_path / "closed", term, command="<&- >&-"),
    )
    assert [status for status, _ in ended] == [0, 0, 0]
    for _, told in ended:
        assert '"stopped"' in told.splitlines()[-1]
        assert "Traceback" not in told


async def test_a_log_that_nobody_reads_keeps_nobody_waiting_and_who_writes_much_keeps_others_waiting_little(
    tmp_path: Path,
) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    crowded = {"LOG_LEVEL": "DEBUG", "CONCURRENT_ANSWERS": "1"}
    try:
        async with open_world_over_http(tmp_path, env=crowded, log=writing) as over_http:
            world = over_http.world
            asked = [await world.customer.says(f"Thanks! {number}") for number in range(10)]
            other = await world.other_customer.says("Thanks!")
            await world.other_customer.reads(other)
            assert sum([len(await world.replies(each)) for each in asked]) < 8
            assert "frontdesk_events_stored_total 11.0" in await world.metrics()
            for each in asked:
                await world.customer.reads(each)
            over_http.product.terminate()
            async with asyncio.timeout(PATIENCE):
                assert await over_http.product.wait() == 0
            # What the pipe held is all that there ever was to read.
            assert b'"level": "debug"' in os.read(reading, 1 << 16)
    finally:
        os.close(reading)
        os.close(writing)


@on_linux
@pytest.mark.parametrize("many", [1, 6])
async def test_without_files_to_open_nothing_is_lost_and_it_recovers(world: World, many: int) -> None:
    pid = await world_pid(world)
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (files_of(pid), before[1]))
    people = (world.customer, world.other_customer)
    asked = [await people[number % 2].says(PERSON if number % 2 else RETURNS) for number in range(many)]
    await until_stored(world, f"select id from inbox where ts = '{asked[-1].ts}'")  # noqa: S608
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    for number, each in enumerate(asked):
        assert (await people[number % 2].reads(each)).text
    await until_stored(world, "select 1 where not exists (select 1 from inbox where state = 'new')")
    assert (await world.health())["status"] == 200
    assert await world_pid(world) == pid
    assert [len(await world.replies(each)) for each in asked] == [1] * many
    await check_log(world)


async def is_warm(world: World) -> None:
    """Wait until the work of the start is done, which takes memory of its own, and until one question is answered."""

    def last() -> str:
        told: list[str] = [line["message"] for line in read_log(world) if line["message"] in STARTED]
        return told[-1]

    async with asyncio.timeout(PATIENCE):
        while last() != STARTED[-1]:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
    assert (await world.customer.reads(await world.customer.says(RETURNS))).text


@on_linux
@pytest.mark.long  # what was refused more than once Slack delivers again after a minute, or five
@pytest.mark.timeout(900)
@pytest.mark.parametrize("many", [1, 6])
async def test_without_memory_nothing_that_was_acknowledged_is_lost(world: World, many: int) -> None:
    await is_warm(world)
    pid = await world_pid(world)
    before = resource.prlimit(pid, resource.RLIMIT_AS, (memory_of(pid), resource.RLIM_INFINITY))
    people = (world.customer, world.other_customer)
    # All at once: what is refused twice Slack delivers again only after a minute.
    asked = await asyncio.gather(*(people[n % 2].says(f"{RETURNS} {'shoes ' * 1_500}") for n in range(many)))
    await world.next_change()
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_AS, before)
    if await world_pid(world) != pid:
        await world.bot("restart")
    for number, each in enumerate(asked):
        assert (await people[number % 2].reads(each)).text
    assert [len(await world.replies(each)) for each in asked] == [1] * many
    await check_log(world)


def memory_of(pid: int) -> int:
    """Bytes of the process's address space."""
    return int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[0]) * resource.getpagesize()


def files_of(pid: int) -> int:
    """A limit at which the process can open no file more: past every number that is taken."""
    return max(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()) + 1


async def world_pid(world: World) -> int:
    """The product's process as it is now: the file of its lock names it."""
    return int((world.data / "frontdesk.db.lock").read_text("utf-8"))


@per_function
async def test_many_handovers_at_once_are_as_many_cases_with_a_card_each(database: Database) -> None:
    clock = ManualClock()
    async with open_local_slack(clock) as slack:
        people = ["U0CUSTOMERA", "U0CUSTOMERB", "U0CUSTOMERG"]
        places = [f"D{user[1:]}" for user in people]
        sent = [await slack.workspace.act.send(people[n % 3], places[n % 3], PERSON) for n in range(HANDOVERS)]
        outbox = Outbox(database, slack.client.chat, slack.client.sessions, clock)
        cases = build_cases(database, outbox, slack.client, clock)
        async with database.transaction() as tx:
            for n, ts in enumerate(sent):
                await inbox.add(tx, arrival(ts, channel=places[n % 3], author=people[n % 3]), now=1.0)
        turns = asyncio.Semaphore(AT_ONCE)

        async def hand_over(number: int, ts: str) -> Case:
            thread = ThreadRef(TEAM, places[number % 3], ts)
            customer = Customer(TEAM, f"U0PERSON{number:03}", "Somebody", "en-US", "member")
            async with turns:
                return await cases.open(thread, customer, reason="asked_for_person", priority="medium")

        opened = await asyncio.gather(*(hand_over(n, ts) for n, ts in [*enumerate(sent), *enumerate(sent)]))
        refs = {case.ref for case in opened}
        assert len(refs) == HANDOVERS
        sending = asyncio.create_task(outbox.run())
        async with asyncio.timeout(PATIENCE):
            while await open_posts(database):
                await asyncio.wait({sending}, timeout=0.3)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        cards = [str(each["blocks"]) for each in slack.workspace.messages["C0AGENTS"].values() if each.get("bot_id")]
        told = [m for place in places for m in slack.workspace.messages[place].values() if m.get("bot_id")]
        assert sorted(ref for card in cards for ref in refs if ref in card) == sorted(refs)
        assert sorted(message["thread_ts"] for message in told) == sorted(sent)


async def open_posts(database: Database) -> int:
    async with database.transaction() as tx:
        return len(await outbox_rows.open_rows(tx))
