"""usergroups.*: the groups by which people are mentioned together, and who is in them."""

from local_slack.methods.call import Call, Method
from local_slack.shapes import people_of, usergroup_shape
from local_slack.workspace import Json, SlackError, Usergroup


def list_(call: Call) -> Json:
    """Those of one workspace, which the token of a whole org has to name."""
    home = call.workspace.home_of(call.bot).id
    team = call.text("team_id")
    if not team and call.bot.is_enterprise_install:
        raise SlackError("missing_argument")
    if team not in ("", home, *call.workspace.teams):
        raise SlackError("invalid_team")
    groups = [
        group
        for group in call.workspace.usergroups.values()
        if (group.team or call.workspace.team.id) == (team or home) and _is_wanted(call, group)
    ]
    return {"usergroups": [_shape(call, group) for group in groups]}


def list_users(call: Call) -> Json:
    group = call.workspace.usergroups.get(call.required("usergroup"))
    if group is None or not _is_wanted(call, group):
        raise SlackError("no_such_subteam")
    return {"users": people_of(call.workspace, group)}


METHODS = {
    "usergroups.list": Method(list_, scope="usergroups:read", tier=2),
    "usergroups.users.list": Method(list_users, scope="usergroups:read", tier=2),
}


def _is_wanted(call: Call, group: Usergroup) -> bool:
    return not group.is_disabled or call.flag("include_disabled")


def _shape(call: Call, group: Usergroup) -> Json:
    shape = usergroup_shape(call.workspace, group)
    left_out = {name for name in ("users", "user_count") if not call.flag(f"include_{name.removeprefix('user_')}")}
    return {name: value for name, value in shape.items() if name not in left_out}
