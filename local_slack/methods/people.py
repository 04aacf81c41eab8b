"""auth.*, users.*, dnd.info, team.*, bots.*, emoji.* and apps.*: who is who, and the way to a socket."""

from local_slack.methods.call import Call, Method
from local_slack.shapes import bot_profile, user_shape
from local_slack.workspace import Json, SlackError, User


def api_test(call: Call) -> Json:
    if error := call.text("error"):
        raise SlackError(error, args=call.args)
    return {"args": call.args}


def auth_test(call: Call) -> Json:
    workspace = call.workspace
    bot = {} if call.by_person else {"bot_id": call.bot.bot_id}
    team = workspace.home_of(call.bot)
    enterprise = team.enterprise_id
    return {
        "url": f"{workspace.url}/",
        "team": team.name,
        "user": workspace.user(call.me).name,
        "team_id": team.id,
        "user_id": call.me,
        **bot,
        **({"enterprise_id": enterprise} if enterprise else {}),
        "is_enterprise_install": call.bot.is_enterprise_install,
    }


def connections_open(call: Call) -> Json:
    return {"url": call.workspace.transport.connection_url()}


def authorizations_list(call: Call) -> Json:
    """Every installation that can see an event."""
    found = call.workspace.event_contexts.get(call.required("event_context"))
    if found is None:
        raise SlackError("invalid_event_context")
    page, cursor = call.page(found)
    return {"authorizations": page, "response_metadata": {"next_cursor": cursor}}


def bots_info(call: Call) -> Json:
    home = call.workspace.home_of(call.bot).id
    if call.text("team_id", home) != home:
        raise SlackError("team_not_found")
    asked = call.text("bot", call.bot.bot_id)
    bot = next((each for each in call.workspace.bots if each.bot_id == asked), None)
    if bot is None:
        raise SlackError("bot_not_found")
    return {"bot": {name: value for name, value in bot_profile(call.workspace, bot).items() if name != "team_id"}}


def team_info(call: Call) -> Json:
    home, asked = call.workspace.home_of(call.bot), call.text("team")
    known = {call.workspace.team.id: call.workspace.team, "": home} | call.workspace.teams
    if (team := known.get(asked)) is None:
        raise SlackError("team_not_found")
    enterprise = {"enterprise_id": team.enterprise_id, "enterprise_name": team.enterprise_name}
    address = {"url": f"{call.workspace.url}/", "domain": team.domain, "email_domain": ""}
    icon = {"image_default": True}
    return {
        "team": {"id": team.id, "name": team.name, "is_verified": False, "icon": icon, **address}
        | (enterprise if team.enterprise_id else {})
    }


def users_info(call: Call) -> Json:
    user = call.workspace.user(call.required("user"))
    return {"user": _shape(call, user)}


def users_list(call: Call) -> Json:
    page, cursor = call.page([_shape(call, user) for user in call.workspace.users.values()])
    members = {"members": page, "cache_ts": int(call.workspace.clock.time())}
    return members | {"response_metadata": {"next_cursor": cursor}}


def profile_get(call: Call) -> Json:
    """Of the caller if nobody is named."""
    user = call.workspace.user(call.text("user", call.me))
    return {"profile": _shape(call, user)["profile"] | {"fields": {}}}


def get_presence(call: Call) -> Json:
    """People are there unless they are set away; the app is there while it is connected."""
    user = call.workspace.user(call.text("user", call.me))
    is_there = user.id not in {bot.user_id for bot in call.workspace.bots} or call.workspace.online > 0
    return {"presence": "active" if is_there and not (user.deleted or user.is_away) else "away"}


def dnd_info(call: Call) -> Json:
    """When a person's notifications are paused next. Only they see what they have snoozed by hand."""
    user = call.workspace.user(call.text("user", call.me))
    begins, ends = user.paused or (1, 1)
    own = {"snooze_enabled": False} if user.id == call.me else {}
    return {"dnd_enabled": user.paused is not None, "next_dnd_start_ts": begins, "next_dnd_end_ts": ends, **own}


def emoji_list(call: Call) -> Json:
    """The workspace's own ones; an alias is `alias:NAME`."""
    return {"emoji": call.workspace.emoji, "cache_ts": f"{call.workspace.clock.time():.6f}"}


def lookup_by_email(call: Call) -> Json:
    email = call.required("email").lower()
    for user in call.workspace.users.values():
        if user.email.lower() == email and not (call.workspace.is_outside(user, call.bot) or user.deleted):
            return {"user": _shape(call, user)}
    raise SlackError("users_not_found")


METHODS = {
    "api.test": Method(api_test, tier=5, caller="anyone"),
    "auth.test": Method(auth_test, tier=5),
    "apps.connections.open": Method(connections_open, tier=4, caller="app"),
    "apps.event.authorizations.list": Method(authorizations_list, tier=4, caller="app"),
    "dnd.info": Method(dnd_info, scope="dnd:read", tier=3),
    "bots.info": Method(bots_info, scope="users:read", tier=3),
    "team.info": Method(team_info, scope="team:read", tier=3),
    "emoji.list": Method(emoji_list, scope="emoji:read", tier=2),
    "users.profile.get": Method(profile_get, scope="users.profile:read", tier=4),
    "users.getPresence": Method(get_presence, scope="users:read", tier=3),
    "users.info": Method(users_info, scope="users:read", tier=4),
    "users.list": Method(users_list, scope="users:read", tier=2),
    "users.lookupByEmail": Method(lookup_by_email, scope="users:read.email", tier=3),
}


def _shape(call: Call, user: User) -> Json:
    shape = user_shape(call.workspace, user, call.bot, include_locale=call.flag("include_locale"))
    if "users:read.email" not in call.scopes:
        shape["profile"].pop("email", None)
    return shape
