"""An app that acts in a person's name, by a token that the person granted."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import connected, error_of
from local_slack.workspace import Workspace

TOKEN = "xoxp-agent-a"
READER = "xoxp-reader"
CHANNEL = "C0AGENTS"


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    tokens = [{"token": TOKEN, "user": "U0AGENTA"}, {"token": READER, "user": "U0CUSTOMERA", "scopes": ["users:read"]}]
    async with open_workspace(rate_limits=False, config={"user_tokens": tokens}) as opened:
        yield opened


@pytest.fixture
def agent(workspace: Workspace, http: aiohttp.ClientSession) -> AsyncWebClient:
    return AsyncWebClient(token=TOKEN, base_url=f"{workspace.url}/api/", session=http, retry_handlers=[])


async def test_the_token_is_the_person(agent: AsyncWebClient) -> None:
    who = await agent.auth_test()
    assert (who["user_id"], who["user"]) == ("U0AGENTA", "agent.a")
    assert "bot_id" not in who
    assert "channels:write" in who.headers["x-oauth-scopes"]
    assert (await agent.users_profile_get())["profile"]["real_name"] == "Agent A"


async def test_what_is_posted_is_the_persons_and_tells_the_app(agent: AsyncWebClient, workspace: Workspace) -> None:
    async with connected(workspace) as app:
        ts = (await agent.chat_postMessage(channel=CHANNEL, text="I take this"))["ts"]
        heard = await app.event("message")
    assert (heard["user"], heard["bot_id"]) == ("U0AGENTA", "B0FRONTDESK")
    await agent.chat_update(channel=CHANNEL, ts=ts, text="I take it")
    assert workspace.message(CHANNEL, ts)["edited"]["user"] == "U0AGENTA"
    await agent.reactions_add(channel=CHANNEL, timestamp=ts, name="eyes")
    assert workspace.message(CHANNEL, ts)["reactions"][0]["users"] == ["U0AGENTA"]
    await agent.chat_delete(channel=CHANNEL, ts=ts)


async def test_each_changes_its_own_messages_alone(
    agent: AsyncWebClient, client: AsyncWebClient, workspace: Workspace
) -> None:
    persons = (await agent.chat_postMessage(channel=CHANNEL, text="mine"))["ts"]
    bots = (await client.chat_postMessage(channel=CHANNEL, text="the bot's"))["ts"]
    typed = await workspace.act.send("U0AGENTA", CHANNEL, "typed")
    assert await error_of(client.chat_update(channel=CHANNEL, ts=persons, text="x")) == "cant_update_message"
    assert await error_of(client.chat_delete(channel=CHANNEL, ts=typed)) == "cant_delete_message"
    assert await error_of(agent.chat_update(channel=CHANNEL, ts=bots, text="x")) == "cant_update_message"
    await agent.chat_update(channel=CHANNEL, ts=typed, text="typed again")


async def test_a_person_sees_what_they_are_a_member_of(agent: AsyncWebClient, workspace: Workspace) -> None:
    listed = await agent.conversations_list(types="im,private_channel")
    assert [channel["id"] for channel in listed["channels"]] == [CHANNEL, "D0AGENTA"]
    assert listed["channels"][1]["user"] == "U0FRONTDESK"
    assert await error_of(agent.conversations_history(channel="D0CUSTOMERA")) == "channel_not_found"
    assert (await agent.chat_postMessage(channel="U0FRONTDESK", text="Hello"))["channel"] == "D0AGENTA"
    opened = await agent.conversations_open(users="U0FRONTDESK")
    assert opened["channel"]["id"] == "D0AGENTA"
    assert await error_of(agent.conversations_open(users="U0AGENTB")) == "channel_not_found"
    created = await agent.conversations_create(name="escalations")
    assert created["channel"]["creator"] == "U0AGENTA"
    workspace.channels["C0GENERAL"].members.remove("U0AGENTA")
    await agent.conversations_join(channel="C0GENERAL")
    assert "U0AGENTA" in workspace.channels["C0GENERAL"].members


async def test_a_persons_token_has_scopes_of_its_own(agent: AsyncWebClient) -> None:
    with pytest.raises(SlackApiError) as refused:
        await agent.chat_postMessage(channel="C0SUPPORT", text="x", token=READER)
    answer = refused.value.response
    assert (answer["error"], answer["needed"], answer["provided"]) == ("missing_scope", "chat:write", "users:read")
    assert "email" not in (await agent.users_info(user="U0AGENTA", token=READER))["user"]["profile"]


async def test_streams_and_sessions_are_the_bots_alone(agent: AsyncWebClient, workspace: Workspace) -> None:
    root = await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "Hello?")
    for call in (
        agent.chat_startStream(channel="C0SUPPORT", thread_ts=root),
        agent.assistant_threads_setStatus(channel_id="C0SUPPORT", thread_ts=root, status="is typing"),
        agent.apps_connections_open(app_token=TOKEN),
    ):
        assert await error_of(call) == "not_allowed_token_type"


async def test_files_open_with_a_persons_token(
    agent: AsyncWebClient, workspace: Workspace, http: aiohttp.ClientSession
) -> None:
    uploaded = await agent.files_upload_v2(content="hello", filename="note.txt", channel=CHANNEL)
    file = (await agent.files_info(file=uploaded["file"]["id"]))["file"]
    assert file["user"] == "U0AGENTA"
    async with http.get(file["url_private"], headers={"Authorization": f"Bearer {TOKEN}"}) as response:
        assert await response.read() == b"hello"
