"""pins.*: messages pinned to a channel. A pinned message carries by whom and when."""

import re

from local_slack import timeline
from local_slack.methods.call import Call, Method
from local_slack.shapes import permalink, readable
from local_slack.workspace import Channel, Json, SlackError

PINS = 100
"""Of one channel at most."""
_NOT_PINNABLE = re.compile(r"tombstone|(?:channel|group)_\w+")


def add(call: Call) -> Json:
    channel, message = _item(call)
    if "pinned_info" in message:
        raise SlackError("already_pinned")
    if _NOT_PINNABLE.fullmatch(message.get("subtype", "")):
        raise SlackError("not_pinnable")
    if len(pinned(call, channel)) >= PINS:
        raise SlackError("too_many_pins")
    when = int(call.workspace.clock.time())
    info = {"channel": channel.id, "pinned_by": call.me, "pinned_ts": when}
    message = message | {"pinned_to": [channel.id], "pinned_info": info}
    call.workspace.keep_message(channel.id, message)
    _tell(call, "pin_added", channel, message)
    return {}


def remove(call: Call) -> Json:
    channel, message = _item(call)
    if "pinned_info" not in message:
        raise SlackError("no_pin")
    kept = {name: value for name, value in message.items() if name not in ("pinned_to", "pinned_info")}
    call.workspace.keep_message(channel.id, kept)
    _tell(call, "pin_removed", channel, message)
    return {}


def list_(call: Call) -> Json:
    """The newest pin first."""
    channel = call.joined()
    return {"items": [_pin(call, channel, message) for message in pinned(call, channel)]}


def pinned(call: Call, channel: Channel) -> list[Json]:
    """The pinned messages of a channel, the one that was pinned last first."""
    messages = call.workspace.messages.get(channel.id, {}).values()
    found = [message for message in messages if "pinned_info" in message]
    return sorted(found, key=lambda message: (message["pinned_info"]["pinned_ts"], message["ts"]), reverse=True)


METHODS = {
    "pins.add": Method(add, scope="pins:write", tier=2),
    "pins.remove": Method(remove, scope="pins:write", tier=2),
    "pins.list": Method(list_, scope="pins:read", tier=2),
}


def _item(call: Call) -> tuple[Channel, Json]:
    channel = call.joined()
    return channel, call.workspace.message(channel.id, call.timestamp())


def _pin(call: Call, channel: Channel, message: Json) -> Json:
    info = message["pinned_info"]
    shown = {name: value for name, value in readable(message).items() if name != "pinned_info"}
    pin = {"type": "message", "channel": channel.id, "created": info["pinned_ts"], "created_by": info["pinned_by"]}
    return pin | {"message": shown | {"permalink": permalink(call.workspace, channel, message)}}


def _tell(call: Call, kind: str, channel: Channel, message: Json) -> None:
    event = {
        "type": kind,
        "user": call.me,
        "channel_id": channel.id,
        "item": _pin(call, channel, message),
        "item_user": message.get("user", ""),
        "pin_count": len(pinned(call, channel)),
        "pinned_info": message["pinned_info"],
        "event_ts": call.workspace.new_ts(),
    }
    removed = {"has_pins": event["pin_count"] > 0} if kind == "pin_removed" else {}
    timeline.emit(call.workspace, event | removed, channel)
