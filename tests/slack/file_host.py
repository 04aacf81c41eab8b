"""A Slack on loopback that is asked for one file, hands over whatever a test wants, and keeps what it is given."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from demo.ports import listening

Handed = Callable[[web.Request], Awaitable[web.StreamResponse]]

CHANNEL, THREAD, SOURCE, COPY = "D0CUSTOMERA", "1795000000.000100", "F0SOURCE", "F0COPY"


class FileHost:
    """The file `F0SOURCE`, and what becomes of its copy `F0COPY`."""

    def __init__(self) -> None:
        self.root = ""
        self.file: dict[str, Any] = {"id": SOURCE, "name": "lamp.png", "mimetype": "image/png", "size": 4}
        self.respond: Handed = self.content
        """What answers under /pri/."""
        self.upload_url = ""
        """Where the content shall be sent; here, unless a test says otherwise."""
        self.given: list[bytes] = []
        self.said: list[dict[str, Any]] = []
        """The messages, as they were asked for."""
        self.bearers: list[str | None] = []
        """What the requests under /pri/ brought."""
        self.hops = 0
        self.sent = 0
        """Bytes of a content without an end."""
        self.shown_after = 0
        """Looks at the thread after which a shared file is seen there."""

    @property
    def api(self) -> str:
        return f"{self.root}/api/"

    async def call(self, request: web.Request) -> web.Response:
        """One method of the Web API."""
        body = await request.text()
        given = json.loads(body) if body.startswith("{") else {**request.query, **(await request.post())}
        match request.match_info["method"]:
            case "files.info":
                return _ok(file={"url_private_download": f"{self.root}/pri/lamp.png"} | self.file)
            case "files.getUploadURLExternal":
                return _ok(upload_url=self.upload_url or f"{self.root}/up", file_id=COPY)
            case "files.completeUploadExternal":
                shared = {"text": given["initial_comment"], "thread_ts": given["thread_ts"], "files": given["files"]}
                self.said.append({"ts": f"1795000001.{len(self.said):06d}", **shared})
                return _ok(files=given["files"])
            case "chat.postMessage":
                posted = {name: given.get(name) for name in ("text", "thread_ts", "metadata")}
                self.said.append({"ts": f"1795000001.{len(self.said):06d}", **posted})
                return _ok(ts=self.said[-1]["ts"])
            case "conversations.replies":
                self.shown_after -= 1
                return _ok(messages=[] if self.shown_after >= 0 else self.said)
        return _ok(team_id="T1", user_id="UBOT", bot_id="B1", url="https://example.slack.com/", team="Example")

    async def hand(self, request: web.Request) -> web.StreamResponse:
        """Whatever `respond` answers."""
        self.bearers.append(request.headers.get("Authorization"))
        return await self.respond(request)

    async def take(self, request: web.Request) -> web.Response:
        """An upload."""
        assert "Authorization" not in request.headers
        self.given.append(await request.read())
        return web.Response(text="OK")

    async def content(self, request: web.Request) -> web.StreamResponse:
        """The file."""
        return web.Response(body=b"\x89PNG", content_type="image/png")

    async def sign_in(self, request: web.Request) -> web.StreamResponse:
        """What Slack answers to a token that may not read files."""
        return web.Response(text="<!doctype html><title>Sign in</title>", content_type="text/html")

    async def endless(self, request: web.Request) -> web.StreamResponse:
        """A content that says of no length, and has none."""
        answer = web.StreamResponse(headers={"Content-Type": "image/png"})
        await answer.prepare(request)
        try:
            while True:
                await answer.write(b"x" * 65_536)
                self.sent += 65_536
        except (ConnectionError, asyncio.CancelledError):
            return answer

    async def declared(self, request: web.Request) -> web.StreamResponse:
        """A content that says it is larger than it may be; nobody may wait for it."""
        answer = web.StreamResponse(headers={"Content-Type": "image/png", "Content-Length": "2000000"})
        await answer.prepare(request)
        await asyncio.Event().wait()
        return answer

    async def packed(self, request: web.Request) -> web.StreamResponse:
        """A content that is larger than what is sent of it."""
        return web.Response(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip", "Content-Type": "image/png"})

    async def refused(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=403)

    def leads_to(self, *addresses: str) -> Handed:
        """Redirects from one address to the next, and then the file."""

        async def lead(request: web.Request) -> web.StreamResponse:
            self.hops += 1
            if self.hops > len(addresses):
                return await self.content(request)
            return web.Response(status=302, headers={"Location": addresses[self.hops - 1]})

        return lead


@asynccontextmanager
async def open_file_host() -> AsyncIterator[FileHost]:
    """The host on a free port."""
    host = FileHost()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/api/{method}", host.call)
    app.router.add_get("/pri/{name}", host.hand)
    app.router.add_post("/up", host.take)
    async with listening(app) as host.root:
        yield host


def _ok(**fields: Any) -> web.Response:
    return web.json_response({"ok": True, **fields})
