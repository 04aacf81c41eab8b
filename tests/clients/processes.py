"""The workspace and its app, each a process of its own: started, listened to and stopped by its id."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from demo.ports import free_port
from demo.program import dying_with_parent
from tests.patience import patience

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
SECONDS = patience(20.0)
"""How long anything that was asked for may take."""
STOP_SECONDS = 5.0


class Slack:
    """The running workspace, known only by the line it printed."""

    def __init__(self, addresses: Json, http: aiohttp.ClientSession) -> None:
        self.addresses = addresses
        self._http = http

    async def act(self, what: str, **fields: Any) -> Json:
        """What a person does; the answer of `/_local/act/{what}`, with "ok" in it."""
        return await self._local("POST", f"act/{what}", json=fields)

    async def breaks(self, **fault: Any) -> None:
        """See local_slack/local.py."""
        assert (await self._local("POST", "fault", json=fault))["ok"]

    async def log(self) -> list[Json]:
        entries: list[Json] = (await self._local("GET", "log"))["entries"]
        return entries

    async def state(self) -> Json:
        return await self._local("GET", "state")

    async def until(self, look: Callable[[Json], Any]) -> Any:
        """What `look` finds in the state, as soon as that is something. Raises TimeoutError."""
        return await self._until(self.state, look)

    async def until_logged(self, look: Callable[[list[Json]], Any]) -> Any:
        """The same with the log."""
        return await self._until(self.log, look)

    async def _until(self, read: Callable[[], Awaitable[Any]], look: Callable[[Any], Any]) -> Any:
        after = -1
        async with asyncio.timeout(SECONDS):
            while True:
                changed = await self._local("GET", "changes", params={"after": after, "timeout": SECONDS})
                after = changed["n"]
                if seen := look(await read()):
                    return seen

    async def _local(self, method: str, path: str, **arguments: Any) -> Json:
        url, headers = f"{self.addresses['url']}/_local/{path}", {"secret": self.addresses["secret"]}
        async with self._http.request(method, url, headers=headers, **arguments) as response:
            answer: Json = await response.json()
            return answer


class Client:
    """The running app."""

    def __init__(self, log: Path, events_url: str) -> None:
        self.events_url = events_url
        """Where it takes signed requests; "" with Socket Mode."""
        self._log = log

    def complaints(self) -> str:
        """Its standard error: every client is told to write warnings and errors there, and nothing else."""
        return self._log.read_text(encoding="utf-8", errors="replace")


@asynccontextmanager
async def open_slack(events_url: str = "", *, options: Sequence[str] = ()) -> AsyncIterator[Slack]:
    """`python -m local_slack OPTIONS` until the block ends; with `events_url` it delivers there by signed HTTP."""
    command = [sys.executable, "-m", "local_slack", "--port", "0", *options]
    command += ["--events-url", events_url] if events_url else []
    async with _running(command, stdout=asyncio.subprocess.PIPE) as process, aiohttp.ClientSession() as http:
        assert process.stdout is not None
        async with asyncio.timeout(SECONDS):
            line = await process.stdout.readline()
        assert line, "the workspace ended at its start"
        yield Slack(json.loads(line), http)


@asynccontextmanager
async def open_client(
    command: Sequence[str], log: Path, *, by_http: bool, options: Sequence[str] = ()
) -> AsyncIterator[tuple[Slack, Client]]:
    """A workspace and an app in it, which runs as `command` and is connected.

    The app finds API_URL, BOT_TOKEN, APP_TOKEN and SIGNING_SECRET in its environment, and PORT if it takes signed
    requests at /slack/events. `options` are those of the workspace.
    """
    port = free_port() if by_http else 0
    events_url = f"http://127.0.0.1:{port}/slack/events" if by_http else ""
    async with open_slack(events_url, options=options) as slack:
        names = {"API_URL": "api_url", "SLACK_API_URL": "api_url", "BOT_TOKEN": "bot_token", "APP_TOKEN": "app_token"}
        environment = {name: slack.addresses[address] for name, address in names.items()}
        environment["SIGNING_SECRET"] = slack.addresses["signing_secret"]
        environment |= {"PORT": str(port)} if by_http else {}
        with log.open("wb") as written:
            async with _running(command, environment, stderr=written):
                client = Client(log, events_url)
                try:
                    await slack.until(lambda state: state["online"])
                except TimeoutError:
                    raise AssertionError(f"the app never came: {client.complaints()}") from None
                yield slack, client


@asynccontextmanager
async def _running(
    command: Sequence[str], environment: Mapping[str, str] | None = None, **streams: Any
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdin=asyncio.subprocess.DEVNULL,
        **({"stdout": asyncio.subprocess.DEVNULL} | streams),
        start_new_session=True,
        preexec_fn=dying_with_parent(),
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
