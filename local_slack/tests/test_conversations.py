"""Channels and conversations of several people: made, opened, joined, read and archived by the app."""

from collections.abc import AsyncIterator

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import connected, error_of
from local_slack.workspace import Workspace

BOT = "U0FRONTDESK"


@pytest.fixture
async def poor() -> AsyncIterator[AsyncWebClient]:
    """A client whose token reads public channels and nothing else."""
    async with open_workspace(config={"scopes": ["channels:read"]}) as workspace:
        yield AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/", retry_handlers=[])


async def test_a_created_channel_is_the_apps_own(client: AsyncWebClient, workspace: Workspace) -> None:
    async with connected(workspace) as app:
        channel = (await client.conversations_create(name="returns-2026"))["channel"]
        told = await app.event("channel_created")
        joined = await app.event("member_joined_channel")
    assert (channel["name"], channel["creator"], channel["is_member"]) == ("returns-2026", BOT, True)
    assert told["channel"]["id"] == joined["channel"] == channel["id"]
    await client.chat_postMessage(channel=channel["id"], text="Welcome")
    secret = (await client.conversations_create(name="inner", is_private=True))["channel"]
    assert secret["is_private"]
    assert not secret["is_channel"]


async def test_a_channel_name_is_refused_in_slacks_words(client: AsyncWebClient) -> None:
    table = [
        ("", "invalid_name_required"),
        ("x" * 81, "invalid_name_maxlength"),
        ("--__", "invalid_name_punctuation"),
        ("Returns", "invalid_name_specials"),
        ("re turns", "invalid_name_specials"),
        ("support", "name_taken"),
    ]
    misses = []
    for name, error in table:
        if await error_of(client.conversations_create(name=name)) != error:
            misses.append((name, error))
    assert misses == []


async def test_invited_people_join_and_the_app_hears_who_asked_them(
    client: AsyncWebClient, workspace: Workspace
) -> None:
    async with connected(workspace) as app:
        answer = await client.conversations_invite(channel="C0AGENTS", users="U0CUSTOMERA, U0CUSTOMERB")
        joined = await app.event("member_joined_channel")
    assert answer["channel"]["num_members"] == 5
    assert (joined["user"], joined["inviter"]) == ("U0CUSTOMERA", BOT)


async def test_an_invitation_is_for_all_or_nobody_unless_it_is_forced(
    client: AsyncWebClient, workspace: Workspace
) -> None:
    users = f"U0CUSTOMERA,{BOT},U0NOBODY,U0AGENTA"
    with pytest.raises(SlackApiError) as refused:
        await client.conversations_invite(channel="C0AGENTS", users=users)
    faults = [(each["user"], each["error"]) for each in refused.value.response["errors"]]
    assert faults == [(BOT, "cant_invite_self"), ("U0NOBODY", "user_not_found"), ("U0AGENTA", "already_in_channel")]
    assert "U0CUSTOMERA" not in workspace.channels["C0AGENTS"].members
    await client.conversations_invite(channel="C0AGENTS", users=users, force=True)
    assert "U0CUSTOMERA" in workspace.channels["C0AGENTS"].members
    assert await error_of(client.conversations_invite(channel="C0AGENTS", users="")) == "no_user"
    in_person = client.conversations_invite(channel="D0AGENTA", users="U0AGENTB")
    assert await error_of(in_person) == "method_not_supported_for_channel_type"


async def test_an_archived_channel_can_be_read_and_nothing_else(client: AsyncWebClient, workspace: Workspace) -> None:
    async with connected(workspace) as app:
        await client.conversations_archive(channel="C0SUPPORT")
        assert (await app.event("message.channel_archive"))["user"] == BOT
        assert (await app.event("channel_archive"))["channel"] == "C0SUPPORT"
    ts = (await client.conversations_history(channel="C0SUPPORT"))["messages"][0]["ts"]
    for write in (
        client.chat_postMessage(channel="C0SUPPORT", text="x"),
        client.chat_update(channel="C0SUPPORT", ts=ts, text="x"),
        client.reactions_add(channel="C0SUPPORT", timestamp=ts, name="eyes"),
        client.conversations_invite(channel="C0SUPPORT", users="U0AGENTA"),
        client.conversations_join(channel="C0SUPPORT"),
    ):
        assert await error_of(write) == "is_archived"
    assert await error_of(client.conversations_archive(channel="C0SUPPORT")) == "already_archived"
    assert await error_of(client.conversations_archive(channel="C0GENERAL")) == "cant_archive_general"
    listed = await client.conversations_list(exclude_archived=True)
    assert [channel["name"] for channel in listed["channels"]] == ["general"]


