"""slack-sdk's Socket Mode clients that work with threads: `builtin` and `websocket_client`, named as an argument."""

import logging
import sys
import threading
from typing import Any

from slack_sdk import WebClient
from slack_sdk.socket_mode import builtin, websocket_client
from slack_sdk.socket_mode.client import BaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from tests.clients.apps import script

CLIENTS: dict[str, Any] = {
    "builtin": builtin.SocketModeClient,
    "websocket_client": websocket_client.SocketModeClient,
}


def main() -> None:
    """Connect, and work until the process is stopped."""
    logging.basicConfig(level=logging.WARNING)
    web_client = WebClient(token=script.BOT_TOKEN, base_url=script.API_URL)
    client = CLIENTS[sys.argv[1]](app_token=script.APP_TOKEN, web_client=web_client)
    client.socket_mode_request_listeners.append(take)
    client.connect()
    threading.Event().wait()


def take(client: BaseSocketModeClient, request: SocketModeRequest) -> None:
    attempt = request.retry_attempt or 0
    if script.is_left_unacknowledged(request.payload.get("event", {}), attempt):
        return
    payload = script.acknowledgement(request.type, request.payload)
    client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id, payload=payload))
    calls = script.calls(request.type, request.payload, attempt=attempt, reason=request.retry_reason or "")
    answer = None
    try:
        while True:
            method, arguments = calls.send(answer)
            answer = getattr(client.web_client, method)(**arguments)
    except StopIteration:
        return


if __name__ == "__main__":
    main()
