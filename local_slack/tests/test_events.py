"""What the app hears, and in which shape."""

from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import connected
from local_slack.workspace import Workspace


async def test_a_message_in_a_direct_message_has_its_envelope(workspace: Workspace) -> None:
    async with connected(workspace) as app:
        ts = await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "1 < 2 & https://example.com")
        frame = await app.frame()
    payload, event = frame["payload"], frame["payload"]["event"]
    assert payload["team_id"] == payload["context_team_id"] == "T0FRONTDESK"
    assert payload["authorizations"][0]["user_id"] == "U0FRONTDESK"
    assert (event["channel_type"], event["ts"], event["event_ts"]) == ("im", ts, ts)
    assert event["text"] == "1 &lt; 2 &amp; <https://example.com>"
    assert event["client_msg_id"]
    assert not frame["accepts_response_payload"]


async def test_a_mention_comes_as_two_events_of_one_message(workspace: Workspace) -> None:
    async with connected(workspace) as app:
        await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "<@U0FRONTDESK> help")
        message, mention = await app.frame(), await app.frame()
    assert [each["payload"]["event"]["type"] for each in (message, mention)] == ["message", "app_mention"]
    assert message["payload"]["event"]["ts"] == mention["payload"]["event"]["ts"]
    assert message["payload"]["event_id"] != mention["payload"]["event_id"]


async def test_a_person_of_another_workspace_is_told_by_team(workspace: Workspace) -> None:
    async with connected(workspace) as app:
        await workspace.act.send("U0STRANGER", "C0SUPPORT", "hello")
        payload = (await app.frame())["payload"]
    assert (payload["team_id"], payload["is_ext_shared_channel"]) == ("T0FRONTDESK", True)
    assert (payload["event"]["team"], payload["event"]["user_team"]) == ("T0PARTNER", "T0PARTNER")


async def test_the_apps_own_reply_comes_back_and_changes_the_root(workspace: Workspace, client: AsyncWebClient) -> None:
    root = await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "hello")
    async with connected(workspace) as app:
        await client.chat_postMessage(channel="C0SUPPORT", text="hi", thread_ts=root)
        own = await app.event("message")
        while own["text"] != "hi":
            own = await app.event("message")
        changed = await app.event("message.message_changed")
    assert own["bot_id"] == "B0FRONTDESK"
    assert changed["message"]["reply_count"] == 1
    assert changed["message"]["text"] == changed["previous_message"]["text"] == "hello"


async def test_a_stream_is_an_empty_message_and_then_a_changed_one(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    root = await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
    async with connected(workspace) as app:
        await app.event("message")
        ts = (await client.chat_startStream(channel="D0CUSTOMERA", thread_ts=root, markdown_text="**hi**"))["ts"]
        started = await app.event("message")
        await app.event("message.message_changed")
        await client.chat_stopStream(channel="D0CUSTOMERA", ts=ts)
        completed = await app.event("message.message_changed")
    assert (started["text"], started["streaming_state"]) == ("", "in_progress")
    assert (completed["message"]["text"], completed["previous_message"]["text"]) == ("*hi*", "")
    assert completed["message"]["streaming_state"] == "completed"


async def test_edits_deletions_reactions_and_stops_are_told(workspace: Workspace) -> None:
    ts = await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "frist")
    async with connected(workspace) as app:
        await workspace.act.edit("U0CUSTOMERA", "C0SUPPORT", ts, "first")
        await workspace.act.react("U0CUSTOMERA", "C0SUPPORT", ts, "eyes")
        await workspace.act.react("U0CUSTOMERA", "C0SUPPORT", ts, "eyes")
        await workspace.act.stop("U0CUSTOMERA", "C0SUPPORT", ts)
        await workspace.act.delete("U0CUSTOMERA", "C0SUPPORT", ts)
        changed = await app.event("message.message_changed")
        added = await app.event("reaction_added")
        removed = await app.event("reaction_removed")
        stopped = await app.event("agent_session_stopped")
        deleted = await app.event("message.message_deleted")
    assert (changed["previous_message"]["text"], changed["message"]["text"]) == ("frist", "first")
    assert changed["message"]["edited"]["user"] == "U0CUSTOMERA"
    assert added["item"] == removed["item"] == {"type": "message", "channel": "C0SUPPORT", "ts": ts}
    assert (stopped["thread_ts"], stopped["streaming_message_ts"]) == (ts, [])
    assert deleted["deleted_ts"] == ts


async def test_home_and_messages_tab_are_told(workspace: Workspace) -> None:
    async with connected(workspace) as app:
        await workspace.act.open_home("U0CUSTOMERA")
        await workspace.act.open_dm_tab("U0CUSTOMERA")
        tabs = [(await app.event("app_home_opened"))["tab"] for _ in range(2)]
    assert tabs == ["home", "messages"]


async def test_the_app_hears_only_its_channels_and_subscriptions(workspace: Workspace) -> None:
    workspace.channels["C0GENERAL"].members.remove("U0FRONTDESK")
    async with connected(workspace) as app:
        await workspace.act.send("U0CUSTOMERA", "C0GENERAL", "not for the app")
        await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "for the app")
        assert (await app.event("message"))["text"] == "for the app"
    async with open_workspace(config={"events": ["message.im"]}) as quiet, connected(quiet) as app:
        await quiet.act.send("U0CUSTOMERA", "C0SUPPORT", "unheard")
        await quiet.act.send("U0CUSTOMERA", "D0CUSTOMERA", "heard")
        assert (await app.event("message"))["text"] == "heard"


async def test_joining_a_channel_is_told(workspace: Workspace) -> None:
    workspace.channels["C0GENERAL"].members.remove("U0CUSTOMERB")
    async with connected(workspace) as app:
        await workspace.act.join("U0CUSTOMERB", "C0GENERAL")
        assert (await app.event("member_joined_channel"))["user"] == "U0CUSTOMERB"
