"""Two workspaces joined by Slack Connect alone, with the app installed in both: one app, two bots, two tokens."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.__main__ import read_config
from local_slack.server import addresses, build_workspace, open_workspace
from local_slack.tests.apps import SocketApp, acts, error_of
from local_slack.tests.test_interactivity import acknowledged
from local_slack.workspace import Workspace

CONNECT = Path(__file__).parents[1] / "connect.yml"
SHARED = "C0SHARED"
THEIRS = "C0THEIRS"


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    async with open_workspace(rate_limits=False, config=read_config(CONNECT)) as opened:
        yield opened


@pytest.fixture
def partner(workspace: Workspace, http: aiohttp.ClientSession) -> AsyncWebClient:
    """A client with the token of the other installation."""
    token = addresses(workspace)["installations"]["T0PARTNER"]
    return AsyncWebClient(token=token, base_url=f"{workspace.url}/api/", session=http, retry_handlers=[])


async def told(app: SocketApp) -> dict[str, Any]:
    """The payload of the next event."""
    frame = await app.frame()
    await app.ack(frame)
    payload: dict[str, Any] = frame["payload"]
    return payload


async def test_each_token_is_a_bot_of_its_own(client: AsyncWebClient, partner: AsyncWebClient) -> None:
    home, other = await client.auth_test(), await partner.auth_test()
    assert (home["team_id"], home["user_id"], home["bot_id"]) == ("T0FRONTDESK", "U0FRONTDESK", "B0FRONTDESK")
    assert (other["team_id"], other["user_id"], other["bot_id"]) == ("T0PARTNER", "U0PARTNERBOT", "B0PARTNERBOT")
    assert "enterprise_id" not in other
    assert (await partner.team_info())["team"]["name"] == "Partner"
    assert (await partner.bots_info(bot="B0FRONTDESK"))["bot"]["user_id"] == "U0FRONTDESK"


async def test_what_both_can_see_is_told_once_by_the_one_that_came_last(
    workspace: Workspace, app: SocketApp, http: aiohttp.ClientSession
) -> None:
    await workspace.act.send("U0CUSTOMERA", SHARED, "for both")
    await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "for one")
    both, one = await told(app), await told(app)
    assert (both["event"]["text"], both["is_ext_shared_channel"]) == ("for both", True)
    assert both["team_id"] == both["context_team_id"] == "T0PARTNER"
    (authorization,) = both["authorizations"]
    assert (authorization["team_id"], authorization["user_id"]) == ("T0PARTNER", "U0PARTNERBOT")
    assert (both["event"]["team"], both["event"]["user_team"]) == ("T0FRONTDESK", "T0FRONTDESK")
    assert (one["event"]["text"], one["authorizations"][0]["user_id"]) == ("for one", "U0FRONTDESK")
    asking = AsyncWebClient(token=workspace.app_token, base_url=f"{workspace.url}/api/", session=http)
    listed = await asking.apps_event_authorizations_list(event_context=both["event_context"])
    assert [each["user_id"] for each in listed["authorizations"]] == ["U0PARTNERBOT", "U0FRONTDESK"]
    assert await error_of(asking.apps_event_authorizations_list(event_context="4-x")) == "invalid_event_context"
    await acts(workspace, "kick", user="U0AGENTA", channel=SHARED, kicked="U0PARTNERBOT")
    await acts(workspace, "send", user="U0STRANGER", channel=SHARED, text="for the other")
    while (event := await told(app))["event"].get("text") != "for the other":
        pass
    assert event["authorizations"][0]["user_id"] == "U0FRONTDESK"


async def test_each_sees_what_is_in_its_own_workspace(
    workspace: Workspace, client: AsyncWebClient, partner: AsyncWebClient
) -> None:
    def names(answer: Any) -> set[str]:
        return {channel["name"] for channel in answer["channels"]}

    assert names(await client.conversations_list()) == {"support", "general", "with-partner"}
    assert names(await partner.conversations_list()) == {"support", "with-partner", "partners-own"}
    assert await error_of(client.conversations_info(channel=THEIRS)) == "channel_not_found"
    assert await error_of(partner.conversations_history(channel="C0GENERAL")) == "channel_not_found"
    assert await error_of(partner.chat_postMessage(channel="C0SUPPORT", text="x")) == "not_in_channel"
    shared = (await partner.conversations_info(channel=SHARED))["channel"]
    assert (shared["context_team_id"], shared["conversation_host_id"]) == ("T0PARTNER", "T0FRONTDESK")
    assert set(shared["shared_team_ids"]) == {"T0FRONTDESK", "T0PARTNER"}
    assert shared["connected_team_ids"] == ["T0FRONTDESK"]
    await workspace.act.send("U0COLLEAGUE", THEIRS, "among us")
    (message,) = (await partner.conversations_history(channel=THEIRS))["messages"]
    assert "user_team" not in message


async def test_people_of_the_other_side_are_known_without_their_address(
    client: AsyncWebClient, partner: AsyncWebClient
) -> None:
    async def seen(by: AsyncWebClient, user: str) -> tuple[bool, bool]:
        known = (await by.users_info(user=user))["user"]
        return "email" in known["profile"], known["is_stranger"]

    assert await seen(client, "U0COLLEAGUE") == (False, True)
    assert await seen(partner, "U0COLLEAGUE") == (True, False)
    assert await seen(partner, "U0CUSTOMERA") == (False, False)
    assert await seen(partner, "U0CUSTOMERB") == (False, True)
    assert await error_of(partner.users_lookupByEmail(email="customer.a@example.com")) == "users_not_found"
    assert (await partner.users_lookupByEmail(email="colleague.g@example.net"))["user"]["id"] == "U0COLLEAGUE"


async def test_each_writes_as_itself_and_changes_its_own_alone(
    workspace: Workspace, client: AsyncWebClient, partner: AsyncWebClient, app: SocketApp
) -> None:
    ts = (await partner.chat_postMessage(channel=SHARED, text="<@U0FRONTDESK> hello"))["ts"]
    event = await app.event("message")
    assert (event["user"], event["bot_id"], event["team"]) == ("U0PARTNERBOT", "B0PARTNERBOT", "T0PARTNER")
    assert event["bot_profile"]["team_id"] == "T0PARTNER"
    assert await error_of(client.chat_update(channel=SHARED, ts=ts, text="x")) == "cant_update_message"
    await partner.chat_update(channel=SHARED, ts=ts, text="good morning")
    assert await error_of(client.chat_delete(channel=SHARED, ts=ts)) == "cant_delete_message"
    await partner.chat_delete(channel=SHARED, ts=ts)
    await workspace.act.send("U0CUSTOMERA", SHARED, "<@U0PARTNERBOT> and you?")
    assert (await app.event("app_mention"))["text"] == "<@U0PARTNERBOT> and you?"


async def test_people_meet_the_app_of_their_own_workspace(
    workspace: Workspace, partner: AsyncWebClient, app: SocketApp
) -> None:
    await workspace.act.open_home("U0COLLEAGUE")
    await app.event("im_created")
    opened = await app.event("app_home_opened")
    assert set(workspace.channels[opened["channel"]].members) == {"U0COLLEAGUE", "U0PARTNERBOT"}
    posted = await partner.chat_postMessage(channel="U0COLLEAGUE", text="welcome")
    assert posted["channel"] == opened["channel"]
    view = (await partner.views_publish(user_id="U0COLLEAGUE", view={"type": "home", "blocks": []}))["view"]
    assert (view["app_installed_team_id"], view["bot_id"]) == ("T0PARTNER", "B0PARTNERBOT")


async def test_interactions_name_the_installation_they_are_for(
    workspace: Workspace, client: AsyncWebClient, partner: AsyncWebClient, deaf: SocketApp
) -> None:
    button = {"type": "button", "text": {"type": "plain_text", "text": "Go"}, "action_id": "go"}
    card = [{"type": "actions", "elements": [button]}]
    teams = []
    for by in (client, partner):
        ts = (await by.chat_postMessage(channel=SHARED, text="x", blocks=card))["ts"]
        payload, _ = await acknowledged(workspace.act.click("U0STRANGER", SHARED, ts, "go"), deaf)
        teams.append((payload["team"]["id"], payload["user"]["team_id"]))
    assert teams == [("T0FRONTDESK", "T0PARTNER"), ("T0PARTNER", "T0PARTNER")]
    for user, team in (("U0CUSTOMERA", "T0FRONTDESK"), ("U0STRANGER", "T0PARTNER")):
        command, _ = await acknowledged(
            workspace.act.command(user, SHARED, "/kb status"), deaf, {"text": f"for {team}"}
        )
        assert command["team_id"] == team
        shortcut, _ = await acknowledged(workspace.act.global_shortcut(user, "ask"), deaf)
        assert shortcut["team"]["id"] == team
    assert [each["bot_id"] for each in workspace.ephemerals] == ["B0FRONTDESK", "B0PARTNERBOT"]


async def test_a_modal_stays_with_the_installation_that_opened_it(
    workspace: Workspace, partner: AsyncWebClient, deaf: SocketApp
) -> None:
    asked, _ = await acknowledged(workspace.act.global_shortcut("U0STRANGER", "ask"), deaf)
    modal = {"type": "modal", "title": {"type": "plain_text", "text": "Ask"}, "blocks": []}
    view = (await partner.views_open(trigger_id=asked["trigger_id"], view=modal))["view"]
    changed = (await partner.views_update(view_id=view["id"], view=modal))["view"]
    assert changed["app_installed_team_id"] == "T0PARTNER"
    submitted, _ = await acknowledged(workspace.act.submit_view("U0STRANGER", view["id"]), deaf)
    assert (submitted["team"]["id"], submitted["view"]["bot_id"]) == ("T0PARTNER", "B0PARTNERBOT")


async def test_files_open_with_the_token_of_an_installation_that_sees_them(
    workspace: Workspace, partner: AsyncWebClient, http: aiohttp.ClientSession
) -> None:
    for channel, status in ((SHARED, 200), ("C0SUPPORT", 200), ("D0CUSTOMERA", 404)):
        await acts(workspace, "upload", user="U0CUSTOMERA", channel=channel, name="a.txt", content="x")
        url = list(workspace.files.values())[-1]["url_private"]
        async with http.get(url, headers={"Authorization": f"Bearer {partner.token}"}) as response:
            assert response.status == status, channel


def test_a_channel_has_known_members_alone() -> None:
    with pytest.raises(ValueError, match="C0X has the member U0NOBODY"):
        build_workspace(config={"channels": [{"id": "C0X", "name": "x", "members": ["U0AGENTA", "U0NOBODY"]}]})


def test_the_app_is_installed_in_known_workspaces_alone() -> None:
    given = {"team": "T0NOWHERE", "bot_token": "xoxb-1", "user_id": "U0X", "bot_id": "B0X"}
    with pytest.raises(ValueError, match="installed in T0NOWHERE"):
        build_workspace(config={"installations": [given]})


async def test_each_installation_has_limits_of_its_own(http: aiohttp.ClientSession) -> None:
    async with open_workspace(config=read_config(CONNECT)) as workspace:
        limited = []
        for token in (workspace.bot_token, "xoxb-partner"):
            client = AsyncWebClient(token=token, base_url=f"{workspace.url}/api/", session=http)
            for _ in range(20):
                await client.users_list()
            limited.append(await error_of(client.users_list()))
        assert limited == ["ratelimited", "ratelimited"]
