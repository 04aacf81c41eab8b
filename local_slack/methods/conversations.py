"""conversations.*: what of channels and their messages can be read. methods/membership.py has who is in them."""

from local_slack.methods.call import HISTORY, READ, Call, Method
from local_slack.methods.pins import pinned
from local_slack.shapes import channel_shape, people_of, readable
from local_slack.workspace import Channel, Json, SlackError

_KINDS = {"public_channel": "channel", "private_channel": "group", "mpim": "mpim", "im": "im"}


def list_(call: Call) -> Json:
    kinds = _wanted_kinds(call)
    channels = [
        channel_shape(call.workspace, channel, viewer=call.me) for channel in _shown(call, kinds) if call.knows(channel)
    ]
    return _listed(call, channels)


def of_user(call: Call) -> Json:
    """users.conversations: those of one person; private ones only if the caller is in them too."""
    user = call.workspace.user(call.text("user", call.me)).id
    kinds = _wanted_kinds(call)
    channels = [
        channel_shape(call.workspace, channel, viewer=call.me)
        for channel in _shown(call, kinds)
        if user in channel.members and call.knows(channel)
    ]
    for shape in channels:
        for name in ("is_member", "num_members"):
            shape.pop(name, None)
    return _listed(call, channels)


def info(call: Call) -> Json:
    channel = call.known()
    shape = channel_shape(call.workspace, channel, viewer=call.me)
    if not call.flag("include_num_members"):
        shape.pop("num_members", None)
    if last_read := call.workspace.last_read.get((channel.id, call.me)):
        shape["last_read"] = last_read
    if call.flag("include_locale"):
        shape["locale"] = "en-US"
    return {"channel": shape}


def members(call: Call) -> Json:
    page, cursor = call.page(people_of(call.workspace, call.known()))
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
    return _messages(call, page, cursor) | {"pin_count": len(pinned(call, channel))}


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


_ANY_READ = ",".join(READ.values())
_ANY_HISTORY = ",".join(HISTORY.values())

METHODS = {
    "conversations.list": Method(list_, scope=_ANY_READ, tier=2),
    "conversations.info": Method(info, scope=_ANY_READ, tier=3),
    "conversations.members": Method(members, scope=_ANY_READ, tier=4),
    "conversations.history": Method(history, scope=_ANY_HISTORY, tier=3),
    "conversations.replies": Method(replies, scope=_ANY_HISTORY, tier=3),
    "users.conversations": Method(of_user, scope=_ANY_READ, tier=3),
}


def _wanted_kinds(call: Call) -> set[str]:
    """What `types` asks for. Raises `invalid_types`, and `missing_scope` for a type that may not be read."""
    types = [each for each in call.text("types", "public_channel").replace(" ", "").split(",") if each]
    if not set(types) <= _KINDS.keys():
        raise SlackError("invalid_types")
    kinds = {_KINDS[each] for each in types}
    for kind in sorted(kinds):
        call.need(READ[kind])
    return kinds


def _shown(call: Call, kinds: set[str]) -> list[Channel]:
    return [
        channel
        for channel in call.workspace.channels.values()
        if channel.kind in kinds and not (channel.is_archived and call.flag("exclude_archived"))
    ]


def _listed(call: Call, channels: list[Json]) -> Json:
    page, cursor = call.page(channels)
    return {"channels": page, "response_metadata": {"next_cursor": cursor}}


def _between(call: Call, messages: list[Json]) -> list[Json]:
    """Those between `oldest` and `latest`, which themselves count only with `inclusive`."""
    oldest = call.moment("oldest", 0.0, error="invalid_ts_oldest")
    latest = call.moment("latest", float("inf"), error="invalid_ts_latest")
    if call.flag("inclusive"):
        return [message for message in messages if oldest <= float(message["ts"]) <= latest]
    return [message for message in messages if oldest < float(message["ts"]) < latest]


def _messages(call: Call, messages: list[Json], cursor: str) -> Json:
    with_metadata = call.flag("include_all_metadata")
    more = {"response_metadata": {"next_cursor": cursor}} if cursor else {}
    shown = [readable(message, include_metadata=with_metadata) for message in messages]
    return {"messages": shown, "has_more": bool(cursor), **more}
