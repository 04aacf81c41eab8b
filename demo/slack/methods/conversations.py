"""conversations.*: channels, their members and their messages."""

from demo.slack import timeline
from demo.slack.methods.call import Call, Method, invalid_arguments
from demo.slack.shapes import channel_shape, readable
from demo.slack.workspace import Json, SlackError

_TYPES = {"im": "im", "group": "private_channel", "channel": "public_channel"}


def list_(call: Call) -> Json:
    wanted = call.text("types", "public_channel").replace(" ", "").split(",")
    bot = call.workspace.app.user_id
    channels = [
        channel_shape(call.workspace, channel)
        for channel in call.workspace.channels.values()
        if _TYPES[channel.kind] in wanted
        and (channel.kind == "channel" or bot in channel.members)
        and not (channel.is_archived and call.flag("exclude_archived"))
    ]
    page, cursor = call.page(channels)
    return {"channels": page, "response_metadata": {"next_cursor": cursor}}


def info(call: Call) -> Json:
    channel = call.known()
    shape = channel_shape(call.workspace, channel)
    if not call.flag("include_num_members"):
        shape.pop("num_members", None)
    return {"channel": shape}


def members(call: Call) -> Json:
    page, cursor = call.page(call.known().members)
    return {"members": page, "response_metadata": {"next_cursor": cursor}}


def history(call: Call) -> Json:
    """Newest first; replies appear only when they were broadcast to the channel."""
    channel = call.readable()
    messages = [
        message
        for message in call.workspace.messages.get(channel.id, {}).values()
        if message.get("thread_ts", message["ts"]) == message["ts"] or message.get("subtype") == "thread_broadcast"
    ]
    page, cursor = call.page(_between(call, messages)[::-1])
    return _messages(call, page, cursor) | {"pin_count": 0}


def replies(call: Call) -> Json:
    """The root and its replies, oldest first. The ts of a reply finds its thread too."""
    channel = call.readable()
    found = call.workspace.messages.get(channel.id, {}).get(call.required("ts"))
    if found is None:
        raise SlackError("thread_not_found")
    root_ts: str = found.get("thread_ts") or found["ts"]
    thread = call.workspace.replies(channel.id, root_ts)
    later = _between(call, [message for message in thread if message["ts"] != root_ts])
    root = [message for message in thread if message["ts"] == root_ts]
    page, cursor = call.page(root + later, default=1_000, most=1_000)
    return _messages(call, page, cursor)


def open_(call: Call) -> Json:
    """The direct message with one person; conversations of several people are not kept here."""
    call.need("im:write")
    if given := call.text("channel"):
        return {"channel": channel_shape(call.workspace, call.workspace.channel(given))}
    users = [user for user in call.required("users").split(",") if user]
    if len(users) != 1:
        raise SlackError("method_not_supported_for_channel_type")
    if users[0] == call.workspace.app.user_id:
        raise SlackError("cannot_dm_bot")
    already = any(channel.is_im and users[0] in channel.members for channel in call.workspace.channels.values())
    channel = call.workspace.dm_with(users[0])
    shape = channel_shape(call.workspace, channel) if call.flag("return_im") else {"id": channel.id}
    return {"channel": shape, "already_open": already, "no_op": already}


def join(call: Call) -> Json:
    channel = call.conversation()
    if channel.kind != "channel":
        raise SlackError("method_not_supported_for_channel_type")
    if channel.is_archived:
        raise SlackError("is_archived")
    bot = call.workspace.app.user_id
    already = {"warning": "already_in_channel"} if bot in channel.members else {}
    timeline.join(call.workspace, channel, bot)
    return {"channel": channel_shape(call.workspace, channel), **already}


METHODS = {
    "conversations.list": Method(list_, scope="channels:read", tier=2),
    "conversations.info": Method(info, tier=3),
    "conversations.members": Method(members, tier=4),
    "conversations.history": Method(history, tier=3),
    "conversations.replies": Method(replies, tier=3),
    "conversations.open": Method(open_, tier=3),
    "conversations.join": Method(join, scope="channels:join", tier=3),
}


def _between(call: Call, messages: list[Json]) -> list[Json]:
    """Those between `oldest` and `latest`, which themselves count only with `inclusive`."""
    oldest, latest = _ts(call, "oldest", 0.0), _ts(call, "latest", float("inf"))
    if call.flag("inclusive"):
        return [message for message in messages if oldest <= float(message["ts"]) <= latest]
    return [message for message in messages if oldest < float(message["ts"]) < latest]


def _ts(call: Call, name: str, default: float) -> float:
    try:
        return float(call.text(name) or default)
    except ValueError:
        raise invalid_arguments(f"must be a timestamp [json-pointer:/{name}]") from None


def _messages(call: Call, messages: list[Json], cursor: str) -> Json:
    with_metadata = call.flag("include_all_metadata")
    more = {"response_metadata": {"next_cursor": cursor}} if cursor else {}
    shown = [readable(message, include_metadata=with_metadata) for message in messages]
    return {"messages": shown, "has_more": bool(cursor), **more}
