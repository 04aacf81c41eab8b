"""reactions.*: the app's own reactions, and those of everybody on a message."""

import re

from local_slack import timeline
from local_slack.methods.call import Call, Method
from local_slack.shapes import permalink, readable
from local_slack.workspace import Json, SlackError


def add(call: Call) -> Json:
    return _react(call, add=True)


def remove(call: Call) -> Json:
    return _react(call, add=False)


def get(call: Call) -> Json:
    """Of a message, or of a file, which has none here."""
    if file_id := call.text("file"):
        file = call.workspace.files.get(file_id)
        if file is None:
            raise SlackError("file_not_found")
        return {"type": "file", "file": file}
    if not call.text("channel"):
        raise SlackError("no_item_specified")
    channel = call.joined()
    message = call.workspace.message(channel.id, call.timestamp())
    shown = readable(message) | {"permalink": permalink(call.workspace, channel, message)}
    return {"type": "message", "channel": channel.id, "message": shown}


def list_(call: Call) -> Json:
    """The messages with a person's reactions, the newest first, as far as the caller sees them."""
    user = call.workspace.user(call.text("user", call.me)).id
    items = [
        {"type": "message", "channel": channel.id, "message": readable(message)}
        for channel in call.workspace.channels.values()
        if call.me in channel.members
        for message in call.workspace.messages.get(channel.id, {}).values()
        if any(user in reaction["users"] for reaction in message.get("reactions", ()))
    ]
    page, cursor = call.page(sorted(items, key=lambda item: str(item["message"]["ts"]), reverse=True))
    return {"items": page, "response_metadata": {"next_cursor": cursor}}


METHODS = {
    "reactions.list": Method(list_, scope="reactions:read", tier=2),
    "reactions.add": Method(add, scope="reactions:write", tier=3),
    "reactions.remove": Method(remove, scope="reactions:write", tier=2),
    "reactions.get": Method(get, scope="reactions:read", tier=3),
}


def _react(call: Call, *, add: bool) -> Json:
    channel = call.writable()
    name = call.required("name").strip(":")
    if not re.fullmatch(r"[a-z0-9_+'-]+(?:::skin-tone-[2-6])?", name):
        raise SlackError("invalid_name")
    timeline.react(call.workspace, channel, call.timestamp(), name, user=call.me, add=add)
    return {}