async def test_a_conversation_of_several_is_opened_once_and_heard(client: AsyncWebClient, workspace: Workspace) -> None:
    first = await client.conversations_open(users="U0CUSTOMERA,U0AGENTA", return_im=True)
    channel = first["channel"]
    assert (channel["is_mpim"], channel["is_im"], channel["is_private"]) == (True, False, True)
    assert channel["name"] == "mpdm-customer.a--agent.a--frontdesk-1"
    again = await client.conversations_open(users="U0AGENTA,U0CUSTOMERA")
    assert (again["channel"], again["already_open"]) == ({"id": channel["id"]}, True)
    async with connected(workspace) as app:
        await workspace.act.send("U0CUSTOMERA", channel["id"], f"<@{BOT}> hello you two")
        heard = await app.event("message")
        assert (await app.event("app_mention"))["channel"] == channel["id"]
    assert (heard["channel"], heard["channel_type"]) == (channel["id"], "mpim")
    assert (await client.conversations_history(channel=channel["id"]))["messages"]
    listed = await client.conversations_list(types="mpim")
    assert [each["id"] for each in listed["channels"]] == [channel["id"]]


async def test_whom_a_conversation_cannot_be_opened_with(client: AsyncWebClient, workspace: Workspace) -> None:
    workspace.users["U0AGENTB"].deleted = True
    for users, error in (
        ("", "users_list_not_supplied"),
        ("U0AGENTB", "user_disabled"),
        ("U0NOBODY", "user_not_found"),
        (",".join(f"U{number}" for number in range(9)), "too_many_users"),
    ):
        assert await error_of(client.conversations_open(users=users)) == error
    assert await error_of(client.conversations_open(channel="C0SUPPORT")) == "method_not_supported_for_channel_type"
    pair = client.conversations_open(users="U0CUSTOMERA,U0AGENTA", prevent_creation=True)
    assert await error_of(pair) == "channel_not_found"


async def test_what_was_read_is_kept_with_the_conversation(client: AsyncWebClient) -> None:
    await client.conversations_mark(channel="C0SUPPORT", ts="1800000000.000100")
    assert (await client.conversations_info(channel="C0SUPPORT"))["channel"]["last_read"] == "1800000000.000100"
    assert await error_of(client.conversations_mark(channel="C0SUPPORT", ts="soon")) == "invalid_timestamp"


async def test_the_conversations_of_a_person_leave_out_what_the_app_cannot_see(
    client: AsyncWebClient, workspace: Workspace
) -> None:
    types = "public_channel,private_channel,mpim,im"
    mine = await client.users_conversations(types=types, limit=2)
    names = [channel["id"] async for page in mine for channel in page["channels"]]
    assert {"C0SUPPORT", "C0AGENTS", "D0CUSTOMERA"} <= set(names)
    workspace.channels["C0AGENTS"].members.remove(BOT)
    theirs = await client.users_conversations(user="U0AGENTA", types=types)
    assert [channel["id"] for channel in theirs["channels"]] == ["C0SUPPORT", "C0GENERAL", "D0AGENTA"]
    assert "is_member" not in theirs["channels"][0]
    assert await error_of(client.users_conversations(user="U0NOBODY")) == "user_not_found"


async def test_lists_refuse_types_cursors_and_limits_that_are_none(client: AsyncWebClient) -> None:
    assert await error_of(client.conversations_list(types="channels")) == "invalid_types"
    for cursor in ("dGVhbQ==", "next:2", "ünfug", "bmV4dDotMQ=="):
        assert await error_of(client.conversations_list(cursor=cursor)) == "invalid_cursor"
    for limit in (0, -1, 1_000, "many"):
        for method, error in (
            ("conversations.list", "invalid_limit"),
            ("conversations.members", "invalid_limit"),
            ("users.conversations", "invalid_limit"),
            ("conversations.history", "invalid_arguments"),
        ):
            asked = client.api_call(method, params={"channel": "C0SUPPORT", "limit": limit})
            assert await error_of(asked) == error
    assert (await client.conversations_members(channel="C0SUPPORT", limit=999))["members"]


async def test_each_kind_of_conversation_needs_its_own_scope(poor: AsyncWebClient) -> None:
    await poor.conversations_info(channel="C0SUPPORT")
    for call, needed in (
        (poor.conversations_info(channel="C0AGENTS"), "groups:read"),
        (poor.conversations_list(types="public_channel,im"), "im:read"),
        (
            poor.conversations_history(channel="C0SUPPORT"),
            "channels:history,groups:history,im:history,mpim:history",
        ),
        (poor.conversations_create(name="new"), "channels:manage,groups:write,im:write,mpim:write"),
    ):
        with pytest.raises(SlackApiError) as refused:
            await call
        answer = refused.value.response
        assert (answer["error"], answer["needed"], answer["provided"]) == ("missing_scope", needed, "channels:read")
    accepted = (await poor.conversations_info(channel="C0SUPPORT")).headers["x-accepted-oauth-scopes"]
    assert accepted == "channels:read,groups:read,im:read,mpim:read"


