"""Channels and conversations of several people: made, and put away."""

from demo.slack import timeline
from demo.slack.shapes import channel_shape
from demo.slack.workspace import Channel, Workspace


def create(workspace: Workspace, name: str, *, is_private: bool, creator: str) -> Channel:
    """A new channel with its creator in it. Everybody hears of a public one."""
    channel = Channel(
        workspace.new_id("C"),
        name,
        is_private=is_private,
        created=int(workspace.clock.time()),
        creator=creator,
    )
    workspace.channels[channel.id] = channel
    if not is_private:
        created = {"type": "channel_created", "channel": channel_shape(workspace, channel)}
        timeline.emit(workspace, created | {"event_ts": workspace.new_ts()})
    timeline.join(workspace, channel, creator)
    return channel


def archive(workspace: Workspace, channel: Channel, *, user: str) -> None:
    """Close the channel for good: it can be read, and nobody writes in it any more."""
    kind = f"{channel.kind}_archive"
    said = {"type": "message", "subtype": kind, "user": user, "text": "archived the channel"}
    timeline.post(workspace, channel, said | {"members": channel.members})
    channel.is_archived = True
    workspace.changed("channel", channel=channel.id)
    event = {"type": kind, "channel": channel.id, "user": user, "is_moved": 0, "event_ts": workspace.new_ts()}
    timeline.emit(workspace, event, channel)


def group_of(workspace: Workspace, members: list[str]) -> Channel | None:
    """The conversation of exactly these people, if there is one."""
    groups = (channel for channel in workspace.channels.values() if channel.is_mpim)
    return next((channel for channel in groups if set(channel.members) == set(members)), None)


def open_group(workspace: Workspace, members: list[str], *, creator: str) -> Channel:
    """The conversation of these people, begun when there is none yet."""
    if (found := group_of(workspace, members)) is not None:
        return found
    names = "--".join(workspace.user(user).name for user in members)
    channel = Channel(
        workspace.new_id("C"),
        f"mpdm-{names}-1",
        is_mpim=True,
        is_private=True,
        members=members,
        created=int(workspace.clock.time()),
        creator=creator,
    )
    workspace.channels[channel.id] = channel
    workspace.changed("channel", channel=channel.id)
    return channel
