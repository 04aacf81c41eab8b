"""An engine in a process of its own, for tests that kill or freeze it: `python -m tests.turns.engine_process KIND URL`.

Each line on standard output is what happened: `ready MEMBER`, `begun ROW FENCE`, `done ROW`, `refused ROW`. A row whose
message says "hang" never ends; one that says "wait" ends when the word `go` comes on standard input.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.clock import SystemClock
from bot.errors import Superseded
from bot.ingest.engine import TakeTurn, TurnEngine
from bot.ingest.fleet import open_fleet
from bot.ingest.lanes import Lanes
from bot.store import attempts, inbox
from bot.store.database import Database, open_database
from bot.store.leases import open_membership


@asynccontextmanager
async def open_engine(
    kind: str, url: str, database: Database, take: TakeTurn, *, concurrent: int = 100
) -> AsyncIterator[TurnEngine]:
    """An engine of either kind, with a membership of its own where there is one."""
    clock = SystemClock()
    if kind == "lanes":
        yield Lanes(take, clock, concurrent=concurrent)
        return
    async with (
        open_membership(database, clock, role="work", is_alone=False) as membership,
        open_fleet(url, database, clock, take, membership, concurrent=concurrent) as fleet,
    ):
        yield fleet


async def _run(kind: str, url: str) -> None:
    go = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, lambda: go.set() if sys.stdin.readline() else loop.remove_reader(sys.stdin))
    async with open_database(url) as database:

        async def take(item_id: int) -> None:
            async with database.transaction() as tx:
                item = await inbox.start(tx, item_id)
            if item is None:
                return
            with attempts.working_on(item.id, item.fence):
                print(f"begun {item.id} {item.fence}", flush=True)
                if item.words == "hang":
                    await asyncio.Event().wait()
                if item.words == "wait":
                    await go.wait()
                try:
                    async with database.transaction() as tx:
                        await inbox.finish(tx, item.id, "done", now=1.0)
                except Superseded:
                    print(f"refused {item.id}", flush=True)
                    raise
                print(f"done {item.id}", flush=True)

        async with open_engine(kind, url, database, take) as engine:
            await engine.resume(database)
            print("ready", flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_run(*sys.argv[1:3]))
