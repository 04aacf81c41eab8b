"""What each stand-in for a shop offers to tests and to the demo beside its own requests.

local_routes  POST /_local/fault, GET /_local/digest, GET /_local/calls
Later         what a shop does a while after it has answered
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import asdict

from aiohttp import web

from demo.shop.faults import KINDS, Fault
from demo.shop.records import Records
from demo.shop.server import Call


def local_routes(add_fault: Callable[[Fault], None], records: Records, calls: Collection[Call]) -> list[web.RouteDef]:
    """Where tests make the shop misbehave, and see what it was asked and what has changed."""

    async def add(request: web.Request) -> web.StreamResponse:
        try:
            fault = Fault(**await request.json())
        except (TypeError, ValueError):
            fault = Fault("")
        if fault.kind not in KINDS | {"none"}:
            message = f"kind is none or one of {', '.join(sorted(KINDS))}."
            return web.json_response({"error": message}, status=400)
        add_fault(fault)
        return web.json_response({"ok": True})

    async def digest(_: web.Request) -> web.StreamResponse:
        return web.json_response({"digest": records.digest(), "changes": len(records.ledger)})

    async def told(_: web.Request) -> web.StreamResponse:
        return web.json_response({"calls": [asdict(call) for call in calls]})

    return [web.post("/_local/fault", add), web.get("/_local/digest", digest), web.get("/_local/calls", told)]


class Later:
    """Tasks that end with the shop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Act after a while."""

        async def wait() -> None:
            await asyncio.sleep(seconds)
            act()

        task = asyncio.create_task(wait())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Do none of what is left."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
