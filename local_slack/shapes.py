"""How users, channels, bots and messages look in answers and events."""

import hashlib
from typing import Any

from local_slack import pictures, rich_text
from local_slack.workspace import Bot, Channel, Json, User, Usergroup, Workspace

_OF_DELETED = ("id", "team_id", "name", "deleted", "profile", "is_bot", "is_app_user", "updated")
"""What is still told of a deactivated person (believed)."""


def user_shape(workspace: Workspace, user: User, bot: Bot, *, include_locale: bool = False) -> Json:
    """A user as in users.info, seen by an installation. People of other workspaces have no e-mail; a stranger is one of
    them who is in none of its channels."""
    is_outside = workspace.is_outside(user, bot)
    email = {"email": user.email} if user.email and not is_outside else {}
    met = any({user.id, bot.user_id} <= set(channel.members) for channel in workspace.channels.values())
    profile = {
        "real_name": user.real_name,
        "real_name_normalized": user.real_name,
        "display_name": user.real_name,
        "display_name_normalized": user.real_name,
        "first_name": user.real_name.partition(" ")[0],
        "last_name": user.real_name.partition(" ")[2],
        "team": user.team,
        "title": "",
        "phone": "",
        "skype": "",
        "pronouns": "",
        "status_text": "",
        "status_emoji": "",
        "status_emoji_display_info": [],
        "status_expiration": 0,
        "avatar_hash": "",
        **{f"image_{pixels}": pictures.address(workspace, user.id) for pixels in (24, 32, 48, 72, 192, 512)},
        **email,
    }
    shape = {
        "id": user.id,
        "team_id": user.team,
        "name": user.name,
        "real_name": user.real_name,
        "deleted": user.deleted,
        "color": hashlib.sha256(user.id.encode()).hexdigest()[:6],
        "tz": user.tz,
        "tz_label": user.tz,
        "tz_offset": 0,
        "profile": profile,
        "is_admin": False,
        "is_owner": False,
        "is_primary_owner": False,
        "is_restricted": user.is_restricted,
        "is_ultra_restricted": user.is_ultra_restricted,
        "is_bot": user.is_bot,
        "is_app_user": False,
        "is_stranger": is_outside and not met,
        "is_email_confirmed": bool(email),
        "who_can_share_contact_card": "EVERYONE",
        "updated": 1_750_000_000,
    }
    if user.deleted:
        return {name: shape[name] for name in _OF_DELETED}
    return shape | ({"locale": user.locale} if include_locale else {})


def usergroup_shape(workspace: Workspace, group: Usergroup) -> Json:
    """A group as events tell it; usergroups.list leaves out its people unless it is asked for them."""
    users = people_of(workspace, group)
    return {
        "id": group.id,
        "team_id": group.team or workspace.team.id,
        "is_usergroup": True,
        "is_subteam": True,
        "name": group.name,
        "description": group.description,
        "handle": group.handle,
        "is_external": False,
        "date_create": group.created,
        "date_update": group.updated,
        "date_delete": group.updated if group.is_disabled else 0,
        "auto_type": None,
        "auto_provision": False,
        "enterprise_subteam_id": "",
        "created_by": group.creator,
        "updated_by": group.updated_by,
        "deleted_by": group.updated_by if group.is_disabled else None,
        "prefs": {"channels": [], "groups": []},
        "users": users,
        "user_count": len(users),
        "channel_count": 0,
    }


def people_of(workspace: Workspace, group: Usergroup | Channel) -> list[str]:
    """Who is in a group or a channel. Deactivated people stay in a channel's list and leave groups (believed).

    Reports on real workspaces differ about channels, so apps meet the case that they have to check for.
    """
    if isinstance(group, Usergroup):
        return [each for each in group.users if each in workspace.users and not workspace.users[each].deleted]
    return [each for each in group.members if each in workspace.users]


