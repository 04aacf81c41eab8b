"""chat.*: messages, ephemerals and streams of the app."""

from local_slack import streams, timeline
from local_slack.agent_status import SESSION_STATES, set_status
from local_slack.methods.call import Call, Method, invalid_arguments
from local_slack.methods.content import TEXT_KEPT, content, given_blocks, given_metadata, made_of
from local_slack.methods.sender import author, destination, own
from local_slack.shapes import permalink, readable
from local_slack.workspace import Channel, Json, SlackError

UPDATE_CHARACTERS = 4_000


def post_message(call: Call) -> Json:
    """To a channel, or to a person by user id."""
    channel = destination(call)
    given = content(call)
    thread_ts = call.thread(channel)
    if wait := call.limits.wait_for_channel(channel.id):
        raise SlackError("ratelimited", retry_after=wait)
    broadcast = {"subtype": "thread_broadcast"} if thread_ts and call.flag("reply_broadcast") else {}
    in_thread = {"thread_ts": thread_ts, **broadcast} if thread_ts else {}
    message = timeline.post(call.workspace, channel, author(call, channel) | given | in_thread | given_metadata(call))
    call.workspace.made_of[channel.id, message["ts"]] = made_of(call)
    if not call.by_person:
        set_status(call.workspace, channel.id, thread_ts, "", [])
    shown = readable(message, include_metadata=True)
    return {"channel": channel.id, "ts": message["ts"], "message": shown, **_truncation(call)}


def me_message(call: Call) -> Json:
    """What the author does, in the third person."""
    channel = call.writable()
    said = {"subtype": "me_message"} | content(call)
    message = timeline.post(call.workspace, channel, author(call, channel) | said)
    return {"channel": channel.id, "ts": message["ts"]}


def update(call: Call) -> Json:
    channel = call.writable()
    ts = call.required("ts")
    message = own(call, channel, ts, error="cant_update_message")
    if message.get("streaming_state") == "in_progress":
        raise SlackError("streaming_state_conflict")
    if len(call.text("text")) > UPDATE_CHARACTERS:
        raise SlackError("msg_too_long")
    edited = {"edited": {"user": call.me, "ts": call.workspace.new_ts()}}
    changes = content(call) | edited | given_metadata(call) | {"streaming_state": None}
    _check_replacement(call, channel, ts)
    # A finished stream that is updated loses its cards and is a message like any other.
    is_stream = call.workspace.streams.pop((channel.id, ts), None) is not None
    retained = {} if is_stream else _retained(call, message)
    changes |= retained
    if not retained:
        call.workspace.made_of[channel.id, ts] = made_of(call)
    for name, nothing in (("attachments", []), ("metadata", {})):
        if call.json(name) == nothing:
            changes[name] = None
    message = timeline.change(call.workspace, channel, ts, changes)
    shown = readable(message, include_metadata=True)
    return {"channel": channel.id, "ts": ts, "text": message["text"], "message": shown}


def delete(call: Call) -> Json:
    channel = call.writable()
    ts = call.required("ts")
    own(call, channel, ts, error="cant_delete_message")
    timeline.delete(call.workspace, channel, ts)
    return {"channel": channel.id, "ts": ts}


def post_ephemeral(call: Call) -> Json:
    channel = call.writable()
    user = call.required("user")
    if user not in channel.members:
        raise SlackError("user_not_in_channel")
    given = content(call)
    thread_ts = call.thread(channel)
    ts = call.workspace.new_ts()
    place = {"ts": ts, "channel": channel.id, "user": user, "is_ephemeral": True}
    in_thread = {"thread_ts": thread_ts} if thread_ts else {}
    call.workspace.keep_ephemeral(author(call, channel) | given | in_thread | place)
    return {"message_ts": ts}


def get_permalink(call: Call) -> Json:
    channel = call.conversation()
    message = call.workspace.message(channel.id, call.required("message_ts"))
    return {"channel": channel.id, "permalink": permalink(call.workspace, channel, message)}


