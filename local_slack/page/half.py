"""One half of the page: who stands where, what that person may see, and what the app is doing there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_slack import pictures
from local_slack.page.loose import mapping, string
from local_slack.page.markup import Names
from local_slack.page.message import Author
from local_slack.workspace import Channel, User, Workspace


@dataclass(slots=True)
class Half:
    """Where one of the two people stands."""

    side: str
    user: str
    channel: str
    thread: str = ""
    """The ts of the root of the open thread."""
    tab: str = "messages"
    """`home` while the app's Home tab is open."""
    editing: str = ""
    """The id of the element whose message is being edited."""
    searched: str | None = None
    """What was typed into the search; None while it is closed."""
    followed: str = ""
    """No thread opens by itself for a message up to this ts."""


def open_half(workspace: Workspace, side: str, wanted: str) -> Half:
    """As `wanted` (`user:channel[:thread]`) says; for what does not exist, the first customer or the staff."""
    user, channel, thread, *_ = [*wanted.split(":"), "", "", ""]
    people = [each.id for each in workspace.users.values() if not each.is_bot]
    private = next((each for each in workspace.channels.values() if each.is_private), None)
    if user not in people:
        user = private.members[0] if side == "right" and private else people[0]
    if channel not in workspace.channels or not may_see(workspace, user, workspace.channels[channel]):
        channel = private.id if side == "right" and private else first_place(workspace, user)
    return Half(side, user, channel, thread, followed=newest(workspace))


def may_see(workspace: Workspace, user: str, channel: Channel) -> bool:
    """Members see everything of theirs but an app that is closed to them; full members also public channels."""
    person = workspace.users[user]
    if channel.is_im:
        return user in channel.members and not workspace.keeps_out(person)
    return user in channel.members or not (channel.is_private or person.is_guest or person.is_stranger)


def first_place(workspace: Workspace, user: str) -> str:
    """Where a person is at first: with the app, or in a channel, if they are in one, where it is closed to them."""
    if workspace.keeps_out(workspace.users[user]):
        for each in workspace.channels.values():
            if user in each.members and not each.is_im:
                return each.id
    return workspace.dm_with(user).id


def newest(workspace: Workspace) -> str:
    """The ts of the newest message anywhere."""
    return max((next(reversed(kept), "") for kept in workspace.messages.values()), default="")


def is_root(message: Mapping[str, Any]) -> bool:
    """Whether a message stands in the channel and not in a thread."""
    return bool(message.get("thread_ts", message["ts"]) == message["ts"])


def doing(workspace: Workspace, channel: str, thread: str) -> str:
    """What the app is doing in a thread, to be read after its name: "is writing…". "" for nothing."""
    status = workspace.statuses.get((channel, thread), {}).get("status")
    if status:
        return string(status)
    if is_writing(workspace, channel, thread):
        return "is writing…"
    session = workspace.sessions.get((channel, thread), {})
    return "is working…" if session.get("status") == "processing" else ""


def is_writing(workspace: Workspace, channel: str, thread: str) -> bool:
    """Whether a message of the thread is being streamed."""
    return any(
        stream.channel == channel and stream.thread_ts == thread and stream.state == "in_progress"
        for stream in workspace.streams.values()
    )


def shortcuts(workspace: Workspace, kind: str) -> tuple[tuple[str, str], ...]:
    """What the app offers in a message's menu (`message`) or everywhere (`global`), as callback_id and name."""
    known = [each for each in workspace.shortcuts if each.get("type") == kind]
    return tuple((string(each.get("callback_id")), string(each.get("name"))) for each in known)


def names(workspace: Workspace, viewer: str) -> Names:
    """What everything is called for `viewer`."""
    users = {user.id: user.real_name for user in workspace.users.values()}
    channels = {channel.id: channel.name for channel in workspace.channels.values()}
    groups = {group.id: group.handle for group in workspace.usergroups.values()}
    return Names(users, channels, viewer=viewer, now=workspace.clock.time(), groups=groups)


def author(workspace: Workspace, message: Mapping[str, Any]) -> Author:
    """Who is shown as the writer: the name a message was posted under, a person, or the app."""
    if named := string(message.get("username")):
        icons = mapping(message.get("icons"))
        pictured = pictures.person_of(workspace, string(icons.get("image_48")))
        face = string(icons.get("emoji")).strip(":")
        return Author(pictured.id if pictured else named, named, badge="APP", emoji=face)
    user = workspace.users.get(string(message.get("user")))
    return person(user) if user and not user.is_bot else app(workspace)


def person(user: User) -> Author:
    return Author(user.id, user.real_name, badge=standing(user))


def app(workspace: Workspace) -> Author:
    return Author(workspace.app.user_id, workspace.app.name, is_app=True)


def standing(user: User) -> str:
    """`guest`, `other workspace`, or nothing for a full member."""
    if user.is_stranger:
        return "other workspace"
    return "guest" if user.is_guest else ""
