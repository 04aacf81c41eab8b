"""What people do to channels, members, sessions, files and apps, and what the app hears of it."""

from typing import Any

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import SocketApp, acts, connected, error_of
from local_slack.workspace import AppKind, Workspace

Json = dict[str, Any]


AGENT = {"user": "U0AGENTA"}
GENERAL = AGENT | {"channel": "C0GENERAL"}


async def test_a_channel_is_told_from_its_creation_to_its_end(workspace: Workspace, app: SocketApp) -> None:
    made = (await acts(workspace, "create_channel", **AGENT, name="returns"))["channel"]
    assert (await app.event("channel_created"))["channel"]["name"] == "returns"
    here = AGENT | {"channel": made}
    await acts(workspace, "invite", **here, invited="U0FRONTDESK")
    assert (await app.event("member_joined_channel"))["inviter"] == "U0AGENTA"
    await acts(workspace, "rename_channel", **here, name="sent-back")
    assert (await app.event("message.channel_name"))["old_name"] == "returns"
    renamed = await app.event("channel_rename")
    assert (renamed["channel"]["id"], renamed["channel"]["name"]) == (made, "sent-back")
    await acts(workspace, "set_topic", **here, topic="What came back")
    assert (await app.event("message.channel_topic"))["topic"] == "What came back"
    await acts(workspace, "archive_channel", **here)
    assert (await app.event("channel_archive"))["user"] == "U0AGENTA"
    assert (await acts(workspace, "send", **here, text="x"))["error"] == "is_archived"
    await acts(workspace, "unarchive_channel", **here)
    assert (await app.event("channel_unarchive"))["channel"] == made
    await acts(workspace, "send", **here, text="open again")
    await acts(workspace, "delete_channel", **here)
    assert (await app.event("channel_deleted"))["channel"] == made
    assert (await acts(workspace, "send", **here, text="x"))["error"] == "channel_not_found"


async def test_a_private_channel_is_a_group_to_the_app(workspace: Workspace, app: SocketApp) -> None:
    here = AGENT | {"channel": "C0AGENTS"}
    await acts(workspace, "rename_channel", **here, name="staff")
    assert (await app.event("group_rename"))["channel"]["name"] == "staff"
    await acts(workspace, "kick", **here, kicked="U0FRONTDESK")
    left = await app.event("member_left_channel")
    assert (left["user"], left["channel_type"]) == ("U0FRONTDESK", "G")
    assert (await app.event("group_left"))["actor_id"] == "U0AGENTA"


async def test_a_public_channel_that_the_app_was_taken_out_of_is_silent(workspace: Workspace, app: SocketApp) -> None:
    await acts(workspace, "leave", user="U0CUSTOMERA", channel="C0GENERAL")
    assert (await app.event("member_left_channel"))["user"] == "U0CUSTOMERA"
    await acts(workspace, "kick", **GENERAL, kicked="U0FRONTDESK")
    assert (await app.event("channel_left"))["channel"] == "C0GENERAL"
    await acts(workspace, "send", **GENERAL, text="unheard")
    await acts(workspace, "send", **AGENT | {"channel": "C0SUPPORT"}, text="heard")
    assert (await app.event("message"))["text"] == "heard"


async def test_somebody_new_joins_and_changes(workspace: Workspace, app: SocketApp) -> None:
    workspace.kind = "plain"
    await acts(workspace, "add_user", id="U0NEW", name="new", real_name="New Person", is_restricted=True)
    joined = (await app.event("team_join"))["user"]
    assert (joined["id"], joined["is_restricted"], joined["real_name"]) == ("U0NEW", True, "New Person")
    await acts(workspace, "change_user", user="U0NEW", real_name="Another Name")
    assert (await app.event("user_change"))["user"]["real_name"] == "Another Name"
    await acts(workspace, "open_dm_tab", user="U0NEW")
    made = await app.event("im_created")
    assert made["channel"]["id"] == (await app.event("app_home_opened"))["channel"]
    assert "shoe_size" in (await acts(workspace, "change_user", user="U0NEW", shoe_size="42"))["error"]


