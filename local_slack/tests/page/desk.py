"""A page that is served, and a browser's side of its socket without a browser."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientWebSocketResponse, web
from aiohttp.test_utils import TestClient, TestServer

from local_slack import page
from local_slack.page.loose import Json
from local_slack.tests.page import scene
from local_slack.workspace import Workspace
from tests.patience import patience


class Desk:
    """A served page, and a browser's side of its socket."""

    def __init__(
        self, workspace: Workspace, app: scene.Listener, client: TestClient[web.Request, web.Application]
    ) -> None:
        self.workspace = workspace
        self.app = app
        self.client = client
        self.query = {"secret": workspace.secret}
        self.origin = str(client.make_url("/")).rstrip("/")

    @asynccontextmanager
    async def visit(self, **places: str) -> AsyncIterator["Visitor"]:
        query = self.query | places
        socket = await self.client.ws_connect("/page/ws", params=query, headers={"Origin": self.origin})
        visitor = Visitor(socket)
        await visitor.arrives()
        yield visitor
        await socket.close()


class Visitor:
    """Does what the page's script does, and waits for what it would be told."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._patches: list[Json] = []
        self._acts = 0

    async def arrives(self) -> None:
        """Take the first patches, which bring the page up to date."""
        async with asyncio.timeout(patience(10)):
            await self._socket.receive_str()

    async def sends(self, written: str) -> None:
        """Anything at all."""
        await self._socket.send_str(written)

    async def does(self, what: str, half: str = "left", **more: object) -> None:
        self._acts += 1
        await self.sends(json.dumps({"do": what, "half": half, "n": self._acts, **more}))

    async def sees(self, op: str, id_: str = "") -> Json:
        """The next patch of this kind; those before it are dropped."""
        async with asyncio.timeout(patience(10)):
            while True:
                while self._patches:
                    patch = self._patches.pop(0)
                    if patch["op"] == op and (not id_ or patch["id"] == id_):
                        return patch
                self._patches = json.loads(await self._socket.receive_str())


@asynccontextmanager
async def open_desk(**given: Any) -> AsyncIterator[Desk]:
    """A seeded workspace and its page; `given` is what the page's routes take besides."""
    workspace, listener = scene.build_scene()
    app = web.Application()
    app.add_routes(page.routes(workspace, notice="Answers by the <offline> stand-in model", **given))

    async def take(request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    app.add_routes([web.post("/_world/kill", take), web.post("/_world/restart", take)])
    async with TestClient(TestServer(app)) as client:
        yield Desk(workspace, listener, client)
    await workspace.background.close()
