"""slack-bolt with asyncio: by Socket Mode, or over HTTP when PORT is set."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt import BoltResponse
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from tests.clients.apps import script
from tests.clients.apps.script import Json

logging.basicConfig(level=logging.WARNING)
app = AsyncApp(
    client=AsyncWebClient(token=script.BOT_TOKEN, base_url=script.API_URL),
    signing_secret=os.environ["SIGNING_SECRET"],
)


@app.middleware
async def sometimes_silent(req: AsyncBoltRequest, next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:  # noqa: A002
    attempt = int(req.headers.get("x-slack-retry-num", ["0"])[0])
    if script.is_left_unacknowledged(req.body.get("event", {}), attempt):
        return BoltResponse(status=503)
    return await next()


@app.message("again")
async def again(req: AsyncBoltRequest, say: Any) -> None:
    await say(f"again, {req.headers['x-slack-retry-num'][0]}, {req.headers['x-slack-retry-reason'][0]}")


@app.event("message")
async def message(event: Json, say: Any) -> None:
    if event["channel_type"] == "im" and not {"bot_id", "subtype"} & event.keys():
        await say(f"heard {event['text']}")


@app.event("app_mention")
async def mention(event: Json, client: AsyncWebClient) -> None:
    stream = await client.chat_stream(
        channel=event["channel"],
        thread_ts=event["ts"],
        recipient_user_id=event["user"],
        recipient_team_id=event["team"],
        buffer_size=1,
    )
    await stream.append(markdown_text="one")
    await stream.append(markdown_text=" **two**")
    await stream.stop(markdown_text=" three")


@app.command("/ask")
async def ask(ack: Any, command: Json, client: AsyncWebClient) -> None:
    await ack(f"you asked {command['text']}")
    view = script.MODAL | {"private_metadata": command["text"]}
    await client.views_open(trigger_id=command["trigger_id"], view=view)


@app.view("ask")
async def submitted(ack: Any, body: Json, client: AsyncWebClient) -> None:
    note = script.note_in(body)
    if note == "no":
        await ack(response_action="errors", errors={"note": "not that"})
        return
    await ack()
    await client.chat_postMessage(channel=body["user"]["id"], text=f"noted {note}")


@app.event("app_home_opened")
async def home(event: Json, client: AsyncWebClient) -> None:
    await client.views_publish(user_id=event["user"], view=script.HOME)


async def by_socket_mode() -> None:
    """Work until the process is stopped."""
    await AsyncSocketModeHandler(app, script.APP_TOKEN).start_async()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    if "PORT" in os.environ:
        app.start(port=int(os.environ["PORT"]), host="127.0.0.1")
    else:
        asyncio.run(by_socket_mode())