def start_stream(call: Call) -> Json:
    channel = call.writable()
    call.required("thread_ts")
    thread_ts = call.thread(channel)
    if not channel.is_im:
        for name in ("recipient_team_id", "recipient_user_id"):
            if not call.text(name):
                raise SlackError(f"missing_{name}")
    if (user := call.text("recipient_user_id")) and user not in channel.members:
        raise SlackError("user_not_found")
    mode = streams.settle_mode(None, call.text("markdown_text"), call.json("chunks"))
    chunks = streams.checked_chunks(call.text("markdown_text"), call.json("chunks") or [])
    display = call.text("task_display_mode", "timeline")
    if display not in ("timeline", "plan", "dense"):
        raise invalid_arguments("must be a valid enum value [json-pointer:/task_display_mode]")
    stream = streams.start(call.workspace, channel, author(call, channel), thread_ts=thread_ts, display=display)
    stream.mode = mode
    streams.grow(call.workspace, stream, chunks)
    return {"channel": channel.id, "ts": stream.ts}


def append_stream(call: Call) -> Json:
    channel = call.writable()
    stream = streams.running(call.workspace, channel.id, call.required("ts"))
    chunks = streams.checked_chunks(call.text("markdown_text"), call.json("chunks") or [])
    if not chunks:
        raise SlackError("no_text")
    mode = streams.settle_mode(stream, call.text("markdown_text"), call.json("chunks"))
    streams.grow(call.workspace, stream, chunks)
    stream.mode = mode
    return {"channel": channel.id, "ts": stream.ts}


def stop_stream(call: Call) -> Json:
    channel = call.writable()
    stream = streams.running(call.workspace, channel.id, call.required("ts"))
    session_status = call.text("session_status")
    if session_status and session_status not in SESSION_STATES:
        raise invalid_arguments("must be a valid enum value [json-pointer:/session_status]")
    blocks = given_blocks(call)
    metadata = given_metadata(call)
    streams.settle_mode(stream, call.text("markdown_text"), call.json("chunks"))
    streams.grow(call.workspace, stream, streams.checked_chunks(call.text("markdown_text"), call.json("chunks") or []))
    message = streams.finish(
        call.workspace, stream, "completed", blocks=blocks, session_status=session_status, **metadata
    )
    return {"channel": channel.id, "ts": stream.ts, "message": readable(message, include_metadata=True)}


METHODS = {
    "chat.postMessage": Method(post_message, scope="chat:write", tier=5),
    "chat.meMessage": Method(me_message, scope="chat:write", tier=3),
    "chat.update": Method(update, scope="chat:write", tier=3),
    "chat.delete": Method(delete, scope="chat:write", tier=3),
    "chat.postEphemeral": Method(post_ephemeral, scope="chat:write", tier=4),
    "chat.getPermalink": Method(get_permalink, tier=5),
    "chat.startStream": Method(start_stream, scope="chat:write", tier=2, caller="bot"),
    "chat.appendStream": Method(append_stream, scope="chat:write", tier=4, caller="bot"),
    "chat.stopStream": Method(stop_stream, scope="chat:write", tier=2, caller="bot"),
}


def _check_replacement(call: Call, channel: Channel, ts: str) -> None:
    """Raises `block_mismatch` when nothing but rich text is to become blocks of which none is rich text.

    Probed on Slack: over a lone paragraph a lone heading or table is refused, in a Markdown block and as
    `markdown_text`, while over a heading with a paragraph it is not, nor is what holds a paragraph too. That text
    alone may become any blocks is *believed*.
    """
    after = made_of(call)
    if after and "rich_text" not in after and call.workspace.made_of.get((channel.id, ts)) == ["rich_text"]:
        raise SlackError("block_mismatch")


def _retained(call: Call, message: Json) -> Json:
    """Blocks of a message stay unless others are given, be it none at all; those that Slack made of text go with it."""
    blocks = message.get("blocks", [])
    is_text = [block["type"] for block in blocks] == ["rich_text"]
    keeps = call.args.get("blocks") is None and not call.text("markdown_text") and not is_text
    return {"blocks": blocks} if blocks and keeps else {}


def _truncation(call: Call) -> Json:
    if len(call.text("text")) <= TEXT_KEPT:
        return {}
    return {"warning": "message_truncated", "response_metadata": {"warnings": ["message_truncated"]}}
