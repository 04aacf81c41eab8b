"""Channels and conversations of several people: made, changed, left and put away."""

from local_slack import timeline
from local_slack.shapes import channel_shape
from local_slack.workspace import Channel, Workspace


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


def unarchive(workspace: Workspace, channel: Channel, *, user: str) -> None:
    """Open an archived channel again; who was in it still is."""
    channel.is_archived = False
    workspace.changed("channel", channel=channel.id)
    kind = f"{channel.kind}_unarchive"
    timeline.post(
        workspace, channel, {"type": "message", "subtype": kind, "user": user, "text": "un-archived the channel"}
    )
    event = {"type": kind, "channel": channel.id, "user": user, "event_ts": workspace.new_ts()}
    timeline.emit(workspace, event, channel)


def rename(workspace: Workspace, channel: Channel, name: str, *, user: str) -> None:
    old, channel.name = channel.name, name
    workspace.changed("channel", channel=channel.id)
    said = {"type": "message", "subtype": f"{channel.kind}_name", "user": user, "old_name": old, "name": name}
    timeline.post(workspace, channel, said | {"text": f'has renamed the channel from "{old}" to "{name}"'})
    named = {"id": channel.id, "name": name, "created": channel.created}
    event = {"type": f"{channel.kind}_rename", "channel": named, "event_ts": workspace.new_ts()}
    timeline.emit(workspace, event, channel)


def set_topic(workspace: Workspace, channel: Channel, topic: str, *, user: str) -> None:
    """Slack tells it as a message alone."""
    channel.topic = topic
    workspace.changed("channel", channel=channel.id)
    said = {"type": "message", "subtype": f"{channel.kind}_topic", "user": user, "topic": topic}
    timeline.post(workspace, channel, said | {"text": f"set the channel topic: {topic}"})


def set_purpose(workspace: Workspace, channel: Channel, purpose: str, *, user: str) -> None:
    """Likewise."""
    channel.purpose = purpose
    workspace.changed("channel", channel=channel.id)
    said = {"type": "message", "subtype": f"{channel.kind}_purpose", "user": user, "purpose": purpose}
    timeline.post(workspace, channel, said | {"text": f"set the channel description: {purpose}"})


def share(workspace: Workspace, channel: Channel, team: str) -> None:
    """Connect a channel with another workspace."""
    channel.is_ext_shared = True
    workspace.changed("channel", channel=channel.id)
    event = {"type": "channel_shared", "connected_team_id": team, "channel": channel.id, "event_ts": workspace.new_ts()}
    timeline.emit(workspace, event, channel)


def unshare(workspace: Workspace, channel: Channel, team: str) -> None:
    """End the connection with another workspace, whose people go without a word."""
    host = workspace.team_of(channel.id).id
    channel.members = [member for member in channel.members if workspace.user(member).team != team]
    channel.is_ext_shared = any(workspace.user(member).team != host for member in channel.members)
    workspace.changed("channel", channel=channel.id)
    event = {
        "type": "channel_unshared",
        "previously_connected_team_id": team,
        "channel": channel.id,
        "is_ext_shared": channel.is_ext_shared,
        "event_ts": workspace.new_ts(),
    }
    timeline.emit(workspace, event, channel)


def delete(workspace: Workspace, channel: Channel) -> None:
    """Take a channel away with everything in it."""
    event = {"type": f"{channel.kind}_deleted", "channel": channel.id, "event_ts": workspace.new_ts()}
    timeline.emit(workspace, event, channel)
    for ts in list(workspace.messages.get(channel.id, ())):
        workspace.forget_message(channel.id, ts)
    del workspace.channels[channel.id]
    workspace.changed("channel", channel=channel.id)


def leave(workspace: Workspace, channel: Channel, user: str, *, actor: str) -> None:
    """End a membership, by oneself or by somebody else. The app hears of its own end in words of its own."""
    left = {"type": "message", "subtype": f"{channel.kind}_leave", "user": user}
    timeline.post(workspace, channel, left | {"text": f"<@{user}> has left the channel"})
    timeline.emit(workspace, timeline.membership(workspace, "member_left_channel", channel, user), channel)
    if user in {bot.user_id for bot in workspace.bots}:
        own = {"type": f"{channel.kind}_left", "channel": channel.id, "actor_id": actor}
        timeline.emit(workspace, own | {"event_ts": workspace.new_ts()}, channel)
    channel.members.remove(user)
    workspace.changed("channel", channel=channel.id)


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
