"""Messages coming, changing and going: every change is kept, shown and told to the app.

The functions take a message that is already valid. `post`, `change`, `delete`, `react` and `join` are used by
the Web API and by people alike.
"""

import copy

from local_slack.links import link_shared
from local_slack.shapes import readable
from local_slack.workspace import Channel, Json, SlackError, Workspace

_SUBSCRIPTION = {"im": "message.im", "mpim": "message.mpim", "group": "message.groups", "channel": "message.channels"}


def post(workspace: Workspace, channel: Channel, message: Json) -> Json:
    """Give the message its ts, keep it and tell the app; a reply also changes the root of its thread."""
    message = message | {"ts": workspace.new_ts()} | _parent(workspace, channel, message)
    workspace.keep_message(channel.id, message)
    _emit_message(workspace, channel, message)
    for file in message.get("files", ()):
        file["is_public"] = file["is_public"] or channel.kind == "channel"
        shared = {"type": "file_shared", "channel_id": channel.id, "file_id": file["id"], "file": {"id": file["id"]}}
        emit(workspace, shared | {"user_id": file["user"], "event_ts": message["ts"]}, channel)
    if "bot_id" not in message and not channel.is_im and _mentions_app(workspace, message):
        emit(workspace, _event(workspace, channel, message) | {"type": "app_mention"}, channel)
    if (linked := link_shared(workspace, channel, message)) is not None:
        emit(workspace, linked, None if channel.kind == "channel" else channel)
    _update_root(workspace, channel, message)
    return message


def change(workspace: Workspace, channel: Channel, ts: str, changes: Json) -> Json:
    """Apply `changes` to a message and tell the app with the version before. None removes a field."""
    before = workspace.message(channel.id, ts)
    after = {name: value for name, value in (before | changes).items() if value is not None}
    workspace.keep_message(channel.id, after)
    _emit_changed(workspace, channel, after, before)
    return after


def delete(workspace: Workspace, channel: Channel, ts: str) -> None:
    """Take a message away. The root of a thread leaves a tombstone, which goes with its last reply."""
    message = workspace.message(channel.id, ts)
    if message.get("reply_count"):
        kept = {name: value for name, value in message.items() if name.startswith("reply") or name == "latest_reply"}
        stone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "hidden": True, "ts": ts}
        tombstone = stone | {"text": "This message was deleted.", "thread_ts": ts} | kept
        workspace.keep_message(channel.id, tombstone)
        _emit_changed(workspace, channel, tombstone, message)
        return
    _forget(workspace, channel, message)
    _update_root(workspace, channel, message)


def react(workspace: Workspace, channel: Channel, ts: str, name: str, *, user: str, add: bool) -> None:
    """Add or take back one person's reaction. Raises `already_reacted` or `no_reaction`."""
    message = workspace.message(channel.id, ts)
    reactions = {each["name"]: list(each["users"]) for each in message.get("reactions", ())}
    users = reactions.setdefault(name, [])
    if add == (user in users):
        raise SlackError("already_reacted" if add else "no_reaction")
    if add:
        users.append(user)
    else:
        users.remove(user)
    listed = [{"name": each, "users": by, "count": len(by)} for each, by in reactions.items() if by]
    workspace.keep_message(channel.id, message | {"reactions": listed})
    event = {
        "type": "reaction_added" if add else "reaction_removed",
        "user": user,
        "reaction": name,
        "item": {"type": "message", "channel": channel.id, "ts": ts},
        "event_ts": workspace.new_ts(),
    }
    emit(workspace, event | {"item_user": message["user"]} if "user" in message else event, channel)


def join(workspace: Workspace, channel: Channel, user: str, *, inviter: str = "") -> None:
    """Make `user` a member; nothing happens when they are one."""
    if user in channel.members:
        return
    channel.members.append(user)
    workspace.changed("channel", channel=channel.id)
    joined = {
        "type": "message",
        "subtype": "channel_join",
        "user": user,
        "text": f"<@{user}> has joined the channel",
    }
    invited = {"inviter": inviter} if inviter else {}
    post(workspace, channel, joined | invited)
    emit(workspace, membership(workspace, "member_joined_channel", channel, user) | invited, channel)


