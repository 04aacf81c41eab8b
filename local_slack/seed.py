"""The people, channels and subscriptions that a workspace starts with, and how a YAML file changes them."""

from dataclasses import fields
from typing import Any, get_args

from local_slack.workspace import AppKind, Bot, Channel, Grant, Rules, Team, User, Usergroup, Workspace

EVENTS = frozenset(
    {
        "agent_session_stopped",
        "agent_session_title_changed",
        "app_context_changed",
        "app_home_opened",
        "app_mention",
        "app_uninstalled",
        "assistant_thread_context_changed",
        "assistant_thread_started",
        "channel_archive",
        "channel_created",
        "channel_deleted",
        "channel_left",
        "channel_rename",
        "channel_shared",
        "channel_unarchive",
        "channel_unshared",
        "file_deleted",
        "file_shared",
        "group_archive",
        "group_deleted",
        "group_left",
        "group_rename",
        "group_unarchive",
        "im_created",
        "link_shared",
        "member_joined_channel",
        "member_left_channel",
        "message.channels",
        "message.groups",
        "message.im",
        "message.mpim",
        "pin_added",
        "pin_removed",
        "reaction_added",
        "reaction_removed",
        "subteam_members_changed",
        "subteam_updated",
        "team_join",
        "tokens_revoked",
        "user_change",
    }
)
"""Everything that this workspace can tell."""

SCOPES = frozenset(
    {
        "app_mentions:read",
        "assistant:write",
        "channels:history",
        "channels:join",
        "channels:manage",
        "channels:read",
        "channels:write.invites",
        "channels:write.topic",
        "chat:write",
        "chat:write.customize",
        "commands",
        "dnd:read",
        "emoji:read",
        "files:read",
        "files:write",
        "groups:history",
        "groups:read",
        "groups:write",
        "groups:write.invites",
        "groups:write.topic",
        "im:history",
        "im:read",
        "im:write",
        "links:read",
        "links:write",
        "mpim:history",
        "mpim:read",
        "mpim:write",
        "mpim:write.topic",
        "pins:read",
        "pins:write",
        "reactions:read",
        "reactions:write",
        "team:read",
        "usergroups:read",
        "users.profile:read",
        "users:read",
        "users:read.email",
    }
)
"""Everything that a bot token can be allowed here."""

USER_SCOPES = SCOPES - {"channels:join", "channels:manage"} | {"channels:write"}
"""Everything that a person's token can be allowed here."""

PEOPLE = (
    User("U0CUSTOMERA", "customer.a", "Customer A", "customer.a@example.com"),
    User("U0CUSTOMERB", "customer.b", "Customer B", "customer.b@example.com", "id-ID", "Asia/Jakarta"),
    User("U0CUSTOMERG", "customer.g", "Customer G", "customer.g@example.com"),
    User("U0GUEST", "guest.c", "Guest C", "guest.c@example.net", is_restricted=True),
    User("U0STRANGER", "partner.d", "Partner D", team="T0PARTNER", is_stranger=True),
    User("U0AGENTA", "agent.a", "Agent A", "agent.a@example.com"),
    User("U0AGENTB", "agent.b", "Agent B", "agent.b@example.com"),
    User("U0FRONTDESK", "frontdesk", "Frontdesk", is_bot=True),
)

DIRECT_MESSAGES = {
    "D0CUSTOMERA": "U0CUSTOMERA",
    "D0CUSTOMERB": "U0CUSTOMERB",
    "D0CUSTOMERG": "U0CUSTOMERG",
    "D0GUEST": "U0GUEST",
    "D0STRANGER": "U0STRANGER",
    "D0AGENTA": "U0AGENTA",
    "D0AGENTB": "U0AGENTB",
}

STAFF = ("U0AGENTA", "U0AGENTB")

ON_CALL = Usergroup("S0ONCALL", "on-call", "On call", "Who takes cases now", users=["U0AGENTA"])


def seed(workspace: Workspace) -> None:
    """Fill an empty workspace with the people and channels whose ids tests and documents name."""
    bot = workspace.app.user_id
    everyone = [user.id for user in PEOPLE]
    colleagues = ["U0CUSTOMERA", "U0CUSTOMERB", *STAFF, bot]
    for user in PEOPLE:
        workspace.users[user.id] = _copy(User, user)
    channels = (
        Channel("C0SUPPORT", "support", is_ext_shared=True, members=everyone, topic="Ask Frontdesk anything"),
        Channel("C0GENERAL", "general", members=colleagues, topic="Company-wide talk"),
        Channel("C0AGENTS", "agents", is_private=True, members=[*STAFF, bot], topic="Cases for people"),
        *(
            Channel(id_, "", is_im=True, is_ext_shared=user == "U0STRANGER", members=[user, bot])
            for id_, user in DIRECT_MESSAGES.items()
        ),
    )
    workspace.channels |= {channel.id: channel for channel in channels}
    workspace.teams = {"T0PARTNER": Team("T0PARTNER", "Partner", "partner-local")}
    workspace.usergroups = {ON_CALL.id: ON_CALL}
    workspace.subscriptions = EVENTS
    workspace.scopes = SCOPES


SETTINGS = frozenset(
    {
        *("team", "teams", "app", "installations", "users", "channels", "usergroups", "user_tokens"),
        *("kind", "unfurl_domains", "urls", "rules", "commands", "shortcuts", "emoji", "events", "scopes"),
        "suggested_prompts",
    }
)
"""What a configuration may hold."""


