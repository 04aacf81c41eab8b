"""slack-sdk's four Socket Mode clients, and slack-bolt with threads and with asyncio, by Socket Mode and over HTTP."""

import sys
from pathlib import Path

import pytest

from tests.clients.play import a_client_that_is_sent_away_comes_back, play
from tests.clients.processes import open_client

CLIENTS = ["sdk_threads builtin", "sdk_threads websocket_client", "sdk_async aiohttp", "sdk_async websockets"]


@pytest.mark.parametrize("app", CLIENTS)
async def test_a_client_of_the_sdk_plays(app: str, tmp_path: Path) -> None:
    module, client = app.split()
    command = [sys.executable, "-m", f"tests.clients.apps.{module}", client]
    async with open_client(command, tmp_path / "stderr", by_http=False) as opened:
        await play(*opened)


@pytest.mark.parametrize("by_http", [False, True], ids=["socket-mode", "http"])
@pytest.mark.parametrize("app", ["bolt_threads", "bolt_async"])
async def test_bolt_plays(app: str, by_http: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-m", f"tests.clients.apps.{app}"]
    async with open_client(command, tmp_path / "stderr", by_http=by_http) as opened:
        await play(*opened)


@pytest.mark.parametrize(
    "app",
    [
        # those with threads notice only after seconds that their old connection is closed
        pytest.param(client, marks=[pytest.mark.long] if "threads" in client else [])
        for client in (*CLIENTS, "bolt_threads", "bolt_async")
    ],
)
async def test_a_client_comes_back(app: str, tmp_path: Path) -> None:
    module, *client = app.split()
    command = [sys.executable, "-m", f"tests.clients.apps.{module}", *client]
    async with open_client(command, tmp_path / "stderr", by_http=False) as (slack, _):
        await a_client_that_is_sent_away_comes_back(slack)
