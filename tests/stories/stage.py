"""Where stories are told: on SQLite, on Postgres, or in a fleet of three processes on Postgres.

async with stage.open_world(tmp_path) as world:
    await world.customer.says("Where is ORD-1001?")
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.ports import free_port
from demo.program import READY_SECONDS, Program
from demo.world import DESK_FILE, LINK_HOSTS, PAGES, POLICY_FILE
from tests.doubles.postgres import Postgres
from tests.patience import patience
from tests.stories import prepared
from tests.stories.world import QUICKLY, World, open_world, product_environment

WORKERS = ("one", "two")


@dataclass(frozen=True, slots=True)
class Stage:
    """What STORIES_ON names."""

    postgres: Postgres | None = None
    """None: SQLite."""
    in_fleet: bool = False

    @asynccontextmanager
    async def open_world(self, folder: Path, *, env: dict[str, str] | None = None, **rest: Any) -> AsyncIterator[World]:
        """`open_world` here; what it takes, this takes."""
        async with self.open_database() as settings:
            opened = open_fleet if self.in_fleet else open_world
            async with opened(folder, env=settings | (env or {}), **rest) as world:
                yield world

    @asynccontextmanager
    async def open_database(self) -> AsyncIterator[dict[str, str]]:
        """The settings that lead a product to a database of its own; none where that is a file in its folder."""
        if self.postgres is None:
            yield {}
            return
        url = await self.postgres.create()
        try:
            yield {"DATABASE_URL": url}
        finally:
            await self.postgres.drop(url)


@dataclass(slots=True)
class Fleet(World):
    """A world whose product takes what comes, and has two processes beside it that work on that."""

    workers: tuple[Program, ...] = ()

    async def bot(self, what: str) -> None:
        """`kill`, `stop` or `restart` all of them."""
        asked = {"kill": Program.kill, "stop": Program.stop, "restart": Program.restart}[what]
        await asyncio.gather(World.bot(self, what), *(asked(worker) for worker in self.workers))

    async def metrics(self) -> str:
        """The counters of each, one after the other."""
        told = [await World.metrics(self)]
        for worker in self.workers:
            async with self.http.get(worker.health.replace("/healthz", "/metrics")) as response:
                told.append(await response.text())
        return "".join(told)


@asynccontextmanager
async def open_fleet(
    folder: Path, *, kb: Path | None = None, env: dict[str, str] | None = None, pace: float = 1.0
) -> AsyncIterator[Fleet]:
    """`open_world` with three processes; `env` names their database."""
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(open_world(folder, kb=kb, env=env, pace=pace, ingress_only=True))
        shared = QUICKLY | worker_environment(world, kb=kb) | (env or {})
        workers = tuple(_worker(world, name, shared) for name in WORKERS)
        if kb is None:
            for name in WORKERS:
                await asyncio.to_thread(prepared.lay_out, world.data / name)
        for worker in workers:
            stack.push_async_callback(worker.stop)
            await worker.start()
        await asyncio.gather(*(worker.wait_ready(seconds=patience(READY_SECONDS)) for worker in workers))
        yield Fleet(world.http, world.ready, world.data, world.database, workers)


def worker_environment(world: World, *, kb: Path | None = None) -> dict[str, str]:
    """What a process that works has to know of the world, beside its database and what every product is told."""
    return {
        "DESK_FILE": str(DESK_FILE),
        "POLICY_PATH": str(POLICY_FILE),
        "KB_PATH": str(kb or PAGES),
        "LINK_HOSTS": LINK_HOSTS,
        "OPENAI_API_KEY": world.ready["model"]["key"],
        "SHOP_URL": world.ready["shop"]["url"],
        "SHOP_TOKEN": world.ready["shop"]["token"],
        "SHOP_WEBHOOK_SECRET": world.ready["shop"]["webhook_secret"],
    }


def _worker(world: World, name: str, shared: dict[str, str]) -> Program:
    data, port = world.data / name, free_port()
    data.mkdir()
    environment = product_environment(world, data) | shared | {"PORT": str(port)}
    del environment["SLACK_APP_TOKEN"]
    return Program(
        command=(sys.executable, "-P", "-m", "bot", "work"),
        directory=Path("/"),
        environment=environment,
        log=data / "worker.log",
        health=f"http://127.0.0.1:{port}/healthz",
    )
