"""Groups of people that are mentioned together, as `@on-call`."""

from dataclasses import replace

from local_slack import timeline
from local_slack.shapes import people_of, usergroup_shape
from local_slack.workspace import Usergroup, Workspace


def change(workspace: Workspace, group: Usergroup, users: list[str], *, by: str) -> None:
    """Put exactly these people into a group."""
    before, previous = people_of(workspace, group), group.updated
    changed = replace(group, users=users, updated=int(workspace.clock.time()), updated_by=by)
    workspace.usergroups[group.id] = changed
    workspace.changed("channel")
    after = people_of(workspace, changed)
    added, removed = [each for each in after if each not in before], [each for each in before if each not in after]
    delta = {
        "type": "subteam_members_changed",
        "subteam_id": group.id,
        "team_id": group.team or workspace.team.id,
        "date_previous_update": previous,
        "date_update": changed.updated,
        "added_users": added,
        "added_users_count": len(added),
        "removed_users": removed,
        "removed_users_count": len(removed),
    }
    whole = {"type": "subteam_updated", "subteam": usergroup_shape(workspace, changed)}
    for event in (delta, whole):
        timeline.emit(workspace, event | {"event_ts": workspace.new_ts()})
