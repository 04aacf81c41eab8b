"""The Socket Mode connection: ready once Slack has said hello, and what its log lines do not hold."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.socket import HELLO_SECONDS, SocketConnection
from tests.doubles.clock import ManualClock
from tests.patience import patience

PATIENCE = patience(30.0)
TICKET = "a-secret-ticket"


class Gate:
    """A server of sockets, and the part of the Slack client that asks for their addresses."""

    def __init__(self) -> None:
        self.address = ""
        self.status = 101
        self.asked = 0
        self.refused = asyncio.Event()
        self.opened: asyncio.Queue[web.WebSocketResponse] = asyncio.Queue()
        self.web = AsyncWebClient()
        self.proxy = None

    async def open_socket(self, _app_token: str) -> str:
        self.asked += 1
        return self.address

    async def link(self, request: web.Request) -> web.StreamResponse:
        if self.status != 101:
            self.refused.set()
            return web.Response(status=self.status)
        socket = web.WebSocketResponse(autoping=True)
        await socket.prepare(request)
        self.opened.put_nowait(socket)
        async for _ in socket:
            pass
        return socket


@asynccontextmanager
async def opened(clock: ManualClock) -> AsyncIterator[tuple[Gate, SocketConnection]]:
    gate, app = Gate(), web.Application()
    app.router.add_get("/link", gate.link)
    async with TestServer(app) as server, asyncio.timeout(PATIENCE):
        gate.address = f"{str(server.make_url('/link')).replace('http', 'ws')}?ticket={TICKET}"
        socket = SocketConnection(cast(Any, gate), "xapp-1", clock)
        try:
            yield gate, socket
        finally:
            await socket.close()  # type: ignore[no-untyped-call]


async def test_a_connection_is_ready_once_slack_has_said_hello_on_it() -> None:
    async with opened(ManualClock()) as (gate, socket):
        await socket.connect()
        there = await gate.opened.get()
        assert await socket.is_connected()
        assert not await socket.is_ready()
        await there.send_json({"type": "hello", "num_connections": 1})
        await socket.greeted()
        assert await socket.is_ready()
        # The next one has to say hello again.
        await socket.connect()
        assert not await socket.is_ready()


async def test_a_connection_on_which_nobody_says_hello_counts_as_broken_after_a_while() -> None:
    clock = ManualClock()
    async with opened(clock) as (gate, socket):
        await socket.connect()
        await gate.opened.get()
        clock.advance(HELLO_SECONDS + 1)
        assert not await socket.is_connected()
        await socket.connect_to_new_endpoint()
        there = await gate.opened.get()
        assert await socket.is_connected()
        await there.send_json({"type": "hello"})
        await socket.greeted()
        clock.advance(10 * HELLO_SECONDS)
        assert await socket.is_ready()


async def test_a_connection_that_is_refused_is_told_without_its_ticket(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(ManualClock()) as (gate, socket):
        gate.status = 404
        with caplog.at_level(logging.DEBUG):
            trying = asyncio.create_task(socket.connect())
            await gate.refused.wait()
            gate.status = 101
            await trying
    told = [record for record in caplog.records if record.getMessage() == "not connected"]
    assert vars(told[0])["reason"] == "the handshake was answered with 404"
    assert all(TICKET not in record.getMessage() + str(vars(record)) for record in told)
