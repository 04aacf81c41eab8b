"""The world around the victim, which stays alive: Slack, the model, the shop and its ledger, all in this process.

Every call is applied when it arrives; its answer comes a few milliseconds later, and so does the call itself, so that a
kill can fall between an effect and the word of it.

open_outside   everything, served on loopback
Deliveries     plays Slack's delivery: in order within a thread, until it is acknowledged, and now and then once more
Ledger         what was written in the shop, by idempotency key
"""

import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from demo.ports import listening
from demo.shop.server import Shop, open_shop
from local_slack.deliveries import NEVER_SENT, Delivery, event_delivery
from local_slack.faults import Faults
from local_slack.http_events import signed
from local_slack.server import open_workspace
from local_slack.web_api import WebApi
from local_slack.workspace import Ack, Json, Rules, SlackError, Workspace
from tests.chaos.script import Reply, decide, pieces_of

ACK_SECONDS = 3.0
AGAIN = 0.1
"""The share of acknowledged events that are delivered once more."""
RETRY_SECONDS = 0.1
"""Slack waits for minutes; nobody here has them."""
BETWEEN_PIECES = (0.02, 0.06)
"""Seconds between two pieces of a streamed reply."""
BEFORE_AND_AFTER = (0.002, 0.02)


@dataclass(slots=True)
class Ledger:
    """The shop's writes."""

    url: str = ""
    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Mark -> the different keys under which it was written; each key was applied once."""

    async def write(self, request: web.Request) -> web.Response:
        try:
            mark = (await request.json())["mark"]
        except ConnectionError:
            return web.Response(status=400)
        await _pause()
        self.keys[mark].add(request.headers["Idempotency-Key"])
        await _pause()
        return web.json_response({"reserved": mark})


@dataclass(slots=True)
class Outside:
    """Everything around the victim."""

    workspace: Workspace
    shop: Shop
    ledger: Ledger
    deliveries: "Deliveries"
    model_url: str
    slack_url: str
    model_requests: list[tuple[float, str]]
    """When which request of a model came, as (monotonic, its last customer message)."""


@asynccontextmanager
async def open_outside(chance: random.Random, *, script: Callable[[Json], Reply] = decide) -> AsyncIterator[Outside]:
    """The world; `chance` decides on redeliveries and who gets an event, `script` on what a model replies."""
    requests: list[tuple[float, str]] = []
    ledger = Ledger()
    slow: list[WebApi] = []

    async def slack(request: web.Request) -> web.StreamResponse:
        try:
            await request.read()
        except ConnectionError:
            return web.Response(status=400)
        await _pause()
        answer = await slow[0].handle(request)
        await _pause()
        return answer

    async def model(request: web.Request) -> web.StreamResponse:
        try:
            asked = await request.json()
        except ConnectionError:
            return web.Response(status=400)
        said = [str(message["content"]) for message in asked["messages"] if message["role"] == "user"]
        requests.append((time.monotonic(), said[-1] if said else ""))
        return await _reply(request, script(asked))

    async with open_workspace(
        rules=Rules(rate_limits=False, stream_seconds=3_600), routes=[web.route("*", "/slow/{method}", slack)]
    ) as workspace:
        slow.append(WebApi(workspace, Faults()))
        async with listening(_app(model, ledger)) as root, open_shop() as shop, aiohttp.ClientSession() as session:
            ledger.url = f"{root}/ledger"
            deliveries = Deliveries(workspace, session, chance)
            workspace.transport = deliveries
            try:
                yield Outside(workspace, shop, ledger, deliveries, f"{root}/v1", f"{workspace.url}/slow", requests)
            finally:
                await deliveries.close()


def _app(model: Any, ledger: Ledger) -> web.Application:
    app = web.Application(client_max_size=16 << 20)
    app.add_routes([web.post("/v1/chat/completions", model), web.post("/ledger", ledger.write)])
    return app


async def _pause() -> None:
    await asyncio.sleep(random.uniform(*BEFORE_AND_AFTER))  # noqa: S311


async def _reply(request: web.Request, reply: Reply) -> web.StreamResponse:
    """Stream the scripted reply."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces_of(reply.text)]
    if calls := reply.call_deltas():
        deltas.append({"tool_calls": calls})
    finish = "tool_calls" if calls else "stop"
    try:
        for delta in deltas:
            await response.write(_chunk(delta, None))
            await asyncio.sleep(random.uniform(*BETWEEN_PIECES))  # noqa: S311
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        await response.write(_chunk({}, finish))
        await response.write(_event({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": usage}))
        await response.write(b"data: [DONE]\n\n")
    except ConnectionError:
        pass
    return response


def _chunk(delta: Json, finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({"id": "c", "object": "chat.completion.chunk", "model": "scripted", "choices": [choice]})


def _event(value: Json) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


class Deliveries:
    """Slack's side of signed HTTP. An event counts as acknowledged from the first 2xx on."""

    def __init__(self, workspace: Workspace, session: aiohttp.ClientSession, chance: random.Random) -> None:
        self.targets: Sequence[str] = ()
        """Where events may go, any of them."""
        self.acked: dict[str, float] = {}
        """The ts of a person's message, or that with "deleted" -> when it was acknowledged, monotonic."""
        self.on_ack: Callable[[], None] = lambda: None
        """Told of each at once."""
        self._workspace = workspace
        self._session = session
        self._chance = chance
        self._threads: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def connection_url(self) -> str:
        """Implements Transport."""
        raise SlackError("not_allowed_token_type")

    def event(self, event: Json, *, is_ext_shared: bool) -> None:
        """Implements Transport: what a person says or deletes must arrive; what else happens is told once."""
        delivery = event_delivery(self._workspace, event, is_ext_shared=is_ext_shared)
        message, name = event, str(event.get("ts"))
        if event.get("subtype") == "message_deleted":
            message, name = event["previous_message"], f"{event['deleted_ts']} deleted"
        is_spoken = event["type"] in ("message", "app_mention") and message.get("subtype") in (None, "file_share")
        if not is_spoken or message.get("bot_id"):
            self._start(self._post(delivery))
            return
        thread = f"{event['channel']}/{message.get('thread_ts') or message['ts']}"
        self._threads[thread] = self._start(self._deliver(delivery, name, self._threads.get(thread)))

    async def interact(self, kind: str, payload: Json) -> Ack:
        """Implements Transport: once, and whoever pressed sees whether it was taken."""
        del kind
        body = urlencode({"payload": json.dumps(payload)}).encode()
        is_taken = await self._request(body, {"Content-Type": "application/x-www-form-urlencoded"})
        return Ack(ok=is_taken, error="" if is_taken else NEVER_SENT)

    async def close(self) -> None:
        """Give up what is under way."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _deliver(self, delivery: Delivery, name: str, before: asyncio.Task[None] | None) -> None:
        """After the thread's message before; again and again until it is acknowledged, and perhaps once more."""
        if before is not None:
            await asyncio.wait({before})
        while not await self._post(delivery):
            delivery.attempts += 1
            delivery.reason = "http_timeout"
            await asyncio.sleep(RETRY_SECONDS)
        if name not in self.acked:
            self.acked[name] = time.monotonic()
            self.on_ack()
        if self._chance.random() < AGAIN:
            await self._post(delivery)

    async def _post(self, delivery: Delivery) -> bool:
        """Whether the product acknowledged it."""
        headers = {"Content-Type": "application/json"}
        if delivery.attempts:
            headers |= {"X-Slack-Retry-Num": str(delivery.attempts), "X-Slack-Retry-Reason": delivery.reason}
        return await self._request(json.dumps(delivery.payload).encode(), headers)

    async def _request(self, body: bytes, headers: dict[str, str]) -> bool:
        """One signed request; whether the answer was yes, and in time."""
        if not self.targets:
            return False
        headers |= signed(body, self._workspace.signing_secret, at=time.time())
        try:
            async with (
                asyncio.timeout(ACK_SECONDS),
                self._session.post(self._chance.choice(self.targets), data=body, headers=headers) as answer,
            ):
                return answer.status // 100 == 2
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False
