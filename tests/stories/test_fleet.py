"""Several processes on one Postgres: one takes what comes, others work on it, and none of them is missed."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import asyncpg
import pytest
import pytest_asyncio

from tests.doubles.postgres import Postgres
from tests.patience import patience
from tests.stories.stage import worker_environment
from tests.stories.world import Json, Post, Worker, World, is_app, open_worker, open_world, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

RETURNS = "How many days do I have to return an item?"


@dataclass(frozen=True, slots=True)
class Fleet:
    """The world with a process that takes events, and three that work."""

    world: World
    workers: dict[int, Worker]
    """By process id."""
    database: asyncpg.Connection

    async def worker_of(self, asked: Post) -> Worker:
        """Who works on the message."""
        query = "select executor_id from dbos.workflow_status where status = 'PENDING' and workflow_uuid like $1"
        async with asyncio.timeout(patience(30)):
            while True:
                member = await self.database.fetchval(query, f"%{asked.ts}%")
                if member is not None:
                    return self.workers[int(member.split("-")[-2])]
                await self.world.next_change()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> AsyncIterator[Fleet]:
    """Starting it takes a while, so there is one for all; two of its workers end in the course of it."""
    url = await postgres.create()
    async with AsyncExitStack() as stack:
        shared = {"DATABASE_URL": url}
        folder = tmp_path_factory.mktemp("world")
        world = await stack.enter_async_context(open_world(folder, env=shared, ingress_only=True))
        shared |= worker_environment(world)
        opening = [stack.enter_async_context(open_worker(world, name, env=shared)) for name in ("one", "two", "three")]
        workers = await asyncio.gather(*opening)
        database = await asyncpg.connect(url)
        stack.push_async_callback(database.close)
        yield Fleet(world, {worker.process.pid: worker for worker in workers}, database)


@pytest.mark.long
async def test_what_customers_think_better_of_reaches_whoever_is_writing_the_answer(fleet: Fleet) -> None:
    world = fleet.world
    slow = {"text": "You have 30 days of delivery to return an item. ", "stall": 14, "when": "days do I"}

    async def under_way() -> Post:
        await world.model_says(slow)
        asked = await world.customer.says(RETURNS)
        await world.under_way(asked)
        return asked

    asked = await under_way()
    await world.customer.says("stop", to=asked)
    await world.customer.reads(asked, having=lambda seen: "I've stopped" in seen.text)

    asked = await under_way()
    await world.model_says({"text": "We accept cards and PayPal.", "when": "payment"})
    changed = {"user": "U0CUSTOMERA", "channel": asked.channel, "ts": asked.ts}
    await world.act("edit", changed | {"text": "Which payment methods do you accept?"})
    answer = await world.customer.reads(asked, having=lambda seen: "PayPal" in seen.text)
    assert [seen.ts for seen in await world.replies(asked)] == [answer.ts]

    await world.act("delete", changed)

    def is_gone(state: Json) -> bool | None:
        ours = [seen for seen in seen_in(state, asked.channel) if is_app(seen)]
        return all(seen.thread_ts != asked.ts for seen in ours) or None

    await world.until(is_gone, what="the answer is taken back", channel=asked.channel)
    assert await fleet.database.fetchval("select count(*) from turn where messages::text like '%PayPal%'") == 0


@pytest.mark.long
async def test_a_worker_that_is_stopped_hands_its_answer_over_at_once(fleet: Fleet) -> None:
    world = fleet.world
    hello = "Good morning"
    await world.model_says({"wait": 60.0, "when": hello}, {"text": "Good morning to you!", "when": hello})
    asked = await world.customer.says("Good morning!")
    worker = await fleet.worker_of(asked)
    worker.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(patience(30)):
        assert await worker.process.wait() == 0
    answer = await world.customer.reads(asked, having=lambda seen: "to you!" in seen.text)
    assert [seen.ts for seen in await world.replies(asked)] == [answer.ts]


async def test_what_one_process_takes_others_answer_and_a_dead_ones_answer_is_finished_once(fleet: Fleet) -> None:
    world = fleet.world
    first = await world.customer.reads(await world.customer.says(RETURNS))
    assert "30 days" in first.text
    assert 'ended="answered"' not in await world.metrics()

    asked = await world.customer.says(RETURNS)
    worker = await fleet.worker_of(asked)
    await world.under_way(asked)
    os.kill(worker.process.pid, signal.SIGKILL)
    async with asyncio.timeout(patience(60)):
        while "turns of processes that are gone are taken over" not in world.bot_log():
            await world.next_change()
    answer = await world.customer.reads(asked, having=lambda seen: "30 days" in seen.text)
    again = await world.customer.reads(await world.customer.says("Thanks!", to=asked), after=answer.ts)
    assert [seen.ts for seen in await world.replies(asked)] == [answer.ts, again.ts]
    assert answer.text.count("30 days") <= first.text.count("30 days")
