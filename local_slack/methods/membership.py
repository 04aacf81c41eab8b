"""conversations.*: who is in a conversation, and how far they have read. methods/channels.py makes channels."""

import re

from local_slack import channels, timeline
from local_slack.methods.call import MANAGE, Call, Method
from local_slack.methods.channels import shown
from local_slack.workspace import Channel, Json, SlackError

PARTNERS = 8
"""People that a conversation of several can be opened with."""

_INVITE = {"channel": "channels:write.invites", "group": "groups:write.invites"}


def open_(call: Call) -> Json:
    """The direct message with one person, or the conversation with several."""
    if call.text("channel"):
        channel = call.conversation()
        if channel.kind not in ("im", "mpim"):
            raise SlackError("method_not_supported_for_channel_type")
        return _opened(call, channel, already=True)
    users = _partners(call)
    call.need(MANAGE["im" if len(users) == 1 else "mpim"])
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
    return shown(call, channel) | warning


def invite(call: Call) -> Json:
    """All of them or nobody, unless it is forced; then those that can be."""
    channel = call.conversation()
    if channel.kind not in _INVITE:
        raise SlackError("method_not_supported_for_channel_type")
    call.need(MANAGE[channel.kind], _INVITE[channel.kind])
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
    return shown(call, channel) | ({"errors": faults} if faults else {})


def leave(call: Call) -> Json:
    """Who is no member has left already, which Slack documents as `ok: false` without an error."""
    channel = call.conversation()
    if channel.kind == "im":
        raise SlackError("method_not_supported_for_channel_type")
    call.need(MANAGE[channel.kind])
    if channel.is_archived:
        raise SlackError("is_archived")
    if call.me not in channel.members:
        return {"ok": False, "not_in_channel": True}
    if channel.name == "general":
        raise SlackError("cant_leave_general")
    if len(channel.members) == 1:
        raise SlackError("last_member")
    channels.leave(call.workspace, channel, call.me, actor=call.me)
    return {}


def kick(call: Call) -> Json:
    channel = call.joined()
    if channel.kind not in _INVITE:
        raise SlackError("method_not_supported_for_channel_type")
    call.need(MANAGE[channel.kind])
    user = call.workspace.user(call.required("user")).id
    if user == call.me:
        raise SlackError("cant_kick_self")
    if user not in channel.members:
        raise SlackError("not_in_channel")
    if channel.name == "general":
        raise SlackError("cant_kick_from_general")
    channels.leave(call.workspace, channel, user, actor=call.me)
    return {}


def close(call: Call) -> Json:
    """Out of sight in the caller's list, which a bot has none of: what was said stays, and so does the id."""
    channel = call.joined()
    if channel.kind not in ("im", "mpim"):
        raise SlackError("method_not_supported_for_channel_type")
    call.need(MANAGE[channel.kind])
    return {}


def mark(call: Call) -> Json:
    channel = call.joined()
    call.need(MANAGE[channel.kind])
    ts = call.required("ts")
    if not re.fullmatch(r"\d+(?:\.\d+)?", ts):
        raise SlackError("invalid_timestamp")
    call.workspace.last_read[channel.id, call.me] = ts
    return {}


_ANY = ",".join(MANAGE.values())

METHODS = {
    "conversations.open": Method(open_, scope=_ANY, tier=3),
    "conversations.join": Method(join, scope="channels:join", tier=3),
    "conversations.invite": Method(invite, scope=",".join([*_INVITE.values(), *MANAGE.values()]), tier=3),
    "conversations.leave": Method(leave, scope=_ANY, tier=3),
    "conversations.kick": Method(kick, scope="channels:manage,groups:write", tier=3),
    "conversations.close": Method(close, scope=_ANY, tier=2),
    "conversations.mark": Method(mark, scope=_ANY, tier=3),
}


def _partners(call: Call) -> list[str]:
    """Whom the caller wants to talk to, each once. Two people have no direct message here."""
    users = _listed(call.text("users"))
    if not users:
        raise SlackError("users_list_not_supplied")
    if users == [call.bot.user_id] and not call.by_person:
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
        return call.workspace.dm_with(users[0], call.bot)
    if users != [call.bot.user_id]:
        raise SlackError("channel_not_found")
    return call.workspace.dm_with(call.me, call.bot)


def _opened(call: Call, channel: Channel, *, already: bool) -> Json:
    shape = shown(call, channel)["channel"] if call.flag("return_im") else {"id": channel.id}
    return {"channel": shape} | ({"already_open": True, "no_op": True} if already else {})


def _refusal(call: Call, channel: Channel, user: str) -> str:
    if user not in call.workspace.users:
        return "user_not_found"
    if user == call.me:
        return "cant_invite_self"
    return "already_in_channel" if user in channel.members else ""


def _listed(users: str) -> list[str]:
    return list(dict.fromkeys(user.strip() for user in users.split(",") if user.strip()))
