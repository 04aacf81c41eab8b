"""The app's part in the play, for clients that bring no framework: what it answers, call by call."""

import os
from collections.abc import Generator
from typing import Any

Json = dict[str, Any]
Calls = Generator[tuple[str, Json], Any, None]
"""Names of slack-sdk's methods with their arguments; each is sent the answer to its call."""

API_URL, BOT_TOKEN, APP_TOKEN = (os.environ.get(name, "") for name in ("API_URL", "BOT_TOKEN", "APP_TOKEN"))

TITLE = {"type": "plain_text", "text": "Ask"}
INPUT = {
    "type": "input",
    "block_id": "note",
    "label": TITLE,
    "element": {"type": "plain_text_input", "action_id": "text"},
}
MODAL = {"type": "modal", "callback_id": "ask", "title": TITLE, "submit": TITLE, "blocks": [INPUT]}
HOME = {"type": "home", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "at home"}}]}


def is_left_unacknowledged(event: Json, attempt: int) -> bool:
    """Whether the app keeps silent, so that the event comes again."""
    return event.get("text") == "again" and event.get("channel_type") == "im" and "bot_id" not in event and attempt == 0


def acknowledgement(kind: str, payload: Json) -> Json | None:
    """What goes with the acknowledgement of a delivery of this kind (as `slash_commands`), if anything."""
    if kind == "slash_commands":
        return {"text": f"you asked {payload['text']}"}
    if payload["type"] == "view_submission" and note_in(payload) == "no":
        return {"response_action": "errors", "errors": {"note": "not that"}}
    return None


def calls(kind: str, payload: Json, *, attempt: int, reason: str) -> Calls:
    """What the app does about a delivery."""
    if kind == "slash_commands":
        yield "views_open", {"trigger_id": payload["trigger_id"], "view": MODAL | {"private_metadata": payload["text"]}}
    elif kind == "interactive" and note_in(payload) != "no":
        yield "chat_postMessage", {"channel": payload["user"]["id"], "text": f"noted {note_in(payload)}"}
    elif kind == "events_api":
        yield from about_event(payload["event"], attempt=attempt, reason=reason)


def about_event(event: Json, *, attempt: int, reason: str) -> Calls:
    """Answer a message, a mention, or somebody who opens the Home tab."""
    match event:
        case {"type": "app_home_opened", "user": user}:
            yield "views_publish", {"user_id": user, "view": HOME}
        case {"type": "app_mention", "channel": channel, "ts": ts, "user": user, "team": team}:
            recipient = {"recipient_user_id": user, "recipient_team_id": team}
            started = yield "chat_startStream", {"channel": channel, "thread_ts": ts, **recipient}
            place = {"channel": channel, "ts": started["ts"]}
            yield "chat_appendStream", place | {"markdown_text": "one **two**"}
            yield "chat_stopStream", place | {"markdown_text": " three"}
        case {"type": "message", "channel_type": "im", "text": "again"} if "bot_id" not in event:
            yield "chat_postMessage", {"channel": event["channel"], "text": f"again, {attempt}, {reason}"}
        case {"type": "message", "channel_type": "im", "text": text} if not {"bot_id", "subtype"} & event.keys():
            yield "chat_postMessage", {"channel": event["channel"], "text": f"heard {text}"}


def note_in(payload: Json) -> str:
    """What a person wrote into the modal."""
    return str(payload["view"]["state"]["values"]["note"]["text"]["value"])
