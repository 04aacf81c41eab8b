"""The product behind signed HTTP events, without Socket Mode: a local Slack that delivers to it, and a stand-in model.

async with open_world_over_http(tmp_path) as over_http:
    asked = await over_http.world.customer.says("Hello!")
    status = await over_http.delivers({"type": "event_callback", …})
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from demo.model.server import MODEL, Pace, open_stand_in
from demo.ports import free_port
from local_slack.http_events import signed
from tests.stories.world import PATIENCE, ROOT, Json, World, became_ready, product_environment


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
        secret = str(self.world.ready["slack"]["signing_secret"])
        headers = signed(body, secret, at=time.time() if sent_at is None else sent_at)
        headers["Content-Type"] = "application/json"
        async with self.world.http.post(self.events, data=body, headers=headers) as response:
            return response.status


@asynccontextmanager
async def open_world_over_http(
    data: Path, *, env: dict[str, str] | None = None, log: int | None = None
) -> AsyncIterator[OverHttp]:
    """Start the local Slack, the product behind it and a model, and leave no process behind. `log` is the descriptor
    that the product's log goes to, a file in `data` unless given."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    events = f"{url}/slack/events"
    slack = await _start("-m", "local_slack", "--port", "0", "--events-url", events, output=asyncio.subprocess.PIPE)
    assert slack.stdout is not None
    ready: Json = json.loads(await asyncio.wait_for(slack.stdout.readline(), PATIENCE))
    async with open_stand_in(pace=Pace(first=0.05, chunk=0.002)) as model, aiohttp.ClientSession() as http:
        told = {"key": model.key, "url": model.url, "local": f"{model.root}/_local"}
        world = World(http, {"slack": ready, "bot": {"url": url}, "model": told}, data)
        environment = product_environment(world, data) | {
            "SLACK_SIGNING_SECRET": ready["signing_secret"],
            "OPENAI_API_KEY": model.key,
            "OPENAI_MODEL": MODEL,
            "PORT": str(port),
            **(env or {}),
        }
        del environment["SLACK_APP_TOKEN"]
        with (data / "frontdesk.log").open("ab") as file:
            output = file.fileno() if log is None else log
            product = await _start("-P", "-m", "bot", "serve", environment=environment, log=output)
        try:
            await became_ready(http, url, product)
            yield OverHttp(world, events, product)
        finally:
            for process in (product, slack):
                if process.returncode is None:
                    process.terminate()
                await asyncio.wait_for(process.wait(), PATIENCE)


async def _start(
    *arguments: str, environment: dict[str, str] | None = None, output: int | None = None, log: int | None = None
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, env=environment, stdout=output, stderr=log
    )