def channel_shape(workspace: Workspace, channel: Channel, *, viewer: str = "") -> Json:
    """A conversation as in conversations.info, seen by `viewer`, who is the app if nobody is named."""
    viewer = viewer or workspace.app.user_id
    bots = {bot.user_id: bot for bot in workspace.bots}
    home = workspace.home_of(bots[viewer] if viewer in bots else workspace.bot_for(viewer))
    host = workspace.team_of(channel.id).id
    present = dict.fromkeys(workspace.user(member).team for member in channel.members)
    guests = [team for team in present if channel.is_ext_shared and team != host]
    shape: Json = {
        "id": channel.id,
        "created": channel.created,
        "is_im": channel.is_im,
        "is_mpim": channel.is_mpim,
        "is_archived": channel.is_archived,
        "is_org_shared": False,
        "is_ext_shared": channel.is_ext_shared,
        "is_shared": channel.is_ext_shared,
        "context_team_id": home.id,
        "updated": channel.created * 1_000,
    }
    if channel.is_im:
        partner = next(user for user in channel.members if user != viewer)
        return shape | {"user": partner, "is_user_deleted": workspace.user(partner).deleted, "priority": 0}
    return shape | {
        "name": channel.name,
        "name_normalized": channel.name,
        "is_channel": channel.kind == "channel",
        "is_group": channel.is_private,
        "is_private": channel.is_private,
        "is_general": channel.name == "general",
        "is_member": viewer in channel.members,
        "is_pending_ext_shared": False,
        "pending_shared": [],
        "previous_names": [],
        "pending_connected_team_ids": [],
        "conversation_host_id": host,
        "shared_team_ids": [host, *guests],
        "internal_team_ids": [],
        "connected_team_ids": [team for team in (host, *guests) if team != home.id],
        "unlinked": 0,
        "creator": channel.creator,
        "topic": {"value": channel.topic, "creator": "", "last_set": 0},
        "purpose": {"value": channel.purpose, "creator": "", "last_set": 0},
        "num_members": len(people_of(workspace, channel)),
    }


def bot_profile(workspace: Workspace, bot: Bot) -> Json:
    """The app as its messages carry it."""
    return {
        "id": bot.bot_id,
        "app_id": bot.app_id,
        "user_id": bot.user_id,
        "name": bot.name,
        "icons": {"image_36": "", "image_48": "", "image_72": ""},
        "deleted": False,
        "updated": 1_750_000_000,
        "team_id": workspace.home_of(bot).id,
    }


def by_person(workspace: Workspace, channel: Channel, user: User) -> Json:
    """The author's fields of a person's message. Shared channels name the author's own workspace."""
    fields: Json = {"type": "message", "user": user.id, "team": user.team}
    if not channel.is_ext_shared:
        return fields
    profile = {
        "real_name": user.real_name,
        "display_name": user.real_name,
        "name": user.name,
        "team": user.team,
        "is_restricted": user.is_restricted,
        "is_ultra_restricted": user.is_ultra_restricted,
    }
    return fields | {"user_team": user.team, "source_team": user.team, "user_profile": profile}


def by_app(workspace: Workspace, bot: Bot | None = None, *, username: str = "", icons: Json | None = None) -> Json:
    """The author's fields of the app's message, as it is installed at home unless another installation is named. With a
    name of its own it is a `bot_message` without user."""
    bot = bot or workspace.app
    fields: Json = {
        "type": "message",
        "bot_id": bot.bot_id,
        "app_id": bot.app_id,
        "team": workspace.home_of(bot).id,
        "bot_profile": bot_profile(workspace, bot),
    }
    if not username and not icons:
        return fields | {"user": bot.user_id}
    named = {"subtype": "bot_message", "username": username or bot.name}
    return fields | named | ({"icons": icons} if icons else {})


def permalink(workspace: Workspace, channel: Channel, message: Json) -> str:
    """The address of a message; that of a reply names its thread."""
    ts: str = message["ts"]
    thread = message.get("thread_ts", ts)
    query = f"?thread_ts={thread}&cid={channel.id}" if thread != ts else ""
    return f"{workspace.url}/archives/{channel.id}/p{ts.replace('.', '')}{query}"


def text_block(workspace: Workspace, text: str) -> list[Json]:
    """The blocks that Slack makes for a message of text alone."""
    return [{"block_id": workspace.new_id("", length=5)} | rich_text.from_mrkdwn(text)] if text else []


def readable(message: Json, *, include_metadata: bool = False) -> Json:
    """A message as histories and events show it."""
    hidden = set() if include_metadata else {"metadata"}
    shown: dict[str, Any] = {name: value for name, value in message.items() if name not in hidden}
    return shown


def interaction_user(user: User) -> Json:
    """A person as interaction payloads name them."""
    return {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team}
