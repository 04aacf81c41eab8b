"""The running product as a bench sees it: started over HTTP, given signed events, its loop's lateness watched.

python -m bench.serving            the product's `serve` with a timer beside it; the last line is JSON
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp

from bench.measuring import peak_mb
from bench.outside import AGENTS, APP, TEAM
from bench.timing import quantile, watch
from bot.app import serve
from bot.settings import load_settings
from bot.telemetry import configure_logging
from demo.ports import free_port
from local_slack.http_events import signed

SERVING = "bench.serving"
ROOT = Path(__file__).resolve().parent.parent
SECRET = "bench-signing-secret"  # noqa: S105  # of a server on loopback that lives for a minute
TICK = 0.005
"""Seconds of the timer whose lateness is measured."""
READY_SECONDS = 120.0
STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """One direct message to the app."""

    mark: str
    user: str
    ts: str
    words: str = "How long do I have to return an item?"

    def body(self) -> bytes:
        """The event as Slack posts it."""
        event = {
            "type": "message",
            "channel": f"D{self.user[1:]}",
            "channel_type": "im",
            "user": self.user,
            "team": TEAM,
            "ts": self.ts,
            "event_ts": self.ts,
            "text": f"{self.words} My note is {self.mark}",
        }
        payload = {
            "type": "event_callback",
            "token": "unused",
            "team_id": TEAM,
            "api_app_id": APP,
            "event": event,
            "event_id": f"Ev{self.mark}{self.ts}",
            "event_time": int(float(self.ts)),
            "authorizations": [{"team_id": TEAM, "user_id": "U0BENCHBOT", "is_bot": True}],
        }
        return json.dumps(payload).encode()


def questions(number: int) -> list[Question]:
    """So many questions, each of a customer of its own."""
    now = time.time()
    return [Question(f"q{n:06d}", f"U0CUST{n:06d}", f"{now + n / 1_000:.6f}") for n in range(number)]


class Served:
    """A product that is ready."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, data: Path) -> None:
        self._process = process
        self.url = url
        self.data = data
        self.figures: dict[str, Any] = {}
        """What its own timer and the system say of it, once it has ended."""

    @property
    def database(self) -> Path:
        return self.data / "frontdesk.db"

    def mark(self) -> None:
        """Its figures begin here; the second time, they end here. `bench.counted` says what it cost until each."""
        self._process.send_signal(signal.SIGUSR1)

    async def end(self) -> None:
        """Stop it in good order and read what it says of itself."""
        self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_SECONDS):
            printed, _ = await self._process.communicate()
        self.figures = json.loads(printed.splitlines()[-1])


async def stage(
    outside: str,
    asked: Sequence[Question],
    *,
    first_seconds: float,
    seconds: float,
    sentences: int,
    looks_up: bool = False,
    prepares: bool = False,
) -> None:
    """Say how the model at `outside` plays, and which questions it is going to be asked.

    With `looks_up` it first asks for an order, with `prepares` it first prepares its cancellation.
    """
    play = {
        "first_seconds": first_seconds,
        "seconds": seconds,
        "sentences": sentences,
        "looks_up": looks_up,
        "prepares": prepares,
        "threads": {question.mark: question.ts for question in asked},
    }
    async with aiohttp.ClientSession() as http, http.post(f"{outside}/stage", json=play) as response:
        response.raise_for_status()


@dataclass(frozen=True, slots=True)
class Click:
    """A button of a message that somebody presses."""

    user: str
    channel: str
    ts: str
    """The message that it is in."""
    action: str
    value: str
    thread_ts: str = ""

    def body(self) -> bytes:
        """The interaction as Slack posts it."""
        place = {"ts": self.ts} | ({"thread_ts": self.thread_ts} if self.thread_ts else {})
        container = {"type": "message", "message_ts": self.ts, "channel_id": self.channel, "is_ephemeral": False}
        payload = {
            "type": "block_actions",
            "token": "unused",
            "api_app_id": APP,
            "team": {"id": TEAM, "domain": "bench"},
            "user": {"id": self.user, "name": "person", "username": "person", "team_id": TEAM},
            "trigger_id": f"1.{self.ts}.{self.user}{self.value}",
            "container": container | ({"thread_ts": self.thread_ts} if self.thread_ts else {}),
            "channel": {"id": self.channel, "name": "channel"},
            "message": {"type": "message", "text": "", "blocks": [], **place},
            "state": {"values": {}},
            "response_url": "https://hooks.example.com/unused",
            "actions": [
                {
                    "type": "button",
                    "action_id": self.action,
                    "block_id": "block",
                    "text": {"type": "plain_text", "text": "Press"},
                    "value": self.value,
                    "action_ts": f"{time.time():.6f}",
                }
            ],
        }
        return urlencode({"payload": json.dumps(payload)}).encode()


@dataclass(frozen=True, slots=True)
class Press:
    """A customer's yes to a change that was offered under a question."""

    question: Question
    offer: str
    """The value of the button."""
    ts: str
    """The message that it is in."""

    def body(self) -> bytes:
        """The interaction as Slack posts it."""
        user = self.question.user
        return Click(user, f"D{user[1:]}", self.ts, "act.yes", self.offer, thread_ts=self.question.ts).body()


