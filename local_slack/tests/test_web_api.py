"""The Web API as slack_sdk sees it: arguments, tokens, scopes, answers."""

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import error_of
from local_slack.workspace import Workspace


async def test_auth_test_tells_who_the_app_is(client: AsyncWebClient) -> None:
    answer = await client.auth_test()
    assert (answer["team_id"], answer["user_id"], answer["bot_id"]) == ("T0FRONTDESK", "U0FRONTDESK", "B0FRONTDESK")
    assert "chat:write" in answer.headers["x-oauth-scopes"]


async def test_arguments_come_as_query_form_multipart_and_json(
    workspace: Workspace, http: aiohttp.ClientSession
) -> None:
    url = f"{workspace.url}/api/users.info"
    token = {"Authorization": f"Bearer {workspace.bot_token}"}
    asked = {"user": "U0CUSTOMERB", "include_locale": "true"}
    multipart = aiohttp.FormData(default_to_multipart=True)
    for name, value in asked.items():
        multipart.add_field(name, value)
    for call in (
        http.get(url, params=asked, headers=token),
        http.post(url, params=asked, headers=token),
        http.post(url, data=asked | {"token": workspace.bot_token}),
        http.post(url, data=multipart, headers=token),
        http.post(url, json=asked, headers=token),
    ):
        async with call as response:
            assert (await response.json())["user"]["locale"] == "id-ID"


@pytest.mark.parametrize(("token", "error"), [("", "not_authed"), ("xoxb-wrong", "invalid_auth")])
async def test_a_missing_and_a_wrong_token_are_told_apart(workspace: Workspace, token: str, error: str) -> None:
    client = AsyncWebClient(token=token, base_url=f"{workspace.url}/api/")
    assert await error_of(client.auth_test()) == error


async def test_the_app_token_opens_sockets_and_nothing_else(workspace: Workspace, client: AsyncWebClient) -> None:
    assert await error_of(client.auth_test(token=workspace.app_token)) == "not_allowed_token_type"
    assert await error_of(client.apps_connections_open(app_token=workspace.bot_token)) == "not_allowed_token_type"


async def test_an_unknown_method_is_named(client: AsyncWebClient) -> None:
    with pytest.raises(SlackApiError) as refused:
        await client.api_call("chat.sing")
    assert refused.value.response["req_method"] == "chat.sing"


async def test_a_missing_scope_says_what_is_needed() -> None:
    async with open_workspace(config={"scopes": ["users:read"]}) as workspace:
        client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/")
        with pytest.raises(SlackApiError) as refused:
            await client.chat_postMessage(channel="C0SUPPORT", text="hello")
        assert refused.value.response["needed"] == "chat:write"
        assert "email" not in (await client.users_info(user="U0CUSTOMERA"))["user"]["profile"]


async def test_people_carry_what_identity_rests_on(client: AsyncWebClient) -> None:
    users = {user["id"]: user for user in (await client.users_list())["members"]}
    assert users["U0CUSTOMERA"]["profile"]["email"] == "customer.a@example.com"
    assert users["U0GUEST"]["is_restricted"]
    assert (users["U0STRANGER"]["team_id"], users["U0STRANGER"]["is_stranger"]) == ("T0PARTNER", False)
    assert users["U0STRANGER"]["team_id"] == "T0PARTNER"
    assert "email" not in users["U0STRANGER"]["profile"]
    found = await client.users_lookupByEmail(email="agent.a@example.com")
    assert found["user"]["id"] == "U0AGENTA"
    assert await error_of(client.users_lookupByEmail(email="nobody@example.com")) == "users_not_found"
    assert await error_of(client.users_info(user="U0NOBODY")) == "user_not_found"


async def test_channels_are_listed_by_type_and_page(client: AsyncWebClient) -> None:
    first = await client.conversations_list(types="public_channel,private_channel", limit=2)
    names = [channel["name"] async for page in first for channel in page["channels"]]
    assert names == ["support", "general", "agents"]
    assert (await client.conversations_info(channel="C0GENERAL"))["channel"]["is_member"]
    assert (await client.conversations_info(channel="D0CUSTOMERA"))["channel"]["user"] == "U0CUSTOMERA"
    assert "U0AGENTA" in (await client.conversations_members(channel="C0AGENTS"))["members"]


async def test_the_app_is_told_why_it_may_not_write(workspace: Workspace, client: AsyncWebClient) -> None:
    workspace.channels["C0GENERAL"].members.remove("U0FRONTDESK")
    workspace.channels["C0AGENTS"].members.remove("U0FRONTDESK")
    workspace.channels["C0SUPPORT"].is_archived = True
    assert await error_of(client.chat_postMessage(channel="C0GENERAL", text="x")) == "not_in_channel"
    assert await error_of(client.chat_postMessage(channel="C0AGENTS", text="x")) == "channel_not_found"
    assert await error_of(client.chat_postMessage(channel="C0SUPPORT", text="x")) == "is_archived"
    assert await error_of(client.chat_postMessage(channel="C0NONE", text="x")) == "channel_not_found"
    await client.conversations_join(channel="C0GENERAL")
    await client.chat_postMessage(channel="C0GENERAL", text="x")


async def test_a_direct_message_is_opened_once(client: AsyncWebClient) -> None:
    assert (await client.conversations_open(users="U0AGENTB"))["channel"]["id"] == "D0AGENTB"
    assert await error_of(client.conversations_open(users="U0FRONTDESK")) == "cannot_dm_bot"


async def test_the_rate_limit_is_a_429_with_whole_seconds(http: aiohttp.ClientSession) -> None:
    async with open_workspace() as workspace:
        headers = {"Authorization": f"Bearer {workspace.bot_token}"}
        for _ in range(20):
            async with http.get(f"{workspace.url}/api/users.list", headers=headers) as response:
                assert response.status == 200
        async with http.get(f"{workspace.url}/api/users.list", headers=headers) as response:
            assert response.status == 429
            assert int(response.headers["Retry-After"]) in (2, 3)
            assert (await response.json())["error"] == "ratelimited"


async def test_posts_to_one_channel_are_limited_and_others_are_not() -> None:
    async with open_workspace() as workspace:
        client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/")
        for number in range(30):
            await client.chat_postMessage(channel="C0SUPPORT", text=str(number))
        assert await error_of(client.chat_postMessage(channel="C0SUPPORT", text="more")) == "ratelimited"
        await client.chat_postMessage(channel="C0GENERAL", text="more")


async def test_a_file_is_uploaded_shared_and_read_back(
    workspace: Workspace, client: AsyncWebClient, http: aiohttp.ClientSession
) -> None:
    answer = await client.files_upload_v2(content="hello", filename="note.txt", channel="C0SUPPORT")
    file = await client.files_info(file=answer["file"]["id"])
    headers = {"Authorization": f"Bearer {workspace.bot_token}"}
    async with http.get(file["file"]["url_private"], headers=headers) as response:
        assert await response.read() == b"hello"
    (message,) = workspace.messages["C0SUPPORT"].values()
    assert message["subtype"] == "file_share"
