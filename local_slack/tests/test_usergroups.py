"""Groups of people: listed, changed, and mentioned."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.page.compose import to_mrkdwn, to_typed
from local_slack.server import build_workspace, open_workspace
from local_slack.tests.apps import SocketApp, acts, error_of
from local_slack.workspace import Workspace

OFF = {"id": "S0OLD", "handle": "night-shift", "name": "Night shift", "is_disabled": True}


async def test_the_groups_are_listed_with_as_much_as_was_asked_for(client: AsyncWebClient) -> None:
    (group,) = (await client.usergroups_list())["usergroups"]
    assert (group["id"], group["handle"], group["team_id"]) == ("S0ONCALL", "on-call", "T0FRONTDESK")
    assert not group.keys() & {"users", "user_count"}
    (group,) = (await client.usergroups_list(include_users=True, include_count=True))["usergroups"]
    assert (group["users"], group["user_count"]) == (["U0AGENTA"], 1)
    assert (await client.usergroups_users_list(usergroup="S0ONCALL"))["users"] == ["U0AGENTA"]
    assert await error_of(client.usergroups_users_list(usergroup="S0NONE")) == "no_such_subteam"
    assert await error_of(client.usergroups_list(team_id="T0NONE")) == "invalid_team"


async def test_a_disabled_group_is_shown_to_who_asks_for_it() -> None:
    async with open_workspace(config={"usergroups": [OFF]}) as workspace:
        client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/")
        assert [group["id"] for group in (await client.usergroups_list())["usergroups"]] == ["S0ONCALL"]
        assert await error_of(client.usergroups_users_list(usergroup="S0OLD")) == "no_such_subteam"
        _, old = (await client.usergroups_list(include_disabled=True))["usergroups"]
        assert (old["id"], old["date_delete"] > 0) == ("S0OLD", True)
        assert (await client.usergroups_users_list(usergroup="S0OLD", include_disabled=True))["users"] == []


async def test_it_takes_a_scope_and_for_an_org_the_workspace() -> None:
    config = {"scopes": ["users:read"]}
    async with open_workspace(config=config) as workspace:
        client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/")
        assert await error_of(client.usergroups_list()) == "missing_scope"
    async with open_workspace(config={"app": {"is_enterprise_install": True}}) as workspace:
        client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/")
        assert await error_of(client.usergroups_list()) == "missing_argument"
        assert (await client.usergroups_list(team_id="T0FRONTDESK"))["usergroups"]
        assert (await client.usergroups_list(team_id="T0PARTNER"))["usergroups"] == []


async def test_a_change_of_its_people_is_told(workspace: Workspace, client: AsyncWebClient, app: SocketApp) -> None:
    given = {"user": "U0AGENTA", "usergroup": "S0ONCALL", "users": "U0AGENTB, U0CUSTOMERB"}
    await acts(workspace, "change_usergroup", **given)
    delta = await app.event("subteam_members_changed")
    assert (delta["added_users"], delta["removed_users"]) == (["U0AGENTB", "U0CUSTOMERB"], ["U0AGENTA"])
    assert delta["date_previous_update"] < delta["date_update"]
    assert (await app.event("subteam_updated"))["subteam"]["user_count"] == 2
    await acts(workspace, "deactivate", user="U0CUSTOMERB")
    assert (await client.usergroups_users_list(usergroup="S0ONCALL"))["users"] == ["U0AGENTB"]


@pytest.mark.parametrize(
    ("given", "error"), [({"usergroup": "S0NONE"}, "no_such_subteam"), ({"users": "U0NONE"}, "user_not_found")]
)
async def test_what_is_not_there_is_in_no_group(workspace: Workspace, given: dict[str, str], error: str) -> None:
    asked = {"user": "U0AGENTA", "usergroup": "S0ONCALL", "users": ""} | given
    assert (await acts(workspace, "change_usergroup", **asked))["error"] == error


async def test_a_mention_is_told_by_id(workspace: Workspace, app: SocketApp) -> None:
    await acts(workspace, "send", user="U0AGENTA", channel="C0AGENTS", text="<!subteam^S0ONCALL> please")
    message = await app.event("message")
    assert message["text"] == "<!subteam^S0ONCALL> please"
    assert message["blocks"][0]["elements"][0]["elements"][0] == {"type": "usergroup", "usergroup_id": "S0ONCALL"}


def test_a_mention_is_typed_by_its_handle() -> None:
    workspace, _ = build_workspace()
    assert to_mrkdwn("@on-call, look", workspace) == "<!subteam^S0ONCALL>, look"
    assert to_typed("<!subteam^S0ONCALL>, look", workspace) == "@on-call, look"