@dataclass(frozen=True, slots=True)
class HomeOpened:
    """Somebody opens the app's Home tab."""

    user: str

    def body(self) -> bytes:
        """The event as Slack posts it."""
        now = time.time()
        event = {"type": "app_home_opened", "user": self.user, "channel": f"D{self.user[1:]}", "tab": "home"}
        payload = {
            "type": "event_callback",
            "token": "unused",
            "team_id": TEAM,
            "api_app_id": APP,
            "event": event | {"event_ts": f"{now:.6f}"},
            "event_id": f"Ev{self.user}{now:.6f}",
            "event_time": int(now),
            "authorizations": [{"team_id": TEAM, "user_id": "U0BENCHBOT", "is_bot": True}],
        }
        return json.dumps(payload).encode()


async def post(http: aiohttp.ClientSession, url: str, sent: Question | HomeOpened | Press | Click) -> float | None:
    """Seconds until the event or interaction was acknowledged; None when it was not."""
    body = sent.body()
    is_event = isinstance(sent, (Question, HomeOpened))
    kind = "application/json" if is_event else "application/x-www-form-urlencoded"
    headers = signed(body, SECRET, at=time.time()) | {"Content-Type": kind}
    begun = time.monotonic()
    async with http.post(f"{url}/slack/events", data=body, headers=headers) as response:
        await response.read()
        return time.monotonic() - begun if response.status == 200 else None


async def answered(
    http: aiohttp.ClientSession, outside: str, asked: Sequence[Question], *, seconds: float
) -> dict[str, Any]:
    """What became of the questions, once all are answered or the time is over."""
    now = asyncio.get_running_loop().time
    until = now() + seconds
    while True:
        async with http.get(f"{outside}/seen") as response:
            seen: dict[str, Any] = await response.json()
        ended = sum(seen["seen"].get(each.mark, {}).get("ended", 0) > 0 for each in asked)
        if ended >= len(asked) or now() > until:
            return seen
        await asyncio.sleep(0.25)


@asynccontextmanager
async def served(
    outside: str, data: Path, extra: Mapping[str, str] | None = None, *, program: str = SERVING
) -> AsyncIterator[Served]:
    """The product over HTTP, with Slack and the model at `outside`; it ends with the block.

    `program` is the module that serves it, or something else by the same settings.
    """
    url = f"http://127.0.0.1:{free_port()}"
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ},
        "PYTHONPATH": str(ROOT),
        "SLACK_BOT_TOKEN": "xoxb-bench-token",
        "SLACK_SIGNING_SECRET": SECRET,
        "SLACK_API_URL": f"{outside}/api",
        "AGENT_CHANNEL": AGENTS,
        "OPENAI_API_KEY": "bench",
        "OPENAI_BASE_URL": f"{outside}/v1",
        "OPENAI_MODEL": "bench",
        "CUSTOMER_MESSAGES_PER_MINUTE": "10000",
        "CUSTOMER_MESSAGES_PER_DAY": "100000",
        "KB_PATH": str(ROOT / "demo" / "kb.yml"),
        "DATA_DIR": str(data),
        "PORT": url.rpartition(":")[2],
        **(extra or {}),
    }
    with (data / "log").open("ab") as log:
        command = (sys.executable, "-m", program)
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=subprocess.PIPE, stderr=log, cwd=ROOT
        )
    try:
        await _ready(url, process)
        yield Served(process, url, data)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _ready(url: str, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(READY_SECONDS), aiohttp.ClientSession() as http:
        while process.returncode is None:
            try:
                async with http.get(f"{url}/healthz") as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.2)
    raise RuntimeError("the product ended at its start; its log says why")


async def main() -> None:
    """Serve, and print how late the loop was, what it cost and what it held."""
    settings = load_settings(os.environ, serving=True)
    configure_logging(settings.log_level, secrets=settings.secrets)
    lags: list[float] = []
    marks: list[tuple[float, int]] = []
    # The bench says when its load begins and ends; what a start costs is no part of it.
    asyncio.get_running_loop().add_signal_handler(
        signal.SIGUSR1, lambda: marks.append((time.process_time(), len(lags)))
    )
    timer = asyncio.create_task(watch(lags, TICK))
    await serve(settings)
    timer.cancel()
    begun, ended = (marks + [(time.process_time(), len(lags))] * 2)[:2]
    print(json.dumps(_figures(lags[begun[1] : ended[1]], ended[0] - begun[0])), flush=True)


def _figures(lags: list[float], cpu: float) -> dict[str, Any]:
    return {
        "cpu_s": round(cpu, 3),
        "rss_mb": round(peak_mb(), 1),
        "loop_lag_p999_ms": round(quantile(lags, 0.999), 1),
        "loop_lag_max_ms": round(quantile(lags, 1.0), 1),
    }


if __name__ == "__main__":
    asyncio.run(main())
