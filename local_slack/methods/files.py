"""files.*: uploads in three steps, kept in memory."""

from dataclasses import replace

from local_slack import timeline
from local_slack.files import announce, is_visible, whole
from local_slack.files import delete as delete_file
from local_slack.methods.call import Call, Method, invalid_arguments
from local_slack.methods.sender import author
from local_slack.shapes import text_block
from local_slack.workspace import Channel, Json, SlackError

FILE_BYTES = 5_000_000


def get_upload_url_external(call: Call) -> Json:
    workspace = call.workspace
    name = call.text("filename")
    if not name or not call.text("length"):
        raise SlackError("missing_argument")
    length = call.number("length", 0, most=FILE_BYTES + 1)
    if length > FILE_BYTES:
        raise SlackError("file_upload_size_restricted")
    about: Json = {"alt_txt": call.text("alt_txt")}
    if filetype := call.text("snippet_type"):
        about |= {"filetype": filetype, "mode": "snippet", "editable": True}
    file_id = announce(workspace, name, length, user=call.me, about=about)["id"]
    return {"upload_url": f"{workspace.url}/upload/{file_id}", "file_id": file_id}


def complete_upload_external(call: Call) -> Json:
    """Share uploaded files in the channels that are given, in all of them or in none."""
    given = call.json("files")
    if not isinstance(given, list) or not given or not all(isinstance(each, dict) for each in given):
        raise invalid_arguments("missing required field: files")
    files = [_uploaded(call, str(each.get("id", "")), str(each.get("title", ""))) for each in given]
    text = call.text("initial_comment")
    for channel, thread_ts in _destinations(call):
        message = author(call, channel) | {"subtype": "file_share", "text": text, "files": files}
        in_thread = {"thread_ts": thread_ts} if thread_ts else {}
        timeline.post(call.workspace, channel, message | {"blocks": text_block(call.workspace, text)} | in_thread)
    return {"files": [whole(call.workspace, file, viewer=call.me) for file in files]}


def info(call: Call) -> Json:
    file = _known(call)
    if not is_visible(call.workspace, file, call.me):
        raise SlackError("not_visible")
    shown = whole(call.workspace, file, viewer=call.me)
    return {"file": shown, "comments": [], "response_metadata": {"next_cursor": ""}}


def list_(call: Call) -> Json:
    """The newest first, by page: the caller's own and those shared where the caller is."""
    user, channel = call.text("user"), call.text("channel")
    if user:
        call.workspace.user(user)
    oldest, latest = call.moment("ts_from", 0.0), call.moment("ts_to", float("inf"))
    files = [
        file
        for file in reversed(call.workspace.files.values())
        if file.get("mode") != "tombstone"
        and user in ("", file["user"])
        and oldest <= file["created"] <= latest
        and (_is_shared(call, file["id"], channel) or (not channel and file["user"] == call.me))
    ]
    count, page = call.number("count", 100, most=1_000), call.number("page", 1, most=100)
    paging = {"count": count, "total": len(files), "page": page, "pages": -(-len(files) // count)}
    shown = [whole(call.workspace, file, viewer=call.me) for file in files[(page - 1) * count : page * count]]
    return {"files": shown, "paging": paging}


def delete(call: Call) -> Json:
    """Messages keep a tombstone in its place."""
    file = _known(call)
    if not is_visible(call.workspace, file, call.me):
        raise SlackError("file_not_found")
    if file["user"] != call.me:
        raise SlackError("cant_delete_file")
    delete_file(call.workspace, file)
    return {}


METHODS = {
    "files.getUploadURLExternal": Method(get_upload_url_external, scope="files:write", tier=4),
    "files.completeUploadExternal": Method(complete_upload_external, scope="files:write", tier=4),
    "files.info": Method(info, scope="files:read", tier=4),
    "files.list": Method(list_, scope="files:read", tier=3),
    "files.delete": Method(delete, scope="files:write", tier=3),
}


def _destinations(call: Call) -> list[tuple[Channel, str]]:
    """Where files shall be shared, each with the root of the thread or ""."""
    if call.text("channel_id"):
        channel = call.writable("channel_id")
        return [(channel, call.thread(channel))]
    given = [each.strip() for each in call.text("channels").split(",") if each.strip()]
    return [(replace(call, args={"channel": each}).writable(), "") for each in given]


def _is_shared(call: Call, file_id: str, channel: str) -> bool:
    """Whether the file is in a message of a conversation of the caller's, of that channel if one is named."""
    return any(
        file_id == file["id"]
        for each in call.workspace.channels.values()
        if channel in ("", each.id) and call.me in each.members
        for message in call.workspace.messages.get(each.id, {}).values()
        for file in message.get("files", ())
    )


def _known(call: Call) -> Json:
    file = call.workspace.files.get(call.required("file"))
    if file is None:
        raise SlackError("file_not_found")
    if file.get("mode") == "tombstone":
        raise SlackError("file_deleted")
    return file


def _uploaded(call: Call, file_id: str, title: str) -> Json:
    """A file of the caller's whose content has come."""
    file = call.workspace.files.get(file_id)
    if file is None or file_id not in call.workspace.uploads or file["user"] != call.me:
        raise SlackError("file_not_found")
    file["title"] = title or file["name"]
    return file
