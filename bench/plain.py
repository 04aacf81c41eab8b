"""The floor of `bench.answer`: the same answer with Bolt, openai and aiohttp, and no database behind it.

    python -m bench.plain              serves until SIGTERM, by the product's own settings; the last line is JSON

It makes the calls that the product makes, in the same order: who wrote it, that work has begun, the model, the shop,
the model again, and a stream. Nothing is stored, checked, limited or repeated.
"""

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson
from aiohttp import web
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionToolParam
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bench.counted import counted
from bench.desk import SCHEMAS, SYSTEM

PLAIN = "bench.plain"
APPEND_SECONDS = 0.3
"""Between two appends of a stream, as in the product at the rates of the bench."""
FEEDBACK = [
    {
        "type": "context_actions",
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": "feedback",
                "positive_button": {"text": {"type": "plain_text", "text": "Good"}, "value": "good"},
                "negative_button": {"text": {"type": "plain_text", "text": "Bad"}, "value": "bad"},
            }
        ],
    }
]


class Desk:
    """Answers one message at a time as it comes."""

    def __init__(self, settings: Mapping[str, str], slack: AsyncWebClient, shop: aiohttp.ClientSession) -> None:
        self._slack = slack
        self._shop = shop
        self._shop_url = settings["SHOP_URL"]
        self._model = settings["OPENAI_MODEL"]
        self._openai = AsyncOpenAI(api_key=settings["OPENAI_API_KEY"], base_url=settings["OPENAI_BASE_URL"])

    async def answer(self, message: Mapping[str, Any]) -> None:
        """Answer one direct message."""
        channel, thread, user = message["channel"], message["ts"], message["user"]
        found = await self._slack.users_info(user=user)
        profile: dict[str, Any] = found["user"]["profile"]
        await self._ask_shop("/customers", email=profile["email"])
        await self._slack.agents_sessions_setStatus(channel_id=channel, thread_ts=thread, status="processing")
        said = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": message["text"]}]
        stream = _Stream(self._slack, channel, thread, user, message["team"])
        while calls := await self._reply(said, stream):
            said.append({"role": "assistant", "content": None, "tool_calls": calls})
            for call in calls:
                order = orjson.loads(call["function"]["arguments"])["order_id"]
                told = orjson.dumps(await self._ask_shop(f"/orders/{order}")).decode()
                said.append({"role": "tool", "tool_call_id": call["id"], "content": told})
        await stream.end()

    async def _ask_shop(self, path: str, **query: str) -> Any:
        async with self._shop.get(self._shop_url + path, params=query) as response:
            return orjson.loads(await response.read())

    async def _reply(self, said: list[Any], stream: "_Stream") -> list[dict[str, Any]]:
        """One reply of the model. Its words go to the stream; its calls are returned."""
        tools: list[ChatCompletionToolParam] = SCHEMAS  # type: ignore[assignment]  # written out, not built
        reply = await self._openai.chat.completions.create(
            model=self._model, messages=said, tools=tools, stream=True, stream_options={"include_usage": True}
        )
        calls: list[dict[str, Any]] = []
        async for piece in reply:
            if not piece.choices:
                continue
            delta = piece.choices[0].delta
            if delta.content:
                await stream.add(delta.content)
            calls.extend(call.model_dump(exclude={"index"}) for call in delta.tool_calls or ())
        return calls


class _Stream:
    """One streamed message, which is opened with its first sentence."""

    def __init__(self, slack: AsyncWebClient, channel: str, thread: str, user: str, team: str) -> None:
        self._slack = slack
        self._channel = channel
        self._place = {"thread_ts": thread, "recipient_user_id": user, "recipient_team_id": team}
        self._text = ""
        self._ts = ""
        self._shown_at = 0.0

    async def add(self, words: str) -> None:
        self._text += words
        now = time.monotonic()
        if "." not in self._text or now - self._shown_at < APPEND_SECONDS:
            return
        chunks = [{"type": "markdown_text", "text": self._text}]
        self._text, self._shown_at = "", now
        if self._ts:
            await self._slack.chat_appendStream(channel=self._channel, ts=self._ts, chunks=chunks)
            return
        answer = await self._slack.chat_startStream(channel=self._channel, chunks=chunks, **self._place)
        self._ts = answer["ts"]

    async def end(self) -> None:
        chunks = [{"type": "markdown_text", "text": self._text}]
        await self._slack.chat_stopStream(channel=self._channel, ts=self._ts, chunks=chunks, blocks=FEEDBACK)


async def _serve() -> None:
    settings = os.environ
    slack = AsyncWebClient(token=settings["SLACK_BOT_TOKEN"], base_url=f"{settings['SLACK_API_URL']}/")
    bolt = AsyncApp(client=slack, signing_secret=settings["SLACK_SIGNING_SECRET"])
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with (
        aiohttp.ClientSession(headers={"Authorization": "Bearer bench"}) as shop,
        aiohttp.ClientSession() as slack.session,
    ):
        desk = Desk(settings, slack, shop)

        @bolt.event("message")
        async def take(event: dict[str, Any]) -> None:
            await desk.answer(event)

        async def events(request: web.Request) -> web.Response:
            return await to_aiohttp_response(await bolt.async_dispatch(await to_bolt_request(request)))

        async def is_up(_request: web.Request) -> web.Response:
            return web.Response()

        app = web.Application()
        app.router.add_post("/slack/events", events)
        app.router.add_get("/healthz", is_up)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", int(settings["PORT"])).start()
        await counted(ended.wait())
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve())
