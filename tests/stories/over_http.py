"""The product behind signed HTTP events, without Socket Mode: a local Slack that delivers to it, and a stand-in model.

async with open_world_over_http(tmp_path) as over_http:
    asked = await over_http.world.customer.says("Hello!")
    status = await over_http.delivers({"type": "event_callback", …})
"""

import asyncio
import hashlib
import hmac
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from demo.model.server import MODEL, Pace, open_stand_in
from tests.stories.world import PATIENCE, ROOT, Json, World


@dataclass(frozen=True, slots=True)
class OverHttp:
    """A world whose Slack posts events to the product, and the door that it posts them to."""

    world: World
    events: str
    """The address of the product's door."""
    product: asyncio.subprocess.Process

    async def delivers(self, payload: Json | bytes, *, sent_at: float | None = None) -> int:
        """Deliver a payload as Slack would, signed at `sent_at` (now unless given); the status of the answer."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        timestamp = str(int(time.time() if sent_at is None else sent_at))
        base = b"v0:" + timestamp.encode() + b":" + body
        secret = str(self.world.ready["slack"]["signing_secret"]).encode()
        headers = {
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": f"v0={hmac.new(secret, base, hashlib.sha256).hexdigest()}",
            "Content-Type": "application/json",
        }
        async with self.world.http.post(self.events, data=body, headers=headers) as response:
            return response.status


@asynccontextmanager
async def open_world_over_http(
    data: Path, *, env: dict[str, str] | None = None, log: int | None = None
) -> AsyncIterator[OverHttp]:
    """Start the local Slack, the product behind it and a model, and leave no process behind. `log` is the descriptor
    that the product's log goes to, a file in `data` unless given."""
    port = free_port()
    events = f"http://127.0.0.1:{port}/slack/events"
    slack = await _start("-m", "demo.slack", "--port", "0", "--events-url", events, output=asyncio.subprocess.PIPE)
    assert slack.stdout is not None
    ready: Json = json.loads(await asyncio.wait_for(slack.stdout.readline(), PATIENCE))
    async with open_stand_in(pace=Pace(first=0.05, chunk=0.002)) as model, aiohttp.ClientSession() as http:
        environment = _settings(ready, data, port) | {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": model.key}
        with (data / "frontdesk.log").open("ab") as file:
            command = ("-P", "-m", "bot", "serve")
            product = await _start(
                *command, environment=environment | (env or {}), log=file.fileno() if log is None else log
            )
        try:
            await _became_ready(http, f"http://127.0.0.1:{port}/healthz", product)
            told: Json = {"slack": ready, "bot": {"url": f"http://127.0.0.1:{port}"}}
            told["model"] = {"key": model.key, "local": f"{model.root}/_local"}
            yield OverHttp(World(http, told, data, product), events, product)
        finally:
            for process in (product, slack):
                if process.returncode is None:
                    process.terminate()
                await asyncio.wait_for(process.wait(), PATIENCE)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def _became_ready(http: aiohttp.ClientSession, health: str, product: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            assert product.returncode is None, "it ended at its start"
            try:
                async with http.get(health) as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientConnectionError:
                pass
            await asyncio.sleep(0.1)


async def _start(
    *arguments: str, environment: dict[str, str] | None = None, output: int | None = None, log: int | None = None
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, env=environment, stdout=output, stderr=log
    )


def _settings(ready: Json, data: Path, port: int) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "PYTHONPATH": str(ROOT),
        "SLACK_BOT_TOKEN": ready["bot_token"],
        "SLACK_SIGNING_SECRET": ready["signing_secret"],
        "SLACK_API_URL": ready["api_url"],
        "AGENT_CHANNEL": "C0AGENTS",
        "OPENAI_MODEL": MODEL,
        "DATA_DIR": str(data),
        "PORT": str(port),
    }
