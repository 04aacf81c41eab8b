"""Files as they are kept in memory, whoever brought them: announced, shown, and deleted.

A message carries the short form of its files; `whole` adds where a file was shared, for files.*.
"""

import mimetypes
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, urlsplit

from local_slack import timeline
from local_slack.workspace import Channel, Json, Workspace

FILES_KEPT = 100

_KINDS = {
    "htm": "html",
    "jpeg": "jpg",
    "js": "javascript",
    "log": "text",
    "md": "markdown",
    "py": "python",
    "txt": "text",
    "yml": "yaml",
}
"""Slack's names of what an ending alone does not tell."""
_PRETTY = {"text": "Plain Text", "binary": "Binary", "javascript": "JavaScript", "markdown": "Markdown (raw)"}
_SHARED_AS = {"channel": ("public", "channels"), "group": ("private", "groups"), "mpim": ("private", "groups")}
"""By kind of conversation: under which head of `shares` a file is listed there, and in which list; else `ims`."""


def announce(workspace: Workspace, name: str, size: int, *, user: str, about: Json | None = None) -> Json:
    """A file whose content is still to come; the oldest of many is forgotten. `about` is told beside or instead of what
    the name tells."""
    file_id = workspace.new_id("F")
    team = workspace.user(user).team
    ending = PurePath(name).suffix.removeprefix(".").lower()
    filetype = _KINDS.get(ending, ending) or "binary"
    last = quote(name, safe="")
    private = f"{workspace.url}/files-pri/{team}-{file_id}"
    file: Json = {
        "id": file_id,
        "name": name,
        "title": name,
        "size": size,
        "user": user,
        "user_team": team,
        "created": int(workspace.clock.time()),
        "timestamp": int(workspace.clock.time()),
        "mimetype": mimetypes.guess_type(name)[0] or "application/octet-stream",
        "filetype": filetype,
        "pretty_type": _PRETTY.get(filetype, filetype.upper()),
        "alt_txt": "",
        "mode": "hosted",
        "editable": False,
        "is_external": False,
        "external_type": "",
        "is_public": False,
        "public_url_shared": False,
        "display_as_bot": False,
        "username": "",
        "url_private": f"{private}/{last}",
        "url_private_download": f"{private}/download/{last}",
        "permalink": f"{workspace.url}/files/{user}/{file_id}/{last}",
        "has_rich_preview": False,
        "file_access": "visible",
        **(about or {}),
    }
    workspace.files[file_id] = file
    while len(workspace.files) > FILES_KEPT:
        forgotten = next(iter(workspace.files))
        del workspace.files[forgotten]
        workspace.uploads.pop(forgotten, None)
    return file


def keep(workspace: Workspace, name: str, content: bytes, *, user: str) -> Json:
    """A file with its content."""
    file = announce(workspace, name, len(content), user=user)
    workspace.uploads[file["id"]] = content
    return file


def readdress(workspace: Workspace) -> None:
    """Give every file an address at which the workspace is served now."""
    in_messages = (
        file for kept in workspace.messages.values() for message in kept.values() for file in message.get("files", ())
    )
    for file in (*workspace.files.values(), *in_messages):
        for name in ("url_private", "url_private_download", "permalink"):
            if name in file:
                file[name] = workspace.url + urlsplit(file[name]).path


def whole(workspace: Workspace, file: Json, *, viewer: str) -> Json:
    """A file as files.* answer it, with every share that the viewer can see."""
    shown: Json = file | {"comments_count": 0, "shares": {}, "channels": [], "groups": [], "ims": []}
    for channel, message in _shares(workspace, file["id"]):
        if not _may_read(channel, viewer):
            continue
        head, listed = _SHARED_AS.get(channel.kind, ("private", "ims"))
        if channel.id not in shown[listed]:
            shown[listed].append(channel.id)
        shown["shares"].setdefault(head, {}).setdefault(channel.id, []).append(_share(workspace, channel, message))
    return shown


def is_visible(workspace: Workspace, file: Json, user: str) -> bool:
    """Whether somebody may see the file: their own, or one that was shared where they read."""
    return file["user"] == user or any(_may_read(channel, user) for channel, _ in _shares(workspace, file["id"]))


def delete(workspace: Workspace, file: Json) -> None:
    """Take a file away. Messages keep a tombstone in its place, which is told as a change of them (believed)."""
    stone = {"id": file["id"], "mode": "tombstone"}
    workspace.files[file["id"]] = stone
    workspace.uploads.pop(file["id"], None)
    shares = list(_shares(workspace, file["id"]))
    for channel, message in shares:
        kept = [stone if each["id"] == file["id"] else each for each in message["files"]]
        timeline.change(workspace, channel, message["ts"], {"files": kept})
    channels = list(dict.fromkeys(channel.id for channel, _ in shares))
    event = {"type": "file_deleted", "file_id": file["id"], "channel_ids": channels}
    timeline.emit(workspace, event | {"event_ts": workspace.new_ts()})


def _shares(workspace: Workspace, file_id: str) -> list[tuple[Channel, Json]]:
    return [
        (channel, message)
        for channel in workspace.channels.values()
        for message in workspace.messages.get(channel.id, {}).values()
        if any(each["id"] == file_id for each in message.get("files", ()))
    ]


def _may_read(channel: Channel, user: str) -> bool:
    return channel.kind == "channel" or user in channel.members


def _share(workspace: Workspace, channel: Channel, message: Json) -> Json:
    share: dict[str, Any] = {
        "ts": message["ts"],
        "channel_name": channel.name,
        "team_id": workspace.team_of(channel.id).id,
        "share_user_id": message.get("user", ""),
    }
    names = ("thread_ts", "latest_reply", "reply_users")
    counts = {name: message.get(name, 0) for name in ("reply_count", "reply_users_count")}
    return share | counts | {name: message[name] for name in names if name in message}