async def test_a_channel_of_its_own_is_renamed_and_described(client: AsyncWebClient, workspace: Workspace) -> None:
    channel = (await client.conversations_create(name="returns"))["channel"]["id"]
    async with connected(workspace) as app:
        renamed = await client.conversations_rename(channel=channel, name="returns-2026")
        assert (await app.event("channel_rename"))["channel"]["name"] == "returns-2026"
        await client.conversations_setTopic(channel=channel, topic="Parcels back")
        assert (await app.event("message.channel_topic"))["topic"] == "Parcels back"
        described = await client.conversations_setPurpose(channel=channel, purpose="All returns")
        assert (await app.event("message.channel_purpose"))["purpose"] == "All returns"
    assert renamed["channel"]["name"] == "returns-2026"
    assert described["channel"]["topic"]["value"] == "Parcels back"
    assert described["channel"]["purpose"]["value"] == described["purpose"] == "All returns"
    assert await error_of(client.conversations_rename(channel="C0SUPPORT", name="mine")) == "not_authorized"
    assert await error_of(client.conversations_rename(channel=channel, name="support")) == "name_taken"
    assert await error_of(client.conversations_setTopic(channel=channel, topic="x" * 251)) == "too_long"
    in_person = client.conversations_setTopic(channel="D0AGENTA", topic="x")
    assert await error_of(in_person) == "method_not_supported_for_channel_type"


async def test_an_archived_channel_is_opened_again(client: AsyncWebClient) -> None:
    assert await error_of(client.conversations_unarchive(channel="C0SUPPORT")) == "not_archived"
    await client.conversations_archive(channel="C0SUPPORT")
    await client.conversations_unarchive(channel="C0SUPPORT")
    await client.chat_postMessage(channel="C0SUPPORT", text="Open again")


async def test_the_app_leaves_and_takes_people_out(client: AsyncWebClient, workspace: Workspace) -> None:
    async with connected(workspace) as app:
        await client.conversations_kick(channel="C0SUPPORT", user="U0GUEST")
        assert (await app.event("member_left_channel"))["user"] == "U0GUEST"
    assert "U0GUEST" not in workspace.channels["C0SUPPORT"].members
    for user, error in (("U0GUEST", "not_in_channel"), (BOT, "cant_kick_self"), ("U0NOBODY", "user_not_found")):
        assert await error_of(client.conversations_kick(channel="C0SUPPORT", user=user)) == error
    general = client.conversations_kick(channel="C0GENERAL", user="U0AGENTA")
    assert await error_of(general) == "cant_kick_from_general"
    await client.conversations_leave(channel="C0SUPPORT")
    assert BOT not in workspace.channels["C0SUPPORT"].members
    with pytest.raises(SlackApiError) as refused:
        await client.conversations_leave(channel="C0SUPPORT")
    assert refused.value.response.data == {"ok": False, "not_in_channel": True}
    assert await error_of(client.conversations_leave(channel="C0GENERAL")) == "cant_leave_general"
    assert await error_of(client.conversations_leave(channel="D0AGENTA")) == "method_not_supported_for_channel_type"
    workspace.channels["C0AGENTS"].members = [BOT]
    assert await error_of(client.conversations_leave(channel="C0AGENTS")) == "last_member"


async def test_only_direct_messages_are_closed(client: AsyncWebClient) -> None:
    await client.conversations_close(channel="D0AGENTA")
    assert await error_of(client.conversations_close(channel="C0SUPPORT")) == "method_not_supported_for_channel_type"


async def test_what_the_app_does_is_told_in_the_third_person(client: AsyncWebClient, workspace: Workspace) -> None:
    ts = (await client.chat_meMessage(channel="C0SUPPORT", text="waves"))["ts"]
    message = workspace.message("C0SUPPORT", ts)
    assert (message["subtype"], message["text"], message["bot_id"]) == ("me_message", "waves", "B0FRONTDESK")
    assert await error_of(client.chat_meMessage(channel="C0SUPPORT", text="")) == "no_text"


async def test_presence_tells_whether_the_app_is_connected(client: AsyncWebClient, workspace: Workspace) -> None:
    assert (await client.users_getPresence(user=BOT))["presence"] == "away"
    async with connected(workspace):
        assert (await client.users_getPresence(user=BOT))["presence"] == "active"
    workspace.users["U0AGENTB"].deleted = True
    assert (await client.users_getPresence(user="U0AGENTB"))["presence"] == "away"
    assert (await client.users_getPresence(user="U0AGENTA"))["presence"] == "active"
    workspace.users["U0AGENTA"].is_away = True
    assert (await client.users_getPresence(user="U0AGENTA"))["presence"] == "away"


async def test_pauses_of_notifications_are_told_with_the_scope(client: AsyncWebClient, workspace: Workspace) -> None:
    assert (await client.dnd_info(user="U0AGENTA"))["dnd_enabled"] is False
    workspace.users["U0AGENTA"].paused = (100, 200)
    told = await client.dnd_info(user="U0AGENTA")
    assert (told["dnd_enabled"], told["next_dnd_start_ts"], told["next_dnd_end_ts"]) == (True, 100, 200)
    assert "snooze_enabled" not in told
    assert await error_of(client.dnd_info(user="U0NOBODY")) == "user_not_found"
    workspace.scopes -= {"dnd:read"}
    assert await error_of(client.dnd_info(user="U0AGENTA")) == "missing_scope"
