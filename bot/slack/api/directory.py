"""People and channels: who they are, and who is in which."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bot.clock import Clock
from bot.slack.api.transport import SlackApi, read_text

USER_SECONDS = 300.0
"""How long a lookup of a person is cached."""
PAUSES = "dnd:read"
"""The scope for people's pauses of notifications."""
USERS_KEPT = 2_000
"""The number of people in the cache."""


@dataclass(frozen=True, slots=True)
class SlackUser:
    """What Slack says about a person."""

    id: str
    team: str
    """The person's own workspace. In Slack Connect it is not the app's."""
    name: str
    """The full name."""
    display_name: str
    """The name that Slack shows. It is the full name if the person chose no other."""
    email: str | None
    """None if Slack does not say, or says that it was never confirmed."""
    locale: str
    """Such as `en-US`. Empty if Slack does not say."""
    tz: str
    """Such as `Europe/Berlin`. Empty if Slack does not say."""
    is_guest: bool
    is_stranger: bool
    """Whether the person is from another workspace, by Slack's flag or by the workspace's id. The flag is not
    reliable."""
    is_bot: bool
    deleted: bool
    picture: str = ""
    """The address of the profile picture. Empty if Slack does not say."""


@dataclass(frozen=True, slots=True)
class SlackChannel:
    """What Slack says about a conversation."""

    id: str
    name: str
    is_im: bool
    is_private: bool
    is_member: bool
    is_archived: bool


class Directory:
    """What Slack says about people and channels. People are cached."""

    def __init__(self, api: SlackApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._users: OrderedDict[str, tuple[float, SlackUser]] = OrderedDict()

    async def user(self, user_id: str, *, seconds: float = USER_SECONDS) -> SlackUser:
        """Who a person is. Cached; Slack is asked again if the entry is older than `seconds`."""
        kept = self._users.get(user_id)
        if kept is not None and self._clock.monotonic() < kept[0] + seconds:
            return kept[1]
        home = await self._api.auth()
        answer = await self._api.call(
            "users.info", partial(self._api.web.users_info, user=user_id, include_locale=True)
        )
        user = _user(answer.get("user") or {}, home_team=home.team)
        self._users[user_id] = (self._clock.monotonic(), user)
        self._users.move_to_end(user_id)
        if len(self._users) > USERS_KEPT:
            self._users.popitem(last=False)
        return user

    async def channels(self) -> list[str]:
        """The ids of the channels that the app is in, without archived ones and direct messages."""
        pages = self._api.pages(
            "users.conversations",
            partial(self._api.web.users_conversations, types="public_channel,private_channel", exclude_archived=True),
        )
        return [read_text(channel, "id") async for page in pages for channel in page.get("channels") or ()]

    async def members(self, channel: str) -> frozenset[str]:
        """The ids of all people in a channel."""
        pages = self._api.pages("conversations.members", partial(self._api.web.conversations_members, channel=channel))
        return frozenset([str(member) async for page in pages for member in page.get("members") or ()])

    async def group_members(self, group: str) -> frozenset[str]:
        """The ids of all people in a user group, without deactivated ones."""
        answer = await self._api.call(
            "usergroups.users.list", partial(self._api.web.usergroups_users_list, usergroup=group)
        )
        return frozenset(str(member) for member in answer.get("users") or ())

    async def is_active(self, user: str) -> bool:
        """Whether Slack shows the person as active."""
        answer = await self._api.call("users.getPresence", partial(self._api.web.users_getPresence, user=user))
        return answer.get("presence") == "active"

    async def is_undisturbed(self, user: str, *, now: float) -> bool:
        """Whether the person's notifications are paused by their schedule. False without the scope.

        Slack shows a pause that they began by hand to nobody else.
        """
        if not self._api.has_scope(PAUSES):
            return False
        answer = await self._api.call("dnd.info", partial(self._api.web.dnd_info, user=user))
        begins, ends = (float(answer.get(f"next_dnd_{name}_ts") or 0.0) for name in ("start", "end"))
        return bool(answer.get("dnd_enabled")) and begins <= now < ends

    async def open_dm(self, user: str) -> str:
        """Get the direct message channel with a person. It is opened if needed."""
        answer = await self._api.call("conversations.open", partial(self._api.web.conversations_open, users=user))
        return read_text(answer.get("channel") or {}, "id")

    async def channel(self, channel_id: str) -> SlackChannel:
        """Look up a conversation."""
        answer = await self._api.call(
            "conversations.info", partial(self._api.web.conversations_info, channel=channel_id)
        )
        return _channel(answer.get("channel") or {})

    async def public_channels(self) -> list[SlackChannel]:
        """The public channels that the app is in, without archived ones."""
        pages = self._api.pages(
            "users.conversations",
            partial(self._api.web.users_conversations, types="public_channel", exclude_archived=True),
        )
        return [_channel(each) async for page in pages for each in page.get("channels") or ()]


def _channel(raw: Mapping[str, Any]) -> SlackChannel:
    return SlackChannel(
        id=read_text(raw, "id"),
        name=read_text(raw, "name"),
        is_im=bool(raw.get("is_im")),
        is_private=bool(raw.get("is_private")),
        is_member=bool(raw.get("is_member")),
        is_archived=bool(raw.get("is_archived")),
    )


def _user(raw: Mapping[str, Any], *, home_team: str) -> SlackUser:
    profile = raw.get("profile") or {}
    team = read_text(raw, "team_id") or read_text(profile, "team")
    teams = {team, *((raw.get("enterprise_user") or {}).get("teams") or ())}
    name = read_text(profile, "real_name") or read_text(raw, "real_name") or read_text(raw, "name")
    confirmed = raw.get("is_email_confirmed", True)
    return SlackUser(
        id=read_text(raw, "id"),
        team=team,
        name=name,
        display_name=read_text(profile, "display_name") or name,
        email=(read_text(profile, "email") or None) if confirmed else None,
        locale=read_text(raw, "locale"),
        tz=read_text(raw, "tz"),
        is_guest=bool(raw.get("is_restricted") or raw.get("is_ultra_restricted")),
        is_stranger=bool(raw.get("is_stranger")) or home_team not in teams,
        is_bot=bool(raw.get("is_bot") or raw.get("is_workflow_bot")) or raw.get("id") == "USLACKBOT",
        deleted=bool(raw.get("deleted")),
        picture=read_text(profile, "image_192") or read_text(profile, "image_72"),
    )
