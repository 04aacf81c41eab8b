"""The demo with its local Slack, started, and looked at from outside."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from evals.conversations.reading import Json

ROOT = Path(__file__).resolve().parents[2]
STAFF_CHANNEL, PUBLIC_CHANNEL = "C0AGENTS", "C0SUPPORT"
PEOPLE: Mapping[str, tuple[str, str]] = {
    "A": ("U0CUSTOMERA", "D0CUSTOMERA"),
    "B": ("U0CUSTOMERB", "D0CUSTOMERB"),
    "C": ("U0GUEST", "D0GUEST"),
}
"""Who writes -> their id, and the channel of their direct messages."""
SETTINGS: Mapping[str, str] = {
    "OPEN_CASES": "1000",
    "TOOL_CALLS_PER_MINUTE": "1000",
    "SLACK_RATE": "20",
    "CUSTOMER_MESSAGES_PER_MINUTE": "1000",
    "CUSTOMER_MESSAGES_PER_DAY": "100000",
}
"""Three customers write everything at the same time."""
START_TIMEOUT = 240.0
"""Seconds for the demo to start."""
CLOSE_TIMEOUT = 30.0
"""Seconds for it to end by itself."""
POLL_INTERVAL = 0.25
"""Seconds between two looks at a channel."""
MOST_SLOW = 4.0
"""How many times longer than usual things may take before that counts as a fault."""


class Refused(Exception):
    """The local Slack does not let a person do something."""


@dataclass(frozen=True, slots=True)
class Look:
    """A channel at one moment."""

    at: float
    threads: Mapping[str, Sequence[Json]]
    busy: frozenset[str]
    """Threads in which a status is shown, or something is being written."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the models took, as the product's own books say."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """In US dollars, by the prices that the product knows."""
    models: frozenset[str] = frozenset()

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            self.models | other.models,
        )


@dataclass(slots=True)
class World:
    """A running demo."""

    http: aiohttp.ClientSession
    url: str
    secret: str
    patience: float = 45.0
    """Seconds for one reply."""
    spent: Spent = Spent()
    """What the models took, once the demo has ended."""
    looks: dict[str, Look] = field(default_factory=dict)
    slow: float = 1.0
    """How many times longer than usual things take on this machine now."""
    _looked: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def act(self, what: str, **fields: str | None) -> Json:
        """Let a person do something. Raises Refused."""
        body = {name: value for name, value in fields.items() if value is not None}
        address = f"{self.url}/_local/act/{what}"
        async with self.http.post(address, json=body, params={"secret": self.secret}) as response:
            told: Json = await response.json()
            if response.status != 200:
                raise Refused(f"{what}: {told.get('error', told)}")
            return told

    async def state(self, channel: str) -> Json:
        """Everything in a channel."""
        params = {"secret": self.secret, "channel": channel}
        async with self.http.get(f"{self.url}/_local/state", params=params) as response:
            told: Json = await response.json()
            return told

    async def watch(self, channels: Sequence[str]) -> None:
        """Look at the channels again and again, and wake who waits."""
        while True:
            begun = time.monotonic()
            for channel in channels:
                self.looks[channel] = _read_state(await self.state(channel), channel)
            async with self._looked:
                self._looked.notify_all()
            await asyncio.sleep(POLL_INTERVAL)
            took = (time.monotonic() - begun) / (2 * POLL_INTERVAL)
            self.slow = min(MOST_SLOW, max(1.0, 0.8 * self.slow + 0.2 * took))

    async def next_look(self) -> None:
        """Wait until all channels were looked at again."""
        async with self._looked:
            await self._looked.wait()


@asynccontextmanager
async def open_demo(
    http: aiohttp.ClientSession, settings: Mapping[str, str], *, pace: float, patience: float
) -> AsyncIterator[World]:
    """Start the demo, and leave nothing of it. With OPENAI_API_KEY set, that model answers."""
    with tempfile.TemporaryDirectory(prefix="conversations-") as folder, tempfile.TemporaryFile() as errors:
        quiet = ["--json", "--empty", "--no-browser", "--no-rate-limits"]
        arguments = [*quiet, "--port", "0", "--pace", str(pace), "--data", folder]
        arguments += [word for name, value in settings.items() for word in ("--env", f"{name}={value}")]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "demo", *arguments),
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name not in ("DEMO_PORT", "KB_PATH")},
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
        try:
            line = await asyncio.wait_for(process.stdout.readline(), START_TIMEOUT) if process.stdout else b""
            if not line:
                errors.seek(0)
                raise SystemExit(f"the demo did not start:\n{errors.read()[-2_000:].decode('utf-8', 'replace')}")
            slack = json.loads(line)["slack"]
            world = World(http, slack["url"], slack["secret"], patience=patience)
            yield world
        finally:
            await _end(process)
        world.spent = read_spent(Path(folder) / "frontdesk.db")


def read_spent(path: Path) -> Spent:
    """What the models took, from the product's database."""
    with closing(sqlite3.connect(path)) as opened:
        rows = opened.execute("select models, input_tokens, output_tokens, cost from spending").fetchall()
    return sum(
        (
            Spent(read, written, cost, frozenset(filter(None, models.split(","))))
            for models, read, written, cost in rows
        ),
        Spent(),
    )


def at_page(http: aiohttp.ClientSession, page: str) -> World:
    """The demo that runs already, by its page's address."""
    url, _, secret = page.partition("/?secret=")
    return World(http, url.rstrip("/"), secret)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), CLOSE_TIMEOUT)
    except TimeoutError:
        process.kill()
        await process.wait()


def _read_state(state: Json, channel: str) -> Look:
    threads: dict[str, list[Json]] = {}
    ephemeral = [{**each, "is_ephemeral": True} for each in state["ephemerals"] if each.get("channel") == channel]
    for message in [*state["messages"].get(channel, ()), *ephemeral]:
        threads.setdefault(message.get("thread_ts") or message["ts"], []).append(message)
    busy = {each["thread_ts"] for each in state["statuses"] if each.get("status")}
    busy |= {each["thread_ts"] for each in state["sessions"] if each.get("status") == "processing"}
    return Look(time.monotonic(), threads, frozenset(busy))
