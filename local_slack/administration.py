"""What people do to the workspace itself: to its channels, its members and its apps. `/_local/act/*` lists it.

Each act answers what it made, and raises `SlackError` for what Slack's client would not offer.
"""

from dataclasses import fields, replace

from local_slack import channels, files, timeline, usergroups
from local_slack.shapes import user_shape
from local_slack.workspace import Channel, Json, SlackError, User, Workspace


class Administration:
    """Acts with lasting effects. Who may do what is not checked, except for being in the channel."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def create_channel(self, user: str, name: str, *, is_private: bool = False) -> Json:
        if any(channel.name == name for channel in self._workspace.channels.values()):
            raise SlackError("name_taken")
        creator = self._workspace.user(user).id
        self._did("create_channel", user, name=name)
        return {"channel": channels.create(self._workspace, name, is_private=is_private, creator=creator).id}

    def rename_channel(self, user: str, channel: str, name: str) -> Json:
        place = self._named(user, channel)
        if any(each.name == name for each in self._workspace.channels.values()):
            raise SlackError("name_taken")
        self._did("rename_channel", user, channel=place.id, name=name)
        channels.rename(self._workspace, place, name, user=user)
        return {}

    def set_topic(self, user: str, channel: str, topic: str) -> Json:
        place = self._named(user, channel)
        self._did("set_topic", user, channel=place.id, topic=topic)
        channels.set_topic(self._workspace, place, topic, user=user)
        return {}

    def archive_channel(self, user: str, channel: str) -> Json:
        place = self._named(user, channel)
        self._did("archive_channel", user, channel=place.id)
        channels.archive(self._workspace, place, user=user)
        return {}

    def unarchive_channel(self, user: str, channel: str) -> Json:
        place = self._workspace.channel(channel)
        if not place.is_archived:
            raise SlackError("not_archived")
        self._did("unarchive_channel", user, channel=place.id)
        channels.unarchive(self._workspace, place, user=self._workspace.user(user).id)
        return {}

    def delete_channel(self, user: str, channel: str) -> Json:
        place = self._workspace.channel(channel)
        if place.is_im:
            raise SlackError("method_not_supported_for_channel_type")
        self._did("delete_channel", user, channel=place.id)
        channels.delete(self._workspace, place)
        return {}

    def invite(self, user: str, channel: str, invited: str) -> Json:
        place = self._named(user, channel)
        person = self._workspace.user(invited).id
        self._did("invite", user, channel=place.id, invited=invited)
        timeline.join(self._workspace, place, person, inviter=user)
        return {}

    def leave(self, user: str, channel: str) -> Json:
        place = self._named(user, channel)
        self._did("leave", user, channel=place.id)
        channels.leave(self._workspace, place, user, actor=user)
        return {}

    def kick(self, user: str, channel: str, kicked: str) -> Json:
        """Take somebody out of a channel, be it the app."""
        place = self._named(user, channel)
        if kicked not in place.members:
            raise SlackError("not_in_channel")
        self._did("kick", user, channel=place.id, kicked=kicked)
        channels.leave(self._workspace, place, kicked, actor=user)
        return {}

    def share_channel(self, user: str, channel: str, team: str) -> Json:
        """Connect a channel with another workspace; its people then can be invited."""
        place = self._named(user, channel)
        if team not in self._workspace.teams:
            raise SlackError("team_not_found")
        self._did("share_channel", user, channel=place.id, team=team)
        channels.share(self._workspace, place, team)
        return {}

    def unshare_channel(self, user: str, channel: str, team: str) -> Json:
        """End the connection; the people of the other workspace are gone."""
        place = self._named(user, channel)
        self._did("unshare_channel", user, channel=place.id, team=team)
        channels.unshare(self._workspace, place, team)
        return {}

    def delete_file(self, user: str, file: str) -> Json:
        """Delete a file of one's own; the messages with it stay."""
        found = self._workspace.files.get(file, {"mode": "tombstone"})
        if found["mode"] == "tombstone":
            raise SlackError("file_not_found")
        if found["user"] != user:
            raise SlackError("cant_delete_file")
        self._did("delete_file", user, file=file)
        files.delete(self._workspace, found)
        return {}

    def add_user(self, id: str, name: str, real_name: str, **about: str | bool) -> Json:  # noqa: A002
        """Somebody joins the workspace, with the fields of User."""
        if id in self._workspace.users:
            raise SlackError("already_in_team")
        person = User(id, name, real_name, **_known(about))  # type: ignore[arg-type]
        self._did("add_user", id)
        self._workspace.users[id] = person
        self._tell_user("team_join", person)
        return {"user": id}

    def change_user(self, user: str, **about: str | bool) -> Json:
        """Change somebody's fields, as `deleted` for who has left."""
        person = replace(self._workspace.user(user), **_known(about))  # type: ignore[arg-type]
        self._did("change_user", user)
        self._workspace.users[user] = person
        self._tell_user("user_change", person)
        return {}

    def deactivate(self, user: str) -> Json:
        """Somebody leaves: they can do nothing more, and what they wrote stays. Nobody is told but by `user_change`."""
        return self.change_user(user, deleted=True)

    def change_usergroup(self, user: str, usergroup: str, users: str) -> Json:
        """Put exactly these people into a group, their ids parted by commas."""
        if (group := self._workspace.usergroups.get(usergroup)) is None:
            raise SlackError("no_such_subteam")
        members = [self._workspace.user(each.strip()).id for each in users.split(",") if each.strip()]
        self._did("change_usergroup", user, usergroup=usergroup, users=users)
        usergroups.change(self._workspace, group, members, by=user)
        return {}

    def uninstall(self, user: str) -> Json:
        """Remove the app: its token is worth nothing any more."""
        self._did("uninstall", user)
        revoked = {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [self._workspace.app.user_id]}}
        timeline.emit(self._workspace, revoked | {"event_ts": self._workspace.new_ts()})
        timeline.emit(self._workspace, {"type": "app_uninstalled", "event_ts": self._workspace.new_ts()})
        self._workspace.is_installed = False
        self._workspace.changed("presence")
        return {}

    def install(self, user: str) -> Json:
        """Install the app again, with the tokens it had."""
        self._did("install", user)
        self._workspace.is_installed = True
        self._workspace.changed("presence")
        return {}

    def enable_events(self, user: str) -> Json:
        """Switch the app's events on again, after too many failed."""
        self._did("enable_events", user)
        self._workspace.events_enabled = True
        self._workspace.changed("presence")
        return {}

    def _did(self, what: str, user: str, **detail: str) -> None:
        self._workspace.note("act", what, detail={"user": user, **detail})

    def _named(self, user: str, channel: str) -> Channel:
        """A channel with a name in which this person can do something."""
        self._workspace.active(user)
        place = self._workspace.channel(channel)
        if place.is_im or place.is_mpim:
            raise SlackError("method_not_supported_for_channel_type")
        if user not in place.members:
            raise SlackError("not_in_channel")
        if place.is_archived:
            raise SlackError("is_archived")
        return place

    def _tell_user(self, kind: str, person: User) -> None:
        shape = user_shape(self._workspace, person, self._workspace.bot_for(person.id), include_locale=True)
        if "users:read.email" not in self._workspace.scopes:
            shape["profile"].pop("email", None)
        told = {"type": kind, "user": shape, "cache_ts": int(self._workspace.clock.time())}
        timeline.emit(self._workspace, told | {"event_ts": self._workspace.new_ts()})
        self._workspace.changed("channel")


def _known(about: dict[str, str | bool]) -> dict[str, str | bool]:
    if unknown := about.keys() - {each.name for each in fields(User)}:
        raise ValueError(f"unknown field {min(unknown)!r} of user")
    return about
