"""chat.scheduleMessage and what belongs to it: messages that wait for their time."""

from functools import partial

from local_slack import timeline
from local_slack.methods.call import Call, Method
from local_slack.methods.content import content, given_metadata, made_of
from local_slack.methods.sender import author, destination
from local_slack.workspace import Channel, Json, SlackError, Workspace

FARTHEST_SECONDS = 120 * 24 * 3_600
WINDOW_SECONDS = 300
IN_WINDOW = 30
"""Messages to one channel that may wait for times less than WINDOW_SECONDS apart."""


def schedule(call: Call) -> Json:
    channel = destination(call)
    post_at = _post_at(call, channel)
    given = content(call)
    thread_ts = call.thread(channel)
    broadcast = {"subtype": "thread_broadcast"} if thread_ts and call.flag("reply_broadcast") else {}
    in_thread = {"thread_ts": thread_ts, **broadcast} if thread_ts else {}
    message = author(call, channel) | given | in_thread | given_metadata(call)
    waiting = {
        "id": call.workspace.new_id("Q"),
        "channel_id": channel.id,
        "post_at": post_at,
        "date_created": int(call.workspace.clock.time()),
        "text": given["text"],
    }
    call.workspace.scheduled[waiting["id"]] = waiting
    call.workspace.background.set_timer(
        ("scheduled", waiting["id"]),
        call.workspace.clock,
        post_at - call.workspace.clock.time(),
        partial(_post, call.workspace, waiting["id"], message, author_of=call.me, types=made_of(call)),
    )
    shown = message | {"type": "delayed_message"}
    return {"channel": channel.id, "scheduled_message_id": waiting["id"], "post_at": post_at, "message": shown}


def delete(call: Call) -> Json:
    channel = call.conversation()
    waiting = call.workspace.scheduled.get(call.required("scheduled_message_id"))
    if waiting is None or waiting["channel_id"] != channel.id:
        raise SlackError("invalid_scheduled_message_id")
    del call.workspace.scheduled[waiting["id"]]
    call.workspace.background.cancel_timer(("scheduled", waiting["id"]))
    return {}


def list_(call: Call) -> Json:
    """The next one first."""
    channel = call.text("channel")
    if channel and channel not in call.workspace.channels:
        raise SlackError("invalid_channel")
    oldest, latest = call.moment("oldest", 0.0), call.moment("latest", float("inf"))
    waiting = [
        each
        for each in sorted(call.workspace.scheduled.values(), key=lambda each: each["post_at"])
        if channel in ("", each["channel_id"]) and oldest <= each["post_at"] <= latest
    ]
    page, cursor = call.page(waiting)
    return {"scheduled_messages": page, "response_metadata": {"next_cursor": cursor}}


METHODS = {
    "chat.scheduleMessage": Method(schedule, scope="chat:write", tier=3),
    "chat.deleteScheduledMessage": Method(delete, scope="chat:write", tier=3),
    "chat.scheduledMessages.list": Method(list_, tier=3),
}


def _post_at(call: Call, channel: Channel) -> int:
    """When, in seconds since the epoch."""
    call.required("post_at")
    post_at, now = int(call.moment("post_at", 0.0, error="invalid_time")), call.workspace.clock.time()
    if post_at <= now:
        raise SlackError("time_in_past")
    if post_at > now + FARTHEST_SECONDS:
        raise SlackError("time_too_far")
    near = [
        each
        for each in call.workspace.scheduled.values()
        if each["channel_id"] == channel.id and abs(each["post_at"] - post_at) < WINDOW_SECONDS
    ]
    if len(near) >= IN_WINDOW:
        raise SlackError("restricted_too_many")
    return post_at


def _post(workspace: Workspace, waiting_id: str, message: Json, *, author_of: str, types: list[str]) -> None:
    """Its time has come; a channel in which its author cannot write any more gets nothing."""
    waiting = workspace.scheduled.pop(waiting_id)
    channel = workspace.channel(waiting["channel_id"])
    if channel.is_archived or author_of not in channel.members:
        workspace.note("error", "chat.scheduleMessage", ok=False, detail=waiting)
        return
    posted = timeline.post(workspace, channel, message)
    workspace.made_of[channel.id, posted["ts"]] = types