def configure(workspace: Workspace, config: dict[str, Any]) -> None:
    """Apply a configuration. Raises ValueError with the field that is unknown.

    `kind` is one of AppKind; `team` and `app` replace fields; `teams` (other workspaces), `users`, `channels` and
    `usergroups` are lists of fields, added or changed by id; `commands`, `shortcuts`, `suggested_prompts`, `emoji`
    (addresses by name), `unfurl_domains`, `events` and `scopes` replace what is there. `members: all` puts everybody
    into a channel. A new user gets a direct message with the app as soon as one is needed. `user_tokens` is a list of
    `token`, `user` and, unless it may do everything, `scopes`. `installations` is a list of `team`, `bot_token`,
    `user_id` and `bot_id`, of connected workspaces. `urls` holds request addresses of HTTP beside that of the events,
    `interactivity` and `options`. What `rules` hold is for `configured_rules`.
    """
    if unknown := config.keys() - SETTINGS:
        raise ValueError(f"unknown setting {min(unknown)!r}; known are {', '.join(sorted(SETTINGS))}")
    kind = config.get("kind", workspace.kind)
    if kind not in get_args(AppKind):
        raise ValueError(f"unknown kind {kind!r}; known are {', '.join(get_args(AppKind))}")
    workspace.kind = kind
    workspace.team = _copy(Team, workspace.team, config.get("team"))
    workspace.app = _copy(Bot, workspace.app, config.get("app"))
    for given in config.get("teams", ()):
        workspace.teams[given["id"]] = _copy(Team, workspace.teams.get(given["id"]), given)
    for given in config.get("installations", ()):
        _install(workspace, given)
    for given in config.get("users", ()):
        workspace.users[given["id"]] = _copy(User, workspace.users.get(given["id"]), given)
    for given in config.get("channels", ()):
        if given.get("members") == "all":
            given = given | {"members": list(workspace.users)}
        if unknown := set(given.get("members", ())) - workspace.users.keys():
            raise ValueError(f"channel {given['id']} has the member {min(unknown)}, who is nobody of `users`")
        workspace.channels[given["id"]] = _copy(Channel, workspace.channels.get(given["id"]), given)
        _check_team(workspace, workspace.channels[given["id"]])
    for given in config.get("usergroups", ()):
        workspace.usergroups[given["id"]] = _copy(Usergroup, workspace.usergroups.get(given["id"]), given)
    workspace.commands = list(config.get("commands", workspace.commands))
    workspace.unfurl_domains = tuple(config.get("unfurl_domains", workspace.unfurl_domains))
    workspace.suggested_prompts = list(config.get("suggested_prompts", workspace.suggested_prompts))
    workspace.emoji = dict(config.get("emoji", workspace.emoji))
    workspace.shortcuts = list(config.get("shortcuts", workspace.shortcuts))
    workspace.urls = dict(config.get("urls", {}))
    if unknown := workspace.urls.keys() - {"interactivity", "options"}:
        raise ValueError(f"unknown address {min(unknown)!r}; known are interactivity, options")
    workspace.subscriptions = frozenset(config.get("events", workspace.subscriptions))
    workspace.scopes = frozenset(config.get("scopes", workspace.scopes))
    for given in config.get("user_tokens", ()):
        scopes = frozenset(given.get("scopes", USER_SCOPES))
        workspace.user_tokens[given["token"]] = Grant(workspace.users[given["user"]].id, scopes)


def configured_rules(rules: Rules, config: dict[str, Any]) -> Rules:
    """The times and limits with what `rules` in the configuration changes. Raises ValueError."""
    changed: Rules = _copy(Rules, rules, config.get("rules"))
    return changed


def _install(workspace: Workspace, given: dict[str, Any]) -> None:
    """The app in a connected workspace, with a bot user and a token of its own."""
    if given["team"] not in workspace.teams:
        raise ValueError(f"the app is installed in {given['team']}, which is no workspace of `teams`")
    token = given["bot_token"]
    about = {name: value for name, value in given.items() if name != "bot_token"} | {"is_enterprise_install": False}
    bot: Bot = _copy(Bot, workspace.app, about)
    workspace.installations[token] = bot
    workspace.users[bot.user_id] = User(bot.user_id, "frontdesk", bot.name, team=bot.team, is_bot=True)


def _check_team(workspace: Workspace, channel: Channel) -> None:
    """The app is in another workspace only if it is installed there, or for the whole of the home one's org."""
    if channel.team in ("", workspace.team.id, *(bot.team for bot in workspace.installations.values())):
        return
    team = workspace.teams.get(channel.team)
    if team is None or not workspace.team.enterprise_id or team.enterprise_id != workspace.team.enterprise_id:
        raise ValueError(f"channel {channel.id} is in {channel.team}, which is no workspace of the home one's org")
    if not workspace.app.is_enterprise_install:
        raise ValueError(
            f"channel {channel.id} is in {channel.team}, where an app without is_enterprise_install is not"
        )


def _copy(kind: Any, original: Any, changes: dict[str, Any] | None = None) -> Any:
    """A dataclass instance with the fields of `original` (or its defaults) and `changes`."""
    names = {each.name for each in fields(kind)}
    if unknown := (changes or {}).keys() - names:
        raise ValueError(f"unknown field {min(unknown)!r} of {kind.__name__.lower()}")
    kept = {name: getattr(original, name) for name in names} if original is not None else {}
    return kind(**(kept | (changes or {})))
