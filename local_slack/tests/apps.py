"""Apps for the tests: one that speaks the socket by hand, one that listens over HTTP, and a clock to move."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.workspace import Workspace
from tests.patience import patience

Json = dict[str, Any]


class ManualClock:
    """Stands still until it is advanced."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._sleepers.append((self.now + seconds, woken))
        await woken.wait()

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everything that waited for it run."""
        await _settle()
        until = self.now + seconds
        while due := sorted((each for each in self._sleepers if each[0] <= until), key=lambda each: each[0]):
            self.now, woken = due[0]
            self._sleepers.remove(due[0])
            woken.set()
            await _settle()
        self.now = until


class SocketApp:
    """A Socket Mode client that acknowledges only what it is told to."""

    def __init__(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        self._websocket = websocket

    async def frame(self) -> Json:
        """The next frame, whatever it is."""
        async with asyncio.timeout(patience(5)):
            message = await self._websocket.receive()
        assert message.type is aiohttp.WSMsgType.TEXT, message
        frame: Json = json.loads(message.data)
        return frame

    async def ended(self) -> bool:
        """Wait for the end of the connection."""
        try:
            async with asyncio.timeout(patience(5)):
                message = await self._websocket.receive()
        except aiohttp.ClientConnectionResetError:
            # A ping came just before, and there is nobody any more who hears the answer.
            return True
        return message.type is not aiohttp.WSMsgType.TEXT

    @property
    def close_code(self) -> int | None:
        """How the connection was closed; None while it is open."""
        return self._websocket.close_code

    async def ack(self, frame: Json, payload: Json | None = None) -> None:
        answer = {"envelope_id": frame["envelope_id"]}
        await self._websocket.send_json(answer | ({"payload": payload} if payload else {}))

    async def close(self) -> None:
        await self._websocket.close()

    async def event(self, kind: str) -> Json:
        """Acknowledge frames up to the next event of this kind (as `message` or `message.message_changed`)."""
        while True:
            frame = await self.frame()
            await self.ack(frame)
            event: Json = frame["payload"].get("event", {})
            if ".".join(filter(None, (event.get("type"), event.get("subtype")))) == kind:
                return event


async def error_of(call: object) -> str:
    """Why a call of the SDK was refused."""
    with pytest.raises(SlackApiError) as refused:
        await call  # type: ignore[misc]
    return str(refused.value.response["error"])


async def acts(workspace: Workspace, what: str, **given: Any) -> Json:
    """An act over `/_local/act`; its answer, or its refusal."""
    url, query = f"{workspace.url}/_local/act/{what}", {"secret": workspace.secret}
    async with aiohttp.ClientSession() as session, session.post(url, params=query, json=given) as response:
        answer: Json = await response.json()
        assert response.status == 200 or not answer["ok"], answer
        return answer


async def breaks(workspace: Workspace, **fault: object) -> str:
    """Ask for a fault; the answer is why it was refused, or nothing."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{workspace.url}/_local/fault", params={"secret": workspace.secret}, json=fault) as response,
    ):
        answer = await response.json()
        assert (response.status == 200) is answer["ok"]
        return str(answer.get("error", ""))


@asynccontextmanager
async def connected(workspace: Workspace) -> AsyncIterator[SocketApp]:
    """A socket of its own that has heard hello."""
    client = AsyncWebClient(base_url=f"{workspace.url}/api/")
    url = (await client.apps_connections_open(app_token=workspace.app_token))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as websocket:
        app = SocketApp(websocket)
        assert (await app.frame())["type"] == "hello"
        yield app


class HttpApp:
    """Listens for signed requests; answers with the given statuses in turn, then 200."""

    def __init__(self) -> None:
        self.url = ""
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}
        self.body = ""
        """What it answers, unless it is asked for a challenge."""
        self.handler: Callable[[web.Request], Awaitable[web.Response]] | None = None
        """Answers instead, when it is set."""
        self._seen: asyncio.Queue[tuple[web.Request, bytes]] = asyncio.Queue()

    async def handle(self, request: web.Request) -> web.Response:
        if self.handler is not None:
            return await self.handler(request)
        content = await request.read()
        if request.content_type == "application/json" and (given := json.loads(content)).get("challenge"):
            return web.json_response({"challenge": given["challenge"]})
        await self._seen.put((request, content))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200, text=self.body, headers=self.headers)

    async def request(self) -> tuple[web.Request, bytes]:
        """The next request and its body."""
        async with asyncio.timeout(patience(5)):
            return await self._seen.get()


@asynccontextmanager
async def listening() -> AsyncIterator[HttpApp]:
    app = HttpApp()
    server = web.Application()
    server.router.add_post("/slack/events", app.handle)
    runner = web.AppRunner(server)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    app.url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    try:
        yield app
    finally:
        await runner.cleanup()


async def _settle() -> None:
    """Let every task run that can."""
    for _ in range(20):
        await asyncio.sleep(0)
