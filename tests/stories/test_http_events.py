"""Signed HTTP events instead of Socket Mode: the same conversation through the other door."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.stories.world import PATIENCE, ROOT, Json, World

pytestmark = pytest.mark.asyncio(loop_scope="module")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def over_http(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[World, str]]:
    """A local Slack that delivers over HTTP, the product behind it, and the address of its events."""
    data, port = tmp_path_factory.mktemp("http"), free_port()
    events = f"http://127.0.0.1:{port}/slack/events"
    slack = await start("-m", "demo.slack", "--port", "0", "--events-url", events, output=asyncio.subprocess.PIPE)
    assert slack.stdout is not None
    ready: Json = json.loads(await asyncio.wait_for(slack.stdout.readline(), PATIENCE))
    product = await start("-P", "-m", "bot", "serve", environment=settings(ready, data, port))
    try:
        async with aiohttp.ClientSession() as http:
            await became_ready(http, f"http://127.0.0.1:{port}/healthz")
            yield World(http, {"slack": ready}, data, product), events
    finally:
        for process in (product, slack):
            process.terminate()
            await asyncio.wait_for(process.wait(), PATIENCE)


async def start(
    *arguments: str, environment: dict[str, str] | None = None, output: int | None = None
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, env=environment, stdout=output)


def settings(ready: Json, data: Path, port: int) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "PYTHONPATH": str(ROOT),
        "SLACK_BOT_TOKEN": ready["bot_token"],
        "SLACK_SIGNING_SECRET": ready["signing_secret"],
        "SLACK_API_URL": ready["api_url"],
        "AGENT_CHANNEL": "C0AGENTS",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "DATA_DIR": str(data),
        "PORT": str(port),
    }


async def became_ready(http: aiohttp.ClientSession, health: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                async with http.get(health) as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientConnectionError:
                pass
            await asyncio.sleep(0.1)


async def test_a_signed_event_is_answered(over_http: tuple[World, str]) -> None:
    world, _ = over_http
    asked = await world.customer.says("I want to talk to a real person")
    told = await world.customer.reads(asked)
    assert "FD-" in told.text


async def test_a_press_arrives_over_http_too(over_http: tuple[World, str]) -> None:
    world, _ = over_http
    asked = await world.customer.says("human please")
    told = await world.customer.reads(asked)
    await world.customer.presses(told, "esc.cancel")
    assert "back" in (await world.customer.reads(asked, after=told.ts)).text


async def test_a_command_arrives_over_http_too(over_http: tuple[World, str]) -> None:
    world, _ = over_http
    assert "knowledge base" in await world.staff.runs("/kb status")


async def test_what_nobody_signed_is_refused(over_http: tuple[World, str]) -> None:
    world, events = over_http
    forged = {"type": "event_callback", "event": {"type": "message", "text": "hi", "user": "U1", "channel": "D1"}}
    async with world.http.post(events, json=forged) as response:
        assert response.status == 401
