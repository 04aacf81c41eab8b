"""conversations.*: channels made, named, described, archived and opened again."""

import re

from local_slack import channels
from local_slack.methods.call import MANAGE, Call, Method
from local_slack.shapes import channel_shape
from local_slack.workspace import Channel, Json, SlackError

NAME_CHARACTERS = 80
TOPIC_CHARACTERS = 250
"""Of a description, too."""

_DESCRIBE = {
    "channel": "channels:write.topic",
    "group": "groups:write.topic",
    "im": "im:write.topic",
    "mpim": "mpim:write.topic",
}


def create(call: Call) -> Json:
    is_private = call.flag("is_private")
    call.need(MANAGE["group" if is_private else "channel"])
    name = _new_name(call)
    return shown(call, channels.create(call.workspace, name, is_private=is_private, creator=call.me))


def rename(call: Call) -> Json:
    """By its creator alone."""
    channel = _managed(call)
    if channel.creator != call.me:
        raise SlackError("not_authorized")
    channels.rename(call.workspace, channel, _new_name(call), user=call.me)
    return shown(call, channel)


def set_topic(call: Call) -> Json:
    channel = _described(call)
    channels.set_topic(call.workspace, channel, _description(call, "topic"), user=call.me)
    return shown(call, channel)


def set_purpose(call: Call) -> Json:
    channel = _described(call)
    channels.set_purpose(call.workspace, channel, _description(call, "purpose"), user=call.me)
    return {"purpose": channel.purpose, **shown(call, channel)}


def archive(call: Call) -> Json:
    channel = call.joined()
    _check_managed(call, channel)
    if channel.is_archived:
        raise SlackError("already_archived")
    if channel.name == "general":
        raise SlackError("cant_archive_general")
    channels.archive(call.workspace, channel, user=call.me)
    return {}


def unarchive(call: Call) -> Json:
    channel = call.conversation()
    _check_managed(call, channel)
    if not channel.is_archived:
        raise SlackError("not_archived")
    channels.unarchive(call.workspace, channel, user=call.me)
    return {}


_ANY = ",".join(MANAGE.values())
_ANY_DESCRIBE = ",".join([*_DESCRIBE.values(), _ANY])

METHODS = {
    "conversations.create": Method(create, scope=_ANY, tier=2),
    "conversations.rename": Method(rename, scope=_ANY, tier=2),
    "conversations.setTopic": Method(set_topic, scope=_ANY_DESCRIBE, tier=2),
    "conversations.setPurpose": Method(set_purpose, scope=_ANY_DESCRIBE, tier=2),
    "conversations.archive": Method(archive, scope=_ANY, tier=2),
    "conversations.unarchive": Method(unarchive, scope=_ANY, tier=2),
}


def _managed(call: Call) -> Channel:
    channel = call.joined()
    _check_managed(call, channel)
    return call.writable()


def _check_managed(call: Call, channel: Channel) -> None:
    """Direct messages, be they of several people, cannot be managed."""
    if channel.kind not in ("channel", "group"):
        raise SlackError("method_not_supported_for_channel_type")
    call.need(MANAGE[channel.kind])


def _described(call: Call) -> Channel:
    channel = call.joined()
    if channel.kind == "im":
        raise SlackError("method_not_supported_for_channel_type")
    call.need(MANAGE[channel.kind], _DESCRIBE[channel.kind])
    return call.writable()


def _description(call: Call, name: str) -> str:
    """What is said of a channel; nothing takes away what was said."""
    given = call.text(name)
    if len(given) > TOPIC_CHARACTERS:
        raise SlackError("too_long")
    return given


def _new_name(call: Call) -> str:
    name = call.text("name").removeprefix("#")
    if fault := _name_fault(name):
        raise SlackError(fault)
    if any(channel.name == name for channel in call.workspace.channels.values()):
        raise SlackError("name_taken")
    return name


def _name_fault(name: str) -> str:
    if not name:
        return "invalid_name_required"
    if len(name) > NAME_CHARACTERS:
        return "invalid_name_maxlength"
    if not re.search(r"\w", name.replace("_", "")):
        return "invalid_name_punctuation"
    return "" if re.fullmatch(r"[\w-]+", name) and name == name.lower() else "invalid_name_specials"


def shown(call: Call, channel: Channel) -> Json:
    """A channel as the caller sees it, in an answer."""
    return {"channel": channel_shape(call.workspace, channel, viewer=call.me)}