async def test_a_deactivated_person_is_told_of_and_can_do_nothing_more(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    here = {"user": "U0CUSTOMERA", "channel": "C0SUPPORT"}
    ts = (await acts(workspace, "send", **here, text="hello"))["ts"]
    await acts(workspace, "deactivate", user="U0CUSTOMERA")
    told = (await app.event("user_change"))["user"]
    assert (told["id"], told["deleted"], "tz" in told) == ("U0CUSTOMERA", True, False)
    for act, given in (("send", here | {"text": "x"}), ("open_home", {"user": "U0CUSTOMERA"})):
        assert (await acts(workspace, act, **given))["error"] == "account_inactive"
    assert (await client.users_info(user="U0CUSTOMERA"))["user"]["deleted"]
    assert "U0CUSTOMERA" in (await client.conversations_members(channel="C0SUPPORT"))["members"]
    assert await error_of(client.users_lookupByEmail(email="customer.a@example.com")) == "users_not_found"
    assert await error_of(client.conversations_open(users="U0CUSTOMERA")) == "user_disabled"
    await client.chat_postMessage(channel="D0CUSTOMERA", text="What was said stays.")
    (message,) = (await client.conversations_history(channel="C0SUPPORT"))["messages"]
    assert (message["ts"], message["user"]) == (ts, "U0CUSTOMERA")
    await acts(workspace, "change_user", user="U0CUSTOMERA", deleted=False)
    await acts(workspace, "send", **here, text="I am back")


async def test_a_channel_is_connected_with_another_workspace_and_parted_again(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    assert (await acts(workspace, "share_channel", **GENERAL, team="T0NONE"))["error"] == "team_not_found"
    await acts(workspace, "share_channel", **GENERAL, team="T0PARTNER")
    shared = await app.event("channel_shared")
    assert (shared["channel"], shared["connected_team_id"]) == ("C0GENERAL", "T0PARTNER")
    await acts(workspace, "invite", **GENERAL, invited="U0STRANGER")
    await acts(workspace, "send", user="U0STRANGER", channel="C0GENERAL", text="hello")
    assert (await app.event("message"))["user_team"] == "T0PARTNER"
    await acts(workspace, "unshare_channel", **GENERAL, team="T0PARTNER")
    parted = await app.event("channel_unshared")
    assert (parted["previously_connected_team_id"], parted["is_ext_shared"]) == ("T0PARTNER", False)
    assert not (await client.conversations_info(channel="C0GENERAL"))["channel"]["is_ext_shared"]
    gone = await acts(workspace, "send", user="U0STRANGER", channel="C0GENERAL", text="still there?")
    assert gone["error"] == "not_in_channel"


async def test_a_removed_app_hears_of_it_and_its_token_is_worth_nothing(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    await acts(workspace, "uninstall", **AGENT)
    assert (await app.event("tokens_revoked"))["tokens"] == {"oauth": [], "bot": ["U0FRONTDESK"]}
    await app.event("app_uninstalled")
    assert await error_of(client.auth_test()) == "account_inactive"
    here = AGENT | {"channel": "C0SUPPORT"}
    await acts(workspace, "send", **here, text="unheard")
    assert (await acts(workspace, "command", **here, command="/kb"))["error"] == "invalid_command"
    await acts(workspace, "install", **AGENT)
    await client.auth_test()
    await acts(workspace, "send", **here, text="heard")
    assert (await app.event("message"))["text"] == "heard"


async def test_a_file_of_a_person_is_shared_and_can_be_read(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp, http: aiohttp.ClientSession
) -> None:
    here = {"user": "U0CUSTOMERA", "channel": "D0CUSTOMERA"}
    ts = (await acts(workspace, "upload", **here, name="log.txt", content="it broke", text="see"))["ts"]
    message = await app.event("message.file_share")
    assert (message["ts"], message["text"], message["files"][0]["name"]) == (ts, "see", "log.txt")
    shared = await app.event("file_shared")
    file = message["files"][0]
    assert (shared["file_id"], shared["user_id"], shared["channel_id"]) == (file["id"], "U0CUSTOMERA", "D0CUSTOMERA")
    assert (await client.files_info(file=file["id"]))["file"]["size"] == len("it broke")
    async with http.get(file["url_private"], headers={"Authorization": f"Bearer {workspace.bot_token}"}) as response:
        assert await response.text() == "it broke"


async def test_a_file_of_the_app_is_shared_too(workspace: Workspace, client: AsyncWebClient, app: SocketApp) -> None:
    await client.files_upload_v2(channel="C0SUPPORT", filename="a.txt", content="x")
    assert (await app.event("file_shared"))["user_id"] == "U0FRONTDESK"


async def test_replies_to_all_and_words_about_oneself(workspace: Workspace, app: SocketApp) -> None:
    here = {"user": "U0CUSTOMERA", "channel": "C0SUPPORT"}
    root = (await acts(workspace, "send", **here, text="hello"))["ts"]
    await acts(workspace, "send", **here, text="for all", thread_ts=root, broadcast=True)
    told = await app.event("message.thread_broadcast")
    assert (told["text"], told["thread_ts"]) == ("for all", root)
    await acts(workspace, "send", **here, text="/me waves")
    assert (await app.event("message.me_message"))["text"] == "waves"


async def test_a_person_renames_a_session(workspace: Workspace, client: AsyncWebClient, app: SocketApp) -> None:
    here = {"user": "U0CUSTOMERA", "channel": "D0CUSTOMERA"}
    root = (await acts(workspace, "send", **here, text="hello"))["ts"]
    thread = here | {"thread_ts": root}
    assert (await acts(workspace, "rename_session", **thread, title="x"))["error"] == "session_not_found"
    await client.agents_sessions_setStatus(channel_id="D0CUSTOMERA", thread_ts=root, status="active")
    await acts(workspace, "rename_session", **thread, title="Order 1001")
    first = await app.event("agent_session_title_changed")
    assert (first["title"], first["thread_ts"], first["team_id"]) == ("Order 1001", root, "T0FRONTDESK")
    assert "previous_title" not in first
    await acts(workspace, "rename_session", **thread, title="Order 1002")
    assert (await app.event("agent_session_title_changed"))["previous_title"] == "Order 1001"
    assert workspace.message("D0CUSTOMERA", root)["agent_session"]["title"] == "Order 1002"


async def test_where_a_person_looks_is_told_by_the_authorization(workspace: Workspace, app: SocketApp) -> None:
    here = {"user": "U0CUSTOMERA", "channel": "C0SUPPORT"}
    root = (await acts(workspace, "send", **here, text="hello"))["ts"]
    await app.event("message")
    await acts(workspace, "look_at", **here, thread_ts=root)
    payload = (await app.frame())["payload"]
    assert payload["event"].keys() == {"type", "context"}
    assert payload["authorizations"][0]["user_id"] == "U0CUSTOMERA"
    thread, channel = payload["event"]["context"]["entities"]
    assert thread["value"] == {"channel_id": "C0SUPPORT", "message_ts": root}
    assert (channel["type"], channel["value"]) == ("slack#/types/channel_id", "C0SUPPORT")


async def test_an_assistant_of_the_legacy_kind_is_started_and_follows(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    others: tuple[AppKind, ...] = ("agent", "plain")
    for workspace.kind in others:
        assert (await acts(workspace, "start_assistant", user="U0CUSTOMERA"))["error"] == "assistant_not_found"
    workspace.kind = "assistant"
    ts = (await acts(workspace, "start_assistant", user="U0CUSTOMERA", channel="C0SUPPORT"))["ts"]
    started = (await app.event("assistant_thread_started"))["assistant_thread"]
    assert (started["thread_ts"], started["channel_id"], started["user_id"]) == (ts, "D0CUSTOMERA", "U0CUSTOMERA")
    assert started["context"]["channel_id"] == "C0SUPPORT"
    place = {"channel_id": "D0CUSTOMERA", "thread_ts": ts}
    await client.assistant_threads_setTitle(**place, title="An order")
    assert workspace.message("D0CUSTOMERA", ts)["text"] == "An order"
    await acts(workspace, "look_at", user="U0CUSTOMERA", channel="C0GENERAL")
    changed = (await app.event("assistant_thread_context_changed"))["assistant_thread"]
    assert (changed["thread_ts"], changed["context"]["channel_id"]) == (ts, "C0GENERAL")


async def test_only_subscribers_hear_of_it() -> None:
    async with open_workspace(config={"events": ["message.channels"]}) as quiet, connected(quiet) as app:
        await acts(quiet, "create_channel", **AGENT, name="returns")
        await acts(quiet, "add_user", id="U0NEW", name="new", real_name="New Person")
        await acts(quiet, "upload", **AGENT | {"channel": "C0SUPPORT"}, name="a.txt", content="x")
        assert (await app.frame())["payload"]["event"]["subtype"] == "file_share"


async def test_what_cannot_be_done_is_refused(workspace: Workspace) -> None:
    table = [
        ("create_channel", {}, "missing field: user"),
        ("create_channel", AGENT | {"name": "support"}, "name_taken"),
        ("create_channel", AGENT | {"name": "x", "colour": "red"}, "not an act"),
        ("rename_channel", GENERAL | {"name": "support"}, "name_taken"),
        ("set_topic", {"user": "U0GUEST", "channel": "C0GENERAL", "topic": "x"}, "not_in_channel"),
        ("archive_channel", AGENT | {"channel": "D0AGENTA"}, "method_not_supported_for_channel_type"),
        ("unarchive_channel", GENERAL, "not_archived"),
        ("kick", GENERAL | {"kicked": "U0GUEST"}, "not_in_channel"),
        ("add_user", {"id": "U0GUEST", "name": "x", "real_name": "X"}, "already_in_team"),
    ]
    misses = []
    for act, given, error in table:
        if not (await acts(workspace, act, **given))["error"].startswith(error):
            misses.append((act, given, error))
    assert misses == []
