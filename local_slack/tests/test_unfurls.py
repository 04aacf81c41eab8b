"""What an app shows under links, the workspace's emoji, profiles, and files that are deleted."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import connected, error_of
from local_slack.workspace import Workspace

CHANNEL = "C0SUPPORT"
LINK = "https://shop.example.com/orders?id=1001&view=1"


@pytest.fixture
async def ts(workspace: Workspace) -> str:
    return await workspace.act.send("U0CUSTOMERA", CHANNEL, f"Look: {LINK} and https://other.example.com")


async def test_a_link_is_unfurled_and_unfurled_anew(client: AsyncWebClient, workspace: Workspace, ts: str) -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "Order 1001"}}
    async with connected(workspace) as app:
        await client.chat_unfurl(channel=CHANNEL, ts=ts, unfurls={LINK: {"blocks": [section]}})
        changed = await app.event("message.message_changed")
    (attachment,) = changed["message"]["attachments"]
    assert (attachment["from_url"], attachment["is_app_unfurl"], attachment["id"]) == (LINK, True, 1)
    assert attachment["blocks"][0]["block_id"]
    unfurls = {LINK: {"text": "Sent"}, "https://other.example.com": {"text": "Other"}}
    await client.chat_unfurl(channel=CHANNEL, ts=ts, unfurls=unfurls)
    assert [each["text"] for each in workspace.message(CHANNEL, ts)["attachments"]] == ["Sent", "Other"]


async def test_an_unfurl_is_refused_in_slacks_words(client: AsyncWebClient, ts: str) -> None:
    table: list[tuple[dict[str, object], str]] = [
        ({"channel": "C0NONE"}, "cannot_find_channel"),
        ({"ts": "1.000001"}, "cannot_find_message"),
        ({"channel": ""}, "missing_channel"),
        ({"ts": ""}, "missing_ts"),
        ({"unfurls": None}, "missing_unfurls"),
        ({"unfurls": "{"}, "invalid_unfurls_format"),
        ({"unfurls": [LINK]}, "invalid_unfurls_format"),
        ({"unfurls": {LINK: {"blocks": [{"type": "mystery"}]}}}, "cannot_parse_attachment"),
        ({"unfurls": {LINK: "x"}}, "cannot_parse_attachment"),
        ({"unfurls": {"https://elsewhere.example.com": {"text": "x"}}}, "cannot_unfurl_url"),
        ({"unfurl_id": "1"}, "missing_source"),
        ({"source": "composer"}, "missing_unfurl_id"),
        ({"unfurl_id": "1", "source": "email"}, "invalid_source"),
        ({"unfurl_id": "1", "source": "composer"}, "invalid_unfurl_id"),
    ]
    misses = []
    for arguments, error in table:
        whole = {"channel": CHANNEL, "ts": ts, "unfurls": {LINK: {"text": "x"}}}
        if await error_of(client.api_call("chat.unfurl", json=whole | arguments)) != error:
            misses.append((arguments, error))
    assert misses == []


async def test_the_workspaces_own_emoji_are_listed() -> None:
    emoji = {"parcel": "https://example.com/parcel.png", "box": "alias:parcel"}
    async with open_workspace(config={"emoji": emoji}) as workspace:
        client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/")
        assert (await client.emoji_list())["emoji"] == emoji


async def test_a_profile_is_read_by_itself(client: AsyncWebClient) -> None:
    profile = (await client.users_profile_get(user="U0CUSTOMERA"))["profile"]
    assert (profile["email"], profile["fields"]) == ("customer.a@example.com", {})
    assert (await client.users_profile_get())["profile"]["real_name"] == "Frontdesk"
    assert "email" not in (await client.users_profile_get(user="U0STRANGER"))["profile"]
    assert await error_of(client.users_profile_get(user="U0NOBODY")) == "user_not_found"


async def test_bots_and_teams_that_are_not_here_are_not_found(client: AsyncWebClient) -> None:
    assert (await client.bots_info(bot="B0FRONTDESK"))["bot"]["app_id"] == "A0FRONTDESK"
    assert await error_of(client.bots_info(bot="B0OTHER")) == "bot_not_found"
    assert (await client.team_info())["team"]["domain"] == "frontdesk-local"
    assert await error_of(client.team_info(team="T0OTHER")) == "team_not_found"


async def test_api_test_gives_back_what_it_was_given(workspace: Workspace) -> None:
    nobody = AsyncWebClient(base_url=f"{workspace.url}/api/")
    assert (await nobody.api_test(foo="bar"))["args"] == {"foo": "bar"}
    assert await error_of(nobody.api_test(error="my_error")) == "my_error"


async def test_the_app_hears_of_links_to_its_domains_and_unfurls_them_by_id() -> None:
    async with open_workspace(config={"unfurl_domains": ["example.com"]}) as workspace:
        client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/")
        async with connected(workspace) as app:
            ts = await workspace.act.send("U0CUSTOMERA", CHANNEL, f"{LINK} and https://elsewhere.org/x")
            told = await app.event("link_shared")
        assert told["links"] == [{"domain": "example.com", "url": LINK}]
        assert (told["channel"], told["message_ts"], told["is_bot_user_member"]) == (CHANNEL, ts, True)
        by_id = {"unfurl_id": told["unfurl_id"], "source": told["source"]}
        await client.chat_unfurl(**by_id, unfurls={LINK: {"text": "Order 1001"}})
        assert workspace.message(CHANNEL, ts)["attachments"][0]["text"] == "Order 1001"
        foreign = client.chat_unfurl(channel=CHANNEL, ts=ts, unfurls={"https://elsewhere.org/x": {"text": "x"}})
        assert await error_of(foreign) == "cannot_unfurl_url"


async def test_the_app_does_not_hear_of_its_own_links() -> None:
    async with open_workspace(config={"unfurl_domains": ["example.com"]}) as workspace:
        client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/")
        async with connected(workspace) as app:
            await client.chat_postMessage(channel=CHANNEL, text=f"<{LINK}>")
            await workspace.act.send("U0CUSTOMERA", "C0GENERAL", LINK)
            assert (await app.event("link_shared"))["channel"] == "C0GENERAL"
