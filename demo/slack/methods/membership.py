"""conversations.*: channels opened, joined, made and archived, and how far they were read."""

import re

from demo.slack import channels, timeline
from demo.slack.methods.call import Call, Method
from demo.slack.shapes import channel_shape
from demo.slack.workspace import Channel, Json, SlackError

NAME_CHARACTERS = 80
PARTNERS = 8
"""People that a conversation of several can be opened with."""

_WRITE = {"channel": "channels:manage", "group": "groups:write", "im": "im:write", "mpim": "mpim:write"}
_INVITE = {"channel": "channels:write.invites", "group": "groups:write.invites"}


def open_(call: Call) -> Json:
    """The direct message with one person, or the conversation with several."""
    if call.text("channel"):
        channel = call.conversation()
        if channel.kind not in ("im", "mpim"):
            raise SlackError("method_not_supported_for_channel_type")
        return _opened(call, channel, already=True)
    users = _partners(call)
    call.need(_WRITE["im" if len(users) == 1 else "mpim"])
    already = _open_with(call, users)
    if already is None and call.flag("prevent_creation"):
        raise SlackError("channel_not_found")
    return _opened(call, already or _begin(call, users), already=already is not None)


def join(call: Call) -> Json:
    channel = call.conversation()
    if channel.kind != "channel":
        raise SlackError("method_not_supported_for_channel_type")
    if channel.is_archived:
        raise SlackError("is_archived")
    already = call.me in channel.members
    timeline.join(call.workspace, channel, call.me)
    warnings = ["already_in_channel"]
    warning = {"warning": warnings[0], "response_metadata": {"warnings": warnings}} if already else {}
    return _shown(call, channel) | warning


def invite(call: Call) -> Json:
    """All of them or nobody, unless it is forced; then those that can be."""
    channel = call.conversation()
    if channel.kind not in _INVITE:
        raise SlackError("method_not_supported_for_channel_type")
    call.need(_WRITE[channel.kind], _INVITE[channel.kind])
    channel = call.writable()
    users = _listed(call.text("users"))
    if not users:
        raise SlackError("no_user")
    faults = [{"user": user, "ok": False, "error": fault} for user in users if (fault := _refusal(call, channel, user))]
    refused = {str(each["user"]) for each in faults}
    if faults and (not call.flag("force") or len(refused) == len(users)):
        raise SlackError(str(faults[0]["error"]), errors=faults)
    for user in users:
        if user not in refused:
            timeline.join(call.workspace, channel, user, inviter=call.me)
    return _shown(call, channel) | ({"errors": faults} if faults else {})


def create(call: Call) -> Json:
    is_private = call.flag("is_private")
    call.need(_WRITE["group" if is_private else "channel"])
    name = call.text("name").removeprefix("#")
    if fault := _name_fault(name):
        raise SlackError(fault)
    if any(channel.name == name for channel in call.workspace.channels.values()):
        raise SlackError("name_taken")
    return _shown(call, channels.create(call.workspace, name, is_private=is_private, creator=call.me))


def archive(call: Call) -> Json:
    channel = call.joined()
    if channel.kind not in _INVITE:
        raise SlackError("method_not_supported_for_channel_type")
    call.need(_WRITE[channel.kind])
    if channel.is_archived:
        raise SlackError("already_archived")
    if channel.name == "general":
        raise SlackError("cant_archive_general")
    channels.archive(call.workspace, channel, user=call.me)
    return {}


def mark(call: Call) -> Json:
    channel = call.joined()
    call.need(_WRITE[channel.kind])
    ts = call.required("ts")
    if not re.fullmatch(r"\d+(?:\.\d+)?", ts):
        raise SlackError("invalid_timestamp")
    call.workspace.last_read[channel.id, call.me] = ts
    return {}


_ANY_WRITE = ",".join(_WRITE.values())

METHODS = {
    "conversations.open": Method(open_, scope=_ANY_WRITE, tier=3),
    "conversations.join": Method(join, scope="channels:join", tier=3),
    "conversations.invite": Method(invite, scope=",".join([*_INVITE.values(), *_WRITE.values()]), tier=3),
    "conversations.create": Method(create, scope=_ANY_WRITE, tier=2),
    "conversations.archive": Method(archive, scope=_ANY_WRITE, tier=2),
    "conversations.mark": Method(mark, scope=_ANY_WRITE, tier=3),
}


def _partners(call: Call) -> list[str]:
    """Whom the caller wants to talk to, each once. Two people have no direct message here."""
    users = _listed(call.text("users"))
    if not users:
        raise SlackError("users_list_not_supplied")
    if users == [call.workspace.app.user_id] and not call.by_person:
        raise SlackError("cannot_dm_bot")
    users = [user for user in users if user != call.me]
    if len(users) > PARTNERS:
        raise SlackError("too_many_users")
    if not users:
        raise SlackError("not_enough_users")
    if any(call.workspace.user(user).deleted for user in users):
        raise SlackError("user_disabled")
    return users


def _open_with(call: Call, users: list[str]) -> Channel | None:
    if len(users) > 1:
        return channels.group_of(call.workspace, [*users, call.me])
    pair = {users[0], call.me}
    return next((each for each in call.workspace.channels.values() if each.is_im and pair == set(each.members)), None)


def _begin(call: Call, users: list[str]) -> Channel:
    if len(users) > 1:
        return channels.open_group(call.workspace, [*users, call.me], creator=call.me)
    if not call.by_person:
        return call.workspace.dm_with(users[0])
    if users != [call.workspace.app.user_id]:
        raise SlackError("channel_not_found")
    return call.workspace.dm_with(call.me)


def _opened(call: Call, channel: Channel, *, already: bool) -> Json:
    shape = _shown(call, channel)["channel"] if call.flag("return_im") else {"id": channel.id}
    return {"channel": shape} | ({"already_open": True, "no_op": True} if already else {})


def _refusal(call: Call, channel: Channel, user: str) -> str:
    if user not in call.workspace.users:
        return "user_not_found"
    if user == call.me:
        return "cant_invite_self"
    return "already_in_channel" if user in channel.members else ""


def _name_fault(name: str) -> str:
    if not name:
        return "invalid_name_required"
    if len(name) > NAME_CHARACTERS:
        return "invalid_name_maxlength"
    if not re.search(r"\w", name.replace("_", "")):
        return "invalid_name_punctuation"
    return "" if re.fullmatch(r"[\w-]+", name) and name == name.lower() else "invalid_name_specials"


def _shown(call: Call, channel: Channel) -> Json:
    return {"channel": channel_shape(call.workspace, channel, viewer=call.me)}


def _listed(users: str) -> list[str]:
    return list(dict.fromkeys(user.strip() for user in users.split(",") if user.strip()))
