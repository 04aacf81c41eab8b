"""slack-bolt with threads: by Socket Mode, or over HTTP when PORT is set."""

import logging
import os
from collections.abc import Callable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from slack_bolt import App, BoltRequest, BoltResponse
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_bolt.adapter.wsgi import SlackRequestHandler
from slack_sdk import WebClient

from tests.clients.apps import script
from tests.clients.apps.script import Json

logging.basicConfig(level=logging.WARNING)
app = App(
    client=WebClient(token=script.BOT_TOKEN, base_url=script.API_URL),
    signing_secret=os.environ["SIGNING_SECRET"],
)


class Unlogged(WSGIRequestHandler):
    """Keeps requests out of standard error."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        return


@app.middleware
def sometimes_silent(req: BoltRequest, next: Callable[[], BoltResponse]) -> BoltResponse:  # noqa: A002
    attempt = int(req.headers.get("x-slack-retry-num", ["0"])[0])
    if script.is_left_unacknowledged(req.body.get("event", {}), attempt):
        return BoltResponse(status=503)
    return next()


@app.message("again")
def again(req: BoltRequest, say: Any) -> None:
    say(f"again, {req.headers['x-slack-retry-num'][0]}, {req.headers['x-slack-retry-reason'][0]}")


@app.event("message")
def message(event: Json, say: Any) -> None:
    if event["channel_type"] == "im" and not {"bot_id", "subtype"} & event.keys():
        say(f"heard {event['text']}")


@app.event("app_mention")
def mention(event: Json, client: WebClient) -> None:
    stream = client.chat_stream(
        channel=event["channel"],
        thread_ts=event["ts"],
        recipient_user_id=event["user"],
        recipient_team_id=event["team"],
        buffer_size=1,
    )
    stream.append(markdown_text="one")
    stream.append(markdown_text=" **two**")
    stream.stop(markdown_text=" three")


@app.command("/ask")
def ask(ack: Any, command: Json, client: WebClient) -> None:
    ack(f"you asked {command['text']}")
    client.views_open(trigger_id=command["trigger_id"], view=script.MODAL | {"private_metadata": command["text"]})


@app.view("ask")
def submitted(ack: Any, body: Json, client: WebClient) -> None:
    note = script.note_in(body)
    if note == "no":
        ack(response_action="errors", errors={"note": "not that"})
        return
    ack()
    client.chat_postMessage(channel=body["user"]["id"], text=f"noted {note}")


@app.event("app_home_opened")
def home(event: Json, client: WebClient) -> None:
    client.views_publish(user_id=event["user"], view=script.HOME)


def main() -> None:
    """Work until the process is stopped."""
    if "PORT" not in os.environ:
        SocketModeHandler(app, script.APP_TOKEN).start()  # type: ignore[no-untyped-call]
    with make_server("127.0.0.1", int(os.environ["PORT"]), SlackRequestHandler(app), handler_class=Unlogged) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
