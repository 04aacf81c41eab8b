"""slack-sdk's Socket Mode clients that work with asyncio: `aiohttp` and `websockets`, named as an argument."""

import asyncio
import logging
import sys
from typing import Any

from slack_sdk.socket_mode import aiohttp, websockets
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.clients.apps import script

CLIENTS: dict[str, Any] = {"aiohttp": aiohttp.SocketModeClient, "websockets": websockets.SocketModeClient}


async def main() -> None:
    """Connect, and work until the process is stopped."""
    logging.basicConfig(level=logging.WARNING)
    web_client = AsyncWebClient(token=script.BOT_TOKEN, base_url=script.API_URL)
    client = CLIENTS[sys.argv[1]](app_token=script.APP_TOKEN, web_client=web_client)
    client.socket_mode_request_listeners.append(take)
    await client.connect()
    await asyncio.Event().wait()


async def take(client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
    attempt = request.retry_attempt or 0
    if script.is_left_unacknowledged(request.payload.get("event", {}), attempt):
        return
    payload = script.acknowledgement(request.type, request.payload)
    await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id, payload=payload))
    calls = script.calls(request.type, request.payload, attempt=attempt, reason=request.retry_reason or "")
    answer = None
    try:
        while True:
            method, arguments = calls.send(answer)
            answer = await getattr(client.web_client, method)(**arguments)
    except StopIteration:
        return


if __name__ == "__main__":
    asyncio.run(main())