def membership(workspace: Workspace, kind: str, channel: Channel, user: str) -> Json:
    """The event of somebody who comes or goes."""
    return {
        "type": kind,
        "user": user,
        "channel": channel.id,
        "channel_type": "G" if channel.is_private else "C",
        "team": workspace.user(user).team,
        "event_ts": workspace.new_ts(),
    }


def emit(workspace: Workspace, event: Json, channel: Channel | None = None) -> None:
    """Tell the app, if it is installed, subscribed to this event and is a member of the channel."""
    name = event["type"]
    if name == "message" and channel is not None:
        name = _SUBSCRIPTION[channel.kind]
    if name not in workspace.subscriptions or not workspace.is_installed:
        return
    if channel is not None and not workspace.bots_in(channel):
        return
    shared = channel is not None and channel.is_ext_shared
    told = copy.deepcopy(event)
    if shared:
        for message in (told, told.get("message", {}), told.get("previous_message", {})):
            if "files" in message:
                message["files"] = [_unnamed(file) for file in message["files"]]
    workspace.transport.event(told, is_ext_shared=shared)


def _unnamed(file: Json) -> Json:
    """A file as events of Slack Connect tell it; files.info, conversations.history and .replies tell all."""
    if file["mode"] == "tombstone":
        return file
    nothing = {"created": 0, "timestamp": 0, "user": ""}
    return {"id": file["id"], "mode": "file_access", "file_access": "check_file_info"} | nothing


def _emit_message(workspace: Workspace, channel: Channel, message: Json) -> None:
    emit(workspace, _event(workspace, channel, message) | {"channel_type": channel.kind}, channel)


def _emit_changed(workspace: Workspace, channel: Channel, after: Json, before: Json) -> None:
    versions = {"message": readable(after), "previous_message": readable(before)}
    _emit_hidden(workspace, channel, "message_changed", versions)


def _emit_hidden(workspace: Workspace, channel: Channel, subtype: str, fields: Json) -> None:
    ts = workspace.new_ts()
    event = {"type": "message", "subtype": subtype, "hidden": True, "ts": ts, "event_ts": ts, **fields}
    emit(workspace, event | {"channel": channel.id, "channel_type": channel.kind}, channel)


def _event(workspace: Workspace, channel: Channel, message: Json) -> Json:
    told = readable(message) | {"channel": channel.id, "event_ts": message["ts"]}
    root = workspace.messages.get(channel.id, {}).get(message.get("thread_ts", ""))
    if root is None or message.get("subtype") != "thread_broadcast":
        return told
    return told | {"root": readable(root)}


def _parent(workspace: Workspace, channel: Channel, message: Json) -> Json:
    """Whom a reply answers."""
    root = workspace.messages.get(channel.id, {}).get(message.get("thread_ts", ""), {})
    return {"parent_user_id": root["user"]} if "user" in root else {}


def _mentions_app(workspace: Workspace, message: Json) -> bool:
    text = message.get("text", "")
    return any(f"<@{bot.user_id}{end}" in text for bot in workspace.bots for end in (">", "|"))


def _forget(workspace: Workspace, channel: Channel, message: Json) -> None:
    workspace.forget_message(channel.id, message["ts"])
    gone = {"deleted_ts": message["ts"], "previous_message": readable(message)}
    _emit_hidden(workspace, channel, "message_deleted", gone)


def _update_root(workspace: Workspace, channel: Channel, reply: Json) -> None:
    """Count the replies of the thread anew; Slack tells this as a change of the root."""
    thread_ts: str = reply.get("thread_ts") or reply["ts"]
    root = workspace.messages[channel.id].get(thread_ts)
    if root is None or thread_ts == reply["ts"]:
        return
    replies = [each for each in workspace.replies(channel.id, thread_ts) if each["ts"] != thread_ts]
    if not replies and root.get("subtype") == "tombstone":
        # Nothing needs it any more (believed).
        _forget(workspace, channel, root)
        return
    authors = list(dict.fromkeys(each.get("user", each.get("bot_id", "")) for each in replies))
    counted: Json = {
        "thread_ts": thread_ts,
        "reply_count": len(replies),
        "reply_users_count": len(authors),
        "latest_reply": replies[-1]["ts"] if replies else None,
        "reply_users": authors,
        "is_locked": False,
        "subscribed": False,
    }
    change(workspace, channel, thread_ts, counted)
