"""reactions.*: the app's own reactions, and those of everybody on a message."""

import re

from demo.slack import timeline
from demo.slack.methods.call import Call, Method
from demo.slack.shapes import readable
from demo.slack.workspace import Json, SlackError


def add(call: Call) -> Json:
    return _react(call, add=True)


def remove(call: Call) -> Json:
    return _react(call, add=False)


def get(call: Call) -> Json:
    channel = call.joined()
    message = call.workspace.message(channel.id, call.required("timestamp"))
    return {"type": "message", "channel": channel.id, "message": readable(message)}


METHODS = {
    "reactions.add": Method(add, scope="reactions:write", tier=3),
    "reactions.remove": Method(remove, scope="reactions:write", tier=2),
    "reactions.get": Method(get, scope="reactions:read", tier=3),
}


def _react(call: Call, *, add: bool) -> Json:
    channel = call.writable()
    name = call.required("name").strip(":")
    if not re.fullmatch(r"[a-z0-9_+'-]+(?:::skin-tone-[2-6])?", name):
        raise SlackError("invalid_name")
    bot = call.workspace.app.user_id
    timeline.react(call.workspace, channel, call.required("timestamp"), name, user=bot, add=add)
    return {}
